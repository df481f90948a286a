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
from pages.components.text import escape


def is_work(episode: Episode) -> bool:
    """Whether an agent worked with tools, and nobody spoke to it."""
    return "calls" in episode.state and not case_chat.is_chat(episode)


def draw(episode: Episode, tr: Translate) -> None:
    """Every step after the task was given, and the limit that ended the work, if one did."""
    steps = list(dropwhile(lambda step: step.kind == "user", case_chat.steps(episode)))
    if not steps:
        return
    st.subheader(tr("case.work"), anchor=False)
    for step in steps:
        if step.kind == "calls":
            case_chat.calls(step, tr, "case.work.final")
            continue
        with st.chat_message("assistant", avatar=":material/smart_toy:"):
            st.caption(tr("case.work.said"))
            case_chat.reasoning(step.message, tr)
            case_chat.words(step.said, tr)
    if episode.termination:
        ended = case_badges.end_title(episode.termination)
        st.caption(tr("case.chat.ended", reason=escape(ended)))
