"""The part of the launch form that says what is asked: benchmarks, metrics, cases, options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from evalcore import catalog
from evalcore.catalog import BenchmarkCard, MetricCard, localize_text
from evalcore.i18n import lookup_text
from pages.components import launch_dataset, options
from pages.components.language import Translate, current_language

_MAX_PILLS = 8
DEFAULT_BENCHMARK = "sql_understanding"


class ChosenCases(NamedTuple):
    """Benchmarks, the metrics chosen of each, dataset (None: bundled), options by benchmark."""

    benchmarks: tuple[str, ...]
    metrics: dict[str, tuple[str, ...]]
    dataset: str | None
    options: dict[str, dict[str, Any]]

    @property
    def metric_subset(self) -> tuple[str, ...]:
        """The metrics to ask for; empty where all of them are chosen."""
        cards = catalog.benchmark_cards()
        whole = all(len(cards[key].metrics) == len(chosen) for key, chosen in self.metrics.items())
        return (
            () if whole else tuple(metric for chosen in self.metrics.values() for metric in chosen)
        )


class RunAmount(NamedTuple):
    """How much is asked and how fast; `concurrency` 0 leaves the width to the target."""

    max_samples: int | None
    epochs: int
    seed: int
    concurrency: int
    use_cache: bool


def draw_case_choice(tr: Translate) -> ChosenCases:
    """Draw the section; with several benchmarks each reads its bundled cases."""
    cards, language = catalog.benchmark_cards(), current_language()
    linked = launch_dataset.adopt_dataset_link(list(cards), tr)
    chosen = st.multiselect(
        tr("launch.benchmarks"),
        list(cards),
        default=None if linked else _default_benchmarks(cards),
        format_func=lambda key: localize_text(cards[key].title, language) or key,
        key="launch.benchmarks",
        placeholder=tr("launch.benchmarks_placeholder"),
        persist_state="session",
    )
    metrics: dict[str, tuple[str, ...]] = {}
    chosen_options: dict[str, dict[str, Any]] = {}
    for key in chosen:
        metrics[key] = _select_benchmark_metrics(cards[key], tr)
    added = launch_dataset.load_added_datasets(chosen)
    dataset = launch_dataset.select_dataset(added, tr) if len(chosen) == 1 else None
    for key in chosen:
        if cards[key].options:
            with st.expander(
                tr("launch.benchmark_options", benchmark=localize_text(cards[key].title, language)),
                icon=":material/tune:",
            ):
                values = options.draw_option_widgets(cards[key].options, f"launch.option.{key}", tr)
                if (words := lookup_text(f"launch.options_about.{key}", language)) is not None:
                    st.caption(words)
                chosen_options |= {key: values} if values else {}
    chosen_options = launch_dataset.merge_dataset_options(chosen_options, added, dataset)
    launch_dataset.publish_dataset_link(chosen, dataset, tr)
    return ChosenCases(tuple(chosen), metrics, dataset, chosen_options)


def _default_benchmarks(cards: Mapping[str, BenchmarkCard]) -> list[str]:
    return [DEFAULT_BENCHMARK] if DEFAULT_BENCHMARK in cards else list(cards)[:1]


def _select_benchmark_metrics(card: BenchmarkCard, tr: Translate) -> tuple[str, ...]:
    """The metrics of one benchmark, all chosen at first."""
    language = current_language()

    labels = {metric.key: _format_metric_label(metric, language) for metric in card.metrics}
    shared: dict[str, Any] = {
        "label": tr("launch.metrics", benchmark=localize_text(card.title, language)),
        "options": list(labels),
        "format_func": lambda key: labels.get(key, key),
        "key": f"launch.metrics.{card.key}",
        "persist_state": "session",
    }
    if len(labels) > _MAX_PILLS:  # none chosen means all, so that the form stays short
        chosen = st.multiselect(
            placeholder=tr("launch.all_metrics", count=len(labels)),
            help=f"{tr('launch.metrics_none')} {tr('launch.metrics_help')}",
            **shared,
        )
        return tuple(chosen or labels)
    return tuple(
        st.pills(
            selection_mode="multi",
            default=list(labels),
            help=tr("launch.metrics_help"),
            **shared,
        )
    )


def _format_metric_label(metric: MetricCard, language: str) -> str:
    title = localize_text(metric.title, language) or metric.key
    return title if metric.weight is None else f"{title} ×{metric.weight:.2g}"


def draw_amount_fields(tr: Translate) -> RunAmount:
    """Draw how many cases are asked how often, and how many requests may be open at once."""
    first, second = st.columns(2)
    with first:
        max_samples = st.number_input(
            tr("launch.max_samples"),
            min_value=1,
            value=None,
            placeholder=tr("launch.all_cases"),
            help=tr("launch.max_samples_help"),
            key="launch.max_samples",
            persist_state="session",
        )
        seed = _draw_whole_number("seed", 0, 0, tr)
    with second:
        epochs = _draw_whole_number("epochs", 1, 1, tr)
        concurrency = _draw_whole_number("concurrency", 0, 0, tr)
    use_cache = st.toggle(
        tr("launch.use_cache"),
        value=True,
        help=tr("launch.use_cache_help"),
        key="launch.use_cache",
        persist_state="session",
    )
    return RunAmount(max_samples, epochs, seed, concurrency, use_cache)


def _draw_whole_number(name: str, minimum: int, default: int, tr: Translate) -> int:
    return st.number_input(
        tr(f"launch.{name}"),
        min_value=minimum,
        value=default,
        help=tr(f"launch.{name}_help"),
        key=f"launch.{name}",
        persist_state="session",
    )
