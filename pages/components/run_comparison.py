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

from evalcore.errors import EvalboardError
from evalcore.plain_text import DASH
from evalcore.queries import comparison
from evalcore.queries.comparison import PairedScores, RunPair
from evalcore.queries.runs import RunRow, RunRows
from evalcore.settings import Settings
from pages.components import names, numbers, state, url_state
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate
from pages.components.state import CaseLink
from pages.components.text import escape, plain

_LISTED = 1_000  # runs to choose from, the newest; all of them would be sent to every visitor
_CASES = 200  # shown; more than that nobody reads in a row
_OPEN = "runs.comparison.open"
_CLEAR = 0.05  # of p


class _Partner(NamedTuple):
    """A run to be set against another, as it stands in the list."""

    row: RunRow
    label: str


def draw(
    row: RunRow, rows: RunRows, couple: RunPair | None, settings: Settings, tr: Translate
) -> None:
    """The comparison of `row`, where it has a partner or could be given one."""
    if couple is None:
        couple = _by_hand(row, rows, tr)
        if couple is None:
            return
    with st.container(border=True):
        st.subheader(tr("runs.comparison"), anchor=False)
        st.caption(tr("runs.comparison_about"))
        _sides(couple, tr)
        if not (couple.first.scores and couple.second.scores) or (
            couple.first.is_active or couple.second.is_active
        ):
            st.info(tr("runs.comparison_waits"), icon=":material/hourglass_empty:")
            return
        _result(couple, settings, tr)


def _by_hand(row: RunRow, rows: RunRows, tr: Translate) -> RunPair | None:
    """A partner chosen among the finished runs with a benchmark in common; kept in the URL."""
    if not row.scores or row.is_active:
        return None
    asked, shared = st.query_params.get("with", ""), frozenset(row.benchmarks)
    key = (shared, names.version())
    listed = rows.cache.get(key, lambda: _labelled(rows, shared))
    wanted = _labelled([one for one in rows if one.run_id == asked], shared) if asked else {}
    both = ((run, one) for run, one in (wanted | listed).items() if run != row.run_id)
    others = dict(islice(both, _LISTED))
    if not others:
        return None
    labels = {run: one.label for run, one in others.items()}
    options = ["", *others]
    if asked and asked not in options:
        url_state.tell_unknown(asked, tr("runs.compare_with"), tr("runs.compare_none"))
    chosen = st.selectbox(
        tr("runs.compare_with"),
        options,
        index=options.index(asked) if asked in options else 0,
        format_func={"": tr("runs.compare_none"), **labels}.__getitem__,
        key=f"runs.with.{row.run_id}",
    )
    state.remember("with", chosen)
    return RunPair(others[chosen].row, row) if chosen else None


def _labelled(rows: Iterable[RunRow], shared: Set[str]) -> dict[str, _Partner]:
    """The newest finished runs with a benchmark in common, by id."""
    partners = (one for one in rows if one.scores and not shared.isdisjoint(one.benchmarks))
    found = list(islice(partners, _LISTED + 1))  # one of them may be the run itself
    named = names.among({one.target.identity: one.target.key for one in found})
    return {
        one.run_id: _Partner(one, f"{plain(named[one.target.identity])} · {one.run_id}")
        for one in found
    }


def _sides(couple: RunPair, tr: Translate) -> None:
    """Both runs by name and state, each with a way to it."""
    columns = st.columns(2)
    for column, side, run in zip(
        columns, ("first", "second"), (couple.first, couple.second), strict=True
    ):
        with column:
            st.caption(tr(f"runs.side.{side}"))
            st.page_link(
                state.RUNS,
                label=escape(names.of(run.target.identity, run.target.key), 100),
                icon=":material/arrow_forward:",
                query_params={"run": run.run_id},
            )
            options = [f"{name} = {value}" for name, value in run.target.options.items()]
            told = [*options, run.run_id, tr(f"common.state.{run.state}")]
            st.caption(escape(" · ".join(told), 300))


def _result(couple: RunPair, settings: Settings, tr: Translate) -> None:
    first, second = couple.first.run_id, couple.second.run_id
    try:
        key = comparison.compute_pair_signature(settings.run_roots, first, second)
        cases, found = _compute(settings, first, second, key)
    except EvalboardError as error:
        st.warning(tr("runs.comparison_broken", reason=escape(error, 400)), icon=":material/error:")
        return
    if not found:
        st.warning(tr("runs.comparison_nothing"), icon=":material/rule:")
        return
    for one in sorted(found, key=lambda one: couple.first.benchmarks.index(one.benchmark)):
        _benchmark(one, tr, named=len(found) > 1)
    if not (couple.first.complete and couple.second.complete):
        st.caption(tr("runs.comparison_incomplete"))
    _differing(comparison.find_differing_cases(cases), couple, tr)


@st.cache_data(max_entries=16, show_spinner=False)
def _compute(
    _settings: Settings, first: str, second: str, signature: str
) -> tuple[pd.DataFrame, list[PairedScores]]:
    """Once for each state of the two folders: the page may be drawn every second."""
    cases = comparison.load_common_cases(_settings.run_roots, first, second)
    return cases, comparison.compare_benchmarks(cases)


def _benchmark(one: PairedScores, tr: Translate, *, named: bool) -> None:
    if named:
        st.markdown(f"**{escape(benchmark_title(one.benchmark))}**")
    result = one.result
    interval = result.interval
    span = DASH if interval is None else f"{interval.low:+.1f} … {interval.high:+.1f}"
    cells = [
        ("runs.side.first", numbers.score(one.first)),
        ("runs.side.second", numbers.score(one.second)),
        ("runs.difference", DASH if result.difference is None else f"{result.difference:+.1f}"),
        ("runs.interval", span),
        ("runs.p", "< 0.001" if result.p < 0.001 else f"{result.p:.3f}"),
    ]
    with st.container(horizontal=True, gap="medium"):
        for key, value in cells:
            st.metric(tr(key), value, width="content")
    with st.container(horizontal=True):
        st.badge(tr("runs.won", count=result.wins), color="green")
        st.badge(tr("runs.lost", count=result.losses), color="red")
        st.badge(tr("runs.tied", count=result.ties), color="gray")
    st.caption(f"{_verdict(one, tr)} {tr(f'runs.test.{result.test}', count=result.common)}")


def _verdict(one: PairedScores, tr: Translate) -> str:
    """The difference in words, never more than the numbers bear."""
    if one.result.wins == one.result.losses == 0:
        return tr("runs.verdict.equal")
    if one.result.p >= _CLEAR:
        return tr("runs.verdict.open")
    ahead = (one.result.difference or 0) > 0
    return tr("runs.verdict.second" if ahead else "runs.verdict.first")


def _differing(table: pd.DataFrame, couple: RunPair, tr: Translate) -> None:
    """The cases on which they differ; a click on a score opens the case in that run."""
    if table.empty:
        return
    st.markdown(f"**{tr('runs.differing', count=len(table))}**")
    st.caption(tr("runs.open_case"))
    shown = table.head(_CASES)
    told = pd.DataFrame(
        {
            "case": [plain(case, 40) for case in shown["id"]],
            "first": [_score(score) for score in shown["first"]],
            "second": [_score(score) for score in shown["second"]],
            "metric": [
                metric_title(benchmark, metric)
                for benchmark, metric in zip(shown["benchmark"], shown["metric"], strict=True)
            ],
            "weight": shown["weight"],
        }
    )
    kinds = st.column_config
    opens = {"alignment": "left", "help": tr("runs.open_case")}
    st.dataframe(
        told,
        hide_index=True,
        height=min(38 + 35 * len(told), 388),
        key=f"{_OPEN}.table",
        alt=tr("runs.differing_alt"),
        column_config={
            "case": kinds.TextColumn(tr("runs.case"), pinned=True),
            "metric": kinds.TextColumn(tr("common.metric")),
            "weight": kinds.NumberColumn(tr("runs.weight"), format="%.3g", width="small"),
            "first": kinds.ButtonColumn(
                tr("runs.side.first"), type="tertiary", key=f"{_OPEN}.first", **opens
            ),
            "second": kinds.ButtonColumn(
                tr("runs.side.second"), type="tertiary", key=f"{_OPEN}.second", **opens
            ),
        },
    )
    if len(table) > len(shown):
        st.caption(tr("runs.differing_more", count=len(table) - len(shown)))
    for side, run in (("first", couple.first), ("second", couple.second)):
        click = st.session_state.get(f"{_OPEN}.{side}")
        if click is not None and click["row"] < len(shown):
            _go(shown.iloc[click["row"]], run)


def _score(score: float) -> str:
    """A sign and a number: the outcome is not told by colour alone."""
    sign = "✓" if score == 1 else "✕" if score == 0 else "◐"
    return f"{sign} {score:.2g}"


def _go(case: pd.Series, run: RunRow) -> None:
    link = CaseLink(run.run_id, case["benchmark"], case["metric"], case["id"])
    st.switch_page(state.CASE, query_params=link.params)
