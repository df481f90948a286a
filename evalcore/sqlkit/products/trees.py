"""Oracle's hierarchies, ROWNUM and outer joins by `(+)`, rewritten on the parse tree.

A hierarchy becomes a recursive query that carries the path of each row, in whose order the rows
come, as Oracle promises: parents before their children, siblings by ORDER SIBLINGS BY. What the
tree does not show to be the same raises `Untranslatable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.transforms import eliminate_join_marks

from evalcore.sqlkit.products.token_edits import (
    Edit,
    Untranslatable,
    apply_edits,
    fold_word,
    is_name,
    iter_calls,
    read_tokens,
)
from evalcore.sqlkit.schema import Schema, plain_name, read_schema
from evalcore.sqlkit.syntax import check_well_formed


class OracleOnPostgres(Postgres):  # type: ignore[misc]
    """PostgreSQL's dialect with `(+)`."""

    SUPPORTS_COLUMN_JOIN_MARKS: ClassVar[bool] = True

    class Tokenizer(Postgres.Tokenizer):  # type: ignore[misc]
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **Postgres.Tokenizer.KEYWORDS,
            "(+)": TokenType.JOIN_MARKER,
        }


_DIALECT = "oracleonpostgres"
#: Functions that the parser would otherwise say in words of its own.
_PROTECTED = frozenset(
    "SUBSTR INSTR TO_CHAR TO_DATE TO_NUMBER TO_TIMESTAMP REPLACE LPAD RPAD LTRIM RTRIM BTRIM TRUNC "  # noqa: SIM905
    "ROUND MOD LENGTH LENGTHB CONCAT INITCAP CHR ASCII ADD_MONTHS MONTHS_BETWEEN LAST_DAY NEXT_DAY "
    "DATE_TRUNC NEXTVAL CURRVAL BITAND SIGN POWER REGEXP_REPLACE REGEXP_SUBSTR REGEXP_LIKE "
    "SYS_CONNECT_BY_PATH SYSDATE SYSTIMESTAMP CEIL FLOOR ABS UPPER LOWER".split()
)
_PREFIX = "evalboard_call_"
_PRIOR, _SIBLINGS = "evalboard_prior", "evalboard_siblings"


def rewrite_trees(sql: str, dialect: str, tables: Sequence[str]) -> str:
    """The statement without hierarchies, ROWNUM and `(+)`; `tables` is its DDL."""
    words = {fold_word(token) for token in read_tokens(sql, dialect)}
    marks = "(+)" in words or re.search(r"\(\s*\+\s*\)", sql) is not None
    connects = "CONNECT BY" in words or {"CONNECT", "BY"} <= words
    if not marks and not connects and "ROWNUM" not in words:
        return sql
    feature = "CONNECT BY" if connects else "ROWNUM" if "ROWNUM" in words else "(+)"
    try:
        tree = sqlglot.parse_one(_protect_calls(sql, dialect), read=_DIALECT)
    except (SqlglotError, RecursionError):
        if not check_well_formed(sql, "oracle")[0]:
            return sql  # the server says what is wrong with it
        raise Untranslatable(feature) from None
    try:
        if marks:
            for select in tree.find_all(exp.Select):
                _begin_with_unmarked(select)
            tree = eliminate_join_marks(tree)
        schema = read_schema(tables, "postgres")
        for select in list(tree.find_all(exp.Select))[::-1]:
            if select.args.get("connect"):
                _replace_hierarchy(select, schema)
        for select in list(tree.find_all(exp.Select))[::-1]:
            _replace_row_numbers(select)
        if any(column.name.upper() == "ROWNUM" for column in tree.find_all(exp.Column)):
            raise Untranslatable("ROWNUM")
        text = str(tree.sql(dialect="postgres"))
    except (SqlglotError, AssertionError, RecursionError):
        raise Untranslatable(feature) from None
    return re.sub(rf"\b{_PREFIX}(\w+)", lambda match: match[1].lower(), text, flags=re.I)


def _begin_with_unmarked(select: exp.Select) -> None:
    """Put a table without `(+)` first in FROM, where the outer joins begin."""
    marked = {
        column.table.lower()
        for column in select.find_all(exp.Column)
        if column.args.get("join_mark") and column.find_ancestor(exp.Select) is select
    }
    joins = select.args.get("joins") or []
    source = select.args.get("from_")
    if not marked or source is None or source.this.alias_or_name.lower() not in marked:
        return
    if "" in marked or any(item.is_star for item in select.selects):
        raise Untranslatable("(+)")
    first = next((j for j in joins if j.this.alias_or_name.lower() not in marked), None)
    if first is None:
        raise Untranslatable("(+)")
    before, after = source.this, first.this
    source.set("this", after.copy())
    first.set("this", before.copy())


def _protect_calls(sql: str, dialect: str) -> str:
    """The text with such calls under names that the parser does not know, as with PRIOR, which it
    reads in CONNECT BY alone, and ORDER SIBLINGS BY as an order that begins with a mark."""
    tokens = read_tokens(sql, dialect)
    edits: list[Edit] = [
        (tokens[index].start, tokens[index].start, _PREFIX)
        for index, word in iter_calls(tokens)
        if word in _PROTECTED
    ]
    for index, token in enumerate(tokens[:-1]):
        opens = tokens[index + 1].token_type == TokenType.L_PAREN
        if fold_word(token) != "PRIOR" or not (is_name(tokens[index + 1]) or opens):
            continue
        if opens:
            edits.append((token.start, token.end + 1, _PRIOR))
            continue
        last = index + 1
        while last + 2 < len(tokens) and tokens[last + 1].token_type == TokenType.DOT:
            last += 2
        edits.append((token.start, tokens[index + 1].start, f"{_PRIOR}("))
        edits.append((tokens[last].end + 1, tokens[last].end + 1, ")"))
    words = [fold_word(token) for token in tokens]
    for index, word in enumerate(words):
        if word == "ORDER SIBLINGS BY" or words[index : index + 3] == ["ORDER", "SIBLINGS", "BY"]:
            last = index if " " in word else index + 2
            edits.append((tokens[index].start, tokens[last].end + 1, f"ORDER BY {_SIBLINGS},"))
    return re.sub(r"\(\s*\+\s*\)", "(+)", apply_edits(sql, edits))


def _find_priors(node: exp.Expr) -> list[exp.Expr]:
    calls: list[exp.Expr] = [
        call for call in node.find_all(exp.Anonymous) if call.name.lower() == _PRIOR
    ]
    if any(len(call.expressions) != 1 for call in calls):
        raise Untranslatable("PRIOR")
    return calls


_CARRIED, _BELOW = "hierarchy", "hierarchy_below"
_LEAF_TESTS = ("CONNECT_BY_ISLEAF", "CONNECT_BY_ISCYCLE")


def _replace_hierarchy(select: exp.Select, schema: Schema) -> None:
    """Turn a query with CONNECT BY into one over a recursive query, in place."""
    connect = select.args["connect"]
    source = select.args["from_"].this if select.args.get("from_") else None
    if select.args.get("joins") or not isinstance(source, exp.Table | exp.Subquery):
        raise Untranslatable("CONNECT BY over a join")
    alias = source.alias_or_name or "t"
    columns = _list_columns(source, schema)
    order = select.args.get("order")
    parts = order.expressions if order is not None else []
    siblings = parts[1:] if parts and parts[0].name == _SIBLINGS else []
    carried = _Carried(alias, columns)
    for node in [*select.selects, *_iter_clauses(select)]:
        carried.collect(node)
    has_prior = bool(_find_priors(connect.args["connect"]))
    base, step = _build_members(source, alias, connect, siblings, carried, has_prior)
    recursive = exp.union(base, step, distinct=False, copy=False)
    outer_with = select.args.get("with_") or exp.With(expressions=[], recursive=True)
    outer_with.set("recursive", True)
    cte = exp.CTE(this=recursive, alias=exp.TableAlias(this=exp.to_identifier(_CARRIED)))
    outer_with.append("expressions", cte)
    select.set("with_", outer_with)
    select.set("connect", None)
    select.set(
        "from_",
        exp.From(
            this=exp.Table(
                this=exp.to_identifier(_CARRIED),
                alias=exp.TableAlias(this=exp.to_identifier(alias)),
            )
        ),
    )
    if siblings:
        select.set("order", None)
    _expand_stars(select, alias, columns)
    for item in list(select.selects):
        named = item if isinstance(item, exp.Alias) else None
        if named is None and item.name.upper() in ("LEVEL", *_LEAF_TESTS):
            item.replace(exp.alias_(item.copy(), item.name.lower()))
    aggregates = any(
        agg.find_ancestor(exp.Select) is select for agg in select.find_all(exp.AggFunc)
    )
    for column in list(select.find_all(exp.Column)):
        if column.name.upper() in _LEAF_TESTS and not column.table:
            if aggregates or select.args.get("group") or not has_prior:
                raise Untranslatable(column.name.upper())
            column.replace(_build_leaf_test(column.name.upper(), source, connect, carried))
    for node in [*select.selects, *_iter_clauses(select)]:
        carried.replace(node, connect)
    plain = not aggregates and not select.args.get("group") and not select.args.get("distinct")
    if plain and not select.args.get("order"):
        select.order_by(exp.column("hierarchy_path", table=alias), copy=False)


def _iter_clauses(select: exp.Select) -> Iterator[exp.Expr]:
    for name in ("where", "group", "having", "order"):
        if select.args.get(name):
            yield select.args[name]


def _list_columns(source: exp.Expr, schema: Schema) -> list[str]:
    """The columns of a table by its DDL or its query, none where they are not known."""
    if isinstance(source, exp.Subquery):
        names = [item.alias_or_name for item in source.this.selects]
        return names if all(names) and "*" not in names else []
    table = schema.find_table(plain_name(source.name))
    if table is not None:
        return [column.name for column in table.columns]
    return ["dummy"] if source.name.lower() == "dual" else []


class _Carried:
    """What the recursive query carries from row to row, by its place in the statement."""

    def __init__(self, alias: str, columns: list[str]) -> None:
        self.alias, self.columns = alias, columns
        self.roots: list[exp.Expr] = []
        self.paths: list[tuple[exp.Expr, exp.Expr]] = []
        self.priors: list[exp.Expr] = []

    def collect(self, node: exp.Expr) -> None:
        """Note what a part of the statement asks for."""
        self.roots += [n.this for n in node.find_all(exp.ConnectByRoot) if n.this not in self.roots]
        self.priors += [
            call.expressions[0]
            for call in _find_priors(node)
            if call.expressions[0] not in self.priors
        ]
        for call in node.find_all(exp.Anonymous):
            if call.name.upper().endswith("SYS_CONNECT_BY_PATH"):
                if len(call.expressions) != 2:
                    raise Untranslatable("SYS_CONNECT_BY_PATH")
                pair = (call.expressions[0], call.expressions[1])
                if pair not in self.paths:
                    self.paths.append(pair)

    def replace(self, part: exp.Expr, connect: exp.Connect) -> None:
        """Put the carried columns where a part of the statement asks for them."""
        for node in list(part.walk()):
            column = self._find_column(node, connect)
            if column is not None:
                node.replace(column)

    def _find_column(self, node: exp.Expr, connect: exp.Connect) -> exp.Expr | None:
        if isinstance(node, exp.ConnectByRoot):
            return self.name_column("root", self.roots.index(node.this))
        if isinstance(node, exp.Anonymous) and node.name.lower() == _PRIOR:
            return self.name_column("prior", self.priors.index(node.expressions[0]))
        if isinstance(node, exp.Anonymous) and node.name.upper().endswith("SYS_CONNECT_BY_PATH"):
            pair = (node.expressions[0], node.expressions[1])
            return self.name_column("text", self.paths.index(pair))
        name = node.name.upper() if isinstance(node, exp.Column) and not node.table else ""
        if name == "LEVEL":
            return exp.column("hierarchy_level", table=self.alias)
        return None

    def name_column(self, kind: str, number: int) -> exp.Column:
        return exp.column(f"hierarchy_{kind}_{number}", table=self.alias)


def _build_members(
    source: exp.Expr,
    alias: str,
    connect: exp.Connect,
    siblings: Sequence[exp.Expr],
    carried: _Carried,
    has_prior: bool,
) -> tuple[exp.Select, exp.Select]:
    """The roots, and the step from a level to the next."""
    table = source.copy()
    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    order = ", ".join(_own(part, alias) for part in siblings)
    number = f"ROW_NUMBER() OVER ({f'ORDER BY {order}' if order else ''})"
    row = f"CAST({alias} AS TEXT)"
    base_columns = [f"{alias}.*", "1", f"ARRAY[{number}]", f"ARRAY[{row}]"]
    step_columns = [
        f"{alias}.*",
        "parent.hierarchy_level + 1",
        f"parent.hierarchy_path || {number}",
        f"parent.hierarchy_rows || {row}",
    ]
    names = ["", "hierarchy_level", "hierarchy_path", "hierarchy_rows"]
    for index, root in enumerate(carried.roots):
        names.append(f"hierarchy_root_{index}")
        base_columns.append(_own(root, alias))
        step_columns.append(f"parent.hierarchy_root_{index}")
    for index, (value, separator) in enumerate(carried.paths):
        names.append(f"hierarchy_text_{index}")
        text = f"coalesce(CAST({_own(value, alias)} AS TEXT), '')"
        base_columns.append(f"{separator.sql(dialect='postgres')} || {text}")
        step_columns.append(
            f"parent.hierarchy_text_{index} || {separator.sql(dialect='postgres')} || {text}"
        )
    for index, prior in enumerate(carried.priors):
        names.append(f"hierarchy_prior_{index}")
        base_columns.append(f"CASE WHEN FALSE THEN {_own(prior, alias)} END")
        step_columns.append(_qualify(prior, "parent").sql(dialect="postgres"))
    base_items, step_items = (
        [f"{text} AS {name}" if name else text for text, name in zip(texts, names, strict=True)]
        for texts in (base_columns, step_columns)
    )
    base = exp.select(*base_items, dialect="postgres").from_(table)
    start = connect.args.get("start")
    if start is not None:
        base = base.where(start.copy())
    condition = _translate_condition(connect.args["connect"], carried)
    step = (
        exp.select(*step_items, dialect="postgres")
        .from_(exp.to_table(_CARRIED, alias="parent"))
        .join(table.copy(), on=condition, join_type="INNER")
    )
    if has_prior:
        seen = f"{row} = ANY(parent.hierarchy_rows)"
        guard = (
            f"NOT {seen}"
            if connect.args.get("nocycle")
            else f"CASE WHEN {seen} THEN 1 / (length({row}) * 0) > 0 ELSE TRUE END"
        )
        step = step.where(sqlglot.condition(guard, dialect="postgres"))
    return base, step


def _translate_condition(condition: exp.Expr, carried: _Carried) -> exp.Expr:
    """Translate CONNECT BY into the join condition between a level (`parent`) and the table."""
    holder = exp.Paren(this=condition.copy())
    for call in _find_priors(holder):
        call.replace(exp.paren(_qualify(call.expressions[0], "parent")))
    for column in list(holder.find_all(exp.Column)):
        if column.name.upper() == "LEVEL" and not column.table:
            column.replace(sqlglot.condition("(parent.hierarchy_level + 1)"))
        elif not column.table:
            column.set("table", exp.to_identifier(carried.alias))
    inner: exp.Expr = holder.this
    return inner


def _build_leaf_test(
    name: str, source: exp.Expr, connect: exp.Connect, carried: _Carried
) -> exp.Expr:
    """CONNECT_BY_ISLEAF of a row, whether no row of the table is below it, or CONNECT_BY_ISCYCLE,
    whether a row is both below and above it."""
    is_leaf = name == "CONNECT_BY_ISLEAF"
    if is_leaf and connect.args.get("nocycle"):  # the manuals do not say what a cycle is there
        raise Untranslatable(name)
    below = source.copy()
    below.set("alias", exp.TableAlias(this=exp.to_identifier(_BELOW)))
    holder = exp.Paren(this=_translate_condition(connect.args["connect"], carried))
    renamed = {"parent": carried.alias, carried.alias: _BELOW}
    for column in holder.find_all(exp.Column):
        column.set("table", exp.to_identifier(renamed.get(column.table, column.table)))
    rows = exp.select("1").from_(below).where(holder)
    if not is_leaf:
        above = f"CAST({_BELOW} AS TEXT) = ANY({carried.alias}.hierarchy_rows)"
        rows = rows.where(sqlglot.condition(above, dialect="postgres"))
    case = exp.Case().when(exp.Exists(this=rows), exp.Literal.number(0 if is_leaf else 1))
    return case.else_(exp.Literal.number(1 if is_leaf else 0))


def _qualify(value: exp.Expr, table: str) -> exp.Expr:
    holder = exp.Paren(this=value.copy())
    for column in holder.find_all(exp.Column):
        column.set("table", exp.to_identifier(table))
    inner: exp.Expr = holder.this
    return inner


def _own(value: exp.Expr, alias: str) -> str:
    """The text of a value whose bare columns are those of the table."""
    holder = exp.Paren(this=value.copy())
    for column in holder.find_all(exp.Column):
        if not column.table:
            column.set("table", exp.to_identifier(alias))
    return str(holder.this.sql(dialect="postgres"))


def _expand_stars(select: exp.Select, alias: str, columns: list[str]) -> None:
    """The table's columns in place of `*`, which would take in the carried ones."""
    items: list[exp.Expr] = []
    for item in select.selects:
        if not item.is_star or isinstance(item, exp.Count):
            items.append(item)
            continue
        if not columns:
            raise Untranslatable("CONNECT BY")
        items += [exp.column(name, table=alias) for name in columns]
    select.set("expressions", items)


_MOST_ROWS = 2**31 - 1
#: What a query does with the rows that ROWNUM has let through.
_AFTER_ROW_NUMBERS = ("group", "distinct", "limit", "offset")


def _replace_row_numbers(select: exp.Select) -> None:
    """ROWNUM of one query: its bound as a LIMIT, its value as the number of the row."""
    columns = [
        column
        for column in select.find_all(exp.Column)
        if column.name.upper() == "ROWNUM"
        and not column.table
        and column.find_ancestor(exp.Select) is select
    ]
    if not columns:
        return
    limit, conditions = None, []
    where = select.args.get("where")
    parts = [where.this] if where else []
    if where and isinstance(where.this, exp.And):
        parts = list(where.this.flatten())
    for part in parts:
        bound = _read_bound(part)
        if bound is None:
            conditions.append(part)
        else:
            limit = bound if limit is None else min(limit, bound)
    if any(
        column.find_ancestor(exp.Where, exp.Group, exp.Having, exp.Order)
        for condition in conditions
        for column in condition.find_all(exp.Column)
        if column.name.upper() == "ROWNUM"
    ):
        raise Untranslatable("ROWNUM")
    select.set("where", None)
    for condition in conditions:
        select.where(condition, copy=False)
    aggregates = any(
        agg.find_ancestor(exp.Select) is select for agg in select.find_all(exp.AggFunc)
    )
    ordered = select.args.get("order")
    outer_rows = [column for column in columns if column.find_ancestor(exp.Where) is None]
    is_used = any(select.args.get(name) for name in _AFTER_ROW_NUMBERS)
    if aggregates or is_used or (outer_rows and ordered):
        raise Untranslatable("ROWNUM")
    for column in outer_rows:
        number = sqlglot.parse_one("ROW_NUMBER() OVER ()", read="postgres")
        named = column.parent is select
        column.replace(exp.alias_(number, "rownum") if named else number)
    if limit is not None and ordered is None:
        select.limit(limit, copy=False)
    elif limit is not None:
        _limit_before_order(select, limit)


def _limit_before_order(select: exp.Select, limit: int) -> None:
    """ROWNUM counts rows before they are sorted: the limit goes within, the order stays without."""
    names = {item.alias_or_name.lower() for item in select.selects}
    order = select.args["order"]
    if any(column.name.lower() not in names for column in order.find_all(exp.Column)):
        raise Untranslatable("ROWNUM")
    for column in order.find_all(exp.Column):
        column.set("table", None)
    inner = select.copy()
    inner.set("order", None)
    inner.limit(limit, copy=False)
    outer = exp.select("*").from_(inner.subquery(alias="numbered", copy=False))
    outer.set("order", order.copy())
    for name in list(select.args):
        select.set(name, outer.args.get(name))


def _read_bound(part: exp.Expr) -> int | None:
    """How many rows a condition on ROWNUM lets through, None for another condition."""
    part = part.unnest()
    if not isinstance(part, exp.LT | exp.LTE | exp.EQ | exp.GT | exp.GTE | exp.Between):
        return None
    if isinstance(part, exp.Between):
        low, high = part.args["low"], part.args["high"]
        if not _is_row_number(part.this) or not (low.is_int and high.is_int):
            return None
        return min(max(int(high.to_py()), 0), _MOST_ROWS) if low.to_py() <= 1 else 0
    left, right, kind = part.this, part.expression, part.key
    if _is_row_number(right):
        left, right = right, left
        kind = {"lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}.get(kind, kind)
    if not _is_row_number(left) or not right.is_int:
        return None
    value = int(right.to_py())
    if kind in ("lt", "lte"):
        return min(max(value - (kind == "lt"), 0), _MOST_ROWS)
    if kind == "eq":
        return 1 if value == 1 else 0
    passes_first = value < 1 if kind == "gt" else value <= 1
    return _MOST_ROWS if passes_first else 0


def _is_row_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name.upper() == "ROWNUM" and not node.table
