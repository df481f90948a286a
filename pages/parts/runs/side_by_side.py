"""Two runs side by side: the difference with its doubt, who won which case, and links to each.

A run that was started for a comparison shows it by itself; any other may be set against a run that
was asked the same, by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from itertools import islice
from typing import NamedTuple

import pandas as pd
import streamlit as st

from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.views import comparison
from evalcore.views.comparison import PairedScores, RunPair
from evalcore.views.runs import RunRow, RunRows
from pages.shared import display_names, page_links, tables, url_state, widgets, wording
from pages.shared.board_view import benchmark_title, metric_title
from pages.shared.page_links import CaseLink
from pages.shared.wording import escape_markdown, to_plain_line, tr

_LISTED = 1_000  # runs to choose from, the newest; all of them would be sent to every visitor
_CASES = 200  # shown; more than that nobody reads in a row
_OPEN = "runs.comparison.open"
_ALPHA = 0.05  # of p
#: By the state of the two folders: the page may be drawn every second.
_comparisons: SingleFlightCache[tuple[pd.DataFrame, list[PairedScores]]] = SingleFlightCache(16)


class _Partner(NamedTuple):
    """A run to be set against another, as it stands in the list."""

    row: RunRow
    label: str


def draw_run_comparison(
    row: RunRow, rows: RunRows, pair: RunPair | None, settings: Settings
) -> None:
    """The comparison of `row`, where it has a partner or could be given one."""
    if pair is None:
        pair = _select_partner(row, rows)
        if pair is None:
            return
    with st.container(border=True):
        st.subheader(tr("runs.comparison"), anchor=False)
        st.caption(tr("runs.comparison_about"))
        _draw_pair_sides(pair)
        if not (pair.first.scores and pair.second.scores) or (
            pair.first.is_active or pair.second.is_active
        ):
            st.info(tr("runs.comparison_waits"), icon=":material/hourglass_empty:")
            return
        _draw_pair_result(pair, settings)


def _select_partner(row: RunRow, rows: RunRows) -> RunPair | None:
    """A partner chosen among the finished runs with a benchmark in common."""
    if not row.scores or row.is_active:
        return None
    requested, shared = st.query_params.get("with", ""), frozenset(row.benchmarks)
    version = (shared, display_names.compute_names_version())
    candidates = rows.cache.get(version, lambda: _label_partners(rows, shared))
    requested_rows = [other for other in rows if requested and other.run_id == requested]
    partners = _label_partners(requested_rows, shared) | candidates
    other_runs = ((run, other) for run, other in partners.items() if run != row.run_id)
    others = dict(islice(other_runs, _LISTED))
    if not others:
        return None
    titles = {"": tr("runs.compare_none")} | {run: other.label for run, other in others.items()}
    key = f"runs.{row.run_id}.with"
    chosen = url_state.draw_select(tr("runs.compare_with"), list(titles), key, titles.__getitem__)
    return RunPair(others[chosen].row, row) if chosen else None


def _label_partners(rows: Iterable[RunRow], shared: Set[str]) -> dict[str, _Partner]:
    """The newest finished runs with a benchmark in common, by id."""
    partners = (row for row in rows if row.scores and not shared.isdisjoint(row.benchmarks))
    newest = list(islice(partners, _LISTED + 1))  # one of them may be the run itself
    targets = [row.target for row in newest]
    names = display_names.resolve_target_names({target.identity: target.key for target in targets})
    return {
        row.run_id: _Partner(row, f"{to_plain_line(names[row.target.identity])} · {row.run_id}")
        for row in newest
    }


def _draw_pair_sides(pair: RunPair) -> None:
    sides = (("first", pair.first), ("second", pair.second))
    for column, (side, run) in zip(st.columns(2), sides, strict=True):
        with column:
            st.caption(tr(f"runs.side.{side}"))
            name = display_names.resolve_target_name(run.target.identity, run.target.key)
            label = escape_markdown(name, 100)
            widgets.draw_link(page_links.RUNS, label, "arrow_forward", run=run.run_id)
            options = [f"{name} = {value}" for name, value in run.target.options.items()]
            facts = [*options, run.run_id, tr(f"common.state.{run.state}")]
            st.caption(escape_markdown(" · ".join(facts), 300))


def _draw_pair_result(pair: RunPair, settings: Settings) -> None:
    first, second = pair.first.run_id, pair.second.run_id
    cases, results = pd.DataFrame(), None
    with widgets.show_errors("runs.comparison_broken", draw=st.warning):
        key = comparison.compute_pair_signature(settings.run_roots, first, second)
        run_ids = (first, second, key)
        cases, results = _comparisons.get(run_ids, lambda: _compare_pair(settings, first, second))
    if results is None:
        return
    if not results:
        st.warning(tr("runs.comparison_nothing"), icon=":material/rule:")
        return
    for compared in sorted(results, key=lambda each: pair.first.benchmarks.index(each.benchmark)):
        _draw_benchmark_result(compared, show_title=len(results) > 1)
    if not (pair.first.complete and pair.second.complete):
        st.caption(tr("runs.comparison_incomplete"))
    _draw_differing_table(comparison.find_differing_cases(cases), pair)


def _compare_pair(
    settings: Settings, first: str, second: str
) -> tuple[pd.DataFrame, list[PairedScores]]:
    cases = comparison.load_common_cases(settings.run_roots, first, second)
    return cases, comparison.compare_benchmarks(cases)


def _draw_benchmark_result(compared: PairedScores, *, show_title: bool) -> None:
    if show_title:
        st.markdown(f"**{escape_markdown(benchmark_title(compared.benchmark))}**")
    result = compared.result
    cells = [
        ("runs.side.first", wording.format_score(compared.first)),
        ("runs.side.second", wording.format_score(compared.second)),
        ("runs.difference", wording.format_difference(result.difference)),
        ("runs.interval", wording.format_signed_interval(result.interval)),
        ("runs.p", wording.format_p_value(result.p)),
    ]
    widgets.draw_figures((tr(key), value) for key, value in cells)
    with st.container(horizontal=True):
        st.badge(tr("runs.won", count=result.wins), color="green")
        st.badge(tr("runs.lost", count=result.losses), color="red")
        st.badge(tr("runs.tied", count=result.ties), color="gray")
    st.caption(
        f"{_format_run_verdict(compared)} {tr(f'runs.test.{result.test}', count=result.common)}"
    )


def _format_run_verdict(compared: PairedScores) -> str:
    """The difference in words, never more than the numbers bear."""
    if compared.result.wins == compared.result.losses == 0:
        return tr("runs.verdict.equal")
    if compared.result.p >= _ALPHA:
        return tr("runs.verdict.open")
    ahead = (compared.result.difference or 0) > 0
    return tr("runs.verdict.second" if ahead else "runs.verdict.first")


def _draw_differing_table(table: pd.DataFrame, pair: RunPair) -> None:
    """The cases on which they differ; a click on a score opens the case in that run."""
    if table.empty:
        return
    st.markdown(f"**{tr('runs.differing', count=len(table))}**")
    st.caption(tr("runs.open_case"))
    shown = table.head(_CASES)
    titles = map(metric_title, shown["benchmark"], shown["metric"])
    columns = {
        "case": [to_plain_line(case, 40) for case in shown["id"]],
        "first": [wording.format_case_score(score) for score in shown["first"]],
        "second": [wording.format_case_score(score) for score in shown["second"]],
        "metric": list(titles),
        "weight": shown["weight"],
    }
    config = {
        "case": tables.text_column("runs.case", pinned=True),
        "metric": tables.text_column("common.metric"),
        "weight": tables.number_column("runs.weight", "%.3g"),
        "first": tables.link_column("runs.side.first", f"{_OPEN}.first", "runs.open_case"),
        "second": tables.link_column("runs.side.second", f"{_OPEN}.second", "runs.open_case"),
    }
    alt = tr("runs.differing_alt")
    tables.draw_grid(columns, config, alt, tallest=10, key=f"{_OPEN}.table")
    if len(table) > len(shown):
        st.caption(tr("runs.differing_more", count=len(table) - len(shown)))
    for side, run in (("first", pair.first), ("second", pair.second)):
        if (clicked := tables.read_clicked_row(f"{_OPEN}.{side}", len(shown))) is not None:
            case = shown.iloc[clicked]
            link = CaseLink(run.run_id, case["benchmark"], case["metric"], case["id"])
            st.switch_page(page_links.CASE, query_params=link.query_params)
