"""An agent that works alone: it calls tools until it answers, submits, or reaches a limit.

Whatever it writes is read and kept; only failures of the target or of our own side raise. All that
is sent follows from the answers before, so that a loop that is begun again after a kill repeats the
very same requests and finds them answered in the journal, as long as its tools answer the same.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.agents import Called, Style, Tool, read
from evalcore.benchmarks.agents.calls import numbered, sendable
from evalcore.benchmarks.agents.prompts import OUTPUT
from evalcore.benchmarks.agents.turn import clean
from evalcore.records import Completion, Message, Record

OVERFLOW = "context_overflow"
MAX_STEPS, MAX_PARSE_ERRORS = "max_steps", "max_parse_errors"
#: So many calls in a row may be unreadable; one that can be read starts the count anew.
_UNREADABLE = 5

Ask = Callable[[Sequence[Message]], Awaitable[Completion]]
Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]


class Worked(Record, frozen=True):
    """What an agent did. `final` are the arguments of the tool that ends the work, None where it
    was not called; `said` its last words; `calls` of {"name", "arguments", "result"} in order;
    `ended` the limit that ended it, or ""."""

    messages: tuple[Message, ...]
    calls: tuple[dict[str, Any], ...]
    said: str = ""
    final: dict[str, Any] | None = None
    ended: str = ""
    finish_reason: str = ""


class Work:
    """One agent while it works. `final` names the tool that ends the work."""

    def __init__(
        self, tools: Sequence[Tool], call: Call, ask: Ask, style: Style, final: str
    ) -> None:
        self._tools, self._call, self._ask = tools, call, ask
        self._style, self._final = style, final
        self._messages: list[Message] = []
        self._sent: list[Message] = []
        self._calls: list[dict[str, Any]] = []
        self._unreadable = 0

    async def play(self, opening: Sequence[Message], most_steps: int) -> Worked:
        """The whole of it, at most so many answers of the agent."""
        self._add(*opening)
        reason = said = ""
        for step in range(most_steps):
            answer = await self._ask(self._sent)
            reason = answer.finish_reason
            turn = read(answer, self._style, self._tools)
            self._write(answer, turn.calls, step)
            said = turn.said
            if reason == OVERFLOW:
                return self._worked(reason, ended=OVERFLOW)
            if not turn.calls and not turn.problem:
                return self._worked(reason, said=said)
            final = await self._follow(turn.calls, turn.problem)
            if final is not None:
                return self._worked(reason, said=clean(answer.text), final=final)
            if self._unreadable >= _UNREADABLE:
                return self._worked(reason, ended=MAX_PARSE_ERRORS)
        return self._worked(reason, said=said, ended=MAX_STEPS)

    def _write(self, answer: Completion, read_as: Sequence[Called], step: int) -> None:
        calls = numbered(answer.tool_calls, step) if self._style == "native" else ()
        written = Message("assistant", clean(answer.text), clean(answer.reasoning), calls)
        self._messages.append(written)
        self._sent.append(msgspec.structs.replace(written, tool_calls=sendable(calls, read_as)))

    async def _follow(self, calls: Sequence[Called], problem: str) -> dict[str, Any] | None:
        """What the calls bring; the arguments of the one that ends the work."""
        if problem:
            self._observed([self._not_read(problem)])
            return None
        seen = []
        for call in calls:
            if call.name == self._final and not call.problem:
                return dict(call.kwargs)
            seen.append(await self._result(call))
        self._observed(seen)
        return None

    async def _result(self, call: Called) -> str:
        if call.problem:
            return self._not_read(call.problem)
        self._unreadable = 0
        result = clean(await self._call(call.name, call.kwargs))
        arguments = json.dumps(call.kwargs, ensure_ascii=False)
        self._calls.append({"name": call.name, "arguments": arguments, "result": result})
        return result

    def _not_read(self, problem: str) -> str:
        self._unreadable += 1
        return f"Error: {problem}"

    def _observed(self, seen: Sequence[str]) -> None:
        asked = self._messages[-1].tool_calls
        if len(asked) == len(seen):
            pairs = zip(seen, asked, strict=True)
            self._add(*(Message("tool", text, tool_call_id=call.id) for text, call in pairs))
        else:
            self._add(Message("user", "\n".join(f"{OUTPUT}{text}" for text in seen)))

    def _add(self, *messages: Message) -> None:
        self._messages += messages
        self._sent += messages

    def _worked(self, reason: str, **found: Any) -> Worked:
        messages, calls = tuple(self._messages), tuple(self._calls)
        return Worked(messages, calls, finish_reason=reason, **found)
