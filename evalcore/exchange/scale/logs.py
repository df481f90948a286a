"""SCALE's process logs of both dialects: the panel, each vote and the final results.

Header lines, then `[time] text`. Old logs say `[case] Hybrid Eval Case Judge NAME Results: True`
and `... Correct Rules: ['1']`; new ones hold every exchange under `[Case:c][Run:k] [model] Model
Output Response:`, for target and judges alike: the target's is the first of its name in a run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError
from evalcore.records import Record

_HEADER = re.compile(r"^(Run ID|Evaluation Timestamp|Target LLM|Target|Judge LLMs):[ \t]*(.*)$")
_ENTRY = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\] (.*)$")
_EXCHANGE = re.compile(
    r"\[Case:(.+?)\]\[Run:(\d+)\] \[(.+?)\] Model (Input Prompt|Output Response):"
)
_OLD_VOTE = re.compile(r"\[(.+?)\] \w+ Eval Case Judge (.+?) (Results|Correct Rules): (.*)")
_FINAL = re.compile(
    r"\[(.+?)\] (?:\w+ Eval Case |Rule ?\[?([^\]\s]+)\]? ?)(?:Final )?Results?: (True|False)", re.I
)
_ITEMS = re.compile(r"""['"]?([^\s'",\[\]]+)['"]?""")
_FENCE = re.compile(r"^```\w*\s*$", re.MULTILINE)


class Vote(Record, frozen=True):
    """One vote of one judge. `vote` is yes, no or, for rules, their ids joined by a comma; empty
    where the reply could not be read. `text` is the reply as it came, empty in old logs."""

    case: str
    run: int
    judge: str
    vote: str
    reason: str = ""
    text: str = ""


class ProcessLog(Record, frozen=True):
    """What a log says. `finals` maps a case, or case/rule, to its result."""

    target: str
    judges: tuple[str, ...]
    timestamp: str
    answers: dict[str, tuple[str, ...]]
    votes: tuple[Vote, ...]
    finals: dict[str, bool]


def read_process_log(path: Path) -> ProcessLog:
    """A log of either dialect; raises DatasetError for a file that is none."""
    try:
        text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError as error:
        raise DatasetError(path, None, "", str(error.strerror)) from None
    header, entries = _split_process_log(text)
    if "Run ID" not in header:
        raise DatasetError(path, None, "Run ID", "is missing: the file is no process log")
    votes, finals, answers = _parse_log_entries(entries)
    judges = [name.strip() for name in header.get("Judge LLMs", "").split(",")]
    return ProcessLog(
        target=header.get("Target", header.get("Target LLM", "")),
        judges=tuple(filter(None, judges)),
        timestamp=header.get("Evaluation Timestamp", ""),
        answers={case: tuple(texts) for case, texts in answers.items()},
        votes=tuple(votes),
        finals=finals,
    )


def _split_process_log(text: str) -> tuple[dict[str, str], list[str]]:
    """The header fields, and the entries without their times, each with its further lines."""
    header: dict[str, str] = {}
    entries: list[list[str]] = []
    for line in text.split("\n"):
        if entry := _ENTRY.match(line):
            entries.append([entry[2]])
        elif entries:
            entries[-1].append(line)
        elif field := _HEADER.match(line):
            header[field[1]] = field[2].strip()
    return header, ["\n".join(lines) for lines in entries]


def _parse_log_entries(
    entries: list[str],
) -> tuple[list[Vote], dict[str, bool], dict[str, list[str]]]:
    votes: list[Vote] = []
    finals: dict[str, bool] = {}
    answers: dict[str, list[str]] = {}
    target, answered = "", set[tuple[str, str]]()
    for entry in entries:
        head, _, body = entry.partition("\n")
        if exchange := _EXCHANGE.match(head):
            case, run, model, direction = exchange.groups()
            target = target or model  # the first to be asked
            if direction == "Input Prompt":
                continue
            if model == target and (case, run) not in answered:
                answered.add((case, run))
                answers.setdefault(case, []).append(body.strip())
            else:
                votes.append(_parse_vote(case, int(run), model, body.strip()))
        elif old := _OLD_VOTE.match(head):
            votes.append(_parse_old_vote(*old.groups()))
        elif final := _FINAL.match(head):
            case = f"{final[1]}/{final[2]}" if final[2] else final[1]
            finals[case] = final[3] == "True"
    return votes, finals, answers


def _parse_old_vote(case: str, judge: str, kind: str, reply: str) -> Vote:
    if kind == "Results":
        return Vote(case, 1, judge, {"true": "yes", "false": "no"}.get(reply.strip().lower(), ""))
    return Vote(case, 1, judge, ",".join(_ITEMS.findall(reply)))


def _parse_vote(case: str, run: int, judge: str, text: str) -> Vote:
    """A reply is JSON with `answer` (yes, no, or rule ids) and perhaps `reason`."""
    reply = _extract_json(_FENCE.sub("", text))
    if not isinstance(reply, dict):
        return Vote(case, run, judge, "", text=text)
    answer = next((reply[name] for name in ("answer", "rule_ids", "rules") if name in reply), "")
    vote = ",".join(map(str, answer)) if isinstance(answer, list) else str(answer).strip().lower()
    return Vote(case, run, judge, vote, str(reply.get("reason") or ""), text)


def _extract_json(text: str) -> Any:
    start, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None


def group_votes(votes: tuple[Vote, ...]) -> Iterator[tuple[str, list[Vote]]]:
    """The votes grouped by case, in the order of their first vote."""
    grouped: dict[str, list[Vote]] = {}
    for vote in votes:
        grouped.setdefault(vote.case, []).append(vote)
    yield from grouped.items()
