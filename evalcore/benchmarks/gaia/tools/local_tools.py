"""The tools of mode `local`: a calculator, the attachments by their names, and Python in the
sandbox.

The calculator knows nothing but numbers, and every step of it is bounded. A path is looked up
among the names of the attachments and never joined to a folder.
"""

from __future__ import annotations

import ast
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evalcore.arithmetic import BINARY, Evaluate, count_result_bits, evaluate_tree
from evalcore.benchmarks.gaia.attachments import (
    ReadRequest,
    Unreadable,
    list_archive_members,
    read_attachment_bytes,
    read_content,
)
from evalcore.benchmarks.gaia.attachments.read_request import detect_file_kind
from evalcore.benchmarks.gaia.tools import text_tool
from evalcore.benchmarks.http_client import ToolError
from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.sandbox.filesystem import remove_tree
from evalcore.sandbox.program import Bind, Limits, Program, ProgramResult, run_program

# The calculator: arithmetic by an evaluator of our own, which knows nothing but numbers. Integers
# stay exact and floats are shown by repr. Every step is bounded, so that an expression of the
# longest length ends within a second whatever it says.

Number = int | float

_MAX_EXPRESSION_CHARS = 1000  # characters of an expression
_MAX_BITS = 100_000  # of an integer on the way
_MAX_DIGITS = 4000  # of a result
_MAX_FACTORIAL = 5000
_MAX_DECIMALS = 400  # of round

_SIGNS = str.maketrans({"×": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "π": "pi"})


def evaluate_expression(expression: str) -> str:
    """The value of an expression as text. Raises ToolError for what is no arithmetic."""
    if len(expression) > _MAX_EXPRESSION_CHARS:
        raise ToolError(f"the expression is longer than {_MAX_EXPRESSION_CHARS} characters")
    try:
        tree = ast.parse(expression.translate(_SIGNS).strip(), mode="eval")
        value = evaluate_tree(tree.body, _apply_operator, _evaluate_other, _check_node)
        if isinstance(value, float) and not math.isfinite(value):
            raise ToolError("the result is not a finite number")
        if isinstance(value, int) and abs(value).bit_length() > _MAX_DIGITS * math.log2(10):
            raise ToolError(f"the result has more than {_MAX_DIGITS} digits")
        return repr(value)
    except SyntaxError as error:
        raise ToolError(
            f"not an arithmetic expression ({error.msg}){_find_syntax_hint(expression)}"
        ) from None
    except ZeroDivisionError:
        raise ToolError("division by zero") from None
    except OverflowError:
        raise ToolError("the numbers become too large for floating point") from None
    except ValueError as error:  # outside a function's domain, or too many digits to be read
        raise ToolError(f"no result: {error}") from None
    except (RecursionError, MemoryError):  # Python's parser raises both for deep nesting
        raise ToolError("the expression is nested too deep") from None


def _find_syntax_hint(expression: str) -> str:
    hints = {"%": "; for percent, divide by 100", "$": "; leave out signs of currency"}
    sign_hint = next((hint for sign, hint in hints.items() if sign in expression), "")
    return sign_hint or "; write numbers without thousands separators and units"


def _check_node(node: ast.expr) -> None:
    """Raise ToolError for a constant or an operator that is no arithmetic."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise ToolError(f"{str(node.value)[:40]!r} is not a real number")
    elif isinstance(node, ast.UnaryOp | ast.BinOp) and not isinstance(node.op, _OPERATORS):
        if isinstance(node.op, ast.BitXor):
            raise ToolError("^ is not a power; write **")
        raise ToolError(f"the operator {type(node.op).__name__} is not arithmetic")


def _apply_operator(kind: type[ast.operator], left: Number, right: Number) -> Number:
    if kind is ast.Pow and count_result_bits(kind, left, right) > _MAX_BITS:
        raise ToolError("the power becomes too large")
    return _ensure_bounded(BINARY[kind](left, right))


def _evaluate_other(node: ast.expr, evaluate: Evaluate) -> Number:
    if isinstance(node, ast.Name):
        if node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        available = ", ".join((*_CONSTANTS, *_FUNCTIONS))
        raise ToolError(f'"{node.id[:40]}" is not known; known are {available}')
    if isinstance(node, ast.Call):
        return _call_function(node, evaluate)
    if isinstance(node, ast.Tuple):
        raise ToolError("a comma stands between numbers; write 1234 without a thousands separator")
    raise ToolError(f"{type(node).__name__} is not arithmetic")


def _call_function(node: ast.Call, evaluate: Evaluate) -> Number:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS:
        raise ToolError(f'no function "{name[:40]}"; there are {", ".join(_FUNCTIONS)}')
    if node.keywords:
        raise ToolError(f"{name} takes no named arguments")
    function, minimum, maximum = _FUNCTIONS[name]
    if not minimum <= len(node.args) <= maximum:
        expected_count = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
        raise ToolError(
            f"{name} takes {expected_count} arguments, not {len(node.args)}; "
            "write numbers without thousands separators"
        )
    try:
        return _ensure_bounded(function(*map(evaluate, node.args)))
    except TypeError:
        raise ToolError(f"{name} does not take these numbers; it may need whole ones") from None


def _ensure_bounded(value: Number) -> Number:
    if isinstance(value, complex):  # a root of a negative number
        raise ToolError("the result is not a real number")
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ToolError("the numbers become too large")
    return value


def _bounded_round(value: Number, decimals: Number = 0) -> Number:
    if not isinstance(decimals, int) or abs(decimals) > _MAX_DECIMALS:
        raise ToolError(f"round takes a whole number of places, at most {_MAX_DECIMALS}")
    return round(value, decimals) if decimals else round(value)


def _bounded_factorial(number: Number) -> int:
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or not 0 <= number <= _MAX_FACTORIAL:
        raise ToolError(f"factorial takes whole numbers from 0 to {_MAX_FACTORIAL}")
    return math.factorial(number)


_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e}
_OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.UAdd, ast.USub),
)
_MAX_ARGUMENTS = 100
#: A function with the least and the most arguments it takes.
_FUNCTIONS: Mapping[str, tuple[Callable[..., Number], int, int]] = {
    "sqrt": (math.sqrt, 1, 1),
    "sin": (math.sin, 1, 1),
    "cos": (math.cos, 1, 1),
    "tan": (math.tan, 1, 1),
    "log": (math.log, 1, 2),
    "log10": (math.log10, 1, 1),
    "exp": (math.exp, 1, 1),
    "abs": (abs, 1, 1),
    "round": (_bounded_round, 1, 2),
    "min": (min, 2, _MAX_ARGUMENTS),
    "max": (max, 2, _MAX_ARGUMENTS),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "factorial": (_bounded_factorial, 1, 1),
    "gcd": (math.gcd, 1, _MAX_ARGUMENTS),
}
CALCULATOR_TOOL = text_tool(
    "calculator",
    "Computes an arithmetic expression. Operators: + - * / // % **, parentheses. Functions: "
    f"{', '.join(_FUNCTIONS)} (angles in radians, log is natural). Constants: pi, e. "
    "No thousands separators, no units.",
    {"expression": "the expression, like (12.5 + 3) * 2 ** 0.5"},
)


# The tools `list_files` and `read_file`: the attachments by their names, and nothing else. A path
# is looked up among the names that were given, and below an archive among its members. It is never
# joined to a folder, so that no path leads anywhere else.

_MAX_LISTED_MEMBERS = 200  # members of an archive
_LONGEST_PATH = 500

LIST = text_tool(
    "list_files",
    "Lists the attached files: path, kind and size in bytes of each, and of what archives hold.",
)
READ = text_tool(
    "read_file",
    "Returns the text of an attached file. Workbooks show values, formulas and colours of cells; "
    "pictures and sound show only what their files say of them. A long text is cut, with a note "
    "of how to read on.",
    {"path": "the path as list_files shows it"},
    {
        "sheet": "the name of a sheet (xlsx) or of a table (sqlite)",
        "range": "cells of a sheet like A1:D20, lines of a text or rows of a table like 10-40",
        "pages": "pages of a pdf or slides of a pptx, like 1-3",
    },
)


def list_files(files: Mapping[str, Path]) -> str:
    """A line a file and a line a member of an archive. Raises EnvironmentFailure only."""
    lines: list[str] = []
    for name, path in files.items():
        try:
            content = read_attachment_bytes(path)
            kind = detect_file_kind(name, content[:16])
            lines.append(f"{name}, {kind or 'unknown kind'}, {len(content)} bytes")
            if kind == "zip":
                lines += _list_member_lines(name, content)
        except Unreadable as problem:
            lines.append(f"{name}, not readable: {problem}")
    return "\n".join(lines) or "There are no files."


def _list_member_lines(archive: str, content: bytes) -> list[str]:
    members = list_archive_members(content)
    lines = [
        f"{archive}/{name}, {detect_file_kind(name, b'') or 'unknown kind'}, {size} bytes"
        for name, size in members[:_MAX_LISTED_MEMBERS]
    ]
    if len(members) > _MAX_LISTED_MEMBERS:
        lines.append(f"[{len(members) - _MAX_LISTED_MEMBERS} more files in {archive}]")
    return lines


def read_file(files: Mapping[str, Path], path: str, request: ReadRequest) -> str:
    """The text of a file or of a member of an archive. Raises ToolError and EnvironmentFailure."""
    name, member = _split_attachment_path(files, path)
    try:
        content = read_attachment_bytes(files[name])
        if member and detect_file_kind(name, content[:16]) != "zip":
            raise ToolError(f'"{name}" is not an archive')
        return read_content(content, request, member)
    except Unreadable as problem:
        raise ToolError(f'"{path[:_LONGEST_PATH]}": {problem}') from None


def _split_attachment_path(files: Mapping[str, Path], path: str) -> tuple[str, str]:
    """The attachment a path names, and the path within it."""
    plain = path.strip().removeprefix("./")
    steps = plain.split("/")
    available = ", ".join(files) or "none"
    forbidden = {"..", ".", ""} & set(steps)
    if forbidden or "\\" in plain or "\x00" in plain or len(plain) > _LONGEST_PATH:
        raise ToolError(
            f'"{path[:_LONGEST_PATH]}" is not a path of an attached file; the files: {available}'
        )
    for name in sorted(files, key=len, reverse=True):
        if plain == name:
            return name, ""
        if plain.startswith(f"{name}/"):
            return name, plain[len(name) + 1 :]
    raise ToolError(f'there is no file "{path[:_LONGEST_PATH]}"; the files: {available}')


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
    status where that is not 0. Raises ToolError where a limit ended it, EnvironmentFailure where
    there is no sandbox."""
    if len(code) > _LONGEST_CODE:
        raise ToolError(f"the program is longer than {_LONGEST_CODE} characters")
    try:
        folder = Path(tempfile.mkdtemp(prefix="evalcore-python-"))
        try:
            return _format_program_output(_run_sandboxed_code(folder, code, files), max_chars)
        finally:
            remove_tree(folder)
    except OSError as error:
        raise EnvironmentFailure(Note("gaia_program_files", message=error.strerror)) from error


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
