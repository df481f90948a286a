"""Target: one target on a board, with its profile, its cases and its history."""

from __future__ import annotations

from typing import Any

import streamlit as st

from evalcore.settings import Settings
from evalcore.views import boards, stored_boards, targets
from evalcore.views.boards import Board, Row
from evalcore.views.scope_board import list_scoped_runs
from evalcore.views.stored_boards import Headers
from pages.parts.target import card_editor, case_list, head, profile, published, scope
from pages.shared import (
    board_view,
    display_names,
    page_links,
    published_source,
    run_facts,
    url_state,
    visitor,
)
from pages.shared.published_source import PUBLISHED
from pages.shared.wording import escape_markdown, to_plain_line, tr

VIEWS = ("cases", "failures", "history", "outcomes")


def draw_target_page() -> None:
    """Find the target that the URL names, or say why there is none."""
    current = visitor.load_visitor_settings()
    headers = board_view.require_finished_headers(current)
    controls = published_source.open_controls("target")
    with controls:
        is_published = published_source.select_source(current, headers, "target") == PUBLISHED
    if is_published:
        published.draw_published_target(current, controls)
        return
    identities, asked = targets.list_identities(headers), st.query_params.get("key", "")
    if not identities or (asked and asked not in identities):
        st.title(tr("common.nav.target"), anchor=False)
    if identities and not asked:
        identities = _put_leader_first(identities, headers, current)
    if not identities:
        board_view.draw_empty_note("target.empty", page_links.LAUNCH)
    elif asked and asked not in identities:
        name = escape_markdown(asked, 120)
        board_view.draw_empty_note("target.not_found", page_links.RANKING, name=name)
    else:
        _draw_target(headers, identities, current, controls)


def _draw_target(headers: Headers, identities: list[str], current: Settings, controls: Any) -> None:
    titles = display_names.load_all_target_names(headers)
    with controls:
        identity = url_state.draw_select(
            tr("target.pick"),
            identities,
            key="target.key",
            title=lambda code: to_plain_line(titles[code]),
            explicit=True,
            width=340,
            label_visibility="collapsed",
        )
        board = board_view.select_board(headers, "target", identity, compact=True)
    row = targets.find_target_row(headers, board, identity) if board else None
    if board is None or row is None:
        st.title(escape_markdown(titles[identity], 90), anchor=False)
        st.caption(tr("target.no_score"))
        return
    ranking = stored_boards.load_cached_ranking(current, board)
    head.draw_target_title(row, titles[identity], current)
    head.draw_target_links(headers, board, ranking, row, titles, current)
    card_editor.draw_card_editor(current, row.target_key)
    head.draw_target_figures(ranking, identity, row)
    head.draw_comparability(board, row)
    profile.draw_shield_warning(row, current)
    run_facts.draw_row_model(row, current)
    profiled = profile.draw_target_outline(headers, board, row, titles[identity], current)
    head.draw_published_scores(row, current)
    _draw_target_views(headers, board, row, current, profiled=profiled)


def _draw_target_views(
    headers: Headers, board: Board, row: Row, current: Settings, *, profiled: bool
) -> None:
    """What is shown in turn; where the target has a profile, its readings come late."""
    scoped = list_scoped_runs((run.run_id for run in row.runs.values()), current)
    views = (*VIEWS, "scope") if scoped else VIEWS
    view = url_state.draw_segments(
        tr("target.view"), views, key="target.view", title=lambda code: tr(f"target.view.{code}")
    )
    if view == "history":
        case_list.draw_target_history(headers, board, row.identity)
        for run in dict.fromkeys(target_run.run_id for target_run in row.runs.values()):
            run_facts.draw_reproduction(run, current)
    elif view == "scope":
        scope.draw_scope_boards(scoped, current)
    elif view == "outcomes":
        case_list.draw_target_outcomes(row, board)
        if profiled:
            profile.draw_alternate_scores(row, current)
    else:
        runs = {key: run.run_id for key, run in row.runs.items()}
        benchmark = _pick_target_benchmark(runs)
        draw = case_list.draw_target_failures if view == "failures" else case_list.draw_target_cases
        draw(current, runs[benchmark], benchmark)


def _put_leader_first(identities: list[str], headers: Headers, current: Settings) -> list[str]:
    """The targets with the best of the first board in front, the page most worth seeing."""
    suites = boards.list_suites(headers)
    if not suites:
        return identities
    frame = stored_boards.load_cached_ranking(current, boards.list_boards(headers, suites[0])[0])
    best = list(frame.loc[frame["status"] == "ranked", "identity"])[:1]
    return [*best, *(identity for identity in identities if identity not in best)]


def _pick_target_benchmark(runs: dict[str, str]) -> str:
    """The benchmark whose cases are shown; asked which only where there are several."""
    benchmark = next(iter(runs))
    if len(runs) > 1:
        benchmark = board_view.select_benchmark(list(runs), "target.benchmark", width=260)
    return benchmark


draw_target_page()
