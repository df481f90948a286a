"""Prepare SWE-bench on this machine, without containers: repositories, environments, and for each
task whether its reference patch resolves it here and no patch does not.

    <folder>/repositories/<owner>__<name>        bare mirrors
    <folder>/environments/<owner>__<name>-<version>  what the tests of a version run with, by uv
    <folder>/cache/                              uv's downloads, so that a repeat needs no network
    <folder>/report.jsonl                        what came out of each task, a line each

Every step is skipped where its result is there already, so that an interrupted run goes on. Code of
a project runs on this machine while it is built, as with pip; its tests run in the sandbox only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import msgspec
from msgspec.structs import replace

from evalcore.access.secrets import scrub_secrets
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.checkout import checkout_task, inspect_interpreter
from evalcore.benchmarks.swe_bench.dataset import load_swe_samples, to_swe_task
from evalcore.benchmarks.swe_bench.evaluate_patch import check_usability
from evalcore.catalog import CommandResult
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.exchange.swe_bench import NAMES, default_folder
from evalcore.exchange.swe_bench_specs import RELEASE, EnvironmentSpec, Specs, read_specs_file
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record, content_hash, from_json, to_json
from evalcore.sandbox.filesystem import remove_tree
from evalcore.settings import Settings

REPOSITORIES, ENVIRONMENTS, REPORT = "repositories", "environments", "report.jsonl"
_NOTE = ".evalboard.json"
_HOST = "https://github.com"
_SECONDS = 1800.0
#: What disk a mirror and an environment take, by which the need is estimated: medians of what was
#: prepared so far, rounded up. uv links equal files of environments, so that most take less.
MIRROR_MB, ENVIRONMENT_MB = 120, 80
_TREE = "/testbed"


class PrepareOptions(Record, frozen=True):
    """`uv` is its program, `specs` upstream's specifications, `mirrors` where repositories are
    cloned from (an address or a folder); `offline` uses what is cached alone."""

    folder: str
    uv: str
    jobs: int = 1
    offline: bool = False
    mirrors: str = _HOST
    again: bool = False


class TaskReport(Record, frozen=True):
    """What came out of a task: `ok` says that this machine can judge it, `step` where it could not
    be (`repository`, `environment`, `tests`) and `problem` why. `key` is the hash of all it rests
    on."""

    instance_id: str
    ok: bool
    step: str = ""
    problem: str = ""
    environment: str = ""
    key: str = ""


class PrepareResult(Record, frozen=True):
    """All reports, in the order of the tasks; `reused` were known from before."""

    folder: str
    reports: tuple[TaskReport, ...]
    reused: int = 0

    @property
    def judged(self) -> int:
        return sum(report.ok for report in self.reports)


def name_repository(repo: str) -> str:
    return repo.replace("/", "__")


def name_environment(task: Task) -> str:
    return f"{name_repository(task.repo)}-{task.version}"


def find_uv() -> str:
    """The program uv, on the path or beside this Python. Raises UsageError where there is none."""
    beside = Path(sys.executable).parent / "uv"
    found = os.environ.get("UV") or shutil.which("uv") or (str(beside) if beside.exists() else "")
    if not found:
        raise UsageError(Note("cli_swe_no_uv"))
    return found


def estimate_need(tasks: Sequence[Task], folder: Path) -> dict[str, int]:
    """How many mirrors and environments are still to be made, and their disk in MB."""
    repos = {task.repo for task in tasks if not task.repository}
    mirrors = [one for one in repos if not (folder / REPOSITORIES / name_repository(one)).exists()]
    named = {name_environment(task) for task in tasks}
    environments = [one for one in named if not (folder / ENVIRONMENTS / one / _NOTE).exists()]
    need = len(mirrors) * MIRROR_MB + len(environments) * ENVIRONMENT_MB
    return {"mirrors": len(mirrors), "environments": len(environments), "disk_mb": need}


def _describe_need(count: int, folder: Path, need: Mapping[str, int], free: int) -> Note:
    mirrors, environments, size = need.values()
    return Note(
        "swe_need",
        count=count,
        folder=folder,
        mirrors=mirrors,
        environments=environments,
        disk_mb=size,
        free=free,
    )


def prepare_tasks(
    tasks: Sequence[Task], specs: Specs, options: PrepareOptions, progress: ProgressCallback
) -> PrepareResult:
    """Prepare tasks, each step as parallel as `jobs` says. What fails is in the reports. Raises
    UsageError where the disk is too small."""
    folder = Path(options.folder)
    need = estimate_need(tasks, folder)
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free >> 20
    progress(_describe_need(len(tasks), folder, need, free))
    if need["disk_mb"] > free:
        raise UsageError(Note("swe_no_room", folder=folder, size=need["disk_mb"], free=free))
    repos = list(dict.fromkeys(task.repo for task in tasks if not task.repository))
    cloned = _run_all(repos, lambda repo: _mirror_repository(repo, options), options, progress)
    located = [_locate_task(task, folder) for task in tasks]
    by_environment: dict[str, Task] = {}
    for task in located:
        if not cloned.get(task.repo):
            by_environment.setdefault(name_environment(task), task)
    builds = _EnvironmentBuilds(specs, options)
    built = _run_all(
        list(by_environment), lambda name: builds.build(by_environment[name]), options, progress
    )
    judge = _TaskJudge(options, cloned, built)
    ids = [task.instance_id for task in located]
    _run_all(ids, judge.task_runner(located), options, progress)
    return PrepareResult(str(folder), tuple(judge.reports[one] for one in ids), judge.reused)


def _run_all(
    names: Sequence[str],
    work: Callable[[str], str],
    options: PrepareOptions,
    progress: ProgressCallback,
) -> dict[str, str]:
    """Do work for each name; the problem of each, "" for none, as they come."""
    problems: dict[str, str] = {}
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        running = {pool.submit(work, name): name for name in names}
        for number, done in enumerate(as_completed(running), 1):
            name = running[done]
            problems[name] = done.result()
            state = problems[name] or Note("swe_ready")
            about = Note("located", location=name, problem=state)
            progress(Note("progress_file", done=number, total=len(names), name=about))
    return problems


def _locate_task(task: Task, folder: Path) -> Task:
    """The task with its mirror, unless its row names a repository."""
    mirror = folder / REPOSITORIES / name_repository(task.repo)
    return task if task.repository else replace(task, repository=str(mirror))


# Repositories: a bare mirror each. Made beside its place and moved there whole.


def _mirror_repository(repo: str, options: PrepareOptions) -> str:
    target = Path(options.folder, REPOSITORIES, name_repository(repo))
    if target.exists():
        return ""
    if options.offline:
        return "no mirror of it is there, and the network is not to be used"
    fresh = target.with_name(f".{target.name}.new")
    remove_tree(fresh)
    fresh.parent.mkdir(parents=True, exist_ok=True)
    source = f"{options.mirrors.rstrip('/')}/{repo}"
    environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:file"}
    command = ["git", "clone", "--quiet", "--mirror", source, str(fresh)]
    problem = _run_command(command, environment)
    if problem:
        remove_tree(fresh)
        return f"cannot be cloned: {problem}"
    fresh.rename(target)
    return ""


# Environments: uv makes them and installs what a version needs, and the project itself, so that its
# metadata and requirements are there. Its files then leave for a path of the tree that is tested.


class _EnvironmentBuilds:
    def __init__(self, specs: Specs, options: PrepareOptions) -> None:
        self._specs, self._options = specs, options

    def build(self, task: Task) -> str:
        """Make the environment of a task; the problem, "" for none."""
        spec = self._specs.get((task.repo, task.version)) or self._specs.get((task.repo, "*"))
        if spec is None and self._specs and not task.repository.endswith(".bundle"):
            return f"no specification of {task.repo} {task.version} is known"
        spec = spec or EnvironmentSpec()
        target = Path(self._options.folder, ENVIRONMENTS, name_environment(task))
        key = content_hash([msgspec.to_builtins(spec), task.base_commit])
        if _read_note(target).get("key") == key:
            return ""
        remove_tree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="evalcore-swe-") as scratch:
            try:
                tree = checkout_task(task, Path(scratch, "tree"))
            except EnvironmentFailure as error:
                return str(error)
            problem = self._install(spec, tree, target)
        if problem:
            remove_tree(target)
            return problem
        note = {"key": key, "spec": msgspec.to_builtins(spec), "packages": _list_packages(target)}
        (target / _NOTE).write_text(json.dumps(note), "utf-8")
        return ""

    def _install(self, spec: EnvironmentSpec, tree: Path, target: Path) -> str:
        python = str(target / "bin" / "python")
        problem = self._run_uv(["venv", "--python", spec.python, str(target)])
        if problem:
            return f"no Python {spec.python}: {problem}"
        wanted = [*spec.packages, *(() if _names_pytest(spec.packages) else ("pytest",))]
        files = [name for name in spec.requirements if (tree / name).is_file()][:1]
        for name in files:
            wanted += ["--requirement", str(tree / name)]
        if not any((tree / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
            return self._run_uv(["pip", "install", "--python", python, *wanted])
        if spec.project:
            wanted.append(f"{tree}{spec.project.removeprefix('.')}")
        problem = self._run_uv(["pip", "install", "--python", python, *wanted])
        return problem or _point_to_tree(target, tree)

    def _run_uv(self, arguments: Sequence[str]) -> str:
        environment = {
            "UV_CACHE_DIR": str(Path(self._options.folder, "cache").absolute()),
            "UV_NO_PROGRESS": "1",
            "UV_LINK_MODE": "hardlink",
        }
        offline = ["--offline"] if self._options.offline else []
        return _run_command([self._options.uv, *arguments, *offline], environment)


def _names_pytest(packages: Iterable[str]) -> bool:
    return any(name.partition("=")[0].strip().rstrip("<>~!") == "pytest" for name in packages)


def _point_to_tree(target: Path, tree: Path) -> str:
    """Take the installed files of the project away and have Python look in the tree under test for
    them; what is known of the package (its version, its entry points) stays. A compiled project
    cannot be tested so."""
    packages = next(target.glob("lib/python*/site-packages"))
    roots = {""}
    for note in packages.glob("*.dist-info/direct_url.json"):
        if json.loads(note.read_text("utf-8")).get("url", "").rstrip("/") != tree.as_uri():
            continue
        lines = (note.parent / "RECORD").read_text("utf-8").splitlines()
        names = [line.rsplit(",", 2)[0].strip('"') for line in lines]
        inside = [name for name in names if not name.startswith(("..", note.parent.name))]
        if compiled := [name for name in inside if name.endswith((".so", ".pyd"))]:
            return f"the project is compiled ({compiled[0]}), which needs a build in the tree"
        for name in inside:
            (packages / name).unlink(missing_ok=True)
            roots |= {root for root in ("src", "lib") if (tree / root / name).is_file()}
    paths = "".join(f"{_TREE}/{root}\n" for root in sorted(roots, reverse=True))
    (packages / "evalboard_tree.pth").write_text(paths, "utf-8")
    return ""


def _list_packages(target: Path) -> list[str]:
    found = target.glob("lib/python*/site-packages/*.dist-info")
    return sorted(path.name.removesuffix(".dist-info") for path in found)


def _read_note(target: Path) -> dict[str, object]:
    try:
        note = json.loads((target / _NOTE).read_bytes())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _run_command(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a program; what it complained of, "" where it succeeded."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {_SECONDS:.0f} s"
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if not done.returncode:
        return ""
    words = scrub_secrets(done.stderr.decode("utf-8", "replace")).split()
    return " ".join(words)[-500:] or f"status {done.returncode}"


# Tasks: the reference patch and no patch, in the sandbox. Good results are cached as those of a run
# are, so that a run asks no more; the report has the bad ones too.


class _TaskJudge:
    def __init__(
        self, options: PrepareOptions, cloned: Mapping[str, str], built: Mapping[str, str]
    ) -> None:
        self._options, self._cloned, self._built = options, cloned, built
        self._path = Path(options.folder, REPORT)
        earlier = {report.instance_id: report for report in _read_reports(self._path)}
        self._earlier = {
            name: report for name, report in earlier.items() if report.ok or not options.again
        }
        self._lock = threading.Lock()
        self.reports: dict[str, TaskReport] = {}
        self.reused = 0

    def task_runner(self, tasks: Sequence[Task]) -> Callable[[str], str]:
        by_id = {task.instance_id: task for task in tasks}
        return lambda name: self._judge(by_id[name])

    def _judge(self, task: Task) -> str:
        """Whether a task can be judged here; the problem, "" for none."""
        environment = name_environment(task)
        if problem := self._cloned.get(task.repo, ""):
            report = TaskReport(task.instance_id, False, "repository", problem)
        elif problem := self._built.get(environment, ""):
            report = TaskReport(task.instance_id, False, "environment", problem, environment)
        else:
            report = self._judge_tests(task, environment)
        with self._lock:
            self.reports[task.instance_id] = report
            if report != self._earlier.get(task.instance_id):
                with self._path.open("ab") as file:
                    file.write(to_json(report) + b"\n")
        return f"{report.step}: {report.problem}" if not report.ok else ""

    def _judge_tests(self, task: Task, environment: str) -> TaskReport:
        python = Path(self._options.folder, ENVIRONMENTS, environment, "bin", "python").absolute()
        fields = msgspec.to_builtins(replace(task, repository=""))
        key = content_hash([fields, _read_note(python.parent.parent).get("packages", [])], 32)
        earlier = self._earlier.get(task.instance_id)
        if earlier is not None and earlier.key == key:
            with self._lock:
                self.reused += 1
            return earlier
        report = TaskReport(task.instance_id, True, environment=environment, key=key)
        try:
            inspect_interpreter(python)
            usability = check_usability(task, find_usability_cache(), python=python)
        except EnvironmentFailure as error:
            return replace(report, ok=False, step="tests", problem=str(error), key="")
        if usability.ok:
            return report
        return replace(report, ok=False, step="tests", problem=str(usability.problem))


def find_usability_cache() -> Path:
    """Where a run looks for what is known of a task."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "evalboard", "swe_bench")


def _read_reports(path: Path) -> Iterator[TaskReport]:
    """The lines of a report, the later of a task after the earlier; torn ones are left out."""
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            yield from_json(TaskReport, line)
        except msgspec.DecodeError:
            continue


def list_result_lines(result: PrepareResult) -> list[str]:
    """What a person reads at the end: how many can be judged, and why not the others."""
    total, judged = len(result.reports), result.judged
    lines: list[str] = [Note("swe_judged", total=total, judged=judged, reused=result.reused)]
    reasons = Counter(
        f"{report.step}: {report.problem}" for report in result.reports if not report.ok
    )
    for reason, count in reasons.most_common(30):
        first = next(r for r in result.reports if f"{r.step}: {r.problem}" == reason)
        lines.append(f"{count:5} {reason[:300]} ({first.instance_id})")
    return [*lines, Note("swe_all_reports", path=Path(result.folder, REPORT))]


def run_swe_prepare(
    settings: Settings, source: str, flags: Mapping[str, str], progress: ProgressCallback
) -> CommandResult:
    """`evalcore swe prepare`; see `CommandCard`."""
    path = default_folder(settings, source) if source in NAMES else Path(source)
    if not path.exists():
        if source in NAMES:
            fetch = f"evalcore datasets fetch swe_bench --name {source}"
            raise UsageError(Note("swe_not_fetched", source=source, command=fetch))
        raise UsageError(Note("swe_no_source", source=source, names=", ".join(NAMES)))
    samples = load_swe_samples(DatasetSource(str(path)), settings.swe_repositories)
    chosen = set(filter(None, map(str.strip, flags["only"].split(","))))
    if unknown := sorted(chosen - {sample.id for sample in samples}):
        raise UsageError(Note("swe_none_of", source=source, names=", ".join(unknown)))
    tasks = [to_swe_task(sample) for sample in samples if not chosen or sample.id in chosen]
    if not tasks:
        raise UsageError(Note("plan_no_case", path=source, benchmark="swe_bench"))
    folder = Path(flags["folder"]) if flags["folder"] else find_prepared_folder(settings)
    if not flags["jobs"].isdecimal() or not 1 <= int(flags["jobs"]) <= 64:
        raise UsageError(Note("cli_jobs_range"))
    need = estimate_need(tasks, folder)
    if flags["estimate"] == "yes":
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(existing).free >> 20
        return CommandResult(need, _describe_need(len(tasks), folder, need, free))
    specs = read_specs_file(Path(flags["specs"])) if flags["specs"] else {}
    missing = [task for task in tasks if not task.repository]
    if missing and not specs:
        raise UsageError(Note("cli_swe_no_specs", release=RELEASE))
    options = PrepareOptions(
        folder=str(folder.absolute()),
        uv=find_uv(),
        jobs=int(flags["jobs"]),
        offline=flags["offline"] == "yes",
        mirrors=flags["mirrors"] or _HOST,
        again=flags["again"] == "yes",
    )
    result = prepare_tasks(tasks, specs, options, progress)
    return CommandResult(result, list_result_lines(result))


def find_prepared_folder(settings: Settings) -> Path:
    """Where things are prepared unless a flag says otherwise, and where runs look for them."""
    return settings.data_dir / "swe_bench"
