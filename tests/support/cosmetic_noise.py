"""More rewrites that save nothing: conditions, joins and branches that are added, copied or moved.

Of the kind of `cosmetic_rewrites`, which runs them. Each works on any statement; where an engine
lacks the form, its answer is invalid and as worthless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from evalcore.sqlkit.schema import Schema

Disguise = Callable[[exp.Query, Schema, str], exp.Expr | str]
_BEYOND = 9_000_000_000


def _iter_stored_tables(tree: exp.Query) -> Iterator[exp.Table]:
    names = {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if table.name not in names and isinstance(table.parent, exp.From | exp.Join):
            yield table


def _wrap(tree: exp.Query) -> exp.Select:
    return exp.select("*").from_(tree.subquery("q", copy=True))


def _read_bare(table: exp.Table, rows: exp.Query) -> None:
    table.replace(rows.subquery(table.alias or table.name))


def _find_key(schema: Schema, table: exp.Table) -> str:
    stored = schema.find_table(table.name)
    keys = [key for key in stored.keys if len(key.columns) == 1] if stored else []
    return str(keys[0].columns[0]) if keys else ""


def _iter_keyed_selects(
    tree: exp.Query, schema: Schema
) -> Iterator[tuple[exp.Select, exp.Table, exp.Column]]:
    """The SELECTs whose first source is a stored table with a key of a single column."""
    stored = {id(table) for table in _iter_stored_tables(tree)}
    for select in list(tree.find_all(exp.Select)):
        source = select.args.get("from_")
        table = source.this if source is not None else None
        key = _find_key(schema, table) if id(table) in stored else ""
        if key:
            yield select, table, exp.column(key, table.alias or table.name)


def add_idle_cte(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return tree.with_("idle", as_="SELECT 1 AS n")


def repeat_conditions(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for where in list(tree.find_all(exp.Where)):
        where.set("this", exp.and_(where.this.copy(), where.this.copy()))
    return tree


def unite_with_itself(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return exp.union(_wrap(tree), _wrap(tree))


def subtract_nothing(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return exp.except_(_wrap(tree), _wrap(tree).where("1 = 0"))


def ask_for_own_key(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for select, table, key in list(_iter_keyed_selects(tree, schema)):
        own = exp.select(exp.column(key.name, "own")).from_(exp.to_table(table.name).as_("own"))
        select.where(exp.In(this=key, query=own.subquery()), copy=False)
    return tree


def join_own_row(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for select, table, key in list(_iter_keyed_selects(tree, schema)):
        same = exp.EQ(this=exp.column("own_key", "own"), expression=key)
        again = exp.select(exp.column(key.name).as_("own_key")).from_(table.name)
        select.join(again.subquery("own"), on=same, join_type="left", copy=False)
    return tree


def require_key(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for select, _, key in list(_iter_keyed_selects(tree, schema)):
        select.where(exp.Not(this=exp.Is(this=key, expression=exp.Null())), copy=False)
    return tree


def read_distinct_rows(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for table in _iter_stored_tables(tree):
        _read_bare(table, exp.select("*").from_(table.name).distinct())
    return tree


def fence_tables(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """A LIMIT that none reaches, behind which a planner may not look."""
    for table in _iter_stored_tables(tree):
        _read_bare(table, exp.select("*").from_(table.name).limit(_BEYOND))
    return tree


def narrow_tables(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """Only the columns whose names the statement has, as engines read them anyway."""
    named = {column.name.lower() for column in tree.find_all(exp.Column)}
    for table in _iter_stored_tables(tree):
        stored = schema.find_table(table.name)
        columns = [c.name for c in stored.columns if c.name.lower() in named] if stored else []
        if columns and not tree.find(exp.Star):
            _read_bare(table, exp.select(*columns).from_(table.name))
    return tree


def split_tables(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for table in _iter_stored_tables(tree):
        key = _find_key(schema, table)
        if key:
            with_key = exp.select("*").from_(table.name).where(f"{key} IS NOT NULL")
            without = exp.select("*").from_(table.name).where(f"{key} IS NULL")
            _read_bare(table, exp.union(with_key, without, distinct=False))
    return tree


def filter_tables_too(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """The conditions on each table of inner joins once more in a subquery that reads it."""
    for table in _iter_stored_tables(tree):
        select = table.find_ancestor(exp.Select)
        where = select.args.get("where") if select is not None else None
        name = table.alias or table.name
        if where is None or any(join.side for join in select.args.get("joins") or ()):
            continue
        conjuncts = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
        own = [
            part.copy()
            for part in conjuncts
            if not part.find(exp.Query)
            and {column.table for column in part.find_all(exp.Column)} == {name}
        ]
        if own:
            _read_bare(table, exp.select("*").from_(exp.to_table(table.name).as_(name)).where(*own))
    return tree


def group_outputs(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    names = [select.alias_or_name for select in tree.selects]
    return exp.select(*names).from_(tree.subquery("q", copy=True)).group_by(*names)


def add_empty_text(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    texts = {c.name.lower() for table in schema.tables for c in table.columns if c.kind == "text"}
    for where in list(tree.find_all(exp.Where)):
        for column in list(where.find_all(exp.Column)):
            if column.name.lower() in texts:
                parts = [column.copy(), exp.Literal.string("")]
                column.replace(exp.Concat(expressions=parts, safe=False, coalesce=False))
    return tree


def read_laterally(tree: exp.Query, schema: Schema, dialect: str) -> str:
    text = tree.sql(dialect=dialect)
    return f"SELECT q.* FROM (SELECT 1 AS n) AS o CROSS JOIN LATERAL ({text}) AS q"


def recurse_never(tree: exp.Query, schema: Schema, dialect: str) -> str:
    return f"WITH RECURSIVE q AS ({tree.sql(dialect=dialect)}) SELECT * FROM q"


def join_by_commas(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for select in list(tree.find_all(exp.Select)):
        joins = select.args.get("joins") or []
        if joins and not any(join.side or join.args.get("using") for join in joins):
            conditions = [join.args["on"] for join in joins if join.args.get("on")]
            select.set("joins", [exp.Join(this=join.this) for join in joins])
            select.where(*conditions, copy=False)
    return tree


def filter_in_join(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """The conditions of WHERE in the ON of an inner join."""
    for select in list(tree.find_all(exp.Select)):
        joins, where = select.args.get("joins") or [], select.args.get("where")
        if where and joins and joins[-1].args.get("on") and not any(join.side for join in joins):
            joins[-1].set("on", exp.and_(joins[-1].args["on"], where.this))
            select.set("where", None)
    return tree


def swap_branches(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for union in list(tree.find_all(exp.Union)):
        left, right = union.this, union.expression
        union.set("this", right)
        union.set("expression", left)
    return tree


def join_from_right(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for select in list(tree.find_all(exp.Select)):
        joins, source = select.args.get("joins") or [], select.args.get("from_")
        if source is not None and len(joins) == 1 and joins[0].side == "LEFT":
            first, second = source.this, joins[0].this
            source.set("this", second)
            joins[0].set("this", first)
            joins[0].set("side", "RIGHT")
    return tree


def split_numbers(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for where in list(tree.find_all(exp.Where)):
        for number in [n for n in where.find_all(exp.Literal) if n.is_int]:
            if isinstance(number.parent, exp.Predicate):
                halves = exp.Literal.number(int(number.name) - 1), exp.Literal.number(1)
                number.replace(exp.Paren(this=exp.Add(this=halves[0], expression=halves[1])))
    return tree


def assert_truth(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for where in list(tree.find_all(exp.Where)):
        whole = exp.Paren(this=where.this.copy())
        where.set("this", exp.Is(this=whole, expression=exp.true()))
    return tree


def join_constant_row(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for number, select in enumerate(list(tree.find_all(exp.Select))):
        if select.args.get("from_"):
            select.join(f"(SELECT 1 AS one) AS row{number}", join_type="cross", copy=False)
    return tree


def number_rows(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for table in _iter_stored_tables(tree):
        rows = exp.select("n.*", "ROW_NUMBER() OVER () AS rn").from_(f"{table.name} AS n")
        _read_bare(table, exp.select("*").from_(rows.subquery("m")).where("rn >= 1"))
    return tree


def group_by_all_columns(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for table in _iter_stored_tables(tree):
        if (stored := schema.find_table(table.name)) and _find_key(schema, table):
            names = [column.name for column in stored.columns]
            _read_bare(table, exp.select(*names).from_(table.name).group_by(*names))
    return tree


def bound_key(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """A key between the least and the greatest of its table."""
    for select, table, key in list(_iter_keyed_selects(tree, schema)):
        ends = [f"(SELECT {f}(own.{key.name}) FROM {table.name} own)" for f in ("MIN", "MAX")]
        select.where(f"{key.sql()} BETWEEN {ends[0]} AND {ends[1]}", copy=False)
    return tree


NOISE: dict[str, Disguise] = {
    function.__name__: function
    for function in (
        add_idle_cte,
        repeat_conditions,
        unite_with_itself,
        subtract_nothing,
        ask_for_own_key,
        join_own_row,
        require_key,
        read_distinct_rows,
        fence_tables,
        narrow_tables,
        split_tables,
        filter_tables_too,
        group_outputs,
        add_empty_text,
        read_laterally,
        recurse_never,
        join_by_commas,
        filter_in_join,
        swap_branches,
        join_from_right,
        split_numbers,
        assert_truth,
        join_constant_row,
        number_rows,
        group_by_all_columns,
        bound_key,
    )
}
