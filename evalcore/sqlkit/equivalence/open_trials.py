"""Databases of two tied rows, on which the reference may give either of two results.

Where ties leave open what a reference gives, a database decides nothing, unless all that it may
give there is known: an answer that gives none of it is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.observations import Observation, find_difference, observe_statement
from evalcore.sqlkit.equivalence.setups import build_setup, build_twin_setup
from evalcore.sqlkit.equivalence.trials import OpenTrial
from evalcore.sqlkit.generate import generate_sibling_pairs
from evalcore.sqlkit.schema import Schema
from evalcore.sqlkit.syntax import build_tie_breakers, makes_one_choice


def iter_open_trials(
    engine: Engine, question: EquivalenceQuestion, schema: Schema
) -> Iterator[OpenTrial]:
    """Two tied rows, where the reference gives one of two results: both are known, so that an
    answer that gives neither is wrong."""
    if question.state_of or question.calls or question.session:
        return
    sql = question.reference
    mined = ((sql, question.engine), *question.related)
    for column, rows in generate_sibling_pairs(schema, mined, seed=question.seed):
        if not makes_one_choice(sql, question.engine, column):
            continue
        setup = build_setup(question, schema, rows)
        twin = build_twin_setup(question, schema, rows)
        seen = observe_statement(engine, setup, question, sql)
        if not seen.ok or not (table := seen.tables.get("")):
            continue
        broken = build_tie_breakers(sql, question.engine, len(table.columns), schema.list_columns())
        others = [observe_statement(engine, twin, question, sql)]
        others += [observe_statement(engine, setup, question, text) for text in broken]
        second = [other for other in others if other.ok and _differ(question, seen, other)]
        if second and all(not _differ(question, second[0], other) for other in second):
            yield OpenTrial(setup, twin, (seen, second[0]))


def _differ(question: EquivalenceQuestion, left: Observation, right: Observation) -> bool:
    return find_difference(question, left, right, ordered=False) is not None


def gives_neither(
    engine: Engine, question: EquivalenceQuestion, trial: OpenTrial, answer: str
) -> Observation | None:
    """What an answer gives where it is none of the results that the reference may give, in
    whatever order the rows lie."""
    seen = None
    for setup in (trial.setup, trial.twin):
        seen = observe_statement(engine, setup, question, answer)
        if not seen.ok or not all(_differ(question, result, seen) for result in trial.results):
            return None
    return seen
