"""The inside of the worker process of simulated APIs: run calls without `eval`, compare states
and results.

Nothing is kept between requests: each makes fresh instances from the entry's scenario.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from evalcore.benchmarks.bfcl.simulated.memory import use_encoder
from evalcore.benchmarks.call_decoding.call import (
    LONGEST,
    Call,
    DecodeError,
    replace_surrogates,
    shorten_repr,
    to_decode_error,
    to_plain_value,
)
from evalcore.i18n import Note
from evalcore.records import Record, to_json

# Calls as text, `name(argument=value)`, which upstream hands to `eval`. Here it is parsed, its
# values may only be literals and calls of tools, and a name is looked up among the tools alone.
# Upstream first rewrites what looks like a call, in values too: "a (b)" arrives as "a(b)".

_LIKE_A_CALL = re.compile(r"\b([a-zA-Z_]\w*)\s*(?=\()")
_REFUSED = ("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run")

Tools = Mapping[str, Callable[..., Any]]


def calls_to_text(calls: Sequence[Call], *, native: bool) -> list[str]:
    """One text for every call. `native`: as upstream writes tool calls, else as it writes calls
    decoded from text, where a mapping of mappings stands for a nested call. Raises DecodeError
    where upstream does not get a text either: it then skips the whole answer."""
    write, comma = (repr, ",") if native else (_format_nested_value, ", ")
    try:
        return [
            f"{name}({comma.join(f'{key}={write(value)}' for key, value in arguments.items())})"
            for call in calls
            for name, arguments in call.items()
        ]
    except (AttributeError, LookupError, ValueError, RecursionError) as error:
        raise to_decode_error(error or type(error).__name__) from None


def list_call_steps(turn: Any) -> list[list[str]]:
    """The steps of a turn that hold calls, each a list of texts. A step is a list of texts or
    decoded (native) calls; what is none, is empty or does not decode is skipped, as upstream
    does."""
    text_steps = [_step_to_text(step) for step in turn] if isinstance(turn, list | tuple) else []
    return [step for step in text_steps if step and step != [""]]


def evaluate_call(text: str, tools: Tools) -> Any:
    """Evaluate a call. Raises whatever a malformed text or the tool itself raises. As in Python,
    the function is looked up first and arguments are evaluated from left to right, so that changes
    made by nested calls persist."""
    if len(text) > LONGEST:
        raise ValueError(f"a call is longer than {LONGEST} characters")
    text = _LIKE_A_CALL.sub(r"\1", text)
    if (name := text.partition("(")[0]) in _REFUSED:
        raise ValueError(f"Function call {name} is not allowed.")
    body = ast.parse(text.lstrip(" \t"), "<string>", mode="eval").body
    if not isinstance(body, ast.Call):
        raise ValueError("the text is no call")
    return _evaluate_call_node(body, tools)


def _step_to_text(step: Any) -> list[str]:
    if not isinstance(step, list | tuple):
        return []
    written: list[str] = []
    try:
        for call in step:
            written += [call] if isinstance(call, str) else calls_to_text([call], native=True)
    except DecodeError:
        return []
    return written


def _format_nested_value(value: Any) -> str:
    if not isinstance(value, dict):
        return repr(value)
    if all(isinstance(item, dict) for item in value.values()):
        name, arguments = next(iter(value.items()), (None, None))
        if not isinstance(arguments, dict):
            raise LookupError("an empty mapping")
        texts = (f"{key}={_format_nested_value(item)}" for key, item in arguments.items())
        return f"{name}({', '.join(texts)})"
    pairs = (f"'{key}': {_format_nested_value(item)}" for key, item in value.items())
    return "{" + ", ".join(pairs) + "}"


def _evaluate_call_node(node: ast.Call, tools: Tools) -> Any:
    names = [word.arg for word in node.keywords]
    if None in names or len(set(names)) < len(names):
        raise SyntaxError("arguments that are unpacked or repeated")
    tool = _find_tool(node.func, tools)
    positional = [_evaluate_value(item, tools) for item in node.args]
    named = {str(word.arg): _evaluate_value(word.value, tools) for word in node.keywords}
    return tool(*positional, **named)


def _find_tool(node: ast.expr, tools: Tools) -> Callable[..., Any]:
    while isinstance(node, ast.Attribute):  # no tool has a dotted name: its first part is unknown
        node = node.value
        tools = {}
    if not isinstance(node, ast.Name):
        raise TypeError("what is called is no name")
    return tools[node.id] if node.id in tools else _raise_undefined(node.id)


def _raise_undefined(name: str) -> Callable[..., Any]:
    raise NameError(f"name '{name}' is not defined")


def _evaluate_value(node: ast.expr, tools: Tools) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.List():
            return [_evaluate_value(item, tools) for item in node.elts]
        case ast.Tuple():
            return tuple(_evaluate_value(item, tools) for item in node.elts)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {_evaluate_key(key, tools): _evaluate_value(item, tools) for key, item in pairs}
        case ast.Call():
            return _evaluate_call_node(node, tools)
        case ast.Name():
            return _raise_undefined(node.id)
        case _:
            return ast.literal_eval(node)  # signs, complex numbers, sets; else ValueError


def _evaluate_key(node: ast.expr | None, tools: Tools) -> Any:
    if node is None:
        raise SyntaxError("a mapping that is unpacked")
    return _evaluate_value(node, tools)


# The rules of multi-turn entries: equal states after each turn, no expected result missing. Turn by
# turn the model's calls run on one set of APIs and the ground truth's on a twin. Where the ground
# truth of a turn is not empty, the model has to have called something, every public attribute has
# to be equal, and the turn's expected results have to be among all of the model's so far, in any
# order. Calls in a turn whose ground truth is empty are run and not judged, as upstream does.

EMPTY_TURN = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"

_ABSENT = "(absent)"
_LONGEST_SHOWN = 2000
_MAX_SHOWN = 100
_MAX_EVIDENCE_BYTES = 20_000
_MAX_PATH_LENGTH = 40


class StateDifference(Record, frozen=True):
    """The first place where states differ: `path` leads from the attribute to the values."""

    api: str
    attribute: str
    path: tuple[str, ...]
    expected: Any
    actual: Any


class TurnCalls(Record, frozen=True):
    """What was run in a turn, as (call, result); both cut, at most 100 of each."""

    called: tuple[tuple[str, str], ...] = ()
    expected: tuple[tuple[str, str], ...] = ()


class ReplayOutcome(Record, frozen=True):
    """`error_type` is upstream's, empty if valid; `turn` counts from 0. `missing` are the expected
    results that no call gave. `turns` ends with the turn that failed."""

    error_type: str = ""
    message: str = ""
    turn: int | None = None
    difference: StateDifference | None = None
    missing: tuple[str, ...] = ()
    turns: tuple[TurnCalls, ...] = ()


def check_turns(
    truth: Sequence[Sequence[str]],
    prediction: Sequence[Sequence[Sequence[str]]],
    model: Instances,
    twin: Instances,
) -> ReplayOutcome:
    """The verdict on a prediction with as many turns as the truth; `list_call_steps` made its
    steps."""
    results: list[str] = []
    turns: list[TurnCalls] = []
    for number, (truth_calls, steps) in enumerate(zip(truth, prediction, strict=True)):
        called = [(call, model.run(call)) for step in steps for call in step]
        expected = [(call, twin.run(call)) for call in truth_calls]
        results += [result for _, result in called]
        turns.append(TurnCalls(_shorten_pairs(called), _shorten_pairs(expected)))
        if not truth_calls:
            continue
        outcome = _check_turn(number, bool(called), expected, results, model, twin)
        if outcome is not None:
            return structs.replace(outcome, turn=number, turns=tuple(turns))
    return ReplayOutcome(turns=tuple(turns))


def missing_results(expected: Sequence[str], results: Sequence[str]) -> list[str]:
    """The expected results that are not among the results, each of which counts once."""
    left = list(results)
    missing = []
    for result in expected:
        if result in left:
            left.remove(result)
        else:
            missing.append(result)
    return missing


def find_first_difference(
    actual: Mapping[str, object], expected: Mapping[str, object]
) -> StateDifference | None:
    """The first public attribute that differs, narrowed down to the values that do."""
    for api, twin in expected.items():
        for name, value in vars(twin).items():
            if name.startswith("_"):
                continue
            other = getattr(actual[api], name, _ABSENT)
            if _is_different(other, value):
                path, ours, theirs = _narrow_difference(other, value)
                values = _to_evidence_value(theirs), _to_evidence_value(ours)
                return StateDifference(api, name, path, *values)
    return None


def _check_turn(
    number: int,
    called: bool,
    expected: Sequence[tuple[str, str]],
    results: Sequence[str],
    model: Instances,
    twin: Instances,
) -> ReplayOutcome | None:
    if not called:
        return ReplayOutcome(EMPTY_TURN, Note("turn_silent", turn=number + 1))
    difference = find_first_difference(model.instances, twin.instances)
    if difference is not None:
        location = ".".join((difference.api, difference.attribute, *difference.path))
        message = Note("turn_state", turn=number + 1, place=_shorten_text(location))
        return ReplayOutcome(STATE, message, difference=difference)
    missing = missing_results([result for _, result in expected], results)
    if missing:
        message = Note("turn_results", turn=number + 1, count=len(missing))
        shown = tuple(map(_shorten_text, missing[:_MAX_SHOWN]))
        return ReplayOutcome(RESPONSE, message, missing=shown)
    return None


def _is_different(actual: Any, expected: Any) -> bool:
    try:
        return bool(actual != expected)
    except Exception:  # too deep, or an odd value of a model: it is not what was expected
        return True


def _narrow_difference(actual: Any, expected: Any) -> tuple[tuple[str, ...], Any, Any]:
    """The path to the first child that differs, as far as both sides have it, and its values."""
    path: list[str] = []
    while len(path) < _MAX_PATH_LENGTH:
        ours, theirs = _list_children(actual), _list_children(expected)
        differing = (
            key
            for key in [*theirs, *ours]
            if key not in ours or key not in theirs or _is_different(ours[key], theirs[key])
        )
        key = next(differing, None)
        if type(actual) is not type(expected) or key is None:
            break
        path.append(_shorten_text(str(to_plain_value(key))))
        actual, expected = ours.get(key, _ABSENT), theirs.get(key, _ABSENT)
    return tuple(path), actual, expected


def _list_children(value: Any) -> Mapping[Any, Any]:
    """The parts of a value by key, index or attribute; a parent is no part of its child."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    parts = getattr(value, "__dict__", {})
    return {key: part for key, part in parts.items() if not key.startswith("_") and key != "parent"}


def _to_evidence_value(value: Any) -> Any:
    simple = _simplify_value(value)
    fits = len(to_json(simple)) <= _MAX_EVIDENCE_BYTES
    return simple if fits else shorten_repr(value, _LONGEST_SHOWN)


def _simplify_value(value: Any, depth: int = 6) -> Any:
    parts = _list_children(value)
    if not parts and not isinstance(value, dict | list | tuple):
        simple = to_plain_value(value)
        return _shorten_text(simple) if isinstance(simple, str) else simple
    if not depth:
        return _shorten_text(shorten_repr(value))
    few = list(parts.items())[:_MAX_SHOWN]
    if isinstance(value, list | tuple):
        return [_simplify_value(part, depth - 1) for _, part in few]
    return {
        _shorten_text(str(to_plain_value(key))): _simplify_value(part, depth - 1)
        for key, part in few
    }


def _shorten_pairs(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_shorten_text(call), _shorten_text(result)) for call, result in pairs[:_MAX_SHOWN]
    )


def _shorten_text(text: str) -> str:
    return replace_surrogates(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")


# The worker keeps nothing between requests: each makes fresh instances of the APIs from the entry's
# scenario, so that nothing a model did can reach another sample. A request holds the `Setting` and
# either the sides of a comparison (`prediction`, `truth`) or calls to run after those `done`
# before.

FAILED_CALL = "Error during execution: "


class Setting(Record, frozen=True):
    """What an entry runs in: classes and their tools, in order, and the scenarios by class. Both
    are sent as lists and as JSON text: messages sort the keys of objects, but the official APIs
    take the first key of some."""

    tools: list[tuple[str, list[str]]]
    scenarios: str = "{}"
    long_context: bool = False


class Replay(Record, frozen=True):
    """Both sides, turn by turn; the prediction's turns are lists of steps."""

    setting: Setting
    truth: list[list[str]]
    prediction: list[list[list[str]]]


class Execute(Record, frozen=True):
    """Calls to run after the calls `done`; only the results of the former are wanted."""

    setting: Setting
    calls: list[str]
    done: list[str] = []


class Instances:
    """Fresh APIs of one side of one entry."""

    def __init__(self, classes: Mapping[str, Any], setting: Setting) -> None:
        self.instances: dict[str, object] = {}
        self._tools: dict[str, Any] = {}
        scenarios = json.loads(setting.scenarios)
        for name, tools in setting.tools:
            instance = classes[name]()
            if hasattr(instance, "_load_scenario"):
                scenario = scenarios.get(name, {})
                instance._load_scenario(scenario, long_context=setting.long_context)
            self.instances[name] = instance
            for tool in tools:
                method = getattr(instance, tool, None)
                if callable(method) and not tool.startswith("_"):
                    self._tools[tool] = method  # of two classes the later one wins, as upstream

    def run(self, text: str) -> str:
        """The result as upstream writes it; an exception becomes upstream's text of it."""
        try:
            return format_tool_result(evaluate_call(text, self._tools))
        except Exception as error:
            return f"{FAILED_CALL}{error}"


class ApiService:
    """Answers requests; `about` names the classes that could not be imported, and why."""

    def __init__(self, classes: Mapping[str, Any], missing: dict[str, str]) -> None:
        self._classes = classes
        self.about = {"missing": missing}

    def __call__(self, request: Mapping[str, Any]) -> Any:
        if "truth" in request:
            both = msgspec.convert(request, Replay)
            model, twin = (Instances(self._classes, both.setting) for _ in range(2))
            return check_turns(both.truth, both.prediction, model, twin)
        execution = msgspec.convert(request, Execute)
        side = Instances(self._classes, execution.setting)
        for text in execution.done:
            side.run(text)
        return [replace_surrogates(side.run(text)) for text in execution.calls]


def open_service(options: Mapping[str, Any]) -> ApiService:
    """`places` maps classes to "module:Class"; `folder` is searched for modules before others, and
    `encoder` holds the network by which a memory finds texts."""
    folder = options.get("folder")
    if folder:
        sys.path.insert(0, folder)
    classes: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for name, import_path in options["places"].items():
        module, _, attribute = import_path.partition(":")
        try:
            classes[name] = getattr(import_module(module), attribute)
        except Exception as error:  # an installation of others: whatever is wrong with it
            missing[name] = f"{type(error).__name__}: {error}"
    if folder:
        sys.path.remove(folder)
    if encoder := options.get("encoder"):
        try:
            use_encoder(Path(encoder))
        except Exception as error:
            missing["MemoryAPI_vector"] = f"{type(error).__name__}: {error}"
    datetime.strptime("2000", "%Y")  # imports a module, which no call could do later
    return ApiService(classes, missing)


def format_tool_result(result: Any) -> str:
    if type(result) is str:
        return result
    if type(result) is dict:
        try:
            return json.dumps(result)
        except (TypeError, ValueError, RecursionError):
            pass
    return str(result)
