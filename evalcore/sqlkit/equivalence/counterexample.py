"""The counterexample: a difference on the smallest database found that still shows it.

An answer that fails may be none: SQL leaves open which condition a row meets first. Where a cast
fails for rows that another condition leaves out, a statement runs or fails as its engine plans it,
and a database on which the reference fails too, once it is planned otherwise, tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import msgspec
import sqlglot
from sqlglot import exp

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.equivalence import Counterexample, EquivalenceQuestion, trials
from evalcore.sqlkit.equivalence.observations import (
    Difference,
    Observation,
    build_select_all,
    differs_by_collation,
    find_difference,
    observe_statement,
)
from evalcore.sqlkit.equivalence.trials import OpenTrial, Trial, build_setup
from evalcore.sqlkit.generate import Database, shrink_database
from evalcore.sqlkit.result_tables import Reason, ResultTable
from evalcore.sqlkit.schema import Schema


def build_counterexample(
    engine: Engine,
    question: EquivalenceQuestion,
    schema: Schema,
    trial: Trial,
    answer: str,
    seen: Observation,
) -> Counterexample | None:
    """Build the difference that `trial` showed, where the answer returned `seen`; None where the
    engine gives what is expected when it is asked again.

    A reference that is stable on the trial may not be on fewer rows. That check takes several
    executions: the smallest database is checked first, and every step only if that one fails.
    """
    for is_careful in (False, True) if trial.rows is not None else ():
        smaller = _shrink_trial(engine, question, schema, trial, answer, seen, is_careful)
        if smaller is not None:
            example = _describe_difference(engine, question, schema, smaller, answer)
            if example is not None:
                return example
    return _describe_difference(engine, question, schema, trial, answer)


def build_open_counterexample(
    engine: Engine,
    question: EquivalenceQuestion,
    schema: Schema,
    open_trial: OpenTrial,
    seen: Observation,
) -> Counterexample:
    """The difference from the result that comes closest of those that the reference may give."""
    differences = [
        difference
        for result in open_trial.results
        if (difference := find_difference(question, result, seen, ordered=False)) is not None
    ]
    trial = Trial("two of one parent", open_trial.setup, open_trial.results[0], False, True)
    example = min(differences, key=lambda d: len(d.diff.extra) if d.diff else 0)
    return Counterexample(
        profile=trial.profile,
        tables=_read_database_contents(engine, question, schema, trial),
        expected=example.expected,
        actual=example.actual,
        diff=example.diff,
        reason=_name_reason(question, example),
    )


def _shrink_trial(
    engine: Engine,
    question: EquivalenceQuestion,
    schema: Schema,
    trial: Trial,
    answer: str,
    seen: Observation,
    is_careful: bool,
) -> Trial | None:
    """The trial on fewer rows; None where the reference is not stable on them."""
    assert trial.rows is not None  # noqa: S101 - the caller has looked
    by_order = seen.ok and find_difference(question, trial.expected, seen, ordered=False) is None
    is_query = seen.tables.get("") is not None and not question.calls and not question.state_of

    def still_differs(rows: Database) -> bool:
        setup = build_setup(question, schema, rows)
        if is_query:
            expected, shown = _observe_queries(engine, setup, reference, answer)
        else:
            expected = observe_statement(engine, setup, question, reference)
            shown = observe_statement(engine, setup, question, answer) if expected.ok else expected
        if not expected.ok:
            return False
        if shown.ok and find_difference(question, expected, shown, ordered=by_order) is None:
            return False
        return not is_careful or is_stable(rows, expected)

    def is_stable(rows: Database, expected: Observation) -> bool:
        ordered = trials.is_ordered(engine, question, schema, rows, expected)
        return ordered is not None and (ordered or not by_order)

    reference = question.reference
    rows = shrink_database(schema, trial.rows, still_differs)
    setup = build_setup(question, schema, rows)
    expected = observe_statement(engine, setup, question, reference)
    if not expected.ok or not (is_careful or is_stable(rows, expected)):
        return None
    return Trial(trial.profile, setup, expected, trial.ordered, trial.shows, rows)


def _observe_queries(
    engine: Engine, setup: Sequence[str], reference: str, answer: str
) -> tuple[Observation, Observation]:
    """What two queries give, asked at once; where either fails, both do."""
    done = engine.execute(setup, reference, probes=[answer])
    if done.status != "ok" or len(done.probed) != 1:
        failed = Observation(msgspec.structs.replace(done, status="error"))
        return failed, failed
    return Observation(done, {"": done.table}), Observation(done, {"": done.probed[0]})


def _describe_difference(
    engine: Engine, question: EquivalenceQuestion, schema: Schema, trial: Trial, answer: str
) -> Counterexample | None:
    seen = observe_statement(engine, trial.setup, question, answer)
    tables = _read_database_contents(engine, question, schema, trial)
    if not seen.ok:
        expected = next(iter(trial.expected.tables.values()), None)
        return Counterexample(
            profile=trial.profile,
            tables=tables,
            expected=expected,
            reason="failed",
            message=seen.execution.message,
        )
    first_difference = find_difference(question, trial.expected, seen, trial.ordered)
    if first_difference is None:
        return None
    return Counterexample(
        profile=trial.profile,
        tables=tables,
        subject=first_difference.subject,
        expected=first_difference.expected,
        actual=first_difference.actual,
        diff=first_difference.diff,
        reason=_name_reason(question, first_difference),
    )


def _name_reason(
    question: EquivalenceQuestion, difference: Difference
) -> Reason | Literal["no_rows", "collation"]:
    if difference.diff is None:
        return "no_rows"
    return "collation" if differs_by_collation(question, difference) else difference.diff.reason


def _read_database_contents(
    engine: Engine, question: EquivalenceQuestion, schema: Schema, trial: Trial
) -> dict[str, ResultTable]:
    """What the database holds, read from the engine itself."""
    names = [table.name for table in schema.tables]
    queries = [build_select_all(name, question.engine) for name in names]
    done = engine.execute(trial.setup, "SELECT 1", probes=queries)
    return dict(zip(names, done.probed, strict=False))


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
