"""Comparisons of JSON values in MySQL 8 on MariaDB: the type decides, or nothing is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalcore.sqlkit.engines import Engine, Limits
from evalcore.sqlkit.products import Untranslatable
from evalcore.sqlkit.products.mysql_idioms import translate_for_mariadb
from tests.support.engines import server_engine

SETUP = (
    "CREATE TABLE t (id INT PRIMARY KEY, d JSON)",
    """INSERT INTO t VALUES (1, '{"q": "5"}'), (2, '{"q": 5}'), (3, '{"q": 5.0}'),
    (4, '{"q": "5x"}'), (5, '{"q": true}'), (6, '{"q": null}'), (7, '{}'), (8, '{"q": ""}'),
    (9, '{"q": [5]}'), (10, '{"q": -5}'), (11, '{"q": "A"}')""",
)
#: What MySQL 8 gives for the rows 1 to 11, by its rules of comparing JSON.
RESULTS = {
    "JSON_EXTRACT(d, '$.q') = 5": [0, 1, 1, 0, 0, 0, None, 0, 0, 0, 0],
    "d->'$.q' = '5'": [1, 0, 0, 0, 0, 0, None, 0, 0, 0, 0],
    "d->'$.q' <> -5": [1, 1, 1, 1, 1, 1, None, 1, 1, 0, 1],
    "d->'$.q' = 'a'": [0, 0, 0, 0, 0, 0, None, 0, 0, 0, 0],
    "d->>'$.q' = '5'": [1, 1, 0, 0, 0, 0, None, 0, 0, 0, 0],
}
REFUSED = (
    "d->'$.q' > 4",
    "d->'$.q' IN (5)",
    "d->'$.q' NOT IN (4)",
    "d->'$.q' BETWEEN 4 AND 6",
    "d->'$.q' = id",
    "d->'$.q' = 5 + 1",
    "id = JSON_EXTRACT(d, '$.q')",
    "CASE JSON_EXTRACT(d, '$.q') WHEN 5 THEN 1 END",
)


@pytest.fixture(scope="module")
def mysql() -> Iterator[Engine]:
    with server_engine("mysql", Limits()) as engine:
        if "MariaDB" not in engine.version:
            pytest.skip("the server is no substitute: it is MySQL itself")
        yield engine


@pytest.mark.slow
@pytest.mark.parametrize("condition", RESULTS)
def test_a_json_value_is_compared_by_its_type(mysql: Engine, condition: str) -> None:
    sql = translate_for_mariadb(f"SELECT id, {condition} AS x FROM t", ())[0]
    done = mysql.execute(SETUP, sql)
    assert done.table is not None, done.message
    assert [row[1] for row in sorted(done.table.rows)] == RESULTS[condition]


@pytest.mark.parametrize("condition", REFUSED)
def test_what_compares_by_the_order_of_types_is_left_to_a_real_server(condition: str) -> None:
    with pytest.raises(Untranslatable, match="JSON"):
        translate_for_mariadb(f"SELECT id, {condition} AS x FROM t", ())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT JSON_UNQUOTE(JSON_EXTRACT(d, '$.q')) = 5 FROM t",
        "SELECT JSON_EXTRACT(d, '$.q') + 1 FROM t",
        "SELECT id FROM t WHERE JSON_EXTRACT(d, '$.q') IS NOT NULL",
    ],
)
def test_what_compares_no_json_stays_as_it_is(sql: str) -> None:
    assert translate_for_mariadb(sql, ()) == (sql,)
