"""What a target is called where people read of it: the name on its card, else its identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from evalcore.target_cards import NO_CARD, TargetCard


def display_name(identity: str, target_key: str, cards: Mapping[str, TargetCard]) -> str:
    """The card's name, followed by what the identity adds to the key, so that the variants of a
    target stay told apart. It is typed by people, as hostile as any text from outside."""
    name = cards.get(target_key, NO_CARD).name.strip()
    if not name or not identity.startswith(target_key):
        return identity
    return " ".join(filter(None, (name, identity.removeprefix(target_key))))


def display_names(targets: Mapping[str, str], cards: Mapping[str, TargetCard]) -> dict[str, str]:
    """The display name of every identity, from the target keys by identity, letter case kept.

    Names that read alike are followed by the identity: two rows, bars or options of one name would
    be taken for one, and a card must not pass for another target.
    """
    names = {identity: display_name(identity, key, cards) for identity, key in targets.items()}
    counts = Counter(_normalize_name(name) for name in names.values())
    return {
        identity: name
        if name == identity or counts[_normalize_name(name)] == 1
        else f"{name} ({identity})"
        for identity, name in names.items()
    }


def _normalize_name(name: str) -> str:
    return " ".join(name.casefold().split())
