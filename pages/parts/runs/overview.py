"""The table of all runs, one run in full, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.runner import client
from evalcore.settings import Settings
from evalcore.views import runs, stored_boards
from evalcore.views.comparison import RunPair
from evalcore.views.reproduce import ModelCard
from evalcore.views.run_problems import load_error_reasons
from evalcore.views.runs import RunRow
from evalcore.views.stored_boards import RunSuiteScore, score_run_suite
from pages.shared import (
    case_sections,
    display_names,
    page_links,
    run_facts,
    tables,
    url_state,
    visitor,
    widgets,
    wording,
)
from pages.shared.board_view import benchmark_title
from pages.shared.widgets import OUTCOME_COLOURS
from pages.shared.wording import escape_markdown, localize_note, look_up, to_plain_line, tr

_COLOURS: dict[int, Any] = {0: "orange", 1: "green", 2: "blue", 3: "gray"}
RUN_HERE = 3


def draw_level_badges(levels: Iterable[int]) -> None:
    """A badge per level, the lowest first."""
    for level in sorted(set(levels)):
        st.badge(tr(f"submit.level.{level}"), color=_COLOURS.get(level, "gray"))


# The table of all runs, a page of it at a time; choosing a row puts the run into the URL.

_TABLE, _SHOWN, _PAGER = "runs.table", "runs.shown", "runs.pager"
_PAGE, _CAUSES = 100, 3  # runs, reasons of failed requests
#: State -> colour, and a sign, so that a state is seen at a glance and not by colour alone.
STATE_LOOKS: dict[str, tuple[Any, str]] = {
    "planned": ("gray", "○"),
    "running": ("blue", "▶"),
    "done": ("green", "✓"),
    "incomplete": ("orange", "◐"),
    "cancelled": ("gray", "■"),
    "interrupted": ("orange", "‖"),
    "broken": ("red", "✕"),
}


def _format_state(state: str) -> str:
    return f"{STATE_LOOKS[state][1]} {tr(f'common.state.{state}')}"


def load_suite_scores(rows: Sequence[RunRow], settings: Settings) -> dict[str, RunSuiteScore]:
    """What those of the runs that took several benchmarks came to in their suite, by run."""
    several = tuple(row.run_id for row in rows if len(row.scores) > 1)
    try:
        headers = stored_boards.load_run_headers(settings) if several else []
    except EvalboardError:  # the runs are shown without
        return {}
    return stored_boards.memoize_on_headers(
        headers,
        ("suite scores", several),
        lambda: {run: score for run in several if (score := score_run_suite(headers, run))},
    )


def draw_run_list(all_rows: Sequence[RunRow], chosen: str, settings: Settings) -> None:
    """The table, newest first; where there are many runs, the page that holds the `chosen` one and
    a search."""
    rows = all_rows if len(all_rows) <= _PAGE else _select_list_page(all_rows, chosen)
    st.session_state[_SHOWN] = [row.run_id for row in rows]
    config = {
        "progress": tables.share_column("runs.progress", "%d%%", width="small"),
        "target": tables.text_column("common.target", 190),
        "state": tables.text_column("runs.state", 105),
        "benchmarks": tables.text_column("common.benchmark", 250),
        "score": tables.number_column("common.score", "%.1f", 58),
        "started": tables.text_column("runs.started"),
        "run": tables.text_column("runs.run"),
        "level": tables.text_column("submit.evidence"),
    }
    look = {"on_select": _choose_run, "selection_mode": "single-row", "key": _TABLE}
    marked = [number for number, row in enumerate(rows) if row.run_id == chosen]
    look["selection_default"] = {"selection": {"rows": marked}}
    table = _build_run_list_table(rows, load_suite_scores(rows, settings))
    tables.draw_grid(table, config, tr("runs.list_alt"), tallest=8, **look)


def _select_list_page(all_rows: Sequence[RunRow], chosen: str) -> Sequence[RunRow]:
    """What the search finds, a page of it: first that of the chosen run, then wherever a person
    turns to, until they choose or search anew."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = url_state.draw_search(
            tr("ranking.search"), key="runs.q", placeholder=tr("runs.search_hint"), width=260
        )
        matches = runs.filter_run_rows(all_rows, text)
        st.caption(tr("runs.found", count=len(matches), total=len(all_rows)), width="content")
        if len(matches) <= _PAGE:
            return matches
        st.space("stretch")
        position = next((n for n, row in enumerate(matches) if row.run_id == chosen), 0)
        number = st.pagination(
            -(-len(matches) // _PAGE),
            default=1 + position // _PAGE,
            key=f"{_PAGER}.{chosen}.{text}",
        )
    return matches[(number - 1) * _PAGE : number * _PAGE]


def _build_run_list_table(
    rows: Sequence[RunRow], suite_scores: Mapping[str, RunSuiteScore]
) -> pd.DataFrame:
    rows_by_benchmarks = {row.benchmarks: row for row in rows}  # a few, each of many runs
    titles = {keys: format_benchmark_titles(row) for keys, row in rows_by_benchmarks.items()}
    targets = [row.target for row in rows]
    named = display_names.resolve_target_names({target.identity: target.key for target in targets})
    scores = [
        suite_scores[row.run_id].score if row.run_id in suite_scores else row.measured_score
        for row in rows
    ]
    table = pd.DataFrame(
        {
            "target": [to_plain_line(named[row.target.identity]) for row in rows],
            "score": pd.Series(scores, dtype="float64"),
            "state": [_format_state(row.state) for row in rows],
            "benchmarks": [titles[row.benchmarks] for row in rows],
            "progress": [int(row.fraction * 100) for row in rows],
            "started": [wording.format_timestamp(row.created_at) for row in rows],
            "run": [row.run_id for row in rows],
        }
    )
    if any(row.levels for row in rows):
        levels = [row.levels or (RUN_HERE,) * (row.origin == "executed") for row in rows]
        table["level"] = [
            ", ".join(tr(f"submit.level.{level}") for level in sorted(set(own))) for own in levels
        ]
    return table


def format_benchmark_titles(row: RunRow) -> str:
    """The benchmarks of a run by title, or by key where this installation has no card for one."""
    return wording.join_names(map(benchmark_title, row.benchmarks))


def _choose_run() -> None:
    """The row that was clicked, as the run of the page: by id, since rows move as runs come."""
    chosen = st.session_state[_TABLE]["selection"]["rows"]
    shown = st.session_state.get(_SHOWN, [])
    if chosen and chosen[0] < len(shown):
        st.query_params["run"] = shown[chosen[0]]


# One run in full: state, progress, what it takes, what went wrong, what it scored.


def draw_run_detail(
    row: RunRow, settings: Settings, card: ModelCard | None = None, pair: RunPair | None = None
) -> None:
    """Everything but the actions; `card` is of a local model, `pair` the comparison it is in."""
    suite_score = load_suite_scores([row], settings).get(row.run_id)
    identity, name = row.target.identity, row.run_id
    if identity:
        name = display_names.resolve_target_name(identity, row.target.key)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(escape_markdown(name), anchor=False, width="content")
        st.badge(_format_state(row.state), color=STATE_LOOKS[row.state][0])
        draw_level_badges(row.levels)
    if row.state == "broken":
        reason = escape_markdown(row.problem, 600)
        st.error(tr("runs.broken", reason=reason), icon=":material/broken_image:")
        return
    about = [
        escape_markdown(format_benchmark_titles(row), 200),
        escape_markdown(row.run_id),
        _describe_run_state(row, pair),
    ]
    st.caption(" · ".join(about))
    st.progress(row.fraction, text=_format_progress_text(row))
    if row.message and not (card is not None and row.phase == "running"):  # told in figures below
        _draw_worker_message(row)
    if row.tool_refusal:
        reason = escape_markdown(row.tool_refusal, 600)
        st.caption(f":material/build: {tr('runs.tools_by_prompt', reason=reason)}")
    if row.api_change:
        reason = escape_markdown(row.api_change, 600)
        st.caption(f":material/alt_route: {tr('runs.api_changed', reason=reason)}")
    _draw_outcome_badges(row)
    _draw_run_measures(row, suite_score)
    if card is not None:
        run_facts.draw_live_model(card, is_active=row.state == "running")
    _draw_run_errors(row)
    if row.scores and not row.complete:
        is_measured = any(score is not None for score in row.scores.values())
        st.caption(tr("runs.not_ranked" if is_measured else "runs.not_measured"))


def _describe_run_state(row: RunRow, pair: RunPair | None) -> str:
    """The state in a sentence; the second of two local models waits for the first."""
    waits = row.state == "planned" and pair is not None and pair.second.run_id == row.run_id
    if row.state == "done" and (undecided := row.outcomes.get("not_executed")):
        return tr("runs.about.undecided", count=f"{undecided:,}")
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


def draw_worker_log(text: str) -> None:
    """What the worker printed at last: where to look when it ended before its run."""
    if text.strip():
        with st.expander(tr("runs.log"), icon=":material/notes:"):
            st.code(text, language=None, wrap_lines=True, height=240)


def _format_progress_text(row: RunRow) -> str:
    text = tr("runs.counted", scored=f"{row.scored:,}", total=f"{row.total:,}")
    phase = look_up(f"runs.phase.{row.phase}")
    return f"{text} · {phase}" if phase and row.is_active else text


def _draw_run_measures(row: RunRow, suite_score: RunSuiteScore | None) -> None:
    several = len(row.scores) > 1
    scores = [
        (benchmark_title(key) if several else tr("common.score"), wording.format_score(score))
        for key, score in row.scores.items()
    ]
    time = [("runs.wall", wording.format_duration(row.wall))]
    if row.is_active:
        rate = tr("runs.rate_value", rate=f"{row.rate:.1f}")
        if row.rate < 1:
            rate = tr("runs.rate_slow", rate=f"{60 * row.rate:.1f}")
        time = [("runs.rate", rate), ("runs.eta", wording.format_duration(row.eta))]
    cells = [
        *time,
        ("runs.requests", wording.format_count(row.requests)),
        *wording.build_usage_cells(row.input_tokens, row.output_tokens, row.cost),
    ]
    if suite_score is not None:
        scores.insert(0, (tr("ranking.suite_score"), wording.format_score(suite_score.score)))
    titled_cells = [(tr(key), value) for key, value in cells]
    widgets.draw_figures([*(() if row.is_active else scores), *titled_cells])
    if suite_score is not None and not row.is_active and (text := _describe_suite(suite_score)):
        st.caption(text)
    if source := wording.format_cost_sources(row.cost_sources):
        st.caption(source)
    if row.is_active and row.limit:
        st.caption(tr("runs.width", open=row.in_flight, limit=row.limit, refused=row.refused))


def _describe_suite(suite_score: RunSuiteScore) -> str:
    """How sure the score over the suite is, or why there is none; empty where nothing says so."""
    low, high = suite_score.low, suite_score.high
    if low is not None and high is not None:
        return tr("runs.suite_interval", low=f"{low:.1f}", high=f"{high:.1f}")
    facts = []
    for key, outcomes in suite_score.missing.items():
        undecided = outcomes.get("not_executed", 0)
        counts = {"undecided": undecided, "unmeasured": sum(outcomes.values()) - undecided}
        words = [tr(f"runs.suite_{name}", count=f"{n:,}") for name, n in counts.items() if n]
        text = wording.join_names(words) or tr("runs.suite_not_run")
        facts.append(wording.format_fact(benchmark_title(key), text))
    return tr("runs.suite_missing", facts=" · ".join(facts)) if facts else ""


def _draw_outcome_badges(row: RunRow) -> None:
    counted = {name: row.outcomes[name] for name in OUTCOME_COLOURS if row.outcomes.get(name)}
    if not counted:
        return
    with st.container(horizontal=True):
        for name, count in counted.items():
            word = f"{tr(f'common.outcome.{name}')} {count:,}"
            st.badge(word, color=OUTCOME_COLOURS[name])


def _draw_run_errors(row: RunRow) -> None:
    if row.errors:
        kinds = sorted(row.errors.items(), key=lambda item: -item[1])
        named = [(look_up(f"common.error.{kind}") or kind, count) for kind, count in kinds]
        counted = [wording.format_fact(name, f"{count:,}") for name, count in named]
        st.markdown(f"**{tr('runs.errors')}** · {escape_markdown(' · '.join(counted), 400)}")
        st.caption(tr("runs.errors_note"))


def draw_error_causes(row: RunRow, settings: Settings) -> None:
    """What was said of the first case of each reason that left cases without a measurement, and
    what helps."""
    try:
        show_gated = settings.show_gated
        errors = load_error_reasons(settings.run_roots, row.run_id, show_gated=show_gated)
    except EvalboardError:  # the run is shown without
        return
    for error in errors[:_CAUSES]:
        if error.note:
            st.text(localize_note(error.note))
        case_sections.draw_remedy(error.reason, error.outcome)


def draw_run_links(row: RunRow, settings: Settings) -> None:
    """From a run with a score on to what it means: its target, and the board that it is on."""
    if row.scores:
        label, key = tr("runs.see_target"), row.target.identity
        widgets.draw_link(page_links.TARGET, label, "arrow_forward", key=key)
        query = _build_run_ranking_query(row, settings)
        widgets.draw_link(page_links.RANKING, tr("runs.see_ranking"), "leaderboard", **query)


def _build_run_ranking_query(row: RunRow, settings: Settings) -> dict[str, str]:
    """The ranking that shows the run with its row marked; that of the default board for a run that
    is on none."""
    try:
        headers = stored_boards.load_run_headers(settings)
        shown_on = stored_boards.find_run_board(headers, row.run_id)
    except EvalboardError:
        return {}
    return page_links.build_ranking_query(*shown_on, row.run_id) if shown_on else {}


# What can be done with a run, by its state, and taking back a deletion.

_DELETED, _MESSAGE = "runs.deleted", "runs.said"
#: The actions offered in each state, in the order of their buttons.
ACTIONS_BY_STATE: dict[str, tuple[str, ...]] = {
    "planned": ("cancel", "resume", "delete"),
    "running": ("cancel",),
    "done": ("rescore", "delete"),
    "incomplete": ("resume", "rescore", "delete"),
    "cancelled": ("resume", "rescore", "delete"),
    "interrupted": ("resume", "delete"),
    "broken": ("delete",),
}
_ICONS = {
    "cancel": ":material/stop_circle:",
    "resume": ":material/play_arrow:",
    "rescore": ":material/rule:",
    "delete": ":material/delete:",
}


def list_run_actions(row: RunRow) -> tuple[str, ...]:
    """The actions for a run: none on one that comes with the project, no rescoring of imports."""
    if not row.own:
        return ()
    names = ACTIONS_BY_STATE[row.state]
    return names if row.origin == "executed" else tuple(n for n in names if n == "delete")


@contextmanager
def draw_run_actions(row: RunRow, settings: Settings) -> Iterator[None]:
    """Links and buttons in a row, which the block adds to; resuming asks first for the keys that
    nobody has set."""
    denial = visitor.explain_refusal("steer") or visitor.explain_refusal("launch")
    names = () if denial else list_run_actions(row)
    missing = _ask_for_missing_keys(row, settings) if "resume" in names else []
    budget = _ask_for_budget(row) if "resume" in names and row.budget else None
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        draw_run_links(row, settings)
        yield
        for name in names:
            if st.button(
                tr(f"runs.do.{name}"),
                key=f"runs.do.{name}.{row.run_id}",  # a late click never hits another run
                icon=_ICONS[name],
                type="primary" if name == "resume" else "secondary",
                disabled=name == "resume" and bool(missing),
            ):
                _perform_run_action(name, row, settings, budget)
    if not row.own:
        st.caption(tr("runs.read_only"))
    elif denial and visitor.is_launcher_listed():
        st.caption(f":material/lock: {escape_markdown(denial[:1].upper() + denial[1:], 300)}")


def _ask_for_missing_keys(row: RunRow, settings: Settings) -> list[str]:
    try:
        target = runs.load_run_target(settings.run_roots, row.run_id)
        names = client.missing_keys(target.key, target.options, settings)
    except EvalboardError as error:
        st.warning(escape_markdown(error, 400), icon=":material/key_off:")
        return []
    visitor.ask_for_keys(names)
    return visitor.list_missing_keys(names)


def _ask_for_budget(row: RunRow) -> float | None:
    """The budget in USD to resume a run with, None to leave it as it is."""
    amount: float | None = st.number_input(
        tr("runs.budget"),
        min_value=0.0,
        value=None,
        step=0.5,
        placeholder=f"{row.budget:g}",
        key=f"runs.budget.{row.run_id}",
        help=tr("runs.budget_help"),
    )
    return amount


def _perform_run_action(name: str, row: RunRow, settings: Settings, budget: float | None) -> None:
    acting_visitor = visitor.current_visitor()
    calls: dict[str, Callable[[], object]] = {
        "cancel": lambda: client.cancel_run(row.run_id, settings, visitor=acting_visitor),
        "resume": lambda: client.resume_run(
            row.run_id,
            visitor.collect_typed_keys(),
            settings,
            visitor=acting_visitor,
            budget=budget,
        ),
        "rescore": lambda: client.rescore_run(row.run_id, settings, visitor=acting_visitor),
        "delete": lambda: client.delete_run(row.run_id, settings, visitor=acting_visitor),
    }
    with widgets.show_errors(limit=600):
        with st.spinner(tr(f"runs.busy.{name}")):
            calls[name]()
            runs.clear_run_cache()
        st.session_state[_MESSAGE] = tr(f"runs.did.{name}")
        if name == "delete":
            st.session_state[_DELETED] = row.run_id
            page_links.set_query_param("run", None)
        st.rerun()


def draw_action_message(settings: Settings) -> None:
    """Say once what was done; a deletion stays to be taken back until the page is left."""
    message = st.session_state.pop(_MESSAGE, None)
    if message:
        st.toast(message, icon=":material/check:")
    deleted = st.session_state.get(_DELETED)
    if not deleted:
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(tr("runs.deleted", run=escape_markdown(deleted)))
        if st.button(tr("runs.undo"), icon=":material/undo:", key="runs.do.undo"):
            _undo_delete(deleted, settings)
        if st.button(tr("runs.dismiss"), key="runs.do.dismiss", type="tertiary"):
            st.session_state.pop(_DELETED)
            st.rerun()


def _undo_delete(run: str, settings: Settings) -> None:
    with widgets.show_errors(limit=600):
        client.restore_run(run, settings, visitor=visitor.current_visitor())
        runs.clear_run_cache()
        st.session_state.pop(_DELETED)
        st.session_state[_MESSAGE] = tr("runs.did.restore")
        page_links.set_query_param("run", run)
        st.rerun()
