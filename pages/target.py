"""Target: one target on a board, with its profile, its cases and its history."""

from __future__ import annotations

import streamlit as st

from evalcore.queries import boards, targets
from evalcore.queries.boards import Board, Row
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import board as shared
from pages.components import (
    card_editor,
    loaded,
    model_facts,
    names,
    notes,
    reproduce,
    state,
    target_cases,
    target_failures,
    target_head,
    target_history,
    target_outline,
    target_published,
    target_readings,
    target_ways,
    url_state,
    visitor,
)
from pages.components.language import Translate, translator
from pages.components.text import escape, plain

PAGE = "target"
VIEWS = ("cases", "failures", "history", "outcomes")


def page() -> None:
    """Find the target that the URL names, or say why there is none."""
    tr, current = translator(), visitor.seen()
    headers = loaded.finished(current, tr)
    known, asked = targets.identities(headers), st.query_params.get("key", "")
    if not known or (asked and asked not in known):
        st.title(tr("common.nav.target"), anchor=False)
    if known and not asked:
        known = _leader_first(known, headers, current)
    if not known:
        notes.draw("target.empty", state.LAUNCH, tr)
    elif asked and asked not in known:
        notes.draw("target.not_found", state.RANKING, tr, name=escape(asked, 120))
    else:
        _draw(headers, known, current, tr)


def _draw(headers: Headers, known: list[str], current: Settings, tr: Translate) -> None:
    titles = names.of_all(headers)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        identity = url_state.select(
            tr("target.pick"),
            known,
            page=PAGE,
            name="key",
            title=lambda code: plain(titles[code]),
            explicit=True,
            help=tr("target.pick_help"),
            width=420,
        )
        board = shared.choose(headers, PAGE, tr, identity)
    row = targets.row_of(headers, board, identity) if board else None
    if board is None or row is None:
        st.title(escape(titles[identity], 90), anchor=False)
        st.caption(tr("target.no_score"))
        return
    ranking = shared.frame(current, board)
    target_head.title(row, titles[identity], current, tr)
    target_ways.draw(headers, board, ranking, row, titles, current, tr)
    card_editor.draw(current, row.target_key, tr)
    target_head.figures(ranking, identity, row, tr)
    target_readings.shield(row, current, tr)
    model_facts.of_row(row, current, tr)
    profiled = target_outline.draw(headers, board, row, titles[identity], current, tr)
    target_published.draw(row, current, tr)
    _views(headers, board, row, current, tr, profiled=profiled)


def _views(
    headers: Headers, board: Board, row: Row, current: Settings, tr: Translate, *, profiled: bool
) -> None:
    """What is shown in turn; where the target has a profile, its readings come late."""
    view = url_state.segments(
        tr("target.view"),
        VIEWS,
        page=PAGE,
        name="view",
        title=lambda code: tr(f"target.view.{code}"),
    )
    if view == "history":
        target_history.draw(headers, board, row.identity, tr)
        for run in dict.fromkeys(one.run_id for one in row.runs.values()):
            reproduce.draw(run, current, tr)
    elif view == "outcomes":
        target_history.outcomes(row, board, tr)
        if profiled:
            target_readings.draw(row, current, tr)
    else:
        runs = {key: run.run_id for key, run in row.runs.items()}
        benchmark = _benchmark(runs, tr)
        draw = target_failures.draw if view == "failures" else target_cases.draw
        draw(current, runs[benchmark], benchmark, tr)


def _leader_first(known: list[str], headers: Headers, current: Settings) -> list[str]:
    """The targets with the best of the first board in front, the page most worth seeing."""
    suites = boards.suites(headers)
    if not suites:
        return known
    frame = shared.frame(current, boards.boards(headers, suites[0])[0])
    best = list(frame.loc[frame["status"] == "ranked", "identity"])[:1]
    return [*best, *(one for one in known if one not in best)]


def _benchmark(runs: dict[str, str], tr: Translate) -> str:
    """The benchmark whose cases are shown; asked which only where there are several."""
    benchmark = next(iter(runs))
    if len(runs) > 1:
        benchmark = url_state.select(
            tr("common.benchmark"),
            list(runs),
            page=PAGE,
            name="benchmark",
            title=shared.benchmark_title,
            width=260,
        )
    return benchmark


page()
