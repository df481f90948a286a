"""Methodology: how sure a score is, and who is ranked, with what both come to on this board."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.queries import methodology, methodology_worked
from evalcore.queries.boards import Row
from evalcore.queries.methodology_worked import LeaderComparison, Rate
from evalcore.queries.ranking_views import tie_groups
from evalcore.settings import Settings
from pages.components import word_table
from pages.components.board import format_bold
from pages.components.language import Translate


def draw_interval_rules(row: Row, name: str, settings: Settings, tr: Translate) -> None:
    """The interval of a score, worked as that of the plain rate of one target."""
    st.subheader(tr("methodology.sure"), anchor=False)
    st.markdown(tr("methodology.interval_words"))
    benchmark, run = next(iter(row.runs.items()))
    try:
        spec_and_score = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
    except EvalboardError:  # told beside the formula of the score
        return
    rate = methodology_worked.compute_plain_rate(spec_and_score[1]) if spec_and_score else None
    if spec_and_score is None or rate is None:
        return
    rate_values = {"passed": f"{rate.passed:g}", "samples": rate.samples}
    st.markdown(tr("methodology.sure_rate", name=format_bold(name), **rate_values))
    st.latex(_format_wilson(rate))
    shown = spec_and_score[1].interval
    if shown is not None:
        bounds = {"low": f"{shown.low:.1f}", "high": f"{shown.high:.1f}"}
        st.caption(
            tr("methodology.sure_weighted", score=f"{spec_and_score[1].score:.1f}", **bounds)
        )


def _format_wilson(rate: Rate) -> str:
    """Wilson's formula with the numbers of a rate, over two lines."""
    p, n, z = f"{rate.rate:.3f}", rate.samples, f"{methodology_worked.Z95:.2f}"
    root = rf"\frac{{{p} \,(1 - {p})}}{{{n}}} + \frac{{{z}^2}}{{4 \cdot {n}^2}}"
    above = rf"{p} + \frac{{{z}^2}}{{2 \cdot {n}}} \pm {z} \sqrt{{{root}}}"
    formula = rf"\frac{{{above}}}{{1 + \frac{{{z}^2}}{{{n}}}}}"
    low, high = rate.interval.low, rate.interval.high
    return (
        rf"\begin{{gathered}} {formula} \\[0.6em] = {low:.1f}\,\% \text{{ – }} {high:.1f}\,\%"
        r" \end{gathered}"
    )


def draw_rank_rules(
    frame: pd.DataFrame, pair: LeaderComparison | None, titles: Mapping[str, str], tr: Translate
) -> None:
    """Rank intervals and ties, with the leader held against its rival; `titles` are the names by
    identity."""
    st.subheader(tr("methodology.ranks"), anchor=False)
    st.markdown(tr("methodology.rank_words"))
    st.markdown(tr("methodology.tie_words"))
    if pair is not None:
        _draw_leader_pair(pair, titles, tr)
    ranked, groups = frame[frame["status"] == "ranked"], tie_groups(frame)
    widths = (ranked["high"].astype(float) - ranked["low"].astype(float)).dropna()
    if len(widths):
        st.caption(
            tr(
                "methodology.sure_here",
                targets=len(ranked),
                groups=len(groups),
                widest=f"{widths.max():.1f}",
            )
        )


def _draw_leader_pair(pair: LeaderComparison, titles: Mapping[str, str], tr: Translate) -> None:
    result = pair.result
    if result.difference is None or result.interval is None:
        return
    finding = tr(
        "methodology.pair",
        leader=format_bold(titles[pair.leader]),
        other=format_bold(titles[pair.other]),
        common=result.common,
        wins=result.wins,
        losses=result.losses,
        ties=result.ties,
        difference=f"{result.difference:+.1f}",
        low=f"{result.interval.low:.1f}",
        high=f"{result.interval.high:.1f}",
    )
    differing, fewest = result.wins + result.losses, methodology_worked.FEWEST_DIFFERING
    if pair.apart:
        conclusion = tr("methodology.pair.apart")
    elif differing < fewest:
        conclusion = tr("methodology.pair.few", differing=differing, fewest=fewest)
    else:
        conclusion = tr("methodology.pair.tied")
    st.markdown(f"{finding} {conclusion}")


def draw_standing_rules(frame: pd.DataFrame, tr: Translate) -> None:
    """What each standing means, and how many targets of this board have it."""
    st.subheader(tr("methodology.standing"), anchor=False)
    st.markdown(tr("methodology.standing_words"))
    counts = methodology_worked.standing_counts(frame)
    titles = {"ranked": tr("methodology.standing.ranked")}
    word_table.draw_word_table(
        {
            tr("methodology.standing.status"): [
                titles.get(status) or tr(f"ranking.status.{status}") for status in counts
            ],
            tr("methodology.outcome_meaning"): [
                tr(f"methodology.standing.about.{status}") for status in counts
            ],
            tr("methodology.standing.here"): [str(count) for count in counts.values()],
        },
        tr("methodology.standing_alt"),
    )
