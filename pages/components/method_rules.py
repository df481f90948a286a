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
from pages.components.language import Translate, current
from pages.components.text import escape, plain


def outcomes(tr: Translate) -> None:
    """What becomes of a case, and what each outcome counts as."""
    st.subheader(tr("methodology.complete"), anchor=False)
    st.markdown(tr("methodology.complete_words"))
    st.markdown(tr("methodology.best_words"))
    counts = [name if name in MEASURED else "missing" for name in OUTCOMES]
    word_table.draw(
        {
            tr("common.outcome"): [tr(f"common.outcome.{name}") for name in OUTCOMES],
            tr("methodology.outcome_meaning"): [
                tr(f"methodology.outcome.{name}") for name in OUTCOMES
            ],
            tr("methodology.outcome_counts"): [tr(f"methodology.counts.{name}") for name in counts],
        },
        tr("methodology.outcomes_alt"),
    )


def evidence(board: Board, tr: Translate) -> None:
    """The metrics of the board: weight, what their verdicts rest on, what they ask."""
    st.subheader(tr("methodology.evidence"), anchor=False)
    st.markdown(tr("methodology.evidence_words"))
    taken_over = "published" if board.taken_over else ""
    for benchmark, column in board.columns.items():
        card = benchmark_cards().get(benchmark)
        st.markdown(f"###### {escape(benchmark_title(benchmark))}")
        if card is None:
            st.caption(tr("methodology.absent"))
            continue
        word_table.draw(
            {
                tr("common.metric"): [metric_title(benchmark, one.key) for one in card.metrics],
                tr("methodology.weight"): [
                    tr("methodology.unscored") if one.weight is None else numbers.weight(one.weight)
                    for one in card.metrics
                ],
                tr("methodology.evidence_kind"): [
                    tr(f"common.evidence.{taken_over or column.evidence(one.key)}")
                    for one in card.metrics
                ],
                tr("methodology.evidence_asks"): [
                    board_words.metric_about(board, benchmark, one.key, current())
                    for one in card.metrics
                ],
            },
            tr("methodology.evidence_alt"),
        )


def floors(scores: Mapping[str, float], tr: Translate) -> None:
    """The controls' scores on this board and what each means."""
    st.subheader(tr("methodology.floors"), anchor=False)
    st.markdown(tr("methodology.floors_words"))
    known = {name: score for name, score in scores.items() if name in _CONTROLS}
    if not known:
        st.caption(tr("methodology.floors_none"))
        return
    word_table.draw(
        {
            tr("methodology.control"): [
                names.of(f"control:{name}", f"control:{name}") for name in known
            ],
            tr("common.score"): [f"{score:.1f}" for score in known.values()],
            tr("methodology.outcome_meaning"): [tr(f"methodology.floor.{name}") for name in known],
        },
        tr("methodology.floors_alt"),
    )


_NATIVE = "fc"  # the mode in which functions go beside the messages
_MOST_SEGMENTS = 12
_FIRST = 2  # messages that are shown; those of later turns are folded
_CONTROLS = (*FLOOR_CONTROLS, "reference")


def prompts(row: Row, settings: Settings, tr: Translate) -> None:
    """The questions of a run's journal, one per metric."""
    st.subheader(tr("methodology.prompts"), anchor=False)
    st.markdown(tr("methodology.prompts_words"))
    found: dict[str, methodology.Prompt] = {}
    for benchmark, run in row.runs.items():
        card = benchmark_cards().get(benchmark)
        if card is None:
            continue
        try:
            asked = methodology.list_first_prompts(
                settings.run_roots,
                run.run_id,
                card,
                show_gated=settings.show_gated,
            )
        except EvalboardError as error:
            st.warning(tr("methodology.no_numbers", reason=escape(error, 400)))
            continue
        found.update({f"{benchmark}/{prompt.metric}": prompt for prompt in asked})
    if not found:
        st.caption(tr("methodology.no_prompts"))
        return
    prompt = found[_chosen(list(found), tr)]
    if prompt.hidden:
        st.info(tr("note.gated"), icon=":material/lock:")
    first, later = prompt.messages[:_FIRST], prompt.messages[_FIRST:]
    _messages(first, tr)
    if later:
        with st.expander(tr("methodology.prompt_later", count=len(later))):
            _messages(later, tr)
    if prompt.mode:
        st.caption(escape(case_badges.mode_title(prompt.mode)).capitalize())
    if prompt.mode == _NATIVE:
        st.caption(tr("methodology.prompt_native"))
    st.caption(tr("methodology.prompt_of", run=escape(prompt.run_id), case=escape(prompt.case)))


def _messages(messages: Sequence[Message], tr: Translate) -> None:
    for message in messages:
        st.caption(tr(f"methodology.role.{message.role}"))
        st.code(message.content, language=None, wrap_lines=True)


def _chosen(codes: list[str], tr: Translate) -> str:
    """One of the metrics: from a row of them, or from a menu where a row would not do."""
    title = tr("common.metric")
    look: dict[str, Any] = {
        "page": "methodology",
        "name": "prompt",
        "title": lambda code: metric_title(*code.split("/", 1)),
    }
    if len(codes) > _MOST_SEGMENTS:
        return url_state.select(title, codes, width=320, **look)
    return url_state.segments(title, codes, **look)


def versions(row: Row, settings: Settings, tr: Translate) -> None:
    """What the column key of each benchmark is made from."""
    st.subheader(tr("methodology.versions"), anchor=False)
    st.markdown(tr("methodology.versions_words"))
    for benchmark, run in row.runs.items():
        try:
            found = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
        except EvalboardError as error:
            st.warning(tr("methodology.no_numbers", reason=escape(error, 400)))
            continue
        if found is None:
            continue
        spec, score = found
        facts = {
            "dataset": spec.dataset,
            "dataset_hash": spec.dataset_hash,
            "prompt": spec.prompt_version,
            "scorer": spec.scorer_version,
            "options": to_json(spec.options, ordered=False).decode(),
            "column": score.column,
        }
        word_table.draw(
            {
                benchmark_title(benchmark): [tr(f"methodology.version.{name}") for name in facts],
                " ": [plain(value, 200) for value in facts.values()],
            },
            tr("methodology.versions"),
        )
