"""Methodology, first part: the score of one target worked in full, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from evalcore.catalog import find_benchmark_text
from evalcore.errors import EvalboardError
from evalcore.settings import Settings
from evalcore.views import methodology
from evalcore.views.boards import Board, Row
from evalcore.views.methodology import LeaderComparison, Rate, WorkedScore
from evalcore.views.ranking import tie_groups
from pages.shared import tables, widgets, wording
from pages.shared.board_view import benchmark_title, format_bold, metric_title
from pages.shared.wording import current_language, escape_markdown, tr

_MAX_TERMS = 6  # metrics whose products fit into a line


def draw_worked_score(row: Row, name: str, board: Board, settings: Settings) -> None:
    """The formula in words and signs, then with the numbers of a row, called `name`, for each
    benchmark."""
    st.subheader(tr("methodology.score"), anchor=False)
    st.markdown(tr("methodology.score_words"))
    st.latex(tr("methodology.formula").replace("{{", "{").replace("}}", "}"))
    st.markdown(tr("methodology.worked", name=format_bold(name)))
    for benchmark, run in row.runs.items():
        if len(row.runs) > 1:
            st.markdown(f"###### {benchmark_title(benchmark)}")
        worked = None
        with widgets.show_errors("methodology.no_numbers", icon=None, draw=st.warning):
            worked = methodology.load_worked_score(settings.run_roots, run.run_id, benchmark)
        if worked is not None:
            if worked.spec.difficulty_weights:
                levels = worked.spec.difficulty_weights.items()
                weight_texts = ", ".join(f"{level}: {weight:g}" for level, weight in levels)
                st.caption(tr("methodology.difficulty_weights", weights=weight_texts))
            _draw_worked_terms(worked, benchmark)
    st.markdown(tr("methodology.suite_words"))
    if board.members:
        names = wording.join_names(escape_markdown(benchmark_title(key)) for key in board.members)
        st.markdown(tr("methodology.suite_members", names=names))
    elif len(board.columns) > 1:
        st.markdown(tr("methodology.suite_no_members"))
    if (mean := methodology.list_suite_scores(row, board)) is not None:
        total = " + ".join(f"{score:.1f}" for score in mean[0])
        st.latex(rf"\frac{{{total}}}{{{len(mean[0])}}} = {mean[1]:.1f}")


def _draw_worked_terms(worked: WorkedScore, benchmark: str) -> None:
    _draw_terms_table(worked.terms, benchmark)
    if worked.score.score is None:
        st.caption(tr("methodology.unmeasured"))
        return
    total = worked.sums
    st.latex(
        rf"\vphantom{{\Bigg|}} 100 \cdot {_format_score_fraction(worked.terms)}"
        rf" = 100 \cdot \frac{{{total.points:.4g}}}{{{total.maximum:.4g}}} = {total.score:.1f}"
    )
    if (words := find_benchmark_text(benchmark, "spread", current_language())) is not None:
        st.caption(words)
    values = {
        "sum": wording.format_score(total.score),
        "shown": wording.format_score(worked.score.score),
    }
    st.caption(tr("methodology.worked_equal", **values))


def _format_score_fraction(terms: pd.DataFrame) -> str:
    """The sums metric by metric, or of whole columns where there are too many for a line."""
    scored = terms.dropna(subset=["weight"])
    if len(scored) > _MAX_TERMS:
        above, below = (
            rf"\sum \text{{{tr(f'methodology.weighted_{name}')}}}" for name in ("points", "maximum")
        )
        return rf"\frac{{{above}}}{{{below}}}"
    points, maximum = (_format_weighted_sum(scored, part) for part in ("points", "maximum"))
    return rf"\frac{{{points}}}{{{maximum}}}"


def _format_weighted_sum(terms: pd.DataFrame, column: str) -> str:
    """`4 \\cdot 92 + 3 \\cdot 88`: weight times the column, metric by metric."""
    return " + ".join(
        rf"{wording.format_weight(weight)} \cdot {value:.4g}"
        for weight, value in zip(terms["weight"], terms[column], strict=True)
    )


def _draw_terms_table(terms: pd.DataFrame, benchmark: str) -> None:
    weighted = terms["weighted_maximum"].astype(float)
    weights = [
        tr("methodology.unscored") if pd.isna(weight) else f"× {wording.format_weight(weight)}"
        for weight in terms["weight"]
    ]
    columns = {
        "metric": [metric_title(benchmark, metric) for metric in terms["metric"]],
        "samples": terms["samples"],
        "points": terms["points"],
        "maximum": terms["maximum"],
        "weight": weights,
        "weighted_points": terms["weighted_points"].astype(float),
        "weighted_maximum": weighted,
        "share": 100 * weighted / weighted.sum() if weighted.sum() else None,
    }
    config = {
        "metric": tables.text_column("common.metric", "medium"),
        "samples": tables.number_column("methodology.cases"),
        "points": tables.number_column("methodology.points", "%.4g"),
        "maximum": tables.number_column("methodology.maximum", "%.4g"),
        "weight": tables.text_column("methodology.weight", 140, alignment="right"),
        "weighted_points": tables.number_column("methodology.weighted_points", "%.4g", None),
        "weighted_maximum": tables.number_column("methodology.weighted_maximum", "%.4g", None),
        "share": tables.share_column("methodology.share"),
    }
    tables.draw_grid(columns, config, tr("methodology.terms_alt"), tables.EVERY_ROW)


def draw_interval_rules(row: Row, name: str, settings: Settings) -> None:
    """The interval of a score, worked as that of the plain rate of one target."""
    st.subheader(tr("methodology.sure"), anchor=False)
    st.markdown(tr("methodology.interval_words"))
    benchmark, run = next(iter(row.runs.items()))
    try:
        spec_and_score = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
    except EvalboardError:  # told beside the formula of the score
        return
    rate = methodology.compute_plain_rate(spec_and_score[1]) if spec_and_score else None
    if spec_and_score is None or rate is None:
        return
    rate_values = {"passed": f"{rate.passed:g}", "samples": rate.samples}
    st.markdown(tr("methodology.sure_rate", name=format_bold(name), **rate_values))
    st.latex(_format_wilson(rate))
    shown, score = spec_and_score[1].interval, spec_and_score[1].score
    if shown is not None:
        values = {"score": score, "low": shown.low, "high": shown.high}
        texts = {name: f"{value:.1f}" for name, value in values.items()}
        st.caption(tr("methodology.sure_weighted", **texts))


def _format_wilson(rate: Rate) -> str:
    """Wilson's formula with the numbers of a rate, over two lines."""
    p, n, z = f"{rate.rate:.3f}", rate.samples, f"{methodology.Z95:.2f}"
    root = rf"\frac{{{p} \,(1 - {p})}}{{{n}}} + \frac{{{z}^2}}{{4 \cdot {n}^2}}"
    above = rf"{p} + \frac{{{z}^2}}{{2 \cdot {n}}} \pm {z} \sqrt{{{root}}}"
    formula = rf"\frac{{{above}}}{{1 + \frac{{{z}^2}}{{{n}}}}}"
    low, high = rate.interval.low, rate.interval.high
    return (
        rf"\begin{{gathered}} {formula} \\[0.6em] = {low:.1f}\,\% \text{{ – }} {high:.1f}\,\%"
        r" \end{gathered}"
    )


def draw_rank_rules(
    frame: pd.DataFrame, pair: LeaderComparison | None, titles: Mapping[str, str]
) -> None:
    """Rank intervals and ties, with the leader held against its rival; `titles` are the names by
    identity."""
    st.subheader(tr("methodology.ranks"), anchor=False)
    st.markdown(tr("methodology.rank_words"))
    st.markdown(tr("methodology.tie_words"))
    if pair is not None:
        _draw_leader_pair(pair, titles)
    ranked, groups = frame[frame["status"] == "ranked"], tie_groups(frame)
    widths = (ranked["high"].astype(float) - ranked["low"].astype(float)).dropna()
    if len(widths):
        values = {"targets": len(ranked), "groups": len(groups), "widest": f"{widths.max():.1f}"}
        st.caption(tr("methodology.sure_here", **values))


def _draw_leader_pair(pair: LeaderComparison, titles: Mapping[str, str]) -> None:
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
        difference=wording.format_difference(result.difference),
        low=wording.format_difference(result.interval.low),
        high=wording.format_difference(result.interval.high),
    )
    differing, fewest = result.wins + result.losses, methodology.FEWEST_DIFFERING
    if pair.apart:
        conclusion = tr("methodology.pair.apart")
    elif differing < fewest:
        conclusion = tr("methodology.pair.few", differing=differing, fewest=fewest)
    else:
        conclusion = tr("methodology.pair.tied")
    st.markdown(f"{finding} {conclusion}")


def draw_standing_rules(frame: pd.DataFrame) -> None:
    """What each standing means, and how many targets of this board have it."""
    st.subheader(tr("methodology.standing"), anchor=False)
    st.markdown(tr("methodology.standing_words"))
    counts = methodology.standing_counts(frame)
    names = {"ranked": tr("methodology.standing.ranked")}
    titles = [tr("methodology.standing.status"), tr("methodology.outcome_meaning")]
    rows = [
        (
            names.get(status) or tr(f"ranking.status.{status}"),
            tr(f"methodology.standing.about.{status}"),
            str(count),
        )
        for status, count in counts.items()
    ]
    titles.append(tr("methodology.standing.here"))
    tables.draw_word_table(titles, rows, tr("methodology.standing_alt"))
