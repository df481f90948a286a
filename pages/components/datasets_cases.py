"""The cases of a data set: a filtered table one page at a time, and the case that is open.

All of it is text from outside: cells, `st.text`, `st.code` and `st.json` only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.i18n import lookup_text
from evalcore.plain_text import DASH
from evalcore.queries import datasets
from evalcore.queries.datasets import DatasetEntry
from evalcore.records import Sample, content_hash
from evalcore.settings import Settings
from pages.components import case_parts, case_question, evidence, state, tables, url_state
from pages.components import datasets_words as words
from pages.components.language import Translate, current
from pages.components.text import escape, plain

PAGE = "datasets"
PER_PAGE, _PAGER = 25, "p"  # cases of a page, and the name of its number in the URL
_CLICK = "datasets.case.click"
_SQL = frozenset({"reference", "data", "calls"})
_GIST = 160
_BESIDE = 12  # rows beside an open case, above it on a phone


def draw(one: DatasetEntry, settings: Settings, tr: Translate) -> None:
    """The filters, the table, and beside it the case that the URL names."""
    frame = _frame(settings, one)
    st.subheader(tr("datasets.cases"), anchor=False)
    found = _filtered(one, frame, tr)
    if found.empty:
        st.caption(tr("datasets.no_match"))
        return
    keys = [f"{row.metric}/{row.id}" for row in found.itertuples()]
    opened = st.query_params.get("case", "")
    if opened not in keys:
        if opened and opened not in set(frame["metric"] + "/" + frame["id"]):
            url_state.tell_unknown(opened, tr("common.case"), tr("common.all"))
        state.remember("case", None)
        _table(one, found, keys, tr, narrow=False)
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _table(one, found, keys, tr, narrow=True)
    with right, st.container(border=True):
        _case(one, found, keys, keys.index(opened), settings, tr)


def _frame(settings: Settings, one: DatasetEntry) -> pd.DataFrame:
    return _cached(settings, one, f"{settings.data}&{datasets.compute_dataset_version(one)}")


@st.cache_data(max_entries=16, show_spinner=False)
def _cached(_settings: Settings, _one: DatasetEntry, version: str) -> pd.DataFrame:
    return datasets.load_dataset_cases(_settings, _one)


def _filtered(one: DatasetEntry, frame: pd.DataFrame, tr: Translate) -> pd.DataFrame:
    chosen = {}
    titles: dict[str, Callable[[str], str]] = {
        "metric": partial(words.metric_title, one.benchmark),
        "difficulty": lambda code: tr("datasets.level", level=code),
        "dialect": plain,
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, title in titles.items():
            values = sorted(frame[name].astype(str).unique()) if name != "metric" else None
            values = list(frame[name].unique()) if values is None else [v for v in values if v]
            if len(values) < 2:
                state.remember(name, None)
                continue
            chosen[name] = url_state.select(
                tr(f"datasets.filter.{name}"),
                ["", *values],
                page=f"{PAGE}.{one.key}",
                name=name,
                title=partial(_or_all, title, tr),
                width=210,
            )
        text = url_state.search(
            tr("datasets.search"),
            page=f"{PAGE}.{one.key}",
            name="q",
            placeholder=tr("datasets.search_hint"),
            width=220,
        )
    return datasets.filter_dataset_cases(frame, text=text, **chosen)


def _or_all(title: Callable[[str], str], tr: Translate, code: str) -> str:
    return title(code) if code else tr("common.all")


def _table(
    one: DatasetEntry, found: pd.DataFrame, keys: list[str], tr: Translate, *, narrow: bool
) -> None:
    count, place = -(-len(found) // PER_PAGE), f"{PAGE}.{one.key}"
    asked = url_state.page_number(page=place, name=_PAGER, of=content_hash(keys))
    number = min(asked, count)  # a link from when there were more
    rows = found.iloc[(number - 1) * PER_PAGE : number * PER_PAGE]
    click = st.session_state.get(_CLICK)
    if click is not None and click["row"] < len(rows):
        st.query_params["case"] = keys[(number - 1) * PER_PAGE + click["row"]]
        st.rerun()
    titles = {m: words.metric_title(one.benchmark, m) for m in found["metric"].unique()}
    shown = pd.DataFrame(
        {
            "id": [plain(value, 60) for value in rows["id"]],
            "metric": [titles[metric] for metric in rows["metric"]],
            "difficulty": rows["difficulty"].to_numpy(),
            "dialect": [plain(value, 60) or None for value in rows["dialect"]],
            "text": [_gist(row, tr) for row in rows.itertuples()],
        }
    )
    varied = [name for name in ("metric", "difficulty", "dialect") if shown[name].nunique() > 1]
    st.dataframe(
        shown,
        hide_index=True,
        height=38 + 35 * min(len(shown), _BESIDE if narrow else PER_PAGE),
        placeholder=DASH,
        column_order=["id", *(["metric"] if narrow else [*varied, "text"])],
        column_config=_columns(tr),
        key="datasets.cases.table",
        alt=tr("datasets.cases_alt"),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("datasets.count", count=len(found)), width="content")
        if not narrow:  # the ids in the table answer to no key
            st.button(
                tr("common.one_by_one"),
                key="datasets.one_by_one",
                icon=":material/arrow_forward:",
                type="tertiary",
                on_click=state.remember,
                args=("case", keys[(number - 1) * PER_PAGE]),
            )
        st.space("stretch")
        url_state.pages(number, count, page=place, name=_PAGER)


def _columns(tr: Translate) -> dict[str, Any]:
    kinds = st.column_config
    return {
        "id": kinds.ButtonColumn(
            tr("common.case"),
            type="tertiary",
            alignment="left",
            width=150,
            key=_CLICK,
            help=tr("datasets.open_case"),
        ),
        "metric": kinds.TextColumn(tr("common.metric"), width=170),
        "difficulty": kinds.NumberColumn(tr("common.difficulty"), width=80),
        "dialect": kinds.TextColumn(tr("datasets.filter.dialect"), width=150),
        "text": kinds.TextColumn(tr("datasets.asked"), width="large"),
    }


def _gist(row: Any, tr: Translate) -> str:
    return tr("datasets.gated_text") if row.gated else plain(row.text, _GIST)


def _case(
    one: DatasetEntry,
    found: pd.DataFrame,
    keys: list[str],
    at: int,
    settings: Settings,
    tr: Translate,
) -> None:
    _steps(keys, at, tr)
    sample, hidden = datasets.load_dataset_case(settings, one, list(found.iloc[at]))
    st.markdown(f"#### {escape(sample.id)}")
    told = [
        words.metric_title(one.benchmark, sample.metric),
        tr("datasets.level", level=sample.difficulty),
    ]
    st.caption(escape(" · ".join(told), 200))
    if hidden:
        st.info(tr("note.gated"), icon=":material/lock:")
        return
    case_parts.given_input(sample.input, tr)
    _reference(sample, tr)


def _steps(keys: list[str], at: int, tr: Translate) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        steps = (("previous", at - 1, "chevron_left"), ("next", at + 1, "chevron_right"))
        for name, to, icon in steps:
            if st.button(
                tr(f"datasets.{name}"),
                key=f"datasets.case.{name}",
                icon=f":material/{icon}:",
                disabled=not 0 <= to < len(keys),
            ):
                page = str(to // PER_PAGE + 1) if to >= PER_PAGE else None
                state.change({"case": keys[to], _PAGER: page})
                st.rerun()
        st.caption(tr("datasets.case_of", number=at + 1, count=len(keys)), width="content")
        st.space("stretch")
        if st.button(
            tr("datasets.close"),
            key="datasets.case.close",
            icon=":material/close:",
            type="tertiary",
        ):
            st.query_params.pop("case", None)
            st.rerun()


def _reference(sample: Sample, tr: Translate) -> None:
    """What is right, and what else the case tells of itself; the target sees none of it."""
    st.markdown(f"##### {tr('datasets.reference')}")
    for name, value in sample.reference.items():
        _field(name, value, tr)
    told = {name: value for name, value in sample.meta.items() if value not in ("", [], {})}
    if told:
        with st.expander(tr("datasets.meta"), icon=":material/info:"):
            st.json(told, expanded=1)


def _field(name: str, value: Any, tr: Translate) -> None:
    if isinstance(value, bool):
        value = tr("common.yes" if value else "common.no")
    value = case_question.parsed(value) if str(value)[:1] in ("{", "[") else value
    if value in ("", None) or (isinstance(value, list | dict) and not value):
        return
    title = lookup_text(f"datasets.field.{name}", current()) or plain(name.replace("_", " "))
    if isinstance(value, str | int | float) and len(str(value)) < 80 and "\n" not in str(value):
        st.caption(f"{escape(title)}: {escape(value, 100)}")
        return
    st.caption(escape(title))
    if isinstance(value, str):
        language = "sql" if name in _SQL else "diff" if name.endswith("patch") else None
        evidence.verbatim(value, language)
    elif isinstance(value, dict) and isinstance(value.get("rows"), list):
        _result(value, tr)
    else:
        evidence.raw(value)


def _result(value: dict[str, Any], tr: Translate) -> None:
    """A table that is expected, as one; what is no table, as it stands."""
    columns, rows = value.get("columns"), value["rows"]
    if not isinstance(columns, list) or not all(isinstance(row, list) for row in rows):
        evidence.raw(value)
        return
    st.dataframe(tables.frame(columns, rows), hide_index=True, alt=tr("datasets.result_alt"))
    rest = {name: one for name, one in value.items() if name not in ("columns", "rows")}
    if rest:
        st.caption(escape(" · ".join(f"{name}: {one}" for name, one in rest.items()), 200))
