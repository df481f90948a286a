"""The weights of a decision: a slider per criterion, all of them in one parameter of the URL."""

from __future__ import annotations

import streamlit as st

from evalcore.errors import UsageError
from evalcore.views.decision import (
    MAX_WEIGHT,
    Criterion,
    DecisionTable,
    format_weights,
    parse_weights,
)
from evalcore.views.decision_payloads import title_criteria
from pages.shared import page_links
from pages.shared.wording import current_language, escape_markdown, tr

_PARAMETER = "w"
_SEEN = "decide.weights.seen"


def draw_weights(board: str, table: DecisionTable) -> dict[str, float]:
    """The sliders; returns the weight of every criterion. `board` tells the boards apart: what was
    set on another is forgotten where this one has no such criterion."""
    _sync_sliders(board, table)
    titles = title_criteria(table, current_language())
    with st.container(border=True, key="decide-weights"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(tr("decide.weights"), anchor=False)
            st.space("stretch")
            st.button(
                tr("decide.reset"),
                icon=":material/restart_alt:",
                type="tertiary",
                on_click=page_links.set_query_param,
                args=(_PARAMETER, None),
                disabled=_PARAMETER not in st.query_params,
            )
        st.caption(tr("decide.weights_about"))
        weights: dict[str, float] = {
            criterion.key: st.slider(
                escape_markdown(titles[criterion.key]),
                0,
                MAX_WEIGHT,
                # a browser that draws this slider only after a second run begins it here
                st.session_state[_slider_key(criterion)],
                key=_slider_key(criterion),
                help=_explain_criterion(criterion),
            )
            for criterion in table.criteria
        }
    text = format_weights(weights, table.criteria)
    # first what was seen: a run that is interrupted by the next one ends as it writes the URL
    st.session_state[_SEEN] = (board, text, weights)
    page_links.set_query_param(_PARAMETER, text)
    return weights


def _slider_key(criterion: Criterion) -> str:
    return f"decide.weight.{criterion.key}"


def _explain_criterion(criterion: Criterion) -> str | None:
    if criterion.reference is not None:
        reference = escape_markdown(f"{criterion.reference:.3g}")
        return tr(f"decide.weights_help.{criterion.key}", reference=reference)
    if not criterion.cases:
        return None
    return tr("decide.weights_help.cases", count=criterion.cases)


def _sync_sliders(board: str, table: DecisionTable) -> None:
    """Set the sliders anew where the URL or the board was changed by anything else; a link that
    asks for what cannot be is told so."""
    text = st.query_params.get(_PARAMETER, "")
    seen_board, seen_text, seen_weights = st.session_state.get(_SEEN, ("", "", {}))
    present = all(_slider_key(criterion) in st.session_state for criterion in table.criteria)
    if present and seen_board == board:
        moved = any(
            st.session_state[_slider_key(criterion)] != seen_weights.get(criterion.key)
            for criterion in table.criteria
        )
        # who moves a slider quickly sends a URL that is older than what was written last
        if moved or seen_text == text:
            return
    weights: dict[str, float] = dict(table.default_weights)
    ignored = []
    for part in page_links.split_url_values(text):
        try:
            weights |= _parse_changed(part, table)
        except UsageError:
            ignored.append(part)
    for criterion in table.criteria:
        st.session_state[_slider_key(criterion)] = round(weights[criterion.key])
    if ignored and (not seen_board or text != seen_text):  # no doing of who changes the board
        texts = escape_markdown(", ".join(ignored), 120)
        message = tr("decide.ignored_weights", texts=texts)
        st.toast(message, icon=":material/explore_off:", duration="long")


def _parse_changed(part: str, table: DecisionTable) -> dict[str, float]:
    """The weight of the criterion that a part of the parameter names. Raises UsageError."""
    key = part.rpartition(":")[0]
    return {key: parse_weights([part], table.criteria)[key]}
