"""The part of the launch form that names an HTTP service, and what is wrong with the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from evalcore import access, catalog
from evalcore.catalog import ApplicationCard, TargetKindCard, localize_text
from evalcore.settings import Settings
from pages.components.language import Translate, current_language
from pages.components.launch_rules import LaunchProblem
from pages.components.text import escape_markdown

PREFIX = "app:"


def draw_application_choice(
    kind: TargetKindCard, settings: Settings, tr: Translate, slot: str = "launch"
) -> str:
    """Draw the choice of a described service; returns its target key."""
    name = f"{slot}.target.app"
    applications, is_restricted = (
        catalog.load_applications(settings),
        access.is_restricted(settings),
    )
    if is_restricted:
        allowed_keys = (f"{PREFIX}{name}" for name in settings.allow_applications)
        applications = {key: applications[key] for key in allowed_keys if key in applications}

    def format_application(key: str) -> str:
        return f"{applications[key].title} ({key})" if key in applications else key

    typed_path = st.session_state.get(name)  # a path that was typed stays among the choices
    typed = st.selectbox(
        tr("launch.application"),
        list(dict.fromkeys([*applications, typed_path] if typed_path else applications)),
        format_func=format_application,
        accept_new_options=not is_restricted,
        key=name,
        help=tr("launch.application_help", form=kind.form),
        persist_state="session",
    )
    key = _normalize_application_key(str(typed or ""))
    if key in applications or (key != PREFIX and not is_restricted):
        _draw_application_facts(catalog.load_application(key, settings), tr)
    return key if key in applications or not is_restricted else PREFIX


def find_application_problems(
    target: str, metrics: Mapping[str, Sequence[str]], settings: Settings
) -> list[LaunchProblem]:
    """What would stop a run on a service: its description, or cases that it is not made for.

    `metrics` are those chosen, by benchmark. Nothing is wrong with targets of other kinds.
    """
    if not target.startswith(PREFIX) or target == PREFIX:
        return []
    card = catalog.load_application(target, settings)
    if card.problem:
        return [LaunchProblem(key="launch.problem.application", values={"problem": card.problem})]
    problems, cards = [], catalog.benchmark_cards()
    for benchmark, chosen in metrics.items():
        unanswerable = [metric for metric in chosen if not card.can_answer(benchmark, metric)]
        if unanswerable:
            title = localize_text(cards[benchmark].title, current_language()) or benchmark
            names = [
                localize_text(cards[benchmark].find_metric(key).title, current_language()) or key
                for key in unanswerable
            ]
            values = {"title": card.title, "benchmark": title, "metrics": ", ".join(names)}
            problems.append(LaunchProblem(key="launch.problem.unanswered", values=values))
    return problems


def _normalize_application_key(typed: str) -> str:
    typed = typed.strip()
    return typed if typed.startswith(PREFIX) else f"{PREFIX}{typed}"


def _draw_application_facts(card: ApplicationCard, tr: Translate) -> None:
    """What the service answers; what is wrong with its description is said beside the form."""
    if card.problem:
        return
    cards, language = catalog.benchmark_cards(), current_language()
    served = [
        localize_text(benchmark_card.title, language) or key
        for key, benchmark_card in cards.items()
        if any(card.can_answer(key, metric.key) for metric in benchmark_card.metrics)
    ]
    st.caption(escape_markdown(card.about, 300))
    if served:
        st.caption(tr("launch.application_answers", benchmarks=", ".join(served)))
