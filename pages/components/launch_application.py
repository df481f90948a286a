"""The part of the launch form that names an HTTP service, and what is wrong with the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from evalcore import access, catalog
from evalcore.catalog import ApplicationCard, TargetKindCard, localize_text
from evalcore.settings import Settings
from pages.components.language import Translate, current
from pages.components.launch_rules import Problem
from pages.components.text import escape

PREFIX = "app:"


def draw(kind: TargetKindCard, settings: Settings, tr: Translate, slot: str = "launch") -> str:
    """Draw the choice of a described service; returns its target key."""
    name = f"{slot}.target.app"
    known, guarded = catalog.load_applications(settings), access.is_restricted(settings)
    if guarded:
        named = (f"{PREFIX}{name}" for name in settings.allow_applications)
        known = {key: known[key] for key in named if key in known}

    def label(key: str) -> str:
        return f"{known[key].title} ({key})" if key in known else key

    own = st.session_state.get(name)  # a path that was typed stays among the choices
    typed = st.selectbox(
        tr("launch.application"),
        list(dict.fromkeys([*known, own] if own else known)),
        format_func=label,
        accept_new_options=not guarded,
        key=name,
        help=tr("launch.application_help", form=kind.form),
        persist_state="session",
    )
    key = _key(str(typed or ""))
    if key in known or (key != PREFIX and not guarded):
        _tell(catalog.load_application(key, settings), tr)
    return key if key in known or not guarded else PREFIX


def problems(
    target: str, metrics: Mapping[str, Sequence[str]], settings: Settings
) -> list[Problem]:
    """What would stop a run on a service: its description, or cases that it is not made for.

    `metrics` are those chosen, by benchmark. Nothing is wrong with targets of other kinds.
    """
    if not target.startswith(PREFIX) or target == PREFIX:
        return []
    card = catalog.load_application(target, settings)
    if card.problem:
        return [Problem(key="launch.problem.application", values={"problem": card.problem})]
    found, cards = [], catalog.benchmark_cards()
    for benchmark, chosen in metrics.items():
        wrong = [metric for metric in chosen if not card.can_answer(benchmark, metric)]
        if wrong:
            title = localize_text(cards[benchmark].title, current()) or benchmark
            names = [
                localize_text(cards[benchmark].find_metric(key).title, current()) or key
                for key in wrong
            ]
            values = {"title": card.title, "benchmark": title, "metrics": ", ".join(names)}
            found.append(Problem(key="launch.problem.unanswered", values=values))
    return found


def _key(typed: str) -> str:
    typed = typed.strip()
    return typed if typed.startswith(PREFIX) else f"{PREFIX}{typed}"


def _tell(card: ApplicationCard, tr: Translate) -> None:
    """What the service answers; what is wrong with its description is said beside the form."""
    if card.problem:
        return
    cards, language = catalog.benchmark_cards(), current()
    served = [
        localize_text(found.title, language) or key
        for key, found in cards.items()
        if any(card.can_answer(key, metric.key) for metric in found.metrics)
    ]
    st.caption(escape(card.about, 300))
    if served:
        st.caption(tr("launch.application_answers", benchmarks=", ".join(served)))
