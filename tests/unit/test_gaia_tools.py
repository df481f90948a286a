"""The desk and its tools: files by name, arithmetic, programs in the sandbox, checked arguments."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.gaia.tools import ToolError, local_tools
from evalcore.benchmarks.gaia.tools.local_tools import cut_middle, evaluate_expression
from evalcore.benchmarks.gaia.tools.toolset import ERROR, Toolset
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.sandbox.program import Limits, Program, ProgramResult, detect_sandbox
from tests.support import gaia_files as made
from tests.support.hangs import stop_hang
from tests.support.rows import each_row

needs_sandbox = pytest.mark.skipif(
    not detect_sandbox().means, reason=f"no sandbox of programs: {detect_sandbox().problem}"
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Toolset]:
    files = {"a.xlsx": made.xlsx(), "b.zip": made.archive(), "c.csv": b"x,y\n1,2\n3,4\n"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with Toolset([tmp_path / name for name in files]) as toolset:
        yield toolset


def test_the_tools_of_an_episode_without_the_web(desk: Toolset) -> None:
    names = [tool.name for tool in desk.tools]
    assert names == ["list_files", "read_file", "calculator", "python", "final_answer"]
    for tool in desk.tools:
        assert tool.parameters["type"] == "object"
        assert set(tool.parameters["required"]) <= set(tool.parameters["properties"])
    python = next(tool for tool in desk.tools if tool.name == "python")
    assert "Nothing is kept between calls" in python.description


def test_files_are_listed_with_members_of_archives(desk: Toolset) -> None:
    lines = desk.call("list_files", {}).splitlines()
    assert lines[0].startswith("a.xlsx, xlsx, ")
    assert "b.zip/inner/table.csv, csv, 8 bytes" in lines
    assert "c.csv, csv, 12 bytes" in lines
    with Toolset([]) as empty:
        assert empty.call("list_files", {}) == "There are no files."


def test_files_are_read_by_path(desk: Toolset) -> None:
    assert "A2: Lamp" in desk.call("read_file", {"path": "a.xlsx", "sheet": "Prices"})
    assert "A2: Lamp" in desk.call("read_file", {"path": " ./a.xlsx "})
    assert "1,2" in desk.call("read_file", {"path": "b.zip/inner/table.csv"})
    assert "found deep" in desk.call("read_file", {"path": "b.zip/inner/more.zip/deep.txt"})
    assert "A3: Desk" in desk.call("read_file", {"path": "b.zip/x.xlsx", "range": "A3:B3"})
    assert "3,4" in desk.call("read_file", {"path": "c.csv", "range": 3})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "d.csv"}, 'there is no file "d.csv"; the files: a.xlsx, b.zip, c.csv'),
        ({"path": "b.zip/none"}, 'the archive has no member "none"'),
        ({"path": "c.csv/none"}, '"c.csv" is not an archive'),
        ({"path": "a.xlsx", "sheet": "X"}, 'no sheet "X" here'),
        ({"path": "c.csv", "range": "A1:B2"}, '"range" must look like 3 or 1-3'),
        ({}, 'read_file needs the argument "path"'),
        ({"path": None}, 'read_file needs the argument "path"'),
        ({"path": ["a.xlsx"]}, 'the argument "path" of read_file must be a string, not a list'),
        ({"path": "c.csv", "pages": True}, 'the argument "pages" of read_file must be a string'),
        ({"path": "c.csv", "line": 1}, 'read_file has no argument "line"; its arguments: path'),
    ],
)
def test_what_a_model_did_wrong_is_told(
    desk: Toolset, arguments: dict[str, Any], message: str
) -> None:
    result = desk.call("read_file", arguments)
    assert result.startswith(ERROR)
    assert message in result


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("", {}),
        ("rm", {"x": 1}),
        ("x" * 10_000, {}),
        ("list_files", {"folder": "/"}),
        ("calculator", {"expression": {"a": 1}}),
        ("calculator", {"expression": 10**5000}),
        ("python", {"code": None}),
        ("python", {"code": "x" * 200_000}),
        ("final_answer", {}),
        ("final_answer", {"answer": ["17"]}),
    ],
)
def test_no_call_raises(desk: Toolset, name: str, arguments: dict[str, Any]) -> None:
    result = desk.call(name, arguments)
    assert result.startswith(ERROR)
    assert len(result) < 500


def test_the_final_answer_is_given_back(desk: Toolset) -> None:
    assert desk.call("final_answer", {"answer": "Paris"}) == "Paris"
    assert desk.call("final_answer", {"answer": 17}) == "17"


def test_results_are_kept_short(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("word\n" * 10_000)
    with Toolset([tmp_path / "long.txt"], max_chars=3000) as desk:
        result = desk.call("read_file", {"path": "long.txt"})
    assert len(result) <= 3000
    assert 'read on with "range"' in result
    assert "left out" not in result


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="same name"):
        Toolset([tmp_path / "a" / "x.txt", tmp_path / "b" / "x.txt"])


def test_a_lost_attachment_is_our_failure(tmp_path: Path) -> None:
    with Toolset([tmp_path / "gone.txt"]) as desk:
        for name, arguments in (
            ("read_file", {"path": "gone.txt"}),
            ("list_files", {}),
            ("python", {"code": "print(1)"}),
        ):
            with pytest.raises(EnvironmentFailure, match=r"gone\.txt"):
                desk.call(name, arguments)


@each_row(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("7 // 2", "3"),
        ("-7 % 3", "2"),
        ("10 / 4", "2.5"),
        ("6 / 3", "2.0"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("2 ** 100", str(2**100)),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("1e3", "1000.0"),
        ("3 × 4 ÷ 2 − 1", "5.0"),
        ("+5", "5"),
        ("--5", "5"),
        (" \n1+1\n ", "2"),
        ("sqrt(16)", "4.0"),
        ("sin(0) + cos(0)", "1.0"),
        ("tan(pi / 4)", repr(math.tan(math.pi / 4))),
        ("log(e)", "1.0"),
        ("log(8, 2)", "3.0"),
        ("log10(1000)", repr(math.log10(1000))),
        ("exp(1)", repr(math.e)),
        ("abs(-3)", "3"),
        ("round(2.567, 2)", "2.57"),
        ("round(2.5)", "2"),
        ("round(1234, -2)", "1200"),
        ("min(3, 1, 2) + max(1, 2)", "3"),
        ("floor(2.7) + ceil(2.1)", "5"),
        ("factorial(20)", str(math.factorial(20))),
        ("gcd(12, 18)", "6"),
        ("7 ** 3000 % 10", "1"),
        ("(-8) ** 3", "-512"),
        ("1 ** 1000000000", "1"),
        ("(-1) ** 1000000001", "-1"),
        ("0 ** 10000000", "0"),
        ("1_000 + 1", "1001"),
    ],
)
def test_the_calculator_computes(expression: str, value: str) -> None:
    assert evaluate_expression(expression) == value


@each_row(
    ("expression", "message"),
    [
        ("1,234 * 2", "thousands separator"),
        ("1 234", "thousands separators"),
        ("sqrt(1,234)", "thousands separators"),
        ("50%", "divide by 100"),
        ("$5 + 1", "currency"),
        ("2 ^ 3", "write **"),
        ("1 / 0", "division by zero"),
        ("5 % 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("x + 1", '"x" is not known'),
        ("open('/etc/passwd')", 'no function "open"'),
        ("__import__('os')", 'no function "__import__"'),
        ("(1).__class__", "Attribute is not arithmetic"),
        ("[1][0]", "is not arithmetic"),
        ("1 < 2", "Compare is not arithmetic"),
        ("1 if 2 else 3", "IfExp is not arithmetic"),
        ("lambda: 1", "is not arithmetic"),
        ("1 and 2", "BoolOp is not arithmetic"),
        ("~1", "Invert is not arithmetic"),
        ("1 << 100", "LShift is not arithmetic"),
        ("'a' * 9", "is not a real number"),
        ("True + 1", "is not a real number"),
        ("1j", "is not a real number"),
        ("f'{1}'", "is not arithmetic"),
        ("x := 1", "not an arithmetic expression"),
        ("1; 2", "not an arithmetic expression"),
        ("", "not an arithmetic expression"),
        ("sqrt(-1)", "no result"),
        ("log(0)", "no result"),
        ("(-8) ** 0.5", "not a real number"),
        ("gcd(1.5, 3)", "may need whole ones"),
        ("max(1)", "takes 2 to"),
        ("round(x=1)", "takes no named arguments"),
        ("round(*[1])", "is not arithmetic"),
        ("factorial(-1)", "whole numbers from 0"),
        ("factorial(2.5)", "whole numbers from 0"),
        ("1e999", "not a finite number"),
        ("1e308 * 10", "not a finite number"),
        ("exp(1000)", "too large for floating point"),
        ("10 ** 400 / 3", "too large for floating point"),
        ("floor(1e999)", "too large for floating point"),
        ("\x00", "no"),
        ("1 +\n2", "not an arithmetic expression"),
    ],
)
def test_what_is_no_arithmetic_is_refused(expression: str, message: str) -> None:
    with pytest.raises(ToolError) as refusal:
        evaluate_expression(expression)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "9 ** 9 ** 9 ** 9",
        "(9 ** 30000) ** 5",
        "factorial(5001)",
        "factorial(factorial(10))",
        "round(5, -1000000000)",
        "2 ** 20000",
        "(" * 400 + "1" + ")" * 400,
        "-" * 900 + "1",
        "1" + "+1" * 499,
        "*".join(["9**30000"] * 90),
        "//".join(["9**30000"] * 90),
        "%".join(["factorial(4999)"] * 60),
        "1" * 1000,
        "1" * 5000,
        "max(" * 190 + "1, 2" + ", 3)" * 190,
        "gcd(" + ", ".join(["factorial(4999)"] * 55) + ")",
    ],
)
def test_the_calculator_ends_soon_whatever_it_is_given(expression: str) -> None:
    with stop_hang():
        try:
            text = evaluate_expression(expression)
        except ToolError as refusal:
            text = str(refusal)
        assert len(text) <= 4001


@needs_sandbox
def test_a_program_reads_copies_of_the_attachments(desk: Toolset, tmp_path: Path) -> None:
    code = (
        "import os, pandas as pd\n"
        "print(sorted(os.listdir()))\n"
        "print(pd.read_csv('c.csv')['y'].sum())\n"
        "open('c.csv', 'w').write('changed')\n"
    )
    result = desk.call("python", {"code": code})
    assert result.splitlines() == ["['a.xlsx', 'b.zip', 'c.csv']", "6"]
    assert (tmp_path / "c.csv").read_bytes() == b"x,y\n1,2\n3,4\n"


@needs_sandbox
def test_nothing_is_kept_between_programs(desk: Toolset) -> None:
    desk.call("python", {"code": "kept = 1; open('kept.txt', 'w').write('1')"})
    result = desk.call("python", {"code": "import os\nprint(os.path.exists('kept.txt'))\nkept"})
    assert result.startswith("False\nTraceback")
    assert 'File "/program/main.py", line 3' in result
    assert result.endswith("[exit status 1]")


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "(nothing was printed)"),
        ("print('é')", "é"),
        ("import sys; sys.exit(3)", "[exit status 3]"),
        ("print(", "SyntaxError"),
        ("print('\ud800')", "?"),
        ("import socket; socket.create_connection(('1.1.1.1', 53), 1)", "Error"),
        ("print(open('/etc/shadow').read())", "Error"),
        ("import os; print(sorted(os.environ) and os.getenv('EVALBOARD_CANARY'))", "None"),
    ],
)
def test_what_a_program_prints(
    desk: Toolset, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.setenv("EVALBOARD_CANARY", "canary")
    assert message in desk.call("python", {"code": code})


@needs_sandbox
def test_a_long_output_keeps_its_beginning_and_its_end(desk: Toolset) -> None:
    result = desk.call("python", {"code": "print('first')\nprint('x' * 99999)\nprint('last')"})
    assert result.startswith("first\n")
    assert result.rstrip().endswith("last")
    assert "characters are left out" in result
    assert len(result) <= 20_000


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('begun', flush=True)\nwhile True: pass", "longer than 1 seconds\nbegun"),
        ("while True: print('x' * 10000)", "it printed too much"),
    ],
)
def test_a_program_over_its_limits_is_ended(
    desk: Toolset, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.setattr(local_tools, "LIMITS", Limits(seconds=1.0, output_bytes=200_000))
    result = desk.call("python", {"code": code})
    assert result.startswith(f"{ERROR}the program was ended: ")
    assert message in result


@needs_sandbox
def test_no_folder_is_left_behind(
    desk: Toolset, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    desk.call("python", {"code": "import os\nos.mkdir('d')\nos.chmod('d', 0)\nos.chmod('.', 0)"})
    assert not list(folder.glob("evalcore-python-*"))


def test_a_machine_without_a_sandbox_is_our_failure(
    desk: Toolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(program: Program, limits: Limits) -> ProgramResult:
        raise EnvironmentFailure("no sandbox can be had")

    monkeypatch.setattr(local_tools, "run_program", refuse)
    with pytest.raises(EnvironmentFailure):
        desk.call("python", {"code": "print(1)"})


def test_a_text_is_cut_in_its_middle() -> None:
    assert cut_middle("abc", 3) == "abc"
    cut = cut_middle("a" * 50 + "b" * 50, 10)
    assert cut == "aaaaa\n[... 90 characters are left out ...]\nbbbbb"


def test_a_full_disk_is_our_failure(desk: Toolset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    with pytest.raises(EnvironmentFailure, match="check the disk"):
        desk.call("python", {"code": "print(1)"})


def test_results_hold_only_characters_of_a_message(desk: Toolset) -> None:
    assert desk.call("final_answer", {"answer": "a\ud800\x1bb"}) == "a?\ufffdb"
    desk.call("\ud800", {}).encode()
    desk.call("read_file", {"path": "\ud800", "\udfff": "x"}).encode()


def test_the_desk_loads_no_reader_into_this_process() -> None:
    code = (
        "import sys; import evalcore.benchmarks.gaia.tools.toolset; "
        "heavy = {'openpyxl', 'pypdf', 'docx', 'pptx', 'PIL', 'httpx2', 'pandas', 'lxml'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
