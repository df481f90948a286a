"""Runs: every run as it stands, live, and one of them in full with what can be done to it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import streamlit as st

from evalcore import settings
from evalcore.queries import comparison, model_cards, runs
from evalcore.queries.path_redaction import redact_run_row
from evalcore.queries.runs import RunRow, RunRows
from evalcore.runner import client
from evalcore.settings import Settings
from pages.components import (
    hub_line,
    reproduce,
    run_actions,
    run_comparison,
    run_detail,
    run_files,
    run_list,
    run_submit,
    state,
    visitor,
)
from pages.components.language import Translate, build_translator
from pages.components.text import escape_markdown

#: Seconds between two looks while anything moves.
PERIOD = 1.0


def draw_runs_page() -> None:
    """The frame around the live part."""
    tr, current = build_translator(), settings.load_settings()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.title(tr("runs.title"))
        if visitor.is_launcher_listed():
            st.page_link(state.LAUNCH, label=tr("runs.new"), icon=":material/add:")
        run_submit.draw_submit_button(current, tr)
    run_actions.draw_action_message(current, tr)
    hub_line.draw_hub_status(current, tr)
    run_submit.draw_newest_submission(current, tr)
    rows = runs.all_rows(current.run_roots)
    period = PERIOD if rows.is_active else None
    st.fragment(_draw_live_runs, run_every=period)(current, iter([rows]), rows.is_active, tr)


def _draw_live_runs(
    current: Settings, read: Iterator[RunRows], was_moving: bool, tr: Translate
) -> None:
    """Redrawn every second while a run is under way; the page as a whole when that changes. `read`
    holds the rows that the page has just read, for the first time of drawing."""
    rows, inside = (
        next(read, None) or runs.all_rows(current.run_roots),
        visitor.is_action_allowed("launch"),
    )
    rows = rows if inside else rows.cache.get("readers", partial(_redact_run_rows, rows))
    if was_moving and not rows.is_active:
        st.rerun()
    if not rows:
        _draw_no_runs(tr)
        return
    chosen = _select_shown_run(rows)
    if chosen is None:
        name = escape_markdown(st.query_params.get("run", ""))
        st.warning(tr("runs.not_found", run=name), icon=":material/search_off:")
    run_list.draw_run_list(rows, chosen.run_id if chosen else "", tr)
    if chosen is not None:
        with st.container(border=True):
            pair = comparison.find_run_pair(rows, chosen.run_id)
            card = None
            if chosen.target.key.startswith("hf:"):
                card = model_cards.model_card(current.run_roots, chosen.run_id)
            run_detail.draw_run_detail(chosen, tr, card, pair)
            if inside and chosen.own and chosen.state in ("interrupted", "incomplete"):
                asks = visitor.current_visitor()
                run_detail.draw_worker_log(
                    client.worker_log(chosen.run_id, current, visitor=asks), tr
                )
            if chosen.scores and not chosen.is_active:
                sides = [pair.first, pair.second] if pair else [chosen]
                st.page_link(
                    state.COMPARE,
                    label=tr("compare.link"),
                    icon=":material/compare_arrows:",
                    query_params=state.build_compare_query(side.run_id for side in sides),
                )
            run_files.draw_export_menu(chosen, current, tr)
            run_actions.draw_run_actions(chosen, current, tr)
            if chosen.state != "broken":
                reproduce.draw_reproduction(chosen.run_id, current, tr)
        run_comparison.draw_run_comparison(chosen, rows, pair, current, tr)


def _redact_run_rows(rows: RunRows) -> RunRows:
    return RunRows(redact_run_row(row) for row in rows)


def _select_shown_run(rows: RunRows) -> RunRow | None:
    """The run of the URL, None if there is no such run; without one, the newest."""
    run_id = st.query_params.get("run")
    if not run_id:
        return rows[0]
    return next((row for row in rows if row.run_id == run_id), None)


def _draw_no_runs(tr: Translate) -> None:
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.markdown(f"#### {tr('runs.empty_title')}")
        st.markdown(tr("runs.empty"))
        if visitor.is_launcher_listed():
            label = tr("runs.empty_action")
            st.page_link(state.LAUNCH, label=label, icon=":material/rocket_launch:")


draw_runs_page()
