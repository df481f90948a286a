"""What targets and data sets are called on the pages, and what is said of a data set in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from evalcore import settings
from evalcore.catalog import benchmark_cards, find_missing_extra, list_official_datasets
from evalcore.errors import EvalboardError
from evalcore.i18n import name_term
from evalcore.runner.drafts import make_slug
from evalcore.target_cards import NO_CARD, TargetCard, cards_signature, load_cards
from evalcore.views.board_titles import (
    DIALECT_TITLES,
    Options,
    collect_options,
    display_name,
    display_names,
)
from evalcore.views.datasets import DatasetEntry, DatasetSummary
from evalcore.views.stored_boards import Headers, load_run_headers, memoize_on_headers
from pages.shared.board_view import benchmark_title, metric_title
from pages.shared.wording import current_language, escape_markdown, to_plain_line, tr

# What targets are called on the pages: by their cards and their runs, as these are now.
# Where the file of cards cannot be read, targets go by their identity; the Target page says why.
# The catalogue of terms has the names of controls and baselines in every language.


class _Names(NamedTuple):
    """What names are made of: the cards by target key, the options by identity."""

    cards: dict[str, TargetCard] = {}
    options: Mapping[str, Options] = {}


def resolve_target_name(identity: str, target_key: str) -> str:
    """The name of one target, as hostile as any text from outside."""
    names = _load_names()
    name = display_name(identity, target_key, names.cards, names.options.get(identity))
    return name_term(name, current_language())


def resolve_target_names(targets: Mapping[str, str]) -> dict[str, str]:
    """The name of every identity, from the target keys by identity, no two of them alike."""
    named = display_names(targets, *_load_names())
    return {identity: name_term(name, current_language()) for identity, name in named.items()}


def join_target_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of targets (identity, target_key) with the columns name and organization."""
    cards = _load_names().cards
    identities, keys = list(frame["identity"]), list(frame["target_key"])
    names = resolve_target_names(dict(zip(identities, keys, strict=True)))
    makers = [cards.get(key, NO_CARD).organization.strip() for key in keys]
    return frame.assign(name=[names[identity] for identity in identities], organization=makers)


def load_all_target_names(headers: Headers) -> dict[str, str]:
    """The name of every identity that has a run; shared, so that nobody may change it."""

    def build_all_names() -> dict[str, str]:
        return resolve_target_names({header.identity: header.target_key for header in headers})

    return memoize_on_headers(headers, ("names", compute_names_version()), build_all_names)


def compute_names_version() -> str:
    """Changes whenever a name may."""
    return f"{current_language()}&{cards_signature(settings.load_settings())}"


def _load_names() -> _Names:
    own = settings.load_settings()
    try:
        return _Names(load_cards(own), collect_options(load_run_headers(own)))
    except EvalboardError:
        return _Names()


# What a data set is called and what is said of it in a line: shared by the views of the page.

_COLOURS: dict[str, Any] = {"bundled": "gray", "fetched": "blue", "own": "violet"}
_ICONS = {
    "bundled": ":material/inventory_2:",
    "fetched": ":material/cloud_download:",
    "own": ":material/person:",
}
_SPLIT_LIMIT = 4


def dataset_title(entry: DatasetEntry) -> str:
    """The name of a set: that of its benchmark for the bundled one, the title that the name of an
    own one was made of. Plain text, not escaped."""
    if entry.origin == "bundled":
        return benchmark_title(entry.benchmark)
    note = entry.card.note if entry.origin == "own" and entry.card is not None else ""
    if note and entry.name.startswith(make_slug(note)):
        return to_plain_line(note)
    official = list_official_datasets().get(entry.name)
    return official.title if entry.origin == "fetched" and official else to_plain_line(entry.name)


def find_dataset_extra(entry: DatasetEntry) -> str:
    """The extra without which the cases of a set cannot be read here, "" where nothing lacks."""
    card = benchmark_cards().get(entry.benchmark)
    return find_missing_extra(card) if card else ""


def draw_dataset_badges(entry: DatasetEntry, summary: DatasetSummary | None) -> None:
    """Where a set comes from, and whether its text may be shown."""
    with st.container(horizontal=True, gap="small"):
        origin = entry.origin
        st.badge(tr(f"datasets.origin.{origin}"), color=_COLOURS[origin], icon=_ICONS[origin])
        if entry.origin != "bundled":
            st.badge(benchmark_title(entry.benchmark), color="green")
        if summary and summary.gated:
            st.badge(tr("datasets.gated"), color="orange", icon=":material/lock:")
        if find_dataset_extra(entry):
            st.badge(tr("datasets.not_installed"), color="orange", icon=":material/extension_off:")
        elif summary and summary.problem:
            st.badge(tr("datasets.broken"), color="red", icon=":material/error:")


def format_evidence_kinds(entry: DatasetEntry) -> str:
    """What the verdicts on its cases rest on, strongest first."""
    card = benchmark_cards().get(entry.benchmark)
    kinds = {metric.evidence for metric in card.metrics} if card else set()
    present = [kind for kind in ("executed", "checked", "parsed", "judged") if kind in kinds]
    return " · ".join(tr(f"common.evidence.{kind}") for kind in present)


def format_value_counts(counts: Mapping[str, int]) -> str:
    """The most frequent values with their numbers, the others counted."""
    shown = list(counts.items())[:_SPLIT_LIMIT]
    titles = (escape_markdown(DIALECT_TITLES.get(name, name), 40) for name, _ in shown)
    parts = [f"{title} {count}" for title, (_, count) in zip(titles, shown, strict=True)]
    if more := len(counts) - len(shown):
        parts.append(tr("datasets.and_more", count=more))
    return " · ".join(parts)


def format_metric_counts(benchmark: str, summary: DatasetSummary) -> str:
    """How many cases the metrics have, most frequent first."""
    counts = {metric_title(benchmark, metric): count for metric, count in summary.metrics.items()}
    return format_value_counts(counts)


def format_difficulty_counts(summary: DatasetSummary) -> str:
    """How many cases are easy, middle and hard; "" where all are of one difficulty."""
    if len(summary.difficulties) < 2:
        return ""
    levels = sorted(summary.difficulties.items())
    parts = [tr("datasets.level_count", level=level, count=count) for level, count in levels]
    return " · ".join(parts)
