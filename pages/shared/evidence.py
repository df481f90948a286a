"""The evidence of a verdict for any benchmark: badges and flags in words, and every section by its
kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from evalcore.records import Section, Verdict
from pages.shared import tables, wording
from pages.shared.wording import escape_markdown, label, look_up, to_plain_line, tr

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
    st.dataframe(tables.build_text_frame(body["columns"], body["rows"]), hide_index=True)
    st.caption(tr("case.row_count", count=len(body["rows"])))
    _explain_null(body["rows"])


def _draw_table_diff(body: Any) -> None:
    missing, extra = body["missing"], body["extra"]
    if missing or extra:
        st.caption(tr("case.diff_summary", missing=len(missing), extra=len(extra)))
    else:
        st.caption(tr("case.diff_equal"))
    columns = body["columns"]
    left, right = st.columns(2)
    with left:
        _draw_diff_side(columns, body["expected"], missing, tables.MISSING, "missing")
    with right:
        columns = body.get("answer_columns") or columns
        _draw_diff_side(columns, body["actual"], extra, tables.EXTRA, "extra")
    _explain_null([*body["expected"], *body["actual"]])


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
    if any(flags):
        marked = tables.add_mark_column(columns, rows, flags, word=tr(f"case.diff_{side}"))
        table = tables.colour_odd_rows(marked, flags, colour)
    st.dataframe(table, hide_index=True, alt=title)


def _draw_database_tables(body: Any) -> None:
    """The tables of a database beside each other where they fit, empty ones in a line."""
    st.caption(tr("case.database_about"))
    filled = [table for table in body["tables"] if table["rows"]]
    empty = [str(table["name"]) for table in body["tables"] if not table["rows"]]
    for table in filled:
        name, rows = table["name"], table["rows"]
        st.caption(tr("case.database_table", name=escape_markdown(name), count=len(rows)))
        frame = tables.build_text_frame(table["columns"], rows)
        st.dataframe(frame, hide_index=True, alt=str(name))
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
    rows = [[d["path"], d.get("expected"), d.get("actual")] for d in body["differences"]]
    if rows:
        names = [tr("case.path"), tr("case.expected"), tr("case.actual")]
        st.dataframe(tables.build_text_frame(names, rows), hide_index=True)
    else:
        st.caption(tr("case.diff_equal"))
    left, right = st.columns(2)
    for column, side in ((left, "expected"), (right, "actual")):
        if rows and not isinstance(body[side], Mapping | list):
            continue  # one value, which the table shows
        with column:
            st.caption(tr(f"case.{side}"))
            draw_raw_value(body[side])


_DRAWERS: dict[str, Callable[[Any], None]] = {
    "text": lambda body: draw_prose(tables.format_cell(body)),
    "code": lambda body: draw_verbatim(str(body["text"]), str(body.get("language") or "") or None),
    "json": draw_raw_value,
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
    if count := details.get("tool_calls"):
        word = tr("case.tool_calls", count=escape_markdown(count))
        st.badge(word, color="gray", icon=":material/build:")
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
    for name in ("tool_errors", "parse_errors"):
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


# What a stricter second look says of a result, and what nothing was run for: near the verdict.


def draw_shield_badge(details: Mapping[str, Any]) -> None:
    """A shield in the row of the verdict where the second look does not agree with the first."""
    if _has_shield_mismatch(details):
        st.badge(tr("case.shield"), color="orange", icon=":material/gpp_maybe:")


def draw_shield_details(verdict: Verdict) -> None:
    """The second look in words; that nothing was run; that a mended form would have passed."""
    details = verdict.details
    flags = _format_shield_flags(details)
    if _has_shield_mismatch(details):
        st.warning(tr("case.shield_differs", flags=flags), icon=":material/gpp_maybe:")
    elif flags:
        st.info(tr("case.shield_remarks", flags=flags), icon=":material/shield:")
    if verdict.views.get("repaired", 0.0) > (verdict.score or 0.0):
        st.info(tr("case.shield_repaired"), icon=":material/build:")
    if "resolved" in details and details["resolved"] is None:
        st.caption(tr("case.not_executed"))


def _has_shield_mismatch(details: Mapping[str, Any]) -> bool:
    """Runs of scorer version 1 hold the official result as `resolved`, which decided then."""
    official = details.get("resolved_official", details.get("resolved"))
    return official is True and details.get("resolved_hardened") is False


def _format_shield_flags(details: Mapping[str, Any]) -> str:
    """The flags as one list in words; those that no catalogue knows as they are."""
    names = [name for name in str(details.get("flags") or "").split(", ") if name]
    labels = [
        look_up(f"case.shield.{name}") or escape_markdown(to_plain_line(name)) for name in names
    ]
    return tr("case.shield_and").join(labels)
