"""What a decision says: who is best, the ranking, what would change it, and who is left out."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
import streamlit as st
from markupsafe import Markup

from evalcore.i18n import name_term
from evalcore.plain_text import DASH
from evalcore.views.boards import Board
from evalcore.views.decision import COST, LATENCY, MAX_WEIGHT, Decision, DecisionTable, Ranked
from evalcore.views.decision_payloads import (
    describe_change,
    describe_reasons,
    explain_answer,
    format_lead_share,
    title_criteria,
)
from evalcore.views.published_boards import PublishedBoard
from pages.shared import board_view, drawn_html, page_links, published_source, tables, url_state
from pages.shared.drawn_columns import (
    DrawnColumn,
    ScoreAxis,
    build_score_axis,
    list_column_groups,
    mark_bands,
)
from pages.shared.wording import current_language, escape_markdown, format_count, to_plain_line, tr

_NAME_LENGTH = 60
_CHANGES_SHOWN = 3
_PARTS_ON_PHONE = 6  # criteria that a card on a phone lists


class DecisionBoard(NamedTuple):
    """A board at a level: `key` names both, `source` is the publisher's board if it is one."""

    key: str
    board: Board
    source: PublishedBoard | None
    table: DecisionTable


def build_candidate_address(board: DecisionBoard, identity: str) -> str:
    """Where the name of a target leads."""
    if board.source is not None:
        query = published_source.build_row_query(board.board, identity)
    else:
        query = {"suite": board.board.suite, "board": board.board.key, "key": identity}
    return drawn_html.build_address(page_links.TARGET, query)


def draw_answer(board: DecisionBoard, decision: Decision) -> None:
    """Who is best, by how much, how sure that is, and on what it rests."""
    key, values = explain_answer(board.table, decision, current_language())
    parts: dict[str, object] = dict(values)
    for name, row in zip(("first", "second"), decision.ranked, strict=False):
        if name in values:
            parts[name] = _link_candidate(board, row)
    if "score" in parts:
        parts["score"] = drawn_html.mark_fact("score", parts["score"], "b")
    drawn_html.draw_template(
        "ranking_answer",
        sentence=drawn_html.format_html(key, **parts),
        remark=_describe_basis(decision) if decision.ranked else "",
    )


def _link_candidate(board: DecisionBoard, row: Ranked) -> Markup:
    address = build_candidate_address(board, row.candidate.identity)
    name = _localize_name(row.candidate.name)
    return Markup('<a href="{}" data-page data-fact="target">{}</a>').format(address, name)


def _localize_name(name: str) -> str:
    return to_plain_line(name_term(name, current_language()), _NAME_LENGTH)


def _describe_basis(decision: Decision) -> str:
    targets = format_count(len(decision.ranked))
    excluded = format_count(len(decision.excluded))
    if not decision.tested:
        only_spending = all(
            key in (COST, LATENCY) for key, weight in decision.weights.items() if weight > 0
        )
        return (
            "" if only_spending else tr("decide.basis_claims", targets=targets, excluded=excluded)
        )
    counts = {"cases": format_count(decision.cases), "targets": targets, "excluded": excluded}
    return tr("decide.basis", resamples=format_count(decision.resamples), **counts)


def draw_ranked(board: DecisionBoard, decision: Decision) -> None:
    """The table, a card per row on a phone; nothing where nobody is ranked."""
    if not decision.ranked:
        return
    frame = pd.DataFrame(
        {
            "score": [row.score for row in decision.ranked],
            "low": pd.Series([row.low for row in decision.ranked], dtype=float),
            "high": pd.Series([row.high for row in decision.ranked], dtype=float),
        }
    )
    axis = build_score_axis(frame, {})
    cut = url_state.cut_table_page(frame, "decide.p", board.key, repr(decision.weights))
    titles = title_criteria(board.table, current_language(), short=True)
    weighed = [key for key in titles if decision.weights[key] > 0 and key not in (COST, LATENCY)]
    columns = _list_columns(board, decision, {key: titles[key] for key in weighed})
    costs = pd.Series([row.candidate.cost_per_case for row in decision.ranked], dtype=float)
    cost_format = tables.cost_format(costs)
    rows = [
        _build_row(board, decision.ranked[int(number)], axis, weighed, cost_format)
        for number in cut.rows.index
    ]
    mark_bands(rows)
    is_short = len(weighed) <= _PARTS_ON_PHONE
    groups = list_column_groups(columns)
    drawn_html.draw_template(
        "ranking_table",
        columns=columns,
        groups=groups,
        rows=rows,
        axis=axis,
        alt=tr("decide.table_alt"),
        note="" if is_short else tr("decide.table_scrolls"),
        look="eb-wide eb-chosen" if is_short else "eb-wide eb-many",
    )
    url_state.draw_table_pager(cut)


def _list_columns(
    board: DecisionBoard, decision: Decision, parts: dict[str, str]
) -> list[DrawnColumn]:
    resamples = format_count(decision.resamples)
    leads = DrawnColumn(
        "leads", "number", tr("decide.leads"), tr("decide.leads_help", resamples=resamples)
    )
    has_costs = any(row.candidate.cost_per_case for row in decision.ranked)  # programs are free
    tested = decision.tested
    is_drawn = tested and len(parts) <= _PARTS_ON_PHONE
    return [
        DrawnColumn("rank", "rank", tr("ranking.rank"), tr("ranking.rank_range_help")),
        *([DrawnColumn("group", "tie", tr("ranking.group"))] if tested else []),
        DrawnColumn("target", "name", tr("common.target")),
        DrawnColumn("score", "score", tr("common.score"), tr("decide.score_help")),
        *([DrawnColumn("interval", "plot", tr("ranking.interval"))] if is_drawn else []),
        *([leads] if tested else []),
        *([DrawnColumn("cost", "number", tr("decide.cost_per_case"))] if has_costs else []),
        *(
            DrawnColumn(key, "number", to_plain_line(title, 40), group=_find_group(board, key))
            for key, title in parts.items()
        ),
    ]


def _find_group(board: DecisionBoard, key: str) -> str:
    """What metrics of one benchmark have above them, where there are several benchmarks."""
    is_metric = "/" in key and len(board.board.columns) > 1
    return board_view.benchmark_title(key.partition("/")[0]) if is_metric else ""


def _build_row(
    board: DecisionBoard, row: Ranked, axis: ScoreAxis, parts: list[str], cost_format: str
) -> dict[str, Any]:
    candidate = row.candidate
    bar = None
    if row.low is not None and row.high is not None:
        left = axis.place(row.low)
        width = round(axis.place(row.high) - left, 2)
        bar = {"left": left, "width": width, "dot": axis.place(row.score)}
    cost = candidate.cost_per_case
    cells = {key: row.parts[key] for key in parts}
    is_ranged = row.rank_low is not None and row.rank_low != row.rank_high
    return {
        "rank": row.rank,
        "range": tables.format_number_range(row.rank_low, row.rank_high, "{:.0f}")
        if is_ranged
        else "",
        "group": row.group or 0,
        "look": "",
        "own": False,
        "href": build_candidate_address(board, candidate.identity),
        "name": _localize_name(candidate.name),
        "logo": "",
        "new": "",
        "organization": to_plain_line(candidate.organization, _NAME_LENGTH),
        "kind_title": "" if candidate.kind == "model" else tr(f"decide.kind.{candidate.kind}"),
        "program": candidate.kind == "program",
        "status": "",
        "score": f"{row.score:.1f}",
        "interval": tables.format_number_range(row.low, row.high, "{:.1f}") if bar else "",
        "bar": bar,
        "cells": {
            "leads": DASH if row.leads is None else format_lead_share(row.leads),
            "cost": DASH if cost is None else cost_format % cost,
            **{key: DASH if value is None else f"{value:.1f}" for key, value in cells.items()},
        },
        "band": 0,
        "first": True,
        "last": True,
    }


# What would change the leader, and who is left out.


def draw_changes(board: DecisionBoard, decision: Decision) -> None:
    """Which single weight would have to change to what."""
    if len(decision.ranked) < 2:
        return
    titles = title_criteria(board.table, current_language())
    lines = [
        f"- {escape_markdown(describe_change(change, titles, current_language()), 300)}"
        for change in decision.changes
    ]
    st.subheader(tr("decide.sensitivity"), anchor=False)
    st.caption(tr("decide.sensitivity_about"))
    if not lines:
        st.markdown(tr("decide.change.never", most=MAX_WEIGHT))
        return
    st.markdown("\n".join(lines[:_CHANGES_SHOWN]))
    if further := lines[_CHANGES_SHOWN:]:
        with st.expander(tr("decide.change.more", count=len(further))):
            st.markdown("\n".join(further))


def draw_excluded(board: DecisionBoard, decision: Decision) -> None:
    """Who is not ranked and why."""
    if not decision.excluded:
        return
    st.subheader(tr("decide.excluded"), anchor=False)
    st.caption(tr("decide.excluded_about"))
    numbers = pd.DataFrame({"number": range(len(decision.excluded))})
    cut = url_state.cut_table_page(
        numbers, "decide.px", board.key, repr(decision.weights), repr(decision.limits)
    )
    titles = title_criteria(board.table, current_language())
    rows = []
    for number in cut.rows["number"]:
        excluded = decision.excluded[int(number)]
        candidate = excluded.candidate
        reasons = describe_reasons(
            board.table, candidate.identity, excluded.reasons, titles, current_language()
        )
        row = {
            "name": _localize_name(candidate.name),
            "href": build_candidate_address(board, candidate.identity),
            "status": to_plain_line(reasons, 300),
        }
        empty = dict.fromkeys(("look", "logo", "new", "organization", "kind_title"), "")
        rows.append({**empty, "own": False, "program": False, **row})
    drawn_html.draw_template(
        "ranking_table",
        columns=[DrawnColumn("target", "name", tr("common.target"))],
        rows=rows,
        axis=ScoreAxis(0, 100),
        alt=tr("decide.excluded_alt"),
        note="",
        look="",
    )
    url_state.draw_table_pager(cut)
