"""The cases of a target: filters, one page of a table, and the way to each case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.catalog import benchmark_cards
from evalcore.errors import EvalboardError
from evalcore.plain_text import DASH
from evalcore.queries import failures
from evalcore.queries.cases import MISSING, CaseFilter, case_page
from evalcore.queries.dialect_titles import DIALECT_TITLES
from evalcore.queries.targets import OUTCOMES
from evalcore.records import content_hash
from evalcore.settings import Settings
from pages.components import state, url_state
from pages.components.board import cost_format, metric_title
from pages.components.case_badges import cause_title
from pages.components.language import Translate, localize_note
from pages.components.state import CaseLink
from pages.components.text import escape_markdown, to_plain_line

_PAGE = "target"
_CASES, _PAGER = 25, "p"  # of a page, and the name of its number in the URL
_OPENED_CASE_KEY = "target.open_case"
_DIFFICULTIES = ("1", "2", "3")
#: A sign beside the word, so that an outcome is not told by its colour alone.
_SIGNS = {"passed": "✓", "failed": "✕"}
#: Name, codes, their titles and the width of a filter.
_FilterField = tuple[str, Sequence[str], Callable[[str], str], int]


def draw_target_cases(
    settings: Settings, run: str, benchmark: str, tr: Translate, causes: Sequence[str] = ()
) -> None:
    """The cases of one benchmark of a run; with `causes` only those that failed, by these."""
    try:
        reasons = list(failures.count_failure_reasons(settings.run_roots, run, benchmark)["why"])
        case_filter = _draw_case_filters(benchmark, causes or reasons, tr, failed=bool(causes))
        number = url_state.read_page_number(
            page=_PAGE, name=_PAGER, list_signature=content_hash([run, case_filter])
        )
        cases, count = _load_case_page(settings, run, case_filter, number)
        if count and cases.empty:  # a link from when there were more
            number = -(-count // _CASES)
            cases, count = _load_case_page(settings, run, case_filter, number)
    except EvalboardError as error:
        st.warning(
            tr("target.cases_broken", reason=escape_markdown(error, 400)), icon=":material/error:"
        )
        return
    if not count:
        st.caption(tr("target.found_none"))
        return
    _draw_cases_table(cases, run, benchmark, case_filter, tr)
    first = _CASES * (number - 1) + 1
    with st.container(horizontal=True, vertical_alignment="center"):
        last = first + len(cases) - 1
        st.caption(tr("target.found", count=count, first=first, last=last), width="content")
        st.page_link(  # the names in the table answer to no key
            state.CASE,
            label=tr("common.one_by_one"),
            icon=":material/arrow_forward:",
            query_params=_build_case_link(cases.iloc[0], run, benchmark, case_filter).query_params,
        )
        st.space("stretch")
        url_state.draw_pagination(number, -(-count // _CASES), page=_PAGE, name=_PAGER)


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
    benchmark: str, reasons: Sequence[str], tr: Translate, *, failed: bool
) -> list[_FilterField]:
    """What cases are filtered by; where only `failed` ones are shown, by no outcome."""
    card = benchmark_cards().get(benchmark)
    metric_keys = [metric_field.key for metric_field in card.metrics] if card else []
    outcomes = [*OUTCOMES, MISSING]
    reason_field: _FilterField = ("cause", reasons, cause_title, 200)
    outcome_field: _FilterField = ("outcome", outcomes, lambda code: outcome_title(code, tr), 170)
    metric_field: _FilterField = (
        "metric",
        metric_keys,
        lambda code: metric_title(benchmark, code),
        200,
    )
    difficulty_field: _FilterField = ("difficulty", _DIFFICULTIES, str, 110)
    if failed:
        return [reason_field, metric_field, difficulty_field]
    return [metric_field, outcome_field, difficulty_field, *([reason_field] if reasons else [])]


def _draw_case_filters(
    benchmark: str, reasons: Sequence[str], tr: Translate, *, failed: bool
) -> CaseFilter:
    """The filters in one row, all of them in the URL."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = {
            name: url_state.draw_multiselect(
                tr(f"common.{name}"),
                options,
                page=_PAGE,
                name=name,
                title=title,
                placeholder=tr("target.any"),
                width=width,
            )
            for name, options, title, width in _build_filter_fields(
                benchmark, reasons, tr, failed=failed
            )
        }
        text = url_state.draw_search(
            tr("target.case_text"),
            page=_PAGE,
            name="q",
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
        text=text,
    )


def outcome_title(outcome: str, tr: Translate) -> str:
    """The word for an outcome, also for a case that has none."""
    return tr("target.outcome_missing" if outcome == MISSING else f"common.outcome.{outcome}")


def _draw_cases_table(
    cases: pd.DataFrame, run: str, benchmark: str, case_filter: CaseFilter, tr: Translate
) -> None:
    columns = {
        "case": [to_plain_line(case, 40) for case in cases["id"]],
        "outcome": [
            f"{_SIGNS.get(code, '·')} {outcome_title(code, tr)}" for code in cases["outcome"]
        ],
        "metric": [metric_title(benchmark, metric) for metric in cases["metric"]],
        "difficulty": cases["difficulty"],
        "dialect": cases["dialect"].replace(DIALECT_TITLES),
        "note": [_format_case_note(row) for _, row in cases.iterrows()],
        "latency": cases["latency"],
        "cost": cases["cost"],
    }
    if cases["dialect"].isna().all():
        del columns["dialect"]
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        placeholder=DASH,
        height=38 + 35 * len(cases),
        key=f"{_OPENED_CASE_KEY}.table",
        alt=tr("target.cases_alt"),
        column_config=_build_cases_config(cases, tr),
    )
    click = st.session_state.get(_OPENED_CASE_KEY)
    if click is not None and click["row"] < len(cases):
        link = _build_case_link(cases.iloc[click["row"]], run, benchmark, case_filter)
        st.switch_page(state.CASE, query_params=link.query_params)


def _build_case_link(
    case: pd.Series, run: str, benchmark: str, case_filter: CaseFilter
) -> CaseLink:
    """The way to a case, from which previous and next keep to the filter."""
    link = CaseLink(run, benchmark, case["metric"], case["id"], int(case["epoch"]))
    return link.with_filter(case_filter)


def _format_case_note(case: pd.Series) -> str:
    """Why a case ended as it did, in the words of the scorer."""
    parts = [case[name] for name in ("note", "reason", "error_type")]
    raw_note = next((part for part in parts if isinstance(part, str) and part), "")
    localized = localize_note(raw_note)
    return to_plain_line(localized if localized != case["reason"] else cause_title(localized), 120)


def _build_cases_config(cases: pd.DataFrame, tr: Translate) -> dict[str, Any]:
    column_config = st.column_config
    return {
        "case": column_config.ButtonColumn(
            tr("target.open_case"),
            type="tertiary",
            alignment="left",
            pinned=True,
            key=_OPENED_CASE_KEY,
            help=tr("target.open_case_help"),
        ),
        "outcome": column_config.TextColumn(tr("common.outcome"), width="small"),
        "metric": column_config.TextColumn(tr("common.metric"), width=150),
        "difficulty": column_config.NumberColumn(tr("common.difficulty"), width="small"),
        "dialect": column_config.TextColumn(tr("target.dialect"), width="small"),
        "note": column_config.TextColumn(tr("target.note"), width=300),
        "latency": column_config.NumberColumn(tr("common.latency"), format="%.2f s", width="small"),
        "cost": column_config.NumberColumn(
            tr("common.cost"), format=cost_format(cases["cost"]), width="small"
        ),
    }
