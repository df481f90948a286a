"""The detector for a rule that SCALE's optimization_depth states in Chinese prose.

A rule begins with the name of its kind; where one kind covers several rewrites, words further on
tell which. Kinds that no parse tree shows (the order of conditions, window functions replaced by
others) have none.
"""

from __future__ import annotations

import re

#: The first that matches at the beginning decides.
_BEGINNINGS: tuple[tuple[str, str | None], ...] = (
    (r"投影下推", "projection_pushdown"),
    (r"谓词下推", "predicate_pushdown"),
    (r"LIKE前缀", "like_to_range"),
    (r"没有LIMIT的子查询排序消除", "order_by_removed"),
    (r"隐式转换.*(?:函数|COALESCE|CONCAT)", "sargable"),
    (r"隐式转换", "implicit_conversion"),
    (r"COUNT\s*标量子查询", "count_to_exists"),
    (r"HAVING\s*条件下推", "having_to_where"),
    (r"GROUP BY\s*子句消除", "group_by_removed"),
    (r"子查询聚合改写为窗口函数", "subquery_to_window"),
    (r"LIMIT下推", "limit_pushdown"),
    (r"子查询折叠.*相关子查询", "scalar_subquery_merged"),
    (r"子查询折叠", "subquery_folding"),
    (r"Oracle ROWNUM冗余嵌套消除", "subquery_folding"),
    (r"外连接表消除", "join_elimination"),
    (r"无输出JOIN转EXISTS / LEFT转INNER.*EXISTS(?:子查询|半连接)", "join_to_exists"),
    (r"无输出JOIN转EXISTS / LEFT转INNER.*INNER JOIN(?!改写为EXISTS)", "outer_to_inner"),
    (r"UNION消除", "union_elimination"),
    (r"OR\s*条件转\s*UNION", "or_to_union"),
    (r"用静态可搜索参数替换动态条件.*移除了冗余", "redundant_predicate_removed"),
    (r"用静态可搜索参数替换动态条件", "sargable"),
    (r"Merge Multiple Independent Subqueries", "scalar_subquery_merged"),
)
_COMPILED = tuple((re.compile(text, re.DOTALL | re.IGNORECASE), name) for text, name in _BEGINNINGS)


def detector_for(rationale: str) -> str | None:
    """The name of a detector for a rule as SCALE words it, None where there is none."""
    text = rationale.strip()
    return next((name for pattern, name in _COMPILED if pattern.match(text)), None)
