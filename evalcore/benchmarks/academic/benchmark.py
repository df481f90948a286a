"""`academic`: tasks of lm-evaluation-harness, asked by our runner and scored by the harness.

The harness builds prompts (in the process that plans a run) and reads answers (in the one that
works on it); what is asked, of whom and how often is ours. A task is a metric. What a run's tasks
are stands in its options, whose derived one names the versions, so that it belongs to the column.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from evalcore.benchmarks.academic.card import AS_CHAT, CARD
from evalcore.benchmarks.academic.code_runs import ProgramRun, run_tests
from evalcore.benchmarks.academic.harness import HarnessProcess
from evalcore.benchmarks.academic.harness_records import (
    CHOICE,
    TEXT,
    BuiltSample,
    BuiltTask,
    ScoreRequest,
    ScoreResult,
    hash_program,
)
from evalcore.benchmarks.academic.profiles import (
    build_task_requests,
    find_profile,
    find_variant,
    is_bundled_task,
)
from evalcore.benchmarks.academic.verdicts import build_verdict
from evalcore.benchmarks.answer_scoring import build_no_answer_verdict, strip_reasoning
from evalcore.benchmarks.base import Benchmark, Context, DatasetSource
from evalcore.catalog import CONTROL_KIND
from evalcore.errors import EnvironmentFailure, TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import (
    Completion,
    Episode,
    Failure,
    GenerationRequest,
    Message,
    Sample,
    Sampling,
    Verdict,
)
from evalcore.sandbox.program import detect_sandbox
from evalcore.settings import load_settings
from evalcore.targets.base import LEAST_LOGPROB, TargetInfo

_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_-]")
_MOST_PROGRAMS = 64  # of one answer
_MOST_STOPS = 4  # that servers take; all are heeded when the answer is read
_ROUNDS = 3  # times that a metric may ask for programs


class Academic(Benchmark):
    """Options: see the card."""

    card = CARD

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises UsageError for a number that is none."""
        super().__init__(options)
        self.options["tasks"] = [name.strip() for name in options["tasks"] if name.strip()]
        for name in ("fewshot", "limit"):
            if options[name] < -1:
                raise UsageError(Note("academic_number", owner=self.key, name=name))

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        """The samples of all tasks; raises UsageError naming a task that cannot be asked, and
        MissingDependency without lm-eval."""
        profile = find_profile(self.options["profile"])
        named = self.options["tasks"] or list(profile.tasks)
        harness = self._create_harness(source.folder, not all(map(is_bundled_task, named)))
        try:
            names = _select_tasks(harness.expand_tasks(named), source.metrics)
            requests = build_task_requests(
                profile, names, self.options["fewshot"], self.options["limit"]
            )
            tasks = [harness.build_task(task, chat=self._is_chat) for task in requests]
        finally:
            harness.close()
        _check_task_keys(tasks)
        self.options["harness"] = _describe_versions(harness.version, tasks)
        return [_to_sample(task, built) for task in tasks for built in task.samples]

    def select_runnable(self, samples: Sequence[Sample]) -> list[Sample]:
        """All of them. Raises UsageError where programs have to be run and cannot be."""
        if any(sample.reference.get("runs_code") for sample in samples):
            support = detect_sandbox()
            if not support.means:
                raise UsageError(Note("academic_sandbox", why=support.explanation))
        return list(samples)

    def check_target(self, samples: Sequence[Sample], info: TargetInfo) -> None:
        """Raises UsageError for tasks whose likelihoods the target cannot tell."""
        if info.likelihoods or info.kind == CONTROL_KIND:
            return
        counts = Counter(s.metric for s in samples if s.input["kind"] == CHOICE)
        if not counts:
            return
        tasks = list(counts)
        variants = [variant for task in tasks if (variant := find_variant(task))]
        remedy = (
            Note("academic_variant", tasks=", ".join(dict.fromkeys(variants)))
            if len(variants) == len(tasks)
            else Note("academic_other_target")
        )
        raise UsageError(
            Note(
                "academic_no_likelihoods",
                target=info.title,
                tasks=", ".join(tasks[:8]),
                remedy=remedy,
            )
        )

    def build_prompt(self, sample: Sample) -> list[Message]:
        turns = sample.input.get("turns")
        if turns:
            return [Message(role, content) for role, content in turns]
        return [Message("user", sample.input["prompt"])]

    def compute_point_weights(
        self, samples: Sequence[Sample], weights: Mapping[str, float]
    ) -> dict[str, float]:
        """Every task of the run weighs 1, unless a person says otherwise."""
        return {sample.metric: weights.get(sample.metric, 1.0) for sample in samples}

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        if sample.input["kind"] == CHOICE:
            return await self._ask_likelihoods(sample, context)
        prompt = self.messages(sample)
        completion = await context.generate(
            GenerationRequest(
                messages=prompt,
                sampling=_read_sampling(sample),
                input=self.request_input(sample),
                is_text=not self._is_chat,
            )
        )
        return Episode(
            key=self.generation_key(sample),
            epoch=context.epoch,
            answer=completion.text,
            messages=(*prompt, Message("assistant", completion.text, completion.reasoning)),
            finish_reason=completion.finish_reason,
        )

    def request_input(self, sample: Sample) -> dict[str, Any]:
        """What applications answer from: the prompt, and which task it is of."""
        return {"benchmark": self.key, "metric": sample.metric, "prompt": sample.input["prompt"]}

    async def _ask_likelihoods(self, sample: Sample, context: Context) -> Episode:
        pairs = _list_pairs(sample)
        completion = await context.generate(
            GenerationRequest(messages=(), continuations=pairs, input=self.request_input(sample))
        )
        measured = [list(each) for each in completion.likelihoods]
        if len(measured) != len(pairs) and (measured or completion.text):
            problem = f"{len(measured)} likelihoods for {len(pairs)} texts"
            raise TargetFailure(Failure("malformed", problem))
        best = max(range(len(measured)), key=lambda n: measured[n][0], default=None)
        answer = "" if best is None else _list_choices(sample)[best]
        return Episode(
            key=self.generation_key(sample),
            epoch=context.epoch,
            answer=answer,
            messages=(*self.build_prompt(sample), Message("assistant", answer)),
            finish_reason=completion.finish_reason,
            state={"likelihoods": measured} if measured else {},
        )

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        """The metric of the task, as the harness computes it."""
        measured = episode.state.get("likelihoods") or []
        if sample.input["kind"] == CHOICE and len(measured) != len(_list_pairs(sample)):
            return build_no_answer_verdict(sample, episode, "checked")
        if sample.input["kind"] == TEXT and episode.finish_reason in (
            "context_overflow",
            "content_filter",
        ):
            return build_no_answer_verdict(sample, episode, _evidence_kind(sample))
        request = _build_score_request(sample, episode.answer, measured)
        scored, runs = await asyncio.to_thread(self._score_answer, request)
        return build_verdict(sample, episode, scored, runs, _evidence_kind(sample))

    def _score_answer(self, request: ScoreRequest) -> tuple[ScoreResult, list[ProgramRun]]:
        """The metrics of an answer, after its programs ran. Raises EnvironmentFailure."""
        harness = self._scoring_harness(request.task)
        runs: list[ProgramRun] = []
        for _ in range(_ROUNDS):
            scored = harness.score_answer(request)
            if not scored.programs:
                return scored, runs
            if len(scored.programs) > _MOST_PROGRAMS:
                break
            results = {text: run_tests(text) for text in dict.fromkeys(scored.programs)}
            runs += results.values()
            known = {hash_program(text): run.passed for text, run in results.items()}
            request = msgspec.structs.replace(request, programs=request.programs | known)
        raise EnvironmentFailure(Note("academic_programs", task=request.task))

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """The right answer, the likelihoods of the right choice, nothing, or the prompt."""
        if kind == "reference" and sample.input["kind"] == CHOICE:
            gold = set(sample.reference["gold"][:1])
            return Completion(
                likelihoods=tuple(
                    (0.0, True) if number in gold else (LEAST_LOGPROB, False)
                    for number in range(len(_list_pairs(sample)))
                )
            )
        if kind == "reference":
            return Completion(text=str(sample.reference["answer"]))
        is_text = sample.input["kind"] == TEXT
        return Completion(text=sample.input["prompt"] if kind == "noop" and is_text else "")

    def reference_episode(self, sample: Sample) -> Episode:
        right = self.control(sample, "reference", ())
        episode = self.episode_from_answer(sample, right.text)
        likelihoods = [list(each) for each in right.likelihoods]
        return msgspec.structs.replace(episode, state={"likelihoods": likelihoods})

    def close(self) -> None:
        for harness in self._harnesses.values():
            harness.close()
        self._harnesses.clear()

    @property
    def _is_chat(self) -> bool:
        return bool(self.options["form"] == AS_CHAT)

    @cached_property
    def _harnesses(self) -> dict[bool, HarnessProcess]:
        return {}

    def _scoring_harness(self, task: str) -> HarnessProcess:
        """The process that scores answers to a task; lm-eval's own tasks take longer to list."""
        defaults = not is_bundled_task(task)
        if defaults not in self._harnesses:
            folder = Path(load_settings().datasets) / CARD.dataset
            self._harnesses[defaults] = self._create_harness(folder, defaults)
        return self._harnesses[defaults]

    def _create_harness(self, folder: Path, defaults: bool) -> HarnessProcess:
        own = Path(self.options["folder"]).expanduser() if self.options["folder"] else None
        if own is not None and not own.is_dir():
            raise UsageError(Note("academic_no_folder", owner=self.key, folder=own))
        return HarnessProcess([folder, *([own] if own else [])], defaults=defaults)


def _select_tasks(names: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Those of the tasks that a run chose as metrics; all where it chose none."""
    return [name for name in names if not metrics or _to_metric_key(name) in metrics]


def _check_task_keys(tasks: Sequence[BuiltTask]) -> None:
    counts = Counter(_to_metric_key(task.name) for task in tasks)
    twice = [key for key, count in counts.items() if count > 1]
    if twice:
        raise UsageError(Note("academic_same_name", twice=twice[0]))


def _to_metric_key(name: str) -> str:
    """A task's name as the key of a metric."""
    key = _NOT_IN_KEYS.sub("_", name)
    return (key if key[:1].isalpha() else f"task_{key}")[:64]


def _describe_versions(version: str, tasks: Sequence[BuiltTask]) -> str:
    """The harness and the tasks of a run, as they belong to its column."""
    listed = ", ".join(
        f"{task.name} {task.version} ({task.fewshot}-shot, {task.metric})" for task in tasks
    )
    return f"lm-eval {version}: {listed}"


def _to_sample(task: BuiltTask, built: BuiltSample) -> Sample:
    """A sample: what is asked is its input, the document and how it is scored its reference."""
    question: dict[str, Any] = {"kind": task.kind, "prompt": _show_prompt(built)}
    if task.kind == TEXT:
        question |= {
            "until": list(built.until),
            "max_tokens": built.max_tokens,
            "temperature": built.temperature,
            **({"top_p": built.top_p} if built.top_p is not None else {}),
            **({"turns": [list(turn) for turn in built.turns]} if built.turns else {}),
        }
    else:
        question["texts"] = [text for _, text in built.pairs]
        contexts = [context for context, _ in built.pairs]
        if any(context != question["prompt"] for context in contexts):
            question["contexts"] = contexts
        question["choices"] = list(built.choices)
    reference = {
        "task": task.name,
        "metric": task.metric,
        "number": built.number,
        "doc": built.doc,
        "multiple_input": task.multiple_input,
        "multiple_target": task.multiple_target,
        **({"runs_code": True} if task.runs_code else {}),
        **({"gold": list(built.gold)} if task.kind == CHOICE else {"answer": built.reference}),
    }
    return Sample(
        metric=_to_metric_key(task.name),
        id=str(built.number),
        input=question,
        reference=reference,
        meta={"gated": True} if task.gated else {},
    )


def _show_prompt(built: BuiltSample) -> str:
    if built.turns:
        return "\n\n".join(content for _, content in built.turns)
    return built.pairs[0][0] if built.pairs else built.prompt


def _list_pairs(sample: Sample) -> tuple[tuple[str, str], ...]:
    texts = sample.input["texts"]
    contexts = sample.input.get("contexts") or [sample.input["prompt"]] * len(texts)
    return tuple(zip(contexts, texts, strict=True))


def _list_choices(sample: Sample) -> list[str]:
    """The choices as people read them; of those without names, the texts."""
    texts, choices = sample.input["texts"], sample.input.get("choices") or []
    named = choices if len(choices) >= len(texts) else [*choices, *texts[len(choices) :]]
    return [str(choice) for choice in named]


def _read_sampling(sample: Sample) -> Sampling:
    return Sampling(
        temperature=sample.input["temperature"],
        top_p=sample.input.get("top_p"),
        max_tokens=sample.input["max_tokens"],
        stop=tuple(text for text in sample.input["until"] if text)[:_MOST_STOPS],
    )


def _build_score_request(
    sample: Sample, answer: str, measured: Sequence[Sequence[Any]]
) -> ScoreRequest:
    reference = sample.reference
    is_text = sample.input["kind"] == TEXT
    return ScoreRequest(
        task=reference["task"],
        kind=sample.input["kind"],
        metric=reference["metric"],
        number=reference["number"],
        doc=reference["doc"],
        responses=(_cut_answer(answer, sample.input["until"]),) if is_text else (),
        likelihoods=() if is_text else tuple((float(p), bool(g)) for p, g in measured),
        multiple_input=reference["multiple_input"],
        multiple_target=reference["multiple_target"],
    )


def _cut_answer(answer: str, until: Sequence[str]) -> str:
    """The answer without its reasoning, up to the first of the texts that end it."""
    text = strip_reasoning(answer)
    for end in until:
        if end:
            text = text.split(end)[0]
    return text


def _evidence_kind(sample: Sample) -> Any:
    return "executed" if sample.reference.get("runs_code") else "checked"
