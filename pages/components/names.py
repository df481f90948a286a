"""What targets are called on the pages: by their cards, as these are now.

Where the file of cards cannot be read, targets go by their identity; the Target page says why.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from evalcore import settings
from evalcore.errors import EvalboardError
from evalcore.queries.names import display_name, display_names
from evalcore.queries.stored_boards import Headers, memoize_on_headers
from evalcore.target_cards import NO_CARD, TargetCard, cards_signature, load_cards


def resolve_target_name(identity: str, target_key: str) -> str:
    """The name of one target, as hostile as any text from outside."""
    return display_name(identity, target_key, _load_cards_or_empty())


def resolve_target_names(targets: Mapping[str, str]) -> dict[str, str]:
    """The name of every identity, from the target keys by identity, no two of them alike."""
    return display_names(targets, _load_cards_or_empty())


def join_target_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of targets (identity, target_key) with the columns name and organization."""
    cards, keys = (
        _load_cards_or_empty(),
        dict(zip(frame["identity"], frame["target_key"], strict=True)),
    )
    names_by_identity = display_names(keys, cards)
    makers = [cards.get(key, NO_CARD).organization.strip() for key in frame["target_key"]]
    return frame.assign(
        name=[names_by_identity[identity] for identity in frame["identity"]], organization=makers
    )


def load_all_target_names(headers: Headers) -> dict[str, str]:
    """The name of every identity that has a run; shared, so that nobody may change it."""

    def build_all_names() -> dict[str, str]:
        return resolve_target_names({header.identity: header.target_key for header in headers})

    return memoize_on_headers(headers, ("names", compute_names_version()), build_all_names)


def compute_names_version() -> str:
    """Changes whenever a name may."""
    return cards_signature(settings.load_settings())


def _load_cards_or_empty() -> dict[str, TargetCard]:
    try:
        return load_cards(settings.load_settings())
    except EvalboardError:
        return {}
