"""Pairs of statements, one or a file of them: what people who review rewrites ask.

Pages read pairs by this module, so what decides them is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from evalcore.catalog import engine_cards
from evalcore.errors import EnvironmentFailure, MissingDependency, UsageError
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.sqlkit.equivalence import Counterexample, EquivalenceQuestion, Level
from evalcore.sqlkit.equivalence.evidence import describe_decision

if TYPE_CHECKING:
    from evalcore.sqlkit.engines import Engine
    from evalcore.sqlkit.equivalence.decider import Decider

#: Bytes of a line of a file of pairs.
MAX_LINE_BYTES = 1_000_000

PairStatus = Literal["equivalent", "different", "invalid", "undecided"]


class Pair(Record, frozen=True):
    """Two statements over one schema (DDL, one text or several); `state_of` are tables to compare
    besides those that the schema creates. `ordered` None means: by the reference."""

    id: str
    engine: str
    schema: str | list[str]
    reference: str
    answer: str
    ordered: bool | None = None
    state_of: list[str] = []

    @property
    def schema_scripts(self) -> tuple[str, ...]:
        """The DDL as separate texts."""
        return (self.schema,) if isinstance(self.schema, str) else tuple(self.schema)


class PairDecision(Record, frozen=True, omit_defaults=False):
    """What was decided of a pair: `level` says what an equivalence rests on, `proof_rows` up to how
    many rows in each table it is proved, `databases` on how many the two were compared,
    `left_out` on how many others the reference met the limits of time or memory, `message` (a note)
    what a person should know."""

    id: str
    status: PairStatus
    level: Level = ""
    proof_rows: int = 0
    databases: int = 0
    left_out: int = 0
    counterexample: Counterexample | None = None
    message: str = ""


def read_pairs(lines: Iterable[bytes]) -> list[Pair]:
    """Pairs from JSON Lines. Raises UsageError with the line and the field, and for a pair that
    names no engine; blank lines count as lines."""
    pairs = [_read_pair(line, number) for number, line in enumerate(lines, 1) if line.strip()]
    check_engines(pairs)
    return pairs


def _read_pair(line: bytes, number: int) -> Pair:
    if len(line) > MAX_LINE_BYTES:
        raise UsageError(Note("pair_line_long", line=number, limit=MAX_LINE_BYTES))
    try:
        return msgspec.json.decode(line, type=Pair)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(Note("pair_line", line=number, problem=str(error))) from None


def check_engines(pairs: Sequence[Pair]) -> None:
    """Raises UsageError for a pair whose engine is none of those installed."""
    names = engine_cards()
    for pair in pairs:
        if pair.engine not in names:
            engines = ", ".join(names)
            raise UsageError(
                Note("pair_engine", id=pair.id, engine=repr(pair.engine)[:80], engines=engines)
            )


def decide_pairs(pairs: Sequence[Pair]) -> Iterator[PairDecision]:
    """Each pair's decision in order; one whose engine does not start here is undecided. Raises
    UsageError, before any is decided, as `check_engines` does."""
    from evalcore.sqlkit.engines.registry import EnginePool
    from evalcore.sqlkit.equivalence.decider import Decider

    check_engines(pairs)
    with EnginePool() as engines:
        decider = Decider(engines.get, engines.get_patient)
        for pair in pairs:
            try:
                yield decide_pair(decider, engines.get(pair.engine), pair)
            except (EnvironmentFailure, MissingDependency) as error:
                yield PairDecision(id=pair.id, status="undecided", message=str(error))


def decide_pair(decider: Decider, engine: Engine, pair: Pair) -> PairDecision:
    """Decide one pair; `engine` is the one that the pair names.

    invalid: one of the statements does not run on any database, or neither does.
    """
    question = EquivalenceQuestion(
        engine=pair.engine,
        schema=pair.schema_scripts,
        reference=pair.reference,
        state_of=tuple(pair.state_of),
        ordered=pair.ordered,
    )
    from evalcore.sqlkit.products.decision import decide_on_stand_in

    decision = decider.decide(question, pair.answer)
    if decision.status == "error" or decision.cause == "reference_fails":
        title = engine_cards()[pair.engine].title  # which a server of another name may stand in for
        decision = decide_on_stand_in(decider, question, pair.answer, title)
    status: PairStatus = "invalid" if decision.status == "error" else decision.status
    message: str = describe_decision(decision)
    if decision.cause == "reference_fails":
        answer = engine.execute(pair.schema_scripts, pair.answer)
        if answer.stage == "setup" and answer.status != "ok":
            message = Note("pair_schema", message=answer.message)
        else:
            status = "invalid"
            if answer.status != "ok":
                message = Note("pair_neither", message=answer.message)
    return PairDecision(
        id=pair.id,
        status=status,
        level=decision.level,
        proof_rows=decision.proof_rows,
        databases=decision.databases,
        left_out=decision.left_out,
        counterexample=decision.counterexample,
        message=message,
    )
