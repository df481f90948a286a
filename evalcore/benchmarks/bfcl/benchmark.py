"""The benchmark `bfcl`: calls of functions, checked as officially, and what their format cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.answer_scoring import NOTES, no_answer_reason
from evalcore.benchmarks.base import (
    NO_FIELDS,
    Benchmark,
    Context,
    DatasetIssue,
    DatasetSource,
    ToolCallMode,
    ValidationResult,
)
from evalcore.benchmarks.bfcl import (
    agentic,
    answers,
    dataset,
    format_sensitivity,
    official_prompts,
    tool_prompts,
    web_search,
)
from evalcore.benchmarks.bfcl.answers import reference_answer
from evalcore.benchmarks.bfcl.card import CARD, SIMILARITY
from evalcore.benchmarks.bfcl.categories import (
    AGENTIC,
    DECODE_ONLY,
    MEMORY,
    MULTI_TURN,
    WEB_SEARCH,
    Tally,
    compute_entry_weights,
    group_scores,
    to_v4_category,
)
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.format_sensitivity import FORM
from evalcore.benchmarks.bfcl.multi_turn import conversations
from evalcore.benchmarks.bfcl.multi_turn.service import FAILED_CALL
from evalcore.benchmarks.bfcl.multi_turn.simulators import (
    OWN_APIS,
    Overrun,
    Simulators,
    choose_similarity,
    find_encoder,
    list_involved_classes,
    open_simulators,
)
from evalcore.benchmarks.bfcl.official_prompts import BfclTexts
from evalcore.benchmarks.bfcl.score import (
    ViewResult,
    build_call_sections,
    build_turn_sections,
    classify_call_reading,
    decode_answer,
    describe_conversation_reading,
    score_all_views,
)
from evalcore.benchmarks.bfcl.score import classify_abstention as abstention
from evalcore.benchmarks.call_decoding import decode_calls
from evalcore.catalog import OFFICIAL, STAND_IN
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import (
    Completion,
    Episode,
    GenerationRequest,
    Message,
    Sample,
    Sampling,
    Section,
    Verdict,
)
from evalcore.results import BenchmarkScore
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
        if self.options.get("format_sensitivity") and not self.is_official:
            raise UsageError(Note("bfcl_needs_official"))
        self._simulators: Simulators | None = None
        self._memories = agentic.Memories()

    @property
    def ranked_view(self) -> str:
        return _RANKED[self.options["strict"]]

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        categories = [to_v4_category(name) for name in self.options["categories"]]
        metric_keys = [self.card.find_metric(name).key for name in categories]
        samples = dataset.load_bfcl_samples(source, metric_keys, self.options["exclude_flagged"])
        if not self.options.get("format_sensitivity"):
            return samples
        return format_sensitivity.expand_forms(samples, source.folder)

    @cached_property
    def _texts(self) -> BfclTexts:
        return self.official_texts.read_as(BfclTexts)

    @property
    def sampling(self) -> Sampling:
        if not self.is_official:
            return super().sampling
        return Sampling(temperature=self._texts.temperature)

    def select_runnable(self, samples: Sequence[Sample]) -> list[Sample]:
        """All of them. Raises UsageError naming all that is absent here: it is better known before
        the first request than in the middle of a run. Sets the option SIMILARITY."""
        if self.is_official and any(sample.metric == "memory_vector" for sample in samples):
            self.options[SIMILARITY] = choose_similarity(self.options[SIMILARITY])
        problems = dict.fromkeys(filter(None, map(self._find_problem, samples)))
        if problems:
            raise UsageError(Note("bfcl_leave_out", problems="; ".join(problems)))
        return list(samples)

    def _find_problem(self, sample: Sample) -> str:
        """What a sample needs and this machine lacks; "" for nothing."""
        if sample.metric in WEB_SEARCH:
            recorded = "material" in sample.meta
            if not recorded and not web_search.has_search_key():
                return Note("bfcl_no_search_key", variable=web_search.KEY_VARIABLE)
            return "" if sample.input["functions"] != "[]" else Note("bfcl_no_documents")
        if sample.metric not in (*MULTI_TURN, *MEMORY):
            return ""
        try:
            self._get_simulators().check(dataset.sample_to_entry(sample))
        except EnvironmentFailure as error:
            return str(error)
        return ""

    def build_prompt(self, sample: Sample, mode: ToolCallMode = "prompt") -> list[Message]:
        turns = sample.input["question"]
        user_messages = msgspec.convert(turns[0] if turns else [], list[Message])
        available_functions = conversations.list_initial_functions(self._load_entry(sample))
        if self.is_official:
            return official_prompts.build_official_messages(
                user_messages, available_functions, mode, self._texts, sample.input.get(FORM, "")
            )
        return tool_prompts.build_call_messages(
            user_messages, available_functions, sample.metric, mode
        )

    def _load_entry(self, sample: Sample) -> BfclEntry:
        """The entry as it is asked: officially with upstream's words on its functions, which those
        that are added later do not have."""
        entry = dataset.sample_to_entry(sample)
        if not self.is_official:
            return entry
        added = conversations.list_added_names(entry)
        described = entry.functions
        for _ in range(1 + (FORM in sample.input)):  # upstream adds its words twice for a form
            described = official_prompts.describe_functions(described, sample.metric, self._texts)
        pairs = zip(entry.functions, described, strict=True)
        functions = [own if own["name"] in added else hinted for own, hinted in pairs]
        return msgspec.structs.replace(entry, functions=functions)

    def _build_tools(
        self, functions: Sequence[dict[str, Any]], category: str
    ) -> tuple[dict[str, Any], ...]:
        if self.is_official:
            return official_prompts.build_official_tools(functions, self._texts)
        return tool_prompts.build_function_tools(functions, category)

    async def _resolve_mode(self, context: Context) -> ToolCallMode:
        """How the target is asked; upstream knows two ways, of which `json` is the prompt."""
        mode = await context.resolve_tool_call_mode()
        return "prompt" if self.is_official and mode == "json" else mode

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        form = str(sample.input.get(FORM, ""))
        mode = "prompt" if form else await self._resolve_mode(context)
        if sample.metric in MULTI_TURN:
            return await self._run_conversation(sample, mode, context)
        if sample.metric in AGENTIC:
            return await self._run_agentic(sample, mode, context)
        prompt = self.apply_prompt_template(self.build_prompt(sample, mode))
        functions = self._load_entry(sample).functions if mode == "native" else []
        request = GenerationRequest(
            messages=prompt,
            tools=self._build_tools(functions, sample.metric),
            sampling=self.sampling,
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
            state={
                "mode": tool_prompts.select_read_mode(mode, sample.metric, form, done),
                **({"call_format": done.call_format} if done.call_format else {}),
            },
        )

    async def _run_conversation(
        self, sample: Sample, mode: ToolCallMode, context: Context
    ) -> Episode:
        entry = self._load_entry(sample)
        opening = self.apply_prompt_template(self.build_prompt(sample, mode))
        request_completion = self._build_ask(sample, mode, context)
        read_as = tool_prompts.select_decode_mode(mode, sample.metric)
        conversation = await conversations.run_entry_conversation(
            entry, opening, read_as, request_completion, self._get_simulators(), self._announce
        )
        return conversations.conversation_to_episode(
            conversation, self.generation_key(sample), context.epoch, read_as
        )

    def _build_ask(self, sample: Sample, mode: ToolCallMode, context: Context) -> conversations.Ask:
        async def request_completion(
            messages: Sequence[Message], tools: Sequence[dict[str, Any]]
        ) -> Completion:
            request = GenerationRequest(
                messages=tuple(messages),
                tools=self._build_tools(tools, sample.metric) if mode == "native" else (),
                sampling=self.sampling,
                input=self.request_input(sample),
            )
            return await context.generate(request)

        return request_completion

    async def _run_agentic(self, sample: Sample, mode: ToolCallMode, context: Context) -> Episode:
        entry = self._load_entry(sample)
        read_as = tool_prompts.select_decode_mode(mode, sample.metric)
        read = None if read_as == "fc" else partial(decode_calls, mode=read_as)
        named = str(sample.meta.get("material", ""))
        path = str(ROOT / named) if named else ""
        digest = str(sample.reference.get("material", ""))

        def open_with(text: str, messages: Sequence[Message]) -> Sequence[Message]:
            opening = [Message("system", text), *messages]
            if self.is_official:
                return official_prompts.build_official_messages(
                    opening, entry.functions, mode, self._texts
                )
            return tool_prompts.build_call_messages(opening, entry.functions, sample.metric, mode)

        words = None
        if self.is_official:
            words = partial(official_prompts.build_agentic_text, sample.metric, named, self._texts)
        ask = self._build_ask(sample, mode, context)
        if sample.metric in WEB_SEARCH:
            web = web_search.open_web(path, digest)
            snippets = sample.metric == "web_search_base"
            tools = web_search.WebSearchAPI(web, entry.functions, snippets)
            run = agentic.AgenticRun(entry, tools, ask, read, open_with, words)
            held = await run.ask_question()
            state: dict[str, Any] = {"web": web.name}
        else:
            turns = agentic.load_conversations(Path(path), digest)
            simulators = self._get_simulators()
            run = agentic.AgenticRun(entry, simulators, ask, read, open_with, words)
            key = (sample.metric, digest, context.epoch)
            done = await self._memories.get(key, partial(run.write_memory, turns))
            held, state = await run.ask_question(done), {"memory_calls": list(done)}
        episode = conversations.conversation_to_episode(
            held, self.generation_key(sample), context.epoch, read_as
        )
        return msgspec.structs.replace(episode, state=episode.state | state)

    def _announce(self, documents: Sequence[dict[str, Any]], native: bool) -> str:
        if self.is_official:
            return official_prompts.announce_official_functions(documents, native, self._texts)
        return conversations.announce_functions(documents, native)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        entry = dataset.sample_to_entry(sample)
        if sample.metric in AGENTIC:
            return self._evaluate_agentic(sample, entry, episode)
        if sample.metric in MULTI_TURN:
            examined = conversations.examine_prediction(
                entry, answers.extract_call_turns(episode), self._get_simulators()
            )
            scored_views = {"official": examined.scored}
            sections = build_turn_sections(examined.outcome)
            facts = describe_conversation_reading(entry, answers.list_message_answers(episode))
            return self._build_call_verdict(sample, episode, scored_views, sections, facts)
        answer, mode = answers.extract_call_answer(episode)
        reading = decode_answer(entry, answer, mode)
        scored_views = score_all_views(reading)
        unparsable = episode.finish_reason == "unparsable"
        if unparsable or (episode.finish_reason in _NO_ANSWER and not answer):
            # Upstream takes them for abstentions. A text that the server quotes is read tolerantly.
            failed = ViewResult(
                False, "ast_decoder:decoder_failed", _NO_ANSWER[episode.finish_reason]
            )
            quoted = isinstance(reading.tolerant_calls, list) and bool(reading.tolerant_calls)
            scored_views = {
                name: scored if quoted and name == "tolerant" else failed
                for name, scored in scored_views.items()
            }
        facts = {}
        if "irrelevance" in sample.metric:
            facts["answer_kind"] = abstention(reading)
        if call_reading := classify_call_reading(reading) or ("lost" if unparsable else None):
            facts["call_reading"] = call_reading
            call_format = str(episode.state.get("call_format", "")) or reading.call_format
            facts |= {"call_format": call_format} if call_format else {}
        return self._build_call_verdict(
            sample,
            episode,
            scored_views,
            build_call_sections(entry, scored_views[self.ranked_view]),
            facts,
        )

    def _evaluate_agentic(self, sample: Sample, entry: BfclEntry, episode: Episode) -> Verdict:
        scored, text = agentic.score_final_message(entry, episode)
        sections = (agentic.build_answer_section(entry, text),)
        facts = describe_conversation_reading(entry, answers.list_message_answers(episode))
        facts |= {"web": str(episode.state["web"])} if "web" in episode.state else {}
        if sample.metric == "memory_vector" and "memory_calls" in episode.state:
            facts["similarity"] = self.options[SIMILARITY] or STAND_IN
        return self._build_call_verdict(sample, episode, {"official": scored}, sections, facts)

    def _build_call_verdict(
        self,
        sample: Sample,
        episode: Episode,
        scored_views: Mapping[str, ViewResult],
        sections: tuple[Section, ...],
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> Verdict:
        chosen = scored_views.get(self.ranked_view, scored_views["official"])
        mode = episode.state.get("mode")
        details = ({"mode": mode} if mode else {}) | dict(facts)
        if not chosen.valid:
            details |= {"error_type": chosen.error_type, "error_group": chosen.group}
        if "tolerant" in scored_views:
            details["lost_to_format"] = scored_views["tolerant"].valid and not chosen.valid
        if "flagged" in sample.meta:
            details["flagged"] = sample.meta["flagged"]
        return Verdict(
            metric=sample.metric,
            id=sample.id,
            epoch=episode.epoch,
            outcome="passed" if chosen.valid else "failed",
            score=chosen.score if self.ranked_view == "fuzzy" else float(chosen.valid),
            evidence_kind=self.card.find_metric(sample.metric).evidence,
            reason="" if chosen.valid else _find_failure_reason(episode, chosen),
            note=chosen.message,
            views={name: scored.score for name, scored in scored_views.items()},
            details=details,
            evidence=sections,
        )

    def compute_point_weights(
        self, samples: Sequence[Sample], weights_: Mapping[str, float]
    ) -> dict[str, float]:
        return compute_entry_weights(samples, weights_)

    def aggregate(
        self,
        samples: Sequence[Sample],
        verdicts: Sequence[Verdict],
        weights: Mapping[str, float],
        **score_fields: Any,
    ) -> BenchmarkScore:
        """The official mean of what ran, and the official groups, None where one is incomplete."""
        score = super().aggregate(samples, verdicts, weights, **score_fields)
        tallies = {
            name: Tally(metric.passed, metric.samples)
            for name, metric in score.metrics.items()
            if metric.samples
        }
        groups = {name: group.score for name, group in group_scores(tallies).items()}
        if self.options.get("format_sensitivity"):
            epochs = score_fields.get("epochs", 1)
            groups = format_sensitivity.compute_form_groups(samples, verdicts, epochs)
        return msgspec.structs.replace(score, groups=groups)

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` makes the expected calls, `null` says nothing, `noop` repeats what it is
        asked."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        entry = dataset.sample_to_entry(sample)
        if sample.metric in MULTI_TURN:
            return conversations.reference_step(entry, transcript)
        if sample.metric in AGENTIC:
            return Completion(text=str((entry.ground_truth or [""])[0]))
        answer = reference_answer(entry, answers.NATIVE)
        if isinstance(answer, str):
            return Completion(text=answer)
        return Completion(tool_calls=answer, finish_reason="tool_calls")

    def episode_from_answer(
        self, sample: Sample, prediction: Any, extra_fields: Mapping[str, Any] = NO_FIELDS
    ) -> Episode:
        mode = str(extra_fields.get("mode", ""))
        return answers.episode_from_prediction(
            sample, self.generation_key(sample), prediction, mode
        )

    def reference_episode(self, sample: Sample) -> Episode:
        entry = dataset.sample_to_entry(sample)
        if sample.metric in MULTI_TURN:
            return self.episode_from_answer(
                sample, [[turn] for turn in conversations.ground_truth(entry)]
            )
        if sample.metric in AGENTIC:
            return self.episode_from_answer(sample, str((entry.ground_truth or [""])[0]))
        answer = self.control(sample, "reference", ())
        calls = [{"name": call.name, "arguments": call.arguments} for call in answer.tool_calls]
        return self.episode_from_answer(sample, calls or answer.text, {"mode": answers.NATIVE})

    def is_decided(self, sample: Sample, verdict: Verdict) -> bool:
        """Flagged entries were published with an answer that no right one can be; they are named. A
        limit of the simulators says nothing of an entry."""
        limited = verdict.details.get("error_type") in conversations.OVERRUNS
        return super().is_decided(sample, verdict) and not limited and "flagged" not in sample.meta

    def validate_references(self, samples: Sequence[Sample]) -> ValidationResult:
        """Make the calls of every conversation: each has to run."""
        issues = (self._failing_call(sample) for sample in samples if sample.metric in MULTI_TURN)
        return [finding for finding in issues if finding], {}

    def _failing_call(self, sample: Sample) -> DatasetIssue | None:
        """The first call of the ground truth that its APIs do not take. Upstream's own entries may
        have one over upstream's APIs, which the official check then expects."""
        entry = dataset.sample_to_entry(sample)
        calls = [call for turn in conversations.ground_truth(entry) for call in turn]
        try:
            results = self._get_simulators().execute(entry, [], calls)
        except (EnvironmentFailure, Overrun) as error:
            problem = f"its calls cannot be run here: {error}"
            return DatasetIssue(sample.key, problem, "ground_truth", kind="unconfirmed")
        for call, result in zip(calls, results, strict=True):
            if result.startswith(FAILED_CALL):
                problem = f"{call[:100]} does not run: {result.removeprefix(FAILED_CALL)[:200]}"
                own = set(list_involved_classes(entry)) <= set(OWN_APIS)
                kind: Literal["contradicted", "unconfirmed"]
                kind = "contradicted" if own else "unconfirmed"
                return DatasetIssue(sample.key, problem, "ground_truth", kind=kind)
        return None

    def gold_field(self, sample: Sample) -> str:
        return "function" if sample.metric in DECODE_ONLY else "ground_truth"

    def close(self) -> None:
        if self._simulators is not None:
            self._simulators.close()

    def _get_simulators(self) -> Simulators:
        if self._simulators is None:
            encoder = find_encoder() if self.options[SIMILARITY] == OFFICIAL else ""
            self._simulators = open_simulators([ROOT / "datasets" / "bfcl"], encoder=encoder)
        return self._simulators


def _find_failure_reason(episode: Episode, scored: ViewResult) -> str:
    if episode.termination in _ENDED:
        return _ENDED[episode.termination]
    return no_answer_reason(episode) if scored.group == "decode" else "wrong_answer"
