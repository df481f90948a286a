"""Compare: 2 to 8 runs side by side, all of them measured against one, down to single cases."""

from __future__ import annotations

import streamlit as st

from evalcore import settings
from evalcore.queries import lineup
from evalcore.queries.lineup import Entrant, Lineup
from evalcore.settings import Settings
from pages.components import (
    compare_cases,
    compare_data,
    compare_files,
    compare_pairs,
    compare_pick,
    compare_scores,
    loaded,
    url_state,
)
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate, translator
from pages.components.text import escape

_PAGE = compare_pick.PAGE
_LOADING = 180  # pixels, of the table that comes


def page() -> None:
    """Choose the runs, then show what may be said of them together."""
    tr, current = translator(), settings.load_settings()
    st.title(tr("compare.title"), anchor=False)
    headers = loaded.headers(current, "compare.empty", tr)
    st.caption(tr("compare.about"))
    runs = compare_pick.draw(headers, tr)
    with st.skeleton(height=_LOADING):
        who = compare_data.lineup_of(current, runs)
    for one in who.absent:
        told = tr(f"compare.absent.{one.kind}", run=escape(one.run_id), reason=escape(one.reason))
        st.warning(told, icon=":material/report:")
    if len(who.entrants) < lineup.FEWEST:
        compare_pick.suggest(headers, [one.run_id for one in who.entrants], tr)
        return
    compare_scores.table(who, tr)
    _against(current, runs, who, tr)


def _against(current: Settings, runs: list[str], who: Lineup, tr: Translate) -> None:
    """Everything that needs a run to measure the others against."""
    known = {one.run_id: one for one in who.entrants}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        base = known[
            url_state.select(
                tr("compare.base"),
                list(known),
                page=_PAGE,
                name="base",
                title=lambda run: compare_scores.name(known[run]),
                help=tr("compare.base_help"),
                width=300,
            )
        ]
        sides = compare_data.comparable(who, base)
        benchmark = _benchmark(list(sides), tr) if sides else ""
        metric = _metric(who, benchmark, tr) if sides else ""
    compare_pairs.obstacles(who, base, tr)
    if not sides:
        st.warning(tr("compare.nothing", base=base.letter), icon=":material/rule:")
        return
    _detail(current, runs, base, sides[benchmark], benchmark, metric, tr)
    compare_files.draw(current, runs, base, benchmark, metric, tr)


def _detail(
    current: Settings,
    runs: list[str],
    base: Entrant,
    sides: list[Entrant],
    benchmark: str,
    metric: str,
    tr: Translate,
) -> None:
    with st.skeleton(height=_LOADING):
        found = compare_data.detail(current, runs, base.run_id, benchmark, metric)
    title = metric_title(benchmark, metric) if metric else benchmark_title(benchmark)
    st.subheader(tr("compare.against", title=escape(title), base=base.letter), anchor=False)
    compare_pairs.draw(found, base, sides, tr)
    shown = sorted(sides, key=lambda one: one.letter)
    compare_scores.metrics(benchmark, shown, tr)
    compare_cases.draw(found, shown, tr)


def _benchmark(options: list[str], tr: Translate) -> str:
    return url_state.select(
        tr("common.benchmark"),
        options,
        page=_PAGE,
        name="benchmark",
        title=benchmark_title,
        width=240,
    )


def _metric(who: Lineup, benchmark: str, tr: Translate) -> str:
    metrics = compare_data.metrics(who, benchmark)
    return url_state.select(
        tr("common.metric"),
        ["", *metrics],
        page=_PAGE,
        name="metric",
        title=lambda key: metric_title(benchmark, key) if key else tr("common.all"),
        width=240,
    )


page()
