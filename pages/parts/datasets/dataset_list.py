"""Every data set as a card, or the one that the URL names, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pandas as pd
import streamlit as st

from evalcore.access import policy
from evalcore.catalog import benchmark_cards
from evalcore.charts.comparisons import build_stacked_bars
from evalcore.plain_text import DASH
from evalcore.runner.jobs import data_client
from evalcore.settings import Settings
from evalcore.views import datasets
from evalcore.views.datasets import ORIGINS, DatasetEntry, DatasetSummary
from pages.parts.datasets import dataset_cases, dataset_jobs
from pages.shared import display_names as words
from pages.shared import page_links, url_state, visitor, widgets
from pages.shared.board_view import metric_title, select_benchmark
from pages.shared.wording import escape_markdown, localize, localize_note, tr

_UNDO = "datasets.removed"


def draw_dataset(entry: DatasetEntry, summary: DatasetSummary | None, settings: Settings) -> None:
    """The head, the way back, the cases."""
    if st.button(
        tr("datasets.back"), key="datasets.back", icon=":material/arrow_back:", type="tertiary"
    ):
        leave_dataset()
    words.draw_dataset_badges(entry, summary)
    title = words.dataset_title(entry)
    st.header(escape_markdown(title), anchor=False)
    if entry.card is not None and entry.card.note not in ("", title):
        st.text(entry.card.note)
    if summary is None or summary.problem:
        _draw_why_unusable(entry, summary)
        _draw_dataset_actions(entry, settings, usable=False)
        return
    _draw_dataset_facts(entry, summary)
    _draw_dataset_actions(entry, settings, usable=True)
    dataset_jobs.draw_confirmation(entry, summary, settings)
    if summary.gated and not settings.show_gated:
        st.info(tr("note.gated"), icon=":material/lock:")
    dataset_cases.draw_dataset_cases(entry, settings)
    _draw_difficulty_spread(entry, summary)
    if about := datasets.read_dataset_card(entry):
        with st.expander(tr("datasets.about_set"), icon=":material/description:"):
            st.markdown(about)


def _draw_why_unusable(entry: DatasetEntry, summary: DatasetSummary | None) -> None:
    """Say what to install, else what is wrong with the files."""
    if extra := words.find_dataset_extra(entry):
        needed = tr("datasets.needs_extra", extra=extra)
        st.warning(needed, icon=":material/extension_off:")
        return
    reason = escape_markdown(localize_note(summary.problem) if summary else "", 400)
    st.error(tr("datasets.unreadable", reason=reason), icon=":material/error:")


def leave_dataset() -> None:
    """Back to all data sets."""
    page_links.set_query_params(
        dict.fromkeys(("set", "case", "metric", "difficulty", "dialect", "q", "p"))
    )
    st.rerun()


def _draw_dataset_facts(entry: DatasetEntry, summary: DatasetSummary) -> None:
    figures = [
        (tr("datasets.cases"), f"{summary.samples}"),
        (tr("datasets.metrics"), f"{len(summary.metrics)}"),
    ]
    dialects = [(tr("datasets.dialects"), f"{len(summary.dialects)}")] if summary.dialects else []
    widgets.draw_figures(figures + dialects, gap="large")
    licence = escape_markdown(entry.licence or DASH, 90)
    lines = [
        tr("datasets.card_verified", kinds=words.format_evidence_kinds(entry)),
        tr("datasets.card_hash", hash=summary.hash, licence=licence),
    ]
    if entry.card is not None:
        author = escape_markdown(entry.card.who or DASH, 80)
        lines.append(tr("datasets.added_by", who=author, date=entry.card.added[:10]))
        lines.append(tr("datasets.own_name", name=escape_markdown(entry.name)))
    if entry.source:
        lines.append(tr("datasets.source", source=escape_markdown(entry.source, 200)))
    st.caption("  \n".join(lines))


def _draw_dataset_actions(entry: DatasetEntry, settings: Settings, *, usable: bool) -> None:
    with st.container(horizontal=True):
        if usable:
            draw_evaluate_button(entry, "datasets.evaluate", "primary")
            dataset_jobs.draw_confirm_button(entry, settings)
        if entry.origin != "own":
            return
        denial = localize_note(policy.explain_denial(settings, visitor.current_visitor(), "upload"))
        former_versions = datasets.list_trashed_versions(settings, entry.benchmark, entry.name)
        if former_versions and st.button(
            tr("datasets.restore_former"),
            key="datasets.restore",
            icon=":material/history:",
            disabled=bool(denial),
            help=denial or tr("datasets.restore_help", count=len(former_versions)),
        ):
            restore_former_version(entry.benchmark, entry.name, former_versions[0], settings)
        if st.button(
            tr("datasets.remove"),
            key="datasets.remove",
            icon=":material/delete:",
            disabled=bool(denial),
            help=denial or None,
        ):
            with widgets.show_errors():
                own, acting_visitor = (entry.benchmark, entry.name), visitor.current_visitor()
                version = data_client.remove_dataset(*own, acting_visitor, settings)
                st.session_state[_UNDO] = (*own, version)
                leave_dataset()


def draw_evaluate_button(
    entry: DatasetEntry, key: str, type: Literal["primary", "tertiary"]
) -> None:
    """The way to Launch with this set chosen."""
    icon = ":material/rocket_launch:"
    if st.button(tr("datasets.evaluate"), key=key, type=type, icon=icon):
        query = {"benchmark": entry.benchmark}
        query |= {"dataset": entry.dataset} if entry.dataset else {}
        st.switch_page(page_links.LAUNCH, query_params=query)


def offer_dataset_undo(settings: Settings) -> None:
    """After a set was removed in this session: say so, and how to get it back."""
    if _UNDO not in st.session_state:
        return
    benchmark, name, version = st.session_state[_UNDO]
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(tr("datasets.removed", name=escape_markdown(name)), width="content")
        if st.button(tr("datasets.undo"), key="datasets.undo", icon=":material/undo:"):
            restore_former_version(benchmark, name, version, settings)
        if st.button(tr("datasets.dismiss"), key="datasets.dismiss", type="tertiary"):
            del st.session_state[_UNDO]
            st.rerun()


def restore_former_version(benchmark: str, name: str, version: str, settings: Settings) -> None:
    """Bring a former version back and show it."""
    with widgets.show_errors():
        data_client.restore_dataset(benchmark, name, version, visitor.current_visitor(), settings)
        st.session_state.pop(_UNDO, None)
        st.toast(tr("datasets.restored", name=escape_markdown(name)), icon=":material/undo:")
        st.query_params["set"] = f"own:{benchmark}:{name}"
        st.rerun()


def _draw_difficulty_spread(entry: DatasetEntry, summary: DatasetSummary) -> None:
    """How the cases of each metric fall into difficulties, where they do."""
    if len(summary.difficulties) < 2:
        return
    levels = sorted(summary.difficulties)
    parts = {level: tr("datasets.level", level=level) for level in levels}
    rows = [
        (metric_title(entry.benchmark, metric), parts[level], count, count / sum(counts.values()))
        for metric, counts in summary.levels.items()
        for level, count in counts.items()
    ]
    frame = pd.DataFrame(rows, columns=["name", "part", "count", "share"])
    labels = {
        "name": tr("common.metric"),
        "part": tr("common.difficulty"),
        "count": tr("datasets.cases"),
        "share": tr("datasets.share"),
    }
    chart = build_stacked_bars(frame, list(parts.values()), labels)
    with st.expander(tr("datasets.spread"), icon=":material/stacked_bar_chart:"):
        st.altair_chart(chart, width="stretch", alt=tr("datasets.spread_alt"))


_ACROSS = 3


def draw_dataset_browser(settings: Settings) -> None:
    """One set, if the URL names one, else all of them."""
    entries = datasets.list_dataset_entries(settings)
    _load_missing_summaries(entries, settings)
    key = st.query_params.get("set", "")
    selected = next((entry for entry in entries if entry.key == key), None)
    if selected is not None:
        draw_dataset(selected, datasets.read_dataset_summary(settings, selected), settings)
        return
    offer_dataset_undo(settings)
    if key:
        unknown = tr("datasets.unknown_set", name=escape_markdown(key))
        st.warning(unknown, icon=":material/explore_off:")
    _draw_dataset_cards(_select_datasets(entries), settings)


def _load_missing_summaries(entries: Sequence[DatasetEntry], settings: Settings) -> None:
    """Have the numbers made that are not there yet: once for each state of a set."""
    pending = [entry for entry in entries if datasets.read_dataset_summary(settings, entry) is None]
    if not pending:
        return
    locations = [
        data_client.DatasetLocation(entry.benchmark, entry.path, entry.options) for entry in pending
    ]
    reading = tr("datasets.reading", count=len(pending))
    with widgets.show_errors("datasets.unreadable"), st.spinner(reading):
        data_client.ensure_indexes(locations, settings)


def _select_datasets(entries: Sequence[DatasetEntry]) -> list[DatasetEntry]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        benchmarks = ["", *dict.fromkeys(entry.benchmark for entry in entries)]
        benchmark = select_benchmark(benchmarks, "datasets.benchmark", width=220)
        origin = url_state.draw_select(
            tr("datasets.origin"),
            ["", *ORIGINS],
            key="datasets.origin",
            title=lambda code: tr(f"datasets.origin.{code}") if code else tr("common.all"),
            width=180,
        )
        text = url_state.draw_search(
            tr("datasets.search_sets"),
            key="datasets.q",
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


def _draw_dataset_cards(shown: Sequence[DatasetEntry], settings: Settings) -> None:
    if not shown:
        widgets.draw_centred_note(tr("datasets.none_title"), tr("datasets.none"))
        return
    for start in range(0, len(shown), _ACROSS):
        for column, entry in zip(st.columns(_ACROSS), shown[start : start + _ACROSS], strict=False):
            with column, st.container(border=True, height="stretch", gap="small"):
                _draw_dataset_card(entry, datasets.read_dataset_summary(settings, entry))


def _draw_dataset_card(entry: DatasetEntry, summary: DatasetSummary | None) -> None:
    words.draw_dataset_badges(entry, summary)
    st.markdown(f"#### {escape_markdown(words.dataset_title(entry))}")
    st.caption(_describe_dataset(entry))
    usable = summary is not None and not summary.problem
    if summary is None or summary.problem:
        reason = localize_note(summary.problem) if summary else tr("datasets.not_read")
        st.caption(escape_markdown(reason[:1].upper() + reason[1:], 300))
    else:
        _draw_dataset_numbers(entry, summary)
    st.space("stretch")
    with st.container(horizontal=True):
        key, icon = f"datasets.open.{entry.key}", ":material/table_rows:"
        if st.button(tr("datasets.open"), key=key, icon=icon):
            st.query_params["set"] = entry.key
            st.rerun()
        if usable:
            draw_evaluate_button(entry, f"datasets.evaluate.{entry.key}", "tertiary")


def _describe_dataset(entry: DatasetEntry) -> str:
    """What it is about: its benchmark's words, its own note, or where it is from."""
    if entry.origin == "bundled":
        return localize(benchmark_cards()[entry.benchmark].about)
    if entry.card is not None:
        parts = [entry.card.who, entry.card.added[:10], entry.card.note]
        return escape_markdown(" · ".join(filter(None, parts)), 160)
    return escape_markdown(entry.source, 160)


def _draw_dataset_numbers(entry: DatasetEntry, summary: DatasetSummary) -> None:
    st.markdown(tr("datasets.card_numbers", count=summary.samples, metrics=len(summary.metrics)))
    metrics = words.format_metric_counts(entry.benchmark, summary)
    licence = escape_markdown(entry.licence or DASH, 60)
    lines = [
        metrics if len(summary.metrics) > 1 else "",
        words.format_difficulty_counts(summary),
        words.format_value_counts(summary.dialects),
        tr("datasets.card_verified", kinds=words.format_evidence_kinds(entry)),
        tr("datasets.card_hash", hash=summary.hash, licence=licence),
    ]
    st.caption("  \n".join(filter(None, lines)))
