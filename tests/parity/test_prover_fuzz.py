"""The prover against engines: what is proved must hold, what is refuted must show."""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter

import duckdb
import pytest

from evalcore.sqlkit.prover import prove_equivalence
from evalcore.sqlkit.schema import read_schema
from tests.support.random_queries import DDL, QueryMaker, fetch_bag

PAIRS = int(os.environ.get("EVALBOARD_PROOFS", "8"))
DATABASES = 100


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_no_database_contradicts_a_proof_and_every_refutation_shows(dialect):
    connection = sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()
    for statement in DDL:
        connection.execute(statement)
    schema = read_schema(DDL, dialect)
    maker = QueryMaker(random.Random(7))
    statuses: Counter[str] = Counter()
    while statuses.total() < PAIRS:
        query = maker.draw_query()
        mutant = maker.mutate(query)
        try:
            for sql in (query, mutant):
                fetch_bag(connection, maker.draw_database(3), sql)
        except (sqlite3.Error, duckdb.Error):
            continue  # the engine does not take it
        proof = prove_equivalence(schema, query, mutant, dialect)
        statuses[proof.status] += 1
        if proof.status == "proved":
            for _ in range(DATABASES):
                database = maker.draw_database(proof.rows)
                bags = [fetch_bag(connection, database, sql) for sql in (query, mutant)]
                assert bags[0] == bags[1], f"{query}\n{mutant}\n{database.tables}"
        elif proof.status == "refuted":
            bags = [fetch_bag(connection, proof.database, sql) for sql in (query, mutant)]
            assert bags[0] != bags[1], f"{query}\n{mutant}\n{proof.database.tables}"
    assert statuses["proved"] > PAIRS / 4
    assert statuses["refuted"] > PAIRS / 5
