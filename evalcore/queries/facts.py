"""What is known of the targets on a board beside their scores: names, makers, sizes, prices.

Cards are typed by people and so are hostile text. What nobody said is None or empty, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from evalcore.errors import UsageError
from evalcore.queries.boards import Row
from evalcore.queries.model_cards import model_card
from evalcore.queries.names import display_names
from evalcore.records import Usage
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.target_cards import NO_CARD, TargetCard
from evalcore.targets import pricing
from evalcore.targets.endpoints import resolve_route

FACT_COLUMNS = (
    "name",
    "organization",
    "logo",
    "type",
    "parameters",
    "weights",
    "released",
    "price",
)
OPEN, CLOSED = "open", "closed"
#: A million tokens as prices are usually averaged: three of the question to one of the answer.
_MILLION = Usage(input_tokens=750_000, output_tokens=250_000)
_FREE = frozenset({"baseline", "control", "hf"})
_LOGO = "data:image/png;base64,"


def build_target_facts(
    rows: Iterable[Row], cards: Mapping[str, TargetCard], settings: Settings
) -> pd.DataFrame:
    """One line per identity (the index): name, organization, logo (data URI), type, parameters
    (billions), weights (OPEN, CLOSED or ""), released (ISO 8601), price (USD, see
    `find_token_price`)."""
    board_rows = list(rows)
    names = display_names({row.identity: row.target_key for row in board_rows}, cards)
    records = [
        _build_fact_record(row, cards.get(row.target_key, NO_CARD), names[row.identity], settings)
        for row in board_rows
    ]
    index = pd.Index([row.identity for row in board_rows], name="identity", dtype=str)
    return pd.DataFrame(records, columns=list(FACT_COLUMNS), index=index).astype(
        {"parameters": float, "price": float}
    )


def _build_fact_record(row: Row, card: TargetCard, name: str, settings: Settings) -> dict[str, Any]:
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    return {
        "name": name,
        "organization": card.organization.strip(),
        "logo": card.logo if card.logo.startswith(_LOGO) else "",
        "type": card.type,
        "parameters": card.parameters or _find_parameter_count(newest, settings),
        "weights": {True: OPEN, False: CLOSED, None: ""}[card.open_weights],
        "released": card.released,
        "price": find_token_price(newest, settings),
    }


def _find_parameter_count(run: RunHeader, settings: Settings) -> float | None:
    """The billions of parameters that a local model was found to have."""
    if not run.target_key.startswith("hf:"):
        return None
    card = model_card(settings.run_roots, run.run_id)
    return card.parameters / 1e9 if card else None


def find_token_price(run: RunHeader, settings: Settings) -> float | None:
    """USD per million tokens, three of the question to one of the answer, by today's price list.

    0 for programs and for what runs on this machine, None where the list does not know the model.
    """
    kind = run.target_key.partition(":")[0]
    if kind in _FREE:
        return 0.0
    if kind != "openai":
        return None
    try:
        route = resolve_route(run.target_key, settings, str(run.target_options.get("base_url", "")))
    except UsageError:
        return None
    return pricing.compute_cost(route.model, route.name, _MILLION, settings)
