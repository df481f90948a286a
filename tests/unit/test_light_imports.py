"""The server stays light: neither `app` nor any page loads what belongs into a worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.page_stores import METRIC, RUN, evidence_run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "transformers", "datasets", "bitsandbytes", "openai")
PAGES = (
    "ranking",
    "decide",
    "metrics",
    "target",
    "case",
    "compare",
    "methodology",
    "launch",
    "runs",
    "datasets",
    "equivalent",
)

IMPORT = """
import json, sys
import app
from evalcore.web.application import warm_up
warm_up(app.warm_up_first_page)
print(json.dumps(sorted(name for name in {heavy!r} if name in sys.modules)))
"""
DRAW = """
import json, sys
from streamlit.testing.v1 import AppTest
at = AppTest.from_file("app.py", default_timeout=300)
at.run()
for page in {pages!r}:
    at.query_params.update({query!r})
    at.switch_page(f"pages/{{page}}.py").run()
    assert not at.exception, (page, at.exception[0].message)
    assert len(at.main) > 0, page
print(json.dumps(sorted(name for name in {heavy!r} if name in sys.modules)))
"""
LIST = """
import json, sys
from evalcore.cli.main import main
assert main(["board", "--suite", "sql"]) == 0
print(json.dumps(sorted(name for name in {heavy!r} if name in sys.modules)))
"""


def loaded(code: str, environment: dict[str, str]) -> list[str]:
    """Which of `HEAVY` a fresh interpreter has loaded after it ran the code."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture
def environment(tmp_path):
    evidence_run(tmp_path / "runs")
    return {"EVALBOARD_DATA": str(tmp_path), "EVALBOARD_SHIPPED": str(tmp_path / "none")}


def test_importing_the_app_and_warming_up_loads_nothing_heavy(environment):
    assert loaded(IMPORT.format(heavy=HEAVY), environment) == []


def test_drawing_every_page_loads_nothing_heavy(environment):
    query = {"run": RUN, "metric": METRIC, "id": "table_diff"}
    assert loaded(DRAW.format(heavy=HEAVY, pages=PAGES, query=query), environment) == []


def test_listing_a_board_loads_no_library_of_charts():
    assert loaded(LIST.format(heavy=(*HEAVY, "altair", "streamlit")), {}) == []


def test_every_page_is_tested():
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == set(PAGES)


@pytest.mark.parametrize("folder", ["datasets", "data", "pages"])
def test_these_folders_shadow_no_package(folder):
    assert not (ROOT / folder / "__init__.py").exists()


def test_the_folder_of_cases_holds_no_python_file():
    """`datasets/` shares its name with a library: a module in there would hide the library."""
    assert list((ROOT / "datasets").rglob("*.py")) == []
