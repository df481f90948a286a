"""`tools/check_names.py`: what it counts, what it excepts, and when it fails."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tools import check_names

ROOT = Path(__file__).resolve().parents[2]


def survey(tmp_path: Path, **sources: str) -> check_names.Survey:
    """Survey modules of these sources, `a__b` being `a/b.py`."""
    paths = []
    for name, source in sources.items():
        path = tmp_path / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        paths.append(path)
    return check_names.survey_files(paths, tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("spec_told", ["spec", "told"]),
        ("_FoundOne", ["found", "one"]),
        ("HTTPServer", ["http", "server"]),
        ("parseJSON", ["parse", "json"]),
        ("LONGEST_KEPT", ["longest", "kept"]),
        ("oneself", ["oneself"]),
        ("phone2", ["phone"]),
        ("_", []),
        ("__init__", ["init"]),
    ],
)
def test_names_are_split_at_underscores_and_humps(name, words):
    assert check_names.split_name(name) == words


@pytest.mark.parametrize(
    "source",
    [
        "told = 1",
        "x.told",
        "def f(told): pass",
        "def f(*told): pass",
        "f(told=1)",
        "def told(): pass",
        "async def _told(): pass",
        "class Told: pass",
        "import told",
        "from x import told",
        "import x as told",
        "lambda told: 0",
        "for told in x: pass",
        "if told := x: pass",
    ],
)
def test_every_kind_of_identifier_is_counted(tmp_path, source):
    uses = survey(tmp_path, m=source).words["told"]
    assert [(use.path, use.line) for use in uses] == [("m.py", 1)]


def test_strings_and_comments_are_not_identifiers(tmp_path):
    assert not survey(tmp_path, m='x = {"told": "told"}  # told').words["told"]


def test_the_names_of_tests_are_sentences(tmp_path):
    measured = survey(tmp_path, m="def test_a_word_is_found(found): ...")
    assert [use.name for use in measured.words["found"]] == ["found"]


def test_words_are_per_ten_thousand_identifiers(tmp_path):
    measured = survey(tmp_path, m="\n".join(["x = y"] * 49 + ["found = place_found"]))
    assert measured.identifiers == 100
    assert measured.figures()["word found"] == 200
    assert measured.figures()["word place"] == 100
    assert measured.figures()["word told"] == 0


def test_one_word_functions(tmp_path):
    source = """
class Reader:
    def __enter__(self): ...
    def read(self): ...
    def _read(self): ...
    def read_file(self): ...
def main(): ...
async def parseText(): ...
"""
    measured = survey(tmp_path, m=source)
    assert [function.name for function in measured.single_word_functions] == ["read", "_read"]
    assert measured.figures()["one-word functions, %"] == 50


def crowd(source: str) -> dict[str, str]:
    return {f"m{number}": source for number in range(9)}


def test_a_name_in_more_than_eight_modules_is_crowded(tmp_path):
    nine = crowd("def load(): ...\ndef load(): ...\nclass Row: ...\n")
    measured = survey(tmp_path, **nine)
    assert set(measured.crowded) == {"load", "Row"}
    del nine["m0"]
    assert not survey(tmp_path / "eight", **nine).crowded


def test_overrides_dunders_and_main_are_not_crowded(tmp_path):
    base = "class Base:\n    def load(self): ...\nclass Middle(Base): ...\n"
    source = """
class {0}(base.Middle[int]):
    def load(self): ...
    def __init__(self): ...
def main(): ...
"""
    parts = {name: text.format(f"C{name}") for name, text in crowd(source).items()}
    assert not survey(tmp_path, base=base, **parts).crowded


def test_a_method_without_such_a_base_is_no_override(tmp_path):
    source = "class {0}(Elsewhere):\n    def load(self): ...\n"
    parts = {name: text.format(f"C{name}") for name, text in crowd(source).items()}
    other = "class Base:\n    def load(self): ...\n"
    assert set(survey(tmp_path, base=other, **parts).crowded) == {"load"}


@pytest.mark.parametrize(
    ("methods", "crowded"),
    [
        ("    def load(self): ...\n    def store(self): ...\n", set()),
        ("    def load(self): ...\n", {"load"}),
        ("    def close(self): ...\n", set()),
    ],
)
def test_a_protocol_imposes_names_only_where_all_of_it_is_there(tmp_path, methods, crowded):
    protocol = (
        "class P(Protocol):\n    def load(self): ...\n    def store(self): ...\ndef close(): ...\n"
    )
    parts = {name: f"class C{name}:\n{methods}" for name in crowd("")}
    assert set(survey(tmp_path, protocol=protocol, **parts).crowded) == crowded


def test_bases_in_a_circle_end(tmp_path):
    assert survey(tmp_path, m="class A(B): ...\nclass B(A):\n    def f(self): ...").definitions


def test_sizes(tmp_path):
    long = "def f_g():\n" + "    x = 1\n" * 39 + "\n" * 500
    measured = survey(tmp_path, long=long, short="def f_g(): ...\n")
    figures = measured.figures()
    assert figures["modules"] == 2
    assert figures["lines"] == 541
    assert figures["long modules"] == 1
    assert figures["function length, p95"] == 40
    assert str(measured.long_modules[0]) == "long.py:540: 540 lines"


def test_nothing_to_survey_is_no_error():
    figures = check_names.survey_files([], ROOT).figures()
    assert not any(figures.values())
    others = {f"words in {source}" for source in check_names.OTHER_SOURCES}
    assert set(figures) == set(check_names.LIMITS) - others


def test_offenders_are_listed_by_file_and_line(tmp_path):
    measured = survey(tmp_path, m="x = 1\ndef told(): ...\n")
    assert check_names.offenders(measured, ["word told", "one-word functions, %", "lines"]) == [
        "m.py:2: told  (word told)",
        "m.py:2: told  (one-word functions, %)",
    ]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small project that has one long-winded module and one bad name."""
    (tmp_path / "evalcore").mkdir()
    (tmp_path / "pages").mkdir()
    (tmp_path / "app.py").write_text("x = 1\n")
    (tmp_path / "evalcore" / "m.py").write_text("def load_spec(told): ...\n")
    list_sources = check_names.list_sources
    monkeypatch.setattr(
        check_names,
        "list_sources",
        lambda root=tmp_path, sources=check_names.SOURCES: list_sources(tmp_path, sources),
    )
    monkeypatch.setattr(check_names, "ROOT", tmp_path)
    return monkeypatch


def test_a_figure_above_its_ceiling_fails(project, capsys):
    project.setattr(check_names, "CEILINGS", {"word told": 4000, "lines": 1})
    assert check_names.main([]) == 1
    assert capsys.readouterr().err == "check_names: lines: 2 is above 1\n"
    project.setattr(check_names, "CEILINGS", {"word told": 4000, "lines": 2})
    assert check_names.main([]) == 0


def test_limits_fail_with_the_offenders(project, capsys):
    assert check_names.main(["--limits"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "evalcore/m.py:1: told  (word told)\n"
    assert "word told: 3333.33 is above 3" in printed.err


def test_words_count_in_tests_tools_and_perf_too(project, capsys, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_m.py").write_text("def test_found():\n    found = 1\n")
    (tmp_path / "evalcore" / "m.py").write_text("def load_spec(path): ...\n")
    assert check_names.main(["--limits"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "tests/test_m.py:2: found  (word found)\n"
    assert printed.err == "check_names: words in tests: 10000 is above 3\n"


def test_json(project, capsys):
    project.setattr(check_names, "CEILINGS", {"lines": 1})
    assert check_names.main(["--json", "--limits"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["figures"]["lines"] == {"figure": 2, "ceiling": 1, "limit": 76000}
    assert data["offenders"] == ["evalcore/m.py:1: told  (word told)"]


def test_every_figure_has_a_limit_and_a_ceiling():
    assert set(check_names.CEILINGS) == set(check_names.LIMITS)


def test_tools_are_checked_and_not_shipped():
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert configuration["setuptools"]["packages"]["find"]["include"] == ["evalcore*"]
    assert "tools" in configuration["mypy"]["files"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "mypy --strict evalcore tools" in makefile
    assert "python tools/check_names.py" in makefile
