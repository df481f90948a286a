"""The benchmark `swe_bench`: a patch for an issue, applied and tested."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalcore import settings
from evalcore.benchmarks.agent_loop import Tools, run_agent, run_in_thread
from evalcore.benchmarks.base import (
    NO_FIELDS,
    Benchmark,
    Context,
    DatasetIssue,
    DatasetSource,
    ValidationResult,
)
from evalcore.benchmarks.call_decoding.call import replace_surrogates
from evalcore.benchmarks.swe_bench import Task, agent_tools, dataset, prompts
from evalcore.benchmarks.swe_bench.card import CARD
from evalcore.benchmarks.swe_bench.checkout import (
    find_task_python,
    inspect_interpreter,
    temporary_checkout,
)
from evalcore.benchmarks.swe_bench.evaluate_patch import (
    evaluate_answer,
    evaluate_with_harness,
    evaluate_without_running,
    extract_answer,
)
from evalcore.benchmarks.swe_bench.harness_preflight import run_preflight
from evalcore.benchmarks.swe_bench.verdict import (
    build_swe_verdict,
    compute_group_means,
    split_unusable,
)
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Completion, Episode, Message, Sample, Sampling, Verdict
from evalcore.results import BenchmarkScore
from evalcore.sandbox.filesystem import read_inside
from evalcore.sandbox.program import detect_sandbox

_MAX_STEPS = 250
_MAX_FILE_BYTES = 2 << 20  # bytes of a file in a prompt


class SweBench(Benchmark):
    """Options: see the card."""

    card = CARD
    confirms_gold = True
    checked_at_once = 1

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises UsageError for a limit that is none."""
        super().__init__(options)
        if not 1 <= options["max_steps"] <= _MAX_STEPS:
            raise UsageError(Note("swe_max_steps", most=_MAX_STEPS))
        asked = (prompts.AUTO, prompts.FILES, prompts.TEXT)
        if self.is_official and options["prompt_style"] not in asked:
            raise UsageError(Note("swe_prompt_style", text=asked))
        if options["context_lines"] < 0:
            raise UsageError(Note("swe_context_lines"))

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        samples = dataset.load_swe_samples(source, find_prepared("repositories"))
        return dataset.filter_difficulties(samples, self.options["difficulties"])

    def select_runnable(self, samples: Sequence[Sample]) -> list[Sample]:
        """All of them; a style needs what it shows, and an agent a host that can run programs."""
        if self._prompt_style == prompts.AUTO:  # what it is belongs to the column
            self.options["prompt_style"] = prompts.resolve_auto_style(
                list(map(dataset.to_swe_task, samples))
            )
        needed = {prompts.FILES: "repository", prompts.AGENT: "repository", prompts.TEXT: "text"}
        field = needed.get(self._prompt_style, "")
        lacking = [s for s in samples if field and not getattr(dataset.to_swe_task(s), field)]
        if lacking:
            raise UsageError(
                Note(
                    "swe_no_field",
                    lacking=len(lacking),
                    count=len(samples),
                    field=field,
                    style=self._prompt_style,
                )
            )
        support = detect_sandbox() if self._prompt_style == prompts.AGENT else None
        if support and not support.means:
            why = support.explanation
            raise UsageError(Note("swe_programs", problem=why))
        if self.options["full_eval"]:
            tasks = [dataset.to_swe_task(sample) for sample in samples]
            checks = run_preflight(tasks, Path(tempfile.gettempdir()))
            failed = [check for check in checks if check.needed and not check.ok]
            if failed:
                problems = "; ".join(f"{check.problem} ({check.fix})" for check in failed)
                raise UsageError(Note("swe_full_eval", problem=problems))
        return list(samples)

    @property
    def _prompt_style(self) -> str:
        return str(self.options["prompt_style"])

    @property
    def sampling(self) -> Sampling:
        if not self.is_official:
            return super().sampling
        texts = self.official_texts.read_as(prompts.SweTexts)
        return Sampling(temperature=texts.temperature, top_p=texts.top_p)

    def build_prompt(self, sample: Sample) -> list[Message]:
        task = dataset.to_swe_task(sample)
        if self.is_official:
            texts = self.official_texts.read_as(prompts.SweTexts)
            readmes, shown = ({}, {}) if task.text else _read_official_files(task)
            return prompts.build_official_messages(task, texts, readmes, shown)
        style = self._prompt_style
        style = prompts.resolve_auto_style([task]) if style == prompts.AUTO else style
        files = _read_original_files(task) if style == prompts.FILES else {}
        return prompts.build_swe_messages(task, style, files, self.options["context_lines"])

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        if self._prompt_style != prompts.AGENT:
            return await super().run_sample(sample, context)
        task = dataset.to_swe_task(sample)
        python = inspect_interpreter(_select_task_python(task))
        with agent_tools.AgentWorkspace(task, python) as workspace:
            tools = Tools(agent_tools.TOOLS, workspace.call, agent_tools.SUBMIT)
            result = await run_agent(self, sample, context, tools, self.options["max_steps"])
            patch = replace_surrogates(await run_in_thread(workspace.build_patch))
        return Episode(
            key=self.generation_key(sample),
            epoch=context.epoch,
            answer=result.last_text,
            messages=result.messages,
            finish_reason=result.finish_reason,
            termination=result.ended,
            state={
                "patch": patch,
                "calls": list(result.calls),
                "call_readings": result.call_readings,
            },
        )

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        task, answer = dataset.to_swe_task(sample), extract_answer(episode)
        if self.options["full_eval"]:
            evaluation = await run_in_thread(partial(evaluate_with_harness, task, answer))
        elif task.repository:
            python = _select_task_python(task)
            evaluation = await run_in_thread(partial(evaluate_answer, task, answer, python))
        else:
            evaluation = evaluate_without_running(task, answer)
        return build_swe_verdict(sample, episode, task, evaluation, official=self.is_official)

    def aggregate(
        self,
        samples: Sequence[Sample],
        verdicts: Sequence[Verdict],
        weights: Mapping[str, float],
        **score_fields: Any,
    ) -> BenchmarkScore:
        """The score over the tasks that are usable here, and the measures beside it. A task that is
        not usable counts neither for nor against; what is left is then not the full set, so that it
        stands on no full board."""
        usable, unusable = split_unusable(samples, verdicts)
        if unusable:
            label = f"{score_fields.get('label', '')} · {len(unusable)} unusable"
            score_fields |= {"full": False, "label": label}
        score = super().aggregate(usable, verdicts, weights, **score_fields)
        return msgspec.structs.replace(score, groups=compute_group_means(usable, verdicts))

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` answers with the true patch, `null` with nothing, `noop` with what it is
        asked. As an agent, `reference` applies the true patch with its tools."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        if self._prompt_style == prompts.AGENT:
            return agent_tools.build_reference_step(dataset.to_swe_task(sample), transcript)
        return Completion(text=f"```diff\n{sample.reference['patch']}```\n")

    def episode_from_answer(
        self, sample: Sample, prediction: Any, extra_fields: Mapping[str, Any] = NO_FIELDS
    ) -> Episode:
        """Build an episode: text goes through extraction, {"model_patch": ...} is used as it is."""
        if isinstance(prediction, dict) and "model_patch" in prediction:
            patch = prediction["model_patch"] or ""
            if not isinstance(patch, str):
                raise UsageError(Note("swe_patch_text"))
            return Episode(key=self.generation_key(sample), epoch=0, state={"patch": patch})
        return super().episode_from_answer(sample, prediction, extra_fields)

    def reference_episode(self, sample: Sample) -> Episode:
        return self.episode_from_answer(sample, {"model_patch": sample.reference["patch"]})

    def validate_dataset(self, samples: Sequence[Sample]) -> ValidationResult:
        """As every benchmark does, by our own runs: the true patch has to apply and to resolve the
        task, and no patch must not. The official harness is asked in a run only."""
        if not self.options["full_eval"]:
            return super().validate_dataset(samples)
        problem = "the official harness decides when it is run"
        return [
            DatasetIssue(sample.key, problem, "patch", kind="unconfirmed") for sample in samples
        ], {}

    def is_decided(self, sample: Sample, verdict: Verdict) -> bool:
        return super().is_decided(sample, verdict) or bool(verdict.details.get("contradicted"))

    def gold_field(self, sample: Sample) -> str:
        return "patch"


def find_prepared(part: Literal["repositories", "environments"]) -> str:
    """The folder that a setting names, else what was prepared in the data folder; "" for none."""
    loaded = settings.load_settings()
    prepared = loaded.data_dir / CARD.key / part
    return getattr(loaded, f"swe_{part}") or (str(prepared) if prepared.is_dir() else "")


def _select_task_python(task: Task) -> Path | None:
    """The interpreter with what a task needs, None for the running one."""
    folder = find_prepared("environments")
    return find_task_python(task, Path(folder)) if folder else None


@lru_cache(maxsize=256)
def _read_official_files(task: Task) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The README files of the repository, and the files that the true patch changes, as upstream
    reads texts: every line ends alike."""
    with temporary_checkout(task) as tree:
        names = sorted(path.name for path in tree.iterdir() if path.is_file())
        readmes = [name for name in names if name.lower().startswith("readme")]
        texts = [
            {name: _read_plain_text(tree, name) for name in group}
            for group in (readmes, prompts.list_touched_files(task))
        ]
        return texts[0], texts[1]


def _read_plain_text(tree: Path, name: str) -> str:
    text = read_inside(tree, name, _MAX_FILE_BYTES).decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


@lru_cache(maxsize=256)
def _read_original_files(task: Task) -> Mapping[str, str]:
    """The files that the true patch changes, as they were."""
    with temporary_checkout(task) as tree:
        return {
            path: read_inside(tree, path, _MAX_FILE_BYTES).decode("utf-8", "replace")
            for path in prompts.list_touched_files(task)
        }
