"""What is said of a board: what sets it apart, who leads its parts, and why it is empty."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from markupsafe import Markup

from evalcore.plain_text import DASH
from evalcore.views import board_titles
from evalcore.views.board_table import BoardFilter, every_part, find_blocking_fields, shown_parts
from evalcore.views.boards import Board, is_control
from evalcore.views.comparison_runs import RuleDifference
from evalcore.views.ranking import SUITE
from evalcore.views.targets import Leader
from pages.shared import (
    board_view,
    drawn_html,
    page_links,
    ranking_rows,
    tables,
    visitor,
    widgets,
    wording,
)
from pages.shared.board_view import part_title
from pages.shared.page_links import set_query_param
from pages.shared.ranking_rows import RankingView
from pages.shared.wording import current_language, escape_markdown, to_plain_line, tr

# Why a board stands by itself: what sets it apart from the default one, and from all others.

_MAX_DIFFERENCES = 12  # differences that are listed of a benchmark


def draw_board_about(board: Board, by: str) -> None:
    """The ranking in a sentence or two."""
    about = board_titles.board_about(
        board, by, current_language(), lambda title: escape_markdown(title, 200)
    )
    st.caption(about)


def draw_separation_menu(view: RankingView, base: Board) -> None:
    """A button that unfolds why boards are never mixed, and what is peculiar to this one."""
    look = {"type": "tertiary", "icon": ":material/help:", "key": "ranking.why"}
    menu = st.popover(tr("board.why"), on_change="rerun", **look)
    if menu.open:
        with menu, st.container(width=520):
            _draw_board_separation(view, base)


def _draw_board_separation(view: RankingView, base: Board) -> None:
    st.markdown(tr("board.why_about"))
    if view.board.key == base.key:
        st.markdown(tr("board.why_default"))
        return
    title = escape_markdown(board_view.board_title(base), 200)
    st.markdown(tr("board.why_this", base=title))
    for separation in ranking_rows.load_rule_differences(view, base):
        st.markdown(f"**{escape_markdown(board_view.benchmark_title(separation.benchmark))}**")
        if separation.differences:
            _draw_rule_differences(separation.differences)
        else:
            language, columns = current_language(), (separation.base, separation.other)
            titles = (board_titles.column_title(key, language) if key else "" for key in columns)
            first, second = (escape_markdown(title, 200) if title else DASH for title in titles)
            st.markdown(tr("board.why_column", base=first, other=second))


def _draw_rule_differences(differences: Sequence[RuleDifference]) -> None:
    listed = differences[:_MAX_DIFFERENCES]
    columns = {
        tr("board.rule"): [_format_rule_name(difference.rule) for difference in listed],
        tr("board.default_board"): [_format_board_rule_value(item.base) for item in listed],
        tr("board.this_board"): [_format_board_rule_value(item.other) for item in listed],
    }
    st.table(columns, border="horizontal")


def _format_rule_name(name: str) -> str:
    """A declared rule in words; an option or a weight keeps its own name."""
    group, dot, own = name.partition(".")
    return f"{tr(f'board.rule.{group}')}{': ' if dot else ''}{escape_markdown(own)}"


def _format_board_rule_value(text: str) -> str:
    return escape_markdown(to_plain_line(text, 40), 40) if text else DASH


# Who leads in each part of a board: cards that lead to the metric and to the target.

_CARD = 190  # pixels, at least
_MAX_CARDS = 12
_TABLE = "ranking.leaders"
_INDENT = "&nbsp;&nbsp;"  # as wide as the space before a link


def draw_leaders(leaders: Sequence[Leader], board_filter: BoardFilter, view: RankingView) -> None:
    """The best ranked target of each benchmark, or of each metric of the one that the board is
    ranked by."""
    board, parts = view.board, shown_parts(view.board, board_filter.evidence)
    if view.order != SUITE and not board_filter.evidence:
        parts = [part for part in every_part(board) if part.startswith(f"{view.order}/")]
    shown_leaders = [leader for leader in leaders if leader.part in parts]
    if not shown_leaders:
        return
    st.subheader(tr("ranking.leaders"), anchor=False)
    if len(shown_leaders) > _MAX_CARDS:
        _draw_leader_table(shown_leaders, board)
    else:
        with st.grid(min_column_width=_CARD):
            for leader in shown_leaders:
                _draw_leader_card(leader, board)
    st.caption(tr("board.leaders_about"))


def _draw_leader_card(leader: Leader, board: Board) -> None:
    with st.container(border=True, gap=None):
        query = _build_part_query(leader.part, board)
        title = escape_markdown(part_title(leader.part))
        st.page_link(page_links.METRICS, label=title, query_params=query)
        name = f"**{escape_markdown(leader.name, 40)}**"
        st.page_link(page_links.TARGET, label=name, query_params={"key": leader.identity})
        near = tr("board.leader_near" if leader.near else "board.leader_clear", count=leader.near)
        st.markdown(f"{_INDENT}**{wording.format_score(leader.score)}** :small[:gray[· {near}]]")


def _build_part_query(part: str, board: Board) -> dict[str, str]:
    """The query parameters of a part on the Metrics page."""
    benchmark, _, metric = part.partition("/")
    query = {"suite": board.suite, "board": board.key, "benchmark": benchmark, "metric": metric}
    return {name: value for name, value in query.items() if value}


def _draw_leader_table(leaders: Sequence[Leader], board: Board) -> None:
    """A row per part, where cards would fill a screen."""
    columns = {
        "part": [part_title(leader.part) for leader in leaders],
        "target": [to_plain_line(leader.name, 60) for leader in leaders],
        "score": [leader.score for leader in leaders],
        "near": [leader.near for leader in leaders],
    }
    config = {
        "part": tables.link_column("common.metric", f"{_TABLE}.part", width=210),
        "target": tables.link_column("common.target", f"{_TABLE}.target", width="medium"),
        "score": tables.number_column("common.score", "%.1f", 64),
        "near": tables.number_column("board.near", help=tr("board.leaders_about")),
    }
    look = {"width": "content", "key": f"{_TABLE}.table"}
    tables.draw_grid(columns, config, tr("ranking.leaders"), tables.EVERY_ROW, **look)
    if (clicked := tables.read_clicked_row(f"{_TABLE}.part", len(leaders))) is not None:
        query = _build_part_query(leaders[clicked].part, board)
        st.switch_page(page_links.METRICS, query_params=query)
    if (clicked := tables.read_clicked_row(f"{_TABLE}.target", len(leaders))) is not None:
        st.switch_page(page_links.TARGET, query_params={"key": leaders[clicked].identity})


# What the Ranking page says where nobody is ranked or nobody is left over, and of which months it
# speaks.


def describe_months(view: RankingView) -> str:
    """Of which months the runs are, where they are not of all."""
    if not view.since and not view.until:
        return ""
    key = "as_of" if not view.since else "as_since" if not view.until else "as_between"
    return tr(f"board.{key}", since=view.since, until=view.until)


def draw_nobody_ranked(frame: pd.DataFrame, view: RankingView) -> None:
    """The answer where nobody is ranked, in the months that were chosen, in the whole suite, or at
    all: why that is, who comes nearest, and what to do."""
    if view.since or view.until:
        _draw_nobody(tr("board.nobody_then"), describe_months(view))
        reset = ranking_rows.reset_ranking_filters
        st.button(tr("board.reset"), key="ranking.nobody.reset", on_click=reset)
        return
    nearest = _describe_nearest(frame)
    if view.order == SUITE and (frame["status"] == "not_run").any():
        _draw_nobody(tr("board.nobody_suite"), nearest)
        with st.container(horizontal=True, gap="small"):
            for name in view.board.columns:
                title = tr("board.rank_by", name=escape_markdown(board_view.benchmark_title(name)))
                look = {"on_click": set_query_param, "args": ("by", name)}
                st.button(title, key=f"ranking.by.{name}.go", **look)
        return
    _draw_nobody(tr("ranking.nobody_board"), nearest)
    with st.container(horizontal=True, key="ranking-next", gap="medium"):
        if visitor.is_launcher_listed():
            widgets.draw_link(page_links.LAUNCH, tr("ranking.empty_action"), "rocket_launch")
        if (frame["status"] == "incomplete").any():
            widgets.draw_link(page_links.RUNS, tr("ranking.nobody_resume"), "monitoring")


def _draw_nobody(sentence: str, remark: Markup | str) -> None:
    drawn_html.draw_template("ranking_answer", sentence=sentence, remark=remark)


def _describe_nearest(frame: pd.DataFrame) -> Markup | str:
    """Who comes nearest to a rank, with a lower bound; else that only controls have scores."""
    scored = frame[frame["status"].isin(["incomplete", "not_run"]) & frame["score"].notna()]
    if scored.empty:
        only_controls = len(frame) and frame["target_key"].map(is_control).all()
        return tr("ranking.nobody_controls") if only_controls else tr("ranking.nobody")
    best = scored.sort_values("score", ascending=False, kind="stable").iloc[0]
    return drawn_html.format_html(
        "ranking.nobody_nearest",
        name=drawn_html.link_target(str(best["name"]), str(best["identity"])),
        score=f"{float(best['score']):.1f}",
    )


def draw_no_match(everyone: pd.DataFrame, board_filter: BoardFilter, board: Board) -> None:
    """What to loosen, where the filters leave nobody over."""
    fields = find_blocking_fields(everyone, board, board_filter)
    names = wording.join_names(tr(f"board.{field}") for field in fields)
    text, reset = tr("board.loosen", names=names), ranking_rows.reset_ranking_filters
    note = widgets.draw_centred_note(tr("ranking.no_match"), text)
    note.button(tr("board.reset"), key="ranking.empty.reset", on_click=reset)
