"""References that run on a database by the luck of their plan alone.

SQL leaves open which condition a row meets first: where a cast fails for rows that another
condition leaves out, a statement runs or fails as its engine plans it. A database on which the
reference fails too, once it is planned otherwise, does not tell that an answer which fails is
wrong.
"""

from __future__ import annotations

from functools import lru_cache

import sqlglot
from sqlglot import exp

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.observations import Observation, observe_statement
from evalcore.sqlkit.equivalence.trials import Trial

_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}


def fails_by_plan(
    engine: Engine, question: EquivalenceQuestion, trial: Trial, seen: Observation
) -> bool:
    """Whether the reference, planned otherwise, meets the same kind of error as an answer did."""
    if seen.execution.status != "error" or question.calls or question.state_of:
        return False
    sql = _spell_conditions_negated(question.reference, question.engine)
    if not sql:
        return False
    again = observe_statement(engine, trial.setup, question, sql).execution
    kinds = [execution.message.split(":")[0] for execution in (again, seen.execution)]
    return again.status == "error" and kinds[0] == kinds[1]


@lru_cache(maxsize=128)
def _spell_conditions_negated(sql: str, dialect: str) -> str:
    """The query with NOT (a <> b) for each condition a = b, which no engine joins by; "" where it
    has none or does not parse."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ""
    changed = False
    for node in list(tree.find_all(*_NEGATED)) if isinstance(tree, exp.Query) else []:
        clause = node.find_ancestor(exp.Where, exp.Join, exp.Having, exp.Select)
        if isinstance(clause, exp.Select) or node.find(exp.Any, exp.All, exp.Tuple):
            continue
        opposite = _NEGATED[type(node)](this=node.this.copy(), expression=node.expression.copy())
        node.replace(exp.Paren(this=exp.Not(this=exp.Paren(this=opposite))))
        changed = True
    return tree.sql(dialect=dialect) if changed else ""
