"""Scripts cut into statements, and what the guard says of them for servers."""

from __future__ import annotations

import pytest

from evalcore.sqlkit.engines.guard import inspect_script, split_script

BODY = "BEGIN IF (x > 1) THEN SELECT ';'; ELSE IF 1 THEN SELECT 2; END IF; END IF; END"
CUT = [
    ("postgres", "SELECT ';'; SELECT 2", ["SELECT ';'", "SELECT 2"]),
    ("postgres", "DO $$ BEGIN a; b; END $$; SELECT 1", ["DO $$ BEGIN a; b; END $$", "SELECT 1"]),
    ("postgres", "DO $x$ a; $$;$$ $x$;;", ["DO $x$ a; $$;$$ $x$"]),
    ("postgres", "CALL p('a;b'); BEGIN; COMMIT", ["CALL p('a;b')", "BEGIN", "COMMIT"]),
    (
        "postgres",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; "
        "SELECT 1",
        [
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END",
            "SELECT 1",
        ],
    ),
    (
        "mysql",
        f"CREATE PROCEDURE p() {BODY}; SELECT 1",
        [f"CREATE PROCEDURE p() {BODY}", "SELECT 1"],
    ),
    (
        "mysql",
        f"DELIMITER //\nCREATE PROCEDURE p() {BODY}//\nDELIMITER ;\nCALL p(); SELECT '//'",
        [f"CREATE PROCEDURE p() {BODY}", "CALL p()", "SELECT '//'"],
    ),
    (
        "mysql",
        "BEGIN NOT ATOMIC DECLARE i INT; WHILE i < 3 DO SET i = i + 1; END WHILE; END; SELECT 1",
        [
            "BEGIN NOT ATOMIC DECLARE i INT; WHILE i < 3 DO SET i = i + 1; END WHILE; END",
            "SELECT 1",
        ],
    ),
    (
        "mysql",
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = IF(1, 2, 3); "
        "SELECT REPEAT('a', 2)",
        [
            "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = IF(1, 2, 3)",
            "SELECT REPEAT('a', 2)",
        ],
    ),
    ("mysql", "SELECT 1 # ; x\n; SELECT 2 -- ;", ["SELECT 1", "SELECT 2"]),
]


@pytest.mark.parametrize(("dialect", "script", "statements"), CUT)
def test_statements(dialect: str, script: str, statements: list[str]) -> None:
    result = split_script(script, dialect)
    assert result is not None
    assert [statement.text for statement in result] == statements


def test_what_has_no_tokens_is_not_cut() -> None:
    assert split_script("SELECT 'open", "postgres") is None
    assert split_script(" -- nothing", "mysql") == ()


REFUSED = [
    ("postgres", "SELECT 1", ""),
    ("postgres", "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", ""),
    ("postgres", "COPY t TO 'x'", "COPY statements are not run"),
    ("postgres", "DROP ROLE IF EXISTS x", "DROP ROLE is not run"),
    ("postgres", "DO $$ BEGIN PERFORM pg_read_file('x'); END $$", "the function pg_read_file"),
    ("mysql", "SET @a = 1, @b = (SELECT 1)", ""),
    ("mysql", "SET @a = 1, max_statement_time = 0", "SET of anything but a user variable"),
    ("mysql", "SET @@global.x = 1", "SET of anything but a user variable"),
    ("mysql", "SELECT 1 INTO OUTFILE 'x'", "reading and writing files"),
    ("mysql", "SELECT 1 /*!50000 INTO OUTFILE 'x' */", "executable comments"),
    ("mysql", "SELECT `load_file`('x')", "the function load_file"),
    ("mysql", "CREATE SCHEMA x", "CREATE SCHEMA is not run"),
]


@pytest.mark.parametrize(("dialect", "sql", "refusal"), REFUSED)
def test_the_guard_of_servers(dialect: str, sql: str, refusal: str) -> None:
    script = inspect_script(sql, dialect)
    assert script.statements == 1
    assert script.refusal.startswith(refusal)
    assert bool(script.refusal) == bool(refusal)
