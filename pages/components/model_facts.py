"""What a local model is and takes: as it works on the Runs page, and afterwards on a target's."""

from __future__ import annotations

import streamlit as st

from evalcore.plain_text import DASH
from evalcore.queries.boards import Row
from evalcore.queries.model_cards import ModelCard, model_card
from evalcore.settings import Settings
from pages.components import numbers
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown

PREFIX = "hf:"


def draw_live_model(card: ModelCard, *, is_active: bool, tr: Translate) -> None:
    """Speed, memory and batch, while the model is at work; and what it is."""
    if is_active:
        cells = [
            ("runs.model.speed", tr("runs.model.speed_value", rate=_format_token_rate(card))),
            (
                "runs.model.process",
                numbers.format_byte_size(card.process_bytes or card.memory_bytes),
            ),
            ("runs.model.batch", numbers.format_count(card.batch, tr)),
            ("runs.model.waiting", numbers.format_count(card.waiting, tr)),
        ]
        with st.container(horizontal=True, gap="medium"):
            for key, value in cells:
                st.metric(tr(key), value, width="content")
    st.caption(f":material/memory: {escape_markdown(_format_model_line(card, tr), 400)}")
    if card.halved:
        st.caption(tr("runs.model.halved", count=card.halved, budget=f"{card.budget_tokens:,}"))


def draw_row_model(row: Row, settings: Settings, tr: Translate) -> None:
    """The model of a target's newest run; nothing for other kinds of target, or without a card."""
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    if not newest.target_key.startswith(PREFIX):
        return
    card = model_card(settings.run_roots, newest.run_id)
    if card is None:
        return
    with st.container(border=True):
        st.markdown(f"**{tr('target.model')}**")
        with st.container(horizontal=True, gap="medium"):
            for key, value in _build_model_cells(card, tr):
                st.metric(tr(key), escape_markdown(value), width="content")
        facts = [card.architecture, card.revision[:12], card.adapter]
        st.caption(escape_markdown(" · ".join(filter(None, facts)), 200))
        for remark in card.notes[:5]:
            st.caption(escape_markdown(localize_note(remark), 300))


def _build_model_cells(card: ModelCard, tr: Translate) -> list[tuple[str, str]]:
    return [
        ("target.model_parameters", numbers.format_compact_count(card.parameters)),
        ("target.model_dtype", card.dtype or DASH),
        ("target.model_device", card.device or DASH),
        ("target.model_memory", numbers.format_byte_size(card.memory_bytes)),
        ("target.model_load", numbers.format_duration(card.load_seconds, tr)),
        ("target.model_context", f"{card.context:,}"),
    ]


def _format_model_line(card: ModelCard, tr: Translate) -> str:
    """The model in one line: architecture, size, precision, device, time to load."""
    parts = [
        card.architecture,
        tr("runs.model.parameters", count=numbers.format_compact_count(card.parameters)),
        tr("runs.model.weights", size=numbers.format_byte_size(card.memory_bytes)),
        tr("runs.model.runs_in", dtype=card.dtype, device=card.device),
        tr("runs.model.loaded", time=numbers.format_duration(card.load_seconds, tr)),
    ]
    return " · ".join(filter(None, parts))


def _format_token_rate(card: ModelCard) -> str:
    return f"{card.tokens_per_second:,.0f}"
