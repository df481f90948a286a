"""Launch: choose a target and cases, check the connection, estimate, start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from evalcore import catalog
from evalcore.errors import EvalboardError
from evalcore.runner import client
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from pages.parts.launch import actions, cases_form, preflight, target_form
from pages.parts.launch.preflight import LaunchProblem, find_request_problems, find_target_problems
from pages.parts.launch.target_form import ChosenTarget
from pages.shared import visitor
from pages.shared.wording import localize, tr


def draw_launch_page() -> None:
    """The form on the left, what would happen on the right."""
    current = visitor.load_visitor_settings()
    st.title(tr("launch.title"))
    if refused := visitor.explain_refusal("launch"):
        actions.draw_launch_refused(refused)
        return
    st.caption(tr("launch.about"))
    visitor.draw_skipped_plugins()
    form, side = st.columns([2, 1], gap="medium")
    with form:
        with st.container(border=True):
            st.subheader(tr("launch.step.target"), anchor=False)
            target = target_form.draw_target_choice(current)
            asked = _ask_keys(target, [], current)
            sweep = target_form.draw_sweep_choice(target, current)
            second = None if sweep else target_form.draw_second_target(target, current)
            asked += _ask_keys(second, asked, current) if second else []
        with st.container(border=True):
            st.subheader(tr("launch.step.cases"), anchor=False)
            cases = cases_form.draw_case_choice()
            actions.draw_sandbox_status(cases.benchmarks, cases.options, current)
            judges = cases_form.select_judges(cases.benchmarks, target.key)
            asked += cases_form.ask_for_judge_keys(judges, asked, current)
        with st.container(border=True):
            st.subheader(tr("launch.step.amount"), anchor=False)
            amount = cases_form.draw_amount_fields(current)
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
            _list_needed_keys(asked),
            cases.metrics,
            Path(current.datasets),
            own_dataset=cases.dataset is not None,
            added_names=list(cases_form.load_added_datasets(cases.benchmarks)),
        )
        wrong += _target_problems(target, second, cases.metrics, current)
        wrong += actions.find_sandbox_problems(cases.benchmarks, cases.options, current)
        summary = st.container()  # a connection that is tested below may turn out to fail
        variants = actions.draw_sweep_variants(request, sweep, current) if sweep else None
        blocked = bool(wrong) or (sweep is not None and not variants)
        actions.draw_launch_actions(request, second, current, blocked=blocked, variants=variants)
        with summary:
            actions.draw_launch_summary(request, second, wrong)


def _ask_keys(target: ChosenTarget, asked: Sequence[str], current: Settings) -> list[str]:
    """Ask for the keys nobody has set, save those `asked` for above; returns their names."""
    try:
        needed = client.missing_keys(target.key, target.options, current)
    except EvalboardError:
        return []  # what is wrong with the target is said beside the form
    card = catalog.find_target_kind(target.key)
    labels = {option.name: localize(option.label) for option in card.secrets} if card else {}
    unset = (name for name in labels if not os.environ.get(name))
    names = [name for name in dict.fromkeys([*needed, *unset]) if name not in asked]
    visitor.ask_for_keys(names, labels)
    return names


def _list_needed_keys(names: Sequence[str]) -> list[str]:
    """Those of the keys asked for that nobody has typed, and without which no run is started."""
    kinds = catalog.target_kinds().values()
    secrets = (option for card in kinds for option in card.secrets)
    optional = {option.name for option in secrets if option.default is not None}
    return visitor.list_missing_keys([name for name in names if name not in optional])


def _target_problems(
    first: ChosenTarget,
    second: ChosenTarget | None,
    metrics: Mapping[str, Sequence[str]],
    current: Settings,
) -> list[LaunchProblem]:
    """What is wrong with either target, beyond the name of the first."""
    issues = []
    for target in (first, second) if second else (first,):
        issues += target_form.find_application_problems(target.key, metrics, current)
        issues += preflight.find_model_problems(target.key, target.options)
    if second:
        issues += find_target_problems(second.key, second.options)
        if second == first:
            issues.append(LaunchProblem(key="launch.problem.same"))
    return issues


draw_launch_page()
