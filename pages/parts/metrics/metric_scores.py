"""The scores of one metric: what is read, what it measures, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from evalcore.catalog import FLOOR_CONTROLS
from evalcore.charts import plots
from evalcore.charts.comparisons import build_stacked_bars
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.target_cards import colour_of
from evalcore.views import board_titles, metric_board, stored_boards
from evalcore.views.boards import Board
from evalcore.views.metric_board import OTHER, MetricView, level_columns
from evalcore.views.published_metrics import find_board_source, load_published_metric
from evalcore.views.published_payloads import compute_publications_signature
from evalcore.views.published_ranking import name_entries
from evalcore.views.ranking import filter_ranking
from pages.shared import (
    board_view,
    display_names,
    exports,
    page_links,
    published_source,
    ranking_rows,
    tables,
    url_state,
    widgets,
    wording,
)
from pages.shared.board_view import benchmark_title, metric_title
from pages.shared.evidence import distinct_cause_titles
from pages.shared.tables import link_column, number_column, text_column
from pages.shared.wording import current_language, escape_markdown, to_plain_line, tr

# What the Metrics page reads: made once per state of the store, shared by all visitors, and never
# changed by any of them.


class BoardMetric(NamedTuple):
    """The metric of a board that is shown."""

    board: Board
    benchmark: str
    metric: str


class MetricOverview(NamedTuple):
    """A metric across a board: its view, every row with its name, the names of the ranked by group
    of ties, and the scores of the controls that are drawn as lines."""

    view: MetricView
    standing: pd.DataFrame
    groups: list[list[str]]
    lines: dict[str, float]


class MetricRows(NamedTuple):
    """The rows that a search finds, those with a rank and the others; and all of them."""

    ranked: pd.DataFrame
    others: pd.DataFrame
    rows: pd.DataFrame


_metrics: SingleFlightCache[MetricOverview] = SingleFlightCache(16)
#: Fewer, for they are asked for in as many ways as there are visitors.
_searches: SingleFlightCache[MetricRows] = SingleFlightCache(8)


def load_metric(settings: Settings, part: BoardMetric) -> MetricOverview:
    return _metrics.get(
        _build_metric_key(settings, part), lambda: _build_metric_overview(settings, part)
    )


def search_metric(settings: Settings, part: BoardMetric, text: str) -> MetricRows:
    """What a visitor searches for in a metric."""
    key = (_build_metric_key(settings, part), text)
    return _searches.get(key, lambda: _select_metric_rows(settings, part, text))


def _build_metric_key(settings: Settings, part: BoardMetric) -> str:
    """Changes whenever what is read may."""
    own = (part.board.suite, part.board.key, part.benchmark, part.metric)
    if part.board.is_publication:
        return "&".join([compute_publications_signature(settings), *own])
    return "&".join([ranking_rows.compute_store_version(settings), *own])


def _build_metric_overview(settings: Settings, part: BoardMetric) -> MetricOverview:
    if (source := find_board_source(settings, part.board)) is not None:
        view = load_published_metric(source, part.benchmark, part.metric)
        names = name_entries(source)
        named = view.standing.assign(
            name=[names[identity] for identity in view.standing["identity"]],
            organization=[source.entries[who].organization for who in view.standing["identity"]],
        )
        groups = ranking_rows.group_tied_names(named) if source.has_verdicts else []
        return MetricOverview(view, named, groups, {})
    view = stored_boards.load_cached_metric(settings, *part)
    standing = display_names.join_target_names(view.standing)
    lines = metric_board.find_control_lines(stored_boards.load_run_headers(settings), *part)
    return MetricOverview(view, standing, ranking_rows.group_tied_names(standing), lines)


def _select_metric_rows(settings: Settings, part: BoardMetric, text: str) -> MetricRows:
    rows = filter_ranking(load_metric(settings, part).standing, text)
    first = rows["status"] == "ranked"
    return MetricRows(rows[first], rows[~first], rows)


# What a metric measures, its weight, how many cases it has and what its verdicts rest on.


def draw_metric_card(part: BoardMetric, view: MetricView) -> None:
    """Title, description and badges."""
    column = part.board.columns[part.benchmark]
    card, evidence = column.card.find_metric(part.metric), column.evidence(part.metric)
    with st.container(border=True, gap="small"):
        name = escape_markdown(metric_title(part.benchmark, part.metric))
        st.markdown(f"**{name}** · {escape_markdown(benchmark_title(part.benchmark))}")
        language = current_language()
        about = board_titles.metric_about(part.board, part.benchmark, part.metric, language)
        if about:
            st.markdown(escape_markdown(about, 1000))
        with st.container(horizontal=True, gap="small"):
            weight, text = view.weight if view.cases else card.weight, tr("metrics.unscored")
            if weight is not None:
                text = tr("metrics.weight", weight=wording.format_weight(weight))
            st.badge(text, color="gray", icon=":material/balance:")
            cases = tr("ranking.cases", count=view.cases)
            st.badge(cases, color="gray", icon=":material/checklist:")
            # In a mode that decides otherwise, runs of an older version name the metric's own kind.
            counted = view.evidence if evidence == card.evidence else {}
            kinds = counted or {evidence: 1.0}
            for kind, share in ({"published": 1.0} if part.board.taken_over else kinds).items():
                word = tr(f"common.evidence.{kind}")
                st.badge(
                    word if share == 1 else f"{word} {share:.0%}",
                    color="violet",
                    icon=":material/verified:",
                    help=tr(f"common.evidence.{kind}.about"),
                )


_NAME_LENGTH = 60
_TALLEST = 20  # rows before the table scrolls


def draw_metric_tables(metric_rows: MetricRows, text: str, part: BoardMetric) -> None:
    """The ranked with the way to targets and cases, the others below, and all of it as CSV; `text`
    is what found them."""
    query_key = (part.board.key, part.benchmark, part.metric, text)
    cuts = [
        url_state.cut_table_page(rows, f"metrics.{name}", *query_key)
        for rows, name in ((metric_rows.ranked, "p"), (metric_rows.others, "pu"))
    ]
    ranked, others = (cut.rows.reset_index(drop=True) for cut in cuts)
    if len(ranked):
        ranges = tables.format_ranges(ranked, "rank_low", "rank_high", "{:.0f}")
        own = {"range": ranges, "group": ranked["group"]}
        _draw_metric_table(ranked, {"rank": ranked["rank"]}, own, part, "ranked")
        url_state.draw_table_pager(cuts[0])
        _draw_table_footer(metric_rows.rows, part)
    if len(others):
        with board_view.draw_unranked_frame(cuts[1], part.board):
            reasons = [tr(f"ranking.status.{status}") for status in others["status"]]
            _draw_metric_table(others, {}, {"status": reasons}, part, "unranked")


def _draw_table_footer(frame: pd.DataFrame, part: BoardMetric) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("metrics.open_hint"))
        st.space("stretch")
        file_name = f"evalboard-{part.benchmark}-{part.metric}.csv"
        label, look = tr("ranking.download"), {"type": "tertiary"}
        widgets.draw_download(label, lambda: exports.to_csv_bytes(frame), file_name, **look)


def _draw_metric_table(
    frame: pd.DataFrame, first: dict[str, Any], own: dict[str, Any], part: BoardMetric, name: str
) -> None:
    """One table, the columns `first` before all others and `own` between those of every table; a
    click leads to the target, or to its cases of this metric."""
    key = f"metrics.{name}"
    columns = {
        **first,
        "target": [to_plain_line(name, _NAME_LENGTH) for name in frame["name"]],
        "score": frame["score"].astype(float),
        "interval": tables.format_ranges(frame, "low", "high", "{:.1f}"),
        "passed": _format_passed_cases(frame),
        **own,
        **{level: frame[level].astype(float) for level in level_columns(frame)},
        "cost": frame["cost"].astype(float),
        "latency": frame["latency"].astype(float),
        "date": frame["date"].dt.date,
    }
    empty = {key for key in ("cost", "latency", "date") if pd.isna(columns[key]).all()}
    columns = {key: values for key, values in columns.items() if key not in empty}
    config, alt = _build_metric_config(frame, key), tr(f"metrics.{name}_alt")
    pinned = 1 + len(first)
    tables.draw_grid(columns, config, alt, _TALLEST, pinned, key=f"{key}.table")
    for name in ("target", "cases"):
        if (clicked := tables.read_clicked_row(f"{key}.{name}", len(frame))) is not None:
            identity = frame["identity"].iloc[clicked]
            link = page_links.build_metric_query(identity, part.board, part.benchmark, part.metric)
            query = link if name == "cases" else {"key": identity}
            if part.board.is_publication:
                query = published_source.build_row_query(part.board, identity)
            st.switch_page(page_links.TARGET, query_params=query)


def _format_passed_cases(frame: pd.DataFrame) -> list[str | None]:
    """Passed of all cases; a mean over several tries may be a fraction."""
    return [
        None if pd.isna(cases) else f"{round(passed, 2):g}/{cases:.0f}"
        for passed, cases in zip(frame["passed"], frame["cases"], strict=True)
    ]


def _build_metric_config(frame: pd.DataFrame, key: str) -> dict[str, Any]:
    narrow: dict[str, Any] = {"width": 76, "alignment": "center"}
    level_help: dict[str, Any] = {"help": tr("metrics.level_help"), "width": "small"}
    rank = narrow | {"width": 52, "help": tr("ranking.rank_help")}
    return {
        "rank": number_column("ranking.rank", **rank),
        "target": link_column("common.target", f"{key}.target", "ranking.open_hint", width=170),
        "score": tables.share_column("common.score", "%.1f", width=115),
        "interval": text_column("ranking.interval", 105),
        "passed": link_column("ranking.passed", f"{key}.cases", "metrics.cases_help", width=86),
        "range": text_column("ranking.rank_range", help=tr("ranking.rank_range_help"), **narrow),
        "group": number_column("ranking.group", help=tr("ranking.group_help"), **narrow),
        "status": text_column("ranking.status", "medium"),
        "cost": number_column(
            "metrics.cost", tables.cost_format(frame["cost"]), help=tr("metrics.cost_help")
        ),
        "latency": number_column("common.latency", "%.2f s", help=tr("ranking.latency_help")),
        "date": st.column_config.DateColumn(tr("ranking.date"), format="YYYY-MM-DD", width="small"),
    } | {
        level: st.column_config.NumberColumn(
            tr("metrics.level", level=level.partition("/")[2]), format="%.1f", **level_help
        )
        for level in level_columns(frame)
    }


# The charts of the Metrics page: scores with their floors and ceiling, and why answers failed.

_BAR_NAME_LENGTH = 40
_MAX_BARS = 40
_FLOORS, _CEILING = FLOOR_CONTROLS, ("reference",)


def draw_score_chart(ranked: pd.DataFrame, lines: dict[str, float], source: str) -> None:
    """A bar per ranked target in its own colour, floors and ceiling as dashed lines; `source` names
    metric and board in the files of the chart."""
    shown = ranked.head(_MAX_BARS)
    if shown.empty:
        return
    bars = [to_plain_line(name, _BAR_NAME_LENGTH) for name in shown["name"]]
    summary = ", ".join(f"{n} {s:.1f}" for n, s in zip(bars, shown["score"], strict=True))
    coloured = shown.assign(name=bars, colour=[colour_of(name) for name in shown["identity"]])
    exports.draw_chart_frame(
        plots.build_score_bars(
            coloured,
            labels=exports.label_scores("common.target"),
            floors=_build_chart_lines(lines, _FLOORS),
            ceiling=_build_chart_lines(lines, _CEILING),
        ),
        name="metric-scores",
        title=tr("ranking.chart"),
        source=source,
        alt_text=tr("ranking.chart_alt", summary=summary),
        data=lambda: shown[["identity", "score", "low", "high"]],
    )
    about = [tr("metrics.chart_about"), tr("metrics.lines_about") if lines else ""]
    more = len(ranked) - len(shown)
    about.append(tr("metrics.not_drawn", count=more) if more else "")
    st.caption(" ".join(about))


def draw_failure_chart(causes: pd.DataFrame, ranked: pd.DataFrame, source: str) -> None:
    """Why the answers of the ranked targets failed, as parts of all answers of the metric."""
    if ranked.empty:
        return
    shown = ranked.head(_MAX_BARS)
    st.subheader(tr("metrics.failures"), anchor=False)
    shown_causes = causes[causes["identity"].isin(list(shown["identity"]))]
    if shown_causes.empty:
        st.caption(tr("metrics.failures_none"))
        return
    titles = distinct_cause_titles(causes["cause"], tr("metrics.other"))
    totals = shown_causes.groupby("cause", sort=False)["count"].sum().drop(OTHER, errors="ignore")
    ordered = [*totals.sort_values(ascending=False, kind="stable").index]
    ordered += [OTHER] if OTHER in set(shown_causes["cause"]) else []
    names = {
        identity: to_plain_line(name, _BAR_NAME_LENGTH)
        for identity, name in zip(shown["identity"], shown["name"], strict=True)
    }
    rows = shown_causes.assign(
        name=shown_causes["identity"].map(names), part=shown_causes["cause"].map(titles)
    )
    counts = shown_causes.groupby("cause")["count"].sum()
    labels = {
        "name": tr("common.target"),
        "part": tr("common.cause"),
        "count": tr("target.count"),
        "share": tr("target.share"),
    }
    summary = ", ".join(f"{titles[cause]} {counts[cause]}" for cause in ordered)
    exports.draw_chart_frame(
        build_stacked_bars(rows, [titles[cause] for cause in ordered], labels),
        name="metric-failures",
        title=tr("metrics.failures"),
        source=source,
        data=lambda: shown_causes,
        alt_text=tr("metrics.failures_alt", summary=summary),
    )
    st.caption(tr("metrics.failures_about"))


def _build_chart_lines(lines: dict[str, float], controls: Sequence[str]) -> dict[str, float]:
    return {
        tr(f"metrics.line.{name}", score=f"{lines[name]:.1f}"): lines[name]
        for name in controls
        if name in lines
    }
