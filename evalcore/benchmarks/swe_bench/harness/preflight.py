"""What the official harness needs, each looked at before a run of hours begins.

The daemon is asked for no longer than SECONDS in all, so that a person who opens the page has the
answers in less than two. Demands of the harness (disk, memory, workers, the
architecture) are those of its README for the whole of Verified, scaled down for fewer tasks.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from evalcore.benchmarks.swe_bench.task import Task
from evalcore.records import Record

SECONDS = 1.5
_GIB = 1 << 30
#: Fields of a task that swebench 5 reads from its row and older data sets lack.
_COLUMNS = ("image", "eval_script", "log_parser")
_MACHINES = ("x86_64", "amd64")
#: Docker Hub lets who is not logged in pull so many images in six hours.
_ANONYMOUS_PULLS = 100
_START = "start the Docker daemon, or set DOCKER_HOST to one that runs"


class Check(Record, frozen=True):
    """One condition. `problem` and `fix` are sentences where it does not hold; `needed` is False
    where a run can succeed all the same, slower or with luck."""

    name: str
    ok: bool
    problem: str = ""
    fix: str = ""
    needed: bool = True


class _Facts(Record, frozen=True):
    """What the daemon tells: `info` is None where it does not answer, `missing` are the images that
    it lacks, and `pullable` says whether the first of them can be had."""

    docker: str | None
    info: dict[str, Any] | None
    trouble: str
    missing: tuple[str, ...]
    pullable: bool


def preflight(tasks: Sequence[Task], folder: Path, workers: int = 1) -> tuple[Check, ...]:
    """All conditions for a run of `tasks` with its files in `folder`, those that hold as well."""
    facts = _facts(tasks)
    return (
        _binary(facts),
        _daemon(facts),
        _architecture(facts),
        _disk(facts, folder),
        _memory(facts, workers),
        _version(),
        _columns(tasks),
        _images(facts),
        _pulls(facts),
        _writable(folder),
        _workers(workers),
    )


def _facts(tasks: Sequence[Task]) -> _Facts:
    """Ask the daemon, all questions at once."""
    docker = shutil.which("docker")
    if docker is None:
        return _Facts(None, None, "", (), False)
    wanted = sorted({task.image for task in tasks if task.image})
    end = time.monotonic() + SECONDS
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(_ask, end, docker, "info", "--format", "{{json .}}")
        ok, listed = _ask(end, docker, "images", "--format", "{{.Repository}}:{{.Tag}}")
        here = frozenset(listed.split()) if ok else frozenset()
        missing = tuple(name for name in wanted if name not in here)
        pullable = bool(missing) and _ask(end, docker, "manifest", "inspect", missing[0])[0]
        info, trouble = _info(*told.result())
    return _Facts(docker, info, trouble, missing, pullable)


def _ask(end: float, *command: str) -> tuple[bool, str]:
    """Whether a command succeeds before the time `end`, and what it prints."""
    left = max(0.01, end - time.monotonic())
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no answer within {SECONDS:g} s"
    except OSError as error:
        return False, str(error)
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr.strip()


def _info(ok: bool, text: str) -> tuple[dict[str, Any] | None, str]:
    """`docker info` prints its form, and status 0, even where there is only a client."""
    if not ok:
        return None, text[-300:]
    try:
        found = json.loads(text)
    except ValueError:
        return None, text[-300:]
    errors = found.get("ServerErrors") if isinstance(found, dict) else ["no object"]
    return (None, str(errors[0])[-300:]) if errors else (found, "")


def _binary(facts: _Facts) -> Check:
    return _check("docker", facts.docker is not None, "docker is not on the PATH", "install Docker")


def _daemon(facts: _Facts) -> Check:
    problem = f"the Docker daemon does not answer: {facts.trouble or 'there is no docker'}"
    return _check("daemon", facts.info is not None, problem, _START)


def _architecture(facts: _Facts) -> Check:
    machine = str((facts.info or {}).get("Architecture") or platform.machine())
    problem = f"the images are made for x86_64, and this is {machine}"
    fix = "use an x86_64 machine; few images exist for others"
    return _check("architecture", machine.lower() in _MACHINES, problem, fix)


def _disk(facts: _Facts, folder: Path) -> Check:
    """The harness asks for 120 GB; here an image counts 1 GiB, and 10 GiB are for containers."""
    root = Path(str((facts.info or {}).get("DockerRootDir") or folder))
    place = next(one for one in (root, *root.parents, Path("/")) if one.exists())
    wanted = min(120, 10 + len(facts.missing))
    free = shutil.disk_usage(place).free / _GIB
    problem = f"{free:.0f} GiB are free where Docker keeps its images, {wanted} are wanted"
    fix = "free some space (docker system prune), or move Docker's data-root"
    return _check("disk", free >= wanted, problem, fix)


def _memory(facts: _Facts, workers: int) -> Check:
    """The harness asks for 16 GB for 8 processors: 2 GiB a worker."""
    total = int((facts.info or {}).get("MemTotal") or _total_memory()) / _GIB
    wanted = min(16, 2 * workers)
    problem = f"{total:.0f} GiB of memory for {workers} workers, {wanted} are wanted"
    return _check("memory", total >= wanted * 0.9, problem, "use fewer workers", needed=False)


def _total_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _version() -> Check:
    """Asked of the installed package's description: to import it takes seconds."""
    try:
        version = metadata.version("swebench")
    except metadata.PackageNotFoundError:
        version = ""
    problem = (
        f"swebench {version} is installed, and 5 is needed"
        if version
        else ("swebench is not installed")
    )
    fix = 'pip install "swebench>=5.0.2,<6"'
    return _check("swebench", version.partition(".")[0] == "5", problem, fix)


def _columns(tasks: Sequence[Task]) -> Check:
    lacking = [
        (task.instance_id, name) for task in tasks for name in _COLUMNS if not getattr(task, name)
    ]
    first, name = lacking[0] if lacking else ("", "")
    problem = f"{len({one for one, _ in lacking})} tasks lack columns of version 5, {first}: {name}"
    fix = "fetch a data set of version 5, such as SWE-bench/SWE-bench_Verified"
    return _check("columns", not lacking, problem, fix)


def _images(facts: _Facts) -> Check:
    """Of the images that are not here the first is looked up and stands for the others."""
    ok = facts.info is not None and (not facts.missing or facts.pullable)
    example = facts.missing[0] if facts.missing else ""
    problem = f"{len(facts.missing)} images are not here and cannot be looked up, {example}"
    if facts.info is None:
        problem = "without a daemon no image can be had"
    fix = f"see what `docker pull {example}` says, or load the images from a copy"
    return _check("images", ok, problem, fix if example and facts.info else _START)


def _pulls(facts: _Facts) -> Check:
    count = len(facts.missing)
    problem = f"{count} images are to be pulled; Docker Hub allows {_ANONYMOUS_PULLS} in 6 hours"
    fix = "docker login, use a mirror, or pull the images in several goes before the run"
    return _check("pull_limit", count <= _ANONYMOUS_PULLS, problem, fix, needed=False)


def _writable(folder: Path) -> Check:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            return Check("folder", True)
    except OSError as error:
        problem = f"{folder} cannot be written to: {error.strerror}"
        return Check("folder", False, problem, "choose a folder that can be written to")


def _workers(workers: int) -> Check:
    most = max(1, min(int(0.75 * (os.cpu_count() or 1)), 24))
    problem = f"{workers} workers are more than this machine runs well, {most}"
    return _check("workers", workers <= most, problem, f"use {most}", needed=False)


def _check(name: str, ok: bool, problem: str, fix: str, needed: bool = True) -> Check:
    return Check(name, ok, needed=needed) if ok else Check(name, False, problem, fix, needed)
