"""How often an equivalent answer is called different: other spellings of the bundled references.

    python -m perf.false_different [--dataset D] [--engine E] [--case C] [--every K] [--offset K]
                                   [--limit N] [--seed TEXT]
                                   [--json]

Each reference is paired with the case's own variants and with what `perf.equivalents` makes of it;
no pair has the same text. Printed are the pairs and the verdicts by kind and by engine, then every
pair called different with its counterexample, for a person to read: either the decision is false,
or the pair was none. A spelling that the engine refuses is no pair. `--limit` takes a sample of so
many spellings a case, always the same (0: all of them).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import sqlglot

from evalcore.records import Record
from evalcore.sqlkit.equivalence.decider import Decider
from perf.equivalents import Spelling, spellings
from perf.questions import Asked, command, each_case, sampled
from tools.sql_mutants import normal_form

LIMIT = 6


class Pair(Record, frozen=True):
    """A reference's other spelling and what was decided; `counterexample` as JSON or None."""

    case: str
    engine: str
    kind: str
    sql: str
    status: str
    note: str = ""
    counterexample: Any = None


def main() -> None:
    command(__doc__, LIMIT, pairs, report)


def pairs(cases: Iterable[Asked], limit: int, processes: int = 0) -> Iterator[Pair]:
    """Every pair with its verdict; the variants are always among them."""
    return each_case(partial(_try_case, limit=limit), cases, processes)


def _try_case(decider: Decider, asked_case: Asked, *, limit: int) -> list[Pair]:
    return [_decided(decider, asked_case, spelling) for spelling in spellings_of(asked_case, limit)]


def spellings_of(asked_case: Asked, limit: int) -> list[Spelling]:
    """The variants of a case that are not its reference, and a sample of its other spellings."""
    reference, engine = asked_case.question.reference, asked_case.engine
    plain = _plain(reference, engine)
    made = [Spelling("variant", sql) for sql in asked_case.variants if _plain(sql, engine) != plain]
    try:
        made += sampled(spellings(reference, engine), limit, asked_case.sample_seed)
    except sqlglot.errors.SqlglotError:
        return made  # a procedure: it has its variants only
    return made


def _plain(sql: str, dialect: str) -> str:
    try:
        return normal_form(sql, dialect)
    except sqlglot.errors.SqlglotError:
        return " ".join(sql.split())


def _decided(decider: Decider, asked_case: Asked, spelling: Spelling) -> Pair:
    decision = decider.decide(asked_case.question, spelling.sql)
    example = decision.counterexample
    return Pair(
        case=asked_case.case,
        engine=asked_case.engine,
        kind=spelling.kind,
        sql=spelling.sql,
        status=decision.status,
        note=example.message or example.reason if example else decision.message,
        counterexample=msgspec.to_builtins(example) if example else None,
    )


def rate(pairs: Iterable[Pair]) -> float:
    """The share called different among the pairs that were decided; 0 where there are none."""
    count = Counter(pair.status for pair in pairs)
    decided = count["different"] + count["equivalent"]
    return count["different"] / decided if decided else 0.0


def report(pairs: Sequence[Pair]) -> Iterator[str]:
    """The lines that are printed."""
    yield f"{'':24}{'pairs':>7}{'different':>11}{'undecided':>11}{'refused':>9}{'rate':>8}"
    for key in ("kind", "engine"):
        for name in sorted({getattr(pair, key) for pair in pairs}):
            yield _line(name, [pair for pair in pairs if getattr(pair, key) == name])
    yield _line("all", pairs)
    for pair in pairs:
        if pair.status != "equivalent":
            text = " ".join(pair.sql.split())
            yield f"{pair.status} {pair.case} {pair.engine} {pair.kind}: {pair.note} {text}"
            if pair.counterexample is not None:
                yield json.dumps(pair.counterexample, ensure_ascii=False)


def _line(name: str, pairs: Sequence[Pair]) -> str:
    count = Counter(pair.status for pair in pairs)
    decided = count["different"] + count["equivalent"]
    return (
        f"{name:24}{decided:>7}{count['different']:>11}{count['undecided']:>11}"
        f"{count['error']:>9}{rate(pairs):>8.1%}"
    )


if __name__ == "__main__":
    main()
