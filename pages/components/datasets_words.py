"""What a data set is called and what is said of it in a line: shared by the views of the page."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from evalcore.catalog import benchmark_cards, localize_text
from evalcore.queries.datasets import DatasetEntry, DatasetSummary
from evalcore.queries.dialect_titles import TITLES
from evalcore.runner.official import OFFICIAL
from pages.components.language import Translate, current
from pages.components.text import escape, plain

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
    return localize_text(card.title, current()) or key if card else plain(key)


def metric_title(benchmark: str, metric: str) -> str:
    """A metric as people call it, in the session's language."""
    card = benchmark_cards().get(benchmark)
    titles = {one.key: localize_text(one.title, current()) for one in card.metrics} if card else {}
    return titles.get(metric) or plain(metric)


def title(one: DatasetEntry) -> str:
    """The name of a set: that of its benchmark for the bundled one. Plain text, not escaped."""
    if one.origin == "bundled":
        return benchmark_title(one.benchmark)
    known = OFFICIAL.get(one.name)
    return known.title if one.origin == "fetched" and known else plain(one.name)


def badges(one: DatasetEntry, numbers: DatasetSummary | None, tr: Translate) -> None:
    """Where a set comes from, and whether its text may be shown."""
    with st.container(horizontal=True, gap="small"):
        st.badge(
            tr(f"datasets.origin.{one.origin}"),
            color=_COLOURS[one.origin],  # type: ignore[arg-type]
            icon=_ICONS[one.origin],
        )
        if one.origin != "bundled":
            st.badge(benchmark_title(one.benchmark), color="green")
        if numbers and numbers.gated:
            st.badge(tr("datasets.gated"), color="orange", icon=":material/lock:")
        if numbers and numbers.problem:
            st.badge(tr("datasets.broken"), color="red", icon=":material/error:")


def evidence(one: DatasetEntry, tr: Translate) -> str:
    """What the verdicts on its cases rest on, strongest first."""
    card = benchmark_cards().get(one.benchmark)
    kinds = {metric.evidence for metric in card.metrics} if card else set()
    known = [kind for kind in ("executed", "checked", "parsed", "judged") if kind in kinds]
    return " · ".join(tr(f"common.evidence.{kind}") for kind in known)


def split(counts: Mapping[str, int], tr: Translate) -> str:
    """The most frequent values with their numbers, the others counted."""
    shown = list(counts.items())[:_SPLIT_LIMIT]
    told = [f"{escape(TITLES.get(name, name), 40)} {count}" for name, count in shown]
    more = len(counts) - len(shown)
    return " · ".join([*told, *([tr("datasets.and_more", count=more)] if more else [])])


def difficulties(numbers: DatasetSummary, tr: Translate) -> str:
    """How many cases are easy, middle and hard; "" where all are of one difficulty."""
    if len(numbers.difficulties) < 2:
        return ""
    levels = sorted(numbers.difficulties.items())
    told = [tr("datasets.level_count", level=level, count=count) for level, count in levels]
    return " · ".join(told)


def launch_query(one: DatasetEntry) -> dict[str, str]:
    """The query parameters by which Launch is opened with a data set chosen."""
    return {"benchmark": one.benchmark} | ({"dataset": one.dataset} if one.dataset else {})
