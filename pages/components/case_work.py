"""The work of an agent that works alone: its calls of tools with their results, step by step.

All of it was written by a model or by programs that it ran: it is drawn with `st.text` and
`st.code`.
"""

from __future__ import annotations

from itertools import dropwhile

import streamlit as st

from evalcore.records import Episode
from pages.components import case_badges, case_chat
from pages.components.language import Translate
from pages.components.text import escape_markdown


def is_agent_work(episode: Episode) -> bool:
    """Whether an agent worked with tools, and nobody spoke to it."""
    return "calls" in episode.state and not case_chat.is_chat(episode)


def draw_agent_work(episode: Episode, tr: Translate) -> None:
    """Every step after the task was given, and the limit that ended the work, if one did."""
    steps = list(dropwhile(lambda step: step.kind == "user", case_chat.iterate_chat_steps(episode)))
    if not steps:
        return
    st.subheader(tr("case.work"), anchor=False)
    for step in steps:
        if step.kind == "calls":
            case_chat.draw_tool_calls(step, tr, "case.work.final")
            continue
        with st.chat_message("assistant", avatar=":material/smart_toy:"):
            st.caption(tr("case.work.said"))
            case_chat.draw_reasoning(step.message, tr)
            case_chat.draw_chat_text(step.spoken_text, tr)
    if episode.termination:
        ended = case_badges.termination_title(episode.termination)
        st.caption(tr("case.chat.ended", reason=escape_markdown(ended)))
