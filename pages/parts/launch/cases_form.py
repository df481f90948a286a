"""The part of the launch form that says what is asked: data set, benchmarks, metrics, cases,
judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import streamlit as st

from evalcore import catalog, settings
from evalcore.access import policy
from evalcore.catalog import BenchmarkCard, MetricCard, find_benchmark_text
from evalcore.errors import UsageError
from evalcore.plain_text import DASH
from evalcore.runner import client, request_policy
from evalcore.settings import Settings
from evalcore.views import datasets
from evalcore.views.datasets import DatasetEntry
from pages.parts.launch import target_form
from pages.shared import display_names, page_links, url_state, visitor
from pages.shared.board_view import benchmark_title, suite_title
from pages.shared.widgets import draw_field
from pages.shared.wording import current_language, escape_markdown, localize, tr

# Which data set the launch form takes: the bundled one, one that was added here, or a path.
# A link may choose a benchmark and a data set of it (`?benchmark=&dataset=`), which the page of
# the data sets does. The address says so as long as the form does.

_BENCHMARKS, _SOURCE, _NAME = "launch.benchmarks", "launch.dataset", "launch.dataset_added"
_LINK = "launch.dataset_link"


def adopt_dataset_link(benchmarks: Sequence[str]) -> bool:
    """Set the form as a link asks, once, before the widgets are drawn; whether it was set now."""
    requested = (st.query_params.get("benchmark", ""), st.query_params.get("dataset", ""))
    if requested == st.session_state.get(_LINK, ("", "")) or requested[0] not in benchmarks:
        return False
    is_available = requested[1] in load_added_datasets([requested[0]])
    if requested[1] and not is_available:
        page_links.set_query_param("dataset", None)
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
    entries = datasets.list_added_datasets(settings.load_settings(), chosen[0])
    return {entry.dataset: entry for entry in entries}


def select_dataset(datasets_by_name: Mapping[str, DatasetEntry]) -> str | None:
    """None for the bundled cases, else the name of a set, or a path as it was typed. Who does not
    run this installation chooses from its list instead of typing a path."""
    current, allowed_names = visitor.load_visitor_settings(), None
    if policy.is_restricted(current):
        allowed_names = request_policy.list_allowed_datasets(current)
    offered = {"bundled": True, "added": datasets_by_name, "path": allowed_names != []}
    sources = [name for name, is_offered in offered.items() if is_offered]
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
    if source == "bundled":
        return None
    return _select_named_dataset(source, datasets_by_name, allowed_names)


def _select_named_dataset(
    source: str, datasets_by_name: Mapping[str, DatasetEntry], allowed_names: Sequence[str] | None
) -> str | None:
    """Which of the added sets, of those that a visitor may name, or the path that is typed."""
    if source == "added":
        if st.session_state.get(_NAME) not in datasets_by_name:
            st.session_state.pop(_NAME, None)
        titles = {
            name: display_names.dataset_title(entry) for name, entry in datasets_by_name.items()
        }
        look = {"format_func": lambda name: titles.get(name, name)}
        return draw_field(st.selectbox, "dataset_added", list(datasets_by_name), **look)
    if allowed_names is not None:
        return draw_field(st.selectbox, "dataset_listed", allowed_names, help=None)
    return draw_field(st.text_input, "dataset_path").strip()


def merge_dataset_options(
    option_values: Mapping[str, dict[str, Any]],
    datasets_by_name: Mapping[str, DatasetEntry],
    dataset: str | None,
) -> dict[str, dict[str, Any]]:
    """The options, with those that the chosen set needs to be read."""
    entry = datasets_by_name.get(dataset or "")
    options = dict(option_values)
    if entry is not None and entry.options:
        options[entry.benchmark] = options.get(entry.benchmark, {}) | entry.options
    return options


def publish_dataset_link(chosen: Sequence[str], dataset: str | None) -> None:
    """Keep the link in the address while the form says the same, else take it out."""
    form_link = (chosen[0] if len(chosen) == 1 else "", dataset or "")
    link = st.session_state.get(_LINK)
    if form_link == link:
        return
    requested = st.query_params.get("benchmark", "")
    if link is None and requested:
        shown = ", ".join(map(benchmark_title, chosen)) or DASH
        url_state.warn_unknown_choice(requested, tr("launch.benchmarks"), shown)
    page_links.set_query_params(dict.fromkeys(("benchmark", "dataset")))
    st.session_state.pop(_LINK, None)


_MAX_PILLS = 8


class ChosenCases(NamedTuple):
    """Benchmarks, the metrics chosen of each, dataset (None: bundled), options by benchmark."""

    benchmarks: tuple[str, ...]
    metrics: dict[str, tuple[str, ...]]
    dataset: str | None
    options: dict[str, dict[str, Any]]

    @property
    def metric_subset(self) -> tuple[str, ...]:
        """The metrics to ask for; empty where all of them are chosen. Those of a benchmark whose
        options choose them are no part of it."""
        cards = catalog.benchmark_cards()
        listed = {key: names for key, names in self.metrics.items() if not cards[key].open_metrics}
        whole = all(len(cards[key].metrics) == len(names) for key, names in listed.items())
        return () if whole else tuple(chain.from_iterable(listed.values()))


class RunAmount(NamedTuple):
    """How much is asked and how fast; `concurrency` 0 leaves the width to the target, `budget` is
    in USD, 0 for no limit."""

    max_samples: int | None
    epochs: int
    seed: int
    concurrency: int
    use_cache: bool
    budget: float
    executor: Literal["", "ray"] = ""


def draw_case_choice() -> ChosenCases:
    """Draw the section; with several benchmarks each reads its bundled cases."""
    cards = catalog.benchmark_cards()
    linked = adopt_dataset_link(list(cards))
    chosen = draw_field(
        st.multiselect,
        "benchmarks",
        list(cards),
        help=None,
        default=None if linked else list(cards)[:1],
        format_func=url_state.hold_titles(
            list(cards), lambda key: localize(cards[key].title) or key
        ),
        placeholder=tr("launch.benchmarks_placeholder"),
    )
    _draw_left_out(chosen)
    _draw_missing_extras(chosen)
    metrics = {key: _select_benchmark_metrics(cards[key]) for key in chosen}
    chosen_options: dict[str, dict[str, Any]] = {}
    added = load_added_datasets(chosen)
    dataset = select_dataset(added) if len(chosen) == 1 else None
    for key in chosen:
        if cards[key].options:
            title = tr("launch.benchmark_options", benchmark=localize(cards[key].title))
            with st.expander(title, icon=":material/tune:"):
                values = target_form.draw_option_widgets(cards[key].options, f"launch.option.{key}")
                words = find_benchmark_text(key, "options_about", current_language())
                if words is not None:
                    st.caption(words)
                chosen_options |= {key: values} if values else {}
    chosen_options = merge_dataset_options(chosen_options, added, dataset)
    publish_dataset_link(chosen, dataset)
    return ChosenCases(tuple(chosen), metrics, dataset, chosen_options)


def _draw_missing_extras(chosen: Sequence[str]) -> None:
    """Say which of the chosen benchmarks need a library that is absent."""
    for key in chosen:
        card = catalog.benchmark_cards()[key]
        if extra := catalog.find_missing_extra(card):
            st.warning(
                tr("launch.needs_extra", benchmark=benchmark_title(key), extra=extra),
                icon=":material/extension_off:",
            )


def _draw_left_out(chosen: Sequence[str]) -> None:
    """Say which members of a suite the choice leaves out, with a button that adds them."""
    for suite in dict.fromkeys(catalog.benchmark_cards()[key].suite for key in chosen):
        card = catalog.suite_cards().get(suite)
        members = card.memberships[-1] if card and card.memberships else ()
        missing = [key for key in members if key not in chosen]
        if not missing or not set(chosen) & set(members):
            continue
        names = tr("ranking.words.separator").join(map(benchmark_title, missing))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                tr("launch.left_out", suite=suite_title(suite), names=names), width="stretch"
            )
            st.button(
                tr("launch.whole_suite"),
                key=f"launch.whole.{suite}",
                icon=":material/select_all:",
                on_click=_choose_benchmarks,
                args=([*chosen, *missing],),
            )


def _choose_benchmarks(keys: list[str]) -> None:
    st.session_state[_BENCHMARKS] = keys


def _select_benchmark_metrics(card: BenchmarkCard) -> tuple[str, ...]:
    """The metrics of one benchmark, all chosen at first; all where its options choose them."""
    if card.open_metrics:
        return tuple(metric.key for metric in card.metrics)
    labels = {metric.key: _format_metric_label(metric) for metric in card.metrics}
    shared: dict[str, Any] = {
        "label": tr("launch.metrics", benchmark=localize(card.title)),
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
    look = {"default": list(labels), "help": tr("launch.metrics_help")}
    return tuple(st.pills(selection_mode="multi", **look, **shared))


def _format_metric_label(metric: MetricCard) -> str:
    title = localize(metric.title) or metric.key
    return title if metric.weight is None else f"{title} ×{metric.weight:.2g}"


def draw_amount_fields(settings: Settings) -> RunAmount:
    """Draw how many cases are asked how often, how many requests may be open at once, and where the
    run is worked on, if the settings name a cluster."""
    first, second, third, fourth = (*st.columns(2), *st.columns(2))  # the keyboard goes by rows
    with first:
        look = {"min_value": 1, "value": None, "placeholder": tr("launch.all_cases")}
        max_samples = draw_field(st.number_input, "max_samples", **look)
    with second:
        epochs = draw_field(st.number_input, "epochs", min_value=1, value=1)
    with third:
        seed = draw_field(st.number_input, "seed", min_value=0, value=0)
    with fourth:
        concurrency = draw_field(st.number_input, "concurrency", min_value=0, value=0)
    look = {"min_value": 0.0, "value": None, "step": 0.5, "placeholder": tr("launch.no_budget")}
    budget = draw_field(st.number_input, "budget", **look)
    use_cache = draw_field(st.toggle, "use_cache", value=True)
    spreads = bool(settings.ray_address) and draw_field(st.toggle, "on_cluster", value=False)
    executor: Literal["", "ray"] = "ray" if spreads else ""
    return RunAmount(max_samples, epochs, seed, concurrency, use_cache, budget or 0.0, executor)


# The part of the launch form that seats a panel: judges, asked only where nothing executes.


def select_judges(benchmarks: Iterable[str], target: str) -> tuple[str, ...]:
    """The chosen judges; nothing is drawn where none of the benchmarks may need any."""
    if not any(catalog.benchmark_card(key).judged for key in benchmarks):
        return ()
    chosen = draw_field(
        st.multiselect,
        "judges",
        next(card.examples for card in catalog.target_kinds().values() if card.can_judge),
        accept_new_options=True,
        placeholder=tr("launch.judges_placeholder"),
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
    judges: tuple[str, ...], already_asked: Iterable[str], settings: Settings
) -> list[str]:
    """Ask for the judges' keys that nobody has set, save those `already_asked` for above;
    returns them."""
    try:
        needed = client.missing_judge_keys(judges, settings)
    except UsageError:
        return []  # what is wrong with a judge is said beside the form
    names = [name for name in needed if name not in already_asked]
    visitor.ask_for_keys(names)
    return names
