"""Programs that models wrote, run with their tests in the sandbox."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from evalcore.errors import EnvironmentFailure
from evalcore.records import Record
from evalcore.sandbox.filesystem import remove_tree
from evalcore.sandbox.program import Bind, Limits, Program, run_program

LIMITS = Limits(
    seconds=30.0,
    cpu_seconds=10,
    memory_bytes=1 << 30,
    file_bytes=16 << 20,
    processes=32,
    output_bytes=1 << 18,
    disk_bytes=64 << 20,
)
_FOLDER = "/program"
_LONGEST = 400_000  # characters of a program
_OUTPUT = 4000  # characters of it that are kept
#: Runs the program as a module of its own, then prints the word that it read before: a program
#: that ends early, by whatever means, has not passed.
_RUNNER = f"""import os, sys
word = sys.stdin.readline().strip()
sys.stdin = open(os.devnull)
with open("{_FOLDER}/program.py", encoding="utf-8", errors="surrogatepass") as file:
    source = file.read()
exec(compile(source, "program.py", "exec"), {{"__name__": "__main__"}})
sys.stdout.flush()
os.write(1, ("\\n" + word + "\\n").encode())
"""


class ProgramRun(Record, frozen=True):
    """Whether a program ran to its end without an error, and what it printed."""

    passed: bool
    output: str
    reason: str = ""


def run_tests(program: str) -> ProgramRun:
    """Run a program together with its tests. Raises EnvironmentFailure without a sandbox."""
    if len(program) > _LONGEST:
        return ProgramRun(False, "", f"the program is longer than {_LONGEST} characters")
    word = secrets.token_hex(16)
    try:
        folder = Path(tempfile.mkdtemp(prefix="evalcore-tests-"))
        try:
            (folder / "program.py").write_text(
                program, encoding="utf-8", errors="surrogatepass", newline="\n"
            )
            (folder / "run.py").write_text(_RUNNER, encoding="utf-8")
            done = run_program(
                Program(
                    argv=("python", "-B", f"{_FOLDER}/run.py"),
                    binds=(Bind(str(folder), _FOLDER),),
                    stdin=f"{word}\n",
                ),
                LIMITS,
            )
        finally:
            remove_tree(folder)
    except OSError as error:
        raise EnvironmentFailure(str(error)) from error
    passed = done.exit_code == 0 and done.output.rstrip().endswith(word)
    output = done.output.replace(word, "").strip()[-_OUTPUT:]
    if passed:
        return ProgramRun(True, output)
    if done.ended_by or done.exit_code is None:
        return ProgramRun(False, output, f"ended by the limit of {done.ended_by or 'the kernel'}")
    last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
    return ProgramRun(False, output, last[:300] or "the program ended before its tests did")
