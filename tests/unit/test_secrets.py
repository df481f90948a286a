"""Keys come from memory or the environment, and no text that passed `scrub_secrets` holds one."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from evalcore.access.redaction import Redactor
from evalcore.access.secrets import Secrets, redact_keys, scrub_secrets
from tests.support.hangs import stop_hang

KEY = "Zq7/plus+equals=slash-0123456789"


def test_a_typed_key_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "from-environment")
    assert Secrets().get("SOME_KEY") == "from-environment"
    assert Secrets({"SOME_KEY": "typed"}).get("SOME_KEY") == "typed"
    assert Secrets({"SOME_KEY": ""}).get("SOME_KEY") == "from-environment"


def test_an_empty_or_absent_key_is_none(monkeypatch):
    monkeypatch.setenv("EMPTY_KEY", "")
    monkeypatch.delenv("ABSENT_KEY", raising=False)
    assert Secrets().get("EMPTY_KEY") is None
    assert not Secrets().has_key("ABSENT_KEY")


def test_only_typed_keys_go_through_the_pipe(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "from-environment")
    secrets = Secrets({"TYPED_KEY": KEY})
    assert secrets.to_pipe() == {"TYPED_KEY": KEY}


def test_repr_names_variables_and_no_values():
    shown = repr(Secrets({"TYPED_KEY": KEY}))
    assert "TYPED_KEY" in shown
    assert KEY not in shown


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY, safe=""),
        json.dumps({"key": KEY}),
        "Authorization: Basic " + base64.b64encode(f":{KEY}".encode()).decode(),
        base64.b64encode(KEY.encode()).decode(),
        f"https://host/v1?key={quote(KEY)}&x=1",
    ],
    ids=["plain", "url", "json", "basic", "base64", "query"],
)
def test_a_known_key_is_removed_in_every_encoding(form):
    cleaned = scrub_secrets(f"before {form} after", [KEY])
    assert KEY not in cleaned
    assert quote(KEY, safe="") not in cleaned
    assert base64.b64encode(KEY.encode()).decode().rstrip("=") not in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


def test_a_key_read_with_a_line_end_is_removed_without_it():
    assert scrub_secrets(f"sent {KEY}!", [KEY + "\n"]) == "sent [key removed]!"


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcdefghijklmnop",
        "Incorrect key sk-proj-****************wxyz",
        "hf_AbCdEfGhIjKlMnOpQr",
        "AIzaSyD-1234567890abcdef",
        "Authorization: Bearer abcdefghijklmnop",
        "authorization: basic dXNlcjpwYXNzd29yZA==",
        '"api_key": "0123456789abcdef"',
        "x-api-key: 0123456789abcdef",
        "API key = 0123456789abcdef",
    ],
)
def test_what_looks_like_a_key_is_removed_though_unknown(text):
    cleaned = scrub_secrets(text)
    assert "[key removed]" in cleaned
    for secret in ("abcdefghijkl", "wxyz", "AbCdEf", "1234567890", "dXNlcjpw", "0123456789"):
        assert secret not in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "set the environment variable OPENAI_API_KEY",
        "API key authentication failed for this organization",
        "a risk-averse-behaviour of the task-scheduler",
        "the option api_key_env names a variable",
        "SELECT key FROM api_keys WHERE id = 1",
    ],
)
def test_plain_words_are_left_alone(text):
    assert scrub_secrets(text, [None, "", "abc"]) == text


def test_the_name_of_a_variable_of_the_hub_is_no_key():
    assert scrub_secrets("set HF_HUB_OFFLINE_MODE=1") == "set HF_HUB_OFFLINE_MODE=1"
    assert "abcdefghijkl" not in scrub_secrets("token hf_abcdefghijklmnop")


def percent(text: str) -> str:
    return "".join(f"%{ord(c):02X}" for c in text)


@pytest.mark.parametrize(
    "clean", [scrub_secrets, redact_keys, lambda text, keys: Redactor(keys, ()).redact_line(text)]
)
@pytest.mark.parametrize(
    "form",
    [
        *(c.join(KEY) for c in "\u200b\u200d\u2060\ufeff\xad\u202e\ufe0f\0\U000e0041"),
        "\u200b\u200d\u2060".join(KEY),
        KEY[:9] + "\u200b" + KEY[9:],
        *(c.join(KEY) for c in ("\\u200b", "&#8203;", "&#x200B;", "&ZeroWidthSpace;", "%E2%80%8B")),
        "\u200c".join(percent(c) for c in KEY),
        percent(KEY),
        quote(quote(KEY, safe=""), safe=""),
        quote(percent(KEY)),
        KEY[:4] + percent(KEY[4:9]) + KEY[9:],
        "".join(f"%u{ord(c):04x}" for c in KEY),
        "".join(f"\\u{{{ord(c):x}}}" for c in KEY),
        KEY.replace("+", "&plus;").replace("=", "&amp;equals;"),
    ],
)
def test_a_key_is_removed_in_a_disguise_that_encodings_give(clean, form):
    assert clean(f"before {form} after", (KEY,)) == "before [key removed] after"


@pytest.mark.parametrize("sign", ["\u200b", "\xad", "%20", "\\n", "&amp;"])
def test_a_text_with_such_signs_and_no_key_stays(sign):
    text = f"Zq7{sign}/plus{sign}".join(["SELECT 'a'"] * 9)
    assert redact_keys(text, [KEY]) == text


@pytest.mark.parametrize(
    "part", ["\\", "%25", "%", "&amp;", "&#0", "\u200b", "Z\u200b", "\\u200b", KEY[:-1] + "\u200b"]
)
def test_a_hostile_answer_is_searched_in_time_linear_in_its_length(part):
    with stop_hang():
        assert redact_keys(part * 100_000, [KEY]) == part * 100_000
