"""Names of databases as people write them, and what a stated version does not have yet."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.sqlkit.dialects import dialect_name, parse_server
from evalcore.sqlkit.product_features import find_unsupported_feature


@pytest.mark.parametrize(
    ("text", "title", "dialect", "engine", "version"),
    [
        ("ORACLE", "Oracle", "oracle", "", ""),
        ("SQLServer", "SQL Server", "tsql", "", ""),
        ("Postgresql-9.2", "PostgreSQL", "postgres", "postgres", "9.2"),
        ("PostgreSQL 16", "PostgreSQL", "postgres", "postgres", "16"),
        ("MySQL", "MySQL", "mysql", "mysql", ""),
        ("MariaDB", "MariaDB", "mysql", "mysql", ""),
        ("SQLite", "SQLite", "sqlite", "sqlite", ""),
        ("GaussDB-v2.0_3.x", "GaussDB", "postgres", "postgres", "2.0_3.x"),
        ("openGauss 5.0", "openGauss", "postgres", "postgres", "5.0"),
        ("OceanBase的Oracle模式-4.2.5", "OceanBase (Oracle mode)", "oracle", "postgres", "4.2.5"),
        ("OceanBase (Oracle mode) 4.2", "OceanBase (Oracle mode)", "oracle", "postgres", "4.2"),
        ("OceanBase-MySQL", "OceanBase (MySQL mode)", "mysql", "mysql", ""),
        *(
            (f"GaussDB{text}", "GaussDB", "postgres", "postgres", text.strip())
            for text in (" 505 (PG compatibility)", " (MySQL compatibility)")
        ),
        ("KingbaseES V8", "KingbaseES", "postgres", "postgres", "8"),
        ("人大金仓 V9", "KingbaseES", "postgres", "postgres", "9"),
        ("DM8", "DM", "oracle", "postgres", "8"),
        ("达梦 8", "DM", "oracle", "postgres", "8"),
        ("TiDB v7.5", "TiDB", "mysql", "mysql", "7.5"),
        ("PolarDB MySQL 8.0", "PolarDB for MySQL", "mysql", "mysql", "8.0"),
        ("PolarDB for PostgreSQL 14", "PolarDB for PostgreSQL", "postgres", "postgres", "14"),
        ("DB2", "DB2", "", "", ""),
        ("IBM Db2 11.5", "DB2", "", "", "11.5"),
        ("Snowflake", "Snowflake", "snowflake", "", ""),
        ("BigQuery", "BigQuery", "bigquery", "", ""),
        ("Apache Hive 3", "Hive", "hive", "", "3"),
        ("ClickHouse 24.8", "ClickHouse", "clickhouse", "", "24.8"),
    ],
)
def test_servers_as_people_write_them(
    text: str, title: str, dialect: str, engine: str, version: str
) -> None:
    server = parse_server(text)
    assert (server.title, server.dialect, server.engine) == (title, dialect, engine)
    assert server.version == version
    assert server.name == f"{title} {version}".strip()


def test_a_version_beside_the_name_wins() -> None:
    assert parse_server("openGauss", "6.0").version == "6.0"


def test_an_unknown_server_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="openGauss"):
        parse_server("dBASE IV")
    with pytest.raises(UsageError, match="DB2"):
        parse_server("DMX")
    with pytest.raises(UsageError, match="PostgreSQL"):
        dialect_name("")


@pytest.mark.parametrize(
    ("sql", "version", "feature"),
    [
        ("SELECT * FROM a CROSS JOIN LATERAL (SELECT a.x) AS l", "9.2", "LATERAL"),
        ("SELECT count(*) FILTER (WHERE x) FROM t", "9.2", "FILTER"),
        ("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", "9.4", "ON CONFLICT"),
        ("SELECT a, sum(b) FROM t GROUP BY ROLLUP (a)", "9.4", "GROUPING SETS"),
        ("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY)", "9.6", "identity"),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", "14", "MERGE"),
    ],
)
def test_what_a_version_does_not_have(sql: str, version: str, feature: str) -> None:
    assert feature in find_unsupported_feature(sql, "postgres", "PostgreSQL", version)
    assert find_unsupported_feature(sql, "postgres", "PostgreSQL", "16") == ""
    assert find_unsupported_feature(sql, "postgres", "PostgreSQL", "") == ""
    assert find_unsupported_feature(sql, "postgres", "GaussDB", version) == ""


def test_nothing_is_said_of_what_does_not_parse() -> None:
    assert find_unsupported_feature("SELECT FROM WHERE (", "postgres", "PostgreSQL", "9.2") == ""


def test_mysql_of_before_window_functions() -> None:
    sql = "SELECT rank() OVER (ORDER BY a) FROM t"
    assert "window functions" in find_unsupported_feature(sql, "mysql", "MySQL", "5.7")
    assert find_unsupported_feature(sql, "mysql", "MySQL", "8.0") == ""
