"""The benchmark `tau_bench`: an agent serves a simulated user through tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from evalcore.benchmarks import agents
from evalcore.benchmarks.agents import Style
from evalcore.benchmarks.base import Benchmark, Context, DatasetIssue, DatasetSource, user_role
from evalcore.benchmarks.tau_bench import controls, dataset, pass_k, score
from evalcore.benchmarks.tau_bench.budgets import TRANSFER, USER_STOP, budgets_of
from evalcore.benchmarks.tau_bench.card import CARD
from evalcore.benchmarks.tau_bench.confirm import confirm_actions
from evalcore.benchmarks.tau_bench.environment import Domain
from evalcore.benchmarks.tau_bench.episode import Conversation, Played
from evalcore.benchmarks.tau_bench.speakers import ModelSpeaker, RuleSpeaker, Speaker
from evalcore.errors import UsageError
from evalcore.records import (
    BenchmarkScore,
    Completion,
    Episode,
    GenerationRequest,
    Message,
    Sample,
    Verdict,
)

#: The ways of asking as all benchmarks with calls name them.
_MODES: Mapping[Style, str] = MappingProxyType(
    {"native": "fc", "json": "prompt_name_arguments", "react": "react"}
)


class TauBench(Benchmark):
    """Options: see the card. The rule user plays what has slots, a model any task."""

    card = CARD
    confirms_gold = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises UsageError for a limit that is none."""
        super().__init__(options)
        self._budgets = budgets_of(options)

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load(source, self.options["domain"], self.options["split"])

    def simulated_users(self) -> tuple[str, ...]:
        if not self.options["use_llm_user"]:
            return ()
        model = self.options["user_model"]
        if not model:
            raise UsageError(
                "option tau_bench.use_llm_user needs tau_bench.user_model, for example openai:MODEL"
            )
        return (model,)

    def select_runnable(self, samples: Sequence[Sample]) -> list[Sample]:
        """With the rule user only the tasks whose wishes it can know; a split that was named has
        to be of such tasks altogether."""
        playable = [one for one in samples if self.simulated_users() or _has_rules(one)]
        left = len(samples) - len(playable)
        if left and (self.options["split"] or not playable):
            raise UsageError(
                f"{left} of {len(samples)} tasks are free prose, which the rule user cannot play; "
                "set tau_bench.use_llm_user=true and tau_bench.user_model, or another split"
            )
        return playable

    def build_prompt(self, sample: Sample, style: Style = "json") -> list[Message]:
        """The system message; the user's first line follows when the episode begins."""
        return [Message("system", _instructions(dataset.domain_of(sample), style))]

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        style = agents.choose_style(await context.resolve_tool_call_mode(), self.options["style"])
        user, domain = self._speaker(sample, context), dataset.domain_of(sample)
        first = Message("user", await user.open())
        opening = self.apply_prompt_template([*self.build_prompt(sample, style), first])
        ask = partial(self._ask, sample, context, domain, style)
        played = await Conversation(domain, user, ask, style, self._budgets).play(opening)
        return _episode(self.generation_key(sample), context.epoch, style, played)

    async def _ask(
        self,
        sample: Sample,
        context: Context,
        domain: Domain,
        style: Style,
        messages: Sequence[Message],
    ) -> tuple[Completion, float | None]:
        request = GenerationRequest(
            messages=tuple(messages),
            tools=agents.build_tool_schemas(domain.tools) if style == "native" else (),
            input=self.request_input(sample),
        )
        return await _answered(context, "target", request)

    def _speaker(self, sample: Sample, context: Context) -> Speaker:
        task = dataset.task_of(sample)
        for model in self.simulated_users():
            return ModelSpeaker(task, partial(_answered, context, user_role(model)))
        return RuleSpeaker(task, context.seed + context.epoch)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        return score.verdict(sample, episode, substring=self.options["outputs"] == "substring")

    def aggregate(
        self,
        samples: Sequence[Sample],
        verdicts: Sequence[Verdict],
        weights: Mapping[str, float],
        **score_fields: Any,
    ) -> BenchmarkScore:
        """The score, with pass^k and the score of doing nothing as its groups."""
        found = super().aggregate(samples, verdicts, weights, **score_fields)
        groups = pass_k.groups(samples, verdicts, score_fields.get("epochs", 1))
        return msgspec.structs.replace(found, groups=groups)

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` makes the true calls and says what is asked, `null` says nothing, `noop`
        repeats what it is told."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        return controls.reference_step(
            dataset.domain_of(sample), dataset.task_of(sample), transcript
        )

    def episode_from_answer(
        self,
        sample: Sample,
        prediction: Any,
        extra_fields: Mapping[str, Any] = MappingProxyType({}),
    ) -> Episode:
        state = score.state_of(prediction)
        says = state["says"]
        return Episode(
            key=self.generation_key(sample),
            epoch=0,
            answer=says[-1] if says else "",
            state=state,
        )

    def reference_episode(self, sample: Sample) -> Episode:
        task, domain = dataset.task_of(sample), dataset.domain_of(sample)
        return self.episode_from_answer(sample, controls.reference_prediction(domain, task))

    def validate_references(
        self, samples: Sequence[Sample]
    ) -> tuple[list[DatasetIssue], dict[str, str]]:
        """Replay the ground truth: all of its calls have to run."""
        return [finding for sample in samples for finding in confirm_actions(sample)], {}

    def gold_field(self, sample: Sample) -> str:
        return "actions"


async def _answered(
    context: Context, role: str, request: GenerationRequest
) -> tuple[Completion, float | None]:
    """The answer and its price."""
    answer = await context.generate(request, role)
    return answer, context.price(role, answer.usage)


def _instructions(domain: Domain, style: Style) -> str:
    """The policy, and the tools unless they are offered natively."""
    return domain.policy + agents.describe_tools(domain.tools, style)


def _has_rules(sample: Sample) -> bool:
    try:
        RuleSpeaker(dataset.task_of(sample), 0)
    except UsageError:
        return False
    return True


def _episode(key: str, epoch: int, style: Style, played: Played) -> Episode:
    ended = played.ended
    return Episode(
        key=key,
        epoch=epoch,
        answer=played.says[-1] if played.says else "",
        messages=played.messages,
        finish_reason=played.finish_reason,
        termination="" if ended in (USER_STOP, TRANSFER) else ended,
        state={
            "mode": _MODES[style],
            "actions": list(played.actions),
            "says": list(played.says),
            "ended": ended,
            "parse_errors": played.spent.max_parse_errors,
            "user": played.user,
        },
    )
