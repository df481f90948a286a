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
                {name: claim(item["score"], item.get("metrics")) for name, item in scores.items()},
                real_model_namne=line["name"] or line["id"],
                type=line["type"],
                organization=line["organization"],
                releaseDate=line["release_date"],
            )
        )
        for capability, score in scores.items():
            if score.get("cases"):
                report = [_indicator(name, part) for name, part in score["cases"].items()]
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


# Two months whose answers engines can decide: each row with the verdict that was published and the
# one that execution gives, None where nothing here can say.

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT);"
QUERY = "SELECT id FROM t WHERE v > 1 AND v > 0;"
DECIDABLE_MONTHS = ("2026-01", "2026-02")
_REWRITE = {"create_table_statements": [TABLE], "sql": QUERY}
_INDEX = {"create_table_statements": TABLE, "sql": "SELECT w FROM t WHERE v = 3;"}
_CONVERSION = {
    "source_dialect": "ORACLE",
    "target_dialect": "Postgresql-9.2",
    "key_info": {"sys_func": ["NVL"]},
    "sql": "SELECT NVL(a, 0) FROM t",
}
_TABLES = {
    "create_table_statements": ["CREATE TABLE t (id INT, v INT);"],
    "insert_statements": ["INSERT INTO t VALUES (1, 10), (2, 20);"],
}
_TEN = {"result_type": "select", "columns": ["v"], "rows": [[10]]}
#: capability, indicator, case, answers, published, decided.
DECIDABLE_ROWS: tuple[tuple[str, str, dict[str, Any], list[Any], bool, bool | None], ...] = (
    (
        "sql_optimization",
        "logical_equivalence",
        _REWRITE | {"db_type": "mysql"},
        ["SELECT id FROM t WHERE v > 1"],
        False,
        True,
    ),
    (
        "sql_optimization",
        "logical_equivalence",
        _REWRITE | {"db_type": "postgresql"},
        ["SELECT id FROM t WHERE v >= 1"],
        True,
        False,
    ),
    (
        "sql_optimization",
        "logical_equivalence",
        _REWRITE | {"db_type": "oracle"},
        ["SELECT id FROM t WHERE v > 1"],
        True,
        None,
    ),
    (
        "sql_optimization",
        "syntax_error_detection",
        _REWRITE | {"db_type": "mysql"},
        ["SELECT id FROM t WHER v > 1"],
        True,
        False,
    ),
    (
        "sql_optimization",
        "syntax_error_detection",
        _REWRITE | {"db_type": "mysql"},
        ["SELECT t.id FROM t, LATERAL (SELECT t.v AS x) q WHERE q.x > 1"],
        False,
        True,
    ),
    (
        "sql_optimization",
        "index_advice",
        _INDEX | {"expected": "给 t 表的 v 列加索引"},
        ["CREATE INDEX i ON t (v); Reason: Single-column index - serves the filter"],
        False,
        True,
    ),
    (
        "sql_optimization",
        "index_advice",
        _INDEX | {"expected": "给 t 表的 v 列加索引"},
        ["No performance issues; no indexes need to be created."],
        True,
        False,
    ),
    (
        "sql_optimization",
        "index_advice",
        _INDEX | {"expected": "给 t 表的 v 列加索引"},
        ["CREATE INDEX i ON t (v, w);"],
        False,
        None,
    ),
    (
        "sql_optimization",
        "index_advice",
        _INDEX | {"expected": "给 t 表的 v 列加索引"},
        ["CREATE INDEX i ON t (w);"],
        True,
        False,
    ),
    (
        "sql_optimization",
        "index_advice",
        _INDEX | {"expected": "分别给t表的v，w列添加单列索引"},
        ["CREATE INDEX i ON t (w);"],
        False,
        None,
    ),
    (
        "dialect_conversion",
        "syntax_error_detection",
        _CONVERSION,
        ["SELECT coalesce(a, 0) FROM t"],
        True,
        True,
    ),
    (
        "dialect_conversion",
        "syntax_error_detection",
        _CONVERSION,
        ["SELECT nvl(a, 0) FROM t"],
        True,
        False,
    ),
    (
        "dialect_conversion",
        "big_sql_conversion",
        _CONVERSION,
        ["SELECT coalesce(a, 0) FORM t u v", "SELECT 1", "SELECT coalesce(a, 0 FROM t"],
        True,
        False,
    ),
    (
        "dialect_conversion",
        "China-made_database",
        _CONVERSION | {"target_dialect": "OceanBase的Oracle模式-4.2.5"},
        ["SELECT NVL(a, 0) FORM t"],
        True,
        None,
    ),
    (
        "sql_understanding",
        "execution_accuracy",
        _TABLES | {"sql": "SELECT v FROM t WHERE id = 1;", "expected": _TEN | {"rows": [["10"]]}},
        [_TEN | {"result_type": "table_state"}],
        False,
        True,
    ),
    (
        "sql_understanding",
        "execution_accuracy",
        _TABLES | {"sql": "SELECT v FROM t WHERE CURRENT_DATE > '2020-01-01'", "expected": _TEN},
        [_TEN],
        True,
        None,
    ),
    (
        "sql_understanding",
        "syntax_error_detection",
        {"sql": "SELECT FROM WHERE", "expected": {"has_syntax_error": "no"}},
        [{"has_syntax_error": "no"}],
        True,
        False,
    ),
)


def write_decidable_months(root: Path, target: str = "acme-1") -> None:
    """Write boards and reports of `DECIDABLE_ROWS`, the same in both months."""
    tree = TreeBuilder(root)
    reports: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for number, (capability, name, case, answers, passed, _) in enumerate(DECIDABLE_ROWS, 1):
        args = [
            {"case_evaluation_count": count, "model_answer": answer}
            for count, answer in enumerate(answers, 1)
        ]
        content = json.dumps({"case_id": str(number), **case}, ensure_ascii=False)
        reports.setdefault(capability, {}).setdefault(name, []).append(
            row(number, passed, 2, case_content=content, model_answers=args)
        )
    for month in DECIDABLE_MONTHS:
        tree.board(month, model(target, {capability: claim(75.0) for capability in reports}))
        for capability, metrics in reports.items():
            parts = [indicator(name, rows, 2) for name, rows in metrics.items()]
            tree.report(month, target, parts, capability)
