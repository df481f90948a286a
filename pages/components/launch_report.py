"""What came of "test connection" and "estimate", kept while the form still says the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.records import Record
from evalcore.runner.request import ConnectionReport, Estimate
from pages.components import numbers
from pages.components.language import Translate, note
from pages.components.text import escape

R = TypeVar("R", bound=Record)
_SLOT = "launch.result."


def remember(kind: str, about: Record, ask: Callable[[], R], tr: Translate) -> None:
    """Ask, with a sign of life, and keep the answer or the error under what it is about."""
    with st.spinner(tr(f"launch.{kind}_busy")):
        try:
            result: R | str = ask()
        except EvalboardError as error:
            result = note(str(error))
    st.session_state[_SLOT + kind] = (about, result)


def draw(kind: str, about: Record, tr: Translate, heading: str = "") -> None:
    """Draw the kept answer, unless the form has changed since; `heading` tells several apart."""
    kept = st.session_state.get(_SLOT + kind)
    if kept is None or kept[0] != about:
        return
    if heading:
        st.caption(escape(heading, 120))
    result = kept[1]
    if isinstance(result, str):
        st.error(escape(result, 600), icon=":material/error:")
    elif isinstance(result, ConnectionReport):
        _connection(result, tr)
    elif isinstance(result, Estimate):
        _estimate(result, tr)


def _connection(report: ConnectionReport, tr: Translate) -> None:
    if not report.ok:
        st.error(escape(report.message, 600), icon=":material/link_off:")
        return
    said = tr("launch.answers")
    if report.latency is not None:
        said = tr("launch.connected", latency=numbers.duration(report.latency, tr))
    st.success(said, icon=":material/check_circle:")
    if report.latency is None and report.message:
        st.caption(escape(note(report.message), 300))
    if report.model:
        st.caption(tr("launch.connected_model", model=escape(report.model)))
    if report.reply:
        st.code(report.reply[:400], language=None, wrap_lines=True)


def _estimate(estimate: Estimate, tr: Translate) -> None:
    cells = (
        ("launch.estimate.samples", numbers.count(estimate.samples, tr)),
        ("launch.estimate.requests", numbers.count(estimate.requests, tr)),
        ("common.input_tokens", numbers.count(estimate.input_tokens, tr)),
        ("common.output_tokens", numbers.count(estimate.output_tokens, tr)),
        ("launch.estimate.seconds", numbers.duration(estimate.seconds, tr)),
        ("launch.estimate.cost", numbers.money(estimate.cost, tr)),
    )
    columns = st.columns(2)
    for number, (key, value) in enumerate(cells):
        columns[number % 2].metric(tr(key), value)
    for text in estimate.notes:
        st.caption(escape(note(text), 300))
