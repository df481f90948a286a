"""Idioms of database products, as statement and what the product does with it.

The expectation is the rows that the product gives, REFUSED where it does not know the construct, or
UNDECIDED where only its own server can tell. Expected rows were worked out by hand from the
products' manuals on the rows below. Sources: the SQL references of MySQL 8.0, TiDB 8, OceanBase
4.2, PolarDB for MySQL 8.0, openGauss 5, GaussDB 505, KingbaseES V8, DM 8 and Oracle 19c.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

REFUSED, UNDECIDED = "refused", "undecided"
Idiom = tuple[str, Any]

MYSQL_SETUP = (
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(20), j JSON)",
    "CREATE TABLE u (id INT PRIMARY KEY, tid INT, v INT)",
    "INSERT INTO t VALUES (1, 1, 10, 'Abc', '{\"x\":\"q\",\"n\":5}'), (2, 1, 20, 'bcd', '[1,2]'), "
    "(3, NULL, 5, 'zz', NULL), (4, 2, 7, NULL, '[\"a\",[3]]')",
    "INSERT INTO u VALUES (1, 1, 5), (2, 1, 6), (3, 1, 7), (4, 2, 1), (5, NULL, 3)",
)
MYSQL_8: tuple[Idiom, ...] = (
    (
        "SELECT t.id, x.m FROM t, LATERAL (SELECT MAX(v) AS m FROM u WHERE u.tid = t.id) x "
        "ORDER BY t.id",
        ((1, 7), (2, 1), (3, None), (4, None)),
    ),
    (
        "SELECT t.id, l.v FROM t CROSS JOIN LATERAL (SELECT u.v FROM u WHERE u.tid = t.id "
        "ORDER BY u.v DESC LIMIT 2) l ORDER BY 1, 2",
        ((1, 6), (1, 7), (2, 1)),
    ),
    (
        "SELECT t.id, l.v FROM t LEFT JOIN LATERAL (SELECT v FROM u WHERE tid = t.id "
        "ORDER BY v LIMIT 1) AS l ON TRUE ORDER BY 1",
        ((1, 5), (2, 1), (3, None), (4, None)),
    ),
    ("SELECT t.id FROM t JOIN LATERAL (SELECT v FROM u WHERE tid < t.id) l ON TRUE", UNDECIDED),
    ("SELECT l.v FROM t LEFT JOIN LATERAL (SELECT v FROM u LIMIT 1) l WHERE l.v > 0", REFUSED),
    ("DECLARE @since DATE = '2024-01-01'; SELECT id FROM t", REFUSED),
    ("SELECT j->>'$.x' FROM t WHERE j->>'$.x' = 'q'", (("q",),)),
    ("SELECT id FROM t WHERE t.j->'$.n' = 5", ((1,),)),
    ("SELECT id FROM t ORDER BY j->'$.n'", UNDECIDED),
    ("SELECT id FROM t WHERE 2 MEMBER OF (j)", ((2,),)),
    ("SELECT id FROM t WHERE 3 MEMBER OF (j)", ()),
    ("SELECT 'a' MEMBER OF (j) FROM t WHERE id > 2 ORDER BY id", ((None,), (1,))),
    ("SELECT id FROM t WHERE REGEXP_LIKE(s, '^B')", ((2,),)),
    ("SELECT id FROM t WHERE REGEXP_LIKE(s, '^B', 'c')", ()),
    ("SELECT REGEXP_SUBSTR(s, 'q') FROM t WHERE id = 1", ((None,),)),
    ("SELECT REGEXP_REPLACE(s, '(b)', '[$1]') FROM t WHERE id = 2", (("[b]cd",),)),
    ("SELECT REGEXP_REPLACE(s, 'b', 'x', 2, 1) FROM t", UNDECIDED),
    ("SELECT a, ANY_VALUE(a) FROM t GROUP BY a ORDER BY a", ((None, None), (1, 1), (2, 2))),
    ("SELECT ANY_VALUE(a) FROM t ORDER BY id", ((1,), (1,), (None,), (2,))),
    (
        "SELECT a, SUM(b) AS s, GROUPING(a) AS g FROM t GROUP BY a WITH ROLLUP ORDER BY g, a",
        ((None, 5, 0), (1, 30, 0), (2, 7, 0), (None, 42, 1)),
    ),
    (
        "SELECT IF(GROUPING(a), 'all', a) AS a, b, SUM(b) AS s FROM t GROUP BY a, b WITH ROLLUP "
        "HAVING GROUPING(b) = 1 ORDER BY s",
        ((None, None, 5), ("2", None, 7), ("1", None, 30), ("all", None, 42)),
    ),
    ("SELECT a, COUNT(*) AS n FROM t GROUP BY a WITH ROLLUP ORDER BY n DESC LIMIT 1", ((None, 4),)),
    ("SELECT a, COUNT(*) FROM t WHERE id > 9 GROUP BY a WITH ROLLUP ORDER BY 1", ()),
    ("SELECT GROUPING(a), SUM(b) OVER () FROM t GROUP BY a WITH ROLLUP", UNDECIDED),
    ("TABLE u ORDER BY id LIMIT 1", ((1, 1, 5),)),
    ("SELECT id FROM u WHERE v IN (TABLE u)", "error"),
    ("VALUES ROW(1, 'x'), ROW(2, 'y')", ((1, "x"), (2, "y"))),
    ("SELECT b FROM (VALUES ROW(1, 'x'), ROW(2, 'y')) AS v (a, b) WHERE a = 2", (("y",),)),
    ("SELECT y FROM (SELECT id, a FROM t) AS d (x, y) WHERE x = 4", ((2,),)),
    ("SELECT id FROM t WHERE id = 1 FOR SHARE", ((1,),)),
    ("SELECT id FROM t WHERE id = 1 FOR UPDATE OF t SKIP LOCKED", ((1,),)),
    ("SELECT a FROM t EXCEPT SELECT tid FROM u", ()),
    ("SELECT a FROM t INTERSECT SELECT tid FROM u ORDER BY 1", ((None,), (1,), (2,))),
    (
        "SELECT x.n FROM t, JSON_TABLE(j, '$[*]' COLUMNS (n INT PATH '$')) x WHERE t.id = 2",
        ((1,), (2,)),
    ),
    (
        "SELECT id, LAG(b, 1, 0) OVER (ORDER BY id), LEAD(a, 2, -1) OVER w FROM t "
        "WINDOW w AS (PARTITION BY id > 3 ORDER BY id) ORDER BY id",
        ((1, 0, None), (2, 10, -1), (3, 20, -1), (4, 5, -1)),
    ),
    ("SELECT CAST('[1]' AS JSON)", UNDECIDED),
    ("SELECT CAST(id AS YEAR) FROM t", UNDECIDED),
    ("SELECT LEAD(b) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (ORDER BY id)", UNDECIDED),
    ("SELECT LEAD(b) OVER (ROWS 1 PRECEDING) FROM t", "error"),
    ("SELECT JSON_VALUE(j, '$.n' RETURNING SIGNED) FROM t", UNDECIDED),
    ("CREATE INDEX i ON t ((LOWER(s)))", UNDECIDED),
    ("SELECT BIN_TO_UUID(UUID_TO_BIN('00000000-0000-0000-0000-000000000001'))", UNDECIDED),
    ("SELECT SUM(b) OVER (ORDER BY s RANGE INTERVAL 1 DAY PRECEDING) FROM t", UNDECIDED),
    ("SELECT NVL(a, 0) FROM t", REFUSED),
    ("SELECT TO_CHAR(NOW(), 'YYYY')", REFUSED),
    ("DELETE FROM t WHERE id = 1 RETURNING a", REFUSED),
    ("INSERT INTO u VALUES (9, 9, 9) RETURNING id", REFUSED),
    ("CREATE SEQUENCE q", REFUSED),
    ("SELECT id FROM t ORDER BY id FETCH FIRST 2 ROWS ONLY", REFUSED),
    ("VALUES (1, 2)", REFUSED),
    ("SELECT * FROM (VALUES (1, 2)) v", REFUSED),
    ("CREATE OR REPLACE TABLE w (a INT)", REFUSED),
    ("CREATE INDEX IF NOT EXISTS i ON t (a)", REFUSED),
    ("ALTER TABLE t ADD COLUMN IF NOT EXISTS c INT", REFUSED),
    ("SELECT MEDIAN(a) OVER () FROM t", REFUSED),
    ("SELECT a, b FROM t GROUP BY a", REFUSED),
    ("SELECT a, b + MAX(id) FROM t WHERE b > 0 GROUP BY a", REFUSED),
    ("SELECT id, s FROM t GROUP BY id HAVING id = 2", ((2, "bcd"),)),
    ("SELECT a, s FROM t WHERE id = 2 GROUP BY a", ((1, "bcd"),)),
    ("SELECT a, MAX(b), (SELECT MAX(v) FROM u) FROM t GROUP BY a HAVING a = 2", ((2, 7, 7),)),
    (
        "SELECT 'NVL(a, 0) RETURNING', `a` AS `nvl` FROM t WHERE id = 1",
        (("NVL(a, 0) RETURNING", 1),),
    ),
    ("SELECT 'TABLE u, a->>''$.x''' AS s FROM t WHERE id = 1", (("TABLE u, a->>'$.x'",),)),
)
#: Changes: the statement, then the rows of `u` afterwards.
MYSQL_8_CHANGES: tuple[Idiom, ...] = (
    (
        "INSERT INTO u (id, v) VALUES (1, 50), (9, 90) AS n ON DUPLICATE KEY UPDATE v = n.v + u.v",
        ((1, 1, 55), (2, 1, 6), (3, 1, 7), (4, 2, 1), (5, None, 3), (9, None, 90)),
    ),
    (
        "INSERT INTO u (id, v) VALUES (1, 50) AS n(p, q) ON DUPLICATE KEY UPDATE v = q + p",
        ((1, 1, 51), (2, 1, 6), (3, 1, 7), (4, 2, 1), (5, None, 3)),
    ),
    (
        "WITH c AS (SELECT id FROM t WHERE b = 10) DELETE FROM u WHERE tid IN (SELECT id FROM c)",
        ((4, 2, 1), (5, None, 3)),
    ),
    (
        "WITH c AS (SELECT id, b FROM t), d AS (SELECT * FROM c WHERE id > 1) "
        "UPDATE u JOIN d ON d.id = u.tid SET u.v = d.b",
        ((1, 1, 5), (2, 1, 6), (3, 1, 7), (4, 2, 20), (5, None, 3)),
    ),
    ("WITH c AS (SELECT id FROM u) DELETE FROM c", "error"),
    (
        "INSERT INTO u VALUES ROW(6, 1, 1)",
        ((1, 1, 5), (2, 1, 6), (3, 1, 7), (4, 2, 1), (5, None, 3), (6, 1, 1)),
    ),
)
OCEANBASE_MYSQL: tuple[Idiom, ...] = (
    ("SELECT NVL(a, 0) FROM t WHERE id = 3", ((0,),)),
    ("SELECT ANY_VALUE(s) FROM t WHERE id = 2 GROUP BY id", (("bcd",),)),
    ("SELECT j->>'$.x' FROM t WHERE id = 1", (("q",),)),
    ("SELECT id FROM t WHERE REGEXP_LIKE(s, '^b')", ((2,),)),
    ("SELECT a FROM t MINUS SELECT tid FROM u", ()),
    ("SELECT id FROM t WHERE 1 MEMBER OF (j)", ((2,),)),
    ("SELECT DECODE(a, 1, 'x') FROM t", UNDECIDED),
    ("TABLE t", UNDECIDED),
    ("VALUES ROW(1, 2)", UNDECIDED),
    ("SELECT l.y FROM t, LATERAL (SELECT t.a AS y) l", UNDECIDED),
    ("SELECT GROUPING(a) FROM t GROUP BY a WITH ROLLUP", UNDECIDED),
    ("SELECT TO_CHAR(NOW(), 'YYYY')", REFUSED),
    ("DELETE FROM t WHERE id = 1 RETURNING a", REFUSED),
    ("CREATE OR REPLACE TABLE w (a INT)", REFUSED),
    ("VALUES (1, 2)", REFUSED),
    ("SELECT id FROM t ORDER BY id LIMIT 1 OFFSET 1", ((2,),)),
)
TIDB: tuple[Idiom, ...] = (
    ("SELECT j->>'$.x' FROM t WHERE id = 1", (("q",),)),
    ("SELECT ANY_VALUE(s) FROM t WHERE id = 2 GROUP BY id", (("bcd",),)),
    ("SELECT id FROM t WHERE REGEXP_LIKE(s, '^b')", ((2,),)),
    ("SELECT id FROM t WHERE 1 MEMBER OF (j)", ((2,),)),
    ("SELECT a FROM t EXCEPT SELECT tid FROM u", ()),
    ("SELECT id FROM t ORDER BY id LIMIT 1 OFFSET 1", ((2,),)),
    ("WITH c AS (SELECT 1 AS x) SELECT x FROM c", ((1,),)),
    ("SELECT l.y FROM t, LATERAL (SELECT t.a AS y) l", UNDECIDED),
    ("VALUES ROW(1, 2)", UNDECIDED),
    ("SELECT GROUPING(a) FROM t GROUP BY a WITH ROLLUP", UNDECIDED),
    ("CREATE PROCEDURE p() SELECT 1", REFUSED),
    ("CREATE FUNCTION f() RETURNS INT RETURN 1", REFUSED),
    ("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @x = 1", REFUSED),
    ("CREATE TABLE w AS SELECT * FROM t", REFUSED),
    ("SELECT id FROM t WHERE MATCH (s) AGAINST ('x')", REFUSED),
    ("SELECT NVL(a, 0) FROM t", REFUSED),
    ("DELETE FROM t WHERE id = 1 RETURNING a", REFUSED),
)

ORACLE_SETUP = (
    "CREATE TABLE emp (id NUMBER(6) PRIMARY KEY, name VARCHAR2(20 CHAR), boss NUMBER(6), "
    "pay NUMBER(10,2), hired DATE, dept INTEGER)",
    "CREATE TABLE dept (id INTEGER PRIMARY KEY, title VARCHAR2(20) NOT NULL)",
    "INSERT INTO emp VALUES (1, 'KING', NULL, 5000.5, TIMESTAMP '2020-01-31 10:00:00', 10)",
    "INSERT INTO emp VALUES (2, 'BLAKE', 1, 3000, TIMESTAMP '2021-02-28 00:00:00', 20)",
    "INSERT INTO emp VALUES (3, 'CLARK', 1, 2500, TIMESTAMP '2021-06-15 00:00:00', NULL)",
    "INSERT INTO emp VALUES (4, 'ALLEN', 2, 1600, NULL, 20)",
    "INSERT INTO emp VALUES (5, NULL, 3, 900, TIMESTAMP '2022-01-01 00:00:00', 30)",
    "INSERT INTO dept VALUES (10, 'ACC'), (20, 'RES'), (40, 'OPS')",
)
#: What all products after Oracle have, with the same meaning in each.
ORACLE_LIKE: tuple[Idiom, ...] = (
    ("SELECT NVL(dept, -1) FROM emp WHERE id = 3", ((-1,),)),
    (
        "SELECT DECODE(boss, NULL, 'top', 1, 'one', 'other') FROM emp ORDER BY id",
        (("top",), ("one",), ("one",), ("other",), ("other",)),
    ),
    ("SELECT DECODE(id, 1, 'x') FROM emp WHERE id = 2", ((None,),)),
    ("SELECT 1 AS x FROM dual", ((1,),)),
    ("SELECT dept FROM emp MINUS SELECT id FROM dept ORDER BY 1", ((30,), (None,))),
    ("SELECT name FROM emp WHERE hired < SYSDATE AND id = 1", (("KING",),)),
    ("SELECT name FROM emp WHERE ROWNUM <= 0", ()),
    ("SELECT name FROM emp WHERE ROWNUM > 1", ()),
    (
        "SELECT name FROM (SELECT name FROM emp ORDER BY pay DESC) x WHERE ROWNUM <= 2",
        (("KING",), ("BLAKE",)),
    ),
    (
        "SELECT name FROM (SELECT a.*, ROWNUM AS n FROM (SELECT name FROM emp ORDER BY pay DESC) a "
        "WHERE ROWNUM <= 3) b WHERE n > 1",
        (("BLAKE",), ("CLARK",)),
    ),
    ("SELECT COUNT(*) FROM emp WHERE ROWNUM <= 2", UNDECIDED),
    ("SELECT id FROM emp WHERE ROWNUM > -1 AND id < 3 ORDER BY id", ((1,), (2,))),
    ("SELECT id FROM emp WHERE ROWNUM >= -3 AND id = 2", ((2,),)),
    ("SELECT id FROM emp WHERE ROWNUM <= -1", ()),
    ("SELECT id FROM emp WHERE ROWNUM BETWEEN -5 AND -2", ()),
    ("SELECT id FROM emp WHERE ROWNUM BETWEEN 1 AND 2 AND id > 4", ((5,),)),
    ("SELECT id FROM emp WHERE 1 >= ROWNUM AND id > 4", ((5,),)),
    ("SELECT id FROM emp WHERE ROWNUM < 99999999999999999999 AND id = 1", ((1,),)),
    ("SELECT e.id FROM emp e WHERE ROWNUM <= 9 AND id > 3 ORDER BY e.id DESC", ((5,), (4,))),
    ("SELECT id FROM emp WHERE ROWNUM <= 3 ORDER BY pay", UNDECIDED),
    ("SELECT id FROM emp WHERE ROWNUM <= 3 FETCH FIRST 2 ROWS ONLY", UNDECIDED),
    ("SELECT id FROM emp WHERE ROWNUM <= 3 ORDER BY id OFFSET 1 ROWS", UNDECIDED),
    (
        "SELECT name, title FROM emp e, dept d WHERE e.dept = d.id(+) AND e.id < 4 ORDER BY e.id",
        (("KING", "ACC"), ("BLAKE", "RES"), ("CLARK", None)),
    ),
    (
        "SELECT d.title FROM emp e, dept d WHERE e.dept(+) = d.id AND e.id IS NULL",
        (("OPS",),),
    ),
    (
        "SELECT name, LEVEL FROM emp START WITH boss IS NULL CONNECT BY PRIOR id = boss "
        "ORDER SIBLINGS BY name DESC",
        (("KING", 1), ("CLARK", 2), (None, 3), ("BLAKE", 2), ("ALLEN", 3)),
    ),
    (
        "SELECT SYS_CONNECT_BY_PATH(id, '/') FROM emp WHERE LEVEL = 3 START WITH id = 1 "
        "CONNECT BY boss = PRIOR id ORDER SIBLINGS BY id",
        (("/1/2/4",), ("/1/3/5",)),
    ),
    (
        "SELECT CONNECT_BY_ROOT id AS r, COUNT(*) FROM emp CONNECT BY PRIOR id = boss "
        "GROUP BY CONNECT_BY_ROOT id HAVING COUNT(*) > 1 ORDER BY 1",
        ((1, 5), (2, 2), (3, 2)),
    ),
    ("SELECT LEVEL FROM dual CONNECT BY LEVEL <= 3", ((1,), (2,), (3,))),
    (
        "SELECT id, CONNECT_BY_ISLEAF FROM emp START WITH boss IS NULL CONNECT BY PRIOR id = boss "
        "ORDER BY id",
        ((1, 0), (2, 0), (3, 0), (4, 1), (5, 1)),
    ),
    (
        "SELECT id FROM emp WHERE CONNECT_BY_ISLEAF = 1 START WITH id = 2 "
        "CONNECT BY emp.boss = PRIOR id AND LEVEL <= 9",
        ((4,),),
    ),
    (
        "SELECT id, CONNECT_BY_ISCYCLE FROM emp START WITH id = 1 "
        "CONNECT BY NOCYCLE COALESCE(boss, 4) = PRIOR id ORDER BY id",
        ((1, 0), (2, 0), (3, 0), (4, 1), (5, 0)),
    ),
    ("SELECT SUM(CONNECT_BY_ISLEAF) FROM emp CONNECT BY PRIOR id = boss", UNDECIDED),
    ("SELECT CONNECT_BY_ISLEAF FROM emp CONNECT BY NOCYCLE PRIOR id = boss", UNDECIDED),
    ("SELECT INSTR('corporate floor', 'or', 3, 2), INSTR('abc', 'z') FROM dual", ((14, 0),)),
    ("SELECT SUBSTR('abc', 0, 2), SUBSTR('abc', -2) FROM dual", (("ab", "bc"),)),
    ("SELECT 'a' || NULL FROM dual", (("a",),)),
    (
        "SELECT dept, LISTAGG(name, ',') WITHIN GROUP (ORDER BY name) FROM emp WHERE dept = 20 "
        "GROUP BY dept",
        ((20, "ALLEN,BLAKE"),),
    ),
    ("SELECT LAST_DAY(hired) FROM emp WHERE id = 3", (("2021-06-30 00:00:00",),)),
    ("SELECT ADD_MONTHS(hired, 1) FROM emp WHERE id = 1", (("2020-02-29 10:00:00",),)),
    ("SELECT TRUNC(hired, 'MM') FROM emp WHERE id = 3", (("2021-06-01 00:00:00",),)),
    ("SELECT TO_CHAR(hired, 'YYYY-MM-DD HH24:MI') FROM emp WHERE id = 1", (("2020-01-31 10:00",),)),
    ("SELECT name FROM emp WHERE hired = TO_DATE('2021-06-15', 'YYYY-MM-DD')", (("CLARK",),)),
    ("SELECT hired + 1 FROM emp WHERE id = 3", (("2021-06-16 00:00:00",),)),
    ("SELECT name FROM emp WHERE name = 7", UNDECIDED),
    ("SELECT missing FROM emp", "error"),
    ("SELECT nvll(id, 0) FROM emp", "error"),
    ("SELECT 'NVL(' || 'ROWNUM (+) CONNECT BY' FROM dual", (("NVL(ROWNUM (+) CONNECT BY",),)),
)
#: What they have in ways of their own, by product (and the compatibility that a version names).
ORACLE_WAYS: tuple[tuple[str, str, str, Any], ...] = (
    ("GaussDB", "", "SELECT 7/2 FROM dual", ((Decimal("3.5"),),)),
    ("GaussDB", "505 (PG compatibility)", "SELECT 7/2 FROM dual", ((3,),)),
    ("KingbaseES", "", "SELECT 7/2 FROM dual", ((3,),)),
    ("DM", "", "SELECT 7/2 FROM dual", ((3,),)),
    ("OceanBase (Oracle mode)", "", "SELECT 7/2 FROM dual", ((Decimal("3.5"),),)),
    ("GaussDB", "", "SELECT id FROM emp WHERE TRIM(' ') IS NULL AND id = 1", ((1,),)),
    ("GaussDB", "505 (PG compatibility)", "SELECT 'a' || NULL FROM dual", ((None,),)),
    ("openGauss", "", "SELECT id FROM emp WHERE '' IS NULL AND id = 1", ((1,),)),
    ("openGauss", "5.0 (PG compatibility)", "SELECT id FROM emp WHERE '' IS NULL", ()),
    ("KingbaseES", "", "SELECT id FROM emp WHERE '' IS NULL AND id = 1", ((1,),)),
    ("DM", "", "SELECT id FROM emp WHERE '' IS NULL", ()),
    ("OceanBase (Oracle mode)", "", "SELECT id FROM emp WHERE name <> ''", ()),
    (
        "GaussDB",
        "",
        "SELECT ADD_MONTHS(hired, 1) FROM emp WHERE id = 2",
        (("2021-03-28 00:00:00",),),
    ),
    (
        "OceanBase (Oracle mode)",
        "",
        "SELECT ADD_MONTHS(hired, 1) FROM emp WHERE id = 2",
        (("2021-03-31 00:00:00",),),
    ),
    (
        "OceanBase (Oracle mode)",
        "",
        "SELECT hired - DATE '2020-01-31' FROM emp WHERE id = 1",
        ((Decimal("0.4166666666666667"),),),
    ),
    (
        "OceanBase (Oracle mode)",
        "",
        "SELECT MONTHS_BETWEEN(DATE '2024-03-31', DATE '2024-02-29') FROM dual",
        ((1,),),
    ),
    ("OceanBase (Oracle mode)", "", "SELECT NVL2(dept, 1, 0) FROM emp WHERE id = 3", ((0,),)),
    ("openGauss", "", "SELECT NVL2(dept, 1, 0) FROM emp", REFUSED),
    ("openGauss", "", "SELECT MONTHS_BETWEEN(hired, hired) FROM emp", REFUSED),
    ("openGauss", "", "SELECT * FROM emp PIVOT (SUM(pay) AS s FOR dept IN (10, 20))", REFUSED),
    ("openGauss", "", "SELECT a FROM dept AS pivot (a, b) WHERE a IN (10, 11)", ((10,),)),
    (
        "OceanBase (Oracle mode)",
        "",
        "SELECT MAX(id) KEEP (DENSE_RANK LAST ORDER BY dept), MIN(name) KEEP (DENSE_RANK FIRST "
        "ORDER BY dept DESC, id), MAX(id) KEEP (DENSE_RANK FIRST ORDER BY DECODE(dept, 20, 0, 1)), "
        "MIN(id) KEEP (DENSE_RANK LAST ORDER BY dept NULLS FIRST) FROM emp",
        ((3, "CLARK", 4, 5),),
    ),
    ("DM", "", "SELECT SUM(id) KEEP (DENSE_RANK LAST ORDER BY dept) FROM emp", UNDECIDED),
    ("GaussDB", "", "SELECT MAX(id) KEEP (DENSE_RANK LAST ORDER BY dept) FROM emp", UNDECIDED),
    (
        "openGauss",
        "5.0 (PG compatibility)",
        "SELECT STRING_AGG(dept, '/' ORDER BY id), MIN(hired + 1) FROM emp",
        (("10/20/20/30", "2020-02-01 10:00:00"),),
    ),
    ("GaussDB", "", "SELECT ROUND(hired - hired) FROM emp", "error"),
    ("GaussDB", "", "SELECT name + '/' FROM emp", "error"),
    ("GaussDB", "", "SELECT name + '7' FROM emp", UNDECIDED),
    ("openGauss", "", "INSERT INTO dept VALUES (10, 'x') ON CONFLICT DO NOTHING", REFUSED),
    ("GaussDB", "", "SELECT * FROM dept d, LATERAL (SELECT d.id) x", UNDECIDED),
    (
        *("GaussDB", "", "INSERT INTO dept VALUES (10, 'x') ON DUPLICATE KEY UPDATE title = 'x'"),
        UNDECIDED,
    ),
    ("GaussDB", "", "SELECT * FROM emp PIVOT (SUM(pay) FOR dept IN (10, 20))", UNDECIDED),
    ("GaussDB", "", "SELECT make_date(2020, 1, 1)", REFUSED),
    ("OceanBase (Oracle mode)", "", 'SELECT "NAME" FROM "EMP" WHERE "ID" = 1', (("KING",),)),
    (
        "OceanBase (Oracle mode)",
        "",
        "SELECT REPLACE('abc', 'b'), LENGTH('') FROM dual",
        (("ac", None),),
    ),
    (
        "OceanBase (Oracle mode)",
        "",
        "SELECT GREATEST(1, NULL), LEAST(2, 1) FROM dual",
        ((None, 1),),
    ),
    ("OceanBase (Oracle mode)", "", "SELECT q'[it's]' FROM dual", (("it's",),)),
    (
        "OceanBase (Oracle mode)",
        "",
        "SELECT CONCAT(name, NULL) FROM emp WHERE id = 1",
        (("KING",),),
    ),
    ("OceanBase (Oracle mode)", "", "SELECT SUBSTR('abcd', 5 / 2) FROM dual", (("bcd",),)),
    (
        *("OceanBase (Oracle mode)", "", "INSERT ALL INTO dept VALUES (1, 'a') SELECT 1 FROM dual"),
        UNDECIDED,
    ),
    ("OceanBase (Oracle mode)", "", "SELECT TO_CHAR(hired) FROM emp", UNDECIDED),
    ("DM", "", "SELECT LENGTH(REPLACE('b', 'b', '')) FROM dual", ((0,),)),
    *(
        (title, "", "SELECT id FROM emp ORDER BY id LIMIT 1, 2", ((2,), (3,)))
        for title in ("DM", "GaussDB", "openGauss")
    ),
    *(
        (title, "", f"SELECT {call} FROM emp WHERE id = 3", UNDECIDED)
        for title, call in (
            *(("DM", "TOP 2 id"), ("DM", "IFNULL(dept, 0)"), ("DM", "DATEADD(DAY, 1, hired)")),
            ("openGauss", "GROUP_CONCAT(name)"),
        )
    ),
    ("GaussDB", "", "SELECT TOP 2 id FROM emp", "error"),
    ("GaussDB", "", "SELECT IFFNULL(dept, 0) FROM emp", "error"),
    (
        *(
            "openGauss",
            "",
            "INSERT INTO dept VALUES (10, 'x') ON DUPLICATE KEY UPDATE title = VALUES(title)",
        ),
        UNDECIDED,
    ),
    *(
        ("OceanBase (Oracle mode)", "", f"SELECT {rest}", REFUSED)
        for rest in (
            *("id FROM emp LIMIT 2", "id::text FROM emp", "id FROM emp WHERE name ILIKE 'k%'"),
            *("IFNULL(dept, 0) FROM emp", "STRING_AGG(name, ',') FROM emp"),
            "COUNT(*) FILTER (WHERE dept = 10) FROM emp",
        )
    ),
    ("OceanBase (Oracle mode)", "", "SELECT id AS limit FROM emp WHERE id = 1", ((1,),)),
    ("DM", "", "SELECT generate_series(1, 3)", REFUSED),
    *(
        (
            title,
            "",
            "WITH d AS (SELECT 3 AS top FROM dual), r (n) AS (SELECT 1 FROM dual UNION ALL "
            "SELECT n + 1 FROM r WHERE n < (SELECT top FROM d)) SELECT n FROM r ORDER BY n",
            ((1,), (2,), (3,)),
        )
        for title in ("DM", "OceanBase (Oracle mode)")
    ),
    ("openGauss", "", "WITH r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT 1", "error"),
)
