"""The tool `python`: a program of the model, run in the sandbox over copies of the files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalcore.benchmarks.gaia.tools.tool import ToolError, text_tool
from evalcore.errors import EnvironmentFailure
from evalcore.sandbox.folder import remove_tree
from evalcore.sandbox.program import Bind, Limits, Program, ProgramResult, run_program

#: Processor time above the clock's, so that a busy program is always ended by the clock.
LIMITS = Limits(seconds=30.0, cpu_seconds=35, memory_bytes=2 << 30)
_LONGEST_CODE = 100_000
#: Paths inside; names that no interpreter is installed below.
_FILES, _PROGRAM = "/files", "/program"
#: So that Python files among the attachments can be imported.
_ENVIRONMENT = {"PYTHONPATH": _FILES, "PYTHONDONTWRITEBYTECODE": "1"}
_END_REASONS = {
    "time": "it ran longer than {seconds:g} seconds",
    "output": "it printed too much",
    "memory": "it took too much memory",
    "processes": "it started too many processes",
    "disk": "it wrote too much",
}

PYTHON_TOOL = text_tool(
    "python",
    "Runs a Python program and returns what it prints. Its working folder holds copies of the "
    "attached files (archives are not unpacked). pandas, openpyxl and the standard library are "
    f"there, a network is not. It is ended after {LIMITS.seconds:g} seconds. Nothing is kept "
    "between calls: neither variables nor files. Print what you want to see.",
    {"code": "the whole program"},
)


def run_python(code: str, files: Mapping[str, bytes], max_chars: int) -> str:
    """What the program printed, cut in its middle to about `max_chars` characters, and its exit
    status where that is not 0.

    Raises Refusal where a limit ended it, EnvironmentFailure where there is no sandbox.
    """
    if len(code) > _LONGEST_CODE:
        raise ToolError(f"the program is longer than {_LONGEST_CODE} characters")
    try:
        folder = Path(tempfile.mkdtemp(prefix="evalcore-python-"))
        try:
            return _format_program_output(_run_sandboxed_code(folder, code, files), max_chars)
        finally:
            remove_tree(folder)
    except OSError as error:
        raise EnvironmentFailure(
            f"the files for a program cannot be written: {error.strerror}; check the disk"
        ) from error


def _run_sandboxed_code(folder: Path, code: str, files: Mapping[str, bytes]) -> ProgramResult:
    work, program = folder / "work", folder / "program"
    work.mkdir()
    program.mkdir()
    (program / "main.py").write_text(code, encoding="utf-8", newline="\n")
    for name, content in files.items():
        (work / name).write_bytes(content)
    return run_program(
        Program(
            argv=("python", f"{_PROGRAM}/main.py"),
            binds=(Bind(str(program), _PROGRAM), Bind(str(work), _FILES, writable=True)),
            cwd=_FILES,
            env=_ENVIRONMENT,
        ),
        LIMITS,
    )


def _format_program_output(finished: ProgramResult, max_chars: int) -> str:
    printed = cut_middle(finished.output, max_chars)
    if finished.ended_by or finished.exit_code is None:
        reason = _END_REASONS.get(finished.ended_by, "it was killed").format(seconds=LIMITS.seconds)
        raise ToolError(f"the program was ended: {reason}" + (f"\n{printed}" if printed else ""))
    status = f"[exit status {finished.exit_code}]" if finished.exit_code else ""
    parts: Sequence[str] = [part for part in (printed, status) if part.strip()]
    return "\n".join(parts) or "(nothing was printed)"


def cut_middle(text: str, max_chars: int) -> str:
    """The beginning and the end of a text longer than `max_chars` characters."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters are left out ...]\n{text[-half:]}"
