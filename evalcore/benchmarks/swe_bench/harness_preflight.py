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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from evalcore.benchmarks.swe_bench import Task
from evalcore.i18n import Note
from evalcore.records import Record

SECONDS = 1.5
_GIB = 1 << 30
#: Fields of a task that swebench 5 reads from its row and older data sets lack.
_COLUMNS = ("image", "eval_script", "log_parser")
_MACHINES = ("x86_64", "amd64")
#: Docker Hub lets who is not logged in pull so many images in six hours.
_ANONYMOUS_PULLS = 100
_START = "start the Docker daemon, or set DOCKER_HOST to one that runs"


class PreflightCheck(Record, frozen=True):
    """One condition. `problem` and `fix` are sentences where it does not hold; `needed` is False
    where a run can succeed all the same, slower or with luck."""

    name: str
    ok: bool
    problem: str = ""
    fix: str = ""
    needed: bool = True


class _DockerFacts(Record, frozen=True):
    """What the daemon tells: `info` is None where it does not answer, `missing` are the images that
    it lacks, and `pullable` says whether the first of them can be had."""

    docker: str | None
    info: dict[str, Any] | None
    trouble: str
    missing: tuple[str, ...]
    pullable: bool


def run_preflight(
    tasks: Sequence[Task], folder: Path, workers: int = 1
) -> tuple[PreflightCheck, ...]:
    """All conditions for a run of `tasks` with its files in `folder`, those that hold as well."""
    facts = _query_docker(tasks)
    return (
        *_iter_docker_checks(facts),
        *_iter_resource_checks(facts, folder, workers),
        *_iter_dataset_checks(tasks),
        *_iter_image_checks(facts),
        *_iter_run_checks(folder, workers),
    )


def find_swebench_version() -> str:
    """The installed version of swebench, "" for none; to import it would take seconds."""
    try:
        return metadata.version("swebench")
    except metadata.PackageNotFoundError:
        return ""


def _query_docker(tasks: Sequence[Task]) -> _DockerFacts:
    """Ask the daemon, all questions at once."""
    docker = shutil.which("docker")
    if docker is None:
        return _DockerFacts(None, None, "", (), False)
    images = sorted({task.image for task in tasks if task.image})
    end = time.monotonic() + SECONDS
    with ThreadPoolExecutor(1) as pool:
        info_future = pool.submit(_run_until, end, docker, "info", "--format", "{{json .}}")
        ok, listed = _run_until(end, docker, "images", "--format", "{{.Repository}}:{{.Tag}}")
        here = frozenset(listed.split()) if ok else frozenset()
        missing = tuple(name for name in images if name not in here)
        pullable = bool(missing) and _run_until(end, docker, "manifest", "inspect", missing[0])[0]
        info, trouble = _parse_docker_info(*info_future.result())
    return _DockerFacts(docker, info, trouble, missing, pullable)


def _run_until(end: float, *command: str) -> tuple[bool, str]:
    """Whether a command succeeds before the time `end`, and what it prints."""
    left = max(0.01, end - time.monotonic())
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        return False, Note("job_no_answer", seconds=f"{SECONDS:g}")
    except OSError as error:
        return False, str(error)
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr.strip()


def _parse_docker_info(ok: bool, text: str) -> tuple[dict[str, Any] | None, str]:
    """Parse `docker info`, which exits with status 0 even where only the client is installed."""
    if not ok:
        return None, text[-300:]
    try:
        info = json.loads(text)
    except ValueError:
        return None, text[-300:]
    errors = info.get("ServerErrors") if isinstance(info, dict) else ["no object"]
    return (None, str(errors[0])[-300:]) if errors else (info, "")


def _iter_docker_checks(facts: _DockerFacts) -> Iterator[PreflightCheck]:
    has_docker = facts.docker is not None
    yield _build_preflight_check(
        "docker", has_docker, "docker is not on the PATH", "install Docker"
    )
    problem = f"the Docker daemon does not answer: {facts.trouble or 'there is no docker'}"
    yield _build_preflight_check("daemon", facts.info is not None, problem, _START)
    machine = str((facts.info or {}).get("Architecture") or platform.machine())
    problem = f"the images are made for x86_64, and this is {machine}"
    fix = "use an x86_64 machine; few images exist for others"
    yield _build_preflight_check("architecture", machine.lower() in _MACHINES, problem, fix)


def _iter_resource_checks(
    facts: _DockerFacts, folder: Path, workers: int
) -> Iterator[PreflightCheck]:
    """The harness asks for 120 GB of disk; here an image counts 1 GiB, and 10 GiB are for
    containers. It asks for 16 GB of memory for 8 processors: 2 GiB a worker."""
    root = Path(str((facts.info or {}).get("DockerRootDir") or folder))
    disk_path = next(path for path in (root, *root.parents, Path("/")) if path.exists())
    required_gib = min(120, 10 + len(facts.missing))
    free = shutil.disk_usage(disk_path).free / _GIB
    problem = f"{free:.0f} GiB are free where Docker keeps its images, {required_gib} are wanted"
    fix = "free some space (docker system prune), or move Docker's data-root"
    yield _build_preflight_check("disk", free >= required_gib, problem, fix)
    own_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    total = int((facts.info or {}).get("MemTotal") or own_memory) / _GIB
    required_gib = min(16, 2 * workers)
    problem = f"{total:.0f} GiB of memory for {workers} workers, {required_gib} are wanted"
    ok = total >= required_gib * 0.9
    yield _build_preflight_check("memory", ok, problem, "use fewer workers", needed=False)


def _iter_dataset_checks(tasks: Sequence[Task]) -> Iterator[PreflightCheck]:
    version = find_swebench_version()
    problem = f"swebench {version} is installed, and 5 is needed"
    problem = problem if version else "swebench is not installed"
    fix = 'pip install "swebench>=5.0.2,<6"'
    yield _build_preflight_check("swebench", version.partition(".")[0] == "5", problem, fix)
    lacking = [
        (task.instance_id, name) for task in tasks for name in _COLUMNS if not getattr(task, name)
    ]
    first, name = lacking[0] if lacking else ("", "")
    count = len({instance_id for instance_id, _ in lacking})
    problem = f"{count} tasks lack columns of version 5, {first}: {name}"
    fix = "fetch a dataset of version 5, such as SWE-bench/SWE-bench_Verified"
    yield _build_preflight_check("columns", not lacking, problem, fix)


def _iter_image_checks(facts: _DockerFacts) -> Iterator[PreflightCheck]:
    """Of the images that are not here the first is looked up and stands for the others."""
    ok = facts.info is not None and (not facts.missing or facts.pullable)
    count, example = len(facts.missing), facts.missing[0] if facts.missing else ""
    problem = f"{count} images are not available here and cannot be looked up, {example}"
    if facts.info is None:
        problem = "without a daemon no image can be had"
    fix = f"see what `docker pull {example}` says, or load the images from a copy"
    yield _build_preflight_check("images", ok, problem, fix if example and facts.info else _START)
    ok = count <= _ANONYMOUS_PULLS
    problem = f"{count} images are to be pulled; Docker Hub allows {_ANONYMOUS_PULLS} in 6 hours"
    fix = "docker login, use a mirror, or pull the images in several goes before the run"
    yield _build_preflight_check("pull_limit", ok, problem, fix, needed=False)


def _iter_run_checks(folder: Path, workers: int) -> Iterator[PreflightCheck]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            yield PreflightCheck("folder", True)
    except OSError as error:
        problem = f"{folder} cannot be written to: {error.strerror}"
        yield PreflightCheck("folder", False, problem, "choose a folder that can be written to")
    limit = max(1, min(int(0.75 * (os.cpu_count() or 1)), 24))
    problem = f"{workers} workers are more than this machine runs well, {limit}"
    yield _build_preflight_check("workers", workers <= limit, problem, f"use {limit}", needed=False)


def _build_preflight_check(
    name: str, ok: bool, problem: str, fix: str, needed: bool = True
) -> PreflightCheck:
    return PreflightCheck(name, ok, "" if ok else problem, "" if ok else fix, needed)
