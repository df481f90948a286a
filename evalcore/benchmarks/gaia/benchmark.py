"""The benchmark `gaia`: questions for an assistant, with or without tools, scored as officially."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from evalcore.benchmarks.agents.agent import Tools, run_agent
from evalcore.benchmarks.agents.loop import AgentResult
from evalcore.benchmarks.base import Benchmark, Context, DatasetIssue, DatasetSource
from evalcore.benchmarks.gaia import controls, dataset, prompts
from evalcore.benchmarks.gaia.attachments import as_data_url, text_of
from evalcore.benchmarks.gaia.card import CARD
from evalcore.benchmarks.gaia.extraction import as_text
from evalcore.benchmarks.gaia.prompts import ShownFile
from evalcore.benchmarks.gaia.score import question_scorer
from evalcore.benchmarks.gaia.tools import web
from evalcore.benchmarks.gaia.tools.desk import FINAL, Desk
from evalcore.benchmarks.gaia.verdict import verdict_on
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.records import Completion, Episode, Message, Sample, Verdict, utc_now
from evalcore.sandbox.detect import detect_sandbox

#: Modes in which an agent has tools; the others are one request.
WITH_TOOLS = ("local", "web")
_MOST_STEPS = 200
_INLINED = 20_000  # characters of an attachment in a prompt without tools


class Gaia(Benchmark):
    """Options: see the card."""

    card = CARD
    confirms_gold = True
    wrong_field = "wrong"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises UsageError for a level or a limit that is none."""
        super().__init__(options)
        self._levels = self.options["levels"] = _levels(options["levels"])
        self._mode = str(options["tool_mode"])
        if not 1 <= options["max_steps"] <= _MOST_STEPS:
            raise UsageError(f"option gaia.max_steps: give 1 to {_MOST_STEPS}")

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load(source, self.options["split"], self._levels)

    def select_runnable(self, samples: Sequence[Sample]) -> list[Sample]:
        """Those that ask something; rows of a scoring set do not. With tools the host has to be
        able to run programs, and `web` needs a key."""
        if self._mode in WITH_TOOLS and not detect_sandbox().means:
            why = f"{detect_sandbox().problem} {detect_sandbox().fix}"
            raise UsageError(f"option gaia.tool_mode={self._mode} runs programs: {why}")
        if self._mode == "web":  # of which the results are part, so that it belongs to the column
            self.options["provider"] = web.provider(self.options["provider"])
        return [sample for sample in samples if "question" in sample.input]

    def build_prompt(self, sample: Sample) -> list[Message]:
        """The messages; without tools they hold what can be read of the attachments."""
        files = dataset.attachments_of(sample)
        shown = [self._shown(path) for path in files]
        question, style = sample.input["question"], self.options["prompt_style"]
        made = prompts.messages(question, self._mode, style, shown)
        if self.options["images"]:
            images = tuple(filter(None, map(as_data_url, files)))
            made[-1] = msgspec.structs.replace(made[-1], images=images)
        return made

    def _shown(self, path: Path) -> ShownFile:
        if self._mode in WITH_TOOLS:
            return ShownFile(name=path.name, kind=path.suffix.removeprefix("."), text=None)
        found = text_of(path, _INLINED)
        return ShownFile(name=path.name, kind=found.kind, text=found.text)

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        if self._mode in WITH_TOOLS:
            return await self._work(sample, context)
        episode = await super().run_sample(sample, context)
        kept = tuple(map(_without_images, episode.messages))
        return msgspec.structs.replace(episode, messages=kept)

    async def _work(self, sample: Sample, context: Context) -> Episode:
        wanted, browser = self.options["provider"], None
        if self._mode == "web":
            browser = web.Browser(wanted=wanted)
        with Desk(dataset.attachments_of(sample), browser=browser) as desk:
            tools = Tools(desk.tools, desk.call, FINAL.name)
            worked = await run_agent(self, sample, context, tools, self.options["max_steps"])
        searched = {"provider": browser.provider, "date": utc_now()[:10]} if browser else {}
        return _episode(self.generation_key(sample), context.epoch, worked, searched)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        return verdict_on(sample, episode, bare=self.options["prompt_style"] == "bare")

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` takes the steps and answers, `null` says nothing, `noop` repeats what it is
        asked."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        return controls.reference_step(sample, transcript, tools=self._mode in WITH_TOOLS)

    def episode_from_answer(
        self,
        sample: Sample,
        prediction: Any,
        extra_fields: Mapping[str, Any] = MappingProxyType({}),
    ) -> Episode:
        """A text goes through extraction; the value of {"answer": ...} is scored as it stands."""
        key = self.generation_key(sample)
        if isinstance(prediction, dict) and "answer" in prediction:
            return Episode(key=key, epoch=0, state={"answer": prediction["answer"]})
        return super().episode_from_answer(sample, prediction, extra_fields)

    def reference_episode(self, sample: Sample) -> Episode:
        return self.episode_from_answer(sample, {"answer": sample.reference["answer"]})

    def validate_dataset(
        self, samples: Sequence[Sample]
    ) -> tuple[list[DatasetIssue], dict[str, str]]:
        """As every benchmark does; a hidden answer claims nothing, and the rows of a scoring set
        are what somebody wants answers compared with, whatever it is."""
        asked = [s for s in samples if "question" in s.input and not s.meta.get("hidden")]
        return super().validate_dataset(asked)

    def validate_references(
        self, samples: Sequence[Sample]
    ) -> tuple[list[DatasetIssue], dict[str, str]]:
        """Take the steps of every derivation: the last one has to bring the answer."""
        findings = [finding for sample in samples for finding in _not_derived(sample)]
        return findings, {"tools": detect_sandbox().means} if detect_sandbox().means else {}

    def gold_field(self, sample: Sample) -> str:
        return "Final answer"


def _not_derived(sample: Sample) -> Iterator[DatasetIssue]:
    steps = sample.reference.get("derivation", ())
    if not steps:
        return
    try:
        with Desk(dataset.attachments_of(sample)) as desk:
            results = [desk.call(step["tool"], step["arguments"]) for step in steps]
    except EnvironmentFailure as error:
        problem = f"the derivation cannot be run here: {error}"
        yield DatasetIssue(sample.key, problem, "derivation", kind="unconfirmed")
        return
    if not question_scorer(results[-1].strip(), str(sample.reference["answer"])).right:
        problem = f"the derivation does not bring the answer but {results[-1][:80]!r}"
        yield DatasetIssue(sample.key, problem, "derivation")


def _levels(given: Sequence[Any]) -> list[int]:
    """The levels as numbers, however they were written; they are part of the column."""
    names = [str(one).strip() for one in given]
    wrong = [name for name in names if name not in ("1", "2", "3")]
    if wrong or not names:
        raise UsageError(f"option gaia.levels: give some of 1, 2, 3, not {', '.join(names)!r}")
    return sorted({int(name) for name in names})


def _without_images(message: Message) -> Message:
    """Images are not journaled; what was sent is known from the attachment."""
    return msgspec.structs.replace(message, images=())


def _episode(key: str, epoch: int, worked: AgentResult, searched: Mapping[str, str]) -> Episode:
    state: dict[str, Any] = {"calls": list(worked.calls), **searched}
    if worked.final is not None:
        state["answer"] = as_text(worked.final.get("answer", ""))
    return Episode(
        key=key,
        epoch=epoch,
        answer=worked.last_text,
        messages=tuple(map(_without_images, worked.messages)),
        finish_reason=worked.finish_reason,
        termination=worked.ended,
        state=state,
    )
