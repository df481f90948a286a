"""The questions of the bundled cases, for scripts that try many answers on them.

`asked` reads them, `command` those that a command line names; `each_case` lets processes work on
them side by side, each with its own engines.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from typing import Any, TypeVar

import msgspec

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.dialect_conversion import benchmark as conversion
from evalcore.benchmarks.sql_optimization import benchmark as optimizations
from evalcore.benchmarks.sql_optimization import rewrites
from evalcore.records import Record, Sample
from evalcore.settings import ROOT
from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider

Result = TypeVar("Result")
DATASETS = ("dialect_conversion", "sql_optimization", "sql_pairs")


class Asked(Record, frozen=True):
    """A case's question with its authored answer and others known to be equivalent to it.

    `draw` is the seed of the samples taken of what is made of it.
    """

    case: str
    question: EquivalenceQuestion
    answer: str
    variants: tuple[str, ...] = ()
    draw: str = ""

    @property
    def sample_seed(self) -> str:
        return f"{self.draw}{self.case}"

    @property
    def engine(self) -> str:
        return self.question.engine


def asked(dataset: str, *, engine: str = "", case: str = "") -> tuple[Asked, ...]:
    """The distinct questions of a bundled dataset, all or those of an engine or a case.

    In `sql_optimization` answers are held against the slow original; the authored answer is its
    rewrite.
    """
    read = dict(zip(DATASETS, (_conversions, _rewrites, _pairs), strict=True))[dataset]
    by_question = {asked_case.question: asked_case for asked_case in reversed(list(read()))}
    return tuple(
        asked_case
        for asked_case in sorted(by_question.values(), key=lambda asked_case: asked_case.case)
        if engine in ("", asked_case.engine) and case in ("", asked_case.case)
    )


def command(
    about: str,
    limit: int,
    tried: Callable[[Iterable[Asked], int], Iterable[Result]],
    report: Callable[[Sequence[Result]], Iterable[str]],
) -> None:
    """A script's command line: the questions it names are tried and reported, or given as JSON."""
    parser = argparse.ArgumentParser(description=about.split("\n\n")[0])
    parser.add_argument("--dataset", choices=DATASETS, default="dialect_conversion")
    parser.add_argument("--engine", default="")
    parser.add_argument("--case", default="")
    parser.add_argument("--every", type=int, default=1, help="take each so-manieth case only")
    parser.add_argument("--offset", type=int, default=0, help="the first case to take")
    parser.add_argument("--limit", type=int, default=limit)
    parser.add_argument("--seed", default="", help="draw another sample of each case")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    cases = asked(args.dataset, engine=args.engine, case=args.case)[args.offset :: args.every]
    cases = tuple(msgspec.structs.replace(each, draw=args.seed) for each in cases)
    results = list(tried(cases, args.limit))
    if args.json:
        print(json.dumps([msgspec.to_builtins(result) for result in results], ensure_ascii=False))
    else:
        print("\n".join(report(results)))


def _conversions() -> Iterator[Asked]:
    for sample in _samples("dialect_conversion", conversion.load_conversion_samples):
        question = conversion.build_conversion_question(sample)
        yield Asked(sample.id, question, question.reference, tuple(sample.meta["variants"]))


def _rewrites() -> Iterator[Asked]:
    for sample in _samples(
        "sql_optimization/rewrite.jsonl", optimizations.load_optimization_samples
    ):
        if sample.metric == "logical_equivalence" and sample.reference["reference"]:
            question, rewrite = (
                rewrites.build_rewrite_question(sample),
                sample.reference["reference"],
            )
            yield Asked(sample.id, question, rewrite, (rewrite, *sample.meta["variants"]))


def _pairs() -> Iterator[Asked]:
    """The references of the pairs in `tests/parity/sql_pairs`."""
    for path in sorted((ROOT / "tests" / "parity" / "sql_pairs").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            pair = json.loads(line)
            answers = (pair["answer"],) if pair["expected"] == "equivalent" else ()
            question = EquivalenceQuestion(
                pair["engine"],
                tuple(pair["schema"]),
                pair["reference"],
                ordered=pair.get("ordered"),
            )
            yield Asked(pair["id"], question, question.reference, answers)


def _samples(path: str, load: Callable[[DatasetSource], list[Sample]]) -> list[Sample]:
    return load(DatasetSource(path=str(ROOT / "datasets" / path)))


def sampled(made: Sequence[Result], limit: int, seed: str) -> list[Result]:
    """So many of them, the same for the same seed, in their order; all where `limit` is 0."""
    if limit <= 0 or len(made) <= limit:
        return list(made)
    chosen = random.Random(seed).sample(range(len(made)), limit)
    return [made[position] for position in sorted(chosen)]


def each_case(
    work: Callable[[Decider, Asked], list[Result]], cases: Iterable[Asked], processes: int = 0
) -> Iterator[Result]:
    """What `work` finds for every case, in the order of the cases; on all cores by default."""
    workers = processes or os.cpu_count() or 1
    if workers == 1:
        with EnginePool() as engines:
            for asked_case in cases:
                yield from work(Decider(engines.get), asked_case)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for results in pool.map(partial(_in_process, work), cases):
            yield from results


def _in_process(work: Callable[[Decider, Asked], list[Any]], asked_case: Asked) -> list[Any]:
    return work(_decider(), asked_case)


@cache
def _decider() -> Decider:
    """Engines of a process of the pool; they close with it."""
    return Decider(EnginePool().get)
