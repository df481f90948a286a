"""The head of the Target page: name, options, and the figures of its row on the board."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.plain_text import DASH
from evalcore.queries.boards import Row
from evalcore.records import to_json
from evalcore.settings import Settings
from evalcore.target_cards import NO_CARD, load_cards
from pages.components import numbers, target_card, target_published
from pages.components.board import format_number_range, kind_title
from pages.components.language import Translate
from pages.components.text import escape_markdown

_CARD = 140  # pixels, at least


def draw_target_title(row: Row, name: str, settings: Settings, tr: Translate) -> None:
    """The card and the kind, and the options that belong to the target's identity."""
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    card = NO_CARD
    try:
        card = load_cards(settings).get(row.target_key, NO_CARD)
    except EvalboardError as error:
        st.warning(tr("card.broken", reason=escape_markdown(error, 400)), icon=":material/error:")
    target_card.draw_card_title(name, card)
    target_card.draw_card_facts(row.identity, name, card, tr)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(escape_markdown(kind_title(row.kind)), color="gray")
        if card.type and card.type != row.kind:
            st.badge(tr(f"card.type.{card.type}"), color="gray")
        if any(run.benchmarks[key].self_judged for key, run in row.runs.items()):
            st.badge(tr("ranking.self_judged"), color="orange", icon=":material/gavel:")
        for name, value in newest.target_options.items():
            text = value if isinstance(value, str) else to_json(value, ordered=False).decode()
            st.badge(f"{escape_markdown(name, 30)} = {escape_markdown(text, 50)}", color="blue")
        if newest.origin == "imported":
            target_published.draw_published_badges(row, tr)
        else:
            st.caption(f"{tr('target.date')}: {numbers.format_timestamp(newest.created_at)}")


def draw_target_figures(frame: pd.DataFrame, identity: str, row: Row, tr: Translate) -> None:
    """Rank, score, passed cases, cost, tokens and latency, each with what it is worth."""
    own = frame[frame["identity"] == identity].iloc[0]
    total = int((frame["status"] == "ranked").sum())
    ranked = own["status"] == "ranked"
    cases = int(own["measured"] + own["errors"])
    cards = [
        (
            "target.rank",
            tr("target.rank_value", rank=own["rank"], total=total) if ranked else DASH,
            format_number_range(own["rank_low"], own["rank_high"], "{:.0f}")
            if ranked
            else tr("target.rank_none"),
        ),
        (
            "target.score",
            numbers.format_score(_float_or_none(own["score"])),
            _format_certainty(own, row, tr),
        ),
        *_build_passed_card(own, cases, tr),
        *_build_spending_cards(own, cases, row, tr),
    ]
    with st.grid(min_column_width=_CARD):
        for label, value, note in cards:
            st.metric(
                tr(label),
                value,
                delta=note or None,
                delta_color="off",
                delta_arrow="off",
                border=True,
            )


def _format_certainty(own: pd.Series, row: Row, tr: Translate) -> str:
    """The interval of a score, or what stands in its way."""
    if own["status"] == "claimed":
        return tr("target.evidence.0")
    return (
        format_number_range(own["low"], own["high"], "{:.1f}")
        if row.is_complete
        else tr("target.bound")
    )


def _build_passed_card(own: pd.Series, cases: int, tr: Translate) -> list[tuple[str, str, str]]:
    """Passed cases; a claim has none to show."""
    if not cases and own["status"] == "claimed":
        return []
    share = tr("target.passed_share", share=f"{100 * own['passed'] / cases:.0f}") if cases else ""
    return [("target.passed", f"{own['passed']}/{cases}", share)]


def _build_spending_cards(
    own: pd.Series, cases: int, row: Row, tr: Translate
) -> list[tuple[str, str, str]]:
    """Cost, tokens and latency; what is unknown is left out, since a card that says so is noise."""
    cards = []
    cost, tokens_in, tokens_out = (
        _float_or_none(own[name]) for name in ("cost", "input_tokens", "output_tokens")
    )
    if cost is not None:
        each = (
            tr("target.cost_case", cost=escape_markdown(numbers.format_money(cost / cases, tr)))
            if cases
            else ""
        )
        cards.append(("target.cost", escape_markdown(numbers.format_money(cost, tr)), each))
    if tokens_in is not None and tokens_out is not None:
        split = tr(
            "target.tokens_split",
            read=numbers.format_compact_count(tokens_in),
            written=numbers.format_compact_count(tokens_out),
        )
        cards.append(("target.tokens", numbers.format_count(tokens_in + tokens_out, tr), split))
    latency = _float_or_none(own["latency"])
    if latency is not None:
        tail = next(iter(row.runs.values())).totals.latency_p95
        note = tr("target.latency_tail", high=numbers.format_duration(tail, tr)) if tail else ""
        cards.append(("target.latency", numbers.format_duration(latency, tr), note))
    return cards


def _float_or_none(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
