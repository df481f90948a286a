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
from pages.components.board import kind_title, span
from pages.components.language import Translate
from pages.components.text import escape

_CARD = 140  # pixels, at least


def title(row: Row, name: str, settings: Settings, tr: Translate) -> None:
    """The card and the kind, and the options that belong to the target's identity."""
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    card = NO_CARD
    try:
        card = load_cards(settings).get(row.target_key, NO_CARD)
    except EvalboardError as error:
        st.warning(tr("card.broken", reason=escape(error, 400)), icon=":material/error:")
    target_card.title(name, card)
    target_card.facts(row.identity, name, card, tr)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(escape(kind_title(row.kind)), color="gray")
        if card.type and card.type != row.kind:
            st.badge(tr(f"card.type.{card.type}"), color="gray")
        if any(run.benchmarks[key].self_judged for key, run in row.runs.items()):
            st.badge(tr("ranking.self_judged"), color="orange", icon=":material/gavel:")
        for name, value in newest.target_options.items():
            text = value if isinstance(value, str) else to_json(value, ordered=False).decode()
            st.badge(f"{escape(name, 30)} = {escape(text, 50)}", color="blue")
        if newest.origin == "imported":
            target_published.marks(row, tr)
        else:
            st.caption(f"{tr('target.date')}: {numbers.moment(newest.created_at)}")


def figures(frame: pd.DataFrame, identity: str, row: Row, tr: Translate) -> None:
    """Rank, score, passed cases, cost, tokens and latency, each with what it is worth."""
    own = frame[frame["identity"] == identity].iloc[0]
    total = int((frame["status"] == "ranked").sum())
    ranked = own["status"] == "ranked"
    cases = int(own["measured"] + own["errors"])
    cards = [
        (
            "target.rank",
            tr("target.rank_value", rank=own["rank"], total=total) if ranked else DASH,
            span(own["rank_low"], own["rank_high"], "{:.0f}") if ranked else tr("target.rank_none"),
        ),
        (
            "target.score",
            numbers.score(_known(own["score"])),
            _certainty(own, row, tr),
        ),
        *_passed(own, cases, tr),
        *_spent(own, cases, row, tr),
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


def _certainty(own: pd.Series, row: Row, tr: Translate) -> str:
    """The interval of a score, or what stands in its way."""
    if own["status"] == "claimed":
        return tr("target.evidence.0")
    return span(own["low"], own["high"], "{:.1f}") if row.is_complete else tr("target.bound")


def _passed(own: pd.Series, cases: int, tr: Translate) -> list[tuple[str, str, str]]:
    """Passed cases; a claim has none to show."""
    if not cases and own["status"] == "claimed":
        return []
    share = tr("target.passed_share", share=f"{100 * own['passed'] / cases:.0f}") if cases else ""
    return [("target.passed", f"{own['passed']}/{cases}", share)]


def _spent(own: pd.Series, cases: int, row: Row, tr: Translate) -> list[tuple[str, str, str]]:
    """Cost, tokens and latency; what is unknown is left out, since a card that says so is noise."""
    found = []
    cost, read, written = (_known(own[name]) for name in ("cost", "input_tokens", "output_tokens"))
    if cost is not None:
        each = tr("target.cost_case", cost=escape(numbers.money(cost / cases, tr))) if cases else ""
        found.append(("target.cost", escape(numbers.money(cost, tr)), each))
    if read is not None and written is not None:
        split = tr(
            "target.tokens_split", read=numbers.compact(read), written=numbers.compact(written)
        )
        found.append(("target.tokens", numbers.count(read + written, tr), split))
    latency = _known(own["latency"])
    if latency is not None:
        tail = next(iter(row.runs.values())).totals.latency_p95
        note = tr("target.latency_tail", high=numbers.duration(tail, tr)) if tail else ""
        found.append(("target.latency", numbers.duration(latency, tr), note))
    return found


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
