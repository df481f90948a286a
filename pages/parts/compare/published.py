"""Compare: two rows of a publisher, on the cases that both were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.errors import UsageError
from evalcore.settings import Settings
from evalcore.views.published_boards import PublishedBoard, make_reference
from evalcore.views.published_pairs import (
    PairComparison,
    PublishedPair,
    compare_published_rows,
    find_published_row,
)
from evalcore.views.published_ranking import name_entries
from pages.shared import exports, page_links, published_source, tables, widgets, wording
from pages.shared.board_view import benchmark_title, format_bold, metric_title, part_title
from pages.shared.tables import number_column, text_column
from pages.shared.wording import escape_markdown, to_plain_line, tr

_SIDES = ("first", "second")
_SIGNIFICANT = 0.05
_TALLEST = 14  # rows before the table scrolls


def draw_published_comparison(settings: Settings, controls: Any) -> None:
    """Choose two rows, then show what may be said of them together."""
    with controls:
        source = published_source.select_published_board(settings, "compare")
    titles, asked = _list_rows(settings, source)
    if len(titles) < 2:
        st.info(tr("published.nothing_to_compare"), icon=":material/compare_arrows:")
        return
    rows = _select_rows(titles, asked)
    if rows[0] == rows[1]:
        st.info(tr("published.same_row"), icon=":material/compare_arrows:")
        return
    page_links.set_query_param("runs", ",".join(rows))
    try:
        comparison = compare_published_rows(settings, *rows, source.publisher.key)
    except UsageError as error:
        st.warning(escape_markdown(str(error), 300), icon=":material/rule:")
        return
    _draw_verdict(comparison)
    _draw_pairs(comparison)
    _draw_differing_cases(comparison)
    _draw_files(comparison)
    published_source.draw_source_note(source)


def _list_rows(settings: Settings, source: PublishedBoard) -> tuple[dict[str, str], list[str]]:
    """The rows of the board by reference with what they are called, the best first, and those that
    the URL names, which may be of another month."""
    ranking = published_source.load_source_ranking(source)
    names = name_entries(source)
    titles = {
        make_reference(source.publisher.key, source.entries[identity]): to_plain_line(
            names[identity], 60
        )
        for identity in ranking.frame["identity"]
    }
    asked = []
    for reference in st.query_params.get("runs", "").split(",")[:2]:
        try:
            row = find_published_row(settings, reference, source.publisher.key)
        except UsageError:
            continue
        name = make_reference(row.board.publisher.key, row.entry)
        if row.board.publisher.key == source.publisher.key:
            month = f"{to_plain_line(row.entry.name, 60)} · {row.entry.month}"
            titles.setdefault(name, month)
            asked.append(name)
    return titles, asked


def _select_rows(titles: Mapping[str, str], asked: list[str]) -> list[str]:
    """Both rows: those of the URL, else the first two of the board."""
    rows = []
    best = [name for name in titles if name not in asked]
    wanted = [*asked, *best][:2]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for side, default in zip(_SIDES, wanted, strict=True):
            options = list(titles)
            key = f"compare.{side}"
            if st.session_state.get(f"{key}.asked") != default or key not in st.session_state:
                st.session_state[key] = default
            if st.session_state[key] not in options:
                st.session_state[key] = default
            label = "A" if side == "first" else "B"
            chosen = st.selectbox(label, options, key=key, format_func=dict(titles).get, width=358)
            st.session_state[f"{key}.asked"] = chosen
            rows.append(str(chosen))
    return rows


def _draw_verdict(comparison: PairComparison) -> None:
    """One sentence per benchmark: who is ahead, and whether that is more than chance."""
    sentences = []
    for pair in comparison.pairs:
        if pair.metric:
            continue
        ahead = comparison.second_name if pair.second > pair.first else comparison.first_name
        values = {
            "title": escape_markdown(benchmark_title(pair.benchmark)),
            "name": format_bold(ahead),
            "points": f"{abs(pair.second - pair.first):.1f}",
        }
        sentences.append(tr(f"published.pair.{_find_verdict(pair)}", **values))
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences))


def _find_verdict(pair: PublishedPair) -> str:
    if pair.result is None:
        return "claims"
    if pair.first == pair.second:
        return "equal"
    return "ahead" if pair.result.p < _SIGNIFICANT else "open"


def _draw_pairs(comparison: PairComparison) -> None:
    pairs = comparison.pairs
    results = [pair.result for pair in pairs]
    columns = {
        "benchmark": [benchmark_title(pair.benchmark) for pair in pairs],
        "metric": [
            metric_title(pair.benchmark, pair.metric) if pair.metric else tr("common.all")
            for pair in pairs
        ],
        "first": [pair.first for pair in pairs],
        "second": [pair.second for pair in pairs],
        "difference": [wording.format_difference(pair.second - pair.first) for pair in pairs],
        "interval": [
            None if r is None or r.interval is None else wording.format_signed_interval(r.interval)
            for r in results
        ],
        "wins": [None if r is None else r.wins for r in results],
        "losses": [None if r is None else r.losses for r in results],
        "cases": [None if r is None else r.common for r in results],
        "p": [None if r is None else wording.format_p_value(r.p) for r in results],
    }
    config = {
        "benchmark": text_column("common.benchmark"),
        "metric": text_column("common.metric"),
        "first": st.column_config.NumberColumn("A", format="%.1f"),
        "second": st.column_config.NumberColumn("B", format="%.1f"),
        "difference": text_column("published.difference", "small", alignment="right"),
        "interval": text_column("compare.interval"),
        "wins": number_column("published.second_wins"),
        "losses": number_column("published.first_wins"),
        "cases": number_column("published.common"),
        "p": st.column_config.TextColumn("p"),
    }
    shown = {name: values for name, values in columns.items() if any(v is not None for v in values)}
    tables.draw_grid(shown, config, tr("published.pairs_alt"), tables.EVERY_ROW)
    tested = any(result is not None for result in results)
    st.caption(tr("published.pairs_about" if tested else "published.pairs_claims"))
    if comparison.excluded:
        titles = (escape_markdown(part_title(part)) for part in comparison.excluded)
        names = wording.join_names(titles)
        st.caption(tr("published.excluded", names=names))


def _draw_differing_cases(comparison: PairComparison) -> None:
    cases = comparison.cases
    if not cases:
        return
    st.subheader(tr("published.differing", count=len(cases)), anchor=False)
    columns = {
        "benchmark": [benchmark_title(case.benchmark) for case in cases],
        "metric": [metric_title(case.benchmark, case.metric) for case in cases],
        "case": [to_plain_line(case.id, 40) for case in cases],
        "weight": [case.weight for case in cases],
        "solved": ["A" if case.first else "B" for case in cases],
    }
    config = {
        "benchmark": text_column("common.benchmark"),
        "metric": text_column("common.metric"),
        "case": text_column("published.case"),
        "weight": number_column("compare.weight"),
        "solved": text_column("published.solved_by"),
    }
    tables.draw_grid(columns, config, tr("published.cases_alt"), tallest=_TALLEST)
    st.caption(tr("published.cases_about"))


def _draw_files(comparison: PairComparison) -> None:
    frame = pd.DataFrame(
        [
            {name: getattr(case, name) for name in case.__struct_fields__}
            for case in comparison.cases
        ]
    )
    if len(frame):
        widgets.draw_download(
            tr("compare.file.cases"),
            lambda: exports.to_csv_bytes(frame),
            "published-differing.csv",
            icon=":material/difference:",
        )
