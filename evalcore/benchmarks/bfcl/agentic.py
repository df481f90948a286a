"""BFCL's agentic entries: questions about what was said in earlier conversations, and questions to
the web.

A memory entry has two phases, as upstream: conversations in which the target writes to its memory,
once per memory, scenario and epoch, and then the question, with nothing but that memory, which is
stored as the calls that made it: they run again on a fresh one wherever it is needed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from evalcore.benchmarks.bfcl.answers import NATIVE, list_message_answers
from evalcore.benchmarks.bfcl.categories import MEMORY
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.conversations import (
    OVERFLOW,
    Ask,
    Conversation,
    Read,
    ToolRunner,
    run_conversation,
)
from evalcore.benchmarks.bfcl.score import ViewResult
from evalcore.benchmarks.bfcl.web_search import check_unchanged, hash_file, mentions_answer
from evalcore.benchmarks.call_decoding import DecodeError, decode_calls
from evalcore.errors import DatasetError
from evalcore.i18n import Note
from evalcore.intake.json_text import parse_json_or, read_rows
from evalcore.records import Episode, Message, Section

MATERIAL_FOLDER = "memory_prereq_conversation"
#: The scenarios of upstream's memory entries.
SCENARIOS = ("customer", "finance", "healthcare", "notetaker", "student")

# Which API an entry has, and which file it is about; an entry holds the file's hash.


def find_api_name(category: str) -> str:
    """The class that simulates the tools of an agentic category."""
    return f"MemoryAPI_{category.removeprefix('memory_')}" if category in MEMORY else "WebSearchAPI"


def find_material(entry: BfclEntry, folder: Path) -> Path | None:
    """The conversations that come before a memory entry, or the recorded pages of a web entry; None
    where the web itself is meant. Raises DatasetError where the conversations are absent."""
    if entry.category not in MEMORY:
        path = folder / "web_pages.jsonl"
        return path if path.is_file() else None
    scenario = entry.extra.get("scenario")
    if not isinstance(scenario, str) or not scenario.isidentifier():
        raise DatasetError(entry.source or entry.id, None, "scenario", Note("upload_text"))
    path = folder / MATERIAL_FOLDER / f"memory_{scenario}.json"
    if not path.is_file():
        raise DatasetError(
            folder, None, "", Note("lacks_file", name=f"{MATERIAL_FOLDER}/{path.name}")
        )
    return path


def describe_material(path: Path | None) -> dict[str, str]:
    """The hash by which a run knows its material again; it belongs to the case."""
    return {"material": hash_file(path)} if path else {}


def load_conversations(path: Path, digest: str) -> list[list[list[Message]]]:
    """The conversations of a scenario, each a list of turns of messages. Raises DatasetError for a
    line that is none, EnvironmentFailure where the file changed."""
    check_unchanged(path, digest)
    conversations = []
    for line, row in read_rows(path):
        try:
            conversations.append(msgspec.convert(row.get("question"), list[list[Message]]))
        except msgspec.ValidationError as error:
            raise DatasetError(path, line, "question", str(error)) from None
    return conversations


# What a target is asked, in our own words.

_MEMORY_TASK = """You help a person over many separate conversations. Between them you forget \
everything but what stands in your memory. {parts} Save what may matter later: names, numbers, \
dates, plans and preferences, in the person's own terms. Look in your memory before you answer."""
_TWO_PARTS = """It has a small core part, shown below, and a large archival part that you read \
with tools."""
_ONE_PART = "It is one text, shown below, which you keep short and up to date with tools."
_ANSWER = """Answer the last question in one sentence that holds the exact value asked for. If \
you cannot find it out, say so."""
_WEB_TASK = """You answer questions with a search engine. Search, open the pages that look right, \
and follow them until you are sure."""


def build_memory_prompt(category: str, content: str, *, asks: bool) -> str:
    """The system message of a conversation; `asks`: a question is to be answered."""
    parts = _ONE_PART if category == "memory_rec_sum" else _TWO_PARTS
    text = f"{_MEMORY_TASK.format(parts=parts)}\n\nYour memory now:\n{content}"
    return f"{text}\n\n{_ANSWER}" if asks else text


#: The call that reads what a conversation begins with, and the field of its result, if it is one.
_SHOWN = {
    "memory_kv": ("core_memory_retrieve_all()", ""),
    "memory_vector": ("core_memory_retrieve_all()", "result"),
    "memory_rec_sum": ("memory_retrieve()", "memory_content"),
}


class Memories:
    """The memories that were written, each once; usable by many samples at a time."""

    def __init__(self) -> None:
        self._written: dict[Hashable, tuple[str, ...]] = {}
        self._locks: dict[Hashable, asyncio.Lock] = {}

    async def get(
        self, key: Hashable, write: Callable[[], Awaitable[tuple[str, ...]]]
    ) -> tuple[str, ...]:
        """The calls that made a memory; the first to ask has it written. Raises what `write`
        raises, and the next to ask tries again."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._written:
                self._written[key] = await write()
        return self._written[key]


class AgenticRun:
    """One entry with a target. `open_with` makes the opening messages of a conversation from a
    system text and the user's messages, `build_text` the system text from the memory and whether a
    question is to be answered; by default it is in our own words."""

    def __init__(
        self,
        entry: BfclEntry,
        tools: ToolRunner,
        ask: Ask,
        read: Read | None,
        open_with: Callable[[str, Sequence[Message]], Sequence[Message]],
        build_text: Callable[[Any, bool], str] | None = None,
    ) -> None:
        self._entry, self._tools, self._ask, self._read = entry, tools, ask, read
        self._open_with = open_with
        self._build_text = build_text or self._build_own_text

    def _build_own_text(self, memory: Any, asks: bool) -> str:
        """The system text in our own words."""
        if self._entry.category not in MEMORY:
            return f"{_WEB_TASK}\n\n{_ANSWER}"
        content = memory or "(empty)"
        shown = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        return build_memory_prompt(self._entry.category, shown, asks=asks)

    async def write_memory(
        self, conversations: Sequence[Sequence[Sequence[Message]]]
    ) -> tuple[str, ...]:
        """Hold the earlier conversations; return all calls that were made in them. One that outgrew
        the context leaves nothing, as upstream; one that another limit ended leaves its calls."""
        done: tuple[str, ...] = ()
        for turns in conversations:
            prompt = self._build_text(await self._show_memory(done), False)
            held = await self._hold(prompt, turns, done)
            if held.termination == OVERFLOW:
                continue
            done = (*done, *(call for turn in held.prediction for step in turn for call in step))
        return done

    async def ask_question(self, done: Sequence[str] = ()) -> Conversation:
        turns = msgspec.convert(self._entry.question, list[list[Message]])
        if self._entry.category not in MEMORY:
            return await self._hold(self._build_text(None, True), turns, ())
        prompt = self._build_text(await self._show_memory(done), True)
        return await self._hold(prompt, turns, done)

    async def _hold(
        self, prompt: str, turns: Sequence[Sequence[Message]], done: Sequence[str]
    ) -> Conversation:
        first, *later = turns
        question = msgspec.to_builtins([list(self._open_with(prompt, first)), *later])
        entry = replace(self._entry, question=question)
        return await run_conversation(entry, self._ask, self._tools, self._read, done=done)

    async def _show_memory(self, done: Sequence[str]) -> Any:
        """The part of the memory that every conversation begins with, None where it is empty."""
        call, field = _SHOWN[self._entry.category]
        [result] = await asyncio.to_thread(self._tools.execute, self._entry, list(done), [call])
        content = parse_json_or(result, result)
        if field and isinstance(content, dict):
            content = content.get(field)
        return content or None


NO_LIST = "agentic:inference_error"
NO_MESSAGE = "agentic:no_last_message"
NOT_FOUND = "agentic:answer_not_found"


def score_final_message(entry: BfclEntry, episode: Episode) -> tuple[ViewResult, str]:
    """Upstream's verdict and the message that it rests on: the last one that is no call has to
    mention an accepted answer."""
    steps = _list_steps(episode)
    if steps is None:
        return ViewResult(False, NO_LIST, Note("agentic_no_list")), ""
    final: Any = None
    for answer, mode in steps:
        if not _holds_calls(answer, mode):
            final = answer
    if not final:
        return ViewResult(False, NO_MESSAGE, Note("agentic_no_message")), ""
    text = str(final[0]) if isinstance(final, list) else str(final)
    if mentions_answer(text, entry.ground_truth or []):
        return ViewResult(True, score=1.0), text
    return ViewResult(False, NOT_FOUND, Note("agentic_not_found")), text


def _list_steps(episode: Episode) -> list[tuple[Any, str]] | None:
    """The answers of the question's turn with their modes; None for an import that has none."""
    if episode.messages:
        return list_message_answers(episode)
    mode = str(episode.state.get("mode", ""))
    turns = parse_json_or(episode.answer, None)
    if not isinstance(turns, list):
        return [(episode.answer, mode)]
    if len(turns) != 1 or not isinstance(turns[0], list):
        return None
    return [(step, mode) for step in turns[0]]


def _holds_calls(answer: Any, mode: str) -> bool:
    read_as = NATIVE if isinstance(answer, list) else mode or "prompt_python"
    try:
        return bool(decode_calls(answer, read_as))
    except DecodeError:
        return False


def build_answer_section(entry: BfclEntry, text: str) -> Section:
    """The accepted answers beside the message that had to mention one."""
    rows = [[answer, text] for answer in entry.ground_truth or []]
    body = {"columns": ["expected", "answer"], "rows": rows}
    return Section(kind="table", title="final_message", body=body)
