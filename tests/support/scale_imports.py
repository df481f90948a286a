"""Importing small trees in SCALE's form into a store, and what then is known of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalcore.exchange.scale.importer import import_scale_tree
from evalcore.exchange.staging import ImportResult
from evalcore.settings import Settings
from evalcore.store import run_folder as published_file
from evalcore.store.run_folder import PublishedScore, find_run
from tests.support.boards import settings_in
from tests.support.scale_tree import CAPABILITY, TreeBuilder, claim, model

MONTH = "2026-05"
#: What report() gives: cases of 2 and 3 points, the first passed.
SCORE = 40.0
PARTS = {"execution_accuracy": 40.0, "explain_detection": 40.0, "syntax_error_detection": 40.0}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path / "store")


@pytest.fixture
def tree(tmp_path: Path) -> TreeBuilder:
    return TreeBuilder(tmp_path / "public")


def taken(tree: TreeBuilder, settings: Settings, month: str = "") -> ImportResult:
    return import_scale_tree(tree.root, settings, month, lambda line: None)


def load_claim(settings: Settings, run: str) -> PublishedScore:
    published = published_file.read_published(find_run(run, settings.run_roots))
    assert published is not None
    return published.scores[CAPABILITY]


def kinds(settings: Settings, run: str) -> dict[tuple[str, str], str]:
    """The details of all flags by kind and metric."""
    return {(flag.kind, flag.metric): flag.detail for flag in load_claim(settings, run).flags}


def files(settings: Settings) -> dict[Path, tuple[bytes, int]]:
    """Content and time of every file of every run."""
    everything = sorted(path for path in settings.runs_dir.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in everything}


def import_single_model(
    tree: TreeBuilder, content: Any, score: float = SCORE, month: str = MONTH, **more: Any
) -> None:
    """A month with the model "a" and its case report."""
    tree.board(month, model("a", {CAPABILITY: claim(score, PARTS)}, **more))
    tree.report(month, "a", content)
