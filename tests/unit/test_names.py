"""What a target is called: by its card, by its identity, and never by another's name."""

from __future__ import annotations

import pytest

from evalcore.target_cards import TargetCard
from evalcore.views.board_titles import display_name, display_names

CARDS = {
    "openai:small": TargetCard(name="Small 1"),
    "openai:other": TargetCard(name="small  1"),
    "openai:blank": TargetCard(organization="Somebody"),
}


@pytest.mark.parametrize(
    ("identity", "key", "name"),
    [
        ("openai:small", "openai:small", "Small 1"),
        ("openai:small#1a2b", "openai:small", "Small 1 #1a2b"),
        ("openai:blank", "openai:blank", "openai:blank"),
        ("openai:unknown#9", "openai:unknown", "openai:unknown#9"),
        ("published/small", "openai:small", "published/small"),
    ],
)
def test_a_name_comes_from_the_card_and_keeps_variants_apart(
    identity: str, key: str, name: str
) -> None:
    assert display_name(identity, key, CARDS) == name


def test_names_that_read_alike_are_told_apart_by_identity() -> None:
    targets = {key: key for key in ("openai:small", "openai:other", "openai:blank")}
    assert display_names(targets, CARDS) == {
        "openai:small": "Small 1 (openai:small)",
        "openai:other": "small  1 (openai:other)",
        "openai:blank": "openai:blank",
    }


def test_a_card_cannot_take_the_identity_of_another_target() -> None:
    cards = {"openai:weak": TargetCard(name="openai:strong")}
    targets = {"openai:weak": "openai:weak", "openai:strong": "openai:strong"}
    assert display_names(targets, cards) == {
        "openai:weak": "openai:strong (openai:weak)",
        "openai:strong": "openai:strong",
    }
