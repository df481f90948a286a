"""`baseline:sqlglot` and its kin: programs that compete without a language model.

They answer from the structured input of a request, never from a reference: statements are run on an
embedded engine (transpiled to it where their dialect is another), classes, syntax, conversions and
rewrites come from sqlglot, calls of functions from common words. They can be wrong: a dialect's own
rules may be lost in transpiling, and sqlglot accepts more than the engines do.

How a baseline answers a benchmark stands in the benchmark's folder, named by its card.
"""

from __future__ import annotations

import asyncio
import json
import threading

from evalcore.catalog import benchmark_cards, call_reference
from evalcore.errors import TargetFailure
from evalcore.i18n import Note
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    ProgressCallback,
    Record,
    TargetSpec,
)
from evalcore.sqlkit.engines import Engine, registry
from evalcore.targets.base import TargetInfo, read_variant


class _Variant(Record, frozen=True):
    """`engine` empty: the engine of the statement's dialect; `constant`: one answer for all."""

    title: str
    engine: str = ""
    constant: bool = False


VARIANTS: dict[str, _Variant] = {
    "sqlglot": _Variant(title="sqlglot and the dialect's engine"),
    "sqlite": _Variant(title="SQLite for every dialect", engine="sqlite"),
    "duckdb": _Variant(title="DuckDB for every dialect", engine="duckdb"),
    "constant": _Variant(title="One constant answer per question", constant=True),
    "keywords": _Variant(title="The function with the most words in common"),
}
#: What a baseline says to every question for a statement.
CONSTANT_SQL = "SELECT 1"


def list_baseline_benchmarks(variant: str) -> tuple[str, ...]:
    """The benchmarks that name a function for a baseline."""
    return tuple(key for key, card in benchmark_cards().items() if variant in card.baselines)


class Baseline:
    """One of `VARIANTS`; engines are started on first use and kept for the run."""

    def __init__(self, spec: TargetSpec, *_: object) -> None:
        name = read_variant(spec, VARIANTS)
        self.key = spec.key
        self.name = name
        self.engine = VARIANTS[name].engine
        self.is_constant = VARIANTS[name].constant
        self._engines: dict[str, Engine] = {}
        self._opening = threading.Lock()
        self.info = TargetInfo(
            kind="baseline", title=VARIANTS[name].title, max_in_flight=4, start_in_flight=4
        )

    async def open(self, progress: ProgressCallback) -> None:
        """Engines start when they are first needed."""

    async def generate(self, request: GenerationRequest) -> Completion:
        """The answer as SQL, JSON or a call; empty where this baseline has none. Raises
        TargetFailure for a benchmark that it knows nothing of."""
        benchmark = str(request.input.get("benchmark", ""))
        card = benchmark_cards().get(benchmark)
        reference = card.baselines.get(self.name) if card else None
        if reference is None:
            benchmarks = ", ".join(list_baseline_benchmarks(self.name))
            note = Note("baseline_other", target=self.key, names=benchmarks, benchmark=benchmark)
            raise TargetFailure(Failure(kind="permanent", message=note))
        answer = await asyncio.to_thread(call_reference, reference, benchmark, request, self)
        if isinstance(answer, str):
            return Completion(text=answer)
        return Completion(text=json.dumps(answer, ensure_ascii=False) if answer else "")

    async def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()

    def engine_for_dialect(self, dialect: str) -> Engine:
        """The engine that stands in for a dialect: its own where that needs no server."""
        name = self.engine or registry.find_embedded_engine(dialect)
        with self._opening:  # answers are made in several threads
            if name not in self._engines:
                self._engines[name] = registry.open_engine(name)
            return self._engines[name]
