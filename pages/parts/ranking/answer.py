"""The answer of a ranking, before its table: who leads, by how much, how sure that is, on what; and
where to go from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import streamlit as st
from markupsafe import Markup

from evalcore.views import board_titles
from evalcore.views.board_table import BoardTable
from evalcore.views.boards import Board
from evalcore.views.ranking import SUITE, Lead
from pages.parts.ranking.ranking_table import is_program
from pages.shared import drawn_html, page_links, visitor, widgets
from pages.shared.drawn_html import format_html, link_target, mark_fact
from pages.shared.ranking_rows import RankingRows
from pages.shared.wording import current_language, format_count, tr

_MAX_COMPARED = 4  # targets at once


LinkName = Callable[[str, str], Markup]


def draw_answer(
    table: BoardTable,
    rows: RankingRows,
    board: Board,
    order: str,
    link_name: LinkName = link_target,
    remark: str = "",
) -> None:
    """The sentence, and a remark, by default where no model is among the ranked. `link_name` makes
    a link of a name and an identity."""
    if table.lead is None or rows.everyone.empty:
        return
    scope = _describe_scope(table.lead, rows, board, order)
    sentence = _build_sentence(table.lead, rows, scope, link_name)
    if all(map(is_program, rows.everyone["target_key"])):
        remark = tr("ranking.answer.programs")
    drawn_html.draw_template("ranking_answer", sentence=sentence, remark=remark)


def _build_sentence(lead: Lead, rows: RankingRows, scope: Markup, link_name: LinkName) -> Markup:
    """Names are links; each of the facts goes by its name in the page."""
    names = dict(zip(rows.everyone["identity"], rows.everyone["name"], strict=True))
    first = mark_fact("leader", link_name(names[lead.first], lead.first), "b")
    if not lead.second:
        score = f"{float(rows.everyone['score'].iloc[0]):.1f}"
        return format_html(
            "ranking.answer.single",
            first=first,
            lead=mark_fact("lead", score, "b"),
            certainty=mark_fact("certainty", tr("ranking.answer.alone")),
            scope=scope,
        )
    return format_html(
        "ranking.answer.leader" if lead.significant or not lead.tested else "ranking.answer.tie",
        first=first,
        second=link_name(names[lead.second], lead.second),
        lead=mark_fact("lead", tr("ranking.answer.points", points=f"{lead.points:.1f}"), "b"),
        certainty=mark_fact("certainty", _describe_certainty(lead, rows)),
        scope=scope,
    )


def _describe_certainty(lead: Lead, rows: RankingRows) -> str:
    """Whether the lead is significant, else with how many the first is tied."""
    if not lead.tested:
        return tr("ranking.answer.untested")
    if not lead.significant:
        others = int((rows.everyone["group"] == 1).sum()) - 1
        return tr("ranking.answer.tied_one" if others == 1 else "ranking.answer.tied", count=others)
    ends = {"low": f"{lead.low:.1f}", "high": f"{lead.high:.1f}"}
    key = "ranking.answer.significant_range" if lead.low > 0 else "ranking.answer.significant"
    return tr(key, **ends)


def _describe_scope(lead: Lead, rows: RankingRows, board: Board, order: str) -> Markup:
    """On what the answer rests: what is ranked by, the cases where they are known, targets."""
    language = current_language()
    suite = board_titles.suite_title(board.suite, language)
    title = suite if order == SUITE else board_titles.order_title(order, language)
    key = "ranking.answer.scope" if order == SUITE else "ranking.answer.scope_part"
    counts = {"cases": format_count(lead.cases), "targets": format_count(len(rows.everyone))}
    of_cases = "ranking.answer.cases_targets" if lead.second else "ranking.answer.cases"
    cases = tr(of_cases if lead.cases else "ranking.answer.targets", **counts)
    return mark_fact("scope", tr(key, suite=suite, title=title, cases=cases))


def draw_next_steps(ranked: pd.DataFrame, board: Board) -> None:
    """What a reader can do next, in one row."""
    first = ranked["run_id"].head(_MAX_COMPARED)
    with st.container(horizontal=True, key="ranking-next", gap="medium"):
        if len(first) > 1:
            label = tr("board.compare", count=len(first))
            compared = page_links.build_compare_query(first)
            widgets.draw_link(page_links.COMPARE, label, "compare_arrows", **compared)
        draw_decide_step({"suite": board.suite, "board": board.key})
        draw_launch_step()


def draw_decide_step(query: Mapping[str, str]) -> None:
    """The link to the same board by a visitor's own weights."""
    widgets.draw_link(page_links.DECIDE, tr("decide.to_page"), "tune", **query)


def draw_launch_step() -> None:
    """The link to the launcher, where there is one."""
    if visitor.is_launcher_listed():
        widgets.draw_link(page_links.LAUNCH, tr("ranking.next_launch"), "rocket_launch")
