"""The charts of the Metrics page: scores with their floors and ceiling, and why answers failed."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from evalcore import charts
from evalcore.catalog import FLOOR_CONTROLS
from evalcore.queries.metric_board import OTHER
from evalcore.stacked import build_stacked_bars
from evalcore.target_colours import colour_of
from pages.components import chart_frame
from pages.components.case_badges import cause_title
from pages.components.language import Translate
from pages.components.text import to_plain_line

_BAR_NAME_LENGTH = 40
_MAX_BARS = 40
_FLOORS, _CEILING = FLOOR_CONTROLS, ("reference",)


def draw_score_chart(
    ranked: pd.DataFrame, lines: dict[str, float], source: str, tr: Translate
) -> None:
    """A bar per ranked target in its own colour, floors and ceiling as dashed lines; `source` names
    metric and board in the files of the chart."""
    shown = ranked.head(_MAX_BARS)
    if shown.empty:
        return
    bars = [to_plain_line(name, _BAR_NAME_LENGTH) for name in shown["name"]]
    summary = ", ".join(f"{n} {s:.1f}" for n, s in zip(bars, shown["score"], strict=True))
    chart_frame.draw_chart_frame(
        charts.build_score_bars(
            shown.assign(name=bars, colour=[colour_of(name) for name in shown["identity"]]),
            labels={
                "name": tr("common.target"),
                "score": tr("common.score"),
                "interval": tr("ranking.interval"),
            },
            floors=_build_chart_lines(lines, _FLOORS, tr),
            ceiling=_build_chart_lines(lines, _CEILING, tr),
        ),
        tr,
        name="metric-scores",
        title=tr("ranking.chart"),
        source=source,
        alt_text=tr("ranking.chart_alt", summary=summary),
        data=lambda: shown[["identity", "score", "low", "high"]],
    )
    about = [tr("metrics.chart_about"), tr("metrics.lines_about") if lines else ""]
    more = len(ranked) - len(shown)
    about.append(tr("metrics.not_drawn", count=more) if more else "")
    st.caption(" ".join(about))


def draw_failure_chart(
    causes: pd.DataFrame, ranked: pd.DataFrame, source: str, tr: Translate
) -> None:
    """Why the answers of the ranked targets failed, as parts of all answers of the metric."""
    if ranked.empty:
        return
    shown = ranked.head(_MAX_BARS)
    st.subheader(tr("metrics.failures"), anchor=False)
    shown_causes = causes[causes["identity"].isin(list(shown["identity"]))]
    if shown_causes.empty:
        st.caption(tr("metrics.failures_none"))
        return
    titles = _build_cause_titles(list(dict.fromkeys(causes["cause"])), tr)
    totals = shown_causes.groupby("cause", sort=False)["count"].sum().drop(OTHER, errors="ignore")
    ordered = [*totals.sort_values(ascending=False, kind="stable").index]
    ordered += [OTHER] if OTHER in set(shown_causes["cause"]) else []
    names = dict(zip(shown["identity"], shown["name"], strict=True))
    rows = shown_causes.assign(
        name=[
            to_plain_line(names[identity], _BAR_NAME_LENGTH)
            for identity in shown_causes["identity"]
        ],
        part=[titles[cause] for cause in shown_causes["cause"]],
    )
    counts = shown_causes.groupby("cause")["count"].sum()
    chart_frame.draw_chart_frame(
        build_stacked_bars(
            rows,
            [titles[cause] for cause in ordered],
            {
                "name": tr("common.target"),
                "part": tr("common.cause"),
                "count": tr("target.count"),
                "share": tr("target.share"),
            },
        ),
        tr,
        name="metric-failures",
        title=tr("metrics.failures"),
        source=source,
        data=lambda: shown_causes,
        alt_text=tr(
            "metrics.failures_alt",
            summary=", ".join(f"{titles[cause]} {counts[cause]}" for cause in ordered),
        ),
    )
    st.caption(tr("metrics.failures_about"))


def _build_chart_lines(
    lines: dict[str, float], controls: Sequence[str], tr: Translate
) -> dict[str, float]:
    return {
        tr(f"metrics.line.{name}", score=f"{lines[name]:.1f}"): lines[name]
        for name in controls
        if name in lines
    }


def _build_cause_titles(causes: Sequence[str], tr: Translate) -> dict[str, str]:
    """A title per cause, told apart where two read the same: parts of one name would be one."""
    titles = {cause: cause_title(cause) if cause else tr("metrics.other") for cause in causes}
    return {
        cause: f"{title} ({to_plain_line(cause)})" if [*titles.values()].count(title) > 1 else title
        for cause, title in titles.items()
    }
