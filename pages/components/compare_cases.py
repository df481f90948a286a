"""The cases on which the compared runs differ: the weightiest as a picture, all as links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.heatmap import build_heatmap
from evalcore.queries.comparison_groups import BenchmarkDetail, DifferingCase
from evalcore.queries.comparison_runs import ComparedRun
from pages.components import chart_frame, compare_scores, state, tables
from pages.components.board import metric_title
from pages.components.language import Translate
from pages.components.state import CaseLink
from pages.components.text import to_plain_line

_PICTURED, _LISTED = 24, 200
_OPENED_CASE_KEY = "compare.open"


def draw_differing_cases(
    detail: BenchmarkDetail, shown: Sequence[ComparedRun], tr: Translate
) -> None:
    """The heatmap and the list, or that there is no such case."""
    if not detail.cases:
        st.info(tr("compare.no_differing"), icon=":material/equal:")
        return
    st.markdown(f"**{tr('compare.differing', count=len(detail.cases))}**")
    _draw_case_heatmap(detail.cases[:_PICTURED], shown, len(detail.cases), tr)
    _draw_case_list(detail.cases[:_LISTED], shown, len(detail.cases), tr)


def _draw_case_heatmap(
    cases: Sequence[DifferingCase], shown: Sequence[ComparedRun], total: int, tr: Translate
) -> None:
    rows = tables.make_names_unique([to_plain_line(case.id, 30) for case in cases])
    letters = [run.letter for run in shown]
    frame = pd.DataFrame(
        {
            "row": row,
            "column": letter,
            "value": 100 * case.scores[letter],
            "said": _format_score_sign(case.scores[letter]),
            "tip": f"{metric_title(case.benchmark, case.metric)} · {to_plain_line(case.id)}",
        }
        for row, case in zip(rows, cases, strict=True)
        for letter in letters
    )
    labels = {"row": tr("common.case"), "column": tr("compare.run"), "value": tr("common.score")}
    runs = ", ".join(compare_scores.format_run_label(run) for run in shown)
    chart_frame.draw_chart_frame(
        build_heatmap(frame, rows, letters, labels),
        tr,
        name="compare-cases",
        title=tr("common.case"),
        source=runs,
        alt_text=tr("compare.cases_alt", runs=runs),
        data=lambda: frame[["row", "column", "value"]],
    )
    if total > len(cases):
        st.caption(tr("compare.pictured", count=len(cases)))


def _draw_case_list(
    cases: Sequence[DifferingCase], shown: Sequence[ComparedRun], total: int, tr: Translate
) -> None:
    """A click on a score opens the case in that run."""
    column_config = st.column_config
    columns: dict[str, Any] = {"case": [to_plain_line(case.id, 40) for case in cases]}
    config: dict[str, Any] = {"case": column_config.TextColumn(tr("common.case"), pinned=True)}
    for run in shown:
        columns[run.letter] = [
            f"{_format_score_sign(s)} {s:.2g}" for s in (c.scores[run.letter] for c in cases)
        ]
        config[run.letter] = column_config.ButtonColumn(
            run.letter,
            type="tertiary",
            alignment="left",
            width=64,
            key=f"{_OPENED_CASE_KEY}.{run.letter}",
            help=compare_scores.format_run_label(run),
        )
    columns["metric"] = [metric_title(case.benchmark, case.metric) for case in cases]
    columns["weight"] = [case.weight for case in cases]
    config["metric"] = column_config.TextColumn(tr("common.metric"))
    config["weight"] = column_config.NumberColumn(
        tr("compare.weight"), format="%.3g", width="small"
    )
    st.caption(tr("runs.open_case"))
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        height=min(38 + 35 * len(cases), 388),
        key=f"{_OPENED_CASE_KEY}.table",
        column_config=config,
        alt=tr("compare.list_alt"),
    )
    if total > len(cases):
        st.caption(tr("runs.differing_more", count=total - len(cases)))
    for run in shown:
        click = st.session_state.get(f"{_OPENED_CASE_KEY}.{run.letter}")
        if click is not None and click["row"] < len(cases):
            case = cases[click["row"]]
            link = CaseLink(run.run_id, case.benchmark, case.metric, case.id)
            st.switch_page(state.CASE, query_params=link.query_params)


def _format_score_sign(score: float) -> str:
    """The outcome is not told by colour alone."""
    return "✓" if score == 1 else "✕" if score == 0 else "◐"
