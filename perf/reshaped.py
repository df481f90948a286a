"""Queries of another shape that mean the same: names of tables, derived tables, WITH."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from sqlglot import exp

Reshaping = Callable[[exp.Expr], exp.Expr | None]


def _renamed(tree: exp.Expr) -> exp.Expr | None:
    """Other aliases of tables, where the alias names nothing else."""
    tree = tree.copy()
    aliases = [alias for alias in tree.find_all(exp.TableAlias) if _names_a_table(alias)]
    count = Counter(alias.name.lower() for alias in aliases)
    taken = {table.name.lower() for table in tree.find_all(exp.Table)}
    taken |= {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    taken |= {column.name.lower() for column in tree.find_all(exp.Column) if not column.table}
    new = {name: f"{name}_x" for name in count if count[name] == 1 and name not in taken}
    for alias in aliases:
        if alias.name.lower() in new:
            alias.set("this", exp.to_identifier(new[alias.name.lower()]))
    for column in tree.find_all(exp.Column):
        if column.table.lower() in new:
            column.set("table", exp.to_identifier(new[column.table.lower()]))
    return tree if new else None


def _names_a_table(alias: exp.TableAlias) -> bool:
    return isinstance(alias.parent, exp.Table | exp.Subquery) and bool(alias.name)


def _derived_as_cte(tree: exp.Expr) -> exp.Expr | None:
    """A derived table of the outermost query as a WITH."""
    if not isinstance(tree, exp.Select) or not tree.args.get("from_"):
        return None
    tree = tree.copy()
    moved = False
    names = {table.name.lower() for table in tree.find_all(exp.Table)}
    for holder in (tree.args["from_"], *(tree.args.get("joins") or ())):
        derived = holder.this
        if not isinstance(derived, exp.Subquery) or not derived.alias:
            continue
        columns = derived.args["alias"].args.get("columns")
        if columns or derived.alias.lower() in names or derived.args.get("joins"):
            continue
        tree.with_(derived.alias, as_=derived.this.copy(), copy=False)
        holder.set("this", exp.to_table(derived.alias))
        moved = True
    return tree if moved else None


def _cte_as_derived(tree: exp.Expr) -> exp.Expr | None:
    """Every WITH that is used once as a derived table in that place."""
    clause = tree.args.get("with_")
    if clause is None or clause.args.get("recursive"):
        return None
    tree = tree.copy()
    moved = False
    for cte in reversed(list(tree.args["with_"].expressions)):
        uses = [t for t in tree.find_all(exp.Table) if t.name.lower() == cte.alias.lower()]
        plain = isinstance(cte.this, exp.Query) and not cte.args["alias"].args.get("columns")
        if len(uses) != 1 or not plain or uses[0].db or uses[0].args.get("joins"):
            continue
        alias = exp.TableAlias(this=exp.to_identifier(uses[0].alias or uses[0].name))
        uses[0].replace(exp.Subquery(this=cte.this.copy(), alias=alias))
        cte.pop()
        moved = True
    if not tree.args["with_"].expressions:
        tree.set("with_", None)
    return tree if moved else None


def _wrapped(tree: exp.Expr) -> exp.Expr | None:
    """An unordered query as a derived table of which all is selected."""
    if not isinstance(tree, exp.Select) or not tree.args.get("from_"):
        return None
    names = [part.alias_or_name.lower() for part in tree.selects]
    if any(tree.args.get(key) for key in ("order", "limit", "offset", "into")):
        return None
    if "" in names or "*" in names or len(set(names)) < len(names):
        return None
    alias = exp.TableAlias(this=exp.to_identifier("whole_x"))
    return exp.select("*").from_(exp.Subquery(this=tree.copy(), alias=alias))


RESHAPINGS: tuple[tuple[str, Reshaping], ...] = (
    ("tables_renamed", _renamed),
    ("derived_as_cte", _derived_as_cte),
    ("cte_as_derived", _cte_as_derived),
    ("wrapped", _wrapped),
)


def reshaped(tree: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """The statement in each shape that it can be given, by the name of the change."""
    for kind, change in RESHAPINGS:
        other = change(tree)
        if other is not None:
            yield kind, other
