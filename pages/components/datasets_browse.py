"""Browse: every data set as a card, or the one that the URL names with its cases."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from evalcore.catalog import benchmark_cards, localize_text
from evalcore.errors import EvalboardError
from evalcore.plain_text import DASH
from evalcore.queries import datasets
from evalcore.queries.datasets import ORIGINS, DatasetEntry, DatasetSummary
from evalcore.runner import dataset_client
from evalcore.settings import Settings
from pages.components import datasets_one, state, url_state
from pages.components import datasets_words as words
from pages.components.language import Translate, current
from pages.components.text import escape

PAGE = "datasets"
_ACROSS = 3


def draw(settings: Settings, tr: Translate) -> None:
    """One set, if the URL names one, else all of them."""
    known = datasets.list_dataset_entries(settings)
    _read(known, settings, tr)
    key = st.query_params.get("set", "")
    one = next((entry for entry in known if entry.key == key), None)
    if one is not None:
        datasets_one.draw(one, datasets.read_dataset_summary(settings, one), settings, tr)
        return
    datasets_one.offer_undo(settings, tr)
    if key:
        st.warning(tr("datasets.unknown_set", name=escape(key)), icon=":material/explore_off:")
    _cards(_filtered(known, tr), settings, tr)


def _read(known: Sequence[DatasetEntry], settings: Settings, tr: Translate) -> None:
    """Have the numbers made that are not there yet: once for each state of a set."""
    fresh = [one for one in known if datasets.read_dataset_summary(settings, one) is None]
    if not fresh:
        return
    places = [dataset_client.DatasetLocation(one.benchmark, one.path, one.options) for one in fresh]
    try:
        with st.spinner(tr("datasets.reading", count=len(fresh))):
            dataset_client.ensure_indexes(places, settings)
    except EvalboardError as error:
        reason = escape(error, 400)
        st.error(tr("datasets.unreadable", reason=reason), icon=":material/error:")


def _filtered(known: Sequence[DatasetEntry], tr: Translate) -> list[DatasetEntry]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        benchmark = url_state.select(
            tr("common.benchmark"),
            ["", *dict.fromkeys(one.benchmark for one in known)],
            page=PAGE,
            name="benchmark",
            title=lambda code: words.benchmark_title(code) if code else tr("common.all"),
            width=220,
        )
        origin = url_state.select(
            tr("datasets.origin"),
            ["", *ORIGINS],
            page=PAGE,
            name="origin",
            title=lambda code: tr(f"datasets.origin.{code}") if code else tr("common.all"),
            width=180,
        )
        text = url_state.search(
            tr("datasets.search_sets"),
            page=PAGE,
            name="q",
            placeholder=tr("datasets.search_sets_hint"),
            width=240,
        )
    return [
        one
        for one in known
        if benchmark in ("", one.benchmark)
        and origin in ("", one.origin)
        and text.lower() in f"{one.name} {words.title(one)} {one.source}".lower()
    ]


def _cards(shown: Sequence[DatasetEntry], settings: Settings, tr: Translate) -> None:
    if not shown:
        with st.container(border=True, horizontal_alignment="center"):
            st.markdown(f"#### {tr('datasets.none_title')}", width="content")
            st.markdown(tr("datasets.none"), width="content")
        return
    for start in range(0, len(shown), _ACROSS):
        for column, one in zip(st.columns(_ACROSS), shown[start : start + _ACROSS], strict=False):
            with column, st.container(border=True, height="stretch", gap="small"):
                _card(one, datasets.read_dataset_summary(settings, one), tr)


def _card(one: DatasetEntry, numbers: DatasetSummary | None, tr: Translate) -> None:
    words.badges(one, numbers, tr)
    st.markdown(f"#### {escape(words.title(one))}")
    st.caption(_about(one))
    if numbers is None or numbers.problem:
        st.caption(escape(numbers.problem if numbers else tr("datasets.not_read"), 300))
    else:
        _numbers(one, numbers, tr)
    st.space("stretch")
    with st.container(horizontal=True):
        if st.button(
            tr("datasets.open"), key=f"datasets.open.{one.key}", icon=":material/table_rows:"
        ):
            st.query_params["set"] = one.key
            st.rerun()
        if st.button(
            tr("datasets.evaluate"),
            key=f"datasets.evaluate.{one.key}",
            icon=":material/rocket_launch:",
            type="tertiary",
        ):
            st.switch_page(state.LAUNCH, query_params=words.launch_query(one))


def _about(one: DatasetEntry) -> str:
    """What it is about: its benchmark's words, its own note, or where it is from."""
    if one.origin == "bundled":
        return localize_text(benchmark_cards()[one.benchmark].about, current())
    if one.card is not None:
        told = [one.card.who, one.card.added[:10], one.card.note]
        return escape(" · ".join(filter(None, told)), 160)
    return escape(one.source, 160)


def _numbers(one: DatasetEntry, numbers: DatasetSummary, tr: Translate) -> None:
    st.markdown(tr("datasets.card_numbers", count=numbers.samples, metrics=len(numbers.metrics)))
    titled = {words.metric_title(one.benchmark, m): n for m, n in numbers.metrics.items()}
    lines = [
        words.split(titled, tr) if len(titled) > 1 else "",
        words.difficulties(numbers, tr),
        words.split(numbers.dialects, tr),
        tr("datasets.card_verified", kinds=words.evidence(one, tr)),
        tr("datasets.card_hash", hash=numbers.hash, licence=escape(one.licence or DASH, 60)),
    ]
    st.caption("  \n".join(filter(None, lines)))
