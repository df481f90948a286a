"""Launch: choose a target and cases, check the connection, estimate, start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from evalcore import settings
from evalcore.errors import EvalboardError
from evalcore.records import TargetSpec
from evalcore.runner import client
from evalcore.runner.request import RunRequest
from evalcore.settings import Settings
from pages.components import (
    keys,
    launch_application,
    launch_cases,
    launch_judges,
    launch_report,
    launch_target,
    state,
)
from pages.components.language import Translate, translator
from pages.components.launch_rules import problems
from pages.components.text import escape


def page() -> None:
    """The form on the left, what would happen on the right."""
    tr, current = translator(), settings.load()
    st.title(tr("launch.title"))
    st.caption(tr("launch.about"))
    form, side = st.columns([8, 5], gap="large")
    with form:
        with st.container(border=True):
            st.subheader(tr("launch.step.target"), anchor=False)
            target = launch_target.draw(current, tr)
            missing = _keys(target, current, tr)
        with st.container(border=True):
            st.subheader(tr("launch.step.cases"), anchor=False)
            cases = launch_cases.draw(tr)
            judges = launch_judges.draw(cases.benchmarks, target.key, tr)
            missing += launch_judges.ask_keys(judges, missing, current, tr)
        with st.container(border=True):
            st.subheader(tr("launch.step.amount"), anchor=False)
            amount = launch_cases.draw_amount(tr)
    request = RunRequest(
        target=target.key,
        benchmarks=cases.benchmarks,
        target_options=target.options,
        metrics=cases.subset,
        dataset=cases.dataset or "",
        options=cases.options,
        judges=judges,
        **amount._asdict(),
    )
    with side, st.container(border=True):
        wrong = problems(
            request,
            missing,
            cases.metrics,
            Path(current.datasets),
            own_dataset=cases.dataset is not None,
        )
        wrong += launch_application.problems(request.target, cases.metrics, current)
        st.subheader(tr("launch.not_ready" if wrong else "launch.ready"), anchor=False)
        _summary(request, tr)
        for problem in wrong:
            values = {name: escape(value, 200) for name, value in problem.values.items()}
            st.warning(tr(problem.key, **values), icon=":material/edit:")
        _actions(request, current, blocked=bool(wrong), tr=tr)


def _keys(target: launch_target.ChosenTarget, current: Settings, tr: Translate) -> list[str]:
    """Ask for the keys nobody has set; returns those still missing."""
    try:
        names = client.missing_keys(target.key, target.options, current)
    except EvalboardError:
        return []  # what is wrong with the target is said beside the form
    keys.ask(names, tr)
    return keys.still_missing(names)


def _summary(request: RunRequest, tr: Translate) -> None:
    st.text(request.target)
    most = request.max_samples
    st.caption(
        tr("launch.summary_all" if most is None else "launch.summary_some", count=most)
        + (tr("launch.summary_epochs", count=request.epochs) if request.epochs > 1 else "")
    )
    if most is not None or request.metrics:
        st.caption(tr("launch.subset_note"))


def _actions(request: RunRequest, current: Settings, *, blocked: bool, tr: Translate) -> None:
    """Start, test and estimate; a result stays as long as it belongs to what the form says."""
    who = TargetSpec(key=request.target, options=request.target_options)
    if _button("start", blocked, tr, type="primary", icon=":material/play_arrow:"):
        _start(request, current, tr)
    if _button("connection", blocked, tr, icon=":material/network_check:"):
        launch_report.remember(
            "connection",
            who,
            lambda: client.test_connection(who.key, who.options, keys.typed(), current),
            tr,
        )
    launch_report.draw("connection", who, tr)
    if _button("estimate", blocked, tr, icon=":material/calculate:"):
        launch_report.remember("estimate", request, lambda: client.estimate(request, current), tr)
    launch_report.draw("estimate", request, tr)


def _button(name: str, blocked: bool, tr: Translate, **look: Any) -> bool:
    return st.button(
        tr(f"launch.{name}"), key=f"launch.do.{name}", disabled=blocked, width="stretch", **look
    )


def _start(request: RunRequest, current: Settings, tr: Translate) -> None:
    """Start the run and go to watch it; an error of the request is shown where it was made."""
    try:
        with st.spinner(tr("launch.start_busy")):
            run = client.launch(request, keys.typed(), current)
    except EvalboardError as error:
        st.error(escape(error, 600), icon=":material/error:")
        return
    st.switch_page(state.RUNS, query_params={"run": run})


page()
