"""Which data set the launch form takes: the bundled one, one that was added here, or a path.

A link may choose a benchmark and a data set of it (`?benchmark=&dataset=`), which the page of the
data sets does. The address says so as long as the form does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from evalcore import access, settings
from evalcore.plain_text import DASH
from evalcore.queries import datasets
from evalcore.queries.datasets import DatasetEntry
from evalcore.runner import request_policy
from pages.components import datasets_words, state, url_state, visitor
from pages.components.language import Translate

_BENCHMARKS, _SOURCE, _NAME = "launch.benchmarks", "launch.dataset", "launch.dataset_added"
_LINK = "launch.dataset_link"


def adopt_dataset_link(benchmarks: Sequence[str], tr: Translate) -> bool:
    """Set the form as a link asks, once, before the widgets are drawn; whether it was set now."""
    requested = (st.query_params.get("benchmark", ""), st.query_params.get("dataset", ""))
    if requested == st.session_state.get(_LINK, ("", "")) or requested[0] not in benchmarks:
        return False
    is_available = requested[1] in load_added_datasets([requested[0]])
    if requested[1] and not is_available:
        state.set_query_param("dataset", None)
        shown = tr("launch.dataset.bundled")
        url_state.warn_unknown_choice(requested[1], tr("launch.dataset_added"), shown)
    st.session_state[_LINK] = (requested[0], requested[1] if is_available else "")
    st.session_state[_BENCHMARKS] = [requested[0]]
    st.session_state[_SOURCE] = "added" if is_available else "bundled"
    if is_available:
        st.session_state[_NAME] = requested[1]
    return True


def load_added_datasets(chosen: Sequence[str]) -> dict[str, DatasetEntry]:
    """The fetched and own sets of a benchmark that was chosen alone, by name."""
    if len(chosen) != 1:
        return {}
    return {
        entry.dataset: entry
        for entry in datasets.list_added_datasets(settings.load_settings(), chosen[0])
    }


def select_dataset(datasets_by_name: Mapping[str, DatasetEntry], tr: Translate) -> str | None:
    """None for the bundled cases, else the name of a set, or a path as it was typed.

    Who does not run this installation chooses from its list instead of typing a path.
    """
    visitor_settings = visitor.load_visitor_settings()
    allowed_names = (
        request_policy.list_allowed_datasets(visitor_settings)
        if access.is_restricted(visitor_settings)
        else None
    )
    sources = [
        "bundled",
        *(["added"] if datasets_by_name else []),
        *(["path"] if allowed_names != [] else []),
    ]
    if sources == ["bundled"]:
        return None
    if st.session_state.get(_SOURCE, sources[0]) not in sources:
        st.session_state[_SOURCE] = sources[0]
    titles = {name: tr(f"launch.dataset.{name}") for name in sources}
    set_by_link = _SOURCE in st.session_state and st.session_state[_SOURCE] != sources[0]
    source = st.segmented_control(
        tr("launch.dataset"),
        sources,
        default=None if set_by_link else sources[0],
        format_func=lambda name: titles.get(name, name),
        required=True,
        key=_SOURCE,
        persist_state="session",
    )
    return (
        None
        if source == "bundled"
        else _select_named_dataset(source, datasets_by_name, allowed_names, tr)
    )


def _select_named_dataset(
    source: str,
    datasets_by_name: Mapping[str, DatasetEntry],
    allowed_names: Sequence[str] | None,
    tr: Translate,
) -> str | None:
    """Which of the added sets, of those that a visitor may name, or the path that is typed."""
    if source == "added":
        if st.session_state.get(_NAME) not in datasets_by_name:
            st.session_state.pop(_NAME, None)
        titles = {
            name: datasets_words.dataset_title(entry) for name, entry in datasets_by_name.items()
        }
        return st.selectbox(
            tr("launch.dataset_added"),
            list(datasets_by_name),
            format_func=lambda name: titles.get(name, name),
            key=_NAME,
            help=tr("launch.dataset_added_help"),
            persist_state="session",
        )
    if allowed_names is not None:
        return st.selectbox(
            tr("launch.dataset_listed"),
            allowed_names,
            key="launch.dataset_listed",
            persist_state="session",
        )
    path = st.text_input(
        tr("launch.dataset_path"),
        key="launch.dataset_path",
        help=tr("launch.dataset_path_help"),
        persist_state="session",
    )
    return path.strip()


def merge_dataset_options(
    option_values: Mapping[str, dict[str, Any]],
    datasets_by_name: Mapping[str, DatasetEntry],
    dataset: str | None,
) -> dict[str, dict[str, Any]]:
    """The options, with those that the chosen set needs to be read."""
    entry = datasets_by_name.get(dataset or "")
    if entry is None or not entry.options:
        return dict(option_values)
    return {
        **option_values,
        entry.benchmark: {**option_values.get(entry.benchmark, {}), **entry.options},
    }


def publish_dataset_link(chosen: Sequence[str], dataset: str | None, tr: Translate) -> None:
    """Keep the link in the address while the form says the same, else take it out."""
    form_link = (chosen[0] if len(chosen) == 1 else "", dataset or "")
    link = st.session_state.get(_LINK)
    if form_link == link:
        return
    requested = st.query_params.get("benchmark", "")
    if link is None and requested:
        shown = ", ".join(map(datasets_words.benchmark_title, chosen)) or DASH
        url_state.warn_unknown_choice(requested, tr("launch.benchmarks"), shown)
    state.set_query_params(dict.fromkeys(("benchmark", "dataset")))
    st.session_state.pop(_LINK, None)
