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
from pages.components.language import Translate, current
from pages.components.text import plain

PAGE = "compare"
_LISTED = 1_000  # runs in the field, the newest; a longer list would be sent to every visitor
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


def draw(headers: Headers, tr: Translate) -> list[str]:
    """The chosen runs, in the order of the URL; one that does not exist may be among them."""
    asked = _asked(tr)
    newest = memoize_on_headers(
        headers, "listed", lambda: {one.run_id for one in headers[:_LISTED]}
    )
    older = [one for one in headers[_LISTED:] if one.run_id in asked] if set(asked) - newest else []
    listed = [*headers[:_LISTED], *older]
    if older:
        titles = _titles(listed, tr)
    else:
        key = ("titles", names.version(), current())
        titles = memoize_on_headers(headers, key, lambda: _titles(listed, tr))
    options = list(dict.fromkeys([*titles, *asked]))
    chosen = url_state.many(
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


def _titles(listed: Headers, tr: Translate) -> dict[str, str]:
    """Each run in one line: target, day, benchmarks, id."""
    named = names.among({one.identity: one.target_key for one in listed})
    asked = {tuple(one.benchmarks): "" for one in listed}  # a few, each read by many runs
    for keys in asked:
        asked[keys] = ", ".join(_measured(keys, tr))
    return {
        one.run_id: " · ".join(
            [
                plain(named[one.identity], 60),
                one.created_at[:10],
                asked[tuple(one.benchmarks)],
                one.run_id,
            ]
        )
        for one in listed
    }


def _measured(benchmarks: Collection[str], tr: Translate) -> list[str]:
    """What a run measured: a suite by its title where all of it was run, else its benchmarks."""
    whole = {
        suite: members
        for suite, card in suite_cards().items()
        for members in card.memberships[-1:]
        if set(members) <= set(benchmarks)
    }
    rest = [key for key in benchmarks if not any(key in members for members in whole.values())]
    return [*sorted(map(suite_title, whole)), *map(benchmark_title, rest)]


def suggest(headers: Headers, given: Sequence[str], tr: Translate) -> None:
    """What to do while there is too little to compare, with a button that does it."""
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.markdown(f"#### {tr('compare.choose_title')}", width="content")
        st.markdown(tr("compare.choose_one" if given else "compare.choose"), width="content")
        found = suggest_runs(headers, given)
        if found:
            st.button(
                tr("compare.suggest", count=len(found)),
                icon=":material/compare_arrows:",
                on_click=state.remember,
                args=("runs", ",".join(found)),
            )
        elif visitor.listed():
            st.page_link(state.LAUNCH, label=tr("runs.new"), icon=":material/add:")


def _asked(tr: Translate) -> list[str]:
    """The runs of the URL, each once and not too many; the URL is made to say the same."""
    text = st.query_params.get("runs", "")
    named = list(dict.fromkeys(run for run in text.split(",") if _RUN.fullmatch(run)))
    if len(named) > MAX_COMPARED:
        st.warning(
            tr("compare.too_many", most=MAX_COMPARED, count=len(named)), icon=":material/filter_8:"
        )
    state.remember("runs", ",".join(named[:MAX_COMPARED]))
    return named[:MAX_COMPARED]
