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
from evalcore.queries.dialect_titles import TITLES
from evalcore.queries.targets import OUTCOMES
from evalcore.records import content_hash
from evalcore.settings import Settings
from pages.components import state, url_state
from pages.components.board import cost_format, metric_title
from pages.components.case_badges import cause_title
from pages.components.language import Translate, note
from pages.components.state import CaseLink
from pages.components.text import escape, plain

_PAGE = "target"
_CASES, _PAGER = 25, "p"  # of a page, and the name of its number in the URL
_OPEN = "target.open_case"
_DIFFICULTIES = ("1", "2", "3")
#: A sign beside the word, so that an outcome is not told by its colour alone.
_SIGNS = {"passed": "✓", "failed": "✕"}
#: Name, codes, their titles and the width of a filter.
_Field = tuple[str, Sequence[str], Callable[[str], str], int]


def draw(
    settings: Settings, run: str, benchmark: str, tr: Translate, causes: Sequence[str] = ()
) -> None:
    """The cases of one benchmark of a run; with `causes` only those that failed, by these."""
    try:
        whys = list(failures.count_failure_reasons(settings.run_roots, run, benchmark)["why"])
        where = _filters(benchmark, causes or whys, tr, failed=bool(causes))
        number = url_state.page_number(page=_PAGE, name=_PAGER, of=content_hash([run, where]))
        cases, count = _page(settings, run, where, number)
        if count and cases.empty:  # a link from when there were more
            number = -(-count // _CASES)
            cases, count = _page(settings, run, where, number)
    except EvalboardError as error:
        st.warning(tr("target.cases_broken", reason=escape(error, 400)), icon=":material/error:")
        return
    if not count:
        st.caption(tr("target.found_none"))
        return
    _table(cases, run, benchmark, where, tr)
    first = _CASES * (number - 1) + 1
    with st.container(horizontal=True, vertical_alignment="center"):
        last = first + len(cases) - 1
        st.caption(tr("target.found", count=count, first=first, last=last), width="content")
        st.page_link(  # the names in the table answer to no key
            state.CASE,
            label=tr("common.one_by_one"),
            icon=":material/arrow_forward:",
            query_params=_link(cases.iloc[0], run, benchmark, where).params,
        )
        st.space("stretch")
        url_state.pages(number, -(-count // _CASES), page=_PAGE, name=_PAGER)


def _page(settings: Settings, run: str, where: CaseFilter, number: int) -> tuple[pd.DataFrame, int]:
    return case_page(
        settings.run_roots,
        run,
        where,
        offset=_CASES * (number - 1),
        limit=_CASES,
        show_gated=settings.show_gated,
    )


def _fields(benchmark: str, whys: Sequence[str], tr: Translate, *, failed: bool) -> list[_Field]:
    """What cases are filtered by; where only `failed` ones are shown, by no outcome."""
    card = benchmark_cards().get(benchmark)
    known = [metric.key for metric in card.metrics] if card else []
    ends = [*OUTCOMES, MISSING]
    why: _Field = ("cause", whys, cause_title, 200)
    ended: _Field = ("outcome", ends, lambda code: outcome_title(code, tr), 170)
    metric: _Field = ("metric", known, lambda code: metric_title(benchmark, code), 200)
    difficulty: _Field = ("difficulty", _DIFFICULTIES, str, 110)
    if failed:
        return [why, metric, difficulty]
    return [metric, ended, difficulty, *([why] if whys else [])]


def _filters(benchmark: str, whys: Sequence[str], tr: Translate, *, failed: bool) -> CaseFilter:
    """The filters in one row, all of them in the URL."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = {
            name: url_state.many(
                tr(f"common.{name}"),
                options,
                page=_PAGE,
                name=name,
                title=title,
                placeholder=tr("target.any"),
                width=width,
            )
            for name, options, title, width in _fields(benchmark, whys, tr, failed=failed)
        }
        text = url_state.search(
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


def _table(cases: pd.DataFrame, run: str, benchmark: str, where: CaseFilter, tr: Translate) -> None:
    columns = {
        "case": [plain(case, 40) for case in cases["id"]],
        "outcome": [
            f"{_SIGNS.get(code, '·')} {outcome_title(code, tr)}" for code in cases["outcome"]
        ],
        "metric": [metric_title(benchmark, metric) for metric in cases["metric"]],
        "difficulty": cases["difficulty"],
        "dialect": cases["dialect"].replace(TITLES),
        "note": [_note(row) for _, row in cases.iterrows()],
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
        key=f"{_OPEN}.table",
        alt=tr("target.cases_alt"),
        column_config=_config(cases, tr),
    )
    click = st.session_state.get(_OPEN)
    if click is not None and click["row"] < len(cases):
        link = _link(cases.iloc[click["row"]], run, benchmark, where)
        st.switch_page(state.CASE, query_params=link.params)


def _link(case: pd.Series, run: str, benchmark: str, where: CaseFilter) -> CaseLink:
    """The way to a case, from which previous and next keep to the filter."""
    link = CaseLink(run, benchmark, case["metric"], case["id"], int(case["epoch"]))
    return link.filtered(where)


def _note(case: pd.Series) -> str:
    """Why a case ended as it did, in the words of the scorer."""
    parts = [case[name] for name in ("note", "reason", "error_type")]
    said = next((part for part in parts if isinstance(part, str) and part), "")
    told = note(said)
    return plain(told if told != case["reason"] else cause_title(told), 120)


def _config(cases: pd.DataFrame, tr: Translate) -> dict[str, Any]:
    kinds = st.column_config
    return {
        "case": kinds.ButtonColumn(
            tr("target.open_case"),
            type="tertiary",
            alignment="left",
            pinned=True,
            key=_OPEN,
            help=tr("target.open_case_help"),
        ),
        "outcome": kinds.TextColumn(tr("common.outcome"), width="small"),
        "metric": kinds.TextColumn(tr("common.metric"), width=150),
        "difficulty": kinds.NumberColumn(tr("common.difficulty"), width="small"),
        "dialect": kinds.TextColumn(tr("target.dialect"), width="small"),
        "note": kinds.TextColumn(tr("target.note"), width=300),
        "latency": kinds.NumberColumn(tr("common.latency"), format="%.2f s", width="small"),
        "cost": kinds.NumberColumn(
            tr("common.cost"), format=cost_format(cases["cost"]), width="small"
        ),
    }
