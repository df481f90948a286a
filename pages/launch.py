"""Launch: choose a target and cases, check the connection, estimate, start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.runner import client
from evalcore.runner.request import RunRequest
from evalcore.settings import Settings
from pages.components import (
    keys,
    launch_actions,
    launch_application,
    launch_cases,
    launch_dataset,
    launch_judges,
    launch_local,
    launch_refused,
    launch_sandbox,
    launch_second,
    launch_summary,
    launch_target,
    left_out,
    visitor,
)
from pages.components.language import Translate, build_translator
from pages.components.launch_rules import LaunchProblem, find_request_problems, find_target_problems
from pages.components.launch_target import ChosenTarget


def draw_launch_page() -> None:
    """The form on the left, what would happen on the right."""
    tr, current = build_translator(), visitor.load_visitor_settings()
    st.title(tr("launch.title"))
    if refused := visitor.explain_refusal("launch"):
        launch_refused.draw_launch_refused(refused, tr)
        return
    st.caption(tr("launch.about"))
    left_out.draw_skipped_plugins(tr)
    form, side = st.columns([2, 1], gap="medium")
    with form:
        with st.container(border=True):
            st.subheader(tr("launch.step.target"), anchor=False)
            target = launch_target.draw_target_choice(current, tr)
            asked = _ask_keys(target, [], current, tr)
            second = launch_second.draw_second_target(target, current, tr)
            asked += _ask_keys(second, asked, current, tr) if second else []
        with st.container(border=True):
            st.subheader(tr("launch.step.cases"), anchor=False)
            cases = launch_cases.draw_case_choice(tr)
            launch_sandbox.draw_sandbox_status(cases.benchmarks, cases.options, current, tr)
            judges = launch_judges.select_judges(cases.benchmarks, target.key, tr)
            asked += launch_judges.ask_for_judge_keys(judges, asked, current, tr)
        with st.container(border=True):
            st.subheader(tr("launch.step.amount"), anchor=False)
            amount = launch_cases.draw_amount_fields(tr)
    request = RunRequest(
        target=target.key,
        benchmarks=cases.benchmarks,
        target_options=target.options,
        metrics=cases.metric_subset,
        dataset=cases.dataset or "",
        options=cases.options,
        judges=judges,
        **amount._asdict(),
    )
    with side, st.container(border=True):
        wrong = find_request_problems(
            request,
            keys.list_missing_keys(asked),
            cases.metrics,
            Path(current.datasets),
            own_dataset=cases.dataset is not None,
            added_names=list(launch_dataset.load_added_datasets(cases.benchmarks)),
        )
        wrong += _target_problems(target, second, cases.metrics, current)
        wrong += launch_sandbox.find_sandbox_problems(cases.benchmarks, cases.options, current)
        launch_summary.draw_launch_summary(request, second, wrong, tr)
        launch_actions.draw_launch_actions(request, second, current, blocked=bool(wrong), tr=tr)


def _ask_keys(
    target: ChosenTarget, asked: Sequence[str], current: Settings, tr: Translate
) -> list[str]:
    """Ask for the keys nobody has set, save those `asked` for above; returns their names."""
    try:
        needed = client.missing_keys(target.key, target.options, current)
    except EvalboardError:
        return []  # what is wrong with the target is said beside the form
    names = [name for name in needed if name not in asked]
    keys.ask_for_keys(names, tr)
    return names


def _target_problems(
    first: ChosenTarget,
    second: ChosenTarget | None,
    metrics: Mapping[str, Sequence[str]],
    current: Settings,
) -> list[LaunchProblem]:
    """What is wrong with either target, beyond the name of the first."""
    issues = []
    for target in (first, second) if second else (first,):
        issues += launch_application.find_application_problems(target.key, metrics, current)
        issues += launch_local.find_model_problems(target.key, target.options)
    if second:
        issues += find_target_problems(second.key, second.options)
        if second == first:
            issues.append(LaunchProblem(key="launch.problem.same"))
    return issues


draw_launch_page()
