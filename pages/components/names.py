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


def of(identity: str, target_key: str) -> str:
    """The name of one target, as hostile as any text from outside."""
    return display_name(identity, target_key, _cards())


def among(targets: Mapping[str, str]) -> dict[str, str]:
    """The name of every identity, from the target keys by identity, no two of them alike."""
    return display_names(targets, _cards())


def beside(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of targets (identity, target_key) with the columns name and organization."""
    cards, keys = _cards(), dict(zip(frame["identity"], frame["target_key"], strict=True))
    told = display_names(keys, cards)
    makers = [cards.get(key, NO_CARD).organization.strip() for key in frame["target_key"]]
    return frame.assign(name=[told[one] for one in frame["identity"]], organization=makers)


def of_all(headers: Headers) -> dict[str, str]:
    """The name of every identity that has a run; shared, so that nobody may change it."""

    def named() -> dict[str, str]:
        return among({header.identity: header.target_key for header in headers})

    return memoize_on_headers(headers, ("names", version()), named)


def version() -> str:
    """Changes whenever a name may."""
    return cards_signature(settings.load_settings())


def _cards() -> dict[str, TargetCard]:
    try:
        return load_cards(settings.load_settings())
    except EvalboardError:
        return {}
