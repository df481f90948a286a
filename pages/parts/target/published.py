"""Target: a model as a publisher shows it, with its claims beside what its verdicts give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.charts import plots
from evalcore.plain_text import DASH
from evalcore.settings import Settings
from evalcore.views import targets
from evalcore.views.board_titles import order_title
from evalcore.views.published_boards import PublishedBoard, load_published_board
from evalcore.views.published_claims import list_claim_findings
from evalcore.views.published_pairs import list_published_cases
from evalcore.views.published_ranking import (
    PublishedRanking,
    build_published_trend,
    list_month_ranks,
)
from evalcore.views.ranking import list_board_orders
from pages.parts.target import profile
from pages.shared import exports, page_links, published_source, tables, url_state, widgets, wording
from pages.shared.board_view import benchmark_title, metric_title, select_benchmark, select_metric
from pages.shared.published_source import PUBLISHED
from pages.shared.tables import format_number_range, number_column, text_column
from pages.shared.wording import current_language, escape_markdown, format_fact, to_plain_line, tr

_CARD = 140  # pixels, at least
_NEAR = 3  # ranked models on either side
_TALLEST = 14  # rows of cases before the table scrolls
_OUTCOMES = ("passed", "failed", "missing")
_SIGNS = {"passed": "✓", "failed": "✕", "missing": "–"}


def draw_published_target(settings: Settings, controls: Any) -> None:
    """The model that the URL names on the board that it names; in a month that lacks the model its
    newest earlier one, or else the first later one."""
    with controls:
        source = published_source.select_published_board(settings, "target")
    source = _follow_model(settings, source, st.query_params.get("key", ""))
    ranking = published_source.load_source_ranking(source)
    names = ranking.names
    with controls:
        identity = url_state.draw_select(
            tr("target.pick"),
            list(ranking.frame["identity"]),
            "target.key",
            lambda code: to_plain_line(names[code]),
            explicit=True,
            width=340,
            label_visibility="collapsed",
        )
    _draw_head(ranking, identity)
    published_source.draw_source_note(source)
    _draw_figures(ranking, identity)
    _draw_links(ranking, identity)
    _draw_profile(ranking, identity)
    _draw_score_table(ranking, identity)
    _draw_neighbors(ranking, identity)
    _draw_rank_history(ranking, identity)
    _draw_months(ranking, identity)
    _draw_cases(ranking, identity)
    if source.has_verdicts:
        findings = list_claim_findings(settings, source.publisher.key, source.month, identity)
        published_source.draw_findings(findings, with_names=False)


def _follow_model(settings: Settings, source: PublishedBoard, identity: str) -> PublishedBoard:
    """The board of the month nearest to `source` that holds the model, with a word about it."""
    if not identity or identity in source.entries:
        return source
    publisher = source.publisher.key
    own = sorted(
        (entry.month, entry.setup_key)
        for entry in source.publication.entries
        if f"{publisher}:{entry.identity}" == identity
    )
    if not own:
        return source
    earlier = [each for each in own if each[0] <= source.month]
    month, setup = earlier[-1] if earlier else own[0]
    name = escape_markdown(identity, 80)
    st.info(
        tr("published.other_month", name=name, asked=source.month, month=month),
        icon=":material/calendar_month:",
    )
    return load_published_board(settings, publisher, month, setup)


def _draw_head(ranking: PublishedRanking, identity: str) -> None:
    entry = ranking.source.entries[identity]
    st.title(escape_markdown(ranking.names[identity], 90), anchor=False)
    facts = [
        entry.organization,
        tr(f"published.type.{entry.type}") if entry.type else "",
        tr("card.released_in", date=entry.released) if entry.released else "",
        tr("published.submitted_by", name=entry.submitter) if entry.submitter else "",
        format_fact(tr("published.submitted"), entry.date) if entry.date else "",
        published_source.format_setup(entry.setup) if entry.setup else "",
    ]
    summary = " · ".join(escape_markdown(fact, 150) for fact in facts if fact)
    st.caption(f"{summary} · :material/tag: {escape_markdown(identity, 120)}")


def _draw_figures(ranking: PublishedRanking, identity: str) -> None:
    """Rank and score by the first order that ranks the model, the publisher's figure, passed
    cases."""
    own = _find_own_ranking(ranking, identity)
    row = own.table.frame.set_index("identity").loc[identity]
    rank = between = DASH
    if row["status"] == "ranked":
        rank = tr("target.rank_value", rank=row["rank"], total=len(own.ranked))
        between = _format_range(row["rank_low"], row["rank_high"], "{:.0f}")
    else:
        status = row["status"]
        between = tr(f"ranking.status.{status}")
    cards = [
        (tr("target.rank"), rank, between),
        (tr("target.score"), _format_score(row["score"]), _format_range(row["low"], row["high"])),
    ]
    if pd.notna(row["claimed"]):
        cards.append((tr("published.claimed"), _format_score(row["claimed"]), ""))
    cases = int(row["measured"] + row["errors"])
    if cases:
        share = tr("target.passed_share", share=f"{100 * row['passed'] / cases:.0f}")
        cards.append((tr("target.passed"), f"{row['passed']}/{cases}", share))
    with st.grid(min_column_width=_CARD):
        for label, value, note in cards:
            look = {"delta_color": "off", "delta_arrow": "off", "border": True}
            st.metric(label, value, delta=note or None, **look)
    st.caption(tr("published.figures_by", order=order_title(own.order, current_language())))


def _find_own_ranking(ranking: PublishedRanking, identity: str) -> PublishedRanking:
    """The board by the first order that ranks the model, else by the last."""
    own = ranking
    for order in list_board_orders(ranking.board):
        own = published_source.load_source_ranking(ranking.source, order)
        if any(row["identity"] == identity for row in own.ranked):
            break
    return own


def _format_score(value: float | None) -> str:
    return wording.format_score(tables.to_number(value))


def _format_range(low: float | None, high: float | None, template: str = "{:.1f}") -> str:
    if pd.isna(low) or pd.isna(high) or low is None or high is None:
        return tr("published.no_interval")
    return format_number_range(low, high, template)


def _draw_links(ranking: PublishedRanking, identity: str) -> None:
    """Back to the ranking, and to a comparison with the leader or, for the leader, the next."""
    query = published_source.build_board_query(ranking.source)
    runs = {row["identity"]: row["run_id"] for row in ranking.rows if row["status"] == "ranked"}
    other = next((name for name in runs if name != identity), "")
    own = next(header.run_id for header in ranking.headers if header.identity == identity)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        widgets.draw_link(page_links.RANKING, tr("target.to_ranking"), "leaderboard", **query)
        if other:
            name = escape_markdown(ranking.names[other], 28)
            label = tr("target.compare", name=name)
            pair = {"source": PUBLISHED, "runs": f"{own},{runs[other]}"}
            widgets.draw_link(page_links.COMPARE, label, "compare_arrows", **{**query, **pair})


def _draw_profile(ranking: PublishedRanking, identity: str) -> None:
    row = ranking.targets[identity]
    frame = targets.build_target_radar(ranking.headers, ranking.board, identity)
    axes = targets.list_radar_axes(ranking.board, row)
    if profile.has_profile(frame, axes):
        profile.draw_target_profile(frame, axes, ranking.names[identity])
    profile.draw_metric_bars(ranking.headers, ranking.board, identity)


def _draw_score_table(ranking: PublishedRanking, identity: str) -> None:
    """Every benchmark and metric: the score, what is claimed of it, and the best of the board."""
    entry = ranking.source.entries[identity]
    lines = targets.TargetView(ranking.headers, ranking.board, identity).list_all_scores()
    claims: list[float | None] = []
    for line in lines:
        score = entry.scores[line.benchmark]
        claims.append(score.metrics.get(line.metric) if line.metric else score.score)
    columns = {
        "benchmark": [benchmark_title(line.benchmark) for line in lines],
        "metric": [
            metric_title(line.benchmark, line.metric) if line.metric else tr("common.all")
            for line in lines
        ],
        "score": [line.score for line in lines],
        "interval": [
            None
            if line.low is None or line.high is None
            else format_number_range(line.low, line.high, "{:.1f}")
            for line in lines
        ],
        "claimed": claims,
        "best": [line.best for line in lines],
        "cases": [line.samples or None for line in lines],
    }
    config = {
        "benchmark": text_column("common.benchmark"),
        "metric": text_column("common.metric"),
        "score": tables.share_column("common.score", "%.1f", width=115),
        "interval": text_column("ranking.interval", 105),
        "claimed": number_column("published.claimed", "%.1f", help=tr("published.claimed_help")),
        "best": number_column("target.series.best", "%.1f"),
        "cases": number_column("methodology.cases"),
    }
    st.subheader(tr("published.scores"), anchor=False)
    shown = {name: values for name, values in columns.items() if _holds_any(values)}
    tables.draw_grid(shown, config, tr("published.scores_alt"), tables.EVERY_ROW)


def _holds_any(values: Sequence[object]) -> bool:
    return any(value is not None for value in values)


def _draw_months(ranking: PublishedRanking, identity: str) -> None:
    """The scores month by month, a line per benchmark."""
    frames = []
    for order in ranking.board.columns:
        own = published_source.load_source_ranking(ranking.source, order)
        trend = build_published_trend(own, [identity])
        frames.append(trend.assign(series=benchmark_title(order)))
    frame = pd.concat(frames, ignore_index=True)
    if frame["date"].nunique() < 2:
        return
    st.subheader(tr("published.months"), anchor=False)
    labels = {
        "date": tr("published.month"),
        "score": tr("common.score"),
        "series": tr("common.benchmark"),
        "run": tr("published.row"),
    }
    exports.draw_chart_frame(
        plots.build_trend_chart(frame, labels),
        name="published-trend",
        title=tr("published.months"),
        source=to_plain_line(ranking.names[identity]),
        alt_text=tr("published.months_alt", count=frame["date"].nunique()),
        data=lambda: frame,
    )
    st.caption(tr("published.months_about"))


def _draw_neighbors(ranking: PublishedRanking, identity: str) -> None:
    """The models just above and below, each a link to its page."""
    own = _find_own_ranking(ranking, identity)
    position = next((n for n, row in enumerate(own.ranked) if row["identity"] == identity), None)
    if position is None or len(own.ranked) < 2:
        return
    st.subheader(tr("published.neighbors"), anchor=False)
    query = published_source.build_board_query(ranking.source)
    for row in own.ranked[max(0, position - _NEAR) : position + _NEAR + 1]:
        name = escape_markdown(own.names[row["identity"]], 60)
        between = _format_range(row["low"], row["high"])
        text = f"{row['rank']}\\. {name} · {row['score']:.1f} ({escape_markdown(between)})"
        if row["identity"] == identity:
            st.markdown(f"**{text}**")
        else:
            link = {**query, "key": row["identity"]}
            widgets.draw_link(page_links.TARGET, text, "person_search", **link)


def _draw_rank_history(ranking: PublishedRanking, identity: str) -> None:
    """Rank, range and score month by month, the newest first."""
    months = list_month_ranks(_find_own_ranking(ranking, identity), identity)
    if len(months) < 2:
        return
    st.subheader(tr("published.rank_history"), anchor=False)

    def list_ranges(low: str, high: str, template: str) -> list[str | None]:
        return [
            None
            if month[low] is None or month[high] is None
            else format_number_range(month[low], month[high], template)
            for month in months
        ]

    columns = {
        "month": [month["month"] for month in months],
        "rank": [month["rank"] for month in months],
        "range": list_ranges("rank_low", "rank_high", "{:.0f}"),
        "score": [month["score"] for month in months],
        "interval": list_ranges("low", "high", "{:.1f}"),
        "models": [month["total"] for month in months],
    }
    config = {
        "month": text_column("published.month"),
        "rank": number_column("ranking.rank"),
        "range": text_column("ranking.rank_range"),
        "score": number_column("common.score", "%.1f"),
        "interval": text_column("ranking.interval"),
        "models": number_column("published.ranked_models"),
    }
    shown = {name: values for name, values in columns.items() if _holds_any(values)}
    tables.draw_grid(shown, config, tr("published.rank_history"), tables.EVERY_ROW)


def _draw_cases(ranking: PublishedRanking, identity: str) -> None:
    """The cases of a benchmark by verdict, and how many models passed each."""
    row = ranking.targets[identity]
    benchmarks = [key for key in row.runs if key in ranking.source.rules]
    if not benchmarks:
        return
    st.subheader(tr("published.cases"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        benchmark = select_benchmark(benchmarks, "target.benchmark", drawn_alone=False, width=240)
        cases = list_published_cases(ranking.source, identity, benchmark)
        metrics = ["", *dict.fromkeys(case.metric for case in cases)]
        metric = select_metric(benchmark, metrics, "target.metric", width=240)
        of_metric = [case for case in cases if metric in ("", case.metric)]
        counts = Counter(case.outcome for case in of_metric)
        outcome = url_state.draw_segments(
            tr("common.outcome"),
            ["", *sorted(counts, key=_OUTCOMES.index)],
            "target.outcome",
            lambda code: _format_outcome_count(code, counts),
        )
    shown = [case for case in of_metric if outcome in ("", case.outcome)]
    columns = {
        "outcome": [_format_outcome(case.outcome) for case in shown],
        "metric": [metric_title(benchmark, case.metric) for case in shown],
        "case": [to_plain_line(case.id, 40) for case in shown],
        "weight": [case.weight for case in shown],
        "passed": [f"{case.passed}/{case.asked}" for case in shown],
    }
    config = {
        "outcome": text_column("common.outcome"),
        "metric": text_column("common.metric"),
        "case": text_column("common.case"),
        "weight": number_column("compare.weight"),
        "passed": text_column("published.passed_by"),
    }
    tables.draw_grid(columns, config, tr("published.case_list_alt"), _TALLEST)
    st.caption(tr("published.cases_about"))


def _format_outcome(code: str) -> str:
    name = tr("published.no_verdict" if code == "missing" else f"common.outcome.{code}")
    return f"{_SIGNS[code]} {name}"


def _format_outcome_count(code: str, counts: Counter[str]) -> str:
    if not code:
        return f"{tr('common.all')} ({counts.total()})"
    return f"{_format_outcome(code)} ({counts[code]})"
