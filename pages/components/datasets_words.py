"""What a data set is called and what is said of it in a line: shared by the views of the page."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from evalcore.catalog import benchmark_cards, localize_text
from evalcore.queries.datasets import DatasetEntry, DatasetSummary
from evalcore.queries.dialect_titles import DIALECT_TITLES
from evalcore.runner.official import OFFICIAL_DATASETS
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line

_COLOURS = {"bundled": "gray", "fetched": "blue", "own": "violet"}
_ICONS = {
    "bundled": ":material/inventory_2:",
    "fetched": ":material/cloud_download:",
    "own": ":material/person:",
}
_SPLIT_LIMIT = 4


def benchmark_title(key: str) -> str:
    """A benchmark as people call it, in the session's language."""
    card = benchmark_cards().get(key)
    return localize_text(card.title, current_language()) or key if card else to_plain_line(key)


def metric_title(benchmark: str, metric: str) -> str:
    """A metric as people call it, in the session's language."""
    card = benchmark_cards().get(benchmark)
    titles = (
        {
            metric_card.key: localize_text(metric_card.title, current_language())
            for metric_card in card.metrics
        }
        if card
        else {}
    )
    return titles.get(metric) or to_plain_line(metric)


def dataset_title(entry: DatasetEntry) -> str:
    """The name of a set: that of its benchmark for the bundled one. Plain text, not escaped."""
    if entry.origin == "bundled":
        return benchmark_title(entry.benchmark)
    official = OFFICIAL_DATASETS.get(entry.name)
    return official.title if entry.origin == "fetched" and official else to_plain_line(entry.name)


def draw_dataset_badges(entry: DatasetEntry, summary: DatasetSummary | None, tr: Translate) -> None:
    """Where a set comes from, and whether its text may be shown."""
    with st.container(horizontal=True, gap="small"):
        st.badge(
            tr(f"datasets.origin.{entry.origin}"),
            color=_COLOURS[entry.origin],  # type: ignore[arg-type]
            icon=_ICONS[entry.origin],
        )
        if entry.origin != "bundled":
            st.badge(benchmark_title(entry.benchmark), color="green")
        if summary and summary.gated:
            st.badge(tr("datasets.gated"), color="orange", icon=":material/lock:")
        if summary and summary.problem:
            st.badge(tr("datasets.broken"), color="red", icon=":material/error:")


def format_evidence_kinds(entry: DatasetEntry, tr: Translate) -> str:
    """What the verdicts on its cases rest on, strongest first."""
    card = benchmark_cards().get(entry.benchmark)
    kinds = {metric.evidence for metric in card.metrics} if card else set()
    present = [kind for kind in ("executed", "checked", "parsed", "judged") if kind in kinds]
    return " · ".join(tr(f"common.evidence.{kind}") for kind in present)


def format_value_counts(counts: Mapping[str, int], tr: Translate) -> str:
    """The most frequent values with their numbers, the others counted."""
    shown = list(counts.items())[:_SPLIT_LIMIT]
    parts = [
        f"{escape_markdown(DIALECT_TITLES.get(name, name), 40)} {count}" for name, count in shown
    ]
    more = len(counts) - len(shown)
    return " · ".join([*parts, *([tr("datasets.and_more", count=more)] if more else [])])


def format_difficulty_counts(summary: DatasetSummary, tr: Translate) -> str:
    """How many cases are easy, middle and hard; "" where all are of one difficulty."""
    if len(summary.difficulties) < 2:
        return ""
    levels = sorted(summary.difficulties.items())
    parts = [tr("datasets.level_count", level=level, count=count) for level, count in levels]
    return " · ".join(parts)


def build_launch_query(entry: DatasetEntry) -> dict[str, str]:
    """The query parameters by which Launch is opened with a data set chosen."""
    return {"benchmark": entry.benchmark} | ({"dataset": entry.dataset} if entry.dataset else {})
