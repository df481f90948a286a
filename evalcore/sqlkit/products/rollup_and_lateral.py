"""Whole queries of MySQL 8 that MariaDB lacks: ROLLUP with GROUPING or ORDER BY, and LATERAL.

They are rewritten on the parse tree. A rollup becomes the union of its levels; a lateral derived
table becomes scalar subqueries where it gives one row, else a derived table joined by the columns
over which it was correlated, with the row numbers that its LIMIT asks for. Where the tree does not
show that this is the same, `Untranslatable` is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from evalcore.sqlkit.products.clauses import MYSQL
from evalcore.sqlkit.products.token_edits import Untranslatable, fold_word, read_tokens
from evalcore.sqlkit.schema import Schema, plain_name, read_schema


def rewrite_queries(sql: str, schema: Sequence[str]) -> str:
    """The statement without what MariaDB lacks; raises Untranslatable."""
    words = [fold_word(token) for token in read_tokens(sql, MYSQL)]
    rolls_up = "ROLLUP" in words and ("GROUPING" in words or "ORDER BY" in words)
    if not rolls_up and "LATERAL" not in words:
        return sql
    feature = "GROUPING" if rolls_up else "LATERAL"
    try:
        tree = sqlglot.parse_one(sql, read=MYSQL)
    except (SqlglotError, RecursionError):
        return sql  # the server says what is wrong with it
    if not isinstance(tree, exp.Query):
        raise Untranslatable(feature)
    for select in list(tree.find_all(exp.Select)):
        for join in reversed(select.args.get("joins") or []):
            if isinstance(join.this, exp.Lateral):
                _replace_lateral(select, join, read_schema(schema, MYSQL))
    if tree.find(exp.Lateral):
        raise Untranslatable("LATERAL")
    for select in list(tree.find_all(exp.Select)):
        if _list_rollup(select):
            union = _build_rollup_union(select)
            if select is tree:
                tree = union
            else:
                select.replace(union)
    return str(tree.sql(dialect=MYSQL))


def _list_rollup(select: exp.Select) -> list[exp.Expr]:
    """The columns of GROUP BY ... WITH ROLLUP, none for another query."""
    group = select.args.get("group")
    if group is None or not group.args.get("rollup"):
        return []
    rollup = group.args["rollup"][0]
    return list(rollup.expressions or group.expressions)


def _build_rollup_union(select: exp.Select) -> exp.Query:
    """The levels of a rollup as a union, of which none has rows where there are no rows at all."""
    keys = _list_rollup(select)
    if select.args.get("windows") or select.args.get("distinct") or select.find(exp.Window):
        raise Untranslatable("GROUPING")
    outputs = {item.alias.lower(): item.this for item in select.selects if item.alias}
    orders: list[exp.Ordered] = []
    for ordered in (select.args.get("order") or exp.Order()).expressions:
        wanted = ordered.this
        if isinstance(wanted, exp.Column) and not wanted.table:
            wanted = outputs.get(wanted.name.lower(), wanted)
        if isinstance(wanted, exp.Literal):
            wanted = select.selects[int(wanted.name) - 1].unalias()
        orders.append(_order_by(wanted.copy(), ordered))
    levels = []
    for count in range(len(keys), -1, -1):
        level = select.copy()
        for part in ("order", "limit", "offset", "group", "with_"):
            level.set(part, None)
        for number, ordered in enumerate(orders):
            level.select(exp.alias_(ordered.this.copy(), f"rollup_order_{number}"), copy=False)
        for number, item in enumerate(level.selects[: len(select.selects)]):
            item.replace(exp.alias_(item.unalias().copy(), f"rollup_column_{number}"))
        level.set("having", _make_having(select, count))
        having = level.args.get("having")
        for grouped in [*level.selects, *([having] if having else [])]:
            _replace_grouped(grouped, keys, count)
        if count:
            level.group_by(*(key.copy() for key in keys[:count]), copy=False)
        levels.append(level)
    union: exp.Query = levels[0]
    for level in levels[1:]:
        union = exp.union(union, level, distinct=False, copy=False)
    outer = exp.select(
        *(
            exp.alias_(
                exp.column(f"rollup_column_{number}"),
                item.alias_or_name or f"_{number}",
                quoted=True,
            )
            for number, item in enumerate(select.selects)
        )
    ).from_(exp.Subquery(this=union, alias=exp.TableAlias(this=exp.to_identifier("rolled_up"))))
    for number, ordered in enumerate(orders):
        column = exp.column(f"rollup_order_{number}")
        outer.order_by(_order_by(column, ordered), copy=False)
    for part in ("limit", "offset", "with_"):
        if select.args.get(part):
            outer.set(part, select.args[part].copy())
    return outer


def _order_by(value: exp.Expr, like: exp.Expr) -> exp.Ordered:
    return exp.Ordered(
        this=value, desc=like.args.get("desc"), nulls_first=like.args.get("nulls_first")
    )


def _make_having(select: exp.Select, count: int) -> exp.Having | None:
    having = select.args.get("having")
    condition = having.this.copy() if having else None
    if condition is not None:
        outputs = {item.alias.lower(): item.this for item in select.selects if item.alias}
        for column in list(condition.find_all(exp.Column)):
            source = outputs.get(column.name.lower())
            if source is not None and not column.table:
                replaced = exp.paren(source.copy())
                condition = replaced if column is condition else condition
                column.replace(replaced)
    if count == 0:
        total = sqlglot.condition("COUNT(*) > 0", dialect=MYSQL)
        condition = exp.and_(condition, total) if condition is not None else total
    return exp.Having(this=condition) if condition is not None else None


def _replace_grouped(part: exp.Expr, keys: Sequence[exp.Expr], count: int) -> None:
    """Within one level: GROUPING by its number, and by NULL each key that is rolled up, outside of
    the arguments of aggregates."""
    for node in list(part.find_all(exp.Anonymous, exp.Grouping)):
        if isinstance(node, exp.Anonymous) and node.name.upper() != "GROUPING":
            continue
        bits = 0
        for argument in node.expressions:
            position = _find_key(argument, keys)
            if position < 0:
                raise Untranslatable("GROUPING")
            bits = bits * 2 + (position >= count)
        node.replace(exp.Literal.number(bits))
    for key in list(part.walk()):
        if _find_key(key, keys) >= count and key.parent and not key.find_ancestor(exp.AggFunc):
            key.replace(exp.Null())


def _find_key(node: exp.Expr, keys: Sequence[exp.Expr]) -> int:
    return next((n for n, key in enumerate(keys) if node == key or _is_same_column(node, key)), -1)


def _is_same_column(node: exp.Expr, key: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Column)
        and isinstance(key, exp.Column)
        and node.name.lower() == key.name.lower()
        and (not node.table or not key.table or node.table.lower() == key.table.lower())
    )


def _replace_lateral(select: exp.Select, join: exp.Join, schema: Schema) -> None:
    lateral = join.this
    inner = lateral.this.this if isinstance(lateral.this, exp.Subquery) else None
    if not isinstance(inner, exp.Select) or inner.args.get("with_") or not lateral.alias:
        raise Untranslatable("LATERAL")
    if any(
        isinstance(item, exp.Star) or item.is_star for item in [*select.selects, *inner.selects]
    ):
        raise Untranslatable("LATERAL")
    name = lateral.alias.lower()
    columns = lateral.args["alias"].args.get("columns") or []
    labels = [c.name for c in columns] or [item.alias_or_name for item in inner.selects]
    on = join.args.get("on")
    is_left = str(join.args.get("side") or "").upper() == "LEFT"
    is_plain = (
        on is None or (isinstance(on, exp.Boolean) and bool(on.this)) or on.sql() in ("1", "1 = 1")
    )
    single = _gives_one_row(inner)
    top = _read_limit(inner)
    if (single and (is_plain or not is_left)) or (top == 1 and is_left and is_plain):
        _inline_row(select, inner, name, labels, schema)
        select.args["joins"].remove(join)
        if on is not None and not is_plain:
            condition = on.copy()
            holder = exp.Where(this=condition)
            _inline_columns(holder, inner, name, labels, schema)
            select.where(holder.this, copy=False)
        return
    _join_numbered_rows(select, join, inner, labels, top, schema)


def _gives_one_row(inner: exp.Select) -> bool:
    """Whether a query gives one row, whatever the tables hold."""
    if any(inner.args.get(part) for part in ("group", "having", "limit", "offset", "distinct")):
        return False
    if inner.args.get("from_") is None:
        return inner.args.get("where") is None
    return all(
        any(agg.find_ancestor(exp.Select) is inner for agg in item.find_all(exp.AggFunc))
        and not item.find(exp.Window)
        for item in inner.selects
    )


def _read_limit(inner: exp.Select) -> int | None:
    limit = inner.args.get("limit")
    if limit is None or inner.args.get("offset"):
        return None
    text = limit.expression.name if limit.expression is not None else ""
    return int(text) if text.isdigit() else None


def _inline_row(
    select: exp.Select, inner: exp.Select, name: str, labels: list[str], schema: Schema
) -> None:
    for item in select.selects:
        if isinstance(item, exp.Column):
            item.replace(exp.alias_(item.copy(), item.name, quoted=True))
    for part, value in list(select.args.items()):
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, exp.Expression) and part not in ("from_", "with_"):
                _inline_columns(node, inner, name, labels, schema)


def _inline_columns(
    part: exp.Expr, inner: exp.Select, name: str, labels: list[str], schema: Schema
) -> None:
    for column in list(part.find_all(exp.Column)):
        folded = [label.lower() for label in labels]
        mine = column.table.lower() == name
        if not column.table and column.name.lower() in folded and not _is_inside(column, inner):
            if any(table.find_column(column.name) for table in schema.tables):
                raise Untranslatable("LATERAL")
            mine = True
        if not mine or _is_inside(column, inner):
            continue
        if column.name.lower() not in folded:
            raise Untranslatable("LATERAL")
        scalar = inner.copy()
        scalar.set(
            "expressions", [inner.selects[folded.index(column.name.lower())].unalias().copy()]
        )
        column.replace(scalar.subquery(copy=False))


def _is_inside(node: exp.Expr, ancestor: exp.Expr) -> bool:
    above = node.parent
    while above is not None:
        if above is ancestor:
            return True
        above = above.parent
    return False


def _join_numbered_rows(
    select: exp.Select,
    join: exp.Join,
    inner: exp.Select,
    labels: list[str],
    top: int | None,
    schema: Schema,
) -> None:
    if inner.args.get("limit") and top is None:
        raise Untranslatable("LATERAL")
    if any(inner.args.get(part) for part in ("group", "having", "distinct", "offset")):
        raise Untranslatable("LATERAL")
    if inner.find(exp.AggFunc, exp.Window) or inner.args.get("from_") is None:
        raise Untranslatable("LATERAL")
    alias = join.this.alias
    pairs, rest = [], []
    where = inner.args.get("where")
    for condition in (
        where.this.flatten()
        if where and isinstance(where.this, exp.And)
        else ([where.this] if where else [])
    ):
        pair = _split_correlation(condition.unnest(), inner, schema)
        if pair:
            pairs.append(pair)
        else:
            rest.append(condition)
    body = inner.copy()
    for part in ("where", "order", "limit"):
        body.set(part, None)
    body.set(
        "expressions",
        [
            exp.alias_(item.unalias().copy(), label, quoted=True)
            for item, label in zip(inner.selects, labels, strict=True)
        ],
    )
    for condition in rest:
        body.where(condition.copy(), copy=False)
    on: list[exp.Expr] = [
        exp.EQ(this=exp.column(f"lateral_key_{number}", table=alias), expression=outside.copy())
        for number, (_, outside) in enumerate(pairs)
    ]
    for number, (inside, _) in enumerate(pairs):
        body.select(exp.alias_(inside.copy(), f"lateral_key_{number}"), copy=False)
    if top is not None:
        window = exp.Window(
            this=exp.RowNumber(),
            partition_by=[inside.copy() for inside, _ in pairs],
            order=inner.args["order"].copy() if inner.args.get("order") else None,
        )
        body.select(exp.alias_(window, "lateral_row"), copy=False)
        on.append(sqlglot.condition(f"{alias}.lateral_row <= {top}", dialect=MYSQL))
    if any(_list_outside_columns(part, inner, schema) for part in _iter_parts(body)):
        raise Untranslatable("LATERAL")
    for other in select.args["joins"]:
        if not any(other.args.get(part) for part in ("kind", "side", "on", "using", "method")):
            other.set("kind", "CROSS")
    if join.args.get("on") is not None:
        on.append(exp.paren(join.args["on"].copy()))
    join.set("this", body.subquery(alias=alias, copy=False))
    join.set("kind", None if join.args.get("side") else "INNER")
    join.set("on", exp.and_(*on) if on else exp.true())


def _iter_parts(body: exp.Select) -> Iterator[exp.Expr]:
    for value in body.args.values():
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, exp.Expression):
                yield node


def _split_correlation(
    condition: exp.Expr, inner: exp.Select, schema: Schema
) -> tuple[exp.Expr, exp.Expr] | None:
    """(inner side, outer side) of an equality between the two."""
    if not isinstance(condition, exp.EQ):
        return None
    for inside, outside in (
        (condition.this, condition.expression),
        (condition.expression, condition.this),
    ):
        outer_columns = list(outside.find_all(exp.Column))
        is_outside = len(_list_outside_columns(outside, inner, schema)) == len(outer_columns) > 0
        if is_outside and not _list_outside_columns(inside, inner, schema):
            return inside, outside
    return None


def _list_outside_columns(part: exp.Expr, inner: exp.Select, schema: Schema) -> list[exp.Column]:
    """The columns of an expression that are of no table of `inner`; raises Untranslatable where a
    column without a qualifier may be of either."""
    sources = {
        source.alias_or_name.lower(): source
        for source in [
            inner.args["from_"].this,
            *(join.this for join in inner.args.get("joins") or []),
        ]
    }
    outside = []
    for column in part.find_all(exp.Column):
        if column.find_ancestor(exp.Subquery) and part.find(exp.Subquery):
            raise Untranslatable("LATERAL")
        if column.table:
            if column.table.lower() not in sources:
                outside.append(column)
            continue
        tables = (schema.find_table(plain_name(source.name)) for source in sources.values())
        if not any(table is not None and table.find_column(column.name) for table in tables):
            raise Untranslatable("LATERAL")
    return outside
