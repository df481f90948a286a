"""What came of "test connection" and "estimate", kept while the form still says the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.records import Record
from evalcore.runner.request import ConnectionReport, Estimate
from pages.components import numbers
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown

R = TypeVar("R", bound=Record)
_SLOT = "launch.result."


def store_launch_result(
    kind: str, subject: Record, compute: Callable[[], R], tr: Translate
) -> None:
    """Ask, with a sign of life, and keep the answer or the error under what it is about."""
    with st.spinner(tr(f"launch.{kind}_busy")):
        try:
            result: R | str = compute()
        except EvalboardError as error:
            result = localize_note(str(error))
    st.session_state[_SLOT + kind] = (subject, result)


def draw_launch_result(kind: str, subject: Record, tr: Translate, heading: str = "") -> None:
    """Draw the kept answer, unless the form has changed since; `heading` tells several apart."""
    stored = st.session_state.get(_SLOT + kind)
    if stored is None or stored[0] != subject:
        return
    if heading:
        st.caption(escape_markdown(heading, 120))
    result = stored[1]
    if isinstance(result, str):
        st.error(escape_markdown(result, 600), icon=":material/error:")
    elif isinstance(result, ConnectionReport):
        _draw_connection_report(result, tr)
    elif isinstance(result, Estimate):
        _draw_run_estimate(result, tr)


def _draw_connection_report(report: ConnectionReport, tr: Translate) -> None:
    if not report.ok:
        st.error(escape_markdown(report.message, 600), icon=":material/link_off:")
        return
    message = tr("launch.answers")
    if report.latency is not None:
        message = tr("launch.connected", latency=numbers.format_duration(report.latency, tr))
    st.success(message, icon=":material/check_circle:")
    if report.latency is None and report.message:
        st.caption(escape_markdown(localize_note(report.message), 300))
    if report.model:
        st.caption(tr("launch.connected_model", model=escape_markdown(report.model)))
    if report.reply:
        st.code(report.reply[:400], language=None, wrap_lines=True)


def _draw_run_estimate(estimate: Estimate, tr: Translate) -> None:
    cells = (
        ("launch.estimate.samples", numbers.format_count(estimate.samples, tr)),
        ("launch.estimate.requests", numbers.format_count(estimate.requests, tr)),
        ("common.input_tokens", numbers.format_count(estimate.input_tokens, tr)),
        ("common.output_tokens", numbers.format_count(estimate.output_tokens, tr)),
        ("launch.estimate.seconds", numbers.format_duration(estimate.seconds, tr)),
        ("launch.estimate.cost", numbers.format_money(estimate.cost, tr)),
    )
    columns = st.columns(2)
    for number, (key, value) in enumerate(cells):
        columns[number % 2].metric(tr(key), value)
    for text in estimate.notes:
        st.caption(escape_markdown(localize_note(text), 300))
