"""Rewrites that change the form of a statement and save nothing, beside the three controls.

Each takes the parsed statement and the schema of its case and returns SQL. Some are not equal for
every statement (DISTINCT drops duplicates), which is as worthless: what counts is that none pays.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from evalcore.records import Sample
from evalcore.sqlkit.schema import Schema, plain_name, read_schema
from tests.support.cosmetic_noise import NOISE, Disguise

_LITERAL_COMPARISONS = {exp.GTE: exp.LT, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.LT: exp.GTE}


def disguise_sample(name: str, sample: Sample) -> str:
    """The statement of a sample in the disguise `name`."""
    dialect = sample.reference["dialect"]
    tree = sqlglot.parse_one(sample.input["sql"], dialect=dialect)
    assert isinstance(tree, exp.Query)
    written = DISGUISES[name](tree, read_schema(sample.input["schema"], dialect), dialect)
    return written if isinstance(written, str) else written.sql(dialect=dialect)


def _first_select(tree: exp.Query) -> exp.Select:
    branch: exp.Expr = tree
    while isinstance(branch, exp.SetOperation | exp.Subquery):
        branch = branch.this
    assert isinstance(branch, exp.Select)
    return branch


def _add_condition(tree: exp.Query, condition: exp.Expr | str) -> exp.Query:
    _first_select(tree).where(condition, copy=False)
    return tree


def _wrap(tree: exp.Query, alias: str = "q") -> exp.Select:
    return exp.select("*").from_(tree.subquery(alias, copy=True))


def _replace_tables(tree: exp.Query, write: Callable[[exp.Table], exp.Expr]) -> exp.Query:
    names = {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if table.name not in names and not isinstance(table.parent, exp.Column):
            table.replace(write(table))
    return tree


def _read_through_subquery(table: exp.Table) -> exp.Expr:
    bare = exp.to_table(table.name)
    return exp.select("*").from_(bare).subquery(table.alias or table.name)


def rename_aliases(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    columns = {
        plain_name(table.name): {column.name.lower(): "TEXT" for column in table.columns}
        for table in schema.tables
    }
    done = qualify(
        tree,
        dialect=dialect,
        schema=dict(columns),
        quote_identifiers=False,
        validate_qualify_columns=False,
        allow_partial_qualification=True,
    )
    assert isinstance(done, exp.Query)
    return done


def swap_joins(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    select = _first_select(tree)
    joins = select.args.get("joins") or []
    first = select.args.get("from_")
    if first is not None and len(joins) == 1 and not joins[0].side and joins[0].args.get("on"):
        inner, outer = joins[0].this.copy(), first.this.copy()
        first.set("this", inner)
        joins[0].set("this", outer)
    return tree


def sort_in_subquery(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return _wrap(tree if tree.args.get("order") else tree.order_by("1"))


def sort_tables(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    def write(table: exp.Table) -> exp.Expr:
        rows = exp.select("*").from_(exp.to_table(table.name)).order_by("1")
        return rows.subquery(table.alias or table.name)

    return _replace_tables(tree, write)


def add_distinct(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return _wrap(tree).distinct()


def cast_columns(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    kinds = {
        column.name.lower(): column.declared for table in schema.tables for column in table.columns
    }
    target = {"mysql": {"integer": "SIGNED", "text": "CHAR"}}.get(dialect)
    for select in list(tree.find_all(exp.Where)):
        for column in list(select.find_all(exp.Column)):
            kind = kinds.get(column.name.lower(), "")
            if kind and target is None:
                column.replace(exp.cast(column.copy(), kind.split(" CHECK")[0], dialect=dialect))
    return tree


def nest_deeply(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return _wrap(_wrap(_wrap(tree, "a"), "b"), "c")


def add_empty_branch(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    empty = _wrap(tree.copy(), "e").where("1 = 0")
    return exp.union(_wrap(tree), empty, distinct=False)


def join_values_away(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    row = exp.select("1 AS n").subquery("o")
    return exp.select("q.*").from_(tree.subquery("q", copy=True)).join(row, join_type="cross")


def coalesce_columns(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for where in list(tree.find_all(exp.Where)):
        for column in list(where.find_all(exp.Column)):
            column.replace(exp.func("COALESCE", column.copy(), column.copy()))
    return tree


def in_for_equal(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for node in list(tree.find_all(exp.EQ)):
        if isinstance(node.expression, exp.Literal):
            node.replace(exp.In(this=node.this.copy(), expressions=[node.expression.copy()]))
    return tree


def negate_comparisons(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for node in list(tree.find_all(*_LITERAL_COMPARISONS)):
        opposite = _LITERAL_COMPARISONS[type(node)]
        node.replace(exp.Not(this=exp.Paren(this=opposite(**node.copy().args))))
    return tree


def between_for_bounds(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for node in list(tree.find_all(exp.Between)):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        node.replace(exp.Paren(this=exp.and_(low, high)))
    for node in list(tree.find_all(exp.EQ)):
        if isinstance(node.expression, exp.Literal):
            value = node.expression
            node.replace(exp.Between(this=node.this.copy(), low=value.copy(), high=value.copy()))
    return tree


def join_itself(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    select = _first_select(tree)
    first = select.args.get("from_")
    table = first.this if first is not None else None
    stored = schema.find_table(table.name) if isinstance(table, exp.Table) else None
    keys = [key for key in stored.keys if len(key.columns) == 1] if stored else []
    if table is None or not keys:
        return tree
    key = keys[0].columns[0]
    same = exp.EQ(
        this=exp.column(key, "same_row"), expression=exp.column(key, table.alias or table.name)
    )
    again = exp.select("1").from_(exp.to_table(table.name).as_("same_row")).where(same)
    return _add_condition(tree, exp.Exists(this=again))


def wrap_tables(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return _replace_tables(tree, _read_through_subquery)


def name_tables(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    names = {cte.alias for cte in tree.find_all(exp.CTE)}
    tables = [t for t in tree.find_all(exp.Table) if t.name not in names]
    for name in sorted({table.name for table in tables}):
        for table in tables:
            if table.name == name:
                table.replace(exp.to_table(f"all_{name}").as_(table.alias or name))
        tree = tree.with_(f"all_{name}", as_=exp.select("*").from_(name))
        ctes = tree.args["with_"].expressions
        ctes.insert(0, ctes.pop())  # where those of the statement see it
    return tree


def materialize(tree: exp.Query, schema: Schema, dialect: str) -> str:
    materialized = " MATERIALIZED" if dialect != "mysql" else ""
    return f"WITH q AS{materialized} ({tree.sql(dialect=dialect)}) SELECT * FROM q"


def case_conditions(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for where in list(tree.find_all(exp.Where)):
        case = (
            exp.Case().when(where.this.copy(), exp.Literal.number(1)).else_(exp.Literal.number(0))
        )
        where.set("this", exp.EQ(this=case, expression=exp.Literal.number(1)))
    return tree


def add_tautologies(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for select in list(tree.find_all(exp.Select)):
        columns = [c for c in select.selects if isinstance(c, exp.Column) and not c.is_star]
        for column in columns[:1] if select.args.get("where") else ():
            select.where(
                exp.Paren(
                    this=exp.or_(
                        exp.EQ(this=column.copy(), expression=column.copy()),
                        exp.Is(this=column.copy(), expression=exp.Null()),
                    )
                ),
                copy=False,
            )
    return tree


def add_zero(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    numbers = {
        column.name.lower()
        for table in schema.tables
        for column in table.columns
        if column.kind == "integer"
    }
    for where in list(tree.find_all(exp.Where)):
        for column in list(where.find_all(exp.Column)):
            if column.name.lower() in numbers:
                column.replace(
                    exp.Paren(this=exp.Add(this=column.copy(), expression=exp.Literal.number(0)))
                )
    return tree


def limit_beyond_all(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return tree if tree.args.get("limit") else tree.limit(9_000_000_000)


def offset_nothing(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return _wrap(tree if tree.args.get("limit") else tree.limit(9_000_000_000).offset(0))


def comment_only(tree: exp.Query, schema: Schema, dialect: str) -> str:
    text = tree.sql(dialect=dialect, pretty=True)
    return f"/* tuned */ {text} -- one pass over the index"


def hint_only(tree: exp.Query, schema: Schema, dialect: str) -> str:
    return tree.sql(dialect=dialect).replace("SELECT ", "SELECT /*+ FULL_SCAN_OFF */ ", 1)


def intersect_itself(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return exp.intersect(_wrap(tree.copy(), "a"), _wrap(tree.copy(), "b"))


def group_by_columns(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """DISTINCT as a GROUP BY over the same columns, UNION as such over UNION ALL."""
    for select in list(tree.find_all(exp.Select)):
        plain = [s.unalias() for s in select.selects]
        if select.args.get("distinct") and all(isinstance(s, exp.Column) for s in plain):
            select.set("distinct", None)
            select.group_by(*(s.copy() for s in plain), copy=False)
    return tree


def having_for_where(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """Conditions on groups as conditions on a derived table of groups."""
    select = _first_select(tree)
    having = select.args.get("having")
    if having is None or having.find(exp.AggFunc) or select.args.get("order"):
        return tree
    select.set("having", None)
    return _wrap(tree).where(having.this.copy())


def scalar_values(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for node in list(tree.find_all(exp.Literal)):
        if isinstance(node.parent, exp.Predicate) and node.find_ancestor(exp.Where):
            node.replace(exp.select(node.copy()).subquery())
    return tree


def fold_into_lateral(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """Every projection of a wrapped statement computed again and dropped."""
    ranked = exp.select("*", "ROW_NUMBER() OVER () AS nth").from_(tree.subquery("q", copy=True))
    names = [select.alias_or_name for select in _first_select(tree).selects]
    return exp.select(*names).from_(ranked.subquery("r")).where("nth > 0")


def negate_twice(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for where in list(tree.find_all(exp.Where)):
        inner = exp.Not(this=exp.Paren(this=where.this.copy()))
        where.set("this", exp.Not(this=exp.Paren(this=inner)))
    return tree


def reorder_conditions(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for where in list(tree.find_all(exp.Where)):
        if isinstance(where.this, exp.And):
            where.set(
                "this", exp.and_(*(part.copy() for part in reversed([*where.this.flatten()])))
            )
    return tree


def flip_comparisons(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    flipped = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ}
    for node in list(tree.find_all(*flipped)):
        if not isinstance(node.parent, exp.Update):
            left, right = node.this.copy(), node.expression.copy()
            node.replace(flipped[type(node)](this=right, expression=left))
    return tree


def expand_in_lists(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for node in list(tree.find_all(exp.In)):
        if node.expressions:
            equal = (exp.EQ(this=node.this.copy(), expression=v.copy()) for v in node.expressions)
            node.replace(exp.Paren(this=exp.or_(*equal)))
    return tree


def repeat_in_values(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    for node in tree.find_all(exp.In):
        if node.expressions:
            node.set("expressions", [value.copy() for value in node.expressions] * 3)
    return tree


def chain_ctes(tree: exp.Query, schema: Schema, dialect: str) -> str:
    inner = tree.sql(dialect=dialect)
    return f"WITH a AS ({inner}), b AS (SELECT * FROM a), c AS (SELECT * FROM b) SELECT * FROM c"


def outer_join_nothing(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """A join that adds neither rows nor columns."""
    row = exp.select("1 AS n").subquery("o")
    wrapped = exp.select("q.*").from_(tree.subquery("q", copy=True))
    return wrapped.join(row, on="1 = 0", join_type="left")


def split_by_condition(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """The rows of the first table that have a value, and those that have none."""
    select = _first_select(tree)
    first = select.args.get("from_")
    table = first.this if first is not None else None
    stored = schema.find_table(table.name) if isinstance(table, exp.Table) else None
    if table is None or stored is None or not isinstance(tree, exp.Select):
        return tree
    if any(tree.args.get(part) for part in ("group", "order", "limit", "distinct", "with_")):
        return tree
    column = exp.column(stored.columns[-1].name, table.alias or table.name)
    empty = exp.Is(this=column, expression=exp.Null())
    return exp.union(
        tree.where(empty.copy()), tree.where(exp.Not(this=empty)), distinct=False, copy=True
    )


def wrap_columns(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    """Every column that is returned as a CASE that always holds."""
    for select in list(tree.find_all(exp.Select)):
        if select.parent is None:
            for column in [c for c in select.expressions if isinstance(c, exp.Column)]:
                if not column.is_star:
                    case = exp.Case().when("1 = 1", column.copy())
                    column.replace(exp.alias_(case, column.name))
    return tree


def count_over_all(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    counted = exp.select("q.*", "COUNT(*) OVER () AS n").from_(tree.subquery("q", copy=True))
    names = [select.alias_or_name for select in _first_select(tree).selects]
    return exp.select(*names).from_(counted.subquery("r")).where("n > 0")


def require_a_constant(tree: exp.Query, schema: Schema, dialect: str) -> exp.Query:
    return _add_condition(tree, exp.Exists(this=exp.select("1")))


DISGUISES: dict[str, Disguise] = {
    function.__name__: function
    for function in (
        rename_aliases,
        swap_joins,
        sort_in_subquery,
        sort_tables,
        add_distinct,
        cast_columns,
        nest_deeply,
        add_empty_branch,
        join_values_away,
        coalesce_columns,
        in_for_equal,
        negate_comparisons,
        between_for_bounds,
        join_itself,
        wrap_tables,
        name_tables,
        materialize,
        case_conditions,
        add_tautologies,
        add_zero,
        limit_beyond_all,
        offset_nothing,
        comment_only,
        hint_only,
        intersect_itself,
        group_by_columns,
        having_for_where,
        scalar_values,
        fold_into_lateral,
        negate_twice,
        reorder_conditions,
        flip_comparisons,
        expand_in_lists,
        repeat_in_values,
        chain_ctes,
        outer_join_nothing,
        split_by_condition,
        wrap_columns,
        count_over_all,
        require_a_constant,
    )
} | NOISE
