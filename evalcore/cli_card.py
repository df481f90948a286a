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


def add_card_verb(verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `add_common` adds the flags that every verb has and sets its function."""
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
    add_common(sub, _show_or_set_card)


def _show_or_set_card(args: argparse.Namespace) -> int:
    import msgspec

    from evalcore import settings
    from evalcore.access import OPERATOR
    from evalcore.privacy import mask_target
    from evalcore.records import to_json
    from evalcore.target_cards import NO_CARD, load_cards, save_card

    current, changes = settings.load_settings(args.data), _collect_card_changes(args)
    name = mask_target(args.key)
    if args.remove and changes:
        raise UsageError("--remove takes the whole card back; drop the other flags")
    shown = load_cards(current).get(name, NO_CARD)
    if args.remove:
        save_card(current, OPERATOR, args.key, NO_CARD)
    elif changes:
        save_card(current, OPERATOR, args.key, msgspec.structs.replace(shown, **changes))
    card = load_cards(current).get(name, NO_CARD)
    print(to_json(card).decode() if args.json else _format_card(args.key, card))
    return _DONE


def _collect_card_changes(args: argparse.Namespace) -> dict[str, Any]:
    """The fields that were given, as the card has them."""
    flag_values = {name: getattr(args, name) for name in (*_TEXTS, "type")}
    changes: dict[str, Any] = {
        name: value for name, value in flag_values.items() if value is not None
    }
    if args.parameters is not None:
        changes["parameters"] = _parse_billions(args.parameters)
    if args.type is not None:
        _check_card_type(args.type)
    if args.weights is not None:
        changes["open_weights"] = _WEIGHTS[args.weights]
    if args.logo is not None:
        changes["logo"] = _load_logo(args.logo)
    return changes


def _check_card_type(name: str) -> None:
    from evalcore.target_cards import TargetType

    if name not in get_args(TargetType):
        allowed = ", ".join(filter(None, get_args(TargetType)))
        raise UsageError(f"--type {name}: one of {allowed}, or empty")


def _parse_billions(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"--parameters {text}: a number of billions above 0") from None


def _load_logo(path: str) -> str:
    from evalcore.target_cards import encode_logo

    if not path:
        return ""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"--logo {path}: {error.strerror}") from None
    return encode_logo(content)


def _format_card(key: str, card: TargetCard) -> str:
    """The card, a field a line; what is not known is a dash, a logo is not printed."""
    weights = next(word for word, value in _WEIGHTS.items() if value is card.open_weights)
    fields: dict[str, Any] = {name: getattr(card, name) for name in (*_TEXTS, "type")}
    size = "" if card.parameters is None else f"{card.parameters:g} billion"
    fields |= {"parameters": size, "weights": weights, "logo": "yes" if card.logo else ""}
    width = max(map(len, fields))
    return "\n".join([key, *(f"  {name:<{width}}  {fields[name] or '-'}" for name in fields)])
