"""How many wrong answers the generated databases tell apart: mutants of the bundled references.

    python -m perf.kill_rate [--dataset D] [--engine E] [--case C] [--every K] [--offset K]
                          [--limit N] [--seed TEXT] [--json]

Each authored answer is changed in one place (`tools.sql_mutants`) and the change decided like an
answer. A mutant is *killed* by the verdict `different`, *alive* by `equivalent`; one that no
database lets run is *invalid* and no mutant. `perf/equivalent_mutants.jsonl` lists those that a
person read and holds equivalent to the reference, each with the reason; a mutant that survives and
is not listed counts as alive. Printed are, by operator and by engine, the rate over all valid
mutants and the rate over those not held equivalent, then every mutant alive. `--limit` takes a
sample of so many mutants a case, always the same for the same `--seed` (0: all of them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
import sqlglot

from evalcore.records import Record
from evalcore.sqlkit.equivalence.decider import Decider
from perf.questions import Asked, command, each_case, sampled
from tools.sql_mutants import Mutant, generate_mutants, normal_form

EQUIVALENT = Path(__file__).with_name("equivalent_mutants.jsonl")
LIMIT = 12
_FATES = {"different": "killed", "equivalent": "alive", "error": "invalid"}


class Tried(Record, frozen=True):
    """A mutant and its fate: killed, alive, held_equivalent, undecided or invalid.

    An authored answer whose normal form is not decided equivalent has no mutants but one line of
    kind "unmutated" that tells why.
    """

    case: str
    engine: str
    kind: str
    sql: str
    fate: str
    note: str = ""


class Held(Record, frozen=True):
    """A line of the list of mutants held equivalent; `sql` is the mutant as printed."""

    case: str
    kind: str
    sql: str
    reason: str


def main() -> None:
    command(__doc__, LIMIT, fates, report)


def fates(cases: Iterable[Asked], limit: int, processes: int = 0) -> Iterator[Tried]:
    """Every mutant with its fate; the list of those held equivalent is applied."""
    held = {(line.case, line.sql) for line in held_equivalent()}
    for attempt in each_case(partial(_try_case, limit=limit), cases, processes):
        listed = attempt.fate == "alive" and (attempt.case, attempt.sql) in held
        yield msgspec.structs.replace(attempt, fate="held_equivalent") if listed else attempt


def held_equivalent() -> tuple[Held, ...]:
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return tuple(msgspec.json.decode(line, type=Held) for line in lines)


def _try_case(decider: Decider, asked_case: Asked, *, limit: int) -> list[Tried]:
    question = asked_case.question
    try:
        plain = normal_form(asked_case.answer, asked_case.engine)
    except sqlglot.errors.SqlglotError:
        return [_unmutated(asked_case, "the parser does not read it")]
    decision = decider.decide(question, plain)
    if decision.status != "equivalent":
        return [_unmutated(asked_case, f"its normal form is {decision.status}: {decision.message}")]
    return [
        _fate(decider, asked_case, mutant)
        for mutant in sampled(
            generate_mutants(asked_case.answer, asked_case.engine), limit, asked_case.sample_seed
        )
    ]


def _unmutated(asked_case: Asked, note: str) -> Tried:
    return Tried(
        asked_case.case, asked_case.engine, "unmutated", asked_case.answer, "undecided", note
    )


def _fate(decider: Decider, asked_case: Asked, mutant: Mutant) -> Tried:
    decision = decider.decide(asked_case.question, mutant.sql)
    fate = _FATES.get(decision.status, "undecided")
    note = decision.cause or decision.message
    if decision.counterexample is not None:
        note = f"{decision.counterexample.reason} ({decision.counterexample.profile})"
    return Tried(asked_case.case, asked_case.engine, mutant.kind, mutant.sql, fate, note)


def rate(tried: Iterable[Tried]) -> float:
    """The share of the mutants not held equivalent that were killed; 1 where there are none."""
    count = Counter(attempt.fate for attempt in tried)
    decided = count["killed"] + count["alive"]
    return count["killed"] / decided if decided else 1.0


def report(tried: Sequence[Tried]) -> Iterator[str]:
    """The lines that are printed."""
    made = [attempt for attempt in tried if attempt.kind != "unmutated"]
    head = (
        f"{'':22}{'valid':>7}{'killed':>8}{'held eq.':>10}{'alive':>7}{'undec.':>8}{'invalid':>9}"
    )
    yield head + f"{'of all':>9}{'of not eq.':>12}"
    for key in ("kind", "engine"):
        for name in sorted({getattr(attempt, key) for attempt in made}):
            yield _line(name, [attempt for attempt in made if getattr(attempt, key) == name])
    yield _line("all", made)
    for attempt in tried:
        if attempt.fate in ("alive", "undecided"):
            text = " ".join(attempt.sql.split())
            where = f"{attempt.case} {attempt.engine} {attempt.kind}"
            yield f"{attempt.fate} {where}: {attempt.note} {text}"


def _line(name: str, tried: Sequence[Tried]) -> str:
    count = Counter(attempt.fate for attempt in tried)
    valid = count["killed"] + count["alive"] + count["held_equivalent"]
    numbers = (
        f"{valid:>7}{count['killed']:>8}{count['held_equivalent']:>10}{count['alive']:>7}"
        f"{count['undecided']:>8}{count['invalid']:>9}"
    )
    of_all = count["killed"] / valid if valid else 1.0
    return f"{name:22}{numbers}{of_all:>9.1%}{rate(tried):>12.1%}"


if __name__ == "__main__":
    main()
