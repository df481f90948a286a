"""tau-bench as upstream asks: its prompts, tool schemas, user and loop, by texts that a fetch read.

The strategies are upstream's: `tool-calling` where the target is asked natively, else `act` or
`react`. One action is taken an answer; what cannot be read as upstream reads it ends the episode
without a reward, as an exception does there.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from evalcore.benchmarks.agents import (
    RESPOND,
    AgentCall,
    CallReadingKind,
    Style,
    assign_call_ids,
    build_answer_messages,
    classify_call_reading,
    is_withheld,
    parse_native_turn,
    parse_text_turn,
)
from evalcore.benchmarks.call_decoding.call import replace_surrogates
from evalcore.benchmarks.tau_bench.conversation import (
    FILTERED,
    OVERFLOW,
    TRANSFER,
    Ask,
    ConversationBase,
)
from evalcore.benchmarks.tau_bench.environment import Domain, Environment
from evalcore.benchmarks.tau_bench.user_simulators import UserSimulator
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Completion, Message, Record

#: An episode ends by these where upstream's loop ends without a reward.
STEPS, UNREADABLE = "max_turns", "max_parse_errors"
_ACTION = "Action:"
#: What a tool says that has no answer; upstream's loop takes none and raises.
NO_TEXT = "None"


class TauTexts(Record, frozen=True):
    """What upstream's code says. `tools` are the schemas of each domain, in order, as JSON text;
    `tools_heading` stands before them in a prompt, `instructions` follow them, for `act` and
    `react`; `user_prompt` is what stands before and after a task's instruction."""

    tools: dict[str, str]
    tools_heading: str
    instructions: dict[str, str]
    result_prefix: str
    user_prompt: tuple[str, str]
    greeting: str
    temperature: float
    max_steps: int

    def list_tool_schemas(self, domain: str) -> list[dict[str, Any]]:
        """The tools of a domain as a server takes them. Raises UsageError for one without any."""
        if domain not in self.tools:
            raise UsageError(Note("tau_texts_no_tools", domain=domain))
        schemas: list[dict[str, Any]] = json.loads(self.tools[domain])
        return schemas

    def build_user_prompt(self, instruction: str) -> str:
        head, tail = self.user_prompt
        return f"{head}{instruction}{tail}"


def build_agent_prompt(texts: TauTexts, domain: Domain, style: Style) -> str:
    """The system message: the policy, and in a prompt the tools and the form of an answer."""
    if style == "native":
        return domain.policy
    listed = json.dumps(texts.list_tool_schemas(domain.name))
    instruction = texts.instructions["react" if style == "react" else "act"]
    return f"{domain.policy}{texts.tools_heading}{listed}{instruction}"


class OfficialConversation(ConversationBase):
    """An episode that is played as upstream plays it."""

    def __init__(
        self, texts: TauTexts, domain: Domain, user: UserSimulator, ask: Ask, style: Style
    ) -> None:
        super().__init__(user, ask, style)
        self._environment = Environment(domain, checks_types=False)
        self._texts = texts

    async def _run_steps(self) -> str:
        for step in range(self._texts.max_steps):
            if ended := await self._run_step(step):
                return ended
        return STEPS

    async def _run_step(self, step: int) -> str:
        answer = await self._request_answer()
        action = parse_official_action(answer, self._style)
        if reading := self._classify_reading(answer, action):
            self._readings[reading] += 1
        speaks = action is not None and action.name == RESPOND
        self._append_answer(answer, step, whole=speaks)
        if answer.finish_reason == OVERFLOW:
            return OVERFLOW
        if is_withheld(answer):
            return FILTERED
        if action is None:
            return UNREADABLE
        return await (self._speak(action) if speaks else self._act(action))

    async def _speak(self, action: AgentCall) -> str:
        content = action.kwargs.get("content")
        if not isinstance(content, str):
            return UNREADABLE
        return await self._tell_user(replace_surrogates(content), self._environment.writes)

    async def _act(self, action: AgentCall) -> str:
        self._actions.append({"name": action.name, "kwargs": json.dumps(action.kwargs)})
        result = replace_surrogates(self._environment.call(action.name, action.kwargs))
        if result == NO_TEXT:
            return UNREADABLE
        calls = self._sent[-1].tool_calls
        if calls:
            message = Message("tool", result, tool_call_id=calls[0].id, name=calls[0].name)
        else:
            message = Message("user", f"{self._texts.result_prefix}{result}")
        self._append_messages(message)
        return TRANSFER if self._environment.terminated else ""

    def _append_answer(self, answer: Completion, step: int, *, whole: bool) -> None:
        """The answer in the history: of several calls the first alone, unless it speaks."""
        calls = assign_call_ids(answer.tool_calls, step) if self._style == "native" else ()
        read_as = parse_native_turn(answer).calls if calls else ()
        written, sent = build_answer_messages(answer, calls, read_as)
        self._messages.append(written)
        kept = sent.tool_calls if whole else sent.tool_calls[:1]
        self._sent.append(msgspec.structs.replace(sent, tool_calls=kept))

    def _classify_reading(
        self, answer: Completion, action: AgentCall | None
    ) -> CallReadingKind | None:
        """How a call was read: a text that speaks, and that any other reader takes for a call, is
        lost."""
        if action is None:
            return "lost"
        if action.name != RESPOND:
            return "native"
        tools = self._environment.domain.tools
        if self._style == "native":
            return classify_call_reading(parse_native_turn(answer), self._style, tools)
        return "lost" if parse_text_turn(answer.text, tools).calls else None


def parse_official_action(answer: Completion, style: Style) -> AgentCall | None:
    """The one action of an answer, words to the user being one; None where upstream raises."""
    if style == "native":
        if not answer.tool_calls:
            return AgentCall(RESPOND, {"content": answer.text})
        return _build_action(answer.tool_calls[0].name, _load_json(answer.tool_calls[0].arguments))
    text = answer.text.split(_ACTION)[-1].strip()
    parsed = _load_json(text)
    if parsed is _NO_JSON:
        return AgentCall(RESPOND, {"content": text})
    if not isinstance(parsed, dict) or "arguments" not in parsed:
        return None
    return _build_action(parsed.get("name"), parsed["arguments"])


def _build_action(name: Any, kwargs: Any) -> AgentCall | None:
    if not isinstance(name, str) or not isinstance(kwargs, dict):
        return None
    return AgentCall(replace_surrogates(name), kwargs)


_NO_JSON = object()


def _load_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON
