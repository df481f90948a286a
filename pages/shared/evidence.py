"""The evidence of a verdict for any benchmark: badges and flags in words, and every section by its
kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import streamlit as st

from evalcore.records import Section, to_json
from evalcore.views.board_titles import DIALECT_TITLES
from pages.shared import tables, wording
from pages.shared.wording import escape_markdown, format_fact, label, look_up, to_plain_line, tr

# Draws a section of evidence of any kind, so that the Case page need not know the benchmark.
# All that stands in a section may have been written by a model: it goes through `st.text`,
# `st.code`, `st.json` or a cell of a data frame, none of which reads Markdown or HTML.

#: Text longer than this gets its own scroll area, in characters and pixels.
LONG, SCROLL = 2_000, 360

_AVATARS = {
    "system": ":material/tune:",
    "user": ":material/person:",
    "assistant": ":material/smart_toy:",
    "tool": ":material/build:",
}
#: Long sections, and those that tell what was expected rather than why: folded.
_FOLDED: Mapping[str, str] = {
    "test_log": ":material/terminal:",
    "true_patch": ":material/key:",
    "derivation": ":material/key:",
}
_DERIVATION = "derivation"
#: Fields of a case that hold code, by its language; JSON as text; prose, however short it is.
_CODE = {
    **dict.fromkeys(("patch", "test_patch"), "diff"),
    **dict.fromkeys(("sql", "schema", "source_schema", "data", "query", "ddl"), "sql"),
    **dict.fromkeys(("reference", "calls"), "sql"),
    "eval_script": "bash",
}
_JSON_TEXT = frozenset({"ground_truth", "scenario", "task"})
_PROSE = frozenset({"question", "problem_statement", "text", "instruction", "instructions"})
_DIALECTS = frozenset({"dialect", "engine", "source_dialect", "target_dialect"})
#: Fields that hold the hash of a file, or what a program that plays the user reads.
_FOR_MACHINES = frozenset({"world", "material", "slots"})
#: What a call of a tool may hold.
_CALL = {"name", "func_name", "arguments", "kwargs", "requestor", "compare_args", "env_type"}
_CHINESE = "_zh"  # ends the name of a field with the Chinese text of another
_PLAIN_NAME = re.compile("[a-z]+(_[a-z0-9]+)*")
#: Characters of a value in a line, objects inside each other, fields of an object.
_SHORT, _DEEPEST, _MOST_FIELDS = 100, 2, 20
_VOTE_COLOURS = {"yes": "green", "no": "red", "failed": "orange"}


def draw_evidence_section(section: Section) -> None:
    """Title and body; a body of an unexpected form is shown raw and said to be so."""
    title = escape_markdown(section_title(section.title))
    if icon := _FOLDED.get(section.title):
        with st.expander(title, icon=icon):
            _draw_section_body(section)
        return
    st.markdown(f"**{title}**")
    _draw_section_body(section)


def _draw_section_body(section: Section) -> None:
    try:
        if drawer := tables.TABLE_DRAWERS.get(section.title):
            drawer(section)
        elif section.title == _DERIVATION:
            _draw_derivation(section.body)
        else:
            _DRAWERS[section.kind](tables.translate_table_body(section))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        st.caption(tr("case.malformed_section"))
        draw_raw_value(section.body)


def section_title(title: str) -> str:
    """The title in the session's language, or made readable where no catalogue knows it."""
    return look_up(f"section.{title}") or title.replace("_", " ").capitalize()


def draw_raw_value(value: Any) -> None:
    """Any value, as text or JSON."""
    if isinstance(value, Mapping | list | tuple):
        st.json(value, expanded=2)
    else:
        draw_prose(tables.format_cell(value))


def draw_fields(values: Mapping[str, Any], depth: int = 0) -> None:
    """The fields of a case that hold anything, by their titles: short ones in a line, others below
    it. Of a text in both languages the session's is drawn."""
    for name, value in values.items():
        value = parse_json_text(value) if name in _JSON_TEXT else value
        if name.endswith(_CHINESE) or name in _FOR_MACHINES or value in (None, "", [], {}):
            continue
        if wording.current_language() == "zh":
            value = values.get(f"{name}{_CHINESE}", value)
        title = escape_markdown(field_title(str(name)))
        if (text := _format_short_value(name, value)) is not None:
            st.caption(format_fact(title, escape_markdown(text, _SHORT)))
            continue
        st.caption(title)
        if name in _CODE and (lines := _list_code_lines(value)):
            draw_verbatim("\n".join(lines), _CODE[name])
        else:
            draw_value(value, depth)


def field_title(name: str) -> str:
    """What a field of a case is called; a plain name made readable where no catalogue knows it."""
    title = look_up(f"case.field.{name}")
    return title or (name.replace("_", " ").capitalize() if _PLAIN_NAME.fullmatch(name) else name)


def parse_json_text(text: Any) -> Any:
    """What a field of JSON text holds, the text itself where it is no JSON."""
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else text
    except (msgspec.DecodeError, RecursionError):
        return text


def draw_value(value: Any, depth: int = 0) -> None:
    """Any value as people read it: fields by their titles, records as a table, calls as they are
    written; as JSON what is nested deeper than that."""
    if isinstance(value, Mapping) and _is_table(value):
        _draw_table_section(value)
        draw_fields({n: value[n] for n in value if n not in ("columns", "rows")}, _DEEPEST)
    elif isinstance(value, Mapping) and depth < _DEEPEST and len(value) <= _MOST_FIELDS:
        draw_fields(value, depth + 1)
    elif not isinstance(value, list | tuple) or not value:
        draw_raw_value(value)
    elif calls := _format_calls(value):
        draw_verbatim("\n".join(calls), "python")
    elif all(isinstance(item, Mapping) for item in value):
        names = [n for n in dict.fromkeys(n for item in value for n in item) if n[-3:] != _CHINESE]
        rows = [[item.get(name, "") for name in names] for item in value]
        titles = [field_title(str(name)) for name in names]
        tables.draw_grid(tables.build_text_frame(titles, rows), {})
    elif any(isinstance(item, Mapping | list | tuple) for item in value):
        draw_raw_value(value)
    else:
        draw_prose("\n".join(map(tables.format_cell, value)))


def _is_table(value: Mapping[str, Any]) -> bool:
    columns, rows = value.get("columns"), value.get("rows")
    return (
        isinstance(columns, list)
        and isinstance(rows, list)
        and all(isinstance(row, list) for row in rows)
    )


def _format_short_value(name: str, value: Any) -> str | None:
    """What stands behind its title in a line; None where the value is too long for that."""
    if isinstance(value, bool):
        return tr("common.yes" if value else "common.no")
    if name in _DIALECTS:
        value = DIALECT_TITLES.get(str(value), value)
    is_short = isinstance(value, int | float) or (
        isinstance(value, str) and "\n" not in value and len(value) < _SHORT
    )
    return str(value) if is_short and name not in _CODE.keys() | _PROSE else None


def _list_code_lines(value: Any) -> list[str]:
    """The lines of a statement, of several, or of several for each of several databases."""
    if isinstance(value, list | tuple):
        return [line for item in value for line in _list_code_lines(item)]
    return [str(value).rstrip()]


def _format_calls(values: Sequence[Any]) -> list[str]:
    """A line for each call of a tool, empty where one of the values is no call."""
    lines = []
    for value in values:
        if not isinstance(value, Mapping) or not value.keys() <= _CALL:
            return []
        name = value.get("name") or value.get("func_name")
        arguments = parse_json_text(value.get("arguments", value.get("kwargs", {})))
        if not (isinstance(name, str) and isinstance(arguments, Mapping)):
            return []
        by = tr("case.by_user") if value.get("requestor") == "user" else ""
        listed = ", ".join(f"{key}={to_json(item).decode()}" for key, item in arguments.items())
        lines.append(f"{name}({listed}){by}")
    return lines


def draw_prose(text: str) -> None:
    """Text of a model: wrapped, with a copy button, in a scroll area when long."""
    draw_verbatim(text, None)


def draw_verbatim(text: str, language: str | None) -> None:
    """Code or text as it was written, coloured by `language` (such as `sql`) if given."""
    long = len(text) > LONG
    st.code(text, language=language, wrap_lines=True, height=SCROLL if long else "content")


def draw_reasoning(text: str) -> None:
    """What a model thought, folded away; nothing where it said nothing of it."""
    if text:
        with st.expander(tr("case.reasoning"), icon=":material/psychology:"):
            draw_prose(text)


def draw_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """A conversation, turn by turn; reasoning is folded away, tool calls are shown as JSON."""
    for message in messages:
        role = str(message["role"])
        with st.chat_message(role, avatar=_AVATARS.get(role)):
            name = look_up(f"case.role.{role}")
            st.caption(escape_markdown(name or role))
            draw_reasoning(str(message.get("reasoning") or ""))
            if message.get("content"):
                draw_prose(str(message["content"]))
            for call in message.get("tool_calls") or ():
                draw_verbatim(f"{call['name']}({call['arguments']})", None)


def _draw_derivation(body: Any) -> None:
    """The calls of tools that lead to the answer; programs as programs."""
    for number, step in enumerate(body, 1):
        tool, arguments = str(step["tool"]), dict(step["arguments"])
        st.caption(tr("case.step_of_derivation", number=number, tool=escape_markdown(tool)))
        if code := arguments.pop("code", ""):
            draw_verbatim(str(code), "python")
        if arguments:
            draw_verbatim("\n".join(f"{name}: {value}" for name, value in arguments.items()), None)


def _draw_table_section(body: Any) -> None:
    tables.draw_grid(tables.build_text_frame(body["columns"], body["rows"]), {})
    st.caption(tr("case.row_count", count=len(body["rows"])))
    _explain_null(body["rows"])


def _draw_table_diff(body: Any) -> None:
    missing, extra, expected, actual = (body[n] for n in ("missing", "extra", "expected", "actual"))
    columns = body["columns"]
    answered = body.get("answer_columns") or columns
    if missing or extra:
        st.caption(tr("case.diff_summary", missing=len(missing), extra=len(extra)))
    elif len(columns) != len(answered):
        st.caption(tr("case.diff_columns", expected=len(columns), actual=len(answered)))
    else:  # where the order counts, equal rows may still be wrong
        st.caption(tr("case.diff_equal" if expected == actual else "case.diff_rows_equal"))
    left, right = st.columns(2)
    with left:
        _draw_diff_side(columns, expected, missing, tables.MISSING, "missing")
    with right:
        _draw_diff_side(answered, actual, extra, tables.EXTRA, "extra")
    _explain_null([*expected, *actual])


def _explain_null(rows: Sequence[Sequence[Any]]) -> None:
    if any(value is None for row in rows for value in row):
        st.caption(tr("case.null_note"))


def _draw_diff_side(
    columns: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    odd: Sequence[Sequence[Any]],
    colour: str,
    side: str,
) -> None:
    title = tr(f"case.diff_{side}_side", count=len(rows))
    st.caption(title)
    flags = tables.mark_odd_rows(rows, odd)
    table: Any = tables.build_text_frame(columns, rows)
    pinned = 2 if any(flags) else 1  # a mark tells nothing without what it marks
    if any(flags):
        marked = tables.add_mark_column(columns, rows, flags, word=tr(f"case.diff_{side}"))
        table = tables.colour_odd_rows(marked, flags, colour)
    tables.draw_grid(table, {}, title, pinned=pinned)


def _draw_database_tables(body: Any) -> None:
    """The tables of a database beside each other where they fit, empty ones in a line."""
    st.caption(tr("case.database_about"))
    filled = [table for table in body["tables"] if table["rows"]]
    empty = [str(table["name"]) for table in body["tables"] if not table["rows"]]
    for table in filled:
        name, rows = table["name"], table["rows"]
        st.caption(tr("case.database_table", name=escape_markdown(name), count=len(rows)))
        tables.draw_grid(tables.build_text_frame(table["columns"], rows), {}, str(name))
    if empty:
        st.caption(tr("case.database_empty", names=escape_markdown(", ".join(empty))))
    _explain_null([row for table in filled for row in table["rows"]])


def _draw_query_plans(body: Any) -> None:
    """What was counted before and after, each over its plan."""
    unit = look_up(f"case.unit.{body['unit']}") or escape_markdown(str(body["unit"]), 40)
    for column, side in zip(st.columns(2), ("before", "after"), strict=True):
        with column:
            amount = body[side]["amount"]
            st.metric(tr(f"case.work_{side}", unit=unit), f"{amount:,}")
            draw_verbatim("\n".join(map(str, body[side]["plan"])), None)


def _draw_judge_votes(body: Any) -> None:
    """One line a judge: what it voted, who it is, what the vote took; its reason below."""
    for vote in body:
        choice = str(vote["vote"]).lower()
        with st.container(horizontal=True, vertical_alignment="center"):
            word = look_up(f"case.vote.{choice}") or escape_markdown(choice)
            st.badge(word, color=_VOTE_COLOURS.get(choice, "gray"))  # type: ignore[arg-type]
            st.text(str(vote["judge"]).partition("?")[0])
            if facts := _format_vote_facts(vote):
                st.caption(facts)
        if vote.get("reason"):
            draw_prose(str(vote["reason"]))


def _format_vote_facts(vote: Mapping[str, Any]) -> str:
    """The rules a judge saw applied, how long it took and what it cost; only what is known."""
    rules = ", ".join(map(str, vote.get("rules") or ()))
    facts = [tr("case.vote_rules", rules=escape_markdown(rules))] if rules else []
    facts += [wording.format_duration(vote["latency"])] if vote.get("latency") else []
    facts += [wording.format_money(vote["cost"])] if vote.get("cost") is not None else []
    return " · ".join(facts)


def _draw_tree_diff(body: Any) -> None:
    """The fields that differ, then both sides where they have more fields than these."""
    rows = [[d["path"], d.get("expected"), d.get("actual")] for d in body["differences"]]
    sides = {"expected": body["expected"], "actual": body["actual"]}
    if not rows:
        st.caption(tr("case.diff_equal"))
        draw_value(sides["expected"])
        return
    names = [tr("case.path"), tr("case.expected"), tr("case.actual")]
    titled_rows = [[field_title(str(path)), *values] for path, *values in rows]
    tables.draw_grid(tables.build_text_frame(names, titled_rows), {})
    if all(isinstance(side, Mapping) for side in sides.values()):
        if set(sides["expected"]) <= {path for path, *_ in rows}:
            return
        for column, side in zip(st.columns(2), sides, strict=True):
            with column:
                st.caption(tr(f"case.{side}"))
                draw_value(sides[side], _DEEPEST - 1)


_DRAWERS: dict[str, Callable[[Any], None]] = {
    "text": lambda body: draw_prose(tables.format_cell(body)),
    "code": lambda body: draw_verbatim(str(body["text"]), str(body.get("language") or "") or None),
    "json": draw_value,
    "table": _draw_table_section,
    "table_diff": _draw_table_diff,
    "database": _draw_database_tables,
    "plans": _draw_query_plans,
    "chat": draw_messages,
    "votes": _draw_judge_votes,
    "calls": tables.draw_decoded_calls,
    "log": lambda body: draw_prose(tables.format_cell(body)),
    "tree_diff": _draw_tree_diff,
}


# What a verdict's details say in words: the kind of error, the price of the format, a flag.

#: Ends of a conversation that are no limit.
_OWN_ENDS = frozenset({"user_stop", "transfer"})


def cause_title(cause: str) -> str:
    """Why an answer failed, in the session's language; an unknown cause as it is, made readable."""
    for area in ("common.cause", "common.reason"):
        if title := look_up(f"{area}.{cause}"):
            return title
    return to_plain_line(cause.replace("_", " ")).capitalize()


def distinct_cause_titles(causes: Iterable[str], unnamed: str = "") -> dict[str, str]:
    """A title per cause, told apart where two read the same: parts of one name would be one."""
    titles = {cause: cause_title(cause) if cause else unnamed for cause in causes}
    counts = Counter(titles.values())
    return {
        cause: f"{title} ({to_plain_line(cause)})" if counts[title] > 1 else title
        for cause, title in titles.items()
    }


def mode_title(mode: object) -> str:
    """How calls were asked for, in words."""
    return label("common.mode", mode)


def draw_verdict_badges(details: Mapping[str, Any]) -> None:
    """Badges in the row of the verdict, for those of the details that a reader can use."""
    if group := details.get("error_group"):
        cause = escape_markdown(_format_error_cause(group, details))
        st.badge(cause, color="red", icon=":material/rule:")
    if details.get("lost_to_format"):
        is_strict_reading = details.get("extraction") == "lenient"
        help_key = "lost_to_format_strict_help" if is_strict_reading else "lost_to_format_help"
        word, about = tr("case.lost_to_format"), tr(f"case.{help_key}")
        st.badge(word, color="orange", icon=":material/format_quote:", help=about)
    if call_format := details.get("call_format"):
        name, about = to_plain_line(str(call_format)), tr("case.call_format_help")
        st.badge(escape_markdown(tr("case.call_format", name=name)), color="gray", help=about)
    if kind := details.get("answer_kind"):
        st.badge(escape_markdown(label("common.answer_kind", kind)), color="gray")
    if level := details.get("equivalence_level"):
        st.badge(format_level(level, details), color="blue", icon=":material/verified:")
    if details.get("stand_in"):
        product, engine = (
            escape_markdown(details.get(n) or "", 60) for n in ("product", "stand_in")
        )
        word = tr("case.stand_in", product=product, stand_in=engine)
        st.badge(word, color="gray", icon=":material/swap_horiz:")
    if mode := details.get("mode"):
        st.badge(escape_markdown(mode_title(mode)), color="gray", icon=":material/chat:")
    _draw_conversation_badges(details)
    if details.get("runner") == "harness":
        version = escape_markdown(details.get("swebench") or "")
        st.badge(tr("case.harness", version=version), color="gray", icon=":material/deployed_code:")
    if details.get("needs_web"):
        st.badge(tr("case.needs_web"), color="gray", icon=":material/public:")
    if details.get("flagged"):
        word = tr("case.flagged_task" if _describe_task_flags(details) else "case.flagged")
        st.badge(word, color="violet", icon=":material/flag:")


def format_level(level: object, facts: Mapping[str, Any]) -> str:
    """What an equivalence rests on, with its bound: `proof_rows` or `databases`."""
    text = look_up(f"common.level_bound.{level}") or escape_markdown(level, 40)
    return text.format_map({name: facts.get(name, 0) for name in ("proof_rows", "databases")})


def termination_title(ended: object) -> str:
    """Why a conversation ended, in words."""
    return label("common.termination", ended)


def _draw_conversation_badges(details: Mapping[str, Any]) -> None:
    """How it ended, and how often a side could not make sense of the other."""
    if ended := details.get("termination"):
        word = escape_markdown(termination_title(ended))
        colour: Any = "gray" if ended in _OWN_ENDS else "orange"
        st.badge(word, color=colour, icon=":material/flag_circle:")
    if count := details.get("unrecognised"):
        word = tr("case.unrecognised", count=escape_markdown(count))
        about = tr("case.unrecognised_help")
        st.badge(word, color="orange", icon=":material/hearing_disabled:", help=about)
    for name in ("tool_calls", "tool_errors", "parse_errors"):
        if count := details.get(name):
            st.badge(tr(f"case.{name}", count=escape_markdown(count)), color="gray")


def _describe_task_flags(details: Mapping[str, Any]) -> list[str]:
    """What the flags of a task mean, empty where they are those of an official entry."""
    names = str(details["flagged"]).split(", ")
    descriptions = [look_up(f"case.task_flag.{name}") for name in names]
    return [text for text in descriptions if text]


def draw_task_flag(details: Mapping[str, Any]) -> None:
    """What is odd about a task, or why a right answer cannot pass this official entry."""
    if not details.get("flagged"):
        return
    if descriptions := _describe_task_flags(details):
        st.info(" ".join(descriptions), icon=":material/flag:")
    elif defect := details["flagged"]:
        text = escape_markdown(label("case.flag", defect), 400)
        st.info(text, icon=":material/flag:")


def _format_error_cause(group: object, details: Mapping[str, Any]) -> str:
    """The group, or the error type where the group holds all that fits nowhere else."""
    kind = details.get("error_type")
    return cause_title(str(kind if group == "checker" and kind else group))
