"""`tools/draw_architecture.py`: what it draws from small sources, and when it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import draw_architecture as drawing

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = """
[[tool.importlinter.contracts]]
type = "forbidden"
[[tool.importlinter.contracts]]
type = "layers"
layers = ["cli", "queries | runner", "records"]
"""
DOCUMENT = f"# Layers\n\n{drawing.START}\n{drawing.END}\n\nAfter.\n"
SOURCES = {
    "pyproject.toml": CONTRACT,
    "docs/architecture.md": DOCUMENT,
    "app.py": "def main():\n    from pages import ranking\n    import evalcore.queries.boards\n",
    "pages/ranking.py": "from pages.shared import text\nfrom evalcore import records, queries\n",
    "pages/shared/text.py": "import os, streamlit\n",
    "evalcore/__init__.py": "__version__ = '1'\n",
    "evalcore/cli.py": "from evalcore import __version__\nfrom .runner.plan import plan_run\n",
    "evalcore/queries/__init__.py": "",
    "evalcore/queries/boards.py": "from . import rows\nfrom ..records import Record as R\n",
    "evalcore/queries/rows.py": "from evalcore.queries import boards\n",
    "evalcore/runner/__init__.py": "",
    "evalcore/runner/plan.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from evalcore.records import Run\n"
    ),
    "evalcore/records.py": "import evalcore\n",
    "evalcore/data/notes.txt": "a folder that is no package",
}
BLOCK = """
     module   imports
  1  app.py   pages queries
  2  pages    queries records
  3  cli      runner
  4  queries  records
     runner   records
  5  records  -
"""


@pytest.fixture
def house(tmp_path):
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def read_document(house: Path) -> str:
    return (house / drawing.DOCUMENT).read_text(encoding="utf-8")


def test_layers_are_drawn_with_every_kind_of_import(house):
    assert drawing.main([], house) == 0
    before, after = DOCUMENT.split(f"{drawing.START}\n{drawing.END}")
    assert read_document(house) == (
        f"{before}{drawing.START}\n```text{BLOCK}```\n{drawing.END}{after}"
    )


def test_drawing_twice_changes_nothing_and_checks(house):
    drawing.main([], house)
    first = read_document(house)
    assert drawing.main([], house) == 0
    assert read_document(house) == first
    assert drawing.main(["--check"], house) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("evalcore/runner/plan.py", "from evalcore.queries import boards\n"),
        ("evalcore/cli.py", "from evalcore import records\n"),
        ("pages/ranking.py", ""),
        ("pyproject.toml", CONTRACT.replace("queries | runner", "runner | queries")),
        ("docs/architecture.md", DOCUMENT),
    ],
)
def test_a_stale_document_fails_the_check_and_is_left_alone(house, capsys, name, text):
    drawing.main([], house)
    (house / name).write_text(text, encoding="utf-8")
    stale = read_document(house)
    assert drawing.main(["--check"], house) == 1
    assert "is stale; run `python tools/draw_architecture.py`" in capsys.readouterr().err
    assert read_document(house) == stale
    assert drawing.main([], house) == 0
    assert drawing.main(["--check"], house) == 0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("evalcore/extra.py", "", None),
        ("evalcore/extra.py", "import evalcore.cli", "no layer in pyproject.toml: extra"),
        ("pyproject.toml", CONTRACT.replace("cli", "cli | web"), "and no module: web"),
        ("pyproject.toml", CONTRACT.replace('"layers"', '"other"'), "0 contracts of layers"),
        ("pyproject.toml", CONTRACT + CONTRACT, "2 contracts of layers"),
        ("docs/architecture.md", "no markers", "expected one"),
        ("docs/architecture.md", DOCUMENT * 2, "expected one"),
        ("docs/architecture.md", f"{drawing.END}\n{drawing.START}\n", "stands before"),
        ("evalcore/cli.py", "def :", "invalid syntax"),
    ],
)
def test_what_does_not_fit_is_named(house, capsys, name, text, message):
    (house / name).write_text(text, encoding="utf-8")
    message = message or "no layer in pyproject.toml: extra"
    before = read_document(house)
    assert drawing.main([], house) == 1
    assert message in capsys.readouterr().err
    assert read_document(house) == before


def test_a_missing_document_is_named(house, capsys):
    (house / drawing.DOCUMENT).unlink()
    assert drawing.main(["--check"], house) == 1
    assert "architecture.md" in capsys.readouterr().err


def test_an_import_that_goes_up_is_marked_and_long_lines_are_wrapped():
    names = [f"module_{number:02}" for number in range(20)]
    imports = {"app.py": set(), "pages": set(names), **{name: set() for name in names}}
    imports[names[-1]] = {names[0]}
    text = drawing.draw_layers([[name] for name in names], imports)
    assert max(map(len, text.splitlines())) <= drawing.WIDTH
    assert " ".join(names) in " ".join(text.split())
    assert text.endswith(f"{names[-1]}  ^{names[0]}")


def test_the_document_is_fresh_and_lint_checks_it():
    assert drawing.main(["--check"], ROOT) == 0
    assert "tools/draw_architecture.py --check" in (ROOT / "Makefile").read_text("utf-8")
