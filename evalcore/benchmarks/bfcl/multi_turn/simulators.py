"""The simulated APIs as the rest of the project uses them: asked in a process that may be killed.

One worker serves every entry, one request at a time; a request holds all it depends on. A live
conversation sends the calls that it made before along with the new ones, so that it goes on
unharmed when a call of another one has hung and the process was replaced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.apis import (
    INSTALL,
    OFFICIAL_APIS,
    OWN_APIS,
    Api,
    find_api,
    find_installation,
)
from evalcore.benchmarks.bfcl.multi_turn.checkers import ReplayOutcome, replace_surrogates
from evalcore.benchmarks.bfcl.multi_turn.service import Execute, Replay, Setting
from evalcore.closing import Closing
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.records import Record
from evalcore.sandbox.frames import Reply
from evalcore.sandbox.worker_process import WorkerLost, WorkerProcess

_SERVICE = "evalcore.benchmarks.bfcl.multi_turn.service:open_service"
_SECONDS = 10.0
_MEMORY_BYTES = 512_000_000
_MAX_REPLY = 32_000_000

OverrunKind = Literal["execution_timeout", "execution_lost"]


class Overrun(Exception):
    """A call took more time (`execution_timeout`) or memory (`execution_lost`) than it may."""

    def __init__(self, kind: OverrunKind, message: str) -> None:
        self.kind: OverrunKind = kind
        super().__init__(message)


class Simulators(Closing):
    """The APIs of a dataset; close it when done. Usable from several threads.

    `missing` says of other classes why they cannot be had, `folder` is where modules are looked
    for first, `seconds` the limit of one request.
    """

    def __init__(
        self,
        apis: Mapping[str, Api],
        *,
        missing: Mapping[str, str] = MappingProxyType({}),
        folder: str = "",
        seconds: float = _SECONDS,
    ) -> None:
        self._apis = dict(apis)
        self._missing = dict(missing)
        self._worker = WorkerProcess(
            _SERVICE,
            {"places": {name: api.import_path for name, api in apis.items()}, "folder": folder},
            seconds=seconds,
            memory_bytes=_MEMORY_BYTES,
            max_reply=_MAX_REPLY,
        )

    def list_documents(self, entry: BfclEntry) -> list[dict[str, Any]]:
        """The documents of all tools of an entry, class by class. Raises what `execute` raises."""
        return [
            dict(document) for api in self._find_entry_apis(entry) for document in api.documents
        ]

    def execute(self, entry: BfclEntry, done: Sequence[str], calls: Sequence[str]) -> list[str]:
        """The results of calls made after others, of one conversation, as the model is told them.

        Raises Overrun; EnvironmentFailure where the APIs cannot be run; DatasetError for an entry
        whose classes or scenarios are none.
        """
        request = Execute(
            self._build_setting(entry), _clean_call_texts(calls), _clean_call_texts(done)
        )
        return msgspec.json.decode(self._send_request(entry, request), type=list[str])

    def replay(
        self,
        entry: BfclEntry,
        truth: Sequence[Sequence[str]],
        prediction: Sequence[Sequence[Sequence[str]]],
    ) -> ReplayOutcome:
        """Both sides run and compared (`checkers.check_turns`). Raises what `execute` raises."""
        request = Replay(
            self._build_setting(entry),
            [_clean_call_texts(turn) for turn in truth],
            [[_clean_call_texts(step) for step in turn] for turn in prediction],
        )
        return msgspec.json.decode(self._send_request(entry, request), type=ReplayOutcome)

    def close(self) -> None:
        """End the process; safe to call twice."""
        self._worker.close()

    def _find_entry_apis(self, entry: BfclEntry) -> list[Api]:
        names = list_involved_classes(entry)
        for name in names:
            if name in self._missing:
                raise EnvironmentFailure(self._missing[name])
            if name not in self._apis:
                raise DatasetError(entry.id, None, "involved_classes", f"unknown: {name!r}")
        return [self._apis[name] for name in names]

    def _build_setting(self, entry: BfclEntry) -> Setting:
        apis = self._find_entry_apis(entry)
        missing = self._worker.hello().about["missing"]
        for api in apis:
            if api.name in missing:
                raise EnvironmentFailure(
                    f"{api.name} cannot be loaded ({missing[api.name]}): {INSTALL}"
                )
        scenarios = entry.extra.get("initial_config", {})
        if not isinstance(scenarios, dict):
            raise DatasetError(entry.id, None, "initial_config", "must be an object")
        tools = [(api.name, list(api.tools)) for api in apis]
        return Setting(tools, json.dumps(scenarios), "long_context" in entry.category)

    def _send_request(self, entry: BfclEntry, request: Record) -> msgspec.Raw:
        reply = self._request_with_retry(msgspec.to_builtins(request))
        if reply.fault == "memory":
            self._worker.restart()
            raise Overrun("execution_lost", reply.message)
        if reply.fault:
            raise EnvironmentFailure(f"{entry.id} cannot be run: {reply.message}")
        return reply.result

    def _request_with_retry(self, request: Mapping[str, Any]) -> Reply:
        """The worker's answer; a worker lost for another reason than time is tried once more."""
        for last in (False, True):
            try:
                return self._worker.request(request)
            except WorkerLost as lost:
                if lost.timed_out or last:
                    kind: OverrunKind = "execution_timeout" if lost.timed_out else "execution_lost"
                    raise Overrun(kind, str(lost)) from None
        raise AssertionError("the second attempt returns or raises")


def open_simulators(folders: Sequence[Path], seconds: float = _SECONDS) -> Simulators:
    """All APIs that there are, ours and the official ones; `folders` are those of datasets.

    No process is started before the first request, and what is missing is an EnvironmentFailure
    only of the entries that need it. Raises EnvironmentFailure where EVALBOARD_BFCL_EVAL names a
    folder without the package.
    """
    official = find_installation()
    apis: dict[str, Api] = {}
    missing: dict[str, str] = {}
    for name in sorted({*OWN_APIS, *OFFICIAL_APIS}):
        try:
            apis[name] = find_api(name, folders, official)
        except EnvironmentFailure as problem:
            missing[name] = str(problem)
    folder = official.folder if official else ""
    return Simulators(apis, missing=missing, folder=folder, seconds=seconds)


def list_involved_classes(entry: BfclEntry) -> list[str]:
    """The names of an entry's classes; raises DatasetError if there is no list of names."""
    names = entry.extra.get("involved_classes")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DatasetError(entry.id, None, "involved_classes", "must be a list of names")
    return names


def _clean_call_texts(texts: Sequence[str]) -> list[str]:
    return [replace_surrogates(text) for text in texts]
