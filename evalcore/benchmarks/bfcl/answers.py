"""Answers in every mode: what an episode answered, and what the reference control answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.bfcl.categories import (
    AGENTIC,
    DECODE_ONLY,
    MULTI_TURN,
    find_category_language,
)
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.service import calls_to_text
from evalcore.benchmarks.bfcl.score import decode_answer, resolve_answer_mode, score_official
from evalcore.benchmarks.call_decoding import Call, DecodeError, decode_calls
from evalcore.benchmarks.call_decoding.upstream_formats import source_text
from evalcore.intake.json_text import parse_json_or
from evalcore.records import Episode, Message, Sample, ToolCall

NATIVE = "fc"


def episode_from_prediction(sample: Sample, key: str, prediction: Any, mode: str) -> Episode:
    """The episode of an answer that somebody already has. Raises UsageError for an unknown mode."""
    if sample.metric not in (*MULTI_TURN, *AGENTIC):
        mode = resolve_answer_mode(sample.metric, prediction, mode)
    if isinstance(prediction, str):
        messages = (Message("assistant", prediction),)
        return Episode(key=key, epoch=0, answer=prediction, messages=messages, state={"mode": mode})
    answer = json.dumps(prediction, ensure_ascii=False)
    return Episode(key=key, epoch=0, answer=answer, state={"mode": mode})


def extract_call_answer(episode: Episode) -> tuple[Any, str]:
    """The answer to a single-turn entry and its mode, empty for text in upstream's own way. Native
    calls stand in the last message, or as JSON in the answer where there are no messages."""
    mode = str(episode.state.get("mode", ""))
    if mode != NATIVE:
        return episode.answer, mode
    if not episode.messages:
        return parse_json_or(episode.answer, episode.answer), mode
    calls = episode.messages[-1].tool_calls
    return native_call_rows(calls) if calls else episode.answer, mode


def list_message_answers(episode: Episode) -> list[tuple[Any, str]]:
    """The answers of a conversation and their modes, as `extract_call_answer` gives them."""
    mode = str(episode.state.get("mode", ""))
    said = (message for message in episode.messages if message.role == "assistant")
    return [
        (native_call_rows(message.tool_calls) if message.tool_calls else message.content, mode)
        for message in said
    ]


def native_call_rows(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    return [{"name": call.name, "arguments": call.arguments} for call in calls]


def extract_call_turns(episode: Episode) -> Any:
    """The calls of a multi-turn entry by turn and step, as `examine_prediction` takes them."""
    turns = episode.state.get("turns")
    if turns is None:
        turns = parse_json_or(episode.answer, episode.answer)
    if not isinstance(turns, list) or not all(isinstance(turn, list) for turn in turns):
        return turns
    in_native = episode.state.get("mode") == NATIVE
    return [[_decode_imported_step(step, in_native) for step in turn] for turn in turns]


def _decode_imported_step(step: Any, in_native: bool) -> Any:
    """The calls of a step, of which an imported result holds the raw answer. Text between native
    calls is no call."""
    if isinstance(step, str):
        if in_native:
            return []
        mode = "prompt_python"
    elif isinstance(step, list) and step and all(map(_is_native, step)):
        mode = NATIVE
    else:
        return step
    try:
        return calls_to_text(decode_calls(step, mode), native=mode == NATIVE)
    except DecodeError:
        return []


def _is_native(call: Any) -> bool:
    return isinstance(call, Mapping) and all(isinstance(value, str) for value in call.values())


#: What is said where no function fits.
ABSTENTION = "None of the offered functions fits this request."

_Choice = Literal["given", "omitted"]


def reference_answer(entry: BfclEntry, mode: str) -> str | tuple[ToolCall, ...]:
    """An answer in the mode `fc` or `prompt_<language>` that the official check accepts. The first
    of a few spellings that passes; where none does (flagged entries, Java maps in prompt mode,
    which upstream's decoder drops), the plainest one."""
    answers = list(_spell_answers(entry, mode))
    right = (a for a in answers if score_official(decode_answer(entry, a, mode)).valid)
    return next(right, answers[0])


def reference_calls(entry: BfclEntry, optional: _Choice = "given") -> list[Call]:
    """The calls of the ground truth with the first accepted value of each argument. Arguments that
    may be left out are given or omitted. Relevance entries have no ground truth: their first
    function is called without arguments. Irrelevance entries have no calls."""
    if entry.category in DECODE_ONLY:
        needs_call = "irrelevance" not in entry.category and entry.functions
        return [{str(entry.functions[0].get("name")): {}}] if needs_call else []
    return [
        {name: _first_values(accepted, optional) for name, accepted in call.items()}
        for call in entry.ground_truth or []
    ]


def prompt_text(calls: list[Call], *, source: bool = False) -> str:
    """Calls in upstream's list notation; `source`: the values are source text already."""
    written = []
    for call in calls:
        for name, arguments in call.items():
            pairs = (
                f"{key}={value if source else repr(value)}" for key, value in arguments.items()
            )
            written.append(f"{name}({', '.join(pairs)})")
    return f"[{', '.join(written)}]"


def tool_calls(calls: list[Call], first: int = 0) -> tuple[ToolCall, ...]:
    """Calls as a server returns them, numbered, with underscores in place of the dots of names."""
    pairs = [pair for call in calls for pair in call.items()]
    return tuple(
        ToolCall(f"call_{i}", name.replace(".", "_"), json.dumps(arguments, ensure_ascii=False))
        for i, (name, arguments) in enumerate(pairs, first)
    )


def _spell_answers(entry: BfclEntry, mode: str) -> Iterator[str | tuple[ToolCall, ...]]:
    tongue = find_category_language(entry.category)
    if "irrelevance" in entry.category:
        yield ABSTENTION
        return
    for optional in ("given", "omitted"):
        for bare in (False, True) if tongue == "java" else (False,):
            calls = reference_calls(entry, optional)
            if tongue != "python":
                calls = _calls_to_source(calls, entry, tongue, bare=bare, quoted=mode != NATIVE)
            in_prompt = mode != NATIVE
            yield prompt_text(calls, source=tongue != "python") if in_prompt else tool_calls(calls)


def _first_values(accepted: dict[str, Any], optional: _Choice) -> dict[str, Any]:
    chosen = {}
    for key, values in accepted.items():
        alternatives = values if isinstance(values, list) else [values]
        candidates = [value for value in alternatives if value != ""]
        if optional == "given":
            candidates = candidates or alternatives
        elif "" in alternatives:
            continue
        if candidates:
            chosen[key] = _plain_value(candidates[0], optional)
    return chosen


def _plain_value(value: Any, optional: _Choice) -> Any:
    if isinstance(value, dict):
        return _first_values(value, optional)
    if isinstance(value, list):
        return [_plain_value(item, optional) for item in value]
    return value


def _calls_to_source(
    calls: list[Call], entry: BfclEntry, tongue: Language, *, bare: bool, quoted: bool
) -> list[Call]:
    """Every value as source text. `bare` leaves the elements of arrays without quotes, `quoted`
    puts them around texts, which upstream's text decoders take away."""
    properties = entry.functions[0]["parameters"]["properties"]

    def format_argument(key: str, value: Any) -> str:
        schema = properties.get(key, {})
        if isinstance(value, str):
            return f'"{value}"' if quoted and not set(value) & set('"\\\n') else value
        if bare and isinstance(value, list) and schema.get("type") == "Array":
            return f"new String[]{{{', '.join(map(str, value))}}}"
        return source_text(value, schema, tongue)

    return [
        {name: {key: format_argument(key, value) for key, value in arguments.items()}}
        for call in calls
        for name, arguments in call.items()
    ]
