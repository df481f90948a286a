"""The part of the launch form that seats a panel: judges, asked only where nothing executes."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from evalcore import catalog
from evalcore.errors import UsageError
from evalcore.runner import client
from evalcore.settings import Settings
from pages.components import keys
from pages.components.language import Translate
from pages.components.text import escape_markdown


def select_judges(benchmarks: Iterable[str], target: str, tr: Translate) -> tuple[str, ...]:
    """The chosen judges; nothing is drawn where none of the benchmarks may need any."""
    if not any(catalog.benchmark_card(key).judged for key in benchmarks):
        return ()
    chosen = st.multiselect(
        tr("launch.judges"),
        catalog.target_kinds()["openai"].examples,
        accept_new_options=True,
        placeholder=tr("launch.judges_placeholder"),
        help=tr("launch.judges_help"),
        key="launch.judges",
        persist_state="session",
    )
    judges = tuple(judge.strip() for judge in chosen if judge.strip())
    if not judges:
        st.caption(tr("launch.judges_none"))
    elif len(judges) % 2 == 0:
        st.caption(tr("launch.judges_even"))
    if target in {judge.partition("?")[0] for judge in judges}:
        st.caption(tr("launch.judges_self", target=escape_markdown(target)))
    return judges


def ask_for_judge_keys(
    judges: tuple[str, ...], already_asked: Iterable[str], settings: Settings, tr: Translate
) -> list[str]:
    """Ask for the judges' keys that nobody has set, save those `already_asked` for above;
    returns them."""
    try:
        needed = client.missing_judge_keys(judges, settings)
    except UsageError:
        return []  # what is wrong with a judge is said beside the form
    names = [name for name in needed if name not in already_asked]
    keys.ask_for_keys(names, tr)
    return names
