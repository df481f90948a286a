"""What the target answered, and what was expected of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from evalcore.i18n import lookup_text
from evalcore.queries.cases import CaseView
from evalcore.records import Episode
from pages.components import case_question, evidence
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown

#: Fields of a reference that hold JSON as text, to keep the order of its keys.
_JSON_TEXT = frozenset({"ground_truth", "scenario", "slots"})
#: Fields of a reference that hold code, by its language.
_CODE = {"patch": "diff", "test_patch": "diff", "eval_script": "bash"}
#: Fields of a reference that a section of evidence draws.
_DRAWN = {"patch": "true_patch", "derivation": "derivation"}
#: Evidence, by kind or title, that shows already what was expected.
_REVEALING_SECTIONS = frozenset(
    {
        "table_diff",
        "tree_diff",
        "calls",
        "turns",
        "true_actions",
        "goals",
        "answer_compared",
        "true_patch",
    }
)


def draw_case_answer(view: CaseView, tr: Translate) -> None:
    """What the target said at last, and its reasoning folded away."""
    episode = view.episode
    if episode is None:
        st.info(tr("case.no_answer"), icon=":material/hourglass_empty:")
        return
    if episode.failure is not None:
        kind = (
            lookup_text(f"common.error.{episode.failure.kind}", current_language())
            or episode.failure.kind
        )
        st.error(escape_markdown(kind), icon=":material/error:")
        st.text(episode.failure.message)
    elif not _draw_final_output(episode, tr):
        _draw_last_message(episode, tr)
    facts = [f"{tr('case.finish_reason')}: {escape_markdown(episode.finish_reason)}"] * bool(
        episode.finish_reason
    ) + [f"{tr('case.attempts')}: {episode.attempts}"] * (
        episode.attempts > max(1, episode.completions)
    )
    if facts:
        st.caption(" · ".join(facts))
    reasoning = "\n\n".join(m.reasoning for m in episode.messages if m.reasoning)
    if reasoning:
        with st.expander(tr("case.reasoning"), icon=":material/psychology:"):
            evidence.draw_prose(reasoning)


def _draw_final_output(episode: Episode, tr: Translate) -> bool:
    """The result of an agent's work, where there is one: an answer it gave, a patch it left."""
    for name, language in (("answer", None), ("patch", "diff")):
        value = episode.state.get(name)
        if isinstance(value, str) and value.strip():
            st.caption(tr(f"case.final_{name}"))
            evidence.draw_verbatim(value, language)
            return True
    return False


def _draw_last_message(episode: Episode, tr: Translate) -> None:
    if episode.answer:
        evidence.draw_prose(episode.answer)
    elif calls := _format_last_calls(episode):
        evidence.draw_prose(calls)
    else:
        st.caption(tr("case.empty_answer"))


def _format_last_calls(episode: Episode) -> str:
    """The calls that the target made last by the server's own means, where it wrote no text."""
    assistant_messages = [message for message in episode.messages if message.role == "assistant"]
    calls = assistant_messages[-1].tool_calls if assistant_messages else ()
    return "\n".join(f"{call.name}({call.arguments})" for call in calls)


def draw_case_reference(view: CaseView, tr: Translate) -> None:
    """What was expected; folded where the evidence shows it already, and not repeated there."""
    sections = view.verdict.evidence if view.verdict else ()
    shown = {section.kind for section in sections} | {section.title for section in sections}
    remaining = {
        name: value
        for name, value in view.sample.reference.items()
        if _DRAWN.get(name) not in shown and value not in ("", [], {})
    }
    if remaining:
        folded = bool(shown & _REVEALING_SECTIONS)
        with st.expander(tr("case.reference"), icon=":material/key:", expanded=not folded):
            _draw_reference_fields(remaining)


def _draw_reference_fields(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        language = current_language()
        title = lookup_text(f"case.reference.{name}", language) or lookup_text(
            f"case.input.{name}", language
        )
        st.caption(escape_markdown(title or name))
        if name in _CODE and isinstance(value, str):
            evidence.draw_verbatim(value, _CODE[name])
        else:
            evidence.draw_raw_value(
                case_question.parse_json_text(value) if name in _JSON_TEXT else value
            )
