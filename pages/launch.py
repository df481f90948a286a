"""Launch: choose a target and cases, check the connection, estimate, start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.records import TargetSpec
from evalcore.runner import client
from evalcore.runner.request import ConnectionReport, Estimate, RunRequest
from evalcore.settings import Settings
from pages.components import (
    keys,
    launch_application,
    launch_cases,
    launch_dataset,
    launch_judges,
    launch_local,
    launch_refused,
    launch_report,
    launch_sandbox,
    launch_second,
    launch_target,
    names,
    state,
    visitor,
)
from pages.components.language import Translate, note, translator
from pages.components.launch_rules import Problem, problems, target_problems
from pages.components.launch_target import ChosenTarget
from pages.components.text import escape, plain


def page() -> None:
    """The form on the left, what would happen on the right."""
    tr, current = translator(), visitor.seen()
    st.title(tr("launch.title"))
    if refused := visitor.refusal("launch"):
        launch_refused.draw(refused, tr)
        return
    st.caption(tr("launch.about"))
    form, side = st.columns([2, 1], gap="medium")
    with form:
        with st.container(border=True):
            st.subheader(tr("launch.step.target"), anchor=False)
            target = launch_target.draw(current, tr)
            asked = _ask_keys(target, [], current, tr)
            second = launch_second.draw(target, current, tr)
            asked += _ask_keys(second, asked, current, tr) if second else []
        with st.container(border=True):
            st.subheader(tr("launch.step.cases"), anchor=False)
            cases = launch_cases.draw(tr)
            launch_sandbox.draw(cases.benchmarks, cases.options, current, tr)
            judges = launch_judges.draw(cases.benchmarks, target.key, tr)
            asked += launch_judges.ask_keys(judges, asked, current, tr)
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
            keys.still_missing(asked),
            cases.metrics,
            Path(current.datasets),
            own_dataset=cases.dataset is not None,
            added=list(launch_dataset.added(cases.benchmarks)),
        )
        wrong += _target_problems(target, second, cases.metrics, current)
        wrong += launch_sandbox.problems(cases.benchmarks, cases.options, current)
        _tell(request, second, wrong, tr)
        _actions(request, second, current, blocked=bool(wrong), tr=tr)


def _tell(
    request: RunRequest, second: ChosenTarget | None, wrong: Sequence[Problem], tr: Translate
) -> None:
    """What would happen, or what stands in its way."""
    st.subheader(tr("launch.not_ready" if wrong else "launch.ready"), anchor=False)
    _summary(request, second, tr)
    for problem in wrong:
        values = {name: escape(value, 400) for name, value in problem.values.items()}
        st.warning(tr(problem.key, **values), icon=":material/edit:")


def _ask_keys(
    target: ChosenTarget, asked: Sequence[str], current: Settings, tr: Translate
) -> list[str]:
    """Ask for the keys nobody has set, save those `asked` for above; returns their names."""
    try:
        needed = client.missing_keys(target.key, target.options, current)
    except EvalboardError:
        return []  # what is wrong with the target is said beside the form
    names = [name for name in needed if name not in asked]
    keys.ask(names, tr)
    return names


def _target_problems(
    first: ChosenTarget,
    second: ChosenTarget | None,
    metrics: Mapping[str, Sequence[str]],
    current: Settings,
) -> list[Problem]:
    """What is wrong with either target, beyond the name of the first."""
    found = []
    for target in (first, second) if second else (first,):
        found += launch_application.problems(target.key, metrics, current)
        found += launch_local.problems(target.key, target.options)
    if second:
        found += target_problems(second.key, second.options)
        if second == first:
            found.append(Problem(key="launch.problem.same"))
    return found


def _summary(request: RunRequest, second: ChosenTarget | None, tr: Translate) -> None:
    _name(request.target, request.target_options)
    if second:
        st.caption(tr("launch.versus"))
        _name(second.key, second.options)
        both_local = all(
            key.startswith(launch_local.PREFIX) for key in (request.target, second.key)
        )
        st.caption(tr("launch.in_turn" if both_local else "launch.at_once"))
    most = request.max_samples
    st.caption(
        tr("launch.summary_all" if most is None else "launch.summary_some", count=most)
        + (tr("launch.summary_epochs", count=request.epochs) if request.epochs > 1 else "")
    )
    if most is not None or request.metrics:
        st.caption(tr("launch.subset_note"))


def _name(key: str, options: Mapping[str, Any]) -> None:
    """A target with the options that tell it apart."""
    called = names.of(key, key)
    st.text(plain(key if called == key else f"{called} · {key}", 200))
    if options:
        st.caption(escape(", ".join(f"{name} = {value}" for name, value in options.items()), 300))


def _actions(
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
    return client.estimate(request, current, visitor=visitor.current())


def _start(
    request: RunRequest, second: TargetSpec | None, current: Settings, tr: Translate
) -> None:
    """Start the run and go to watch it; an error of the request is shown where it was made."""
    try:
        with st.spinner(tr("launch.start_busy")):
            if second is None:
                run = client.launch(request, keys.typed(), current, visitor=visitor.current())
            else:
                run, _ = client.launch_pair(
                    request, second, keys.typed(), current, visitor=visitor.current()
                )
    except EvalboardError as error:
        st.error(escape(note(str(error)), 600), icon=":material/error:")
        return
    st.switch_page(state.RUNS, query_params={"run": run})


page()
