"""Two statements held against each other: what people who review rewrites ask, one pair or many."""

from __future__ import annotations

from typing import Literal

import msgspec

from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.sqlkit.engines import Engine
from evalcore.sqlkit.equivalence import Counterexample, EquivalenceQuestion, Level
from evalcore.sqlkit.equivalence.decider import Decider

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


class PairDecision(Record, frozen=True, omit_defaults=False):
    """What was decided of a pair: `level` says what an equivalence rests on, `proof_rows` up to how
    many rows in each table it is proved, `databases` on how many the two were compared, `message`
    what a person should know."""

    id: str
    status: PairStatus
    level: Level = ""
    proof_rows: int = 0
    databases: int = 0
    counterexample: Counterexample | None = None
    message: str = ""


def read_pair(line: bytes | str, number: int = 1) -> Pair:
    """A pair from a JSON object; raises UsageError with the number of the line and the field."""
    try:
        return msgspec.json.decode(line, type=Pair)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"line {number}: {error}; a pair has id, engine, schema, reference, answer and perhaps "
            "ordered"
        ) from None


def decide_pair(decider: Decider, engine: Engine, pair: Pair) -> PairDecision:
    """Decide one pair; `engine` is the one that the pair names.

    invalid: one of the statements does not run on any database, or neither does.
    """
    schema = (pair.schema,) if isinstance(pair.schema, str) else tuple(pair.schema)
    question = EquivalenceQuestion(
        engine=pair.engine,
        schema=schema,
        reference=pair.reference,
        state_of=tuple(pair.state_of),
        ordered=pair.ordered,
    )
    decision = decider.decide(question, pair.answer)
    status: PairStatus = "invalid" if decision.status == "error" else decision.status
    message = decision.message
    if decision.cause == "reference_fails":
        answer = engine.execute(schema, pair.answer)
        if answer.stage == "setup" and answer.status != "ok":
            message = f"the schema does not run: {answer.message}"
        else:
            both = f"neither statement runs: {answer.message}"
            status, message = "invalid", both if answer.status != "ok" else decision.message
    elif status == "equivalent":
        message = f"no difference on {decision.databases} databases"
        if decision.proof_rows:
            message += f", and none with up to {decision.proof_rows} rows in each table, by proof"
    elif decision.counterexample is not None:
        message = decision.counterexample.message or decision.counterexample.reason
    return PairDecision(
        id=pair.id,
        status=status,
        level=decision.level,
        proof_rows=decision.proof_rows,
        databases=decision.databases,
        counterexample=decision.counterexample,
        message=message,
    )
