"""What a verdict's details say in words: the kind of error, the price of the format, a flag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from evalcore.i18n import lookup_text
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line

#: Ends of a conversation that are no limit.
_OWN_ENDS = frozenset({"user_stop", "transfer"})


def cause_title(cause: str) -> str:
    """Why an answer failed, in the session's language; an unknown cause as it is, made readable."""
    for area in ("common.cause", "common.reason"):
        if title := lookup_text(f"{area}.{cause}", current_language()):
            return title
    return to_plain_line(cause.replace("_", " ")).capitalize()


def mode_title(mode: object) -> str:
    """How calls were asked for, in words."""
    return _lookup_badge_label("common.mode", mode)


def draw_verdict_badges(details: Mapping[str, Any], tr: Translate) -> None:
    """Badges in the row of the verdict, for those of the details that a reader can use."""
    if group := details.get("error_group"):
        st.badge(
            escape_markdown(_format_error_cause(group, details)),
            color="red",
            icon=":material/rule:",
        )
    if details.get("lost_to_format"):
        st.badge(
            tr("case.lost_to_format"),
            color="orange",
            icon=":material/format_quote:",
            help=tr("case.lost_to_format_help"),
        )
    if kind := details.get("answer_kind"):
        st.badge(escape_markdown(_lookup_badge_label("common.answer_kind", kind)), color="gray")
    if mode := details.get("mode"):
        st.badge(escape_markdown(mode_title(mode)), color="gray", icon=":material/chat:")
    _draw_conversation_badges(details, tr)
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


def termination_title(ended: object) -> str:
    """Why a conversation ended, in words."""
    return _lookup_badge_label("common.termination", ended)


def _draw_conversation_badges(details: Mapping[str, Any], tr: Translate) -> None:
    """How it ended, and how often a side could not make sense of the other."""
    if ended := details.get("termination"):
        colour = "gray" if ended in _OWN_ENDS else "orange"
        st.badge(
            escape_markdown(termination_title(ended)), color=colour, icon=":material/flag_circle:"
        )  # type: ignore[arg-type]
    if count := details.get("unrecognised"):
        st.badge(
            tr("case.unrecognised", count=escape_markdown(count)),
            color="orange",
            icon=":material/hearing_disabled:",
            help=tr("case.unrecognised_help"),
        )
    for name in ("tool_errors", "parse_errors"):
        if count := details.get(name):
            st.badge(tr(f"case.{name}", count=escape_markdown(count)), color="gray")


def _describe_task_flags(details: Mapping[str, Any]) -> list[str]:
    """What the flags of a task mean, empty where they are those of an official entry."""
    names = str(details["flagged"]).split(", ")
    descriptions = [lookup_text(f"case.task_flag.{name}", current_language()) for name in names]
    return [text for text in descriptions if text]


def draw_task_flag(details: Mapping[str, Any]) -> None:
    """What is odd about a task, or why a right answer cannot pass this official entry."""
    if not details.get("flagged"):
        return
    if descriptions := _describe_task_flags(details):
        st.info(" ".join(descriptions), icon=":material/flag:")
    elif defect := details["flagged"]:
        st.info(
            escape_markdown(_lookup_badge_label("case.flag", defect), 400), icon=":material/flag:"
        )


def _format_error_cause(group: object, details: Mapping[str, Any]) -> str:
    """The group, or the error type where the group holds all that fits nowhere else."""
    kind = details.get("error_type")
    return cause_title(str(kind if group == "checker" and kind else group))


def _lookup_badge_label(area: str, value: object) -> str:
    return lookup_text(f"{area}.{value}", current_language()) or to_plain_line(value)
