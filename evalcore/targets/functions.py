"""Functions of this Python process as targets: `evalcore.target` makes one, `function:NAME` is its
key.

A function says by the names of its parameters what it takes: `prompt` (the texts of all messages,
parted by blank lines), `messages` (role and content, as chat APIs have them), `tools` (JSON
schemas), `input` (the structured input of a case, without its reference) and `epoch` (the
repetition, from 0). Its other parameters are options of the target. It returns a text, a
`Completion`, or a mapping of `content` and `tool_calls` (`name`, `arguments`).
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.errors import TargetFailure, UsageError, suggest_name
from evalcore.i18n import Note
from evalcore.plugins import is_key
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    Message,
    ProgressCallback,
    TargetSpec,
    ToolCall,
)
from evalcore.settings import Settings
from evalcore.targets.base import TargetInfo

PREFIX = "function"
#: What a function can take, by the name of the parameter.
_INPUTS: dict[str, Callable[[GenerationRequest], Any]] = {
    "prompt": lambda request: "\n\n".join(turn.content for turn in request.messages),
    "messages": lambda request: [_to_chat_message(turn) for turn in request.messages],
    "tools": lambda request: list(request.tools),
    "input": lambda request: dict(request.input),
    "epoch": lambda request: request.epoch,
}
#: The functions of this process, by name.
_functions: dict[str, TargetFunction] = {}


class TargetFunction:
    """A function with what it is called as; calling it calls the function."""

    def __init__(self, function: Callable[..., Any], name: str, concurrency: int) -> None:
        self.function, self.name, self.concurrency = function, name, concurrency
        self.parameters = _check_parameters(function)
        self.__doc__ = function.__doc__

    @property
    def key(self) -> str:
        """The key of the target."""
        return f"{PREFIX}:{self.name}"

    @property
    def takes_tools(self) -> bool:
        """Whether it is asked natively for calls of tools."""
        return "tools" in self.parameters

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    def __repr__(self) -> str:
        return f"<target {self.key}>"


def register_function(
    function: Callable[..., Any], name: str = "", concurrency: int = 1
) -> TargetFunction:
    """Make a function a target, in place of an earlier one of its name.

    `concurrency` is how many calls may run at once; 1 keeps a function that is not thread-safe
    right. Raises UsageError for a name that is no key and for parameters that nobody can fill.
    """
    own_name = name or getattr(function, "__name__", "")
    target = TargetFunction(function, own_name, concurrency)
    if not isinstance(own_name, str) or not is_key(own_name):
        raise UsageError(Note("function_name", name=str(own_name)[:80]))
    if not isinstance(concurrency, int) or concurrency < 1:
        raise UsageError(Note("function_concurrency", name=own_name, number=concurrency))
    _functions[own_name] = target
    return target


def create_function_target(spec: TargetSpec, settings: Settings, secrets: Secrets) -> FunctionCalls:
    """The target of a function of this process; raises UsageError where there is none."""
    name = spec.key.partition(":")[2]
    if name not in _functions:
        raise UsageError(Note("function_absent", owner=spec.key))
    return FunctionCalls(spec, _functions[name])


class FunctionCalls:
    """Answers requests by a function, in threads where it is not asynchronous."""

    def __init__(self, spec: TargetSpec, function: TargetFunction) -> None:
        self.key, self._function = spec.key, function
        self._options = _check_options(spec, function)
        self.info = TargetInfo(
            kind="application",
            title=function.name,
            max_in_flight=function.concurrency,
            start_in_flight=function.concurrency,
            revision=_hash_source(function.function),
            tools=function.takes_tools,
        )

    async def open(self, progress: ProgressCallback) -> None:
        """Nothing to open."""

    async def generate(self, request: GenerationRequest) -> Completion:
        """One call; whatever the function raises is a failure of the target, not an answer."""
        function = self._function
        values = {name: _INPUTS[name](request) for name in function.parameters if name in _INPUTS}
        start = time.perf_counter()
        try:
            answer = await _call_function(function.function, values | self._options)
        except TargetFailure:
            raise
        except Exception as error:
            message = scrub_secrets(f"{function.name}: {type(error).__name__}: {error}")
            raise TargetFailure(Failure(kind="permanent", message=message)) from None
        return _to_completion(function.name, answer, time.perf_counter() - start)

    async def close(self) -> None:
        """Nothing to close."""


async def _call_function(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**values)
    answer = await asyncio.to_thread(function, **values)
    return await answer if inspect.isawaitable(answer) else answer


def _check_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters; raises UsageError for one that has to be filled and cannot."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise UsageError(Note("function_no_target", function=function, problem=error)) from None
    for parameter in parameters:
        variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.kind is parameter.POSITIONAL_ONLY or variable:
            raise UsageError(Note("function_parameters", parameter=parameter))
        if parameter.name not in _INPUTS and parameter.default is parameter.empty:
            raise UsageError(
                Note("function_default", parameter=parameter.name, names=", ".join(_INPUTS))
            )
    return tuple(parameter.name for parameter in parameters)


def _check_options(spec: TargetSpec, function: TargetFunction) -> dict[str, Any]:
    """Options fill the parameters that have a default; raises UsageError for any other."""
    own = [name for name in function.parameters if name not in _INPUTS]
    for name in spec.options:
        if name not in own:
            known = ", ".join(own) or "none"
            problem = Note("target_option_unknown", owner=spec.key, name=name, names=known)
            raise UsageError(suggest_name(problem, name, own))
    return dict(spec.options)


def _to_chat_message(turn: Message) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in turn.tool_calls
        ]
    if turn.tool_call_id:
        message["tool_call_id"] = turn.tool_call_id
    return message


def _to_completion(name: str, answer: Any, seconds: float) -> Completion:
    """What a function returned as a completion; raises TargetFailure for anything else."""
    if isinstance(answer, Completion):
        return msgspec.structs.replace(answer, latency=answer.latency or seconds)
    if isinstance(answer, str):
        return Completion(text=answer, latency=seconds, model=name)
    try:
        reply = msgspec.convert(answer, _Reply)
        calls = tuple(
            ToolCall(
                id=call.id or f"call_{number}",
                name=call.name,
                arguments=call.arguments
                if isinstance(call.arguments, str)
                else json.dumps(call.arguments),
            )
            for number, call in enumerate(reply.tool_calls)
        )
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        note = Note("function_answer", name=name, kind=type(answer).__name__, error=error)
        raise TargetFailure(Failure(kind="permanent", message=note)) from None
    return Completion(
        text=reply.content or "",
        tool_calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        latency=seconds,
        model=name,
    )


class _ReplyCall(msgspec.Struct):
    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""


class _Reply(msgspec.Struct, forbid_unknown_fields=True):
    content: str | None = ""
    tool_calls: list[_ReplyCall] = []


def _hash_source(function: Callable[..., Any]) -> str:
    """What tells this version of a function from another: its text, where it has any."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
