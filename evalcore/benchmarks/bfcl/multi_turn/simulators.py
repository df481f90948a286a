"""The simulated APIs: find ours and the official ones, and call them in a process that may be
killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.service import Execute, Replay, ReplayOutcome, Setting
from evalcore.benchmarks.bfcl.simulated.memory import ENCODER_FILES
from evalcore.benchmarks.call_decoding.call import replace_surrogates
from evalcore.catalog import OFFICIAL, STAND_IN
from evalcore.errors import DatasetError, EnvironmentFailure, UsageError
from evalcore.i18n import Note
from evalcore.intake.json_text import read_rows
from evalcore.records import Record
from evalcore.sandbox.worker_process import Reply, WorkerLost, WorkerProcess
from evalcore.settings import Settings, load_settings

# Where the simulated APIs come from: our own, or those of the official package `bfcl-eval`.
# The official ones are looked for in the folder that EVALBOARD_BFCL_EVAL names (it holds
# `bfcl_eval/`), then in this environment, then in what `evalcore datasets fetch bfcl` took out of
# the package. Nothing of it is imported here: a worker process does, and only the modules of the
# APIs. Documents of tools lie in `multi_turn_func_doc/` of a dataset's folder, one JSON object a
# line; those of the official APIs also come with the package.

VARIABLE = "EVALBOARD_BFCL_EVAL"
#: Names the folder of the network by which upstream's memory finds texts.
ENCODER_VARIABLE = "EVALBOARD_BFCL_ENCODER"
INSTALL = "evalcore datasets fetch bfcl (or pip install --no-deps bfcl-eval)"
DOCUMENTS = "multi_turn_func_doc"

_OFFICIAL_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_OFFICIAL_DATA = Path("bfcl_eval", "data")
_OWN_PACKAGE = "evalcore.benchmarks.bfcl.simulated"

#: The module of every class and, of the same name, the file with its documents.
OFFICIAL_APIS = MappingProxyType(
    {
        "GorillaFileSystem": "gorilla_file_system",
        "MathAPI": "math_api",
        "MessageAPI": "message_api",
        "TicketAPI": "ticket_api",
        "TradingBot": "trading_bot",
        "TravelAPI": "travel_booking",
        "TwitterAPI": "posting_api",
        "VehicleControlAPI": "vehicle_control",
    }
)
#: Files of the package that the official APIs are made of; `long_context` fills their scenarios.
OFFICIAL_SOURCES = (
    *("/".join([*_OFFICIAL_PACKAGE.split(".")[:depth], "__init__.py"]) for depth in range(1, 5)),
    *(
        f"{_OFFICIAL_PACKAGE.replace('.', '/')}/{module}.py"
        for module in (*OFFICIAL_APIS.values(), "long_context")
    ),
)
OWN_APIS = MappingProxyType({"Greenhouse": "greenhouse", "LibraryDesk": "library_desk"})
#: The APIs of agentic entries are simulated here for everybody; they are documented as upstream's.
MEMORY_APIS = MappingProxyType(
    {
        "MemoryAPI_kv": "memory:MemoryAPI_kv",
        "MemoryAPI_vector": "memory:MemoryAPI_vector",
        "MemoryAPI_rec_sum": "memory:MemoryAPI_rec_sum",
    }
)
WEB_API = "WebSearchAPI"
_AGENTIC_STEMS = {
    "MemoryAPI_kv": "memory_kv",
    "MemoryAPI_vector": "memory_vector",
    "MemoryAPI_rec_sum": "memory_rec_sum",
    WEB_API: "web_search",
}
#: The files of documents that come with the official package.
OFFICIAL_DOCUMENTS = (*OFFICIAL_APIS.values(), *_AGENTIC_STEMS.values())
_STEMS = {**OFFICIAL_APIS, **OWN_APIS, **_AGENTIC_STEMS}


class Api(Record, frozen=True):
    """A simulated API: `import_path` is "module:Class", `documents` describe its tools."""

    name: str
    import_path: str
    documents: tuple[dict[str, Any], ...]

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(document["name"] for document in self.documents)


class Installation(Record, frozen=True):
    """An official package: the folder that holds `bfcl_eval/`, and its version if known."""

    folder: str
    version: str = ""


def find_installation() -> Installation | None:
    """The official package or the part of it that was fetched, if there is one. Raises
    EnvironmentFailure where EVALBOARD_BFCL_EVAL names a folder without it."""
    named = os.environ.get(VARIABLE, "")
    folder = (
        Path(named).expanduser().resolve()
        if named
        else _find_installed_package() or _find_fetched_package()
    )
    if folder is None:
        return None
    if not _holds_apis(folder):
        raise EnvironmentFailure(
            Note("bfcl_variable", variable=VARIABLE, folder=named, remedy=INSTALL)
        )
    matches = distributions(path=[str(folder)], name="bfcl_eval")
    return Installation(str(folder), next((distribution.version for distribution in matches), ""))


def find_encoder() -> str:
    """The folder of upstream's network that EVALBOARD_BFCL_ENCODER names, "" where it names none.
    Raises EnvironmentFailure for other weights than upstream's, and without what runs them."""
    named = os.environ.get(ENCODER_VARIABLE, "").strip()
    if not named:
        return ""
    folder = Path(named).expanduser().resolve()
    for name, digest in ENCODER_FILES.items():
        path = folder / name
        if not path.is_file() or sha256(path.read_bytes()).hexdigest() != digest:
            raise EnvironmentFailure(
                Note("bfcl_other_weights", variable=ENCODER_VARIABLE, path=path, sha256=digest)
            )
    if not all(map(find_spec, ("torch", "transformers"))):
        raise EnvironmentFailure(Note("bfcl_weights_need_torch", variable=ENCODER_VARIABLE))
    return str(folder)


def choose_similarity(chosen: str) -> str:
    """What finds the texts of an official run's memories: the official weights where they are, else
    the stand-in. A run that began stays with what it chose. Raises UsageError where that is gone,
    and for other weights."""
    try:
        encoder = find_encoder() if chosen != STAND_IN else ""
    except EnvironmentFailure as error:
        raise UsageError(str(error)) from None
    if chosen == OFFICIAL and not encoder:
        raise UsageError(Note("bfcl_no_weights", variable=ENCODER_VARIABLE))
    return OFFICIAL if encoder else STAND_IN


def fetched_folder(settings: Settings) -> Path:
    """Where `evalcore datasets fetch bfcl` puts official data and APIs by default."""
    return settings.data_dir / "datasets" / "bfcl-v4"


def load_documents(
    name: str, folders: Sequence[Path], official: Installation | None
) -> tuple[dict[str, Any], ...]:
    """The documents of a class's tools, from the first folder that has them or the official
    package; none where nothing has. Raises DatasetError for a class that nobody knows, and what
    `read_documents` raises."""
    if name not in _STEMS:
        raise DatasetError(
            "multi_turn", None, "involved_classes", Note("unknown_value", value=name)
        )
    if official is not None:
        folders = [*folders, Path(official.folder) / _OFFICIAL_DATA, Path(official.folder)]
    files = [folder / DOCUMENTS / f"{_STEMS[name]}.json" for folder in folders]
    path = next((path for path in files if path.is_file()), None)
    return read_documents(path) if path else ()


def find_api(name: str, folders: Sequence[Path], official: Installation | None) -> Api:
    """The API of a class with its documents. Raises EnvironmentFailure where the class is official
    and not installed or has no documents, and what `load_documents` raises."""
    documents = load_documents(name, folders, official)
    if name in OFFICIAL_APIS and official is None:
        raise EnvironmentFailure(Note("bfcl_simulated", name=name, remedy=INSTALL))
    if not documents:
        path = f"{DOCUMENTS}/{_STEMS[name]}.json"
        raise EnvironmentFailure(Note("bfcl_no_tools", path=path, name=name))
    if name in MEMORY_APIS:
        return Api(name, f"{_OWN_PACKAGE}.{MEMORY_APIS[name]}", documents)
    package = _OWN_PACKAGE if name in OWN_APIS else _OFFICIAL_PACKAGE
    return Api(name, f"{package}.{_STEMS[name]}:{name}", documents)


def read_documents(path: Path) -> tuple[dict[str, Any], ...]:
    """The documents of a file; raises DatasetError naming the line that has no usable name."""
    documents = []
    for line, row in read_rows(path):
        name = row.get("name")
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            raise DatasetError(path, line, "name", Note("bfcl_tool_name"))
        documents.append(row)
    return tuple(documents)


def _find_installed_package() -> Path | None:
    spec = find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))).parent
    return folder if _holds_apis(folder) else None


def _find_fetched_package() -> Path | None:
    folder = fetched_folder(load_settings()).resolve()
    return folder if _holds_apis(folder) else None


def _holds_apis(folder: Path) -> bool:
    return (folder / Path(*_OFFICIAL_PACKAGE.split("."))).is_dir()


# One worker serves every entry, one request at a time. A live conversation sends the calls that it
# made before along with the new ones, so that it goes on unharmed when a call of another one has
# hung and the process was replaced.

_SERVICE = "evalcore.benchmarks.bfcl.multi_turn.service:open_service"
_SECONDS = 10.0
#: A search of texts by a network takes seconds where other programs want the processors, too.
_ENCODER_SECONDS = 120.0
_MEMORY_BYTES = 512_000_000
_MAX_REPLY = 32_000_000

OverrunKind = Literal["execution_timeout", "execution_lost"]


class Overrun(Exception):
    """A call exceeded its time (`execution_timeout`) or memory (`execution_lost`)."""

    def __init__(self, kind: OverrunKind, message: str) -> None:
        self.kind: OverrunKind = kind
        super().__init__(message)


class Simulators(AbstractContextManager["Simulators"]):
    """The APIs of a dataset; close it when done. Usable from several threads. `missing` says of
    other classes why they cannot be had, `folder` is where modules are looked for first, `encoder`
    that of `find_encoder`, `seconds` the limit of one request without an encoder."""

    def __init__(
        self,
        apis: Mapping[str, Api],
        *,
        missing: Mapping[str, str] = MappingProxyType({}),
        folder: str = "",
        encoder: str = "",
        seconds: float = _SECONDS,
    ) -> None:
        self._apis = dict(apis)
        self._missing = dict(missing)
        self._worker = WorkerProcess(
            _SERVICE,
            {
                "places": {name: api.import_path for name, api in apis.items()},
                "folder": folder,
                "encoder": encoder,
            },
            seconds=max(seconds, _ENCODER_SECONDS) if encoder else seconds,
            memory_bytes=_MEMORY_BYTES,
            max_reply=_MAX_REPLY,
        )

    def list_documents(self, entry: BfclEntry) -> list[dict[str, Any]]:
        """The documents of all tools of an entry, class by class. Raises what `execute` raises."""
        apis = self._find_entry_apis(entry)
        return [dict(document) for api in apis for document in api.documents]

    def check(self, entry: BfclEntry) -> None:
        """Raises EnvironmentFailure where the APIs of an entry cannot be run here, and DatasetError
        for an entry that is none."""
        self._build_setting(entry)

    def execute(self, entry: BfclEntry, done: Sequence[str], calls: Sequence[str]) -> list[str]:
        """Run calls after the earlier ones of the same conversation; return the results as the
        model sees them. Raises Overrun; EnvironmentFailure if the APIs cannot run; DatasetError if
        an entry names unknown classes or scenarios."""
        setting = self._build_setting(entry)
        request = Execute(setting, _clean_call_texts(calls), _clean_call_texts(done))
        return msgspec.json.decode(self._send_request(entry, request), type=list[str])

    def replay(
        self,
        entry: BfclEntry,
        truth: Sequence[Sequence[str]],
        prediction: Sequence[Sequence[Sequence[str]]],
    ) -> ReplayOutcome:
        """Both sides run and compared (`check_turns`). Raises what `execute` raises."""
        request = Replay(
            self._build_setting(entry),
            [_clean_call_texts(turn) for turn in truth],
            [[_clean_call_texts(step) for step in turn] for turn in prediction],
        )
        return msgspec.json.decode(self._send_request(entry, request), type=ReplayOutcome)

    def close(self) -> None:
        """End the process; safe to call twice."""
        self._worker.close()

    def __exit__(self, *error: object) -> None:
        self.close()

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
                problem = missing[api.name]
                raise EnvironmentFailure(
                    Note("bfcl_api_unloaded", name=api.name, problem=problem, remedy=INSTALL)
                )
        scenarios = entry.extra.get("initial_config", {})
        if not isinstance(scenarios, dict):
            raise DatasetError(entry.id, None, "initial_config", Note("must_be_object"))
        tools = [(api.name, list(api.tools)) for api in apis]
        return Setting(tools, json.dumps(scenarios), "long_context" in entry.category)

    def _send_request(self, entry: BfclEntry, request: Record) -> msgspec.Raw:
        reply = self._request_with_retry(msgspec.to_builtins(request))
        if reply.fault == "memory":
            self._worker.restart()
            raise Overrun("execution_lost", reply.message)
        if reply.fault:
            raise EnvironmentFailure(Note("bfcl_not_run", id=entry.id, message=reply.message))
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


def open_simulators(
    folders: Sequence[Path], seconds: float = _SECONDS, encoder: str = ""
) -> Simulators:
    """All APIs that there are, ours and the official ones; `folders` are those of datasets. No
    process is started before the first request, and what is missing is an EnvironmentFailure only
    of the entries that need it. Raises EnvironmentFailure where EVALBOARD_BFCL_EVAL names a folder
    without the package."""
    official = find_installation()
    apis: dict[str, Api] = {}
    missing: dict[str, str] = {}
    for name in sorted({*OWN_APIS, *OFFICIAL_APIS, *MEMORY_APIS}):
        try:
            apis[name] = find_api(name, folders, official)
        except EnvironmentFailure as problem:
            missing[name] = str(problem)
    folder = official.folder if official else ""
    return Simulators(apis, missing=missing, folder=folder, encoder=encoder, seconds=seconds)


def list_involved_classes(entry: BfclEntry) -> list[str]:
    """The names of an entry's classes; raises DatasetError if there is not a list of names."""
    names = entry.extra.get("involved_classes")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DatasetError(entry.id, None, "involved_classes", Note("must_be_names"))
    return names


def _clean_call_texts(texts: Sequence[str]) -> list[str]:
    return [replace_surrogates(text) for text in texts]
