"""A bounded proof that two queries return the same, or a database on which they do not.

Every table holds up to a few rows of any content that its constraints allow; z3 searches for a
content on which the two results differ as bags. Where there is none, no database of that size
tells the queries apart. What is found is only a candidate: the caller executes it. The bound is
part of the result, because larger databases are not covered (VeriEQL, arXiv 2403.03193).

Not modelled: overflow, the rounding of floats and averages, failing expressions. Statements outside
the covered subset are "unsupported", and the solver's budget is counted in its own steps, so that
equal questions get equal answers on every machine.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from evalcore.records import Record
from evalcore.sqlkit.generate import Database
from evalcore.sqlkit.prover.expressions import Relation, Scope, Source, at_row
from evalcore.sqlkit.prover.queries import Ordered, Queries
from evalcore.sqlkit.prover.symbols import Symbols, Term, Unsupported, Value
from evalcore.sqlkit.prover.witness import build_witness
from evalcore.sqlkit.schema import Schema, Table, plain_name

#: Rows per table that are tried.
BOUNDS = (2, 3)
#: Steps of the solver (its `rlimit`) for each bound.
STEPS = 1_500_000
#: Characters of a statement; longer ones are not read.
_MAX_LENGTH = 4_000


class Proof(Record, frozen=True):
    """proved: no difference up to `rows` rows per table; refuted: `database` may show one;
    undecided: the solver gave up; unsupported: see `reason`; unavailable: z3 is not installed."""

    status: Literal["proved", "refuted", "undecided", "unsupported", "unavailable"]
    rows: int = 0
    reason: str = ""
    database: Database | None = None


def prove_equivalence(
    schema: Schema, reference: str, answer: str, dialect: str, ordered: bool = False
) -> Proof:
    """Whether both queries return the same on all small databases of `schema`.

    `ordered` asks for the order of rows too: then both must be ordered by equal keys. The largest
    bound is tried first, as those who come here have mostly been tested: it covers the others.
    """
    try:
        statements = [_parse_query(sql, schema, dialect) for sql in (reference, answer)]
        for sql in (reference, answer):
            if reason := _refuse_statement(schema, sql, dialect, ordered):
                return Proof("unsupported", reason=reason)
        if _is_same_statement(statements[0], statements[1], dialect):
            return Proof("proved", rows=BOUNDS[-1])
        for rows in reversed(BOUNDS):
            proof = _prove_up_to(schema, statements, dialect, ordered, rows)
            if proof.status != "undecided":
                break
    except Unsupported as problem:
        return Proof("unsupported", reason=str(problem))
    except ImportError:
        return Proof("unavailable", reason="z3-solver is not installed")
    except (SqlglotError, RecursionError, ValueError):
        return Proof("unsupported", reason="the parser does not read it")
    return proof


#: A context of z3 in each thread for what is not put to a solver: to make one takes long, and
#: solvers get their own, so that what they decide depends on nothing that came before.
_reading = threading.local()


@lru_cache(maxsize=256)
def _refuse_statement(schema: Schema, sql: str, dialect: str, ordered: bool) -> str:
    """Why a statement is not covered, whatever it is compared with; "" where it is."""
    try:
        statement = _parse_query(sql, schema, dialect)
        tables = _find_tables(schema, _list_table_names(statement))
        if not hasattr(_reading, "context"):
            _reading.context = Symbols(dialect).context
        symbols = Symbols(dialect, _reading.context)
        relations = {plain_name(t.name): _create_relation(symbols, t, BOUNDS[0]) for t in tables}
        Queries(symbols, relations).translate_statement(statement, ordered)
    except Unsupported as problem:
        return str(problem)
    return ""


def _is_same_statement(left: exp.Expr, right: exp.Expr, dialect: str) -> bool:
    """Whether both are the same but for spelling. Trees are equal for some texts that differ in
    case alone, so they are also written out."""
    return left == right and left.sql(dialect) == right.sql(dialect)


def _list_table_names(statement: exp.Expr) -> set[str]:
    return {table.name.lower() for table in statement.find_all(exp.Table)}


@lru_cache(maxsize=128)
def _parse_query(sql: str, schema: Schema, dialect: str) -> exp.Expr:
    """The statement with every column qualified; to be read and not changed."""
    if len(sql) > _MAX_LENGTH:
        raise Unsupported("a long statement")
    trees = [tree for tree in sqlglot.parse(sql, read=dialect) if tree]
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise Unsupported("more or less than one query")
    if trees[0].find(exp.Collate):
        raise Unsupported("a collation")
    for table in trees[0].find_all(exp.Table):
        table.set("db", None)
        table.set("catalog", None)
    columns: dict[str, object] = {
        plain_name(table.name): {column.name: column.declared or "TEXT" for column in table.columns}
        for table in schema.tables
    }
    return qualify(trees[0], schema=columns, dialect=dialect)


def _prove_up_to(
    schema: Schema, statements: Sequence[exp.Expr], dialect: str, ordered: bool, rows: int
) -> Proof:
    symbols = Symbols(dialect)
    tables = _find_tables(schema, set[str]().union(*map(_list_table_names, statements)))
    relations = {plain_name(table.name): _create_relation(symbols, table, rows) for table in tables}
    queries = Queries(symbols, relations)
    reference, answer = (queries.translate_statement(tree, ordered) for tree in statements)
    solver = symbols.z3.Solver(ctx=symbols.context)
    solver.set("rlimit", STEPS)
    solver.add(*_list_constraints(queries, tables, relations))
    difference = _find_difference(symbols, reference, answer)
    solver.add(*symbols.list_axioms(), difference)
    try:
        outcome = solver.check()
    except symbols.z3.Z3Exception as problem:
        return Proof("undecided", rows=rows, reason=str(problem))
    if outcome == symbols.z3.unsat:
        return Proof("proved", rows=rows)
    if outcome != symbols.z3.sat:
        return Proof("undecided", rows=rows, reason=solver.reason_unknown())
    database = build_witness(symbols, solver, schema, relations)
    if database is None:
        return Proof("undecided", rows=rows, reason="no database could be written down")
    return Proof("refuted", rows=rows, database=database)


def _find_tables(schema: Schema, names: set[str]) -> list[Table]:
    """The tables named, and those that they refer to."""
    tables: dict[str, Table] = {}
    waiting = sorted(names)
    while waiting:
        table = schema.find_table(waiting.pop())
        if table is not None and table.name not in tables:
            tables[table.name] = table
            waiting += [foreign.table for foreign in table.foreign]
    return list(tables.values())


def _create_relation(symbols: Symbols, table: Table, rows: int) -> Relation:
    """A table of up to `rows` rows of any content; rows that are there come first."""
    name = plain_name(table.name)
    cells = tuple(
        (
            symbols.z3.Bool(f"{name}.{number}", symbols.context),
            tuple(
                symbols.create_cell(f"{name}.{number}.{column.name}", column)
                for column in table.columns
            ),
        )
        for number in range(rows)
    )
    primary = next((key.columns for key in table.keys if key.primary), ())
    return Relation(
        tuple(column.name.lower() for column in table.columns),
        cells,
        tuple(column.lower() for column in primary),
    )


def _list_constraints(
    queries: Queries, tables: Sequence[Table], relations: dict[str, Relation]
) -> list[Term]:
    """What the schema promises. A CHECK that is not covered is left out, which only widens the
    search."""
    s = queries.symbols
    terms: list[Term] = []
    for table in tables:
        relation = relations[plain_name(table.name)]
        rows = relation.rows
        terms += [s.z3.Implies(b, a) for (a, _), (b, _) in pairwise(rows)]
        for key in table.keys:
            terms += _list_key_constraints(s, relation, [name.lower() for name in key.columns])
        for foreign in table.foreign:
            target = relations.get(plain_name(foreign.table))
            names = foreign.target_columns or (target.primary if target else ())
            if target is not None and len(names) == len(foreign.columns):
                own = [relation.columns.index(name.lower()) for name in foreign.columns]
                others = [target.columns.index(name.lower()) for name in names]
                terms += _list_reference_constraints(s, relation, own, target, others)
        for check in table.checks:
            terms += _list_check_constraints(queries, table, relation, check)
    return terms


def _list_key_constraints(s: Symbols, relation: Relation, names: Sequence[str]) -> list[Term]:
    indexes = [relation.columns.index(name) for name in names]
    terms = []
    for number, (present, values) in enumerate(relation.rows):
        for other, others in relation.rows[:number]:
            same = [s.is_same(values[i], others[i]) for i in indexes]
            filled = [s.negate(values[i].null) for i in indexes]
            terms.append(s.negate(s.all_of((present, other, *same, *filled))))
    return terms


def _list_reference_constraints(
    s: Symbols, relation: Relation, own: Sequence[int], target: Relation, others: Sequence[int]
) -> list[Term]:
    terms = []
    for present, values in relation.rows:
        filled = [s.negate(values[i].null) for i in own]
        exists = s.any_of(
            s.all_of(
                (there, *(s.is_same(values[i], row[j]) for i, j in zip(own, others, strict=True)))
            )
            for there, row in target.rows
        )
        terms.append(s.any_of((s.negate(s.all_of((present, *filled))), exists)))
    return terms


def _list_check_constraints(
    queries: Queries, table: Table, relation: Relation, check: str
) -> list[Term]:
    s, name = queries.symbols, plain_name(table.name)
    try:
        condition = sqlglot.parse_one(check, read=s.dialect)
        for column in condition.find_all(exp.Column):
            column.set("table", exp.to_identifier(name))
            column.set("this", exp.to_identifier(column.name.lower()))
        terms = []
        for present, values in relation.rows:
            bindings = {name: Source(dict(zip(relation.columns, values, strict=True)))}
            _, refuted = s.read_truth(
                queries.expressions.evaluate(condition, at_row(Scope(), bindings))
            )
            terms.append(s.negate(s.all_of((present, refuted))))
    except (Unsupported, SqlglotError):
        return []
    return terms


def _find_difference(s: Symbols, left: Ordered, right: Ordered) -> Term:
    """That some row stands in one result more often than in the other."""
    if left.width != right.width:
        raise Unsupported("the statements return different numbers of columns")
    if left.keys != right.keys:
        raise Unsupported("the statements are ordered in different ways")
    fewer, more = sorted((left.relation.rows, right.relation.rows), key=len)
    rows = [*fewer, *more]
    cells: dict[tuple[int, int], Term] = {}  # joined rows share theirs

    def is_same_row(values: Sequence[Value], others: Sequence[Value]) -> Term:
        for a, b in zip(values, others, strict=True):
            if (id(a), id(b)) not in cells:
                cells[id(a), id(b)] = s.is_same(a, b, exactly=True)
        return s.all_of(cells[id(a), id(b)] for a, b in zip(values, others, strict=True))

    # as many rows, and each row of one side as often in both: then the other side has no others
    differences = [s.count(p for p, _ in fewer) != s.count(p for p, _ in more)]
    for present, values in fewer:
        holds = [s.all_of((p, is_same_row(values, others))) for p, others in rows]
        counts = [s.count(holds[: len(fewer)]), s.count(holds[len(fewer) :])]
        differences.append(s.all_of((present, counts[0] != counts[1])))
    return s.any_of(differences)
