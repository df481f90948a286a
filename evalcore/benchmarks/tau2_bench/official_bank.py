"""The bank of tau2-bench as upstream answers: its own tools, run in a process that can do nothing.

What these tools say is put together of what they find as they run, so that no reading of their
source gives it. A fetch takes the source along with the texts, whose hash covers it; it is run in a
worker process alone (`evalcore.sandbox.worker_process`), which keeps nothing between requests: each
begins with the records of the task and makes the calls of the episode again. What stands around
the source, and the search that its tools ask for, is written here.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial, reduce
from math import log
from operator import add
from pathlib import PurePosixPath
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec

from evalcore.benchmarks.call_decoding.call import replace_surrogates
from evalcore.benchmarks.tau2_bench.card import RETRIEVALS
from evalcore.benchmarks.tau2_bench.environment.banking import TABLES
from evalcore.benchmarks.tau2_bench.environment.banking_desk import list_logged_tools
from evalcore.benchmarks.tau2_bench.environment.world import Call, Environment, World, render_answer
from evalcore.errors import EnvironmentFailure
from evalcore.records import Record, to_plain
from evalcore.sandbox.worker_process import WorkerLost, WorkerProcess

_SEARCHES = ("KB_search", "grep")
_MOST_FOUND = 10
_SECONDS, _MEMORY_BYTES, _MAX_REPLY = 10.0, 512_000_000, 32_000_000
_SERVICE = "evalcore.benchmarks.tau2_bench.official_bank:open_service"
_K1, _B, _FLOOR = 1.5, 0.75, 0.25  # of Okapi BM25
#: The modules that are run, each after those that it imports.
BANK_MODULES = tuple(
    f"tau2.domains.banking_knowledge.{name}"
    for name in ("utils", "db_query", "tools", "retrieval_mixins")
)
_WHOLE, _NEEDED = re.compile(r"\{\{full_knowledge_base\}\}"), "{{required_documents}}"


class BankTexts(Record, frozen=True):
    """`sources` are upstream's modules by name (`BANK_MODULES`), `classes` what holds the tools of
    `assistant`, `user`, `KB_search` and `grep` (module and name), and `tools` their schemas as JSON
    text; `prompts` are the agent's policies by retrieval."""

    sources: dict[str, str]
    classes: dict[str, tuple[str, str]]
    prompts: dict[str, str]
    tools: dict[str, str]

    def list_tool_schemas(self, retrieval: str) -> list[dict[str, Any]]:
        """The tools that the agent is offered with a retrieval."""
        sides = (*RETRIEVALS[retrieval], "assistant")
        return [schema for side in sides for schema in json.loads(self.tools[side])]

    def build_policy(self, retrieval: str, world: World, required: Sequence[str] | None) -> str:
        """A policy with the documents that a retrieval gives the agent beforehand."""
        by_reference = {each["id"]: each for each in world.documents}
        by_reference |= {each["title"]: each for each in world.documents}
        needed = [by_reference[name] for name in required or () if name in by_reference]
        prompt = _WHOLE.sub(_join_documents(world.documents), self.prompts[retrieval])
        return prompt.replace(_NEEDED, _join_documents(needed) or "(No documents provided)")


def _join_documents(documents: Iterable[Mapping[str, str]]) -> str:
    return "\n\n---\n\n".join(f"## {each['title']}\n\n{each['content']}" for each in documents)


class OfficialBank:
    """Upstream's answers in the world of some tasks; close it when done."""

    def __init__(self, texts: BankTexts, world: World) -> None:
        tables = {name: dict(world.state.agent.rows(name)) for name in TABLES}
        options = {
            **to_plain(texts),
            "documents": [dict(each) for each in world.documents],
            "tables": json.dumps(tables),  # messages sort the keys of objects, and order counts
        }
        limits = {"seconds": _SECONDS, "memory_bytes": _MEMORY_BYTES, "max_reply": _MAX_REPLY}
        self._worker = WorkerProcess(_SERVICE, options, **limits)  # type: ignore[arg-type]
        self.close = self._worker.close

    def open_desk(self, environment: Environment) -> Callable[[], tuple[str, bool]]:
        """What gives upstream's answer to the last call of an environment in which a task begins,
        and whether it is no error. Raises EnvironmentFailure where the process cannot run."""
        database = environment.state.agent
        changed = {table for table, _ in database.list_changed_entities()}
        begun = {
            "tables": json.dumps({table: dict(database.rows(table)) for table in changed}),
            "logged": list_logged_tools(environment.state),
        }
        return lambda: self._answer({**begun, "calls": _pack_calls(environment.calls)})

    def _answer(self, request: Mapping[str, Any]) -> tuple[str, bool]:
        try:
            reply = self._worker.request(request)
        except WorkerLost as lost:
            return f"Error: the call was not answered: {lost}", False
        if reply.fault:
            raise EnvironmentFailure(reply.message)
        return msgspec.json.decode(reply.result, type=tuple[str, bool])


def _pack_calls(calls: Sequence[Call]) -> str:
    """The calls as JSON text, of searches only the last: they leave no trace."""
    *former, last = calls
    packed = [*(call for call in former if call.name not in _SEARCHES), last]
    return json.dumps([[call.requestor, call.name, call.kwargs] for call in packed])


# The inside of the worker process.


def open_service(options: Mapping[str, Any]) -> BankService:
    """Raises what upstream's source raises where it has another form."""
    return BankService(options)


class BankService:
    """Answers requests: the tables that a task changes, the tools whose calls are logged, and
    calls, of which the last is answered."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.about: dict[str, Any] = {}
        _load_sources(dict(options["sources"]))
        classes = {
            side: getattr(sys.modules[module], owner)
            for side, (module, owner) in options["classes"].items()
        }
        bases = tuple(classes[name] for name in (*_SEARCHES, "assistant"))
        search = {
            "_kb_pipeline": Pipeline(options["documents"], rank_by_words),
            "_grep_pipeline": Pipeline(options["documents"], rank_by_pattern),
        }
        self._kits = {"assistant": type("Desk", bases, search), "user": classes["user"]}
        self._tables = options["tables"]
        datetime.strptime("2000", "%Y")  # imports a module, which no call could do later

    def __call__(self, request: Mapping[str, Any]) -> tuple[str, bool]:
        tables = json.loads(self._tables) | json.loads(request["tables"])
        rows = {name: SimpleNamespace(data=data, notes="") for name, data in tables.items()}
        database = SimpleNamespace(**rows)
        kits = {side: kit(database) for side, kit in self._kits.items()}
        kits["assistant"].set_read_log_allowlist(set(request["logged"]))
        answer = "", False
        for side, name, kwargs in json.loads(request["calls"]):
            answer = _use_tool(kits[side], name, kwargs)
        return replace_surrogates(answer[0]), answer[1]


def _use_tool(kit: Any, name: str, kwargs: Mapping[str, Any]) -> tuple[str, bool]:
    try:
        if not hasattr(getattr(type(kit), name, None), _MUTATES):
            raise ValueError(f"Tool '{name}' not found.")
        return render_answer(getattr(kit, name)(**kwargs)), True
    except Exception as error:  # as upstream hands it to the caller
        return f"Error: {error}", False


_MUTATES, _HIDDEN = "__mutates_state__", "__discoverable__"
_KINDS = SimpleNamespace(READ="read", WRITE="write", THINK="think", GENERIC="generic")


class _Toolkit:
    """What upstream's tools inherit."""

    def __init__(self, db: Any = None) -> None:
        self.db = db

    def get_discoverable_tools(self) -> dict[str, Callable[..., Any]]:
        names = (name for name in dir(type(self)) if hasattr(getattr(type(self), name), _HIDDEN))
        return {name: getattr(self, name) for name in names}

    def has_discoverable_tool(self, name: Any) -> bool:
        return name in self.get_discoverable_tools()


def _mark_tool(
    kind: str = "read", mutates_state: bool | None = None, *, marks: Sequence[str] = ()
) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        mutates = kind == _KINDS.WRITE if mutates_state is None else mutates_state
        vars(function).update({_MUTATES: mutates, **dict.fromkeys(marks, True)})
        return function

    return mark


def _load_sources(sources: Mapping[str, str]) -> None:
    """Run upstream's modules in the order in which they import each other, within what stands for
    the rest of its package."""
    _enter_module("tau2.utils.utils", DATA_DIR=PurePosixPath("/"))
    _enter_module("tau2.domains.banking_knowledge.data_model", TransactionalDB=object)
    _enter_module(
        "tau2.environment.toolkit",
        DISCOVERABLE_ATTR=_HIDDEN,
        MUTATES_STATE_ATTR=_MUTATES,
        ToolKitBase=_Toolkit,
        ToolKitType=type,
        ToolType=_KINDS,
        is_tool=_mark_tool,
        is_discoverable_tool=partial(_mark_tool, marks=(_HIDDEN,)),
    )
    for name in BANK_MODULES:
        module = _enter_module(name)
        exec(compile(sources[name], name, "exec"), vars(module))  # noqa: S102  # in the worker only


def _enter_module(name: str, **members: Any) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(members)
    return module


Ranking = list[tuple[str, float]]


class Pipeline:
    """The documents as upstream's search tools ask for them. The times that an answer ends with are
    not measured but nearly none, so that the same search has the same answer."""

    def __init__(
        self,
        documents: Sequence[Mapping[str, str]],
        make: Callable[[Mapping[str, str]], Callable[[Any], Ranking]],
    ) -> None:
        self._titles = {each["id"]: each["title"] for each in documents}
        self._contents = {each["id"]: each["content"] for each in documents}
        self._rank = make(self._contents)

    def retrieve(self, query: Any, return_timing: bool = False) -> Any:
        results = self._rank(query)[:_MOST_FOUND]
        timing = SimpleNamespace(retrieval_ms=0.0, postprocessing_ms=1e-6, total_ms=0.0)
        return SimpleNamespace(results=results, timing=timing) if return_timing else results

    def get_document_title(self, document: str) -> str | None:
        return self._titles.get(document)

    def get_document_content(self, document: str) -> str | None:
        return self._contents.get(document)


def rank_by_words(contents: Mapping[str, str]) -> Callable[[Any], Ranking]:
    """Okapi BM25 as the package `rank_bm25` computes it, to the last digit: words are what blanks
    part, and one in more than half of the documents has a quarter of the mean rarity."""
    counts = {name: Counter(text.lower().split()) for name, text in contents.items()}
    lengths = {name: sum(each.values()) for name, each in counts.items()}
    mean = sum(lengths.values()) / max(len(counts), 1)
    holding = Counter(word for each in counts.values() for word in each)
    rarity = {
        word: log(len(counts) - number + 0.5) - log(number + 0.5)
        for word, number in holding.items()
    }
    least = _FLOOR * (reduce(add, rarity.values(), 0.0) / max(len(rarity), 1))

    def rank(query: Any) -> Ranking:
        if not query or not query.strip():
            return []
        scores = dict.fromkeys(contents, 0.0)
        for word in query.lower().split():
            weight = rarity.get(word, 0.0)
            weight = least if weight < 0 else weight
            for name in scores if weight else ():
                count = counts[name][word]
                length = _K1 * (1 - _B + _B * lengths[name] / mean)
                scores[name] += weight * (count * (_K1 + 1) / (count + length))
        return sorted(scores.items(), key=lambda each: each[1], reverse=True)

    return rank


def rank_by_pattern(contents: Mapping[str, str]) -> Callable[[Any], Ranking]:
    """By how often an expression matches; what is none is looked for as it stands."""

    def rank(pattern: Any) -> Ranking:
        if not pattern.strip():
            return []
        try:
            expression = re.compile(pattern, re.IGNORECASE)
        except re.error:
            expression = re.compile(re.escape(pattern), re.IGNORECASE)
        found = [(name, float(len(expression.findall(text)))) for name, text in contents.items()]
        return sorted([each for each in found if each[1]], key=lambda each: each[1], reverse=True)

    return rank
