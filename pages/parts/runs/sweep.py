"""The sweep that a run belongs to: a table, a picture, the best variant, what precision costs."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from evalcore.charts.sweeps import build_sweep_chart
from evalcore.settings import Settings
from evalcore.views.sweeps import SweepReport, build_sweep_frame, find_sweep_report
from pages.shared import exports, page_links, tables, widgets, wording
from pages.shared.board_view import benchmark_title
from pages.shared.wording import current_language, escape_markdown, tr

_MOST_COMPARED = 8  # runs on one page Compare


def draw_run_sweep(run_id: str, settings: Settings) -> None:
    """The sweep of a run; nothing for a run of its own."""
    report = find_sweep_report(run_id, settings)
    if report is None:
        return
    with st.container(border=True):
        st.subheader(tr("runs.sweep"), anchor=False)
        if not report.rows:
            st.info(tr("runs.sweep_waits"), icon=":material/hourglass_empty:")
        else:
            chart = build_sweep_chart(build_sweep_frame(report), current_language())
            exports.draw_chart_frame(
                chart,
                name=f"sweep.{report.id}",
                title=tr("runs.sweep"),
                alt_text=tr("compare.sweep.about"),
                data=partial(build_sweep_frame, report),
                source=tr("compare.sweep.about"),
            )
            tables.draw_grid(_build_table(report), {}, tr("runs.sweep"))
            _draw_findings(report)
            runs = list(dict.fromkeys(row.run_id for row in report.rows))
            if 1 < len(runs) <= _MOST_COMPARED:
                query = page_links.build_compare_query(runs)
                widgets.draw_link(page_links.COMPARE, tr("compare.link"), "compare_arrows", **query)
        for label, problem in report.problems.items():
            words = escape_markdown(f"{label}: {wording.localize_note(problem)}", 400)
            st.caption(f":material/error: {words}")


def _build_table(report: SweepReport) -> pd.DataFrame:
    records = []
    for row in report.rows:
        change = row.change.difference if row.change else None
        records.append(
            {
                tr("runs.sweep_variant"): row.label,
                tr("compare.sweep.score"): row.score,
                tr("runs.sweep_change"): change,
                tr("runs.sweep_memory"): wording.format_byte_size(row.peak_bytes or 0)
                if row.peak_bytes
                else None,
                tr("runs.sweep_speed"): row.tokens_per_second,
                tr("runs.sweep_energy"): row.joules,
                tr("runs.sweep_lost"): tr(
                    "runs.sweep_lost_cases", lost=row.lost_cases, cases=row.call_cases
                )
                if row.call_cases
                else None,
                tr("runs.sweep_lost_points"): row.lost_points,
            }
        )
    return pd.DataFrame(records).dropna(axis="columns", how="all").round(2)


def _draw_findings(report: SweepReport) -> None:
    for best in report.best:
        title, label = benchmark_title(best.benchmark), escape_markdown(best.label, 120)
        words = [tr("runs.sweep_best", benchmark=title, label=label)]
        if best.ties:
            labels = escape_markdown(", ".join(best.ties), 300)
            words.append(tr("runs.sweep_ties", labels=labels))
        st.markdown(" ".join(words))
    for cost in report.precision:
        st.caption(
            tr(
                "runs.sweep_precision",
                label=escape_markdown(cost.label, 120),
                reference=escape_markdown(cost.reference, 120),
                change=wording.format_difference(cost.change.difference or 0.0),
                p=f"{cost.change.p:.2g}",
            )
        )
