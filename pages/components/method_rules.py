"""Methodology, second part: outcomes, evidence, floors, prompts and versions of a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from evalcore.catalog import FLOOR_CONTROLS, benchmark_cards
from evalcore.errors import EvalboardError
from evalcore.queries import board_words, methodology
from evalcore.queries.boards import Board, Row
from evalcore.queries.targets import OUTCOMES
from evalcore.records import MEASURED, Message, to_json
from evalcore.settings import Settings
from pages.components import case_badges, names, numbers, url_state, word_table
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line


def draw_outcome_rules(tr: Translate) -> None:
    """What becomes of a case, and what each outcome counts as."""
    st.subheader(tr("methodology.complete"), anchor=False)
    st.markdown(tr("methodology.complete_words"))
    st.markdown(tr("methodology.best_words"))
    counts = [name if name in MEASURED else "missing" for name in OUTCOMES]
    word_table.draw_word_table(
        {
            tr("common.outcome"): [tr(f"common.outcome.{name}") for name in OUTCOMES],
            tr("methodology.outcome_meaning"): [
                tr(f"methodology.outcome.{name}") for name in OUTCOMES
            ],
            tr("methodology.outcome_counts"): [tr(f"methodology.counts.{name}") for name in counts],
        },
        tr("methodology.outcomes_alt"),
    )


def draw_evidence_rules(board: Board, tr: Translate) -> None:
    """The metrics of the board: weight, what their verdicts rest on, what they ask."""
    st.subheader(tr("methodology.evidence"), anchor=False)
    st.markdown(tr("methodology.evidence_words"))
    taken_over = "published" if board.taken_over else ""
    for benchmark, column in board.columns.items():
        card = benchmark_cards().get(benchmark)
        st.markdown(f"###### {escape_markdown(benchmark_title(benchmark))}")
        if card is None:
            st.caption(tr("methodology.absent"))
            continue
        word_table.draw_word_table(
            {
                tr("common.metric"): [
                    metric_title(benchmark, metric.key) for metric in card.metrics
                ],
                tr("methodology.weight"): [
                    tr("methodology.unscored")
                    if metric.weight is None
                    else numbers.format_weight(metric.weight)
                    for metric in card.metrics
                ],
                tr("methodology.evidence_kind"): [
                    tr(f"common.evidence.{taken_over or column.evidence(metric.key)}")
                    for metric in card.metrics
                ],
                tr("methodology.evidence_asks"): [
                    board_words.metric_about(board, benchmark, metric.key, current_language())
                    for metric in card.metrics
                ],
            },
            tr("methodology.evidence_alt"),
        )


def draw_floor_scores(scores: Mapping[str, float], tr: Translate) -> None:
    """The controls' scores on this board and what each means."""
    st.subheader(tr("methodology.floors"), anchor=False)
    st.markdown(tr("methodology.floors_words"))
    control_scores = {name: score for name, score in scores.items() if name in _CONTROLS}
    if not control_scores:
        st.caption(tr("methodology.floors_none"))
        return
    word_table.draw_word_table(
        {
            tr("methodology.control"): [
                names.resolve_target_name(f"control:{name}", f"control:{name}")
                for name in control_scores
            ],
            tr("common.score"): [f"{score:.1f}" for score in control_scores.values()],
            tr("methodology.outcome_meaning"): [
                tr(f"methodology.floor.{name}") for name in control_scores
            ],
        },
        tr("methodology.floors_alt"),
    )


_NATIVE = "fc"  # the mode in which functions go beside the messages
_MAX_SEGMENTS = 12
_FIRST = 2  # messages that are shown; those of later turns are folded
_CONTROLS = (*FLOOR_CONTROLS, "reference")


def draw_benchmark_prompts(row: Row, settings: Settings, tr: Translate) -> None:
    """The questions of a run's journal, one per metric."""
    st.subheader(tr("methodology.prompts"), anchor=False)
    st.markdown(tr("methodology.prompts_words"))
    prompts_by_metric: dict[str, methodology.Prompt] = {}
    for benchmark, run in row.runs.items():
        card = benchmark_cards().get(benchmark)
        if card is None:
            continue
        try:
            run_prompts = methodology.list_first_prompts(
                settings.run_roots,
                run.run_id,
                card,
                show_gated=settings.show_gated,
            )
        except EvalboardError as error:
            st.warning(tr("methodology.no_numbers", reason=escape_markdown(error, 400)))
            continue
        prompts_by_metric.update({f"{benchmark}/{prompt.metric}": prompt for prompt in run_prompts})
    if not prompts_by_metric:
        st.caption(tr("methodology.no_prompts"))
        return
    prompt = prompts_by_metric[_select_prompt_metric(list(prompts_by_metric), tr)]
    if prompt.hidden:
        st.info(tr("note.gated"), icon=":material/lock:")
    first, later = prompt.messages[:_FIRST], prompt.messages[_FIRST:]
    _draw_prompt_messages(first, tr)
    if later:
        with st.expander(tr("methodology.prompt_later", count=len(later))):
            _draw_prompt_messages(later, tr)
    if prompt.mode:
        st.caption(escape_markdown(case_badges.mode_title(prompt.mode)).capitalize())
    if prompt.mode == _NATIVE:
        st.caption(tr("methodology.prompt_native"))
    st.caption(
        tr(
            "methodology.prompt_of",
            run=escape_markdown(prompt.run_id),
            case=escape_markdown(prompt.case),
        )
    )


def _draw_prompt_messages(messages: Sequence[Message], tr: Translate) -> None:
    for message in messages:
        st.caption(tr(f"methodology.role.{message.role}"))
        st.code(message.content, language=None, wrap_lines=True)


def _select_prompt_metric(codes: list[str], tr: Translate) -> str:
    """One of the metrics: from a row of them, or from a menu where a row would not do."""
    title = tr("common.metric")
    select_options: dict[str, Any] = {
        "page": "methodology",
        "name": "prompt",
        "title": lambda code: metric_title(*code.split("/", 1)),
    }
    if len(codes) > _MAX_SEGMENTS:
        return url_state.draw_select(title, codes, width=320, **select_options)
    return url_state.draw_segments(title, codes, **select_options)


def draw_column_versions(row: Row, settings: Settings, tr: Translate) -> None:
    """What the column key of each benchmark is made from."""
    st.subheader(tr("methodology.versions"), anchor=False)
    st.markdown(tr("methodology.versions_words"))
    for benchmark, run in row.runs.items():
        try:
            spec_and_score = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
        except EvalboardError as error:
            st.warning(tr("methodology.no_numbers", reason=escape_markdown(error, 400)))
            continue
        if spec_and_score is None:
            continue
        spec, score = spec_and_score
        facts = {
            "dataset": spec.dataset,
            "dataset_hash": spec.dataset_hash,
            "prompt": spec.prompt_version,
            "scorer": spec.scorer_version,
            "options": to_json(spec.options, ordered=False).decode(),
            "column": score.column,
        }
        word_table.draw_word_table(
            {
                benchmark_title(benchmark): [tr(f"methodology.version.{name}") for name in facts],
                " ": [to_plain_line(value, 200) for value in facts.values()],
            },
            tr("methodology.versions"),
        )
