"""The Python that a task's tests run with: this one, or that of a folder of environments."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from evalcore.benchmarks.swe_bench.task import Task
from evalcore.errors import EnvironmentFailure
from evalcore.records import Record, content_hash
from evalcore.sandbox.program import Bind, Limits, Program, run_program

#: Where the official images have conda; scripts of the data set read this file.
ACTIVATE = "/opt/miniconda3/bin/activate"
#: A script that traces its commands does not trace these: a log says nothing of where we live.
_ACTIVATE = """\
case $- in *x*) traced=yes ;; *) traced= ;; esac
{{ set +x; }} 2>/dev/null
export PATH="{prefix}/bin:$PATH"
conda() {{ :; }}
test -z "$traced" || set -x
"""
_SYSTEM = (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib64"))
_ASK = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, sys.version.split()[0]]))"
_SECONDS = 30.0
_CHECK = Limits(seconds=60.0, cpu_seconds=60, output_bytes=64 << 10)


class Interpreter(Record, frozen=True):
    """`contents` is a hash of the version and of the distributions that are installed; `own` says
    that it is the one that we run with."""

    executable: str
    prefix: str
    base_prefix: str
    version: str
    contents: str
    own: bool

    @property
    def binds(self) -> tuple[Bind, ...]:
        """What must be seen inside, besides the system and the interpreter that we run with."""
        ours = {sys.prefix, sys.base_prefix}
        prefixes = [name for name in (self.prefix, self.base_prefix) if name not in ours]
        foreign = [name for name in dict.fromkeys(prefixes) if not _is_system_path(Path(name))]
        return tuple(Bind(source=name, target=name) for name in foreign)

    def write_activate_shim(self, folder: Path) -> Bind:
        """A file of a folder in place of conda's `activate`: this interpreter comes first, and
        there is a `conda` that does nothing."""
        activate_path = folder / "activate"
        activate_path.write_text(_ACTIVATE.format(prefix=self.prefix), "utf-8")
        return Bind(source=str(activate_path), target=ACTIVATE)


def find_task_python(task: Task, folder: Path) -> Path | None:
    """The Python of a folder of environments that fits a task, None where there is none.

    Looked for are `<instance_id>` and `<owner>__<name>-<version>`, in this order.
    """
    for name in (task.instance_id, f"{task.repo.replace('/', '__')}-{task.version}"):
        python = folder / name / "bin" / "python"
        if "/" not in name and python.exists():
            return python.absolute()
    return None


def inspect_interpreter(python: Path | None = None) -> Interpreter:
    """What is known of an interpreter, of the running one for None.

    Raises EnvironmentFailure where it cannot be started.
    """
    return _inspect_executable(str(python) if python else sys.executable, python is None)


@cache
def _inspect_executable(executable: str, own: bool) -> Interpreter:
    if own:
        prefix, base, version = sys.prefix, sys.base_prefix, sys.version.split()[0]
    else:
        prefix, base, version = _query_prefixes(executable)
    distributions = sorted(
        path.name for path in Path(prefix).glob("lib/python*/site-packages/*.dist-info")
    )
    contents = content_hash([version, distributions])
    return Interpreter(executable, prefix, base, version, contents, own)


def _query_prefixes(executable: str) -> tuple[str, str, str]:
    try:
        command = [executable, "-I", "-c", _ASK]
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
        prefix, base, version = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise EnvironmentFailure(f"{executable} does not run as a Python: {error}") from None
    return str(prefix), str(base), str(version)


@cache
def check_interpreter(python: Interpreter, module: str) -> None:
    """Make sure, once, that the interpreter starts inside and has a module ("" for none).

    A missing interpreter ends a script with status 127, which grades like failed tests: so it is
    found here. Raises EnvironmentFailure.
    """
    code = f"import {module}" if module else "pass"
    with tempfile.TemporaryDirectory(prefix="evalcore-swe-") as folder:
        binds = (*python.binds, python.write_activate_shim(Path(folder)))
        command = f'source {ACTIVATE} && python -c "{code}"'
        done = run_program(Program(argv=("bash", "-c", command), binds=binds), _CHECK)
    if done.exit_code != 0:
        raise EnvironmentFailure(
            f"{python.executable} cannot run tests inside the sandbox ({code!r} ended with "
            f"{done.exit_code}): {done.output.strip()[-300:]}; install {module or 'Python'} there"
        )


def _is_system_path(path: Path) -> bool:
    return any(path.is_relative_to(root) for root in _SYSTEM)
