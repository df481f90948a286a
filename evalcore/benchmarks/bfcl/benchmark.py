"""The benchmark `bfcl`: calls of functions, checked as officially, and what their format cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.answer_text import NOTES, unreadable
from evalcore.benchmarks.base import Asking, Benchmark, Context, DatasetSource, Finding
from evalcore.benchmarks.bfcl import answers, asking, dataset, evidence, weights
from evalcore.benchmarks.bfcl.aggregate import Tally, group_scores
from evalcore.benchmarks.bfcl.card import CARD
from evalcore.benchmarks.bfcl.categories import DECODE_ONLY, MULTI_TURN, canonical
from evalcore.benchmarks.bfcl.irrelevance import kind as abstention
from evalcore.benchmarks.bfcl.multi_turn import play, replay
from evalcore.benchmarks.bfcl.multi_turn.apis import OWN
from evalcore.benchmarks.bfcl.multi_turn.service import FAILED_CALL
from evalcore.benchmarks.bfcl.multi_turn.simulators import (
    Overrun,
    Simulators,
    involved,
    open_simulators,
)
from evalcore.benchmarks.bfcl.reference import reference_answer
from evalcore.benchmarks.bfcl.score import Scored, read, views
from evalcore.errors import EnvironmentFailure
from evalcore.records import (
    BenchmarkScore,
    Completion,
    Episode,
    GenerationRequest,
    Message,
    Sample,
    Section,
    ToolCall,
    Verdict,
)
from evalcore.settings import ROOT

#: Ends of an answer that say that there is none, with a note.
_NO_ANSWER = {
    "unparsable": "The server could not read the call that the model wrote.",
    "context_overflow": NOTES["context_overflow"],
    "content_filter": NOTES["content_filter"],
}
_ENDED = {
    "context_overflow": "context_overflow",
    "content_filter": "content_filter",
    "step_limit": "budget",
}
_RANKED = {"": "official", "true": "strict", "false": "fuzzy"}


class Bfcl(Benchmark):
    """Options: `categories` (v3 or v4 names), `strict` (slm-evals' rules), `exclude_flagged`."""

    card = CARD
    confirms_gold = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._simulators: Simulators | None = None

    @property
    def ranked(self) -> str:
        """The view that decides."""
        return _RANKED[self.options["strict"]]

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        wanted = [canonical(name) for name in self.options["categories"]]
        known = [self.card.find_metric(name).key for name in wanted]
        return dataset.load(source, known, self.options["exclude_flagged"])

    def build_prompt(self, sample: Sample, mode: Asking = "prompt") -> list[Message]:
        """The messages of the first turn."""
        turns = sample.input["question"]
        said = msgspec.convert(turns[0] if turns else [], list[Message])
        offered = play.offered_at_first(dataset.entry_of(sample))
        return asking.prompted(said, offered, sample.metric, mode)

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        mode = await context.asking()
        if sample.metric in MULTI_TURN:
            return await self._converse(sample, mode, context)
        prompt = self.templated(self.build_prompt(sample, mode))
        functions = dataset.entry_of(sample).functions if mode == "native" else []
        request = GenerationRequest(
            messages=prompt,
            tools=asking.tools(functions, sample.metric),
            input=self.request_input(sample),
        )
        done = await context.generate(request)
        reply = Message("assistant", done.text, done.reasoning, done.tool_calls)
        return Episode(
            key=self.generation_key(sample),
            epoch=context.epoch,
            answer=done.text,
            messages=(*prompt, reply),
            finish_reason=done.finish_reason,
            state={"mode": asking.decoding(mode, sample.metric)},
        )

    async def _converse(self, sample: Sample, mode: Asking, context: Context) -> Episode:
        entry = dataset.entry_of(sample)
        opening = self.templated(self.build_prompt(sample, mode))

        async def ask(messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Completion:
            native = asking.tools(tools, sample.metric) if mode == "native" else ()
            request = GenerationRequest(
                messages=tuple(messages), tools=native, input=self.request_input(sample)
            )
            return await context.generate(request)

        read_as = asking.decoding(mode, sample.metric)
        found = await play.conversation(entry, opening, read_as, ask, self._apis())
        return play.episode_of(found, self.generation_key(sample), context.epoch, read_as)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        entry = dataset.entry_of(sample)
        if sample.metric in MULTI_TURN:
            examined = replay.examine(entry, answers.turns_of(episode), self._apis())
            found = {"official": examined.scored}
            return self._verdict(sample, episode, found, evidence.of_turns(examined.outcome))
        answer, mode = answers.answer_of(episode)
        reading = read(entry, answer, mode)
        found = views(reading)
        if episode.finish_reason in _NO_ANSWER and not answer:  # upstream: abstentions
            message = _NO_ANSWER[episode.finish_reason]
            found = dict.fromkeys(found, Scored(False, "ast_decoder:decoder_failed", message))
        facts = {"answer_kind": abstention(reading)} if _irrelevant(sample) else {}
        return self._verdict(
            sample, episode, found, evidence.of_calls(entry, found[self.ranked]), facts
        )

    def _verdict(
        self,
        sample: Sample,
        episode: Episode,
        found: Mapping[str, Scored],
        sections: tuple[Section, ...],
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> Verdict:
        chosen = found.get(self.ranked, found["official"])
        mode = episode.state.get("mode")
        details = ({"mode": mode} if mode else {}) | dict(facts)
        if not chosen.valid:
            details |= {"error_type": chosen.error_type, "error_group": chosen.group}
        if "tolerant" in found:
            details["lost_to_format"] = found["tolerant"].valid and not chosen.valid
        if "flagged" in sample.meta:
            details["flagged"] = sample.meta["flagged"]
        return Verdict(
            metric=sample.metric,
            id=sample.id,
            epoch=episode.epoch,
            outcome="passed" if chosen.valid else "failed",
            score=chosen.score if self.ranked == "fuzzy" else float(chosen.valid),
            evidence_kind=self.card.find_metric(sample.metric).evidence,
            reason="" if chosen.valid else _reason(episode, chosen),
            note=chosen.message,
            views={name: one.score for name, one in found.items()},
            details=details,
            evidence=sections,
        )

    def weights_of(
        self, samples: Sequence[Sample], weights_: Mapping[str, float]
    ) -> dict[str, float]:
        return weights.per_entry(samples, weights_)

    def aggregate(
        self,
        samples: Sequence[Sample],
        verdicts: Sequence[Verdict],
        weights: Mapping[str, float],
        **about: Any,
    ) -> BenchmarkScore:
        """The official mean of what ran, and the official groups, None where one is incomplete."""
        score = super().aggregate(samples, verdicts, weights, **about)
        tallies = {
            name: Tally(metric.passed, metric.samples)
            for name, metric in score.metrics.items()
            if metric.samples
        }
        groups = {name: group.score for name, group in group_scores(tallies).items()}
        return msgspec.structs.replace(score, groups=groups)

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` makes the expected calls, `null` says nothing, `noop` repeats what it is
        asked."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        entry = dataset.entry_of(sample)
        if sample.metric in MULTI_TURN:
            return play.reference_step(entry, transcript)
        answer = reference_answer(entry, answers.NATIVE)
        if isinstance(answer, str):
            return Completion(text=answer)
        return Completion(tool_calls=answer, finish_reason="tool_calls")

    def episode_of(
        self,
        sample: Sample,
        prediction: Any,
        extra_fields: Mapping[str, Any] = MappingProxyType({}),
    ) -> Episode:
        mode = str(extra_fields.get("mode", ""))
        return answers.given(sample, self.generation_key(sample), prediction, mode)

    def reference_episode(self, sample: Sample) -> Episode:
        entry = dataset.entry_of(sample)
        if sample.metric in MULTI_TURN:
            return self.episode_of(sample, [[turn] for turn in replay.ground_truth(entry)])
        answer = self.control(sample, "reference", ())
        calls = [_native(call) for call in answer.tool_calls]
        return self.episode_of(sample, calls or answer.text, {"mode": answers.NATIVE})

    def is_decided(self, sample: Sample, verdict: Verdict) -> bool:
        """Flagged entries were published with an answer that no right one can be; they are named.

        A limit of the simulators says nothing of an entry."""
        limited = verdict.details.get("error_type") in replay.OVERRUNS
        return super().is_decided(sample, verdict) and not limited and "flagged" not in sample.meta

    def confirm(self, samples: Sequence[Sample]) -> tuple[list[Finding], dict[str, str]]:
        """Make the calls of every conversation: each has to run."""
        found = (self._failing_call(one) for one in samples if one.metric in MULTI_TURN)
        return [finding for finding in found if finding], {}

    def _failing_call(self, sample: Sample) -> Finding | None:
        """The first call of the ground truth that its APIs do not take. Upstream's own entries may
        have one over upstream's APIs, which the official check then expects."""
        entry = dataset.entry_of(sample)
        calls = [call for turn in replay.ground_truth(entry) for call in turn]
        try:
            results = self._apis().execute(entry, [], calls)
        except (EnvironmentFailure, Overrun) as error:
            problem = f"its calls cannot be run here: {error}"
            return Finding(sample.key, problem, "ground_truth", kind="unconfirmed")
        for call, result in zip(calls, results, strict=True):
            if result.startswith(FAILED_CALL):
                problem = f"{call[:100]} does not run: {result.removeprefix(FAILED_CALL)[:200]}"
                own = set(involved(entry)) <= set(OWN)
                kind: Literal["contradicted", "unconfirmed"]
                kind = "contradicted" if own else "unconfirmed"
                return Finding(sample.key, problem, "ground_truth", kind=kind)
        return None

    def gold_field(self, sample: Sample) -> str:
        return "function" if sample.metric in DECODE_ONLY else "ground_truth"

    def close(self) -> None:
        if self._simulators is not None:
            self._simulators.close()

    def _apis(self) -> Simulators:
        if self._simulators is None:
            self._simulators = open_simulators([ROOT / "datasets" / self.card.dataset])
        return self._simulators


def _irrelevant(sample: Sample) -> bool:
    return "irrelevance" in sample.metric


def _reason(episode: Episode, found: Scored) -> str:
    if episode.termination in _ENDED:
        return _ENDED[episode.termination]
    return unreadable(episode) if found.group == "decode" else "wrong_answer"


def _native(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments}
