"""By detector: a statement, its rewrite, and answers that pass for the rewrite without being it.

The answers are equivalent or nearly so, hence what execution would not refuse by itself. SQLite, on
the tables of `SCHEMA`.
"""

from __future__ import annotations

SCHEMA = (
    "CREATE TABLE o (id INTEGER PRIMARY KEY, c INTEGER NOT NULL, day TEXT NOT NULL, "
    "total INTEGER NOT NULL, note TEXT)",
    "CREATE TABLE k (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL)",
)

CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "predicate_pushdown": (
        "SELECT q.id FROM (SELECT id, total FROM o) AS q WHERE q.total = 5",
        "SELECT q.id FROM (SELECT id, total FROM o WHERE total = 5) AS q",
        (
            "SELECT q.id FROM (SELECT id, total FROM o WHERE total = total) AS q WHERE q.total = 5",
            "SELECT q.id FROM (SELECT id, total FROM o WHERE id >= 0 OR id < 0) AS q WHERE "
            "q.total = 5",
            "SELECT z.id FROM (SELECT * FROM (SELECT id, total FROM o) AS q WHERE q.total = 5) "
            "AS z",
            "WITH dead AS (SELECT id FROM o WHERE total = 5) SELECT q.id FROM (SELECT id, "
            "total FROM o) AS q WHERE q.total = 5",
        ),
    ),
    "projection_pushdown": (
        "SELECT q.id FROM (SELECT id, total, note, day FROM o) AS q WHERE q.total = 5",
        "SELECT q.id FROM (SELECT id, total FROM o) AS q WHERE q.total = 5",
        (
            "SELECT q.id FROM (SELECT id, total, note, day FROM o) AS q WHERE q.total = 5 AND "
            "(q.note IS NULL OR q.note IS NOT NULL)",
            "SELECT z.id FROM (SELECT q.id, q.note, q.day FROM (SELECT id, total, note, day "
            "FROM o) AS q WHERE q.total = 5) AS z WHERE z.note IS NULL OR z.day IS NOT NULL",
        ),
    ),
    "subquery_folding": (
        "SELECT q.id FROM (SELECT id, total FROM o WHERE total > 3) AS q WHERE q.id > 5",
        "SELECT id FROM o WHERE total > 3 AND id > 5",
        (
            "SELECT o.id FROM o WHERE o.id IN (SELECT id FROM o WHERE total > 3) AND o.id > 5",
            "WITH q AS (SELECT id, total FROM o WHERE total > 3) SELECT q.id FROM q WHERE q.id > 5",
        ),
    ),
    "join_elimination": (
        "SELECT a.id, b.total FROM o AS a JOIN o AS b ON b.id = a.id WHERE a.c = 3",
        "SELECT id, total FROM o WHERE c = 3",
        (
            "WITH x AS (SELECT * FROM o) SELECT a.id, (SELECT b.total FROM x AS b WHERE b.id = "
            "a.id) FROM x AS a WHERE a.c = 3",
            "SELECT a.id, (SELECT b.total FROM o AS b WHERE b.id = a.id) FROM o AS a WHERE a.c = 3",
        ),
    ),
    "outer_to_inner": (
        "SELECT o.id, k.name FROM o LEFT JOIN k ON k.id = o.c WHERE k.city = 'X'",
        "SELECT o.id, k.name FROM o JOIN k ON k.id = o.c WHERE k.city = 'X'",
        (
            "SELECT o.id, k.name FROM k RIGHT JOIN o ON k.id = o.c WHERE k.city = 'X'",
            "SELECT o.id, (SELECT k.name FROM k WHERE k.id = o.c) FROM o WHERE (SELECT k.city "
            "FROM k WHERE k.id = o.c) = 'X'",
            "SELECT o.id, j.name FROM o LEFT JOIN (SELECT k.* FROM k CROSS JOIN (SELECT "
            "COUNT(*) FROM o) AS z) AS j ON j.id = o.c WHERE j.city = 'X'",
            "SELECT o.id, w.name FROM (o LEFT JOIN k ON k.id = o.c) AS w WHERE w.city = 'X'",
        ),
    ),
    "join_to_exists": (
        "SELECT DISTINCT k.id, k.name FROM k JOIN o ON o.c = k.id",
        "SELECT k.id, k.name FROM k WHERE EXISTS (SELECT 1 FROM o WHERE o.c = k.id)",
        (
            "SELECT k.id, k.name FROM k WHERE (SELECT COUNT(*) FROM o WHERE o.c = k.id) > 0 "
            "AND EXISTS (SELECT 1)",
            "SELECT DISTINCT k.id, k.name FROM k WHERE EXISTS (SELECT 1 FROM k AS d) AND "
            "(SELECT MAX(1) FROM o WHERE o.c = k.id) = 1",
        ),
    ),
    "sargable": (
        "SELECT id FROM o WHERE substr(day, 1, 4) = '2024'",
        "SELECT id FROM o WHERE day >= '2024' AND day < '2025'",
        (
            "SELECT id FROM o WHERE substr(day, 1, 4) IS '2024' AND day >= ''",
            "SELECT id FROM (SELECT *, substr(day, 1, 4) AS y FROM o) AS q WHERE q.y = '2024' "
            "AND q.day = q.day",
            "SELECT id FROM o WHERE (SELECT substr(o.day, 1, 4)) = '2024' AND day >= ''",
            "SELECT id FROM o WHERE CASE substr(day, 1, 4) WHEN '2024' THEN 1 ELSE 0 END AND "
            "day >= ''",
            "SELECT id FROM o WHERE EXISTS (SELECT 1 WHERE substr(o.day, 1, 4) = '2024') AND "
            "day >= ''",
            "SELECT id FROM o WHERE instr(substr(day, 1, 4), '2024') AND day = day",
            "SELECT id FROM o WHERE id IN (SELECT id FROM o AS p WHERE substr(p.day, 1, 4) IS "
            "'2024') AND day >= ''",
        ),
    ),
    "implicit_conversion": (
        "SELECT id FROM o WHERE day = 2024 AND c = 3",
        "SELECT id FROM o WHERE day = '2024' AND c = 3",
        (
            "SELECT id FROM o WHERE day + 0 = 2024 AND c = 3",
            "SELECT id FROM o WHERE day = (SELECT 2024) AND c = 3",
            "SELECT id FROM o WHERE day = 2000 + 24 AND c = 3",
            "SELECT id FROM o WHERE COALESCE(day, 0) = 2024 AND c = 3",
            "SELECT id FROM o WHERE day IN (SELECT 2024) AND c = 3",
            "SELECT id FROM o WHERE day || '' = 2024 AND day >= '' AND c = 3",
            "SELECT id FROM o WHERE day IS 2024 AND c = 3",
            "SELECT id FROM o WHERE c = 3 AND day = (SELECT 2024) AND day >= ''",
        ),
    ),
    "like_to_range": (
        "SELECT id FROM o WHERE day LIKE '2024-0%'",
        "SELECT id FROM o WHERE day >= '2024-0' AND day < '2024-1'",
        (
            "SELECT id FROM o WHERE substr(day, 1, 6) = '2024-0' AND day >= '' AND day < 'zzz'",
            "SELECT id FROM o WHERE day LIKE '2024' || '-0%' AND day >= ''",
            "SELECT id FROM o WHERE day GLOB '2024-0*' AND day <> ''",
        ),
    ),
    "order_by_removed": (
        "SELECT COUNT(*) FROM (SELECT id FROM o ORDER BY total) AS q",
        "SELECT COUNT(*) FROM (SELECT id FROM o) AS q",
        (
            "SELECT COUNT(*) FROM (SELECT id FROM o ORDER BY total LIMIT 99999999) AS q",
            "SELECT COUNT(*) FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY total) AS r FROM o) AS q",
            "SELECT COUNT(*) FROM (SELECT id FROM o ORDER BY total LIMIT -1) AS q",
        ),
    ),
    "distinct_removed": (
        "SELECT DISTINCT id, c FROM o",
        "SELECT id, c FROM o",
        (
            "SELECT id, c FROM o GROUP BY id, c",
            "SELECT id, c FROM (SELECT id, c, COUNT(*) AS n FROM o GROUP BY id, c) AS q "
            "WHERE n > 0",
            "SELECT id, MAX(c) AS c FROM o GROUP BY id",
            "SELECT id, c FROM o UNION SELECT id, c FROM o",
            "SELECT id, c FROM o INTERSECT SELECT id, c FROM o",
            "SELECT id, c FROM (SELECT id, c, ROW_NUMBER() OVER (PARTITION BY id, c) AS r FROM "
            "o) AS q WHERE r = 1",
        ),
    ),
    "group_by_removed": (
        "SELECT id, MAX(c) AS c FROM o GROUP BY id",
        "SELECT id, c FROM o",
        (
            "SELECT DISTINCT id, c FROM o",
            "SELECT id, c FROM o UNION SELECT id, c FROM o",
            "SELECT id, c FROM (SELECT id, c, ROW_NUMBER() OVER (PARTITION BY id ORDER BY c "
            "DESC) AS r FROM o) AS q WHERE r = 1",
        ),
    ),
    "having_to_where": (
        "SELECT c, COUNT(*) AS n FROM o GROUP BY c HAVING c = 3 AND COUNT(*) > 1",
        "SELECT c, COUNT(*) AS n FROM o WHERE c = 3 GROUP BY c HAVING COUNT(*) > 1",
        (
            "SELECT c, n FROM (SELECT c, COUNT(*) AS n FROM o GROUP BY c) AS q WHERE c = 3 AND "
            "n > 1",
            "SELECT c, n FROM (SELECT c, COUNT(*) AS n FROM o WHERE c = c GROUP BY c HAVING "
            "COUNT(*) > 1) AS q WHERE c = 3",
            "SELECT c, COUNT(*) AS n FROM o WHERE 1 = 1 GROUP BY c HAVING MIN(c = 3 AND 1) AND "
            "COUNT(*) > 1",
        ),
    ),
    "union_to_union_all": (
        "SELECT id, 1 AS x FROM o UNION SELECT id, 2 AS x FROM k",
        "SELECT id, 1 AS x FROM o UNION ALL SELECT id, 2 AS x FROM k",
        (
            "SELECT DISTINCT * FROM (SELECT id, 1 AS x FROM o UNION ALL SELECT id, 2 AS x FROM "
            "k) AS q",
            "SELECT id, x FROM (SELECT id, 1 AS x FROM o UNION ALL SELECT id, 2 AS x FROM k) "
            "AS q GROUP BY id, x",
            "SELECT id, 1 AS x FROM o UNION ALL SELECT id, 2 AS x FROM k UNION SELECT id, 1 AS "
            "x FROM o WHERE 1 = 0",
            "SELECT id, 1 AS x FROM o UNION ALL SELECT * FROM (SELECT id, 2 AS x FROM k EXCEPT "
            "SELECT id, 1 FROM o) AS q",
        ),
    ),
    "union_elimination": (
        "SELECT id FROM o WHERE c = 1 UNION SELECT id FROM o WHERE c = 2",
        "SELECT id FROM o WHERE c IN (1, 2)",
        (
            "SELECT DISTINCT COALESCE(a.id, b.id) AS id FROM o AS a FULL JOIN o AS b ON a.id = "
            "b.id AND 1 = 0 WHERE a.c = 1 OR b.c = 2",
            "WITH x AS (SELECT * FROM o) SELECT z.id FROM x AS z WHERE z.id IN (SELECT id FROM "
            "x WHERE c = 1) OR z.id IN (SELECT id FROM x WHERE c = 2)",
        ),
    ),
    "or_to_in": (
        "SELECT id FROM o WHERE c = 1 OR c = 2",
        "SELECT id FROM o WHERE c IN (1, 2)",
        (
            "SELECT id FROM o WHERE NOT (c <> 1 AND c <> 2) AND 1 IN (1, 2)",
            "SELECT id FROM o WHERE CASE WHEN c = 1 THEN 1 WHEN c = 2 THEN 1 END AND id NOT IN "
            "(-1, -2)",
        ),
    ),
    "or_to_union": (
        "SELECT id FROM o WHERE c = 1 OR total = 2",
        "SELECT id FROM o WHERE c = 1 UNION ALL "
        "SELECT id FROM o WHERE total = 2 AND (c <> 1 OR c IS NULL)",
        (
            "SELECT id FROM o WHERE NOT (c <> 1 AND total <> 2) UNION SELECT id FROM o WHERE 1 = 0",
            "SELECT id FROM o WHERE CASE WHEN c = 1 THEN 1 WHEN total = 2 THEN 1 END UNION "
            "SELECT id FROM o WHERE total = 2 AND c = 1",
            "SELECT id FROM o WHERE 1 IN (c = 1, total = 2) UNION SELECT id FROM o WHERE id < "
            "0 AND id > 0",
        ),
    ),
    "count_to_exists": (
        "SELECT k.id FROM k WHERE (SELECT COUNT(*) FROM o WHERE o.c = k.id) > 0",
        "SELECT k.id FROM k WHERE EXISTS (SELECT 1 FROM o WHERE o.c = k.id)",
        (
            "SELECT k.id FROM k WHERE (SELECT COUNT(*) + 0 FROM o WHERE o.c = k.id) > 0 AND "
            "EXISTS (SELECT 1)",
            "SELECT k.id FROM k WHERE EXISTS (SELECT 1 FROM o WHERE o.c = k.id HAVING COUNT(*) "
            "> 0)",
            "SELECT k.id FROM k WHERE (SELECT SUM(1) FROM o WHERE o.c = k.id) > 0 AND EXISTS "
            "(SELECT 1)",
            "SELECT k.id FROM k JOIN (SELECT c, COUNT(*) AS n FROM o GROUP BY c) AS q ON q.c = "
            "k.id WHERE q.n > 0 AND k.id IN (SELECT id FROM k)",
            "SELECT k.id FROM k WHERE 1 IN (SELECT COUNT(*) > 0 FROM o WHERE o.c = k.id)",
        ),
    ),
    "decorrelate": (
        "SELECT k.id, (SELECT COUNT(*) FROM o WHERE o.c = k.id) AS n FROM k",
        "SELECT k.id, COALESCE(q.n, 0) AS n FROM k LEFT JOIN (SELECT c, COUNT(*) AS n FROM o "
        "GROUP BY c) AS q ON q.c = k.id",
        (
            "SELECT k.id, q.n FROM k CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM o WHERE o.c "
            "= k.id) AS q",
            "SELECT k.id, (SELECT COUNT(*) FROM o WHERE o.c = p.id) AS n FROM k JOIN k AS p ON "
            "p.id = k.id",
            "SELECT k.id, (SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM o WHERE o.c = k.id) "
            "AS z) AS n FROM k",
        ),
    ),
    "subquery_to_window": (
        "SELECT o.id FROM o WHERE o.total = (SELECT MAX(p.total) FROM o AS p WHERE p.c = o.c)",
        "SELECT id FROM (SELECT id, total, MAX(total) OVER (PARTITION BY c) AS m FROM o) AS q "
        "WHERE total = m",
        (
            "SELECT o.id FROM o JOIN (SELECT c, MAX(total) AS m, ROW_NUMBER() OVER () AS r "
            "FROM o GROUP BY c) AS q ON q.c = o.c AND q.m = o.total",
            "WITH x AS (SELECT *, ROW_NUMBER() OVER () AS r FROM o) SELECT x.id FROM x WHERE "
            "x.total = (SELECT MAX(p.total) FROM x AS p WHERE p.c = x.c)",
        ),
    ),
    "limit_pushdown": (
        "SELECT o.id, k.name FROM o JOIN k ON k.id = o.c ORDER BY o.id LIMIT 5",
        "SELECT q.id, k.name FROM (SELECT id, c FROM o ORDER BY id LIMIT 5) AS q JOIN k ON "
        "k.id = q.c ORDER BY q.id",
        (
            "SELECT * FROM (SELECT o.id, k.name FROM o JOIN k ON k.id = o.c ORDER BY o.id "
            "LIMIT 5) AS q ORDER BY id",
            "WITH q AS (SELECT o.id, k.name FROM o JOIN k ON k.id = o.c ORDER BY o.id LIMIT 5) "
            "SELECT * FROM q ORDER BY id LIMIT 5",
            "WITH dead AS (SELECT id FROM o LIMIT 5) SELECT o.id, k.name FROM o JOIN k ON k.id "
            "= o.c ORDER BY o.id LIMIT 5",
            "SELECT o.id, k.name FROM o JOIN k ON k.id = o.c CROSS JOIN (SELECT 1 LIMIT 1) AS "
            "d ORDER BY o.id LIMIT 5",
            "SELECT q.id, k.name FROM (SELECT id, c FROM o ORDER BY id LIMIT 99999999) AS q "
            "JOIN k ON k.id = q.c ORDER BY q.id LIMIT 5",
            "SELECT * FROM (SELECT o.id, k.name FROM o JOIN k ON k.id = o.c ORDER BY o.id LIMIT 5) "
            "AS q UNION ALL SELECT * FROM (SELECT o.id, k.name FROM o JOIN k ON k.id = o.c) AS e "
            "WHERE 1 = 0",
            "SELECT * FROM (SELECT o.id, k.name FROM o JOIN k ON k.id = o.c ORDER BY o.id LIMIT 5) "
            "AS q INTERSECT SELECT o.id, k.name FROM o JOIN k ON k.id = o.c",
        ),
    ),
    "scalar_subquery_merged": (
        "SELECT (SELECT MIN(total) FROM o) AS a, (SELECT MAX(total) FROM o) AS b",
        "SELECT MIN(total) AS a, MAX(total) AS b FROM o",
        (
            "WITH x AS (SELECT * FROM o) SELECT (SELECT MIN(total) FROM x) AS a, (SELECT "
            "MAX(total) FROM x) AS b",
            "WITH x AS (SELECT total FROM o), y AS (SELECT total FROM x) SELECT (SELECT "
            "MIN(total) FROM y) AS a, MAX(total) AS b FROM x",
            "SELECT MIN(total) AS a, (SELECT MAX(total) FROM o) AS b FROM o",
        ),
    ),
    "constant_folding": (
        "SELECT id FROM o WHERE total > 12 * 25",
        "SELECT id FROM o WHERE total > 300",
        (
            "SELECT id FROM o WHERE total > 12 * (id - id + 25)",
            "SELECT id FROM o WHERE total > 12 * COALESCE(25, id)",
            "SELECT id FROM o WHERE total > (SELECT 12 * 25)",
            "WITH n AS (SELECT 12 AS a, 25 AS b) SELECT o.id FROM o, n WHERE o.total > n.a * n.b",
        ),
    ),
    "not_in_to_not_exists": (
        "SELECT id FROM k WHERE id NOT IN (SELECT c FROM o)",
        "SELECT id FROM k WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.c = k.id)",
        (
            "SELECT id FROM k WHERE (id IN (SELECT c FROM o)) = 0 AND NOT EXISTS (SELECT 1 "
            "WHERE 1 = 0)",
            "SELECT id FROM k WHERE CASE WHEN id IN (SELECT c FROM o) THEN 0 ELSE 1 END AND "
            "NOT EXISTS (SELECT 1 FROM o WHERE id < 0 AND id > 0)",
            "SELECT id FROM k WHERE NOT (id = ANY (SELECT c FROM o)) AND NOT EXISTS (SELECT 1 "
            "WHERE 1 = 0)",
            "SELECT k.id FROM k LEFT JOIN (SELECT 1 AS z) AS d ON 1 = 1 WHERE (k.id IN (SELECT "
            "c FROM o)) IS FALSE",
        ),
    ),
    "aggregate_pushdown": (
        "SELECT k.id, SUM(o.total) AS s FROM k JOIN o ON o.c = k.id GROUP BY k.id",
        "SELECT k.id, q.s FROM k JOIN (SELECT c, SUM(total) AS s FROM o GROUP BY c) AS q ON "
        "q.c = k.id",
        (
            "SELECT * FROM (SELECT k.id, SUM(o.total) AS s FROM k JOIN o ON o.c = k.id GROUP "
            "BY k.id) AS q",
            "WITH dead AS (SELECT c, SUM(total) FROM o GROUP BY c) SELECT k.id, SUM(o.total) "
            "AS s FROM k JOIN o ON o.c = k.id GROUP BY k.id",
            "SELECT k.id, SUM(o.total) AS s FROM k JOIN o ON o.c = k.id CROSS JOIN (SELECT "
            "COUNT(*) AS n FROM (SELECT 1 AS a) AS b) AS d GROUP BY k.id",
            "SELECT k.id, SUM(o.total) AS s FROM k JOIN o ON o.c = k.id CROSS JOIN (SELECT "
            "COUNT(*) AS n FROM o) AS d GROUP BY k.id",
        ),
    ),
    "redundant_predicate_removed": (
        "SELECT id FROM o WHERE total > 20 AND total > 12",
        "SELECT id FROM o WHERE total > 20",
        (
            "SELECT id FROM o WHERE NOT (total <= 20 OR total <= 12)",
            "SELECT id FROM (SELECT * FROM o WHERE total > 12) AS q WHERE q.total > 20",
            "SELECT id FROM o WHERE (total > 20) * (total > 12)",
            "SELECT id FROM o WHERE CASE WHEN total > 20 THEN total > 12 END",
        ),
    ),
}
