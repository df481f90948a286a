"""The buttons of the launch form: start the run, test the connection, estimate."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.records import TargetSpec
from evalcore.runner import client
from evalcore.runner.request import ConnectionReport, Estimate, RunRequest
from evalcore.settings import Settings
from pages.components import keys, launch_report, state, visitor
from pages.components.language import Translate, note
from pages.components.launch_target import ChosenTarget
from pages.components.text import escape


def draw(
    request: RunRequest,
    second: ChosenTarget | None,
    current: Settings,
    *,
    blocked: bool,
    tr: Translate,
) -> None:
    """Start, test and estimate; a result stays as long as it belongs to what the form says."""
    first = TargetSpec(key=request.target, options=request.target_options)
    other = TargetSpec(key=second.key, options=second.options) if second else None
    if _button("start", blocked, tr, type="primary", icon=":material/play_arrow:"):
        _start(request, other, current, tr)
    tested = _button("connection", blocked, tr, icon=":material/network_check:")
    for slot, who in (("connection", first), ("connection_second", other)):
        if who is None:
            continue
        if tested:
            launch_report.remember(slot, who, partial(_connect, who, current), tr)
        launch_report.draw(slot, who, tr, heading=who.identity if other else "")
    if _button("estimate", blocked, tr, icon=":material/calculate:"):
        launch_report.remember("estimate", request, partial(_estimate, request, current), tr)
    launch_report.draw("estimate", request, tr)


def _button(name: str, blocked: bool, tr: Translate, **look: Any) -> bool:
    return st.button(
        tr(f"launch.{name}"), key=f"launch.do.{name}", disabled=blocked, width="stretch", **look
    )


def _connect(who: TargetSpec, current: Settings) -> ConnectionReport:
    asks = visitor.current()
    return client.test_connection(who.key, who.options, keys.typed(), current, visitor=asks)


def _estimate(request: RunRequest, current: Settings) -> Estimate:
    return client.estimate_run(request, current, visitor=visitor.current())


def _start(
    request: RunRequest, second: TargetSpec | None, current: Settings, tr: Translate
) -> None:
    """Start the run and go to watch it; an error of the request is shown where it was made."""
    try:
        with st.spinner(tr("launch.start_busy")):
            if second is None:
                run = client.launch_run(request, keys.typed(), current, visitor=visitor.current())
            else:
                run, _ = client.launch_pair(
                    request, second, keys.typed(), current, visitor=visitor.current()
                )
    except EvalboardError as error:
        st.error(escape(note(str(error)), 600), icon=":material/error:")
        return
    st.switch_page(state.RUNS, query_params={"run": run})
