"""The search for keys finds every kind of them, and none in the project."""

from __future__ import annotations

import gzip
import random
import string
from pathlib import Path

import pytest

from tools import check_secrets

DICE = random.Random(4)


def make_up(count: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(DICE.choice(letters) for _ in range(count))


UPPER = string.ascii_uppercase + string.digits
#: Put together here, so that this file holds none of them.
PLANTED = {
    "a private key": "-----BEGIN " + "PRIVATE KEY-----\n" + make_up(64) + "\n",
    "OpenAI or Anthropic": "sk-" + "proj-" + make_up(48),
    "Hugging Face": "hf" + "_" + make_up(34),
    "GitHub": "ghp" + "_" + make_up(36),
    "Google": "AI" + "za" + make_up(35),
    "Amazon": "AK" + "IA" + make_up(16, UPPER),
    "Slack": "xoxb" + "-" + make_up(30),
    "Groq, xAI or Perplexity": "gsk" + "_" + make_up(40),
    "NVIDIA": "nvapi" + "-" + make_up(20) + "_" + make_up(20),
    "a JSON web token": ".".join(("ey" + "J" + make_up(24), "ey" + "J" + make_up(24), make_up(24))),
}


@pytest.mark.parametrize("owner", check_secrets.KEYS)
def test_a_key_is_named_by_line_and_owner(owner: str) -> None:
    text = f"first line\nTOKEN = '{PLANTED[owner]}'\n"
    lines = [(line, whose) for line, whose, _ in check_secrets.iter_keys(text)]
    assert lines == [(2, owner)]


def test_what_is_made_up_is_none() -> None:
    assert not list(check_secrets.iter_keys("xai-realtime-banking-xai-2026-07-13-05911ac8"))
    for key in ("sk-" + "canary" + make_up(40), "sk-" + "x" * 40, "hf" + "_" + "0123456789" * 4):
        assert not list(check_secrets.iter_keys(key)), key


def test_the_key_itself_is_not_printed(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(check_secrets, "ROOT", tmp_path)
    monkeypatch.setattr(check_secrets, "list_files", lambda: sorted(tmp_path.iterdir()))
    (tmp_path / "a.txt").write_text(PLANTED["GitHub"])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(PLANTED["Hugging Face"].encode()))
    (tmp_path / "c.gz").write_bytes(b"no gzip")
    assert check_secrets.main() == 1
    shown = capsys.readouterr().out
    assert "a.txt:1: looks like a key: GitHub" in shown
    assert "b.jsonl.gz:1: looks like a key: Hugging Face" in shown
    assert PLANTED["GitHub"] not in shown


@pytest.mark.slow
def test_the_project_holds_no_key(capsys) -> None:
    assert check_secrets.main() == 0, capsys.readouterr().out
