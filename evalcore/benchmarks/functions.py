"""Benchmarks made of cases and a scoring function: what `evalcore.benchmark` defines.

They live as long as the process that defines them. Their runs stay readable without it, as those of
a plug-in that was uninstalled.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from evalcore import catalog
from evalcore.benchmarks.base import Benchmark, Context, DatasetSource
from evalcore.cards import BenchmarkCard, MetricCard
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import Completion, Episode, Message, Sample, Verdict, to_json, to_plain

#: What a scoring function can take, by the name of the parameter.
_INPUTS: dict[str, Callable[[Sample, Episode], Any]] = {
    "answer": lambda sample, episode: episode.answer,
    "case": lambda sample, episode: dict(sample.meta["case"]),
    "messages": lambda sample, episode: [to_plain(turn) for turn in episode.messages],
}
#: The fields of a case that the benchmark itself reads.
_FIELDS = ("id", "input", "reference", "difficulty", "metric")
_METRIC = "score"
#: The classes of this process, by key: what a card's `implementation` names.
_classes: dict[str, type[FunctionBenchmark]] = {}


def __getattr__(name: str) -> Any:
    """The class that the card of a benchmark of this process names."""
    if name in _classes:
        return _classes[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_defined(key: str) -> bool:
    """Whether a benchmark was defined in this process."""
    return key in _classes


def define_benchmark(
    function: Callable[..., Any],
    cases: Iterable[Mapping[str, Any]],
    *,
    name: str = "",
    suite: str = "own",
    version: str = "",
) -> BenchmarkCard:
    """Make a scoring function and its cases a benchmark, in place of an earlier one of its name.

    A case is a mapping with `input`, the question, and any of `id`, `reference` (the answer of
    `control:reference`), `difficulty` (1 to 3) and `metric`; the function sees it whole. The
    function takes `answer`, `case` or `messages` and returns True or False or a score from 0 to 1.
    `version` names its rules; without it they are told apart by the text of the function.

    Raises UsageError for a name, a function or a case that cannot be used.
    """
    key = name or getattr(function, "__name__", "")
    parameters = _check_parameters(function)
    samples = [_build_sample(number, case) for number, case in enumerate(cases)]
    if not samples:
        raise UsageError(Note("function_no_case", owner=key))
    _check_unique_ids(samples)
    metrics = tuple(dict.fromkeys(sample.metric for sample in samples))
    card = BenchmarkCard(
        key=key,
        suite=suite,
        implementation=f"{__name__}:{key}",
        metrics=tuple(MetricCard(key=metric, weight=1) for metric in metrics),
        about={"en": inspect.getdoc(function) or ""},
        dataset=key,
        scorer_version=version or _hash_source(function),
    )
    catalog.add_process_card(card)
    _classes[key] = type(
        key,
        (FunctionBenchmark,),
        {
            "card": catalog.benchmark_card(key),
            "samples": tuple(samples),
            "function": staticmethod(function),
            "parameters": parameters,
        },
    )
    return card


def remove_benchmark(key: str) -> None:
    """Forget a benchmark of this process; its runs stay."""
    _classes.pop(key, None)
    catalog.remove_process_card(key)


class FunctionBenchmark(Benchmark):
    """The base of the classes that `define_benchmark` makes."""

    samples: tuple[Sample, ...] = ()
    parameters: tuple[str, ...] = ()
    function: Callable[..., Any]

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        """The cases of the definition; a file is none of them."""
        if source.name or not source.path.endswith("functions.py"):
            raise UsageError(Note("function_own_cases", owner=self.key))
        chosen = source.metrics or tuple(metric.key for metric in self.card.metrics)
        return [sample for sample in self.samples if sample.metric in chosen]

    def build_prompt(self, sample: Sample) -> list[Message]:
        return [Message(role="user", content=sample.input["question"])]

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        """Score by the function, in a thread; what it raises is a fault of the benchmark, not of
        the answer."""
        values = {name: _INPUTS[name](sample, episode) for name in self.parameters}
        function = type(self).function
        try:
            if inspect.iscoroutinefunction(function):
                result = await function(**values)
            else:
                result = await asyncio.to_thread(function, **values)
            score = float(result)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise EnvironmentFailure(
                Note("function_failed", name=self.key, sample=sample.id, problem=problem)
            ) from None
        if not (isfinite(score) and 0 <= score <= 1):
            raise EnvironmentFailure(
                Note("function_score", name=self.key, value=repr(result), sample=sample.id)
            )
        return Verdict(
            metric=sample.metric,
            id=sample.id,
            epoch=episode.epoch,
            outcome="passed" if score == 1 else "failed",
            score=score,
            evidence_kind="checked",
            reason="" if score == 1 else "wrong_answer",
        )

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        if kind == "reference":
            return Completion(text=str(sample.reference.get("answer", "")))
        return Completion(text=sample.input["question"] if kind == "noop" else "")


def _build_sample(number: int, case: Mapping[str, Any]) -> Sample:
    if not isinstance(case, Mapping) or not isinstance(case.get("input"), str):
        raise UsageError(Note("function_no_input", number=number))
    difficulty = case.get("difficulty", 1)
    if difficulty not in (1, 2, 3):
        raise UsageError(Note("function_difficulty", number=number, value=difficulty))
    metric, name = str(case.get("metric", _METRIC)), str(case.get("id", number))
    try:
        rest = {key: value for key, value in case.items() if key not in _FIELDS}
        to_json(rest)
    except TypeError as error:
        raise UsageError(Note("function_no_json", number=number, problem=error)) from None
    reference = {"answer": case["reference"]} if "reference" in case else {}
    return Sample(
        metric=metric,
        id=name,
        input={"question": case["input"]},
        reference={**reference, **({"fields": rest} if rest else {})},
        difficulty=difficulty,
        meta={"case": dict(case)},
    )


def _check_unique_ids(samples: Sequence[Sample]) -> None:
    seen: set[str] = set()
    for sample in samples:
        if sample.key in seen:
            raise UsageError(Note("function_same_id", id=sample.id))
        seen.add(sample.key)


def _check_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters; raises UsageError for one that nobody can fill."""
    try:
        parameters = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise UsageError(Note("function_no_scorer", function=repr(function)[:80])) from None
    unknown = [name for name in parameters if name not in _INPUTS]
    if unknown or "answer" not in parameters:
        raise UsageError(Note("function_scorer", names=", ".join(parameters) or "nothing"))
    return parameters


def _hash_source(function: Callable[..., Any]) -> str:
    """What tells these rules from others; raises UsageError where the text cannot be had."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        raise UsageError(Note("function_no_text")) from None
    return hashlib.sha256(text.encode()).hexdigest()[:12]
