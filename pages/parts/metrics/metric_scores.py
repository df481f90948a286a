"""The scores of one metric: what is read, what it measures, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from evalcore.catalog import FLOOR_CONTROLS
from evalcore.charts import plots
from evalcore.charts.comparisons import build_stacked_bars
from evalcore.plain_text import DASH
from evalcore.settings import Settings
from evalcore.target_cards import colour_of
from evalcore.views import board_titles, metric_board, stored_boards
from evalcore.views.boards import Board
from evalcore.views.metric_board import OTHER, MetricView, level_columns
from evalcore.views.ranking import filter_ranking
from pages.shared import board_view as shared
from pages.shared import display_names, exports, page_links, ranking_rows, url_state, wording
from pages.shared.board_view import benchmark_title, cost_format, format_number_range, metric_title
from pages.shared.evidence import cause_title
from pages.shared.wording import Translate, current_language, escape_markdown, to_plain_line

# What the Metrics page reads: made once per state of the store, shared by all visitors, and never
# changed by any of them.

_MAX_CACHED_METRICS = 16
_MAX_CACHED_SEARCHES = 8  # of what is asked for in as many ways as there are visitors


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


def load_metric(settings: Settings, part: BoardMetric) -> MetricOverview:
    return _load_cached_metric(_build_metric_key(settings, part), settings, part)


def search_metric(settings: Settings, part: BoardMetric, text: str) -> MetricRows:
    """What a visitor searches for in a metric."""
    return _search_cached_metric(_build_metric_key(settings, part), text, settings, part)


def _build_metric_key(settings: Settings, part: BoardMetric) -> str:
    """Changes whenever what is read may."""
    own = (part.board.suite, part.board.key, part.benchmark, part.metric)
    return "&".join([ranking_rows.compute_store_version(settings), *own])


@st.cache_resource(max_entries=_MAX_CACHED_METRICS, show_spinner=False)
def _load_cached_metric(key: str, _settings: Settings, _part: BoardMetric) -> MetricOverview:
    view = shared.metric_view(_settings, *_part)
    standing = display_names.join_target_names(view.standing)
    lines = metric_board.find_control_lines(stored_boards.load_run_headers(_settings), *_part)
    return MetricOverview(view, standing, ranking_rows.group_tied_names(standing), lines)


@st.cache_resource(max_entries=_MAX_CACHED_SEARCHES, show_spinner=False)
def _search_cached_metric(
    key: str, text: str, _settings: Settings, _part: BoardMetric
) -> MetricRows:
    rows = filter_ranking(load_metric(_settings, _part).standing, text)
    first = rows["status"] == "ranked"
    return MetricRows(rows[first], rows[~first], rows)


# What a metric measures, its weight, how many cases it has and what its verdicts rest on.


def draw_metric_card(part: BoardMetric, view: MetricView, tr: Translate) -> None:
    """Title, description and badges."""
    column = part.board.columns[part.benchmark]
    card, evidence = column.card.find_metric(part.metric), column.evidence(part.metric)
    with st.container(border=True, gap="small"):
        name = escape_markdown(metric_title(part.benchmark, part.metric))
        st.markdown(f"**{name}** · {escape_markdown(benchmark_title(part.benchmark))}")
        about = board_titles.metric_about(
            part.board, part.benchmark, part.metric, current_language()
        )
        if about:
            st.markdown(escape_markdown(about, 1000))
        with st.container(horizontal=True, gap="small"):
            weight = view.weight if view.cases else card.weight
            st.badge(_format_metric_weight(weight, tr), color="gray", icon=":material/balance:")
            st.badge(
                tr("ranking.cases", count=view.cases),
                color="gray",
                icon=":material/checklist:",
            )
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


def _format_metric_weight(weight: float | None, tr: Translate) -> str:
    if weight is None:
        return tr("metrics.unscored")
    return tr("metrics.weight", weight=wording.format_weight(weight))


# The tables of the Metrics page: the ranked targets, and those without a rank with the reason.

_NAME_LENGTH = 60
_PAGE = "metrics"
_TALLEST = 20  # rows before the table scrolls


def draw_metric_tables(
    metric_rows: MetricRows, text: str, part: BoardMetric, tr: Translate
) -> None:
    """The ranked with the way to targets and cases, the others below, and all of it as CSV; `text`
    is what found them."""
    query_key = (part.board.key, part.benchmark, part.metric, text)
    page_slices = [
        url_state.cut_table_page(rows, _PAGE, name, *query_key)
        for rows, name in ((metric_rows.ranked, "p"), (metric_rows.others, "pu"))
    ]
    ranked, others = (page_slice.rows.reset_index(drop=True) for page_slice in page_slices)
    if len(ranked):
        rank_columns = {
            "range": _format_column_ranges(ranked, "rank_low", "rank_high", "{:.0f}"),
            "group": ranked["group"],
        }
        table = (
            {"rank": ranked["rank"]}
            | _build_metric_columns(ranked)
            | rank_columns
            | _build_trailing_columns(ranked)
        )
        _draw_metric_table(ranked, table, part, "ranked", tr)
        url_state.draw_table_pager(page_slices[0], _PAGE, "p", tr)
        _draw_table_footer(metric_rows.rows, part, tr)
    if len(others):
        st.subheader(tr("ranking.unranked"), anchor=False)
        reasons = [tr(f"ranking.status.{status}") for status in others["status"]]
        table = (
            _build_metric_columns(others) | {"status": reasons} | _build_trailing_columns(others)
        )
        _draw_metric_table(others, table, part, "unranked", tr)
        url_state.draw_table_pager(page_slices[1], _PAGE, "pu", tr)
        published = "ranking.unranked_published"
        st.caption(tr(published if part.board.published else "ranking.unranked_about"))


def _draw_table_footer(frame: pd.DataFrame, part: BoardMetric, tr: Translate) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("metrics.open_hint"))
        st.space("stretch")
        st.download_button(
            tr("ranking.download"),
            lambda: exports.to_csv_bytes(frame),  # made on a click
            file_name=f"evalboard-{part.benchmark}-{part.metric}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )


def _build_metric_columns(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        "target": [to_plain_line(name, _NAME_LENGTH) for name in frame["name"]],
        "score": frame["score"].astype(float),
        "interval": _format_column_ranges(frame, "low", "high", "{:.1f}"),
        "passed": _format_passed_cases(frame),
    }


def _build_trailing_columns(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        **{level: frame[level].astype(float) for level in level_columns(frame)},
        "cost": frame["cost"].astype(float),
        "latency": frame["latency"].astype(float),
        "date": frame["date"].dt.date,
    }


def _draw_metric_table(
    frame: pd.DataFrame, columns: dict[str, Any], part: BoardMetric, name: str, tr: Translate
) -> None:
    """One table; a click on a name or on the cases is gone after one run of the page."""
    key = f"metrics.{name}"
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        column_config=_build_metric_config(frame, key, tr),
        placeholder=DASH,
        height=38 + 35 * min(len(frame), _TALLEST),
        key=f"{key}.table",
        alt=tr(f"metrics.{name}_alt"),
    )
    _follow_table_click(frame, part, key)


def _follow_table_click(frame: pd.DataFrame, part: BoardMetric, key: str) -> None:
    """Go where a click asks: to the target, or to its cases of this metric."""
    for name in ("target", "cases"):
        click = st.session_state.get(f"{key}.{name}")
        if click is not None and click["row"] < len(frame):
            identity = frame["identity"].iloc[click["row"]]
            link = page_links.build_metric_query(identity, part.board, part.benchmark, part.metric)
            query = link if name == "cases" else {"key": identity}
            st.switch_page(page_links.TARGET, query_params=query)


def _format_passed_cases(frame: pd.DataFrame) -> list[str | None]:
    """Passed of all cases; a mean over several tries may be a fraction."""
    return [
        None if pd.isna(cases) else f"{round(passed, 2):g}/{cases:.0f}"
        for passed, cases in zip(frame["passed"], frame["cases"], strict=True)
    ]


def _format_column_ranges(frame: pd.DataFrame, low: str, high: str, form: str) -> list[str | None]:
    return [
        format_number_range(a, b, form) or None
        for a, b in zip(frame[low], frame[high], strict=True)
    ]


def _build_metric_config(frame: pd.DataFrame, key: str, tr: Translate) -> dict[str, Any]:
    column_config = st.column_config
    narrow: dict[str, Any] = {"width": 76, "alignment": "center"}
    config = {
        "rank": column_config.NumberColumn(
            tr("ranking.rank"), help=tr("ranking.rank_help"), width=52, alignment="center"
        ),
        "target": _build_link_column(
            tr("common.target"), tr("ranking.open_hint"), f"{key}.target", 220
        ),
        "score": column_config.ProgressColumn(
            tr("common.score"), min_value=0, max_value=100, format="%.1f", width=140
        ),
        "interval": column_config.TextColumn(tr("ranking.interval"), width=105),
        "passed": _build_link_column(
            tr("ranking.passed"), tr("metrics.cases_help"), f"{key}.cases", 86
        ),
        "range": column_config.TextColumn(
            tr("ranking.rank_range"), help=tr("ranking.rank_range_help"), **narrow
        ),
        "group": column_config.NumberColumn(
            tr("ranking.group"), help=tr("ranking.group_help"), **narrow
        ),
        "status": column_config.TextColumn(tr("ranking.status"), width="medium"),
        "cost": column_config.NumberColumn(
            tr("metrics.cost"),
            format=cost_format(frame["cost"]),
            help=tr("metrics.cost_help"),
            width="small",
        ),
        "latency": column_config.NumberColumn(
            tr("common.latency"), format="%.2f s", help=tr("ranking.latency_help"), width="small"
        ),
        "date": column_config.DateColumn(tr("ranking.date"), format="YYYY-MM-DD", width="small"),
    }
    for level in level_columns(frame):
        config[level] = column_config.NumberColumn(
            tr("metrics.level", level=level.partition("/")[2]),
            format="%.1f",
            help=tr("metrics.level_help"),
            width="small",
        )
    return config


def _build_link_column(label: str, about: str, key: str, width: int) -> Any:
    """A column of names that lead somewhere."""
    return st.column_config.ButtonColumn(
        label, type="tertiary", alignment="left", width=width, key=key, help=about
    )


# The charts of the Metrics page: scores with their floors and ceiling, and why answers failed.

_BAR_NAME_LENGTH = 40
_MAX_BARS = 40
_FLOORS, _CEILING = FLOOR_CONTROLS, ("reference",)


def draw_score_chart(
    ranked: pd.DataFrame, lines: dict[str, float], source: str, tr: Translate
) -> None:
    """A bar per ranked target in its own colour, floors and ceiling as dashed lines; `source` names
    metric and board in the files of the chart."""
    shown = ranked.head(_MAX_BARS)
    if shown.empty:
        return
    bars = [to_plain_line(name, _BAR_NAME_LENGTH) for name in shown["name"]]
    summary = ", ".join(f"{n} {s:.1f}" for n, s in zip(bars, shown["score"], strict=True))
    exports.draw_chart_frame(
        plots.build_score_bars(
            shown.assign(name=bars, colour=[colour_of(name) for name in shown["identity"]]),
            labels={
                "name": tr("common.target"),
                "score": tr("common.score"),
                "interval": tr("ranking.interval"),
            },
            floors=_build_chart_lines(lines, _FLOORS, tr),
            ceiling=_build_chart_lines(lines, _CEILING, tr),
        ),
        tr,
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


def draw_failure_chart(
    causes: pd.DataFrame, ranked: pd.DataFrame, source: str, tr: Translate
) -> None:
    """Why the answers of the ranked targets failed, as parts of all answers of the metric."""
    if ranked.empty:
        return
    shown = ranked.head(_MAX_BARS)
    st.subheader(tr("metrics.failures"), anchor=False)
    shown_causes = causes[causes["identity"].isin(list(shown["identity"]))]
    if shown_causes.empty:
        st.caption(tr("metrics.failures_none"))
        return
    titles = _build_cause_titles(list(dict.fromkeys(causes["cause"])), tr)
    totals = shown_causes.groupby("cause", sort=False)["count"].sum().drop(OTHER, errors="ignore")
    ordered = [*totals.sort_values(ascending=False, kind="stable").index]
    ordered += [OTHER] if OTHER in set(shown_causes["cause"]) else []
    names = dict(zip(shown["identity"], shown["name"], strict=True))
    rows = shown_causes.assign(
        name=[
            to_plain_line(names[identity], _BAR_NAME_LENGTH)
            for identity in shown_causes["identity"]
        ],
        part=[titles[cause] for cause in shown_causes["cause"]],
    )
    counts = shown_causes.groupby("cause")["count"].sum()
    exports.draw_chart_frame(
        build_stacked_bars(
            rows,
            [titles[cause] for cause in ordered],
            {
                "name": tr("common.target"),
                "part": tr("common.cause"),
                "count": tr("target.count"),
                "share": tr("target.share"),
            },
        ),
        tr,
        name="metric-failures",
        title=tr("metrics.failures"),
        source=source,
        data=lambda: shown_causes,
        alt_text=tr(
            "metrics.failures_alt",
            summary=", ".join(f"{titles[cause]} {counts[cause]}" for cause in ordered),
        ),
    )
    st.caption(tr("metrics.failures_about"))


def _build_chart_lines(
    lines: dict[str, float], controls: Sequence[str], tr: Translate
) -> dict[str, float]:
    return {
        tr(f"metrics.line.{name}", score=f"{lines[name]:.1f}"): lines[name]
        for name in controls
        if name in lines
    }


def _build_cause_titles(causes: Sequence[str], tr: Translate) -> dict[str, str]:
    """A title per cause, told apart where two read the same: parts of one name would be one."""
    titles = {cause: cause_title(cause) if cause else tr("metrics.other") for cause in causes}
    return {
        cause: f"{title} ({to_plain_line(cause)})" if [*titles.values()].count(title) > 1 else title
        for cause, title in titles.items()
    }
