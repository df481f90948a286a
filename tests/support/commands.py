"""Commands that tests give: small runs, and the parser that reads them."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from evalcore.cli.main import build_parser, main
from evalcore.cli.parser import walk_parsers
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases

ROOT = Path(__file__).parents[2]
RUN = ("run", "--target", "control:reference", "--benchmarks", "sql_understanding")


@pytest.fixture
def cases(tmp_path):
    return str(syntax_cases(tmp_path / "cases", 6))


@pytest.fixture
def data(tmp_path):
    return str(tmp_path / "data")


def call(capsys, *words: str) -> tuple[int, str, str]:
    status = main(words)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def read_runs(data: str) -> list[RunFolder]:
    return [RunFolder(path) for path in sorted((Path(data) / "runs").iterdir())]


def find_parser(*verbs: str) -> argparse.ArgumentParser:
    name = " ".join(("evalcore", *verbs))
    return next(each for each in walk_parsers(build_parser()) if each.prog == name)
