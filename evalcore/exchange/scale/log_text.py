"""Writing a process log in SCALE's newer dialect, so that `logs.read` reads it back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from evalcore.exchange.scale.capabilities import evaluation_type, indicator_of
from evalcore.records import Episode, Record, RunSpec, Verdict

_RULE = "=" * 49
#: An answer could hold lines that look like entries of the log.
_LIKE_AN_ENTRY = re.compile(r"^(?=\[\d{4}-)", re.MULTILINE)


class LoggedCase(Record, frozen=True):
    """A case: its id (with its rule), its rounds, the answers that were graded, the result."""

    id: str
    rounds: tuple[tuple[Episode | None, Verdict | None], ...]
    answers: tuple[str, ...]
    passed: bool


def render_process_log(
    spec: RunSpec, capability: str, metric: str, cases: Sequence[LoggedCase]
) -> str:
    """The log of one indicator of a run; times are those of the episodes, else of the run."""
    kind = evaluation_type(capability, metric)
    lines = [*_render_log_header(spec, capability, metric, cases)]
    for case in cases:
        lines += _render_exchanges(spec, case)
    for case in cases:
        name, _, rule = case.id.partition("/")
        label = f"Rule[{rule}]" if rule else f"{kind} Eval Case"
        lines.append(
            _format_log_entry(
                spec.created_at, f"[{_escape_log_name(name)}] {label} Final Result: {case.passed}"
            )
        )
    return "\n".join(lines) + "\n"


def _render_log_header(
    spec: RunSpec, capability: str, metric: str, cases: Sequence[LoggedCase]
) -> Iterator[str]:
    digits = re.sub(r"\D", "", spec.created_at)
    judges = {judge for case in cases for judge, *_ in _iter_votes(case)}
    yield from (_RULE, "SQL Capability Evaluation Process Report", _RULE)
    yield f"Run ID: {digits[:8]}_{digits[8:14]}_{digits[14:17]}"
    yield f"Run Dimensions: {capability}"
    yield f"Run Indicator: {indicator_of(metric)}"
    yield f"Evaluation Timestamp: {spec.created_at[:23]}"
    yield f"Target: {_escape_log_name(spec.target.identity)}"
    yield f"Judge LLMs: {', '.join(sorted(map(_escape_log_name, judges)))}"
    yield from ("-" * 49, "")


def _render_exchanges(spec: RunSpec, case: LoggedCase) -> Iterator[str]:
    """The question, each answer, then the votes."""
    name, target = _escape_log_name(case.id.partition("/")[0]), _escape_log_name(spec.target.key)
    episode = next((episode for episode, _ in case.rounds if episode), None)
    at = episode.at if episode and episode.at else spec.created_at
    asked = [m.content for m in episode.messages if m.role == "user"] if episode else []
    for number, answer in enumerate(case.answers, 1):
        head = f"[Case:{name}][Run:{number}] [{target}] Model"
        yield _format_log_entry(at, f"{head} Input Prompt:", "\n\n".join(asked))
        yield _format_log_entry(at, f"{head} Output Response:", answer)
    for judge, vote, reason in _iter_votes(case):
        reply = {"answer": vote} | ({"reason": reason} if reason else {})
        head = f"[Case:{name}][Run:1] [{_escape_log_name(judge)}] Model Output Response:"
        yield _format_log_entry(at, head, json.dumps(reply, ensure_ascii=False))


def _iter_votes(case: LoggedCase) -> Iterator[tuple[str, str, str]]:
    """(judge, vote, reason) of every vote in the evidence."""
    for _, verdict in case.rounds:
        for section in verdict.evidence if verdict else ():
            if section.kind == "votes" and isinstance(section.body, list):
                for cast in section.body:
                    yield tuple(str(cast.get(name, "")) for name in ("judge", "vote", "reason"))  # type: ignore[misc]


def _format_log_entry(at: str, head: str, body: str = "") -> str:
    text = f"[{at[:10]} {at[11:23]}] {head}"
    return f"{text}\n{_LIKE_AN_ENTRY.sub(' ', body)}" if body else text


def _escape_log_name(name: str) -> str:
    """A name within brackets on one line."""
    return re.sub(r"[\[\]\r\n]", "_", name)
