"""The verb `evalcore card`: what is known of a target beyond its key, shown and set."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from evalcore.errors import UsageError

if TYPE_CHECKING:
    from evalcore.target_cards import TargetCard

Verb = Callable[[argparse.Namespace], int]
_DONE = 0
_TEXTS = ("name", "organization", "released", "licence", "site")
_WEIGHTS = {"open": True, "closed": False, "unknown": None}


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `common` adds the flags that every verb has and sets its function."""
    about = "show the card of a target, or set fields of it; an empty value clears a field"
    sub = verbs.add_parser("card", help=about, description=about)
    sub.add_argument("key", metavar="KEY", help="of the target, for example openai:MODEL")
    for name in _TEXTS:
        sub.add_argument(f"--{name}", metavar="TEXT")
    sub.add_argument("--type", help="chat, thinking, application, baseline or local")
    sub.add_argument("--parameters", metavar="BILLIONS", help="empty: unknown")
    sub.add_argument("--weights", choices=tuple(_WEIGHTS))
    sub.add_argument("--logo", metavar="FILE", help="a PNG, JPEG, WebP or GIF picture; empty: none")
    sub.add_argument("--remove", action="store_true", help="take back what was set here")
    common(sub, _card)


def _card(given: argparse.Namespace) -> int:
    import msgspec

    from evalcore import settings
    from evalcore.access import OPERATOR
    from evalcore.privacy import mask_target
    from evalcore.records import to_json
    from evalcore.target_cards import NO_CARD, load_cards, save_card

    current, changes = settings.load(given.data), _changes(given)
    name = mask_target(given.key)
    if given.remove and changes:
        raise UsageError("--remove takes the whole card back; drop the other flags")
    shown = load_cards(current).get(name, NO_CARD)
    if given.remove:
        save_card(current, OPERATOR, given.key, NO_CARD)
    elif changes:
        save_card(current, OPERATOR, given.key, msgspec.structs.replace(shown, **changes))
    card = load_cards(current).get(name, NO_CARD)
    print(to_json(card).decode() if given.json else _text(given.key, card))
    return _DONE


def _changes(given: argparse.Namespace) -> dict[str, Any]:
    """The fields that were given, as the card has them."""
    told = {name: getattr(given, name) for name in (*_TEXTS, "type")}
    found: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
    if given.parameters is not None:
        found["parameters"] = _billions(given.parameters)
    if given.type is not None:
        _known_type(given.type)
    if given.weights is not None:
        found["open_weights"] = _WEIGHTS[given.weights]
    if given.logo is not None:
        found["logo"] = _logo(given.logo)
    return found


def _known_type(name: str) -> None:
    from evalcore.target_cards import Type

    if name not in get_args(Type):
        known = ", ".join(filter(None, get_args(Type)))
        raise UsageError(f"--type {name}: one of {known}, or empty")


def _billions(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"--parameters {text}: a number of billions above 0") from None


def _logo(place: str) -> str:
    from evalcore.target_cards import logo_of

    if not place:
        return ""
    try:
        content = Path(place).read_bytes()
    except OSError as error:
        raise UsageError(f"--logo {place}: {error.strerror}") from None
    return logo_of(content)


def _text(key: str, card: TargetCard) -> str:
    """The card, a field a line; what is not known is a dash, a logo is not printed."""
    weights = next(word for word, value in _WEIGHTS.items() if value is card.open_weights)
    fields: dict[str, Any] = {name: getattr(card, name) for name in (*_TEXTS, "type")}
    size = "" if card.parameters is None else f"{card.parameters:g} billion"
    fields |= {"parameters": size, "weights": weights, "logo": "yes" if card.logo else ""}
    width = max(map(len, fields))
    return "\n".join([key, *(f"  {name:<{width}}  {fields[name] or '-'}" for name in fields)])
