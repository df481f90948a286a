"""The benchmark `tau2_bench`: an agent serves a user who may act too, and the control that knows
the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from evalcore.benchmarks import agents
from evalcore.benchmarks.agents import Style
from evalcore.benchmarks.base import Context, DatasetSource, ValidationResult, user_role
from evalcore.benchmarks.tau2_bench import dataset, score
from evalcore.benchmarks.tau2_bench.card import BANK, CARD, RETRIEVALS
from evalcore.benchmarks.tau2_bench.environment.tasks import BROKEN_START, Task
from evalcore.benchmarks.tau2_bench.environment.world import Environment, Requestor
from evalcore.benchmarks.tau2_bench.official import Limits, OfficialConversation, Tau2Texts, UseTool
from evalcore.benchmarks.tau2_bench.official_bank import BankTexts, OfficialBank
from evalcore.benchmarks.tau2_bench.user_simulators import ModelUser, build_rule_user, format_call
from evalcore.benchmarks.tau_bench.benchmark import CALL_MODES, generate_with_price
from evalcore.benchmarks.tau_bench.conversation import USER_STOP, Conversation, ConversationResult
from evalcore.benchmarks.tau_bench.task_data import list_task_flags
from evalcore.benchmarks.tau_bench.user_benchmark import UserBenchmark, build_conversation_episode
from evalcore.benchmarks.tau_bench.user_simulators import GREETING, UserSimulator
from evalcore.catalog import OTHER_DATA_OPTION
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
_ASKS = "Please do this on your side, then tell me what you see:"


def reference_step(task: Task, transcript: Sequence[Message]) -> Completion:
    """What it does next: the ground truth one action a message, then what has to be said. The
    user's own actions are asked for."""
    step = sum(message.role == "assistant" for message in transcript) - 1
    if step < len(task.actions):
        action = task.actions[max(step, 0)]
        if action.requestor == "user":
            return Completion(text=f"{_ASKS} {format_call(action.name, action.arguments)}")
        arguments = json.dumps(action.arguments, ensure_ascii=False)
        call = ToolCall(f"call_{step}", action.name, arguments)
        return Completion(tool_calls=(call,), finish_reason="tool_calls")
    outputs = task.criteria.communicate_info or ()
    return Completion(text="\n".join(outputs) if step == len(task.actions) and outputs else _WAITS)


class Tau2Bench(UserBenchmark):
    """Options: see the card. The rule user plays what has slots, a model any task."""

    card = CARD
    to_state = staticmethod(score.to_episode_state)
    _bank: OfficialBank | None = None

    @cached_property
    def _texts(self) -> Tau2Texts:
        return self.official_texts.read_as(Tau2Texts)

    @property
    def sampling(self) -> Sampling:
        return Sampling(temperature=self._texts.temperature) if self.is_official else Sampling()

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load_tau2_samples(source, self.options["domain"], self.options["split"])

    def select_runnable(self, samples: Sequence[Sample]) -> list[Sample]:
        """Without a model as user only the tasks whose wishes the rule user can know, and never one
        whose world cannot be set up; a split that was named has to be of such tasks altogether. All
        domains are, under protocol=official, those of the official score."""
        asks_bank = self.is_official and self.options["domain"] == BANK
        if self.options["retrieval"] and not asks_bank:
            raise UsageError(Note("tau2_retrieval", names=", ".join(RETRIEVALS)))
        if self.is_official:
            if self.options["domain"] == dataset.ALL:
                samples = [sample for sample in samples if sample.metric in self._texts.tools]
            for domain in dict.fromkeys(sample.metric for sample in samples):
                self._texts.list_tool_schemas(domain, self.options["retrieval"])
            self.options[OTHER_DATA_OPTION] = "+".join(dataset.list_other_databases(samples))
        playable = [
            sample
            for sample in samples
            if BROKEN_START not in list_task_flags(sample)
            and (self.simulated_users() or dataset.to_task(sample).slots is not None)
        ]
        self.check_playable(samples, playable)
        return playable

    def build_prompt(self, sample: Sample, style: Style = "json") -> list[Message]:
        """The system message; a greeting and the user's first line follow."""
        world = dataset.load_sample_world(sample)
        if self.is_official:
            policy = world.policy
            if sample.metric == BANK and self._texts.bank is not None:
                documents = dataset.to_task(sample).required_documents
                policy = self._texts.bank.build_policy(self.options["retrieval"], world, documents)
            return [Message("system", self._texts.build_agent_prompt(policy))]
        text = world.policy + agents.describe_tools(world.offered_tools(), style)
        return [Message("system", text)]

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        if self.is_official:
            return await self._run_official(sample, context)
        style = await self._choose_style(context)
        world, task, environment = dataset.open_sample(sample)
        user = self._build_user(task, environment, context)
        spoken = [Message("assistant", GREETING), Message("user", await user.open())]
        opening = self.apply_prompt_template([*self.build_prompt(sample, style), *spoken])
        tools = agents.build_tool_schemas(world.offered_tools()) if style == "native" else ()
        ask = partial(self._ask_target, sample, context, tools, self.sampling)
        conversation = Conversation(environment, user, ask, style, self._budgets)
        return self._build_episode(
            sample, context, environment, style, await conversation.play(opening)
        )

    async def _choose_style(self, context: Context) -> Style:
        return agents.choose_style(await context.resolve_tool_call_mode(), self.options["style"])

    async def _run_official(self, sample: Sample, context: Context) -> Episode:
        """The episode as upstream plays it. Upstream knows one way of calling tools."""
        texts, domain = self._texts, sample.metric
        _, task, environment = dataset.open_sample(sample)
        (model,) = self.simulated_users()
        seed = texts.draw_seed(context.epoch)
        own_tools = texts.list_user_tool_schemas(task, domain)

        async def ask_user(messages: Sequence[Message]) -> tuple[Completion, float | None]:
            sampling = Sampling(temperature=texts.user_temperature, seed=seed)
            request = GenerationRequest(tuple(messages), own_tools, sampling)
            return await generate_with_price(context, user_role(model), request)

        conversation = OfficialConversation(
            self._bind_tools(sample, environment),
            partial(
                self._ask_target,
                sample,
                context,
                texts.list_tool_schemas(domain, self.options["retrieval"]),
                Sampling(temperature=texts.temperature, seed=seed),
            ),
            ask_user,
            Limits(texts.max_steps, texts.max_errors),
            self.build_prompt(sample),
            texts.build_user_prompt(task.user_scenario, with_tools=bool(own_tools)),
            texts.greeting,
            environment.tools,
        )
        result = await conversation.play()
        return self._build_episode(sample, context, environment, "native", result)

    def _bind_tools(self, sample: Sample, environment: Environment) -> UseTool:
        """What makes calls in an environment and answers as upstream does."""
        texts, domain = self._texts, sample.metric
        desk = self._open_bank(texts.bank, environment) if domain == BANK and texts.bank else None

        def use_tool(side: Requestor, name: str, kwargs: dict[str, Any]) -> tuple[str, bool]:
            text, done = environment.try_call(name, kwargs, side)
            return desk() if desk else (texts.phrase_result(domain, side, name, text, done), done)

        return use_tool

    def _open_bank(
        self, texts: BankTexts, environment: Environment
    ) -> Callable[[], tuple[str, bool]]:
        if self._bank is None:
            self._bank = OfficialBank(texts, environment.domain)
        return self._bank.open_desk(environment)

    def close(self) -> None:
        if self._bank is not None:
            self._bank.close()

    def _build_episode(
        self,
        sample: Sample,
        context: Context,
        environment: Environment,
        style: Style,
        result: ConversationResult,
    ) -> Episode:
        actions = score.list_environment_actions(environment)
        return build_conversation_episode(
            self.generation_key(sample),
            context.epoch,
            CALL_MODES[style],
            result,
            actions,
            (USER_STOP,),
        )

    async def _ask_target(
        self,
        sample: Sample,
        context: Context,
        tools: tuple[dict[str, Any], ...],
        sampling: Sampling,
        messages: Sequence[Message],
    ) -> tuple[Completion, float | None]:
        request = GenerationRequest(
            messages=tuple(messages),
            tools=tools,
            sampling=sampling,
            input=self.request_input(sample),
        )
        return await generate_with_price(context, "target", request)

    def _build_user(self, task: Task, environment: Environment, context: Context) -> UserSimulator:
        for model in self.simulated_users():
            ask = partial(generate_with_price, context, user_role(model))
            return ModelUser(task, environment, ask)
        return build_rule_user(task, environment, context.seed + context.epoch)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        substring = self.is_official or self.options["outputs"] == "substring"
        return score.build_verdict(sample, episode, substring=substring)

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` makes the true calls, asks for the user's and says what is asked, `null` says
        nothing, `noop` repeats what it is told."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        return reference_step(dataset.to_task(sample), transcript)

    def reference_episode(self, sample: Sample) -> Episode:
        task = dataset.to_task(sample)
        actions = [
            {"name": action.name, "arguments": action.arguments, "requestor": action.requestor}
            for action in task.actions
        ]
        says = list(task.criteria.communicate_info or ())
        return self.episode_from_answer(sample, {"actions": actions, "says": says})

    def validate_references(self, samples: Sequence[Sample]) -> ValidationResult:
        """Replay the ground truth: all of its writes have to run."""
        return [issue for sample in samples for issue in dataset.confirm_actions(sample)], {}

    def gold_field(self, sample: Sample) -> str:
        return "evaluation_criteria"
