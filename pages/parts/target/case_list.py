"""The cases of a target: filtered, by cause of failure, and over its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.catalog import benchmark_cards
from evalcore.charts import plots
from evalcore.records import content_hash
from evalcore.settings import Settings
from evalcore.views import target_scores, targets
from evalcore.views.board_titles import DIALECT_TITLES
from evalcore.views.boards import Board, Row
from evalcore.views.cases import MISSING, CaseFilter, case_page, read_case_note
from evalcore.views.stored_boards import Headers
from evalcore.views.targets import OUTCOMES
from pages.parts.target import profile
from pages.shared import exports, page_links, tables, url_state, widgets, wording
from pages.shared.board_view import benchmark_title, describe_score, metric_title
from pages.shared.evidence import cause_title, distinct_cause_titles
from pages.shared.page_links import CaseLink
from pages.shared.tables import cost_format, link_column, number_column, text_column
from pages.shared.wording import localize_note, look_up, to_plain_line, tr

_CASES = 25  # of a page
_OPENED_CASE_KEY = "target.open_case"
_DIFFICULTIES = ("1", "2", "3")
#: A sign beside the word, so that an outcome is not told by its colour alone.
_SIGNS = {"passed": "✓", "failed": "✕"}
#: Codes of a filter, their titles and its width.
_FilterField = tuple[Sequence[str], Callable[[str], str], int]


def draw_target_cases(
    settings: Settings, run: str, benchmark: str, causes: Sequence[str] = ()
) -> None:
    """The cases of one benchmark of a run; with `causes` only those that failed, by these."""
    with widgets.show_errors("target.cases_broken", draw=st.warning):
        causes_by_count = target_scores.count_failure_reasons(settings.run_roots, run, benchmark)
        reasons = causes or list(causes_by_count["why"])
        levels = target_scores.list_levels(settings.run_roots, run, benchmark)
        case_filter = _draw_case_filters(benchmark, reasons, levels, failed=bool(causes))
        signature = content_hash([run, case_filter])
        number = url_state.read_page_number("target.p", signature)
        cases, count = _load_case_page(settings, run, case_filter, number)
        if count and cases.empty:  # a link from when there were more
            number = -(-count // _CASES)
            cases, count = _load_case_page(settings, run, case_filter, number)
        _draw_case_page(cases, count, number, run, case_filter)


def _draw_case_page(
    cases: pd.DataFrame, count: int, number: int, run: str, case_filter: CaseFilter
) -> None:
    (benchmark,) = case_filter.benchmark
    if not count:
        st.caption(tr("target.found_none"))
        return
    _draw_cases_table(cases, run, benchmark, case_filter)
    first = _CASES * (number - 1) + 1
    with st.container(horizontal=True, vertical_alignment="center"):
        last = first + len(cases) - 1
        st.caption(tr("target.found", count=count, first=first, last=last), width="content")
        link = _build_case_link(cases.iloc[0], run, benchmark, case_filter).query_params
        label = tr("common.one_by_one")  # the names in the table answer to no key
        widgets.draw_link(page_links.CASE, label, "arrow_forward", **link)
        st.space("stretch")
        url_state.draw_pagination(number, -(-count // _CASES), key="target.p")


def _load_case_page(
    settings: Settings, run: str, case_filter: CaseFilter, number: int
) -> tuple[pd.DataFrame, int]:
    return case_page(
        settings.run_roots,
        run,
        case_filter,
        offset=_CASES * (number - 1),
        limit=_CASES,
        show_gated=settings.show_gated,
    )


def _build_filter_fields(
    benchmark: str, reasons: Sequence[str], levels: Sequence[str], *, failed: bool
) -> dict[str, _FilterField]:
    """What cases are filtered by; where only `failed` ones are shown, by no outcome."""
    card = benchmark_cards().get(benchmark)
    metrics = [metric.key for metric in card.metrics] if card else []
    fields: dict[str, _FilterField] = {
        "cause": (reasons, cause_title, 200),
        "metric": (metrics, partial(metric_title, benchmark), 200),
        "outcome": ([*OUTCOMES, MISSING], outcome_title, 170),
        "difficulty": (_DIFFICULTIES, str, 110),
        "level": (levels, lambda code: tr(f"common.level.{code}"), 150),
    }
    names = ["metric", "outcome", "difficulty", *(["cause"] if reasons else [])]
    names += ["level"] if levels else []
    names = ["cause", "metric", "difficulty"] if failed else names
    return {name: fields[name] for name in names}


def _draw_case_filters(
    benchmark: str, reasons: Sequence[str], levels: Sequence[str], *, failed: bool
) -> CaseFilter:
    """The filters in one row, all of them in the URL."""
    fields = _build_filter_fields(benchmark, reasons, levels, failed=failed)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = {
            name: url_state.draw_multiselect(
                tr(f"common.{name}"),
                options,
                f"target.{name}",
                title,
                placeholder=tr("target.any"),
                width=width,
            )
            for name, (options, title, width) in fields.items()
        }
        text = url_state.draw_search(
            tr("target.case_text"),
            "target.q",
            placeholder=tr("target.case_text_hint"),
            help=tr("target.case_text_help"),
            width=200,
        )
    return CaseFilter(
        benchmark=(benchmark,),
        metric=tuple(chosen["metric"]),
        outcome=("failed",) if failed else tuple(chosen["outcome"]),
        why=tuple(chosen.get("cause", ())),
        difficulty=tuple(int(level) for level in chosen["difficulty"]),
        level=tuple(chosen.get("level", ())),
        text=text,
    )


def outcome_title(outcome: str) -> str:
    """The word for an outcome, also for a case that has none."""
    return tr("target.outcome_missing" if outcome == MISSING else f"common.outcome.{outcome}")


def _draw_cases_table(
    cases: pd.DataFrame, run: str, benchmark: str, case_filter: CaseFilter
) -> None:
    columns = {
        "case": [to_plain_line(case, 40) for case in cases["id"]],
        "outcome": [f"{_SIGNS.get(code, '·')} {outcome_title(code)}" for code in cases["outcome"]],
        "metric": [metric_title(benchmark, metric) for metric in cases["metric"]],
        "difficulty": cases["difficulty"],
        "dialect": cases["dialect"].replace(DIALECT_TITLES),
        "note": [_format_case_note(row) for _, row in cases.iterrows()],
        "latency": cases["latency"],
        "cost": cases["cost"],
    }
    if cases["dialect"].isna().all():
        del columns["dialect"]
    look = {"tallest": tables.EVERY_ROW, "key": f"{_OPENED_CASE_KEY}.table"}
    tables.draw_grid(columns, _build_cases_config(cases), tr("target.cases_alt"), **look)
    if (clicked := tables.read_clicked_row(_OPENED_CASE_KEY, len(cases))) is not None:
        link = _build_case_link(cases.iloc[clicked], run, benchmark, case_filter)
        st.switch_page(page_links.CASE, query_params=link.query_params)


def _build_case_link(
    case: pd.Series, run: str, benchmark: str, case_filter: CaseFilter
) -> CaseLink:
    """The way to a case, from which previous and next keep to the filter."""
    link = CaseLink(run, benchmark, case["metric"], case["id"], int(case["epoch"]))
    return link.with_filter(case_filter)


def _format_case_note(case: pd.Series) -> str:
    """Why a case ended as it did, in the words of the scorer."""
    parts = [read_case_note(case), case["reason"], case["error_type"]]
    localized = localize_note(next((part for part in parts if isinstance(part, str) and part), ""))
    return to_plain_line(localized if localized != case["reason"] else cause_title(localized), 120)


def _build_cases_config(cases: pd.DataFrame) -> dict[str, Any]:
    look = {"pinned": True}
    return {
        "case": link_column("target.open_case", _OPENED_CASE_KEY, "target.open_case_help", **look),
        "outcome": text_column("common.outcome", "small"),
        "metric": text_column("common.metric", 150),
        "difficulty": number_column("common.difficulty"),
        "dialect": text_column("target.dialect", "small"),
        "note": text_column("target.note", 300),
        "latency": number_column("common.latency", "%.2f s"),
        "cost": number_column("common.cost", cost_format(cases["cost"])),
    }


# Why the answers of a run failed, as a chart, and the way to the cases behind each bar.

_MAX_BARS = 16


def draw_target_failures(settings: Settings, run: str, benchmark: str) -> None:
    """The causes by count, what was done where nothing was to be called, and the failed cases."""
    with widgets.show_errors("target.cases_broken", draw=st.warning):
        causes = target_scores.count_failure_causes(settings.run_roots, run, benchmark)
        kinds = target_scores.count_answer_kinds(settings.run_roots, run, benchmark)
        left, right = st.columns([7, 5], gap="large") if len(kinds) else (st.container(), None)
        with left:
            _draw_cause_chart(causes)
            _draw_call_readings(settings, run, benchmark)
        if right is not None:
            with right:
                _draw_answer_kinds(kinds)
        if len(causes):
            draw_target_cases(settings, run, benchmark, list(causes["cause"]))


def _draw_cause_chart(causes: pd.DataFrame) -> None:
    st.subheader(tr("target.why"), anchor=False)
    if causes.empty:
        st.caption(tr("target.why_none"))
        return
    shown = causes.head(_MAX_BARS)
    frame = shown.assign(name=shown["cause"].map(distinct_cause_titles(shown["cause"])))
    _draw_count_chart(plots.build_count_bars, frame, "target.why_alt")
    caption = tr("target.why_about", count=int(causes["count"].sum()))
    st.caption(caption if len(causes) == len(shown) else f"{caption} {tr('target.why_more')}")


def _draw_call_readings(settings: Settings, run: str, benchmark: str) -> None:
    """In how many cases calls were read as asked, read from another format, or lost."""
    readings = target_scores.count_call_readings(settings.run_roots, run, benchmark)
    if readings:
        st.caption(tr("target.call_readings", **readings))


def _draw_answer_kinds(kinds: pd.DataFrame) -> None:
    st.subheader(tr("target.kinds"), anchor=False)
    names = [tr(f"common.answer_kind.{kind}") for kind in kinds["kind"]]
    positions = [target_scores.ANSWER_KINDS.index(kind) for kind in kinds["kind"]]
    frame = kinds.assign(name=names, position=positions)
    _draw_count_chart(plots.build_split_bar, frame, "target.kinds_alt")
    st.caption(tr("target.kinds_about"))


def _draw_count_chart(make: plots.CountChartBuilder, frame: pd.DataFrame, alt: str) -> None:
    labels = {"name": tr("common.cause"), "count": tr("target.count")}
    summary = ", ".join(f"{n} {c}" for n, c in zip(frame["name"], frame["count"], strict=True))
    columns = ["name", "count", *(["share"] if "share" in frame else [])]
    exports.draw_chart_frame(
        make(frame, labels),
        name=alt.partition(".")[2].removesuffix("_alt"),
        title=tr(alt.removesuffix("_alt")),
        alt_text=tr(alt, summary=summary),
        data=lambda: frame[columns],
    )


# The runs of a target over time, and how the cases of its newest ones ended.

_OPENED_RUN_KEY = "target.open_run"


def draw_target_history(headers: Headers, board: Board, identity: str) -> None:
    """Scores over time, then every run of the target on any board, newest first."""
    history = targets.TargetView(headers, board, identity).history
    profile.draw_target_trend(history)
    st.subheader(tr("target.runs"), anchor=False)
    _draw_history_table(history.iloc[::-1].reset_index(drop=True))


def _draw_history_table(runs: pd.DataFrame) -> None:
    """The runs as they are ordered; a click on an id opens the run."""
    table = pd.DataFrame(
        {
            "run": [to_plain_line(run) for run in runs["run_id"]],
            "date": runs["date"],
            "board": [describe_score(run) for run in runs.to_dict("records")],
            "on_board": ["✓" if own else "" for own in runs["on_board"]],
            "score": runs["score"],
            "coverage": runs["coverage"],
            "state": [tr(f"common.state.{name}") for name in runs["state"]],
            "cost": runs["cost"].astype(float),
            "note": [to_plain_line(note) for note in runs["note"]],
        }
    )
    if (table["note"] == "").all():
        del table["note"]
    look = {"key": f"{_OPENED_RUN_KEY}.table"}
    tables.draw_grid(table, _build_history_config(table), tr("target.runs_alt"), **look)
    if (clicked := tables.read_clicked_row(_OPENED_RUN_KEY, len(runs))) is not None:
        st.switch_page(page_links.RUNS, query_params={"run": runs["run_id"].iloc[clicked]})


def _build_history_config(table: pd.DataFrame) -> dict[str, Any]:
    stamp = st.column_config.DatetimeColumn(tr("ranking.date"), format="YYYY-MM-DD HH:mm")
    return {
        "run": link_column("target.run", _OPENED_RUN_KEY, "target.open_run_help"),
        "date": stamp,
        "board": text_column("target.board", 330),
        "on_board": text_column("target.on_board", "small", alignment="center"),
        "score": number_column("common.score", "%.1f"),
        "coverage": number_column("target.coverage", "percent"),
        "state": text_column("target.state", "small"),
        "cost": number_column("common.cost", cost_format(table["cost"])),
        "note": text_column("target.note"),
    }


def draw_target_outcomes(row: Row, board: Board) -> None:
    """The outcomes of every benchmark with the score triple, and the errors by kind."""
    counts = targets.count_target_outcomes(row)
    for _, score in targets.benchmark_frame(row, board).iterrows():
        if pd.isna(score["run_id"]):
            continue
        own = counts[counts["benchmark"] == score["benchmark"]]
        total, measured = int(own["count"].sum()), round(score["coverage"] * own["count"].sum())
        strict, answered = (
            wording.format_score(tables.to_number(score[name])) for name in ("score", "answered")
        )
        st.subheader(benchmark_title(score["benchmark"]), anchor=False)
        values = {"measured": measured, "total": total, "strict": strict, "answered": answered}
        st.caption(tr("target.coverage_note", **values))
        words = [outcome_title(outcome) for outcome in own["outcome"]]
        _draw_count_table(words, list(own["count"]), "common.outcome", "target.outcomes_alt")
    _draw_target_errors(row)


def _draw_target_errors(row: Row) -> None:
    errors: Counter[str] = Counter()
    for run in {run.run_id: run for run in row.runs.values()}.values():
        errors.update(run.errors)
    st.subheader(tr("target.errors"), anchor=False)
    if not errors:
        st.caption(tr("target.no_errors"))
        return
    words = [look_up(f"common.error.{kind}") or to_plain_line(kind) for kind in errors]
    _draw_count_table(words, list(errors.values()), "target.error", "target.errors_alt")


def _draw_count_table(words: list[str], counts: list[int], title: str, alt: str) -> None:
    """A small table of words, counts and their share."""
    columns = {"word": words, "count": counts, "share": 100 * pd.Series(counts) / sum(counts)}
    config = {
        "word": text_column(title, "medium"),
        "count": number_column("target.count"),
        "share": tables.share_column("target.share", width="medium"),
    }
    tables.draw_grid(columns, config, tr(alt), width=460)
