"""What an episode answered, and in which mode: text, native tool calls, or the calls of turns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evalcore.benchmarks.bfcl.categories import MULTI_TURN
from evalcore.benchmarks.bfcl.decode import DecodeError, decode_calls
from evalcore.benchmarks.bfcl.multi_turn.calls import calls_to_text
from evalcore.benchmarks.bfcl.score import resolve_answer_mode
from evalcore.records import Episode, Message, Sample

NATIVE = "fc"


def episode_from_prediction(sample: Sample, key: str, prediction: Any, mode: str) -> Episode:
    """The episode of an answer that somebody already has. Raises UsageError for an unknown mode."""
    if sample.metric not in MULTI_TURN:
        mode = resolve_answer_mode(sample.metric, prediction, mode)
    if isinstance(prediction, str):
        messages = (Message("assistant", prediction),)
        return Episode(key=key, epoch=0, answer=prediction, messages=messages, state={"mode": mode})
    answer = json.dumps(prediction, ensure_ascii=False)
    return Episode(key=key, epoch=0, answer=answer, state={"mode": mode})


def extract_call_answer(episode: Episode) -> tuple[Any, str]:
    """The answer to a single-turn entry and its mode, empty for text in upstream's own way.

    Native calls stand in the last message, or as JSON in the answer where there are no messages.
    """
    mode = str(episode.state.get("mode", ""))
    if not episode.messages:
        return (_parse_json_or_text(episode.answer) if mode == NATIVE else episode.answer), mode
    calls = episode.messages[-1].tool_calls
    if mode != NATIVE or not calls:
        return episode.answer, mode
    return [{"name": call.name, "arguments": call.arguments} for call in calls], mode


def extract_call_turns(episode: Episode) -> Any:
    """The calls of a multi-turn entry by turn and step, as `replay.examine` takes them."""
    turns = episode.state.get("turns")
    if turns is None:
        turns = _parse_json_or_text(episode.answer)
    if not _is_nested_list(turns):
        return turns
    in_native = episode.state.get("mode") == NATIVE
    return [[_decode_imported_step(step, in_native) for step in turn] for turn in turns]


def _decode_imported_step(step: Any, in_native: bool) -> Any:
    """The calls of a step, of which an imported result holds the raw answer. Text between native
    calls is no call."""
    native = isinstance(step, list) and bool(step) and all(map(_is_native, step))
    if isinstance(step, str) and in_native:
        return []
    if not native and not isinstance(step, str):
        return step
    try:
        return calls_to_text(
            decode_calls(step, NATIVE if native else "prompt_python"), native=native
        )
    except DecodeError:
        return []


def _is_native(call: Any) -> bool:
    return isinstance(call, Mapping) and all(isinstance(value, str) for value in call.values())


def _is_nested_list(turns: Any) -> bool:
    return isinstance(turns, list) and all(isinstance(turn, list) for turn in turns)


def _parse_json_or_text(text: str) -> Any:
    """The JSON that an answer is; the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
