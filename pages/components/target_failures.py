"""Why the answers of a run failed, as a chart, and the way to the cases behind each bar."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import charts
from evalcore.errors import EvalboardError
from evalcore.queries import failures
from evalcore.settings import Settings
from pages.components import chart_frame, target_cases
from pages.components.case_badges import cause_title
from pages.components.language import Translate
from pages.components.text import escape_markdown

_MAX_BARS = 16


def draw_target_failures(settings: Settings, run: str, benchmark: str, tr: Translate) -> None:
    """The causes by count, what was done where nothing was to be called, and the failed cases."""
    try:
        causes = failures.count_failure_causes(settings.run_roots, run, benchmark)
        kinds = failures.count_answer_kinds(settings.run_roots, run, benchmark)
    except EvalboardError as error:
        st.warning(
            tr("target.cases_broken", reason=escape_markdown(error, 400)), icon=":material/error:"
        )
        return
    if len(kinds):
        left, right = st.columns([7, 5], gap="large")
        with left:
            _draw_cause_chart(causes, tr)
        with right:
            _draw_answer_kinds(kinds, tr)
    else:
        _draw_cause_chart(causes, tr)
    if len(causes):
        target_cases.draw_target_cases(settings, run, benchmark, tr, list(causes["cause"]))


def _draw_cause_chart(causes: pd.DataFrame, tr: Translate) -> None:
    st.subheader(tr("target.why"), anchor=False)
    if causes.empty:
        st.caption(tr("target.why_none"))
        return
    shown = causes.head(_MAX_BARS)
    _draw_count_chart(
        charts.build_count_bars,
        shown.assign(name=_disambiguate_causes(shown["cause"])),
        "target.why_alt",
        tr,
    )
    caption = tr("target.why_about", count=int(causes["count"].sum()))
    st.caption(caption if len(causes) == len(shown) else f"{caption} {tr('target.why_more')}")


def _draw_answer_kinds(kinds: pd.DataFrame, tr: Translate) -> None:
    st.subheader(tr("target.kinds"), anchor=False)
    names = [tr(f"common.answer_kind.{kind}") for kind in kinds["kind"]]
    positions = [failures.ANSWER_KINDS.index(kind) for kind in kinds["kind"]]
    frame = kinds.assign(name=names, place=positions)
    _draw_count_chart(charts.build_split_bar, frame, "target.kinds_alt", tr)
    st.caption(tr("target.kinds_about"))


def _draw_count_chart(
    make: charts.CountChartBuilder, frame: pd.DataFrame, alt: str, tr: Translate
) -> None:
    labels = {"name": tr("common.cause"), "count": tr("target.count")}
    summary = ", ".join(f"{n} {c}" for n, c in zip(frame["name"], frame["count"], strict=True))
    chart_frame.draw_chart_frame(
        make(frame, labels),
        tr,
        name=alt.partition(".")[2].removesuffix("_alt"),
        title=tr(alt.removesuffix("_alt")),
        alt_text=tr(alt, summary=summary),
        data=lambda: (
            frame[["name", "count", "share"]] if "share" in frame else frame[["name", "count"]]
        ),
    )


def _disambiguate_causes(causes: pd.Series[str]) -> list[str]:
    """Titles told apart: bars of one name would be drawn over each other."""
    titles = [cause_title(cause) for cause in causes]
    return [
        f"{title} ({cause})" if titles.count(title) > 1 else title
        for title, cause in zip(titles, causes, strict=True)
    ]
