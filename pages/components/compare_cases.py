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
from pages.components.text import plain

_PICTURED, _LISTED = 24, 200
_OPEN = "compare.open"


def draw(found: BenchmarkDetail, shown: Sequence[ComparedRun], tr: Translate) -> None:
    """The heatmap and the list, or that there is no such case."""
    if not found.cases:
        st.info(tr("compare.no_differing"), icon=":material/equal:")
        return
    st.markdown(f"**{tr('compare.differing', count=len(found.cases))}**")
    _picture(found.cases[:_PICTURED], shown, len(found.cases), tr)
    _list(found.cases[:_LISTED], shown, len(found.cases), tr)


def _picture(
    cases: Sequence[DifferingCase], shown: Sequence[ComparedRun], total: int, tr: Translate
) -> None:
    rows = tables.unique([plain(case.id, 30) for case in cases])
    letters = [one.letter for one in shown]
    frame = pd.DataFrame(
        {
            "row": row,
            "column": letter,
            "value": 100 * case.scores[letter],
            "said": _sign(case.scores[letter]),
            "tip": f"{metric_title(case.benchmark, case.metric)} · {plain(case.id)}",
        }
        for row, case in zip(rows, cases, strict=True)
        for letter in letters
    )
    labels = {"row": tr("common.case"), "column": tr("compare.run"), "value": tr("common.score")}
    runs = ", ".join(compare_scores.name(one) for one in shown)
    chart_frame.draw(
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


def _list(
    cases: Sequence[DifferingCase], shown: Sequence[ComparedRun], total: int, tr: Translate
) -> None:
    """A click on a score opens the case in that run."""
    kinds = st.column_config
    told: dict[str, Any] = {"case": [plain(case.id, 40) for case in cases]}
    config: dict[str, Any] = {"case": kinds.TextColumn(tr("common.case"), pinned=True)}
    for one in shown:
        told[one.letter] = [f"{_sign(s)} {s:.2g}" for s in (c.scores[one.letter] for c in cases)]
        config[one.letter] = kinds.ButtonColumn(
            one.letter,
            type="tertiary",
            alignment="left",
            width=64,
            key=f"{_OPEN}.{one.letter}",
            help=compare_scores.name(one),
        )
    told["metric"] = [metric_title(case.benchmark, case.metric) for case in cases]
    told["weight"] = [case.weight for case in cases]
    config["metric"] = kinds.TextColumn(tr("common.metric"))
    config["weight"] = kinds.NumberColumn(tr("compare.weight"), format="%.3g", width="small")
    st.caption(tr("runs.open_case"))
    st.dataframe(
        pd.DataFrame(told),
        hide_index=True,
        height=min(38 + 35 * len(cases), 388),
        key=f"{_OPEN}.table",
        column_config=config,
        alt=tr("compare.list_alt"),
    )
    if total > len(cases):
        st.caption(tr("runs.differing_more", count=total - len(cases)))
    for one in shown:
        click = st.session_state.get(f"{_OPEN}.{one.letter}")
        if click is not None and click["row"] < len(cases):
            case = cases[click["row"]]
            link = CaseLink(one.run_id, case.benchmark, case.metric, case.id)
            st.switch_page(state.CASE, query_params=link.params)


def _sign(score: float) -> str:
    """The outcome is not told by colour alone."""
    return "✓" if score == 1 else "✕" if score == 0 else "◐"
