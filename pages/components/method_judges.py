"""Methodology, the panel: how judges decide, and how far these ones can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.plain_text import DASH
from evalcore.queries import judges, methodology_worked
from evalcore.queries.boards import Board, Row
from evalcore.queries.judges import PanelReport
from evalcore.settings import Settings
from pages.components import numbers
from pages.components.language import Translate
from pages.components.text import escape


def panel(board: Board, rows: Sequence[Row], settings: Settings, tr: Translate) -> None:
    """The rules of a panel, then the figures of the judges who voted on this board."""
    if not any(column.card.judged for column in board.columns.values()):
        return
    st.subheader(tr("methodology.panel"), anchor=False)
    st.markdown(tr("methodology.panel_words"))
    runs = [run.run_id for row in rows for run in row.runs.values()]
    try:
        found = judges.build_panel_report(settings.run_roots, runs)
    except EvalboardError as error:
        st.warning(tr("methodology.no_numbers", reason=escape(error, 400)))
        return
    if found is None:
        st.caption(tr("methodology.panel_none"))
        return
    st.markdown(
        tr(
            "methodology.panel_here",
            answers=found.answers,
            requests=found.requests,
            cost=escape(numbers.money(found.cost, tr)),
            split=_share(found.splits.rate),
            splits=found.splits.n,
        )
    )
    _profiles(found, tr)
    _pairs(found, tr)
    _calibration(found, tr)


def _profiles(found: PanelReport, tr: Translate) -> None:
    _table(
        {
            tr("methodology.judge"): [one.judge for one in found.profiles],
            tr("methodology.judge_votes"): [f"{one.cast} / {one.n}" for one in found.profiles],
            tr("methodology.judge_yes"): [_share(one.yes_rate) for one in found.profiles],
            tr("methodology.judge_milder"): [_signed(one.difference) for one in found.profiles],
            tr("methodology.judge_abstained"): [_share(one.abstained) for one in found.profiles],
            tr("methodology.judge_failed"): [_share(one.failed) for one in found.profiles],
        },
        tr("methodology.profiles_alt"),
    )


def _pairs(found: PanelReport, tr: Translate) -> None:
    if not found.pairs:
        return
    st.markdown(tr("methodology.pairs_words"))
    _table(
        {
            tr("methodology.judge_pair"): [f"{one.first} – {one.second}" for one in found.pairs],
            tr("methodology.judge_both"): [str(one.n) for one in found.pairs],
            tr("methodology.judge_agreed"): [_share(one.agreed) for one in found.pairs],
            "κ": [_kappa(one.kappa) for one in found.pairs],
        },
        tr("methodology.pairs_alt"),
    )
    if (worked := methodology_worked.find_best_kappa(found.pairs)) is not None:
        st.caption(
            tr(
                "methodology.kappa_worked",
                first=escape(worked.first),
                second=escape(worked.second),
                n=worked.n,
                agreed=_share(worked.agreed),
                chance=_share(worked.chance),
            )
        )
        a, c = f"{worked.agreed:.2f}", f"{worked.chance:.2f}"
        st.latex(rf"\kappa = \frac{{{a} - {c}}}{{1 - {c}}} = {worked.kappa:.2f}")


def _calibration(found: PanelReport, tr: Translate) -> None:
    st.markdown(tr("methodology.calibration_words"))
    if not found.calibration:
        st.caption(tr("methodology.calibration_none"))
        return
    _table(
        {
            tr("methodology.judge"): [one.judge for one in found.calibration],
            tr("methodology.judge_both"): [str(one.n) for one in found.calibration],
            tr("methodology.judge_agreed"): [_share(one.agreed) for one in found.calibration],
            "κ": [_kappa(one.kappa) for one in found.calibration],
            tr("methodology.false_pass"): [str(one.false_pass) for one in found.calibration],
            tr("methodology.false_fail"): [str(one.false_fail) for one in found.calibration],
        },
        tr("methodology.calibration_alt"),
    )


def _table(columns: dict[str, list[str]], alt: str) -> None:
    st.dataframe(pd.DataFrame(columns), hide_index=True, alt=alt)


def _share(rate: float | None) -> str:
    return DASH if rate is None else f"{100 * rate:.0f} %"


def _signed(difference: float | None) -> str:
    return DASH if difference is None else f"{100 * difference:+.0f} %"


def _kappa(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"
