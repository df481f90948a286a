"""Runs: every run as it stands, live, and one of them in full with what can be done to it."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from evalcore import settings
from evalcore.catalog import runs_models_here
from evalcore.runner import client
from evalcore.settings import Settings
from evalcore.views import comparison, reproduce, runs
from evalcore.views.runs import RunRow, RunRows, redact_run_row
from pages.parts.runs import exchange, overview, side_by_side, sweep
from pages.shared import page_links, run_facts, visitor, widgets
from pages.shared.wording import escape_markdown, tr

#: Seconds between two looks while anything moves.
PERIOD = 1.0


def draw_runs_page() -> None:
    """The frame around the live part."""
    current = settings.load_settings()
    with st.container(horizontal=True, vertical_alignment="center", key="runs-head"):
        st.title(tr("runs.title"))
        if visitor.is_launcher_listed():
            st.page_link(page_links.LAUNCH, label=tr("runs.new"), icon=":material/add:")
        exchange.draw_submit_button(current)
    overview.draw_action_message(current)
    exchange.draw_hub_status(current)
    exchange.draw_newest_submission(current)
    rows = runs.all_rows(current.run_roots)
    period = PERIOD if rows.is_active else None
    st.fragment(_draw_live_runs, run_every=period)(current, iter([rows]), rows.is_active)


def _draw_live_runs(current: Settings, read: Iterator[RunRows], was_moving: bool) -> None:
    """Redrawn every second while a run is under way; the page as a whole when that changes. `read`
    holds the rows that the page has just read, for the first time of drawing."""
    everything = next(read, None) or runs.all_rows(current.run_roots)
    inside = visitor.is_action_allowed("launch")
    rows = everything
    if not inside:
        rows = rows.cache.get("readers", lambda: RunRows(map(redact_run_row, everything)))
    if was_moving and not rows.is_active:
        st.rerun()
    if not rows:
        _draw_no_runs()
        return
    chosen = _select_shown_run(rows)
    if chosen is None:
        name = escape_markdown(st.query_params.get("run", ""))
        st.warning(tr("runs.not_found", run=name), icon=":material/search_off:")
        alike = runs.find_alike_run(st.query_params.get("run", ""), current.run_roots)
        widgets.draw_alike_run(page_links.RUNS, alike, run=alike)
    overview.draw_run_list(rows, chosen.run_id if chosen else "", current)
    if chosen is not None:
        with st.container(border=True):
            pair = comparison.find_run_pair(rows, chosen.run_id)
            card = None
            if runs_models_here(chosen.target.key):
                card = reproduce.model_card(current.run_roots, chosen.run_id)
            overview.draw_run_detail(chosen, current, card, pair)
            unmeasured = chosen.errors or chosen.outcomes.get("not_executed")
            if inside and unmeasured and not chosen.is_active:
                overview.draw_error_causes(chosen, current)
            if inside and chosen.own and chosen.state in ("interrupted", "incomplete"):
                asks = visitor.current_visitor()
                overview.draw_worker_log(client.worker_log(chosen.run_id, current, visitor=asks))
            sides = [pair.first, pair.second] if pair else [chosen]
            with overview.draw_run_actions(chosen, current):
                if chosen.scores and not chosen.is_active:
                    query = page_links.build_compare_query(side.run_id for side in sides)
                    label = tr("compare.link")
                    widgets.draw_link(page_links.COMPARE, label, "compare_arrows", **query)
                exchange.draw_export_menu(chosen, current)
            if preflight := client.read_preflight(chosen.run_id, current):
                with st.expander(tr("runs.preflight"), icon=":material/fact_check:"):
                    run_facts.draw_capabilities(preflight)
            if chosen.state != "broken":
                run_facts.draw_reproduction(chosen.run_id, current)
        sweep.draw_run_sweep(chosen.run_id, current)
        side_by_side.draw_run_comparison(chosen, rows, pair, current)


def _select_shown_run(rows: RunRows) -> RunRow | None:
    """The run of the URL, None if there is no such run; without one, the newest."""
    run_id = st.query_params.get("run")
    if not run_id:
        return rows[0]
    return next((row for row in rows if row.run_id == run_id), None)


def _draw_no_runs() -> None:
    with widgets.draw_centred_note(tr("runs.empty_title"), tr("runs.empty")):
        if visitor.is_launcher_listed():
            widgets.draw_link(page_links.LAUNCH, tr("runs.empty_action"), "rocket_launch")


draw_runs_page()
