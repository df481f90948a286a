"""Target cards: what is typed is checked, kept apart from the index, and never what it says."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from evalcore.access.policy import ANYBODY, AccessDenied
from evalcore.errors import IndexFileError, UsageError
from evalcore.settings import Settings
from evalcore.target_cards import (
    FILE,
    LOGO_PIXELS,
    NO_CARD,
    TargetCard,
    cards_signature,
    check_target_card,
    encode_logo,
    find_card_problems,
    load_cards,
    load_local_card,
    save_card,
)

CARD = TargetCard(
    name="Small",
    organization="Somebody",
    type="chat",
    parameters=0.5,
    open_weights=True,
    released="2026-11",
    licence="MIT",
    site="https://example.org/small",
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "shipped"))


def test_a_card_is_kept_replaced_and_taken_back(settings: Settings) -> None:
    assert load_cards(settings) == {}
    before = cards_signature(settings)
    save_card(settings, ANYBODY, "openai:small", CARD)
    assert load_cards(settings) == {"openai:small": CARD}
    assert cards_signature(settings) != before
    save_card(settings, ANYBODY, "openai:small", NO_CARD)
    assert load_cards(settings) == {}


def test_a_typed_card_wins_over_a_shipped_one_until_it_is_taken_back(settings: Settings) -> None:
    shipped = Settings(data=settings.shipped)
    save_card(shipped, ANYBODY, "baseline:x", TargetCard(name="Shipped"))
    save_card(settings, ANYBODY, "baseline:x", TargetCard(name="Typed"))
    assert load_cards(settings)["baseline:x"].name == "Typed"
    save_card(settings, ANYBODY, "baseline:x", NO_CARD)
    assert load_cards(settings)["baseline:x"].name == "Shipped"


@pytest.mark.parametrize(
    ("card", "field"),
    [
        (TargetCard(name="x" * 61), "name"),
        (TargetCard(name="two\nlines"), "name"),
        (TargetCard(organization="bidi\u202e"), "organization"),
        (TargetCard(parameters=0), "parameters"),
        (TargetCard(parameters=float("nan")), "parameters"),
        (TargetCard(released="2026-13"), "released"),
        (TargetCard(released="yesterday"), "released"),
        (TargetCard(site="javascript:alert(1)"), "site"),
        (TargetCard(site="http://example.org"), "site"),
        (TargetCard(site="https://user@example.org"), "site"),
        (TargetCard(site="https://[broken"), "site"),
        (TargetCard(logo="https://example.org/logo.png"), "logo"),
    ],
)
def test_a_field_that_cannot_be_is_named(settings: Settings, card: TargetCard, field: str) -> None:
    with pytest.raises(UsageError, match=f"^{field}: "):
        check_target_card(card)
    with pytest.raises(UsageError):
        save_card(settings, ANYBODY, "openai:small", card)
    assert not (settings.data_dir / FILE).exists()


def test_nobody_edits_a_read_only_board(tmp_path: Path) -> None:
    closed = Settings(data=str(tmp_path), access="read-only")
    with pytest.raises(AccessDenied, match="read-only"):
        save_card(closed, ANYBODY, "openai:small", CARD)


def test_a_logo_is_drawn_anew_and_small() -> None:
    file = BytesIO()
    Image.new("RGB", (900, 300), "teal").save(file, "JPEG", exif=b"Exif\0\0secret")
    content = b64decode(encode_logo(file.getvalue()).partition(",")[2])
    assert b"secret" not in content
    assert Image.open(BytesIO(content)).size == (LOGO_PIXELS, 21)


@pytest.mark.parametrize("content", [b"", b"<svg onload='x'/>", b"\x89PNG\r\n\x1a\nbroken"])
def test_what_is_no_picture_is_no_logo(content: bytes) -> None:
    with pytest.raises(UsageError, match="logo: not a"):
        encode_logo(content)


def test_a_broken_file_says_which_and_stays(settings: Settings) -> None:
    path = settings.data_dir / FILE
    path.parent.mkdir(parents=True)
    path.write_text('{"cards": {"openai:small": {"parameters": "many"}}}')
    with pytest.raises(IndexFileError, match=FILE):
        load_cards(settings)
    assert "many" in path.read_text()


def test_every_wrong_field_is_told_at_once() -> None:
    card = TargetCard(name="x" * 61, parameters=-1, released="soon", site="x" * 201)
    assert set(find_card_problems(card)) == {"name", "parameters", "released", "site"}
    assert find_card_problems(CARD) == {}


def test_what_was_typed_is_told_from_what_is_shipped(settings: Settings) -> None:
    save_card(Settings(data=settings.shipped), ANYBODY, "baseline:x", TargetCard(name="Shipped"))
    assert load_local_card(settings, "baseline:x") == NO_CARD
    save_card(settings, ANYBODY, "baseline:x", CARD)
    assert load_local_card(settings, "baseline:x") == CARD


def test_a_picture_of_gigabytes_is_refused_unread() -> None:
    file = BytesIO()
    Image.new("1", (5000, 4)).save(file, "PNG")
    with pytest.raises(UsageError, match="4096 pixels"):
        encode_logo(file.getvalue())


@pytest.mark.parametrize(
    "card",
    ['{"logo": "http://evil.example/i.png"}', '{"site": "javascript:alert(1)"}'],
)
def test_a_file_edited_by_hand_is_checked_too(settings: Settings, card: str) -> None:
    path = settings.data_dir / FILE
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"cards": {{"openai:small": {card}}}}}')
    with pytest.raises(IndexFileError, match="a card is broken"):
        load_cards(settings)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(IndexFileError, match="EVALBOARD_DATA"):
        save_card(Settings(data=str(tmp_path / "data")), ANYBODY, "openai:small", CARD)


def test_the_cards_that_come_with_the_project_are_those_of_its_targets(tmp_path: Path) -> None:
    from tools import shipped_runs

    assert set(shipped_runs.CARDS) == set(shipped_runs.TARGETS)
    made = Settings(data=str(tmp_path / "made"), shipped=str(tmp_path / "none"))
    shipped_runs.make_cards(made)
    assert [file.name for file in (tmp_path / "made").iterdir()] == [FILE]
    assert (
        load_cards(made) == load_cards(Settings(data=str(tmp_path / "none"))) == shipped_runs.CARDS
    )


@pytest.mark.parametrize("argument", ["--help", "--data=elsewhere"])
def test_help_and_unknown_arguments_rebuild_no_shipped_run(monkeypatch, argument: str) -> None:
    from tools import shipped_runs

    monkeypatch.setattr(shipped_runs, "rebuild_shipped_runs", lambda settings: pytest.fail("ran"))
    with pytest.raises(SystemExit):
        shipped_runs.main([argument])
