"""One run in full: state, progress, what it takes, what went wrong, what it scored."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.i18n import lookup_text
from evalcore.queries import boards, stored_boards
from evalcore.queries.comparison import RunPair
from evalcore.queries.model_cards import ModelCard
from evalcore.queries.runs import RunRow
from evalcore.settings import Settings
from pages.components import model_facts, names, numbers, run_levels, state
from pages.components.board import benchmark_title
from pages.components.language import Translate, current_language, localize_note
from pages.components.run_list import SIGNS, format_benchmark_titles
from pages.components.text import escape_markdown

_SEEN_AT_ONCE = 20  # rows of a ranking

STATE_COLOURS = {
    "planned": "gray",
    "running": "blue",
    "done": "green",
    "incomplete": "orange",
    "cancelled": "gray",
    "interrupted": "orange",
    "broken": "red",
}
OUTCOME_COLOURS = {
    "passed": "green",
    "failed": "red",
    "not_executed": "gray",
    "target_error": "orange",
    "judge_error": "orange",
    "environment_error": "orange",
    "missing": "gray",
}


def draw_run_detail(
    row: RunRow, tr: Translate, card: ModelCard | None = None, pair: RunPair | None = None
) -> None:
    """Everything but the actions; `card` is of a local model, `pair` the comparison it is in."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(escape_markdown(_format_run_name(row)), anchor=False, width="content")
        st.badge(
            f"{SIGNS[row.state]} {tr(f'common.state.{row.state}')}",
            color=STATE_COLOURS[row.state],  # type: ignore[arg-type]
        )
        run_levels.draw_level_badges(row.levels, tr)
    if row.state == "broken":
        st.error(
            tr("runs.broken", reason=escape_markdown(row.problem, 600)),
            icon=":material/broken_image:",
        )
        return
    about = [
        escape_markdown(format_benchmark_titles(row), 200),
        escape_markdown(row.run_id),
        _describe_run_state(row, pair, tr),
    ]
    st.caption(" · ".join(about))
    st.progress(row.fraction, text=_format_progress_text(row, tr))
    if row.message and not (card is not None and row.phase == "running"):  # told in figures below
        _draw_worker_message(row)
    _draw_outcome_badges(row, tr)
    _draw_run_measures(row, tr)
    if card is not None:
        model_facts.draw_live_model(card, is_active=row.state == "running", tr=tr)
    _draw_run_errors(row, tr)
    if row.scores and not row.complete:
        st.caption(tr("runs.not_ranked"))


def _format_run_name(row: RunRow) -> str:
    target = row.target
    return names.resolve_target_name(target.identity, target.key) if target.identity else row.run_id


def _describe_run_state(row: RunRow, pair: RunPair | None, tr: Translate) -> str:
    """The state in a sentence; the second of two local models waits for the first."""
    waits = row.state == "planned" and pair is not None and pair.second.run_id == row.run_id
    return tr("runs.about.waiting" if waits else f"runs.about.{row.state}")


def _draw_worker_message(row: RunRow) -> None:
    """What the worker said last: a sign of life while it runs, the reason where it stopped."""
    message = escape_markdown(localize_note(row.message), 600)
    if row.state == "running":
        st.caption(f":material/terminal: {message}")
    elif row.state in ("incomplete", "interrupted") and not row.scores:
        st.error(message, icon=":material/error:")
    elif row.state != "done":
        st.caption(message)


def draw_worker_log(text: str, tr: Translate) -> None:
    """What the worker printed at last: where to look when it ended before its run."""
    if text.strip():
        with st.expander(tr("runs.log"), icon=":material/notes:"):
            st.code(text, language=None, wrap_lines=True, height=240)


def _format_progress_text(row: RunRow, tr: Translate) -> str:
    text = tr("runs.counted", scored=f"{row.scored:,}", total=f"{row.total:,}")
    phase = lookup_text(f"runs.phase.{row.phase}", current_language())
    return f"{text} · {phase}" if phase and row.is_active else text


def _draw_run_measures(row: RunRow, tr: Translate) -> None:
    several = len(row.scores) > 1
    scores = [
        (benchmark_title(key) if several else tr("common.score"), numbers.format_score(score))
        for key, score in row.scores.items()
    ]
    if row.is_active:
        time = [
            ("runs.rate", tr("runs.rate_value", rate=f"{row.rate:.1f}")),
            ("runs.eta", numbers.format_duration(row.eta, tr)),
        ]
    else:
        time = [("runs.wall", numbers.format_duration(row.wall, tr))]
    cells = [
        *time,
        ("runs.requests", numbers.format_count(row.requests, tr)),
        *numbers.build_usage_cells(row.input_tokens, row.output_tokens, row.cost, tr),
    ]
    with st.container(horizontal=True, gap="medium"):
        titled_cells = [(tr(key), value) for key, value in cells]
        for title, value in [*(() if row.is_active else scores), *titled_cells]:
            st.metric(title, value, width="content")
    if source := numbers.format_cost_sources(row.cost_sources, tr):
        st.caption(source)
    if row.is_active and row.limit:
        st.caption(tr("runs.width", open=row.in_flight, limit=row.limit, refused=row.refused))


def _draw_outcome_badges(row: RunRow, tr: Translate) -> None:
    counted = {name: row.outcomes[name] for name in OUTCOME_COLOURS if row.outcomes.get(name)}
    if not counted:
        return
    with st.container(horizontal=True):
        for name, count in counted.items():
            st.badge(
                f"{tr(f'common.outcome.{name}')} {count:,}",
                color=OUTCOME_COLOURS[name],  # type: ignore[arg-type]
            )


def _draw_run_errors(row: RunRow, tr: Translate) -> None:
    if not row.errors:
        return
    st.markdown(f"**{tr('runs.errors')}**")
    kinds = sorted(row.errors.items(), key=lambda item: -item[1])
    table = pd.DataFrame(
        {
            tr("runs.error_kind"): [
                lookup_text(f"common.error.{k}", current_language()) or k for k, _ in kinds
            ],
            tr("runs.error_count"): [count for _, count in kinds],
        }
    )
    st.dataframe(table, hide_index=True, width="content")
    st.caption(tr("runs.errors_note"))


def draw_run_links(row: RunRow, settings: Settings, tr: Translate) -> None:
    """From a run with a score on to what it means: its target, and the board that it is on."""
    if row.scores:
        st.page_link(
            state.TARGET,
            label=tr("runs.see_target"),
            icon=":material/arrow_forward:",
            query_params={"key": row.target.identity},
        )
        st.page_link(
            state.RANKING,
            label=tr("runs.see_ranking"),
            icon=":material/leaderboard:",
            query_params=_build_run_ranking_query(row, settings),
        )


def _build_run_ranking_query(row: RunRow, settings: Settings) -> dict[str, str]:
    """The ranking that shows the run, narrowed to its target where there are too many rows to see
    it among them; that of the default board for a run that is on none."""
    try:
        headers = stored_boards.load_run_headers(settings)
        shown_on = stored_boards.find_run_board(headers, row.run_id)
    except EvalboardError:
        return {}
    if shown_on is None:
        return {}
    board, by = shown_on
    crowded = len(boards.list_board_rows(headers, board)) > _SEEN_AT_ONCE
    return state.build_ranking_query(board, by, row.target.identity if crowded else "")
