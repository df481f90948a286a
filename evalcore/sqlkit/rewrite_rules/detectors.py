"""The detectors: each tells whether one known rewrite leads from one query to another.

A detector sees form alone, and never one between two spellings of the same statement. That the
answer is equivalent, and no worse, is for others to find out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from hashlib import blake2b

from sqlglot import TokenType, exp, parse_one
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.scope import Scope, traverse_scope

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.sqlkit.rewrite_rules import counts, filters, places
from evalcore.sqlkit.rewrite_rules.counts import Count, node_counter
from evalcore.sqlkit.rewrite_rules.filters import is_conversion_removed
from evalcore.sqlkit.rewrite_rules.parsed_query import (
    MAX_QUERY_CHARACTERS,
    PARSER_FAULTS,
    QUERY_CACHE_SIZE,
    ParsedQuery,
    iter_own_nodes,
    list_output_names,
    read_query,
)

# Whether two statements are the same one, written differently.

#: The same comparison with its sides exchanged.
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}
_CHAINED = (exp.And, exp.Or)
_EITHER_WAY = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)


def is_same_statement(a: str, b: str, dialect: str, schema: Sequence[str] = ()) -> bool:
    """Whether `b` says what `a` says, letter for letter but for what no engine looks at.

    That is: layout, comments, the case of keywords and names, needless brackets, the names of
    aliases and CTEs, INNER and ASC, the order of the operands of AND, OR, = and <>, the side on
    which a comparison has its column, and the order of an IN list. With the DDL in `schema` a star
    is the same as its columns, and a name the same with its table and without. What does not parse
    is compared word by word.
    """
    if a.split() == b.split():
        return True
    first, second = (_digest_query(sql, dialect, tuple(schema)) for sql in (a, b))
    if first is None or second is None:
        return _tokenize_words(a, dialect) == _tokenize_words(b, dialect)
    return first == second


@lru_cache(maxsize=QUERY_CACHE_SIZE)
def _digest_query(sql: str, dialect: str, schema: tuple[str, ...]) -> bytes | None:
    """A mark that queries share which say the same; None for what is no single query."""
    parsed = read_query(sql, dialect, schema)
    if parsed is None:
        return None
    tree: exp.Expr = parsed.tree.copy()
    scopes = traverse_scope(tree)
    renamed = [
        *_iter_column_renamings(scopes),
        *_iter_source_renamings(scopes),
        *_iter_cte_renamings(tree),
    ]
    for node, argument, name in renamed:
        node.set(argument, exp.to_identifier(name))
    return _digest_tree(tree)


# Whether two statements are the same one, arranged differently.


def is_rearranged_statement(
    original: str, answer: str, dialect: str, schema: Sequence[str] = ()
) -> bool:
    """Whether `answer` says what `original` says but for wrappers and the order of inner joins.

    A wrapper is a derived table or a CTE that reads all of one table or query, sorted or not, and a
    query that reads all of another; also one that reads a table apart by conditions, or as DISTINCT
    rows, and IS TRUE round a condition. What an engine saves by them it owes to its planner.
    """
    if any(read_query(sql, dialect, schema) is None for sql in (original, answer)):
        return False
    first, second = (_unwrap_statement(sql, dialect) for sql in (original, answer))
    if not first.args.get("order") and not second.args.get("limit"):
        second.set("order", None)
    texts = [tree.sql(dialect=dialect) for tree in (first, second)]
    return is_same_statement(texts[0], texts[1], dialect, schema)


def _unwrap_statement(sql: str, dialect: str) -> exp.Expr:
    """The tree of a query without wrappers, its inner joins sorted by name."""
    tree: exp.Expr = parse_one(sql, read=dialect).unnest()
    _inline_plain_ctes(tree)
    for subquery in reversed(list(tree.find_all(exp.Subquery))):
        source = _find_wrapped_source(subquery.this)
        name = subquery.args.get("alias")
        if source is None or name is None or name.args.get("columns"):
            continue
        if isinstance(subquery.parent, exp.From | exp.Join):
            inner = source.copy()
            inner.set("alias", name.copy())
            subquery.replace(inner)
    for where in tree.find_all(exp.Where):
        condition = where.this
        is_truth = isinstance(condition, exp.Is) and condition.expression == exp.true()
        if is_truth and not condition.args.get("negate"):
            where.set("this", condition.this.unnest())
    for select in list(tree.find_all(exp.Select)):
        _drop_idle_parts(select)
        _sort_inner_joins(select)
    source = _find_wrapped_source(tree)
    while isinstance(source, exp.Subquery) and isinstance(source.this, exp.Query):
        tree = source.this
        source = _find_wrapped_source(tree)
    return tree


_WRAPPING = frozenset(("expressions", "from_", "order"))


def _find_wrapped_source(query: exp.Expr, ignored: Set[str] = frozenset()) -> exp.Expr | None:
    """The table or query of which `query` reads all columns and rows, None where it does more than
    that and what the arguments in `ignored` hold."""
    if isinstance(query, exp.Union):
        return _find_divided_table(query)
    if not isinstance(query, exp.Select):
        return None
    parts = {name for name, part in query.args.items() if part} - _WRAPPING - ignored
    source = query.args["from_"].this if query.args.get("from_") else None
    distinct = query.args.get("distinct")
    if isinstance(source, exp.Table) and distinct and not distinct.args.get("on"):
        parts.discard("distinct")
    if counts.find_row_limit(query, skipped=True) is None:
        parts.discard("limit")
    reads_all = len(query.selects) == 1 and isinstance(query.selects[0], exp.Star)
    plain = isinstance(source, exp.Table | exp.Subquery) and not any(
        source.args.get(name) for name in ("joins", "pivots", "laterals", "sample")
    )
    excludes = reads_all and any(query.selects[0].args.values())
    return source if reads_all and plain and not parts and not excludes else None


def _find_divided_table(union: exp.Union) -> exp.Expr | None:
    """The table that all branches of a UNION read, each all columns of some rows, or None."""
    branches: list[exp.Expr] = [union]
    tables: list[exp.Expr] = []
    while branches:
        branch = branches.pop().unnest()
        if isinstance(branch, exp.Union):
            branches += [branch.this, branch.expression]
            continue
        source = _find_wrapped_source(branch, frozenset(("where",)))
        if not isinstance(source, exp.Table):
            return None
        tables.append(source)
    return tables[0] if len({table.name.lower() for table in tables}) == 1 else None


def _inline_plain_ctes(tree: exp.Expr) -> None:
    """Read a table or query itself where a CTE only gives it a name."""
    for ctes in list(tree.find_all(exp.With)):
        query = ctes.parent
        if query is None or ctes.args.get("recursive"):
            continue
        reads_one = len(ctes.expressions) == 1 and _find_wrapped_source(query, {"with_"})
        for cte in list(ctes.expressions):
            source = _find_wrapped_source(cte.this)
            if source is None and reads_one and reads_one.name == cte.alias:
                source = exp.Subquery(this=cte.this.copy())
            if source is None or cte.args["alias"].args.get("columns"):
                continue
            for table in [t for t in query.find_all(exp.Table) if t.name == cte.alias]:
                inner = source.copy()
                alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name))
                inner.set("alias", alias)
                table.replace(inner)
            cte.pop()
        if not ctes.expressions:
            query.set("with_", None)


def _drop_idle_parts(select: exp.Select) -> None:
    """Leave out what holds for every row: a join with one row of constants, and the condition that
    a table has the value that it was read from."""
    joins = select.args.get("joins") or []
    derived = [join for join in joins if isinstance(join.this, exp.Subquery) and not join.side]
    idle = [join for join in derived if set(_list_parts(join.this.this)) == {"expressions"}]
    select.set("joins", [join for join in joins if join not in idle or join.args.get("on")])
    from_, where = select.args.get("from_"), select.args.get("where")
    sources = [part.this for part in (from_, *joins) if part and isinstance(part.this, exp.Table)]
    stored = {source.alias_or_name: source.name for source in sources}
    conditions = list(where.this.flatten()) if where and isinstance(where.this, exp.And) else []
    conditions = conditions or ([where.this] if where else [])
    needed = [part for part in conditions if not _asks_for_own_value(part, stored)]
    if len(needed) < len(conditions):
        select.set("where", exp.Where(this=exp.and_(*needed, copy=False)) if needed else None)


def _asks_for_own_value(condition: exp.Expr, stored: Mapping[str, str]) -> bool:
    """Whether a condition is `t.a IN (SELECT a FROM t)`; `stored` holds the tables by alias."""
    query = condition.args.get("query") if isinstance(condition, exp.In) else None
    query = query.unnest() if query is not None else None
    if query is None or _list_parts(query) != ["expressions", "from_"]:
        return False
    column, table = condition.this, query.args["from_"].this
    read = {(part.name.lower(), table.name) for part in query.selects}
    alias = column.args["table"].name if isinstance(column, exp.Column) and column.table else ""
    name = stored.get(alias) if alias or len(stored) != 1 else next(iter(stored.values()))
    return isinstance(table, exp.Table) and read == {(column.name.lower(), name)}


def _list_parts(query: exp.Expr) -> list[str]:
    """The names of the clauses that a query has."""
    return sorted(name for name, part in query.args.items() if part)


def _sort_inner_joins(select: exp.Select) -> None:
    """Put the sources of inner joins in the order of their names, and their conditions in WHERE."""
    joins = select.args.get("joins") or []
    source = select.args.get("from_")
    loose = ("side", "using", "method", "pivots")
    if not joins or source is None or any(j.args.get(name) for j in joins for name in loose):
        return
    if any(str(join.args.get("kind") or "") not in ("", "INNER", "CROSS") for join in joins):
        return
    sources = [source.this, *(join.this for join in joins)]
    sources.sort(key=lambda part: (str(part.name), str(part.alias_or_name)))
    for join in joins:
        if join.args.get("on"):
            select.where(join.args["on"], copy=False)
    source.set("this", sources[0])
    select.set("joins", [exp.Join(this=part, kind="CROSS") for part in sources[1:]])


def _tokenize_words(sql: str, dialect: str) -> list[str]:
    """The words of a text that is no single query, without layout, comments and semicolons."""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(sql[:MAX_QUERY_CHARACTERS])
    except PARSER_FAULTS:
        return sql.lower().split()
    return [
        token.text if token.token_type == TokenType.STRING else token.text.lower()
        for token in tokens
        if token.token_type != TokenType.SEMICOLON
    ] + sql[MAX_QUERY_CHARACTERS:].split()


_Renaming = tuple[exp.Expr, str, str]  # a node, its argument, and the name to put there


def _iter_column_renamings(scopes: Sequence[Scope]) -> Iterator[_Renaming]:
    """New names for output columns, and for the columns that mean one."""
    positions_by_scope: dict[int, dict[str, int]] = {}

    def index_outputs(scope: Scope) -> dict[str, int]:
        if id(scope) not in positions_by_scope:
            names = reversed(list(enumerate(list_output_names(scope))))
            positions_by_scope[id(scope)] = {name: number for number, name in names}
        return positions_by_scope[id(scope)]

    for scope in scopes:
        bare = (node for node in iter_own_nodes(scope.expression) if isinstance(node, exp.Column))
        meant = [(column, index_outputs(scope)) for column in bare if not column.table]
        for column in scope.columns:
            source = scope.sources.get(column.table)
            if isinstance(source, Scope):
                meant.append((column, index_outputs(source)))
        for column, outputs in meant:
            if column.name in outputs:
                yield column, "this", f"c{outputs[column.name]}"
        if isinstance(scope.expression, exp.Select):
            for number, select in enumerate(scope.expression.selects):
                if isinstance(select, exp.Alias):
                    yield select, "alias", f"c{number}"


def _iter_source_renamings(scopes: Sequence[Scope]) -> Iterator[_Renaming]:
    """New names for the aliases of tables and derived tables, and for their columns' qualifiers."""
    for depth, scope in enumerate(scopes):
        for number, (alias, (node, _)) in enumerate(scope.selected_sources.items()):
            holder: exp.Expr | None = node
            while holder is not None and not holder.alias:
                holder = holder.parent
            if holder is None:
                continue
            yield holder.args["alias"], "this", f"s{depth}_{number}"
            for column in scope.columns:
                if column.table == alias:
                    yield column, "table", f"s{depth}_{number}"


def _iter_cte_renamings(tree: exp.Expr) -> Iterator[_Renaming]:
    ctes = list(tree.find_all(exp.CTE))
    names = {cte.alias: f"w{number}" for number, cte in enumerate(ctes)}
    for cte in ctes:
        yield cte.args["alias"], "this", names[cte.alias]
    for table in tree.find_all(exp.Table):
        if table.name in names:
            yield table, "this", names[table.name]


def _digest_tree(tree: exp.Expr) -> bytes:
    """A digest of a tree in which operands that may stand in any order do.

    From the leaves up and without recursion, as a chain of ORs may be thousands deep.
    """
    marks: dict[int, bytes] = {}
    for node in reversed(list(tree.walk())):
        marks[id(node)] = blake2b(_spell_node(node, marks).encode(), digest_size=16).digest()
    return marks[id(tree)]


def _spell_node(node: exp.Expr, marks: dict[int, bytes]) -> str:
    kind, arguments = type(node), dict(node.args)
    if isinstance(node, _CHAINED):
        if type(node.parent) is kind:
            return ""  # the head of the chain speaks for it
        arguments = {"operands": sorted(marks[id(part)] for part in node.flatten())}
    elif isinstance(node, _EITHER_WAY):
        arguments = {"operands": sorted((marks[id(node.this)], marks[id(node.expression)]))}
    elif kind in _FLIPPED:
        kind, arguments = _FLIPPED[kind], {"this": node.expression, "expression": node.this}
    elif isinstance(node, exp.In):
        arguments["expressions"] = sorted(marks[id(item)] for item in node.expressions)
    spelled_arguments = sorted(
        (name, _spell_argument(value, marks)) for name, value in arguments.items() if value
    )
    return f"{kind.__name__} {spelled_arguments}"


def _spell_argument(value: object, marks: dict[int, bytes]) -> str:
    if isinstance(value, list):
        return str([_spell_argument(item, marks) for item in value])
    return repr(marks[id(value)] if isinstance(value, exp.Expr) else value)


# The detectors, and what they are made of.

#: Whether a rewrite leads from the first query to the second.
Detector = Callable[[ParsedQuery, ParsedQuery], bool]


def all_fall(*counters: Count) -> Detector:
    """Every one of the counts is lower in the answer."""
    return lambda before, after: all(count(after) < count(before) for count in counters)


def all_grow(*counters: Count) -> Detector:
    """Every one of the counts is higher in the answer."""
    return lambda before, after: all(count(after) > count(before) for count in counters)


def none_grow(*counters: Count) -> Detector:
    """None of the counts is higher in the answer."""
    return lambda before, after: all(count(after) <= count(before) for count in counters)


def all_of(*detectors: Detector) -> Detector:
    return lambda before, after: all(detector(before, after) for detector in detectors)


def any_of(*detectors: Detector) -> Detector:
    return lambda before, after: any(detector(before, after) for detector in detectors)


#: Rows are kept apart from their like in another way than before: nothing was saved.
_NO_OTHER_WAY = all_of(
    none_grow(counts.count_deduplications, node_counter(exp.Window)), places.has_no_more_reads
)
#: No GROUP BY removes them, but one may compute what subqueries computed before.
_NO_OTHER_GROUPS = none_grow(counts.count_plain_groups, counts.count_aggregating_queries)

#: By the name that a case gives.
DETECTORS: dict[str, Detector] = {
    "predicate_pushdown": filters.is_condition_pushed_down,
    "projection_pushdown": all_fall(counts.count_unused_outputs, counts.count_outputs),
    "subquery_folding": all_of(
        all_fall(counts.count_derived_tables),
        any_of(all_fall(counts.count_subqueries), places.moved_into(places.count_outermost_reads)),
    ),
    "join_elimination": all_of(all_fall(counts.count_joins), places.has_fewer_reads),
    "outer_to_inner": places.is_join_made_inner,
    "join_to_exists": all_of(
        all_fall(counts.count_joins),
        all_grow(counts.count_semi_joins),
        places.moved_into(places.count_partner_reads),
    ),
    "sargable": filters.is_column_unwrapped,
    "implicit_conversion": is_conversion_removed,
    "like_to_range": filters.is_prefix_made_range,
    "order_by_removed": all_fall(counts.count_inner_orders, node_counter(exp.Order)),
    "distinct_removed": all_of(
        all_fall(node_counter(exp.Distinct)), _NO_OTHER_GROUPS, _NO_OTHER_WAY
    ),
    "group_by_removed": all_of(
        all_fall(node_counter(exp.Group)), none_grow(node_counter(exp.Distinct)), _NO_OTHER_WAY
    ),
    "having_to_where": filters.is_having_pushed_down,
    "union_to_union_all": all_of(
        all_fall(counts.count_deduplicated_inputs),
        none_grow(node_counter(exp.Distinct, exp.Window, exp.Except, exp.Intersect)),
        _NO_OTHER_GROUPS,
        places.has_no_more_reads,
    ),
    "union_elimination": all_of(all_fall(node_counter(exp.SetOperation)), places.has_fewer_reads),
    "or_to_in": filters.is_or_made_in_list,
    "or_to_union": filters.is_or_split_into_union,
    "count_to_exists": all_of(
        all_fall(counts.count_compared_counts, node_counter(exp.AggFunc)),
        places.moved_into(places.count_partner_reads),
    ),
    "decorrelate": all_of(
        all_fall(counts.count_correlated), places.moved_out_of(places.count_correlated_reads)
    ),
    "subquery_to_window": all_of(all_grow(node_counter(exp.Window)), places.has_fewer_reads),
    "limit_pushdown": places.is_limited_sooner,
    "scalar_subquery_merged": places.has_merged_reads,
    "constant_folding": all_fall(counts.count_constant_expressions, counts.count_operations),
    "not_in_to_not_exists": all_of(
        all_fall(counts.count_not_in), places.moved_into(places.count_missing_reads)
    ),
    "aggregate_pushdown": places.is_aggregated_sooner,
    "redundant_predicate_removed": filters.is_redundant_condition_removed,
}


def has_rewrite(
    check: str, original: str, answer: str, dialect: str, schema: Sequence[str]
) -> bool | None:
    """Whether the rewrite named `check` was done on the way from `original` to `answer`.

    `schema` is the DDL of the tables. None where it cannot be told: one of the two is no single
    query that parses. Never true where both say the same (`is_same_statement`), nor for an answer
    with CTEs that nothing reads: they could hold the new form, or the old one, for show. Raises
    UsageError for an unknown name.
    """
    detector = DETECTORS.get(check)
    if detector is None:
        raise UsageError(Note("rewrite_unknown", name=repr(check), names=", ".join(DETECTORS)))
    before, after = read_query(original, dialect, schema), read_query(answer, dialect, schema)
    if before is None or after is None:
        return None
    try:
        if counts.count_unread_ctes(after) > counts.count_unread_ctes(before):
            return False
        return not is_same_statement(original, answer, dialect, schema) and detector(before, after)
    except PARSER_FAULTS:
        return None


# The detector for a rule that SCALE's optimization_depth states in Chinese prose.
# A rule begins with the name of its kind; where one kind covers several rewrites, words further
# on tell which. Kinds that no parse tree shows (the order of conditions, window functions
# replaced by others) have none.

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
