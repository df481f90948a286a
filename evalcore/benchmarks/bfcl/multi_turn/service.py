"""The inside of the worker process that simulated APIs run in.

It keeps nothing between requests: every one makes fresh instances of the APIs from the entry's
scenario, so that nothing a model did can reach another sample. A request holds the `Setting` and
either the sides of a comparison (`prediction`, `truth`) or calls to run after those `done` before.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from typing import Any

import msgspec

from evalcore.benchmarks.bfcl.multi_turn.calls import evaluate_call
from evalcore.benchmarks.bfcl.multi_turn.checkers import check_turns, replace_surrogates
from evalcore.records import Record

FAILED_CALL = "Error during execution: "


class Setting(Record, frozen=True):
    """What an entry plays in: classes and their tools, in order, and the scenarios by class.

    Both are sent as lists and as JSON text: messages sort the keys of objects, but the official
    APIs take the first key of some.
    """

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
            return _format_tool_result(evaluate_call(text, self._tools))
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
    """`places` maps classes to "module:Class"; `folder` is searched for modules before others."""
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
    datetime.strptime("2000", "%Y")  # imports a module, which no call could do later
    return ApiService(classes, missing)


def _format_tool_result(result: Any) -> str:
    if type(result) is str:
        return result
    if type(result) is dict:
        try:
            return json.dumps(result)
        except (TypeError, ValueError, RecursionError):
            pass
    return str(result)
