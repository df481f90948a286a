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


def adopt(benchmarks: Sequence[str], tr: Translate) -> bool:
    """Set the form as a link asks, once, before the widgets are drawn; whether it was set now."""
    asked = (st.query_params.get("benchmark", ""), st.query_params.get("dataset", ""))
    if asked == st.session_state.get(_LINK, ("", "")) or asked[0] not in benchmarks:
        return False
    known = asked[1] in added([asked[0]])
    if asked[1] and not known:
        state.remember("dataset", None)
        shown = tr("launch.dataset.bundled")
        url_state.tell_unknown(asked[1], tr("launch.dataset_added"), shown)
    st.session_state[_LINK] = (asked[0], asked[1] if known else "")
    st.session_state[_BENCHMARKS] = [asked[0]]
    st.session_state[_SOURCE] = "added" if known else "bundled"
    if known:
        st.session_state[_NAME] = asked[1]
    return True


def added(chosen: Sequence[str]) -> dict[str, DatasetEntry]:
    """The fetched and own sets of a benchmark that was chosen alone, by name."""
    if len(chosen) != 1:
        return {}
    return {
        one.dataset: one
        for one in datasets.list_added_datasets(settings.load_settings(), chosen[0])
    }


def draw(known: Mapping[str, DatasetEntry], tr: Translate) -> str | None:
    """None for the bundled cases, else the name of a set, or a path as it was typed.

    Who does not run this installation chooses from its list instead of typing a path.
    """
    seen = visitor.seen()
    listed = request_policy.list_allowed_datasets(seen) if access.is_restricted(seen) else None
    sources = ["bundled", *(["added"] if known else []), *(["path"] if listed != [] else [])]
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
    return None if source == "bundled" else _named(source, known, listed, tr)


def _named(
    source: str, known: Mapping[str, DatasetEntry], listed: Sequence[str] | None, tr: Translate
) -> str | None:
    """Which of the added sets, of those that a visitor may name, or the path that is typed."""
    if source == "added":
        if st.session_state.get(_NAME) not in known:
            st.session_state.pop(_NAME, None)
        named = {name: datasets_words.title(one) for name, one in known.items()}
        return st.selectbox(
            tr("launch.dataset_added"),
            list(known),
            format_func=lambda name: named.get(name, name),
            key=_NAME,
            help=tr("launch.dataset_added_help"),
            persist_state="session",
        )
    if listed is not None:
        return st.selectbox(
            tr("launch.dataset_listed"),
            listed,
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


def with_options(
    given: Mapping[str, dict[str, Any]], known: Mapping[str, DatasetEntry], dataset: str | None
) -> dict[str, dict[str, Any]]:
    """The options, with those that the chosen set needs to be read."""
    one = known.get(dataset or "")
    if one is None or not one.options:
        return dict(given)
    return {**given, one.benchmark: {**given.get(one.benchmark, {}), **one.options}}


def publish(chosen: Sequence[str], dataset: str | None, tr: Translate) -> None:
    """Keep the link in the address while the form says the same, else take it out."""
    said = (chosen[0] if len(chosen) == 1 else "", dataset or "")
    link = st.session_state.get(_LINK)
    if said == link:
        return
    asked = st.query_params.get("benchmark", "")
    if link is None and asked:
        shown = ", ".join(map(datasets_words.benchmark_title, chosen)) or DASH
        url_state.tell_unknown(asked, tr("launch.benchmarks"), shown)
    state.change(dict.fromkeys(("benchmark", "dataset")))
    st.session_state.pop(_LINK, None)
