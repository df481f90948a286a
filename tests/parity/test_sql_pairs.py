"""Pairs of statements that nobody tuned the decision to: equivalent or different, and why.

`sql_pairs/ENGINE.jsonl` holds them. Each different pair has a witness, INSERTs that keep the
schema's constraints and on which the two statements differ; it is executed here, so that no
expectation rests on its author's word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.observations import build_select_all
from evalcore.sqlkit.equivalence.pairs import Pair as AskedPair
from evalcore.sqlkit.equivalence.pairs import decide_pair
from evalcore.sqlkit.schema import read_schema
from evalcore.sqlkit.syntax import has_order_by
from tests.support.engines import LIMITS, SERVERS, server_engine

FOLDER = Path(__file__).parent / "sql_pairs"
ENGINES = ("sqlite", "duckdb", "postgres", "mysql")
MAX_UNDECIDED = 0.05
Pair = dict[str, Any]


def read_pairs(engine: str) -> list[Pair]:
    return [json.loads(line) for line in (FOLDER / f"{engine}.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def engines() -> Iterator[EnginePool]:
    with EnginePool() as pool:
        yield pool


def get_engine(engines: EnginePool, name: str) -> Engine:
    if name in SERVERS:
        server_engine(name, LIMITS).close()  # skips with the remedy where there is none
    return engines.get(name)


def test_the_pairs_are_many_and_of_all_classes() -> None:
    pairs = [pair for engine in ENGINES for pair in read_pairs(engine)]
    assert len(pairs) >= 400
    assert len({pair["id"] for pair in pairs}) == len(pairs)
    different = sum(pair["expected"] == "different" for pair in pairs) / len(pairs)
    assert 0.5 < different < 0.7
    assert len({pair["class"] for pair in pairs}) >= 30


def observe(engine: Engine, pair: Pair, sql: str) -> tuple[list[str], list[list[str]]]:
    """The rows of a statement on the witness, and of all tables after it."""
    tables = read_schema(pair["schema"], engine.name).tables
    probes = [build_select_all(table.name, engine.name) for table in tables]
    done = engine.execute((*pair["schema"], *pair["witness"]), sql, probes=probes)
    assert done.status == "ok", (pair["id"], done.message)
    rows = list(map(repr, done.table.rows)) if done.table else []
    ordered = pair.get("ordered", has_order_by(pair["reference"], engine.name))
    return rows if ordered else sorted(rows), [sorted(map(repr, t.rows)) for t in done.probed]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.full)])
def test_every_witness_shows_its_difference(engines: EnginePool, name: str, step: int) -> None:
    engine = get_engine(engines, name)
    pairs = [pair for pair in read_pairs(name) if pair["expected"] == "different"][::step]
    same = [
        pair["id"]
        for pair in pairs
        if observe(engine, pair, pair["reference"]) == observe(engine, pair, pair["answer"])
    ]
    assert same == []


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("step", [24, pytest.param(1, marks=pytest.mark.full)])
def test_every_pair_is_decided_rightly(engines: EnginePool, name: str, step: int) -> None:
    get_engine(engines, name)
    decider = Decider(engines.get)
    decisions: dict[str, list[str]] = {}
    pairs = read_pairs(name)[::step]
    for pair in pairs:
        question = EquivalenceQuestion(
            engine=name,
            schema=tuple(pair["schema"]),
            reference=pair["reference"],
            ordered=pair.get("ordered"),
        )
        status = decider.decide(question, pair["answer"]).status
        if status != pair["expected"]:
            decisions.setdefault(status, []).append(pair["id"])
    assert len(decisions.pop("undecided", ())) <= MAX_UNDECIDED * len(pairs)
    assert decisions == {}


NEWER = [
    ("LAG(n, 1, 0) OVER (ORDER BY id)", "COALESCE(LAG(n) OVER (ORDER BY id), 0)", "different"),
    ("x.n FROM t AS u, LATERAL (SELECT u.n + 1 AS n) AS x", "n + 1 FROM t", "equivalent"),
]


@pytest.mark.parametrize(("reference", "answer", "expected"), NEWER)
def test_what_mysql_8_has_and_mariadb_lacks_is_decided(
    engines: EnginePool, reference: str, answer: str, expected: str
) -> None:
    engine = get_engine(engines, "mysql")
    ends = ("" if " FROM " in part else " FROM t" for part in (reference, answer))
    texts = [f"SELECT {part}{end}" for part, end in zip((reference, answer), ends, strict=True)]
    pair = AskedPair("newer", "mysql", "CREATE TABLE t (id INT PRIMARY KEY, n INT)", *texts)
    assert decide_pair(Decider(engines.get), engine, pair).status == expected
