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
from pages.components.language import Translate, localize_note
from pages.components.launch_target import ChosenTarget
from pages.components.text import escape_markdown


def draw_launch_actions(
    request: RunRequest,
    second: ChosenTarget | None,
    settings: Settings,
    *,
    blocked: bool,
    tr: Translate,
) -> None:
    """Start, test and estimate; a result stays as long as it belongs to what the form says."""
    first = TargetSpec(key=request.target, options=request.target_options)
    other = TargetSpec(key=second.key, options=second.options) if second else None
    if _draw_launch_button("start", blocked, tr, type="primary", icon=":material/play_arrow:"):
        _launch_and_open(request, other, settings, tr)
    is_requested = _draw_launch_button("connection", blocked, tr, icon=":material/network_check:")
    for slot, target in (("connection", first), ("connection_second", other)):
        if target is None:
            continue
        if is_requested:
            launch_report.store_launch_result(
                slot, target, partial(_test_target_connection, target, settings), tr
            )
        launch_report.draw_launch_result(slot, target, tr, heading=target.identity if other else "")
    if _draw_launch_button("estimate", blocked, tr, icon=":material/calculate:"):
        launch_report.store_launch_result(
            "estimate", request, partial(_compute_estimate, request, settings), tr
        )
    launch_report.draw_launch_result("estimate", request, tr)


def _draw_launch_button(name: str, blocked: bool, tr: Translate, **button_options: Any) -> bool:
    return st.button(
        tr(f"launch.{name}"),
        key=f"launch.do.{name}",
        disabled=blocked,
        width="stretch",
        **button_options,
    )


def _test_target_connection(target: TargetSpec, settings: Settings) -> ConnectionReport:
    acting_visitor = visitor.current_visitor()
    return client.test_connection(
        target.key, target.options, keys.collect_typed_keys(), settings, visitor=acting_visitor
    )


def _compute_estimate(request: RunRequest, settings: Settings) -> Estimate:
    return client.estimate_run(request, settings, visitor=visitor.current_visitor())


def _launch_and_open(
    request: RunRequest, second: TargetSpec | None, settings: Settings, tr: Translate
) -> None:
    """Start the run and go to watch it; an error of the request is shown where it was made."""
    try:
        with st.spinner(tr("launch.start_busy")):
            if second is None:
                run = client.launch_run(
                    request, keys.collect_typed_keys(), settings, visitor=visitor.current_visitor()
                )
            else:
                run, _ = client.launch_pair(
                    request,
                    second,
                    keys.collect_typed_keys(),
                    settings,
                    visitor=visitor.current_visitor(),
                )
    except EvalboardError as error:
        st.error(escape_markdown(localize_note(str(error)), 600), icon=":material/error:")
        return
    st.switch_page(state.RUNS, query_params={"run": run})
