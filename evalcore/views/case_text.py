"""A case as titled blocks of plain text, in the order in which people read it: for the terminal.

The texts are those of models and data sets as they are; whoever prints them makes them harmless.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from evalcore.i18n import DEFAULT, lookup_text, name_code, name_term, translate_note
from evalcore.plain_text import NOT_RUN, align_columns, to_single_line
from evalcore.records import Message, Record, Section, to_json, to_plain
from evalcore.views.cases import CallPair, CaseView, pair_calls

NULL = "NULL"
_CELL = 60  # characters of a cell of a table
_HIDDEN_TEXT = "(gated: not shown)"


class TextBlock(Record, frozen=True):
    """A part of a case. `language` says what the text is written in: "diff", "sql", "json", ..."""

    title: str
    text: str
    language: str = ""


def build_case_blocks(view: CaseView, epoch: int = 0, language: str = DEFAULT) -> list[TextBlock]:
    """Case, verdict, prompt or question, transcript, evidence; empty ones are left out."""
    evidence = view.verdict.evidence if view.verdict else ()
    opening, rest = _split_transcript(view)
    blocks = [
        TextBlock("Case", _format_case(view, epoch, language)),
        TextBlock("Verdict", _format_verdict(view, language)),
        TextBlock("Prompt", _format_messages(opening)) if opening else _build_question(view),
        TextBlock("Transcript" if len(rest) > 1 else "Answer", _format_messages(rest)),
        TextBlock("Expected", _format_value(view.sample.reference), "json"),
    ]
    blocks = [replace(block, title=name_term(block.title, language)) for block in blocks]
    blocks += [build_section_block(section, language) for section in evidence]
    return [block for block in blocks if block.text.strip()]


def _split_transcript(view: CaseView) -> tuple[list[Message], list[Message]]:
    """The messages before the first answer, and from it on."""
    messages = list(view.episode.messages) if view.episode else []
    opening = list(takewhile(lambda message: message.role != "assistant", messages))
    rest = messages[len(opening) :]
    if not rest and view.episode and view.episode.answer:
        rest = [Message("assistant", view.episode.answer)]
    return opening, rest


def _build_question(view: CaseView) -> TextBlock:
    """What is asked, where the prompt is not part of the journal."""
    text = _HIDDEN_TEXT if view.hidden else _format_value(view.sample.input)
    return TextBlock("Question", text, "" if view.hidden else "json")


def _format_case(view: CaseView, epoch: int, language: str) -> str:
    sample, episode = view.sample, view.episode
    facts: dict[str, object] = {
        "case": f"{view.benchmark}/{sample.metric}/{sample.id}",
        "run": view.spec.run_id,
        "target": view.spec.target.identity,
        "difficulty": sample.difficulty,
    }
    if view.spec.epochs > 1:
        facts["epoch"] = epoch
    if episode is not None:
        usage = episode.usage
        facts |= {
            "requests": episode.completions or None,
            "latency": f"{episode.latency:.2f} s" if episode.latency else None,
            "tokens": _format_tokens(usage.input_tokens, usage.output_tokens),
            "cost": None if episode.cost is None else f"${episode.cost:.4f}",
            "finish": episode.finish_reason or None,
            "ended by": episode.termination or None,
        }
    return _format_facts(facts, language)


def _format_tokens(read: int | None, written: int | None) -> str | None:
    if read is None and written is None:
        return None
    counts = [NOT_RUN if count is None else f"{count:,}" for count in (read, written)]
    return f"{counts[0]} in, {counts[1]} out"


def _format_verdict(view: CaseView, language: str) -> str:
    verdict, episode = view.verdict, view.episode
    facts: dict[str, object] = {"outcome": name_code(view.outcome, language, "outcome")}
    if verdict is not None:
        facts |= {
            "score": NOT_RUN if verdict.score is None else f"{verdict.score:g}",
            "reason": name_code(verdict.reason, language, "reason", "cause") or None,
            "because": translate_note(verdict.note, language, in_terminal=True) or None,
            "evidence": name_code(verdict.evidence_kind, language, "evidence") or None,
            "readings": ", ".join(f"{k} {v:g}" for k, v in sorted(verdict.views.items())) or None,
            **{str(name): _format_cell(value) for name, value in sorted(verdict.details.items())},
        }
    elif episode is not None and episode.failure is not None:
        facts["because"] = translate_note(
            episode.failure.localizable_message, language, in_terminal=True
        )
    return _format_facts(facts, language)


def _format_facts(facts: Mapping[str, object], language: str) -> str:
    rows = [
        (name_term(name, language) if line == 0 else "", text)
        for name, value in facts.items()
        if value is not None
        for line, text in enumerate(str(value).split("\n"))
    ]
    return align_columns(rows)


def _format_messages(messages: Sequence[Message]) -> str:
    return "\n\n".join(map(_format_message, messages))


def _format_message(message: Message) -> str:
    name = f" {message.name}" if message.name else ""
    lines = [f"[{message.role}{name}]"]
    lines += [f"(reasoning) {message.reasoning}"] if message.reasoning else []
    lines += [message.content] if message.content else []
    lines += [f"-> {call.name}({call.arguments})" for call in message.tool_calls]
    return "\n".join(lines)


def build_section_block(section: Section, language: str = DEFAULT) -> TextBlock:
    """A piece of evidence; a body of an unexpected form as JSON."""
    title = lookup_text(f"section.{section.title}", language) or section.title.replace("_", " ")
    try:
        text = _FORMATTERS[section.kind](section.body)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return TextBlock(title, _format_value(section.body), "json")
    return TextBlock(title, text, _find_language(section))


def _find_language(section: Section) -> str:
    if section.kind == "json":
        return "json"
    if section.kind != "code" or not isinstance(section.body, Mapping):
        return ""
    return str(section.body.get("language") or "")


def _format_value(value: Any) -> str:
    if value in (None, {}, [], ""):
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(to_plain(value), indent=2, ensure_ascii=False, default=str)


def _format_cell(value: Any) -> str:
    if value is None:
        return NULL
    return value if isinstance(value, str) else to_json(value, ordered=False).decode()


def _format_rows(columns: Iterable[Any], rows: Iterable[Sequence[Any]]) -> str:
    cells = [[to_single_line(_format_cell(cell), _CELL) for cell in row] for row in rows]
    head = [to_single_line(_format_cell(name), _CELL) for name in columns]
    width = max(map(len, [head, *cells]))
    return align_columns([[*row, *[""] * (width - len(row))] for row in [head, *cells]])


def _format_table(body: Any) -> str:
    return _format_rows(body["columns"], body["rows"])


def _format_table_diff(body: Any) -> str:
    """The rows that only one side has, and how many both have."""
    missing, extra = body["missing"], body["extra"]
    answered = body.get("answer_columns") or body["columns"]
    parts = [f"{len(body['expected'])} rows expected, {len(body['actual'])} answered"]
    if missing:
        parts += [f"missing ({len(missing)}):", _format_rows(body["columns"], missing)]
    if extra:
        parts += [f"not expected ({len(extra)}):", _format_rows(answered, extra)]
    if not missing and not extra:
        parts += ["no row is missing and none is too many"]
    return "\n".join(parts)


def _format_tree_diff(body: Any) -> str:
    """The paths at which the two trees differ, with both values."""
    differences = body["differences"]
    if not differences:
        return "no difference"
    rows = [[d["path"], d.get("expected"), d.get("actual")] for d in differences]
    return _format_rows(["path", "expected", "actual"], rows)


def _format_database(body: Any) -> str:
    filled = [table for table in body["tables"] if table["rows"]]
    parts = [f"{table['name']}\n{_format_table(table)}" for table in filled]
    empty = [str(table["name"]) for table in body["tables"] if not table["rows"]]
    return "\n\n".join([*parts, *([f"empty: {', '.join(empty)}"] if empty else [])])


def _format_plans(body: Any) -> str:
    return "\n\n".join(
        f"{side}: {body[side]['amount']:,} {body['unit']}\n"
        + "\n".join(map(str, body[side]["plan"]))
        for side in ("before", "after")
    )


def _format_votes(body: Any) -> str:
    lines = []
    for vote in body:
        lines.append(f"{vote['vote']}  {str(vote['judge']).partition('?')[0]}")
        lines += [f"    {vote['reason']}"] if vote.get("reason") else []
    return "\n".join(lines)


def _format_chat(body: Any) -> str:
    lines = []
    for message in body:
        lines.append(f"[{message['role']}]\n{message.get('content') or ''}")
        calls = message.get("tool_calls") or ()
        lines += [f"-> {call['name']}({call['arguments']})" for call in calls]
    return "\n".join(lines)


def _format_calls(body: Any) -> str:
    """Every call beside the accepted one, argument by argument."""
    return "\n\n".join(map(_format_call_pair, pair_calls(body))) or "no call, as expected"


def _format_call_pair(pair: CallPair) -> str:
    head = f"{pair.answered or '(no call)'}  accepted: {pair.accepted or '(no call)'}"
    rows = [
        [
            f"  {line.name}",
            line.mark,
            _format_cell(line.value) if line.is_present else NOT_RUN,
            " or ".join(map(_format_cell, line.accepted)) or NOT_RUN,
        ]
        for line in pair.lines
    ]
    return (
        f"{head}\n{_format_rows(['  argument', '', 'answer', 'accepted'], rows)}" if rows else head
    )


_FORMATTERS: dict[str, Callable[[Any], str]] = {
    "text": _format_cell,
    "log": _format_cell,
    "code": lambda body: str(body["text"]),
    "json": _format_value,
    "chat": _format_chat,
    "votes": _format_votes,
    "calls": _format_calls,
    "table": _format_table,
    "table_diff": _format_table_diff,
    "tree_diff": _format_tree_diff,
    "database": _format_database,
    "plans": _format_plans,
}


def pair_blocks(
    first: Sequence[TextBlock], second: Sequence[TextBlock]
) -> list[tuple[TextBlock | None, TextBlock | None]]:
    """The blocks of two sides of a case by title, in the order of the first; None where a side has
    none."""
    others: dict[str, list[TextBlock]] = {}
    for block in second:
        others.setdefault(block.title, []).append(block)
    pairs: list[tuple[TextBlock | None, TextBlock | None]] = []
    for block in first:
        matching = others.get(block.title)
        pairs.append((block, matching.pop(0) if matching else None))
    return [*pairs, *((None, block) for rest in others.values() for block in rest)]
