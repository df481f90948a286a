"""The verb `card`: shows what is known of a target, sets it field by field, takes it back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from evalcore.cli.main import main

KEY = "openai:small"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(tmp_path / "shipped"))
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")  # the operator of the host may all the same
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["card", *words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_a_target_without_a_card_has_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, KEY)
    assert status == 0
    assert out.splitlines()[0] == KEY
    assert out.count("  -") == 8
    assert call(capsys, KEY, "--json")[1] == "{}\n"


def test_fields_are_set_one_by_one_and_cleared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    picture = tmp_path / "logo.png"
    Image.new("RGB", (9, 9), "teal").save(picture)
    call(capsys, KEY, "--name", "Small", "--parameters", "0.5", "--weights", "open")
    status, out, _ = call(
        capsys, KEY, "--type", "chat", "--released", "2026-11", "--logo", str(picture), "--json"
    )
    card = json.loads(out)
    assert status == 0
    assert card.pop("logo").startswith("data:image/png;base64,")
    assert card == {
        "name": "Small",
        "type": "chat",
        "parameters": 0.5,
        "open_weights": True,
        "released": "2026-11",
    }
    assert "0.5 billion" in call(capsys, KEY)[1]
    cleared = call(capsys, KEY, *("--name", ""), *("--logo", ""), *("--parameters", ""), "--json")
    assert set(json.loads(cleared[1])) == {"type", "open_weights", "released"}
    assert call(capsys, KEY, "--remove", "--json")[1] == "{}\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--site", "http://example.org"), "site: "),
        (("--parameters", "many"), "--parameters many"),
        (("--parameters", "-3"), "parameters: "),
        (("--type", "robot"), "--type robot: must be one of chat, thinking"),
        (("--logo", "nowhere.png"), "--logo nowhere.png"),
        (("--logo", __file__), "logo: not a"),
        (("--name", "two\nlines"), "name: "),
        (("--remove", "--name", "x"), "--remove"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str
) -> None:
    status, _, error = call(capsys, KEY, *words)
    assert (status, text in error) == (2, True), error
    assert call(capsys, KEY, "--json")[1] == "{}\n"
