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
from pages.components.text import escape, plain

#: With Alt, since a letter alone would get in the way of those who dictate or read by keyboard.
_STEPS = {
    "previous": (":material/chevron_left:", "left", "Alt+P"),
    "next": (":material/chevron_right:", "right", "Alt+N"),
}
_OUTCOMES = frozenset({*OUTCOMES, MISSING})


def draw(view: CaseView, link: CaseLink, tr: Translate) -> None:
    """Previous and next, the outcome to step through, the place, and what else is filtered by."""
    place = view.position
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _step("previous", place.previous, tr)
        _step("next", place.next, tr)
        chosen = _outcome(view, link, tr)
        known = place.number is not None
        text = tr("case.place", number=place.number, total=place.total) if known else ""
        st.caption(text or tr("case.place_outside", total=place.total), width="content")
    _filter(view, link, tr)
    if chosen != link.outcome:
        st.rerun()  # the address has it now


def _outcome(view: CaseView, link: CaseLink, tr: Translate) -> str:
    """One outcome to step through, or those that the list was filtered by, or all."""
    counts = view.position.outcomes
    options = list(dict.fromkeys(["", *sorted(counts), link.outcome]))

    def title(code: str) -> str:
        ends = state.parts(code) or tuple(counts)
        names = [tr(f"common.outcome.{end}") if end in _OUTCOMES else plain(end) for end in ends]
        name = ", ".join(names) if code else tr("common.all")
        return f"{name} ({sum(counts.get(end, 0) for end in ends)})"

    return url_state.select(
        tr("case.filter"), options, page="case", name="outcome", title=title, width=240
    )


def _filter(view: CaseView, link: CaseLink, tr: Translate) -> None:
    """What the cases are filtered by beside their outcome, and the way to have all of them."""
    where = link.where
    told = [metric_title(view.benchmark, metric) for metric in where.metric]
    told += [tr("case.within_difficulty", level=level) for level in where.difficulty]
    told += [cause_title(why) for why in where.why]
    told += [f"“{where.text}”"] if where.text else []
    if told:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            names = " · ".join(escape(name, 60) for name in told)
            st.caption(f":material/filter_alt: {tr('case.within', filter=names)}", width="content")
            st.button(
                tr("case.within_all"),
                key="case.within_all",
                type="tertiary",
                icon=":material/filter_alt_off:",
                on_click=state.go_to_case,
                args=(link.filtered(EVERY_CASE),),
            )


def _step(name: str, to: Neighbour | None, tr: Translate) -> None:
    """A button and no link: a link to the page one is on leaves the address bar as it was."""
    icon, side, keys = _STEPS[name]
    st.button(
        tr(f"case.{name}"),
        key=f"case.{name}",
        icon=icon,
        icon_position=side,  # type: ignore[arg-type]
        disabled=to is None,
        shortcut=keys,
        on_click=state.step_to_case,
        args=(to.metric, to.id, to.epoch) if to else None,
    )
