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
from pages.components.text import escape_markdown


def draw_judge_panel(board: Board, rows: Sequence[Row], settings: Settings, tr: Translate) -> None:
    """The rules of a panel, then the figures of the judges who voted on this board."""
    if not any(column.card.judged for column in board.columns.values()):
        return
    st.subheader(tr("methodology.panel"), anchor=False)
    st.markdown(tr("methodology.panel_words"))
    runs = [run.run_id for row in rows for run in row.runs.values()]
    try:
        report = judges.build_panel_report(settings.run_roots, runs)
    except EvalboardError as error:
        st.warning(tr("methodology.no_numbers", reason=escape_markdown(error, 400)))
        return
    if report is None:
        st.caption(tr("methodology.panel_none"))
        return
    st.markdown(
        tr(
            "methodology.panel_here",
            answers=report.answers,
            requests=report.requests,
            cost=escape_markdown(numbers.format_money(report.cost, tr)),
            split=_format_vote_share(report.splits.rate),
            splits=report.splits.n,
        )
    )
    _draw_judge_profiles(report, tr)
    _draw_judge_pairs(report, tr)
    _draw_judge_calibration(report, tr)


def _draw_judge_profiles(report: PanelReport, tr: Translate) -> None:
    _draw_panel_table(
        {
            tr("methodology.judge"): [profile.judge for profile in report.profiles],
            tr("methodology.judge_votes"): [
                f"{profile.cast} / {profile.n}" for profile in report.profiles
            ],
            tr("methodology.judge_yes"): [
                _format_vote_share(profile.yes_rate) for profile in report.profiles
            ],
            tr("methodology.judge_milder"): [
                _format_signed_share(profile.difference) for profile in report.profiles
            ],
            tr("methodology.judge_abstained"): [
                _format_vote_share(profile.abstained) for profile in report.profiles
            ],
            tr("methodology.judge_failed"): [
                _format_vote_share(profile.failed) for profile in report.profiles
            ],
        },
        tr("methodology.profiles_alt"),
    )


def _draw_judge_pairs(report: PanelReport, tr: Translate) -> None:
    if not report.pairs:
        return
    st.markdown(tr("methodology.pairs_words"))
    _draw_panel_table(
        {
            tr("methodology.judge_pair"): [
                f"{pair.first} – {pair.second}" for pair in report.pairs
            ],
            tr("methodology.judge_both"): [str(pair.n) for pair in report.pairs],
            tr("methodology.judge_agreed"): [
                _format_vote_share(pair.agreed) for pair in report.pairs
            ],
            "κ": [_format_kappa(pair.kappa) for pair in report.pairs],
        },
        tr("methodology.pairs_alt"),
    )
    if (worked := methodology_worked.find_best_kappa(report.pairs)) is not None:
        st.caption(
            tr(
                "methodology.kappa_worked",
                first=escape_markdown(worked.first),
                second=escape_markdown(worked.second),
                n=worked.n,
                agreed=_format_vote_share(worked.agreed),
                chance=_format_vote_share(worked.chance),
            )
        )
        a, c = f"{worked.agreed:.2f}", f"{worked.chance:.2f}"
        st.latex(rf"\kappa = \frac{{{a} - {c}}}{{1 - {c}}} = {worked.kappa:.2f}")


def _draw_judge_calibration(report: PanelReport, tr: Translate) -> None:
    st.markdown(tr("methodology.calibration_words"))
    if not report.calibration:
        st.caption(tr("methodology.calibration_none"))
        return
    _draw_panel_table(
        {
            tr("methodology.judge"): [calibration.judge for calibration in report.calibration],
            tr("methodology.judge_both"): [
                str(calibration.n) for calibration in report.calibration
            ],
            tr("methodology.judge_agreed"): [
                _format_vote_share(calibration.agreed) for calibration in report.calibration
            ],
            "κ": [_format_kappa(calibration.kappa) for calibration in report.calibration],
            tr("methodology.false_pass"): [
                str(calibration.false_pass) for calibration in report.calibration
            ],
            tr("methodology.false_fail"): [
                str(calibration.false_fail) for calibration in report.calibration
            ],
        },
        tr("methodology.calibration_alt"),
    )


def _draw_panel_table(columns: dict[str, list[str]], alt: str) -> None:
    st.dataframe(pd.DataFrame(columns), hide_index=True, alt=alt)


def _format_vote_share(rate: float | None) -> str:
    return DASH if rate is None else f"{100 * rate:.0f} %"


def _format_signed_share(difference: float | None) -> str:
    return DASH if difference is None else f"{100 * difference:+.0f} %"


def _format_kappa(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"
