"""The cases of a data set: a filtered table one page at a time, and the case that is open. All of
it is text from outside: cells, `st.text`, `st.code` and `st.json` only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.records import Sample, content_hash
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.views import datasets
from evalcore.views.datasets import DatasetEntry
from pages.shared import case_sections, evidence, page_links, tables, url_state
from pages.shared.board_view import metric_title
from pages.shared.wording import escape_markdown, to_plain_line, tr

PAGE = "datasets"
PER_PAGE, _PAGER = 25, "p"  # cases of a page, and the name of its number in the URL
_CLICK = "datasets.case.click"
_GIST = 160
_case_frames: SingleFlightCache[pd.DataFrame] = SingleFlightCache(16)
_NARROW_ROWS = 12  # rows beside an open case, above it on a phone


def draw_dataset_cases(entry: DatasetEntry, settings: Settings) -> None:
    """The filters, the table, and beside it the case that the URL names."""
    version = (settings.data, datasets.compute_dataset_version(entry))
    shared = _case_frames.get(version, lambda: datasets.load_dataset_cases(settings, entry))
    frame = shared.copy(deep=False)
    st.subheader(tr("datasets.cases"), anchor=False)
    matches = _select_dataset_cases(entry, frame)
    if matches.empty:
        st.caption(tr("datasets.no_match"))
        return
    keys = [f"{row.metric}/{row.id}" for row in matches.itertuples()]
    opened = st.query_params.get("case", "")
    if opened not in keys:
        if opened and opened not in set(frame["metric"] + "/" + frame["id"]):
            url_state.warn_unknown_choice(opened, tr("common.case"), tr("common.all"))
        page_links.set_query_param("case", None)
        _draw_dataset_case_table(entry, matches, keys, narrow=False)
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _draw_dataset_case_table(entry, matches, keys, narrow=True)
    with right, st.container(border=True):
        _draw_dataset_case(entry, matches, keys, keys.index(opened), settings)


def _select_dataset_cases(entry: DatasetEntry, frame: pd.DataFrame) -> pd.DataFrame:
    chosen = {}
    titles: dict[str, Callable[[str], str]] = {
        "metric": partial(metric_title, entry.benchmark),
        "difficulty": lambda code: tr("datasets.level", level=code),
        "dialect": to_plain_line,
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, title in titles.items():
            values = list(frame[name].astype(str).unique())
            values = values if name == "metric" else sorted(filter(None, values))
            if len(values) < 2:
                page_links.set_query_param(name, None)
                continue
            chosen[name] = url_state.draw_select(
                tr(f"datasets.filter.{name}"),
                ["", *values],
                f"datasets.{entry.key}.{name}",
                partial(_title_or_all, title),
                width=210,
            )
        text = url_state.draw_search(
            tr("datasets.search"),
            key=f"datasets.{entry.key}.q",
            placeholder=tr("datasets.search_hint"),
            width=220,
        )
    return datasets.filter_dataset_cases(frame, text=text, **chosen)


def _title_or_all(title: Callable[[str], str], code: str) -> str:
    return title(code) if code else tr("common.all")


def _draw_dataset_case_table(
    entry: DatasetEntry, matches: pd.DataFrame, keys: list[str], *, narrow: bool
) -> None:
    count, page_key = -(-len(matches) // PER_PAGE), f"{PAGE}.{entry.key}"
    requested = url_state.read_page_number(key=f"{page_key}.p", list_signature=content_hash(keys))
    number = min(requested, count)  # a link from when there were more
    rows = matches.iloc[(number - 1) * PER_PAGE : number * PER_PAGE]
    if (clicked := tables.read_clicked_row(_CLICK, len(rows))) is not None:
        st.query_params["case"] = keys[(number - 1) * PER_PAGE + clicked]
        st.rerun()
    titles = {m: metric_title(entry.benchmark, m) for m in matches["metric"].unique()}
    shown = pd.DataFrame(
        {
            "id": [to_plain_line(value, 60) for value in rows["id"]],
            "metric": [titles[metric] for metric in rows["metric"]],
            "difficulty": rows["difficulty"].to_numpy(),
            "dialect": [to_plain_line(value, 60) or None for value in rows["dialect"]],
            "text": [
                tr("datasets.gated_text") if row.gated else to_plain_line(row.text, _GIST)
                for row in rows.itertuples()
            ],
        }
    )
    varied = [name for name in ("metric", "difficulty", "dialect") if shown[name].nunique() > 1]
    tables.draw_grid(
        shown,
        _build_dataset_columns(),
        tr("datasets.cases_alt"),
        tallest=_NARROW_ROWS if narrow else PER_PAGE,
        column_order=["id", *(["metric"] if narrow else [*varied, "text"])],
        key="datasets.cases.table",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("datasets.count", count=len(matches)), width="content")
        if not narrow:  # the ids in the table answer to no key
            st.button(
                tr("common.one_by_one"),
                key="datasets.one_by_one",
                icon=":material/arrow_forward:",
                type="tertiary",
                on_click=page_links.set_query_param,
                args=("case", keys[(number - 1) * PER_PAGE]),
            )
        st.space("stretch")
        url_state.draw_pagination(number, count, key=f"{page_key}.p")


def _build_dataset_columns() -> dict[str, Any]:
    return {
        "id": tables.link_column("common.case", _CLICK, "datasets.open_case", width=150),
        "metric": tables.text_column("common.metric", 170),
        "difficulty": tables.number_column("common.difficulty", width=80),
        "dialect": tables.text_column("datasets.filter.dialect", 150),
        "text": tables.text_column("datasets.asked", "large"),
    }


def _draw_dataset_case(
    entry: DatasetEntry, matches: pd.DataFrame, keys: list[str], index: int, settings: Settings
) -> None:
    _draw_dataset_pager(keys, index)
    sample, hidden = datasets.load_dataset_case(settings, entry, list(matches.iloc[index]))
    st.markdown(f"#### {escape_markdown(sample.id)}")
    labels = [
        metric_title(entry.benchmark, sample.metric),
        tr("datasets.level", level=sample.difficulty),
    ]
    st.caption(escape_markdown(" · ".join(labels), 200))
    if hidden:
        st.info(tr("note.gated"), icon=":material/lock:")
        return
    case_sections.draw_sample_input(sample.input)
    _draw_dataset_reference(sample)


def _draw_dataset_pager(keys: list[str], index: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        steps = (("previous", index - 1, "chevron_left"), ("next", index + 1, "chevron_right"))
        for name, neighbour, icon in steps:
            if st.button(
                tr(f"datasets.{name}"),
                key=f"datasets.case.{name}",
                icon=f":material/{icon}:",
                disabled=not 0 <= neighbour < len(keys),
            ):
                page = str(neighbour // PER_PAGE + 1) if neighbour >= PER_PAGE else None
                page_links.set_query_params({"case": keys[neighbour], _PAGER: page})
                st.rerun()
        st.caption(tr("datasets.case_of", number=index + 1, count=len(keys)), width="content")
        st.space("stretch")
        look = {"icon": ":material/close:", "type": "tertiary"}
        if st.button(tr("datasets.close"), key="datasets.case.close", **look):
            st.query_params.pop("case", None)
            st.rerun()


def _draw_dataset_reference(sample: Sample) -> None:
    """What is right, and what else the case tells of itself; the target sees none of it."""
    st.markdown(f"##### {tr('datasets.reference')}")
    evidence.draw_fields(sample.reference)
    metadata = {name: value for name, value in sample.meta.items() if value not in ("", [], {})}
    if metadata:
        with st.expander(tr("datasets.meta"), icon=":material/info:"):
            st.json(metadata, expanded=1)
