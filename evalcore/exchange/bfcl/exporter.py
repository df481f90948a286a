"""Our answers to BFCL as official result files, which upstream's own evaluation can then score.

Text goes out raw and native calls as calls, both as upstream keeps them. Upstream never asks for
JSON objects; where we did, those that can be read go out as native calls, named as servers want it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from evalcore.access.redaction import mask_target
from evalcore.benchmarks.bfcl.categories import (
    AGENTIC,
    CATEGORIES,
    LIVE,
    MEMORY,
    MULTI_TURN,
    NON_LIVE,
)
from evalcore.benchmarks.bfcl.score import INFRASTRUCTURE_PREFIX
from evalcore.benchmarks.bfcl.tool_prompts import select_decode_mode, to_wire_name
from evalcore.benchmarks.call_decoding import DecodeError, decode_calls
from evalcore.benchmarks.call_decoding.upstream_formats import name_and_arguments
from evalcore.catalog import CommandResult
from evalcore.errors import FileError, UsageError
from evalcore.exchange.bfcl.results import Prediction
from evalcore.i18n import Note
from evalcore.records import Episode, Message, Record, Sample
from evalcore.runner.summary import latest_episodes
from evalcore.store.run_folder import RunFolder, write_atomic

BENCHMARK = "bfcl"
_JSON = select_decode_mode("json", "")
_GROUPS = {"non_live": NON_LIVE, "live": LIVE, "multi_turn": MULTI_TURN, "agentic": AGENTIC}
_UNSAFE = re.compile(r"[^A-Za-z0-9_.()\- ]+")
_NUMBER = re.compile(r"\d+")


class BfclExport(Record, frozen=True):
    """What was written: files, answers and, among those, failed requests; `left_out` counts samples
    that nobody asked and multi-turn conversations whose transcript does not show the turns."""

    model: str
    files: tuple[str, ...]
    answers: int
    failed: int
    left_out: int


def export_bfcl_run(folder: RunFolder, out: Path) -> BfclExport:
    """Write the first epoch of a run below `out/result/<model>`. Raises UsageError for a run
    without BFCL, and what `write_result_files` raises."""
    spec = folder.read_spec()
    if not any(benchmark.key == BENCHMARK for benchmark in spec.benchmarks):
        raise UsageError(Note("export_no_bfcl", run=folder.run_id))
    declared = sum(line.benchmark == BENCHMARK for line in folder.read_samples())
    answers = list(iter_predictions(folder))
    key = mask_target(spec.target.key)
    model = model_folder(key.partition(":")[2] or key)
    files = write_result_files(out, model, answers)
    return BfclExport(
        model=model,
        files=tuple(str(path) for path in files),
        answers=len(answers),
        failed=sum(bool(prediction.error) for prediction in answers),
        left_out=declared - len(answers),
    )


def iter_predictions(folder: RunFolder) -> Iterator[Prediction]:
    """The answers of a run in the first epoch, one for each sample that has one."""
    episodes = latest_episodes(folder)
    for line in folder.read_samples():
        episode = episodes.get((BENCHMARK, line.sample.key, 0))
        if line.benchmark == BENCHMARK and episode is not None:
            prediction = build_prediction(line.sample, episode)
            if prediction is not None:
                yield prediction


def build_prediction(sample: Sample, episode: Episode) -> Prediction | None:
    """The answer of an episode in the official form; None for a category that upstream's files do
    not know, and for a conversation whose transcript does not show the turns."""
    native = episode.state.get("mode") in ("fc", _JSON) or any(
        message.tool_calls for message in episode.messages
    )
    category, error = sample.metric, ""
    answer: str | list[Any] | None = ""
    if category not in CATEGORIES:
        return None
    if episode.failure is not None:
        error = episode.failure.message or episode.failure.kind
    elif category in (*MULTI_TURN, *AGENTIC):
        answer = _split_turns(episode)
    else:
        answer = _extract_native_calls(episode) if native else episode.answer
    if answer is None:
        return None
    return Prediction(
        category=category,
        id=sample.id,
        mode="fc" if native else "prompt",
        answer=answer,
        input_tokens=episode.usage.input_tokens,
        output_tokens=episode.usage.output_tokens,
        latency=episode.latency,
        error=error,
    )


def write_result_files(
    out: Path, model: str, predictions: Iterable[Prediction]
) -> tuple[Path, ...]:
    """Write answers as upstream's evaluation reads them, below `out/result/<model>`; the files.

    A failed request is written as upstream writes one. Raises UsageError where nothing can be
    written or the folder holds results, which would be mixed with these.
    """
    folder = out / "result" / model_folder(model)
    if any(folder.rglob("*_result.json")):
        raise UsageError(Note("folder_has_results", folder=folder))
    grouped: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        grouped.setdefault(prediction.category, []).append(prediction)
    written = []
    for category, group in grouped.items():
        file = folder / _find_result_group(category) / f"BFCL_v4_{category}_result.json"
        lines = (
            json.dumps(_build_result_row(prediction)) + "\n"
            for prediction in sorted(group, key=_prediction_sort_key)
        )
        try:
            write_atomic(file, "".join(lines).encode())
        except OSError as error:
            raise FileError(file, error) from None
        written.append(file)
    return tuple(written)


def model_folder(model: str) -> str:
    """A model's name as the name of its folder: upstream turns slashes into underscores."""
    return _UNSAFE.sub("-", model.replace("/", "_")).strip(". ") or "unnamed"


def _extract_native_calls(episode: Episode) -> str | list[Any]:
    """The native calls of the reply, or its text where it made none."""
    replies = _select_replies(episode)
    if replies:
        return _build_step(replies[-1], episode)
    listed = _parse_json_list(episode.answer)  # as an import keeps them
    return episode.answer if listed is None else [_normalize_call(item) for item in listed]


def _split_turns(episode: Episode) -> list[Any] | None:
    """The raw answers by turn and step, as an import keeps them or as the transcript shows.

    A turn of ours has an answer for each step with calls, then one without, unless its end was that
    of the whole conversation.
    """
    turns = episode.state.get("turns")
    if not isinstance(turns, list | tuple):
        listed = _parse_json_list(episode.answer)
        return listed if all(isinstance(turn, list) for turn in listed or ()) else None
    sizes = [len(steps) + 1 for steps in turns]
    if sizes and episode.termination:
        sizes[-1] -= 1
    replies = _select_replies(episode)
    if sum(sizes) != len(replies):
        return None
    remaining = (_build_step(message, episode) for message in replies)
    return [list(islice(remaining, size)) for size in sizes]


def _select_replies(episode: Episode) -> list[Message]:
    return [message for message in episode.messages if message.role == "assistant"]


def _build_step(reply: Message, episode: Episode) -> str | list[Any]:
    if reply.tool_calls:
        return [{call.name: call.arguments} for call in reply.tool_calls]
    if episode.state.get("mode") != _JSON:
        return reply.content
    try:
        calls = decode_calls(reply.content, _JSON)
    except DecodeError:
        return reply.content
    return [
        {to_wire_name(name): json.dumps(arguments) for name, arguments in call.items()}
        for call in calls
    ]


def _parse_json_list(text: str) -> list[Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def _normalize_call(item: Any) -> Any:
    try:
        name, arguments = name_and_arguments(item)
    except DecodeError:
        return item
    return {name: arguments}


def _build_result_row(prediction: Prediction) -> Mapping[str, Any]:
    if prediction.error:
        return {"id": prediction.id, "result": f"{INFRASTRUCTURE_PREFIX} {prediction.error}"}
    return {
        "id": prediction.id,
        "result": prediction.answer,
        "input_token_count": prediction.input_tokens or 0,
        "output_token_count": prediction.output_tokens or 0,
        "latency": prediction.latency,
    }


def _find_result_group(category: str) -> str:
    group = next(group for group, members in _GROUPS.items() if category in members)
    if category in MEMORY:  # upstream keeps a folder for each kind of memory
        return f"{group}/memory/{category.removeprefix('memory_')}"
    return group


def _prediction_sort_key(prediction: Prediction) -> tuple[int, str]:
    """Upstream's order: by the first number after the category."""
    number = _NUMBER.match(prediction.id.rpartition("_")[2])
    return int(number[0]) if number else 0, prediction.id


def run_bfcl_export(folder: RunFolder, out: Path, flags: Mapping[str, str]) -> CommandResult:
    """`evalcore export --format bfcl`; see `CommandCard`."""
    done = export_bfcl_run(folder, out)
    remarks = []
    if done.failed:
        remarks.append(Note("export_failed_requests", count=done.failed))
    if done.left_out:
        remarks.append(Note("export_left_out", count=done.left_out))
    files, count = len(done.files), done.answers
    text = Note("export_answers", path=out, model=done.model, files=files, count=count)
    return CommandResult(done, text, tuple(remarks))
