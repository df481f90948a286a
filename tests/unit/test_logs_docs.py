"""docs/logs.md: its commands run as they stand, and its table names what there is."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from evalcore.catalog import FRAMEWORKS
from evalcore.cli import trackers
from evalcore.cli.main import main
from evalcore.settings import load_settings
from evalcore.store.index import open_index

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "logs.md").read_text("utf-8")
BLOCKS = [
    [shlex.split(line)[1:] for line in block.splitlines()]
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
]
SDKS = {"otel": "opentelemetry.sdk", "wandb": "wandb", "mlflow": "mlflow"}
RUN = "shipped-baseline-sqlglot"


def has_sdk(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("EVALBOARD_SHIPPED", raising=False)
    return tmp_path


def test_the_imports_run_in_their_order(data, capsys):
    for words in BLOCKS[0]:
        assert main(words) == 0, words
    shown = capsys.readouterr().out
    assert "lm_eval:large" in shown
    assert "1 to 2" in shown  # rank ranges, which the framework has none of
    headers = open_index(load_settings(str(data / "data"))).headers()
    imported = [header for header in headers if header.origin == "imported"]
    assert len({header.run_id for header in imported if not header.shipped}) == 13


@pytest.mark.parametrize("words", BLOCKS[1], ids=lambda words: " ".join(words[3:6]))
def test_the_exports_run_or_name_what_is_missing(data, capsys, words):
    form = words[words.index("--format") + 1]
    words = [RUN if word == "RUN" else word for word in words]
    if "--out" in words:
        at = words.index("--out") + 1
        words[at] = str(data / words[at])
    if form == "eval_results":
        words = [word.replace("bfcl=", "dialect_conversion=") for word in words]
    status = main(words) if "--endpoint" not in words else None
    shown = capsys.readouterr()
    if form in SDKS and not has_sdk(SDKS[form]) and status is not None:
        assert status == 2
        assert f"pip install 'evalboard[{form}]'" in shown.err
    elif status is not None:
        assert status == 0, shown.err
    else:  # nobody listens at the addresses of an example
        assert words[words.index("--endpoint") + 1].startswith("http://localhost:")


def test_every_framework_and_format_is_named():
    assert set(re.findall(r"^\| `(\w+)` \| .*\|$", TEXT, re.MULTILINE)) == {
        *FRAMEWORKS,
        *trackers.FORMS,
    }
