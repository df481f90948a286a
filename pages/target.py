"""Target: one target on a board, with its profile, its cases and its history."""

from __future__ import annotations

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.queries import stored_boards, targets
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import board as shared
from pages.components import (
    card_editor,
    model_facts,
    names,
    notes,
    reproduce,
    share,
    state,
    target_cases,
    target_charts,
    target_failures,
    target_head,
    target_history,
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
    try:
        headers = stored_boards.headers(current)
    except EvalboardError as error:
        st.error(tr("ranking.no_index", reason=escape(error, 400)), icon=":material/error:")
        return
    known, asked = targets.identities(headers), st.query_params.get("key", "")
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
    left, right = st.columns([5, 7], gap="large")
    profile = targets.profile(headers, board, identity)
    profiled = target_charts.has_profile(profile)
    with left:
        if profiled:
            target_charts.profile(profile, targets.axes(board, row), titles[identity], tr)
        else:
            target_readings.draw(row, current, tr)
            target_readings.tries(row, current, tr)
    with right:
        target_charts.metric_bars(headers, board, identity, tr)
        if profiled:
            target_readings.tries(row, current, tr)
    target_published.draw(row, current, tr)
    view = url_state.segments(
        tr("target.view"),
        VIEWS,
        page=PAGE,
        name="view",
        title=lambda code: tr(f"target.view.{code}"),
    )
    if view == "history":
        target_history.draw(headers, board, identity, tr)
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
    share.draw(PAGE, tr)


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
