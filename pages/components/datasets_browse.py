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
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown

PAGE = "datasets"
_ACROSS = 3


def draw_dataset_browser(settings: Settings, tr: Translate) -> None:
    """One set, if the URL names one, else all of them."""
    entries = datasets.list_dataset_entries(settings)
    _load_missing_summaries(entries, settings, tr)
    key = st.query_params.get("set", "")
    selected = next((entry for entry in entries if entry.key == key), None)
    if selected is not None:
        datasets_one.draw_dataset(
            selected, datasets.read_dataset_summary(settings, selected), settings, tr
        )
        return
    datasets_one.offer_dataset_undo(settings, tr)
    if key:
        st.warning(
            tr("datasets.unknown_set", name=escape_markdown(key)), icon=":material/explore_off:"
        )
    _draw_dataset_cards(_select_datasets(entries, tr), settings, tr)


def _load_missing_summaries(
    entries: Sequence[DatasetEntry], settings: Settings, tr: Translate
) -> None:
    """Have the numbers made that are not there yet: once for each state of a set."""
    pending = [entry for entry in entries if datasets.read_dataset_summary(settings, entry) is None]
    if not pending:
        return
    locations = [
        dataset_client.DatasetLocation(entry.benchmark, entry.path, entry.options)
        for entry in pending
    ]
    try:
        with st.spinner(tr("datasets.reading", count=len(pending))):
            dataset_client.ensure_indexes(locations, settings)
    except EvalboardError as error:
        reason = escape_markdown(error, 400)
        st.error(tr("datasets.unreadable", reason=reason), icon=":material/error:")


def _select_datasets(entries: Sequence[DatasetEntry], tr: Translate) -> list[DatasetEntry]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        benchmark = url_state.draw_select(
            tr("common.benchmark"),
            ["", *dict.fromkeys(entry.benchmark for entry in entries)],
            page=PAGE,
            name="benchmark",
            title=lambda code: words.benchmark_title(code) if code else tr("common.all"),
            width=220,
        )
        origin = url_state.draw_select(
            tr("datasets.origin"),
            ["", *ORIGINS],
            page=PAGE,
            name="origin",
            title=lambda code: tr(f"datasets.origin.{code}") if code else tr("common.all"),
            width=180,
        )
        text = url_state.draw_search(
            tr("datasets.search_sets"),
            page=PAGE,
            name="q",
            placeholder=tr("datasets.search_sets_hint"),
            width=240,
        )
    return [
        entry
        for entry in entries
        if benchmark in ("", entry.benchmark)
        and origin in ("", entry.origin)
        and text.lower() in f"{entry.name} {words.dataset_title(entry)} {entry.source}".lower()
    ]


def _draw_dataset_cards(shown: Sequence[DatasetEntry], settings: Settings, tr: Translate) -> None:
    if not shown:
        with st.container(border=True, horizontal_alignment="center"):
            st.markdown(f"#### {tr('datasets.none_title')}", width="content")
            st.markdown(tr("datasets.none"), width="content")
        return
    for start in range(0, len(shown), _ACROSS):
        for column, entry in zip(st.columns(_ACROSS), shown[start : start + _ACROSS], strict=False):
            with column, st.container(border=True, height="stretch", gap="small"):
                _draw_dataset_card(entry, datasets.read_dataset_summary(settings, entry), tr)


def _draw_dataset_card(entry: DatasetEntry, summary: DatasetSummary | None, tr: Translate) -> None:
    words.draw_dataset_badges(entry, summary, tr)
    st.markdown(f"#### {escape_markdown(words.dataset_title(entry))}")
    st.caption(_describe_dataset(entry))
    if summary is None or summary.problem:
        st.caption(escape_markdown(summary.problem if summary else tr("datasets.not_read"), 300))
    else:
        _draw_dataset_numbers(entry, summary, tr)
    st.space("stretch")
    with st.container(horizontal=True):
        if st.button(
            tr("datasets.open"), key=f"datasets.open.{entry.key}", icon=":material/table_rows:"
        ):
            st.query_params["set"] = entry.key
            st.rerun()
        if st.button(
            tr("datasets.evaluate"),
            key=f"datasets.evaluate.{entry.key}",
            icon=":material/rocket_launch:",
            type="tertiary",
        ):
            st.switch_page(state.LAUNCH, query_params=words.build_launch_query(entry))


def _describe_dataset(entry: DatasetEntry) -> str:
    """What it is about: its benchmark's words, its own note, or where it is from."""
    if entry.origin == "bundled":
        return localize_text(benchmark_cards()[entry.benchmark].about, current_language())
    if entry.card is not None:
        parts = [entry.card.who, entry.card.added[:10], entry.card.note]
        return escape_markdown(" · ".join(filter(None, parts)), 160)
    return escape_markdown(entry.source, 160)


def _draw_dataset_numbers(entry: DatasetEntry, summary: DatasetSummary, tr: Translate) -> None:
    st.markdown(tr("datasets.card_numbers", count=summary.samples, metrics=len(summary.metrics)))
    counts_by_title = {
        words.metric_title(entry.benchmark, m): n for m, n in summary.metrics.items()
    }
    lines = [
        words.format_value_counts(counts_by_title, tr) if len(counts_by_title) > 1 else "",
        words.format_difficulty_counts(summary, tr),
        words.format_value_counts(summary.dialects, tr),
        tr("datasets.card_verified", kinds=words.format_evidence_kinds(entry, tr)),
        tr(
            "datasets.card_hash",
            hash=summary.hash,
            licence=escape_markdown(entry.licence or DASH, 60),
        ),
    ]
    st.caption("  \n".join(filter(None, lines)))
