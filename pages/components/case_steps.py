"""The way from case to case: the list it was opened from, its filter, previous and next."""

from __future__ import annotations

import streamlit as st

from evalcore.queries.cases import EVERY_CASE, MISSING, CaseView, Neighbour
from evalcore.queries.targets import OUTCOMES
from pages.components import state, url_state
from pages.components.board import metric_title
from pages.components.case_badges import cause_title
from pages.components.language import Translate
from pages.components.state import CaseLink
from pages.components.text import escape_markdown, to_plain_line

#: With Alt, since a letter alone would get in the way of those who dictate or read by keyboard.
_STEPS = {
    "previous": (":material/chevron_left:", "left", "Alt+P"),
    "next": (":material/chevron_right:", "right", "Alt+N"),
}
_OUTCOMES = frozenset({*OUTCOMES, MISSING})


def draw_case_navigation(view: CaseView, link: CaseLink, tr: Translate) -> None:
    """Previous and next, the outcome to step through, the place, and what else is filtered by."""
    position = view.position
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _draw_step_button("previous", position.previous, tr)
        _draw_step_button("next", position.next, tr)
        chosen = _select_outcome_filter(view, link, tr)
        has_number = position.number is not None
        text = tr("case.place", number=position.number, total=position.total) if has_number else ""
        st.caption(text or tr("case.place_outside", total=position.total), width="content")
    _draw_case_filter(view, link, tr)
    if chosen != link.outcome:
        st.rerun()  # the address has it now


def _select_outcome_filter(view: CaseView, link: CaseLink, tr: Translate) -> str:
    """One outcome to step through, or those that the list was filtered by, or all."""
    counts = view.position.outcomes
    options = list(dict.fromkeys(["", *sorted(counts), link.outcome]))

    def format_outcome(code: str) -> str:
        ends = state.split_url_values(code) or tuple(counts)
        names = [
            tr(f"common.outcome.{end}") if end in _OUTCOMES else to_plain_line(end) for end in ends
        ]
        name = ", ".join(names) if code else tr("common.all")
        return f"{name} ({sum(counts.get(end, 0) for end in ends)})"

    return url_state.draw_select(
        tr("case.filter"), options, page="case", name="outcome", title=format_outcome, width=240
    )


def _draw_case_filter(view: CaseView, link: CaseLink, tr: Translate) -> None:
    """What the cases are filtered by beside their outcome, and the way to have all of them."""
    case_filter = link.case_filter
    labels = [metric_title(view.benchmark, metric) for metric in case_filter.metric]
    labels += [tr("case.within_difficulty", level=level) for level in case_filter.difficulty]
    labels += [cause_title(cause) for cause in case_filter.why]
    labels += [f"“{case_filter.text}”"] if case_filter.text else []
    if labels:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            names = " · ".join(escape_markdown(name, 60) for name in labels)
            st.caption(f":material/filter_alt: {tr('case.within', filter=names)}", width="content")
            st.button(
                tr("case.within_all"),
                key="case.within_all",
                type="tertiary",
                icon=":material/filter_alt_off:",
                on_click=state.go_to_case,
                args=(link.with_filter(EVERY_CASE),),
            )


def _draw_step_button(name: str, neighbour: Neighbour | None, tr: Translate) -> None:
    """A button and no link: a link to the page one is on leaves the address bar as it was."""
    icon, side, keys = _STEPS[name]
    st.button(
        tr(f"case.{name}"),
        key=f"case.{name}",
        icon=icon,
        icon_position=side,  # type: ignore[arg-type]
        disabled=neighbour is None,
        shortcut=keys,
        on_click=state.step_to_case,
        args=(neighbour.metric, neighbour.id, neighbour.epoch) if neighbour else None,
    )
