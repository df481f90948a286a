"""What a target is called: by its card, by its identity, and never by another's name."""

from __future__ import annotations

import pytest

from evalcore.target_cards import TargetCard
from evalcore.views.board_titles import describe_variant, display_name, display_names

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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, ""),
        ({"dtype": "int8"}, "· int8"),
        ({"dtype": "auto", "device": "cpu"}, "· device=cpu"),
        ({"adapter": "runs/lora", "dtype": "int4"}, "+ lora · int4"),
        ({"adapter": "lora~1a2b3c4d/"}, "+ lora~1a2b3c4d"),
        ({"base_url": "http://localhost:8000/v1", "temperature": 0.7}, "· temperature=0.7"),
        ({"api_key_env": "MY_KEY", "temperature": 0}, "· temperature=0"),
        ({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}, "· a=1 · b=2 · c=3 · +2"),
        ({"system": "x" * 25, "stop": ["a"], "none": None}, ""),
    ],
)
def test_a_variant_is_named_by_what_is_short(options: dict[str, object], text: str) -> None:
    assert describe_variant(options) == text


def test_names_say_what_differs_and_fall_back_to_the_identity() -> None:
    targets = dict.fromkeys(("openai:small", "openai:small#1", "openai:small#2"), "openai:small")
    options = {"openai:small#1": {"dtype": "int8"}, "openai:small#2": {"prompt": "x" * 99}}
    assert display_names(targets, CARDS, options) == {
        "openai:small": "Small 1",
        "openai:small#1": "Small 1 · int8",
        "openai:small#2": "Small 1 #2",
    }
    alike = {"hf:base#1": "hf:base", "hf:base#2": "hf:base"}
    same = {name: {"dtype": "int8"} for name in alike}
    assert display_names(alike, {}, same) == {
        "hf:base#1": "hf:base · int8 (hf:base#1)",
        "hf:base#2": "hf:base · int8 (hf:base#2)",
    }
