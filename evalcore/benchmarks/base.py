"""The contract of a benchmark: from a dataset to samples, episodes, verdicts and a score."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol

import msgspec

from evalcore.benchmarks.official_texts import (
    OfficialTexts,
    find_official_texts,
    is_official,
    load_official_texts,
)
from evalcore.catalog import TEXTS_OPTION, BenchmarkCard
from evalcore.errors import EnvironmentFailure, MissingDependency, UsageError, suggest_name
from evalcore.i18n import Note
from evalcore.records import (
    MEASURED,
    Completion,
    Episode,
    GenerationRequest,
    Message,
    Outcome,
    Record,
    Sample,
    Sampling,
    Usage,
    Verdict,
)
from evalcore.results import BenchmarkScore
from evalcore.settings import Settings
from evalcore.targets.base import TargetInfo


class DatasetSource(Record, frozen=True):
    """Where cases come from: a folder of `<metric>.jsonl` files or one jsonl file.

    `metrics` chooses some of them; empty means all.
    """

    path: str
    name: str = ""
    metrics: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return Path(self.path)


class DatasetIssue(Record, frozen=True):
    """Something wrong with a case of a dataset, in a `field` of its line.

    `contradicted`: the expected answer does not run, or an engine says something else;
    `unconfirmed`: nothing here can tell; `duplicate`: another case asks the same.
    """

    sample: str
    problem: str
    field: str = ""
    kind: Literal["contradicted", "unconfirmed", "duplicate"] = "contradicted"


class _Expectation(Record, frozen=True):
    """What a field of a dataset says of an answer: which outcome is due, and the code and values of
    the note for any other."""

    sample: Sample
    episode: Episode
    due: Outcome
    field: str
    code: str
    values: dict[str, Any] = {}

    def describe_problem(self, verdict: Verdict) -> Note:
        """Why the field is wrong, by the note on its answer."""
        if not verdict.note:
            return Note(f"{self.code}_alone", **self.values)
        return Note(self.code, problem=verdict.localizable_note, **self.values)


def user_role(model: str) -> str:
    """The role under which a model is asked that plays a user."""
    return f"user:{model}"


#: How calls are asked for: by the server's own tools, in a prompt, or in a prompt as JSON.
ToolCallMode = Literal["native", "prompt", "json"]


class Context(Protocol):
    """What a benchmark may use while it runs one sample; limits, retries, cache live behind it."""

    @property
    def epoch(self) -> int: ...

    @property
    def seed(self) -> int: ...

    @property
    def judges(self) -> tuple[str, ...]:
        """The panel for this sample, as specs of targets; empty where nobody is to judge."""
        ...

    def price(self, role: str, usage: Usage) -> float | None:
        """USD for one completion of the model in that role, None where unknown."""
        ...

    async def resolve_tool_call_mode(self) -> ToolCallMode:
        """How the target is to be asked for calls of tools. Raises TargetFailure if that cannot be
        found out."""
        ...

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        """One completion from the target (or from a judge or simulated user, by `role`).

        Raises TargetFailure when no completion can be had.
        """
        ...


#: Problems of a dataset, and the engines (with versions) that confirmed its answers.
ValidationResult = tuple[list[DatasetIssue], dict[str, str]]
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


class Benchmark(ABC):
    """One column of a board.

    A subclass is built with its options already checked against the card; it holds no state
    between samples. Samples with equal `generation_key` share one generation.
    """

    card: ClassVar[BenchmarkCard]
    #: Whether engines can confirm expected answers, so that a dataset is refused which they
    #: contradict.
    confirms_gold: ClassVar[bool] = False
    #: Whether SQL engines alone decide what can be confirmed here, so that the same ones need not
    #: be asked again about what they left open.
    confirms_by_engines: ClassVar[bool] = False
    #: How many cases are checked at a time: of those that take minutes, few.
    checked_at_once: ClassVar[int] = 10
    #: The field of a case's line that holds answers which have to fail.
    wrong_field: ClassVar[str] = "counterexamples"

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = dict(options)
        self.prompt_template = ""

    @property
    def key(self) -> str:
        return self.card.key

    @property
    def is_official(self) -> bool:
        """Whether a target is asked exactly as upstream asks."""
        return is_official(self.options)

    @property
    def sampling(self) -> Sampling:
        """What a request asks for where the target's own options do not; nothing by default."""
        return Sampling()

    @cached_property
    def official_texts(self) -> OfficialTexts:
        """Upstream's texts that the run asks with; raises UsageError where they are gone."""
        return load_official_texts(self.key, str(self.options[TEXTS_OPTION]))

    def select_official_texts(self, source: DatasetSource, settings: Settings) -> None:
        """Under the official protocol, name the texts to ask with in the options, which belong to
        the column: those of the data set, else those last fetched. Raises UsageError where there
        are none."""
        if self.is_official and not self.options[TEXTS_OPTION]:
            texts = find_official_texts(self.key, source.folder, settings)
            self.options[TEXTS_OPTION] = texts.hash
            self.__dict__.pop("official_texts", None)

    @abstractmethod
    def load_dataset(self, source: DatasetSource) -> Iterable[Sample]:
        """All samples of the source; raises DatasetError naming file, line and field.

        What is no sequence (a generator) is read once and kept on the disk: a benchmark of a
        million cases yields them.
        """

    @abstractmethod
    def build_prompt(self, sample: Sample) -> list[Message]:
        """The messages a target is asked with."""

    def generation_key(self, sample: Sample) -> str:
        return sample.key

    def messages(self, sample: Sample) -> tuple[Message, ...]:
        return self.apply_prompt_template(self.build_prompt(sample))

    @property
    def has_question_template(self) -> bool:
        """Whether the user's own prompt is a template of the question."""
        return "$question" in self.prompt_template

    def apply_prompt_template(self, prompt: list[Message]) -> tuple[Message, ...]:
        """The prompt, its last message put into the user's template (at `$question`), if any."""
        if self.has_question_template and prompt:
            question = prompt[-1].content
            content = Template(self.prompt_template).safe_substitute(question=question)
            prompt[-1] = msgspec.structs.replace(prompt[-1], content=content)
        return tuple(prompt)

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        """One request, one answer: what a single-turn benchmark needs."""
        prompt = self.messages(sample)
        completion = await context.generate(
            GenerationRequest(
                messages=prompt, sampling=self.sampling, input=self.request_input(sample)
            )
        )
        reply = Message(
            role="assistant",
            content=completion.text,
            reasoning=completion.reasoning,
            tool_calls=completion.tool_calls,
        )
        return Episode(
            key=self.generation_key(sample),
            epoch=context.epoch,
            answer=completion.text,
            messages=(*prompt, reply),
            finish_reason=completion.finish_reason,
        )

    def simulated_users(self) -> tuple[str, ...]:
        """The models that play a user in a run, written as judges are; none by default.

        Each is asked under `user_role`. Raises UsageError where the options name none that is due.
        """
        return ()

    def select_runnable(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """Those of the loaded samples that a run can ask, by default all; others can be scored
        only. Raises UsageError where the options want what cannot be run."""
        return samples

    def check_target(self, samples: Sequence[Sample], info: TargetInfo) -> None:
        """Raises UsageError where a target cannot answer what a run would ask, which would else be
        found out by paid requests; any target can, by default."""
        return

    def may_be_judged(self, sample: Sample) -> bool:
        """Whether a panel may be asked about answers to this sample; never, by default."""
        return False

    def request_input(self, sample: Sample) -> dict[str, Any]:
        """The structured input that applications and baselines answer from; never a reference."""
        return {"benchmark": self.key, "metric": sample.metric, **sample.input}

    @abstractmethod
    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        """The verdict on an episode that ended without a failure of the target.

        `context` is None where no judge can be asked (rescoring, `evalcore score`).
        """

    @abstractmethod
    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """The next turn of a control target, of a kind that the card lists."""

    def episode_from_answer(
        self, sample: Sample, prediction: Any, extra_fields: Mapping[str, Any] = NO_FIELDS
    ) -> Episode:
        """The episode of an answer that somebody already has: text, or what was parsed of it.

        `extra_fields` are the other fields it came with, such as recorded `votes`. Raises
        UsageError.
        """
        if not isinstance(prediction, str):
            prediction = "" if prediction is None else json.dumps(prediction, ensure_ascii=False)
        return Episode(
            key=self.generation_key(sample),
            epoch=0,
            answer=prediction,
            state={"votes": extra_fields["votes"]} if extra_fields.get("votes") else {},
        )

    def reference_episode(self, sample: Sample) -> Episode:
        return self.episode_from_answer(sample, self.control(sample, "reference", ()).text)

    def compute_point_weights(
        self, samples: Sequence[Sample], weights: Mapping[str, float]
    ) -> dict[str, float]:
        """What one point of each metric weighs, from the weights of the card or the person."""
        return dict(weights)

    def close(self) -> None:
        """Free what was opened to score; safe to call twice. Nothing to do by default."""
        return

    def validate_dataset(self, samples: Sequence[Sample]) -> ValidationResult:
        """Validate a dataset: its problems, and the engines (with versions) that confirmed its
        answers.

        Every benchmark requires the reference and its variants to pass and every counterexample to
        fail; a benchmark overrides `validate_references` to have the reference itself confirmed.
        """
        expectations = [
            expectation for sample in samples for expectation in self._list_expectations(sample)
        ]
        verdicts = asyncio.run(self._score_expectations(expectations))
        issues = [
            DatasetIssue(
                sample=expectation.sample.key,
                problem=expectation.describe_problem(verdict),
                field=expectation.field,
                kind="contradicted"
                if self.is_decided(expectation.sample, verdict)
                else "unconfirmed",
            )
            for expectation, verdict in zip(expectations, verdicts, strict=True)
            if verdict.outcome != expectation.due
        ]
        reference_issues, engines = self.validate_references(samples)
        return issues + reference_issues, engines

    def validate_references(self, samples: Sequence[Sample]) -> ValidationResult:
        """Confirm references by something other than the scorer; nothing to do by default."""
        return [], {}

    def is_decided(self, sample: Sample, verdict: Verdict) -> bool:
        """Whether a verdict on the expected answer speaks against the case, not of this machine."""
        return verdict.outcome in MEASURED or verdict.reason == "reference_fails"

    def gold_field(self, sample: Sample) -> str:
        """The field of a case's line that holds its expected answer."""
        return "reference" if sample.reference.get("reference") else "expected"

    def _list_expectations(self, sample: Sample) -> Iterator[_Expectation]:
        reference, field = self.reference_episode(sample), self.gold_field(sample)
        yield _Expectation(sample, reference, "passed", field, "gold_reference")
        for number, right in enumerate(sample.meta.get("variants", ()), 1):
            values = {"number": number, "answer": f"{str(right)[:80]!r}"}
            episode = self.episode_from_answer(sample, right)
            yield _Expectation(sample, episode, "passed", "variants", "gold_variant", values)
        for number, wrong in enumerate(sample.meta.get("counterexamples", ()), 1):
            values, episode = {"number": number}, self.episode_from_answer(sample, wrong)
            code = "gold_counterexample"
            yield _Expectation(sample, episode, "failed", self.wrong_field, code, values)

    async def _score_expectations(self, expectations: Sequence[_Expectation]) -> list[Verdict]:
        """Side by side, since some scorers wait for programs."""
        return await asyncio.gather(*map(self._score_expectation, expectations))

    async def _score_expectation(self, expectation: _Expectation) -> Verdict:
        """What is missing here is no verdict on a claim, and ends none of the others."""
        try:
            return await self.evaluate_sample(expectation.sample, expectation.episode)
        except (EnvironmentFailure, MissingDependency) as error:
            return Verdict(
                metric=expectation.sample.metric,
                id=expectation.sample.id,
                epoch=expectation.episode.epoch,
                outcome="environment_error",
                reason="environment",
                note=str(error),
            )

    def aggregate(
        self,
        samples: Sequence[Sample],
        verdicts: Sequence[Verdict],
        weights: Mapping[str, float],
        *,
        epochs: int = 1,
        column: str = "",
        full: bool = True,
        label: str = "",
    ) -> BenchmarkScore:
        """Epochs reduced per sample, then the weighted score; see `evalcore.scoring.aggregation`.
        Where a run chooses the metrics, they are those of its samples.

        `column`, `full` and `label` are passed on into the record.
        """
        from evalcore.scoring.aggregation import score_benchmark

        card = self.card
        if card.open_metrics:
            metrics = dict.fromkeys(sample.metric for sample in samples)
            card = msgspec.structs.replace(card, metrics=tuple(map(card.find_metric, metrics)))
        return score_benchmark(
            card, samples, verdicts, weights, epochs=epochs, column=column, full=full, label=label
        )


def check_options(card: BenchmarkCard, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The full set of options of a benchmark: defaults, overridden by `overrides` and converted.

    `weights.METRIC`, `difficulty.N`, `prompt` and `data_path` are for every benchmark and kept
    apart by the planner. Raises UsageError naming the known options.
    """
    declared = {option.name: option for option in card.options}
    options = {name: option.default for name, option in declared.items()}
    for name, value in overrides.items():
        if name not in declared:
            names = ", ".join([*declared, "weights.METRIC", "difficulty.N", "prompt", "data_path"])
            problem = Note("option_unknown", owner=card.key, name=name, names=names)
            raise UsageError(suggest_name(problem, name, declared))
        options[name] = _convert_option(f"{card.key}.{name}", declared[name].type, value)
        choices = declared[name].choices
        if choices and options[name] not in (*choices, *declared[name].former_choices):
            raise UsageError(
                Note(
                    "option_choice",
                    owner=card.key,
                    name=name,
                    value=value,
                    names=", ".join(choices),
                )
            )
    return options


_TRUE, _FALSE = {"true", "yes", "1", "on"}, {"false", "no", "0", "off"}


def _convert_option(name: str, kind: str, value: Any) -> Any:
    """A value as typed on a command line or in YAML, as the type its option declares."""
    try:
        if kind == "bool":
            text = str(value).lower()
            if text not in _TRUE | _FALSE:
                raise ValueError(text)
            return text in _TRUE
        if kind == "str" and isinstance(value, bool):  # YAML's true, where text is wanted
            return str(value).lower()
        if kind == "list":
            return value.split(",") if isinstance(value, str) else list(value)
        return {"int": int, "float": float, "str": str}[kind](value)
    except (TypeError, ValueError):
        raise UsageError(Note("option_type", name=name, value=value, kind=kind)) from None
