"""SCALE's 13 published months in the form of its public folder, made of the shared facts.

The facts hold scores, weights and the verdict of every case, with the gaps that were published; the
texts of cases and answers are made up here. A case of several rules has the rules by number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalcore.exchange.scale.importer import import_scale_tree
from evalcore.settings import Settings
from tests.support.boards import settings_in
from tests.support.scale_tree import TreeBuilder, claim, indicator, model, row
from tests.support.shared_data import shared_data

MONTHS = (
    *(f"2025-{month:02}" for month in range(6, 13)),
    *(f"2026-{month:02}" for month in range(1, 7)),
)
#: Those with gaps in `make test`, all in `make test-full`.
EACH_MONTH = [
    pytest.param(
        month, marks=() if month in ("2025-06", "2026-03", "2026-06") else pytest.mark.full
    )
    for month in MONTHS
]


def published_lines() -> list[dict[str, Any]]:
    """One record per month and model; skips the test aloud where the facts are absent."""
    path = shared_data("published") / "scale.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_tree(root: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write monthly boards and case reports as `evalcore import scale` reads them."""
    tree, boards = TreeBuilder(root), dict[str, list[dict[str, Any]]]()
    for line in lines:
        month, scores = line["month"], line["scores"]
        boards.setdefault(month, []).append(
            model(
                line["id"],
                {name: claim(one["score"], one.get("metrics")) for name, one in scores.items()},
                real_model_namne=line["name"] or line["id"],
                type=line["type"],
                organization=line["organization"],
                releaseDate=line["release_date"],
            )
        )
        for capability, one in scores.items():
            if one.get("cases"):
                report = [_indicator(name, part) for name, part in one["cases"].items()]
                tree.report(month, line["id"], report, capability)
    for month, models in boards.items():
        tree.board(month, *models)


def import_months(root: Path, settings: Settings) -> None:
    """Import every published month into a store; `root` is an empty folder for the tree."""
    write_tree(root, published_lines())
    import_scale_tree(root, settings, progress=lambda line: None)


def _indicator(name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    rules, rows = Counter[str](), []
    for case, weight, verdict in part["cases"]:
        rules[case] += 1
        rule = {"rule_id": str(rules[case])} if part["kind"] == "subjective" else {}
        more = {"case_id": case, "case_eval_result": verdict, "case_weight": weight} | rule
        rows.append(row(0, **more, case_content=json.dumps({"sql": f"SELECT '{name} {case}'"})))
    return indicator(name, rows, part["weight"], evaluation_type=part["kind"])


@pytest.fixture(scope="session")
def months_store(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A store of all published months, imported once for all tests; nobody may change it."""
    folder = tmp_path_factory.mktemp("scale-months")
    settings = settings_in(folder / "store")
    import_months(folder / "tree", settings)
    return settings


@pytest.fixture
def months(months_store: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The same, as the store that the app, the API and the commands read."""
    monkeypatch.setenv("EVALBOARD_DATA", months_store.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", months_store.shipped)
    monkeypatch.delenv("EVALBOARD_CONFIG", raising=False)
    return months_store
