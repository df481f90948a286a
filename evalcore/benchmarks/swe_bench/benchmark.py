"""The benchmark `swe_bench`: a patch for an issue, applied and tested."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from evalcore import settings
from evalcore.benchmarks.agents.alone import Tools, work
from evalcore.benchmarks.agents.loop import Worked
from evalcore.benchmarks.agents.turn import clean
from evalcore.benchmarks.base import Benchmark, Context, DatasetSource, Finding
from evalcore.benchmarks.beside import beside
from evalcore.benchmarks.swe_bench import dataset, prompts, workbench
from evalcore.benchmarks.swe_bench.aggregate import groups, split_unusable
from evalcore.benchmarks.swe_bench.card import CARD
from evalcore.benchmarks.swe_bench.examination import (
    answer_of,
    examine,
    examine_officially,
    unexecuted,
)
from evalcore.benchmarks.swe_bench.execution.checkout import checkout
from evalcore.benchmarks.swe_bench.execution.interpreter import environment_of, interpreter
from evalcore.benchmarks.swe_bench.harness.preflight import preflight
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.benchmarks.swe_bench.verdict import verdict_on
from evalcore.errors import UsageError
from evalcore.records import (
    BenchmarkScore,
    Completion,
    Episode,
    Message,
    Sample,
    Verdict,
)
from evalcore.sandbox.ability import ability
from evalcore.sandbox.folder import read_inside, remove

_MOST_STEPS = 250
_LARGEST = 2 << 20  # bytes of a file in a prompt


class SweBench(Benchmark):
    """Options: see the card."""

    card = CARD
    confirms_gold = True
    checked_at_once = 1

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises UsageError for a limit that is none."""
        super().__init__(options)
        if not 1 <= options["max_steps"] <= _MOST_STEPS:
            raise UsageError(f"option swe_bench.max_steps: give 1 to {_MOST_STEPS}")
        if options["context_lines"] < 0:
            raise UsageError("option swe_bench.context_lines: give 0 or more lines")

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        samples = dataset.load(source, settings.load_settings().swe_repositories)
        return dataset.of_difficulties(samples, self.options["difficulties"])

    def to_run(self, samples: Sequence[Sample]) -> list[Sample]:
        """All of them; a style needs what it shows, and an agent a host that can run programs."""
        if self._style == prompts.AUTO:  # what it is belongs to the column
            self.options["prompt_style"] = prompts.style_of(list(map(dataset.task_of, samples)))
        needed = {prompts.FILES: "repository", prompts.AGENT: "repository", prompts.TEXT: "text"}
        field = needed.get(self._style, "")
        lacking = [s for s in samples if field and not getattr(dataset.task_of(s), field)]
        if lacking:
            raise UsageError(
                f"{len(lacking)} of {len(samples)} tasks have no {field} for the prompt style "
                f"{self._style}; set swe_bench.prompt_style=issue_only, or name a folder of "
                "repositories in the setting swe_repositories"
            )
        if self._style == prompts.AGENT and not ability().means:
            why = f"{ability().problem} {ability().fix}"
            raise UsageError(f"swe_bench.prompt_style=agent runs programs: {why}")
        if self.options["full_eval"]:
            _check_harness([dataset.task_of(sample) for sample in samples])
        return list(samples)

    @property
    def _style(self) -> str:
        return str(self.options["prompt_style"])

    def build_prompt(self, sample: Sample) -> list[Message]:
        task = dataset.task_of(sample)
        style = prompts.style_of([task]) if self._style == prompts.AUTO else self._style
        files = _old_files(task) if style == prompts.FILES else {}
        return prompts.messages(task, style, files, self.options["context_lines"])

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        if self._style != prompts.AGENT:
            return await super().run_sample(sample, context)
        task = dataset.task_of(sample)
        with workbench.Workbench(task, interpreter(_python(task))) as bench:
            tools = Tools(workbench.TOOLS, bench.call, workbench.SUBMIT)
            worked = await work(self, sample, context, tools, self.options["max_steps"])
            patch = clean(await beside(bench.patch))
        return _episode(self.generation_key(sample), context.epoch, worked, patch)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        task, answer = dataset.task_of(sample), answer_of(episode)
        if self.options["full_eval"]:
            found = await beside(partial(examine_officially, task, answer))
        elif task.repository:
            found = await beside(partial(examine, task, answer, _python(task)))
        else:
            found = unexecuted(task, answer)
        return verdict_on(sample, episode, task, found)

    def aggregate(
        self,
        samples: Sequence[Sample],
        verdicts: Sequence[Verdict],
        weights: Mapping[str, float],
        **about: Any,
    ) -> BenchmarkScore:
        """The score over the tasks that are usable here, and the measures beside it.

        A task that is not usable counts neither for nor against; what is left is then not the full
        set, so that it stands on no full board.
        """
        usable, unusable = split_unusable(samples, verdicts)
        if unusable:
            label = f"{about.get('label', '')} · {len(unusable)} unusable"
            about |= {"full": False, "label": label}
        found = super().aggregate(usable, verdicts, weights, **about)
        return msgspec.structs.replace(found, groups=groups(usable, verdicts))

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` answers with the true patch, `null` with nothing, `noop` with what it is
        asked. As an agent, `reference` applies the true patch with its tools."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        if self._style == prompts.AGENT:
            return workbench.reference_step(dataset.task_of(sample), transcript)
        return Completion(text=f"```diff\n{sample.reference['patch']}```\n")

    def episode_of(
        self, sample: Sample, prediction: Any, given: Mapping[str, Any] = MappingProxyType({})
    ) -> Episode:
        """A text goes through extraction; {"model_patch": ...} is taken as it stands."""
        if isinstance(prediction, dict) and "model_patch" in prediction:
            patch = prediction["model_patch"] or ""
            if not isinstance(patch, str):
                raise UsageError("model_patch must be a text")
            return Episode(key=self.generation_key(sample), epoch=0, state={"patch": patch})
        return super().episode_of(sample, prediction, given)

    def reference_episode(self, sample: Sample) -> Episode:
        return self.episode_of(sample, {"model_patch": sample.reference["patch"]})

    def check(self, samples: Sequence[Sample]) -> tuple[list[Finding], dict[str, str]]:
        """As every benchmark does, by our own runs: the true patch has to apply and to resolve the
        task, and no patch must not. The official harness is asked in a run only."""
        if not self.options["full_eval"]:
            return super().check(samples)
        problem = "the official harness decides when it is run"
        return [Finding(one.key, problem, "patch", kind="unconfirmed") for one in samples], {}

    def is_decided(self, sample: Sample, verdict: Verdict) -> bool:
        return super().is_decided(sample, verdict) or bool(verdict.details.get("contradicted"))

    def gold_field(self, sample: Sample) -> str:
        return "patch"


def _check_harness(tasks: Sequence[Task]) -> None:
    """Raises UsageError naming all that the official harness lacks here, with what to do."""
    checks = preflight(tasks, Path(tempfile.gettempdir()))
    lacking = [f"{one.problem} ({one.fix})" for one in checks if one.needed and not one.ok]
    if lacking:
        raise UsageError("option swe_bench.full_eval: " + "; ".join(lacking))


def _python(task: Task) -> Path | None:
    """The interpreter with what a task needs, None for the running one."""
    folder = settings.load_settings().swe_environments
    return environment_of(task, Path(folder)) if folder else None


@lru_cache(maxsize=256)
def _old_files(task: Task) -> Mapping[str, str]:
    """The files that the true patch changes, as they were."""
    folder = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
    try:
        tree = checkout(task, folder / "tree")
        paths = prompts.touched(task)
        return {
            path: read_inside(tree, path, _LARGEST).decode("utf-8", "replace") for path in paths
        }
    finally:
        remove(folder)


def _episode(key: str, epoch: int, worked: Worked, patch: str) -> Episode:
    return Episode(
        key=key,
        epoch=epoch,
        answer=worked.said,
        messages=worked.messages,
        finish_reason=worked.finish_reason,
        termination=worked.ended,
        state={"patch": patch, "calls": list(worked.calls)},
    )
