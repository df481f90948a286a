"""The decision: an answer against a reference, on every database of its question."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from evalcore.errors import EnvironmentFailure
from evalcore.i18n import Note
from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.engines import Status as ExecutionStatus
from evalcore.sqlkit.equivalence import Counterexample, Equivalence, EquivalenceQuestion, Status
from evalcore.sqlkit.equivalence import trials as trials
from evalcore.sqlkit.equivalence.answer_trials import iter_answer_trials
from evalcore.sqlkit.equivalence.counterexample import (
    build_counterexample,
    build_open_counterexample,
    fails_by_plan,
)
from evalcore.sqlkit.equivalence.definitions import compare_definitions
from evalcore.sqlkit.equivalence.observations import (
    Difference,
    Observation,
    add_written_tables,
    differs_by_collation,
    find_difference,
    holds_variants,
    observe_each,
    observe_statement,
)
from evalcore.sqlkit.equivalence.row_limits import compare_row_limits
from evalcore.sqlkit.equivalence.trials import Trial, Trials
from evalcore.sqlkit.generate import Database, list_row_limits
from evalcore.sqlkit.prover import prove_equivalence
from evalcore.sqlkit.result_tables import ResultTable
from evalcore.sqlkit.schema import read_schema

#: So many databases must show something, or agreement on them says nothing.
MIN_NONEMPTY = 2
_MIN_ROWS = 3
#: Where so many times more databases are unstable than not, agreement on the rest says little.
_MAX_UNSTABLE_RATIO = 3
#: What an answer may meet because other work holds the memory and the cores of the machine.
_LIMITED: frozenset[ExecutionStatus] = frozenset(("timeout", "memory"))
#: An answer that is stopped in time took at least so many times as long as the reference.
MUCH_SLOWER = 4
_ANSWER_DATABASES = 8  # databases made for an answer's own constants
_MAX_SCALED = 16  # questions whose large database is remembered
MAX_CACHED_TRIALS = 256  # questions whose databases are remembered
#: They hold no engine and are equal in every process, so that all deciders share them.
#: Of the reference, where an answer differed once and then did not.
_REPEATS = 3
_prepared: OrderedDict[EquivalenceQuestion, Trials] = OrderedDict()
_remembering = threading.Lock()
#: By questions' hashes, so that one question is prepared once and most others beside it.
_preparing = tuple(threading.Lock() for _ in range(32))
#: Statuses that are the answer's own fault on a database where the reference ran within limits.
_FAILURES: frozenset[ExecutionStatus] = frozenset(
    ("syntax_error", "error", "forbidden", "timeout", "memory", "crashed")
)


class Decider:
    """Decides questions on engines that `open_engine` gives by name; usable from several threads.

    `open_patient` gives engines for databases so large that a busy machine would end statements on
    them. Raises what `open_engine` raises where an engine is missing.
    """

    def __init__(
        self,
        open_engine: Callable[[str], Engine],
        open_patient: Callable[[str], Engine] | None = None,
    ) -> None:
        self._open, self._open_patient = open_engine, open_patient or open_engine
        self._scaled: dict[tuple[EquivalenceQuestion, int], tuple[Trial, ...]] = {}

    def decide(self, question: EquivalenceQuestion, answer: str) -> Equivalence:
        """Whether `answer` does what the reference does; the same for the same text, always."""
        engine = self._open(question.engine)
        question = add_written_tables(question, answer)
        prepared = self.load_trials(question)
        few = _shows_little(prepared)
        unstable = prepared.unstable > _MAX_UNSTABLE_RATIO * prepared.usual
        if unstable or not prepared.usable:
            return _build_undecided(prepared, question)
        verdict = _compare_answer(engine, question, prepared, prepared.usable, answer)
        enough = min(MIN_NONEMPTY, sum(trial.shows for trial in prepared.usable))
        if (few and verdict.status == "error") or (
            verdict.status == "equivalent" and verdict.nonempty < enough
        ):
            return _build_undecided(prepared, question)
        if verdict.status != "equivalent" and not _is_collation(verdict):
            return verdict
        if verdict.status == "equivalent":
            verdict = _compare_open(engine, question, prepared, answer, verdict)
        if verdict.status == "equivalent":
            verdict = _prove_answer(engine, question, prepared, answer, verdict)
        is_open = verdict.status == "equivalent" or _is_collation(verdict)
        if is_open and (verdict.level != "proved" or _counts_otherwise(question, answer)):
            engines = engine, partial(self._open_patient, question.engine)
            verdict = _compare_added(engines, question, prepared, answer, verdict)
        if verdict.status == "equivalent":
            verdict = compare_definitions(engine, question, prepared.schema, answer, verdict)
        few = few and verdict.level == "tested" and verdict.nonempty < MIN_NONEMPTY
        few |= verdict.status == "equivalent" and bool(_find_unread_tables(prepared, question))
        return _build_undecided(prepared, question) if few else verdict

    def decide_scaled(
        self, question: EquivalenceQuestion, database: Database, answer: str
    ) -> Equivalence:
        """Whether `answer` gives what the reference gives on one database, too large to be shrunk;
        equivalent with 0 databases where the reference decides nothing on it."""
        engine = self._open(question.engine)
        schema = read_schema(question.schema, question.engine)
        key = (question, database.row_count)
        if key not in self._scaled:
            usable = trials.prepare_witness_trial(engine, question, schema, database)
            self._scaled[key] = tuple(msgspec.structs.replace(t, rows=None) for t in usable)
            if len(self._scaled) > _MAX_SCALED:
                self._scaled.pop(next(iter(self._scaled)), None)
        usable = self._scaled[key]
        prepared = Trials(schema=schema, usable=usable)
        return _compare_answer(engine, question, prepared, usable, answer)

    def read_engine_version(self, question: EquivalenceQuestion) -> str:
        """What the engine of a question says of itself."""
        return self._open(question.engine).version

    def load_trials(self, question: EquivalenceQuestion) -> Trials:
        """The databases of a question, remembered for the next answer."""
        with _preparing[hash(question) % len(_preparing)]:
            question_trials = _prepared.get(question)
            if question_trials is None:
                engine = self._open(question.engine)
                question_trials = trials.prepare_trials(engine, question)
                open_trials = trials.iter_open_trials(engine, question, question_trials.schema)
                question_trials = msgspec.structs.replace(question_trials, open=tuple(open_trials))
            with _remembering:
                _prepared[question] = question_trials
                _prepared.move_to_end(question)
                if len(_prepared) > MAX_CACHED_TRIALS:
                    _prepared.popitem(last=False)
            return question_trials


def _shows_little(prepared: Trials) -> bool:
    """Whether too few databases show something, unless one shows several rows; rows with a column
    of NULL alone show nothing where the reference fails on most: it fails on any other value."""
    shown = list(trials.select_nonempty(prepared.usable))
    tables = (table for trial in shown for table in trial.expected.tables.values() if table)
    fails = prepared.failed > len(prepared.usable)
    return len(shown) < MIN_NONEMPTY and all(
        len(table.rows) < _MIN_ROWS or (fails and _has_empty_column(table)) for table in tables
    )


def _has_empty_column(table: ResultTable) -> bool:
    return any(all(cell is None for cell in cells) for cells in zip(*table.rows, strict=True))


def _find_unread_tables(prepared: Trials, question: EquivalenceQuestion) -> list[str]:
    """The tables of a reference that stay empty on all databases, as their DDL cannot be parsed."""
    names = () if question.data else prepared.schema.unread
    return [n for n in names if re.search(rf"\b{re.escape(n)}\b", question.reference, re.I)]


def _build_undecided(prepared: Trials, question: EquivalenceQuestion) -> Equivalence:
    total = len(prepared.usable) + prepared.failed + prepared.unstable
    cause, message = "few_databases", Note("pair_few_databases")
    if prepared.failed * 2 > total:
        cause, message = "reference_fails", Note("pair_no_run", message=prepared.message)
    elif prepared.unstable:
        cause, message = "unstable", Note("pair_row_order")
    elif unread := _find_unread_tables(prepared, question):
        message = Note("pair_table_unread", tables=", ".join(unread))
    return Equivalence(
        status="undecided", databases=len(prepared.usable), cause=cause, message=message
    )


def _compare_answer(
    engine: Engine,
    question: EquivalenceQuestion,
    prepared: Trials,
    usable: Sequence[Trial],
    answer: str,
    before: Equivalence = Equivalence(status="equivalent"),  # noqa: B008 - a frozen record
) -> Equivalence:
    failures: list[tuple[Trial, Observation]] = []
    planned: list[tuple[Trial, Observation]] = []
    count, shown = before.databases, before.nonempty
    collated = before.counterexample
    observed = observe_each(engine, [trial.setup for trial in usable], question, answer)
    for number, (trial, seen) in enumerate(zip(usable, observed, strict=True)):
        if seen.execution.status in _LIMITED and seen.execution.status not in trial.excused:
            seen = observe_statement(engine, trial.setup, question, answer)
            if _is_machine_at_fault(engine, question, trial, seen):
                continue
            if seen.execution.status in _LIMITED:  # the reference ran in time only just now
                seen = observe_statement(engine, trial.setup, question, answer)
        if not seen.ok:
            if count and seen.execution.status in trial.excused:
                continue
            if seen.execution.stage == "setup":  # which the reference has found to work
                raise EnvironmentFailure(Note("database_refill", message=seen.execution.message))
            if fails_by_plan(engine, question, trial, seen):
                planned.append((trial, seen))
                continue
            failures.append((trial, seen))
            if _is_statement_at_fault(seen, number + 1 == len(failures), len(failures)):
                break
            continue
        count, shown = count + 1, shown + trial.shows
        difference = find_difference(question, trial.expected, seen, trial.ordered)
        if difference is None or (collated and differs_by_collation(question, difference)):
            continue
        example = build_counterexample(
            engine, question, prepared.schema, trial, answer, seen
        ) or _blame_answer(engine, question, trial, difference)
        if example is None:
            count, shown = count - 1, shown - trial.shows
            continue
        if example.reason != "collation":
            return Equivalence("different", count, shown, counterexample=example)
        if not holds_variants(question, example.tables.values()):
            collated = example
    if count == before.databases:
        failures += planned  # nothing else tells
    if not failures:
        status: Status = "different" if collated else "equivalent"
        if status == "equivalent":
            return msgspec.structs.replace(before, databases=count, nonempty=shown)
        return Equivalence(status, count, shown, counterexample=collated)
    trial, seen = failures[0]
    if count == 0 and (question.calls or seen.execution.stage != "state"):
        return Equivalence("error", cause=seen.execution.status, message=seen.execution.message)
    example = build_counterexample(
        engine, question, prepared.schema, trial, answer, seen
    ) or Counterexample(trial.profile, {}, reason="failed", message=seen.execution.message)
    return Equivalence("different", count + 1, shown, counterexample=example)


def _blame_answer(
    engine: Engine, question: EquivalenceQuestion, trial: Trial, difference: Difference
) -> Counterexample | None:
    """A difference that did not return, None where it may be the reference's. Which of several
    texts that are equal to the engine a group shows is the engine's choice, from call to call."""
    if differs_by_collation(question, difference):
        return None
    for _ in range(_REPEATS):
        seen = observe_statement(engine, trial.setup, question, question.reference)
        if not seen.ok or find_difference(question, trial.expected, seen, trial.ordered):
            return None
    message = Note("answer_unsteady")
    return Counterexample(trial.profile, {}, reason="failed", message=message)


def _compare_open(
    engine: Engine,
    question: EquivalenceQuestion,
    prepared: Trials,
    answer: str,
    tested: Equivalence,
) -> Equivalence:
    """The verdict after the databases on which the reference may give either of two results."""
    for trial in prepared.open:
        seen = trials.gives_neither(engine, question, trial, answer)
        if seen is not None:
            example = build_open_counterexample(engine, question, prepared.schema, trial, seen)
            count, shown = tested.databases + 1, tested.nonempty + 1
            return Equivalence("different", count, shown, counterexample=example)
    return tested


def _prove_answer(
    engine: Engine,
    question: EquivalenceQuestion,
    prepared: Trials,
    answer: str,
    tested: Equivalence,
) -> Equivalence:
    """What a proof adds to a test that found nothing: its bound, or a database that differs.

    It knows the engine as it is and not as it stands in for a product with other texts and numbers.
    """
    tested = msgspec.structs.replace(tested, level="tested", left_out=prepared.slow)
    if question.session:
        return tested
    ordered = any(trial.ordered for trial in prepared.usable)
    proof = prove_equivalence(prepared.schema, question.reference, answer, question.engine, ordered)
    if proof.status == "proved":
        return msgspec.structs.replace(tested, level="proved", proof_rows=proof.rows)
    if proof.database is not None:
        trial = trials.prepare_witness_trial(engine, question, prepared.schema, proof.database)
        tested = _compare_answer(engine, question, prepared, trial, answer, tested)
    return tested


def _counts_otherwise(question: EquivalenceQuestion, answer: str) -> bool:
    """Whether an answer counts rows as the reference does not: the bound of a proof is too small
    to rest on there."""
    limits = [list_row_limits(sql, question.engine) for sql in (question.reference, answer)]
    return limits[0] != limits[1]


def _compare_added(
    engines: tuple[Engine, Callable[[], Engine]],
    question: EquivalenceQuestion,
    prepared: Trials,
    answer: str,
    verdict: Equivalence,
) -> Equivalence:
    """The verdict after the databases made for the answer, up to the first that tells; large ones
    on the second of the engines, where the first has too little time for the reference."""
    schema = prepared.schema
    for part in iter_answer_trials(*engines, question, schema, answer, _ANSWER_DATABASES):
        engine = engines[1]() if part.patient else engines[0]
        verdict = msgspec.structs.replace(
            verdict,
            databases=verdict.databases + part.agreed,
            nonempty=verdict.nonempty + part.agreed_shown,
            left_out=verdict.left_out + part.slow,
        )
        verdict = _compare_answer(engine, question, prepared, part.usable, answer, verdict)
        if verdict.status != "equivalent" and not _is_collation(verdict):
            return verdict
    if verdict.status == "equivalent":
        return compare_row_limits(engines[1], question, prepared, answer, verdict)
    return verdict


def _is_collation(verdict: Equivalence) -> bool:
    return verdict.counterexample is not None and verdict.counterexample.reason == "collation"


def _is_machine_at_fault(
    engine: Engine, question: EquivalenceQuestion, trial: Trial, seen: Observation
) -> bool:
    """Whether an answer met a limit again, and the reference, run once more, meets it too or takes
    nearly as long: then it is the load of this machine, or cannot be told apart from it."""
    if seen.execution.status not in _LIMITED:
        return False
    again = observe_statement(engine, trial.setup, question, question.reference)
    is_slow = again.execution.elapsed * MUCH_SLOWER > seen.execution.elapsed
    return not again.ok or (seen.execution.status == "timeout" and is_slow)


def _is_statement_at_fault(seen: Observation, always: bool, failures: int) -> bool:
    """Whether trying further databases can change nothing: the statement itself is at fault."""
    status = seen.execution.status
    return always and (
        status in ("syntax_error", "forbidden") or (failures >= 2 and status in _FAILURES)
    )
