"""Methodology: what a published board rests on, with its own numbers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from evalcore.settings import Settings
from evalcore.views.published_boards import PublishedBoard
from evalcore.views.published_claims import HARMLESS, list_claim_findings
from evalcore.views.published_pairs import compare_published_rows
from evalcore.views.published_ranking import PublishedRanking, list_month_leaders
from evalcore.views.ranking import SUITE
from pages.shared import published_source, tables, wording
from pages.shared.board_view import benchmark_title, format_bold, metric_title
from pages.shared.tables import number_column, text_column
from pages.shared.wording import escape_markdown, to_plain_line, tr


def draw_published_methodology(settings: Settings, controls: Any) -> None:
    """Where the figures come from, how scores are worked out, what is odd."""
    with controls:
        source = published_source.select_published_board(settings, "methodology")
    published_source.draw_source_note(source)
    ranking = published_source.load_source_ranking(source)
    _draw_source(source)
    if source.has_verdicts:
        _draw_month_rule(source)
        _draw_worked_score(ranking)
        _draw_rivals(ranking, settings)
    else:
        st.subheader(tr("methodology.sure"), anchor=False)
        st.markdown(tr("published.claims_words"))
    _draw_leaders(ranking)
    if source.has_verdicts:
        findings = [
            finding
            for finding in list_claim_findings(settings, source.publisher.key, source.month)
            if finding.kind not in HARMLESS
        ]
        published_source.draw_findings(findings, with_names=True)


def _draw_source(source: PublishedBoard) -> None:
    st.subheader(tr("published.source_title"), anchor=False)
    publisher = source.publisher
    rows = [
        (tr("published.publisher"), publisher.title),
        (tr("published.source_link"), publisher.source),
        (tr("published.revision_title"), publisher.revision),
        (tr("published.date"), publisher.date),
        (tr("published.licence_title"), publisher.licence),
        (tr("published.month"), source.month),
        (tr("published.entries"), str(len(source.entries))),
    ]
    if source.setup:
        first = next(iter(source.entries.values()))
        rows.append((tr("published.setup"), published_source.format_setup(first.setup)))
    shown = [(name, to_plain_line(value, 120)) for name, value in rows if value]
    tables.draw_word_table([" ", "  "], shown, tr("published.source_title"))
    st.markdown(tr("published.apart_words"))


def _draw_month_rule(source: PublishedBoard) -> None:
    """The weights and cases of the month."""
    st.subheader(tr("methodology.score"), anchor=False)
    st.markdown(tr("published.rule_words"))
    rows = [
        (
            benchmark_title(key),
            metric_title(key, metric),
            wording.format_weight(weight),
            str(len(rule.points[metric])),
            f"{sum(rule.points[metric].values()):g}",
        )
        for key, rule in source.rules.items()
        for metric, weight in rule.weights.items()
    ]
    titles = [tr("common.benchmark"), tr("common.metric"), tr("methodology.weight")]
    titles += [tr("methodology.cases"), tr("methodology.maximum")]
    tables.draw_word_table(titles, rows, tr("published.rule_alt"))


def _draw_worked_score(ranking: PublishedRanking) -> None:
    """The score of the first row in each benchmark, from points and weights."""
    if not ranking.ranked:
        return
    row = ranking.ranked[0]
    st.markdown(tr("methodology.worked", name=format_bold(ranking.names[row["identity"]])))
    for key, rule in ranking.source.rules.items():
        score = ranking.targets[row["identity"]].score(key)
        if score is None or score.score is None:
            continue
        terms = []
        for metric, weight in rule.weights.items():
            value, most = score.metrics[metric][0], sum(rule.points[metric].values())
            points = "?" if value is None else f"{round(value * most / 100, 1):g}"
            terms.append((wording.format_weight(weight), points, f"{most:g}"))
        above = " + ".join(rf"{weight} \cdot {points}" for weight, points, _ in terms)
        below = " + ".join(rf"{weight} \cdot {most}" for weight, _, most in terms)
        st.markdown(f"###### {escape_markdown(benchmark_title(key))}")
        st.latex(rf"100 \cdot \frac{{{above}}}{{{below}}} = {score.score:.1f}")
    if ranking.order == SUITE and row["score"] is not None:
        st.caption(tr("published.mean_words", score=f"{row['score']:.1f}"))


def _draw_rivals(ranking: PublishedRanking, settings: Settings) -> None:
    """The first two of the board against each other, case by case."""
    st.subheader(tr("methodology.sure"), anchor=False)
    st.markdown(tr("methodology.interval_words"))
    if len(ranking.ranked) < 2:
        return
    first, second = ranking.ranked[:2]
    comparison = compare_published_rows(settings, second["run_id"], first["run_id"])
    for pair in comparison.pairs:
        if pair.metric or pair.result is None or pair.result.interval is None:
            continue
        values = {
            "title": escape_markdown(benchmark_title(pair.benchmark)),
            "first": format_bold(comparison.second_name),
            "second": format_bold(comparison.first_name),
            "difference": wording.format_difference(pair.second - pair.first),
            "interval": wording.format_signed_interval(pair.result.interval),
            "wins": pair.result.wins,
            "losses": pair.result.losses,
            "cases": pair.result.common,
        }
        st.markdown(f"- {tr('published.rivals', **values)}")


def _draw_leaders(ranking: PublishedRanking) -> None:
    leaders = list_month_leaders(ranking)
    if len(leaders) < 2:
        return
    st.subheader(tr("published.leaders"), anchor=False)
    columns = {
        "month": [row["month"] for row in leaders],
        "name": [to_plain_line(row["name"], 60) for row in leaders],
        "score": [row["score"] for row in leaders],
        "tied": [row["tied"] for row in leaders],
    }
    config = {
        "month": text_column("published.month"),
        "name": text_column("common.target"),
        "score": number_column("common.score", "%.1f"),
        "tied": number_column("published.tied"),
    }
    shown = {name: values for name, values in columns.items() if any(v is not None for v in values)}
    tables.draw_grid(shown, config, tr("published.leaders"), tables.EVERY_ROW)
