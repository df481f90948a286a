"""The benchmark `tau_bench`: an agent serves a simulated user through tools, and the control that
knows the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

from evalcore.benchmarks import agents
from evalcore.benchmarks.agents import Style
from evalcore.benchmarks.base import Context, DatasetSource, ValidationResult, user_role
from evalcore.benchmarks.tau_bench import dataset, score
from evalcore.benchmarks.tau_bench.card import CARD
from evalcore.benchmarks.tau_bench.conversation import TRANSFER, USER_STOP, Conversation
from evalcore.benchmarks.tau_bench.dataset import confirm_actions
from evalcore.benchmarks.tau_bench.environment import Action, Domain, Environment, Task
from evalcore.benchmarks.tau_bench.official import (
    OfficialConversation,
    TauTexts,
    build_agent_prompt,
)
from evalcore.benchmarks.tau_bench.state_rows import DONE_TEXT, STATE, StateUserSimulator
from evalcore.benchmarks.tau_bench.user_benchmark import UserBenchmark, build_conversation_episode
from evalcore.benchmarks.tau_bench.user_simulators import (
    LLMUserSimulator,
    RuleUserSimulator,
    UserSimulator,
)
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import (
    Completion,
    Episode,
    GenerationRequest,
    Message,
    Sample,
    Sampling,
    ToolCall,
    Verdict,
)

_WAITS = "Is there anything else?"


def reference_step(domain: Domain, task: Task, transcript: Sequence[Message]) -> Completion:
    """What it does next. A call that ends the conversation comes last, after what is said."""
    ending = {tool.name for tool in domain.tools if tool.terminates}
    calls = [action for action in task.actions if action.name not in ending]
    call_index = sum(len(message.tool_calls) for message in transcript)
    if call_index < len(calls):
        return _build_call_completion(calls[call_index], call_index)
    has_spoken = any(message.role == "assistant" and message.content for message in transcript)
    last = [action for action in task.actions if action.name in ending]
    if task.outputs and not has_spoken:
        return Completion(text="\n".join(task.outputs))
    if last:
        return _build_call_completion(last[0], call_index)
    return Completion(text=DONE_TEXT if domain.says_done else _WAITS)


def reference_prediction(domain: Domain, task: Task) -> dict[str, object]:
    """The same as an answer that is there already."""
    ending = {tool.name for tool in domain.tools if tool.terminates}
    calls = [action for action in task.actions if action.name not in ending]
    actions = [{"name": action.name, "kwargs": action.kwargs} for action in calls]
    return {"actions": actions, "says": list(task.outputs)}


def _build_call_completion(action: Action, number: int) -> Completion:
    call = ToolCall(f"call_{number}", action.name, json.dumps(action.kwargs, ensure_ascii=False))
    return Completion(tool_calls=(call,), finish_reason="tool_calls")


#: The ways of asking as all benchmarks with calls name them.
CALL_MODES: Mapping[Style, str] = MappingProxyType(
    {"native": "fc", "json": "prompt_name_arguments", "react": "react"}
)


class TauBench(UserBenchmark):
    """Options: see the card. The rule user plays what has slots, a model any task."""

    card = CARD

    @cached_property
    def _texts(self) -> TauTexts:
        return self.official_texts.read_as(TauTexts)

    @property
    def sampling(self) -> Sampling:
        if not self.is_official:
            return super().sampling
        return Sampling(temperature=self._texts.temperature)

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load_tau_samples(source, self.options["domain"], self.options["split"])

    def select_runnable(self, samples: Sequence[Sample]) -> list[Sample]:
        """With the rule user only the tasks whose wishes it can know; a split that was named has
        to be of such tasks altogether."""
        if self.is_official and any(STATE in sample.reference for sample in samples):
            raise UsageError(Note("tau_official_tasks"))
        playable = [
            sample for sample in samples if self.simulated_users() or _is_rule_playable(sample)
        ]
        self.check_playable(samples, playable)
        return playable

    def build_prompt(self, sample: Sample, style: Style = "json") -> list[Message]:
        """The system message; the user's first line follows when the episode begins."""
        domain = dataset.load_sample_domain(sample)
        if self.is_official:
            return [Message("system", build_agent_prompt(self._texts, domain, style))]
        return [Message("system", domain.policy + agents.describe_tools(domain.tools, style))]

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        style = agents.choose_style(await context.resolve_tool_call_mode(), self.options["style"])
        user, domain = (
            self._build_user_simulator(sample, context),
            dataset.load_sample_domain(sample),
        )
        first = Message("user", await user.open())
        opening = self.apply_prompt_template([*self.build_prompt(sample, style), first])
        ask = partial(self._ask_target, sample, context, domain, style)
        conversation = (
            OfficialConversation(self._texts, domain, user, ask, style)
            if self.is_official
            else Conversation(Environment(domain), user, ask, style, self._budgets)
        )
        result = await conversation.play(opening)
        return build_conversation_episode(
            self.generation_key(sample),
            context.epoch,
            CALL_MODES[style],
            result,
            result.actions,
            (USER_STOP, TRANSFER),
        )

    async def _ask_target(
        self,
        sample: Sample,
        context: Context,
        domain: Domain,
        style: Style,
        messages: Sequence[Message],
    ) -> tuple[Completion, float | None]:
        tools: tuple[dict[str, Any], ...] = ()
        if style == "native":
            tools = (
                tuple(self._texts.list_tool_schemas(domain.name))
                if self.is_official
                else agents.build_tool_schemas(domain.tools)
            )
        request = GenerationRequest(
            messages=tuple(messages),
            tools=tools,
            sampling=self.sampling,
            input=self.request_input(sample),
        )
        return await generate_with_price(context, "target", request)

    def _build_user_simulator(self, sample: Sample, context: Context) -> UserSimulator:
        task = dataset.to_task(sample)
        for model in self.simulated_users():
            ask_user = partial(generate_with_price, context, user_role(model))
            if self.is_official:
                prompt = self._texts.build_user_prompt(task.instruction)
                return LLMUserSimulator(task, ask_user, prompt, self._texts.greeting)
            return LLMUserSimulator(task, ask_user)
        if STATE in sample.reference:
            return StateUserSimulator(task.instruction)
        return RuleUserSimulator(task, context.seed + context.epoch)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        substring = self.is_official or self.options["outputs"] == "substring"
        return score.build_tau_verdict(
            sample, episode, substring=substring, checks_types=not self.is_official
        )

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` makes the true calls and says what is asked, `null` says nothing, `noop`
        repeats what it is told."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        return reference_step(
            dataset.load_sample_domain(sample), dataset.to_task(sample), transcript
        )

    def reference_episode(self, sample: Sample) -> Episode:
        task, domain = dataset.to_task(sample), dataset.load_sample_domain(sample)
        return self.episode_from_answer(sample, reference_prediction(domain, task))

    def validate_references(self, samples: Sequence[Sample]) -> ValidationResult:
        """Replay the ground truth: all of its calls have to run."""
        return [finding for sample in samples for finding in confirm_actions(sample)], {}

    def gold_field(self, sample: Sample) -> str:
        return "actions"


async def generate_with_price(
    context: Context, role: str, request: GenerationRequest
) -> tuple[Completion, float | None]:
    answer = await context.generate(request, role)
    return answer, context.price(role, answer.usage)


def _is_rule_playable(sample: Sample) -> bool:
    if STATE in sample.reference:
        return True
    try:
        RuleUserSimulator(dataset.to_task(sample), 0)
    except UsageError:
        return False
    return True
