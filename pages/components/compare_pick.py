"""Which runs are compared: a field that searches all finished runs, and something to begin with."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import streamlit as st

from evalcore.catalog import suite_cards
from evalcore.queries.comparison_runs import MAX_COMPARED, suggest_runs
from evalcore.queries.stored_boards import Headers, memoize_on_headers
from pages.components import names, state, url_state, visitor
from pages.components.board import benchmark_title, suite_title
from pages.components.language import Translate, current_language
from pages.components.text import to_plain_line

PAGE = "compare"
_LISTED = 1_000  # runs in the field, the newest; a longer list would be sent to every visitor
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


def select_compared_runs(headers: Headers, tr: Translate) -> list[str]:
    """The chosen runs, in the order of the URL; one that does not exist may be among them."""
    requested = _read_requested_runs(tr)
    newest = memoize_on_headers(
        headers, "listed", lambda: {header.run_id for header in headers[:_LISTED]}
    )
    older = (
        [header for header in headers[_LISTED:] if header.run_id in requested]
        if set(requested) - newest
        else []
    )
    listed = [*headers[:_LISTED], *older]
    if older:
        titles = _build_run_titles(listed, tr)
    else:
        key = ("titles", names.compute_names_version(), current_language())
        titles = memoize_on_headers(headers, key, lambda: _build_run_titles(listed, tr))
    options = list(dict.fromkeys([*titles, *requested]))
    chosen = url_state.draw_multiselect(
        tr("compare.runs"),
        options,
        page=PAGE,
        name="runs",
        title=lambda run: titles.get(run, run),
        max_selections=MAX_COMPARED,
        placeholder=tr("compare.runs_hint"),
    )
    if len(headers) > len(listed):
        st.caption(tr("compare.older", count=len(headers) - len(listed)))
    return chosen


def _build_run_titles(listed: Headers, tr: Translate) -> dict[str, str]:
    """Each run in one line: target, day, benchmarks, id."""
    target_names = names.resolve_target_names(
        {header.identity: header.target_key for header in listed}
    )
    measured = {tuple(header.benchmarks): "" for header in listed}  # a few, each read by many runs
    for keys in measured:
        measured[keys] = ", ".join(_describe_measured(keys, tr))
    return {
        header.run_id: " · ".join(
            [
                to_plain_line(target_names[header.identity], 60),
                header.created_at[:10],
                measured[tuple(header.benchmarks)],
                header.run_id,
            ]
        )
        for header in listed
    }


def _describe_measured(benchmarks: Collection[str], tr: Translate) -> list[str]:
    """What a run measured: a suite by its title where all of it was run, else its benchmarks."""
    whole = {
        suite: members
        for suite, card in suite_cards().items()
        for members in card.memberships[-1:]
        if set(members) <= set(benchmarks)
    }
    rest = [key for key in benchmarks if not any(key in members for members in whole.values())]
    return [*sorted(map(suite_title, whole)), *map(benchmark_title, rest)]


def draw_run_suggestion(headers: Headers, chosen: Sequence[str], tr: Translate) -> None:
    """What to do while there is too little to compare, with a button that does it."""
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.markdown(f"#### {tr('compare.choose_title')}", width="content")
        st.markdown(tr("compare.choose_one" if chosen else "compare.choose"), width="content")
        suggestion = suggest_runs(headers, chosen)
        if suggestion:
            st.button(
                tr("compare.suggest", count=len(suggestion)),
                icon=":material/compare_arrows:",
                on_click=state.set_query_param,
                args=("runs", ",".join(suggestion)),
            )
        elif visitor.is_launcher_listed():
            st.page_link(state.LAUNCH, label=tr("runs.new"), icon=":material/add:")


def _read_requested_runs(tr: Translate) -> list[str]:
    """The runs of the URL, each once and not too many; the URL is made to say the same."""
    text = st.query_params.get("runs", "")
    run_ids = list(dict.fromkeys(run for run in text.split(",") if _RUN.fullmatch(run)))
    if len(run_ids) > MAX_COMPARED:
        st.warning(
            tr("compare.too_many", most=MAX_COMPARED, count=len(run_ids)),
            icon=":material/filter_8:",
        )
    state.set_query_param("runs", ",".join(run_ids[:MAX_COMPARED]))
    return run_ids[:MAX_COMPARED]
