"""Modes of access: who may do what, and that nothing is opened by a mistake."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from evalcore import settings
from evalcore.access import login, policy
from evalcore.access.policy import (
    ANYBODY,
    OPERATOR,
    AccessAction,
    AccessDenied,
    Visitor,
    explain_denial,
    require_access,
)
from evalcore.errors import UsageError
from evalcore.settings import ACCESS_MODES, Settings

ACTS: tuple[AccessAction, ...] = get_args(AccessAction)
PROVED = Visitor(proved=True)
VISITOR = Visitor(name="https://id.example|7")
LISTED = Visitor(name="https://id.example|7", proved=True)
REMOTE = Visitor(remote=True)
CODE = "correct horse battery"

#: mode, visitor, what is said ("" where they may).
WHO = [
    ("open", ANYBODY, ""),
    ("open", REMOTE, ""),
    ("read-only", ANYBODY, policy.READ_ONLY),
    ("read-only", PROVED, policy.READ_ONLY),
    ("read-only", LISTED, policy.READ_ONLY),
    ("passcode", ANYBODY, policy.ASKED_PASSCODE),
    ("passcode", VISITOR, policy.ASKED_PASSCODE),
    ("passcode", PROVED, ""),
    ("oidc", ANYBODY, policy.ASKED_LOGIN),
    ("oidc", PROVED, policy.ASKED_LOGIN),
    ("oidc", VISITOR, policy.NOT_LISTED),
    ("oidc", LISTED, ""),
]


@pytest.fixture(autouse=True)
def no_server(monkeypatch):
    """No server has told its address; the passcode is set."""
    monkeypatch.setattr(policy, "_is_local_server", None)
    monkeypatch.setenv(login.VARIABLE, CODE)


@pytest.mark.parametrize(("mode", "visitor", "text"), WHO)
@pytest.mark.parametrize("act", ACTS)
def test_who_may_do_what(mode, visitor, text, act):
    current = Settings(access=mode)
    assert explain_denial(current, visitor, act) == text
    if text:
        with pytest.raises(AccessDenied):
            require_access(current, visitor, act)
    else:
        require_access(current, visitor, act)


@pytest.mark.parametrize("mode", ACCESS_MODES)
def test_the_operator_may_everything_in_every_mode(mode):
    assert all(explain_denial(Settings(access=mode), OPERATOR, act) == "" for act in ACTS)
    assert policy.restrict_settings(Settings(access=mode, show_gated=True), OPERATOR).show_gated


@pytest.mark.parametrize("code", ["", "   ", "short", "1234567"])
def test_without_a_usable_passcode_nobody_is_let_in(monkeypatch, code):
    monkeypatch.setenv(login.VARIABLE, code)
    assert "at least 8 characters" in explain_denial(Settings(access="passcode"), PROVED, "launch")


LISTENING = [
    ("localhost", "open"),
    ("127.0.0.1", "open"),
    ("127.1.2.3", "open"),
    ("::1", "open"),
    ("[::1]", "open"),
    ("board.localhost", "open"),
    ("", "read-only"),
    (None, "read-only"),
    ("0.0.0.0", "read-only"),
    ("::", "read-only"),
    ("10.0.0.4", "read-only"),
    ("localhost.example.org", "read-only"),
    ("127.0.0.1.example.org", "read-only"),
    ("0", "read-only"),
]


@pytest.mark.parametrize(("address", "mode"), LISTENING)
def test_without_a_setting_the_address_decides(address, mode):
    policy.set_listen_address(address)
    assert policy.resolve_access_mode(Settings()) == mode
    assert policy.resolve_access_mode(Settings(access="open")) == "open"


def test_on_this_machine_a_visitor_of_another_reads_only():
    policy.set_listen_address("localhost")
    assert explain_denial(Settings(), ANYBODY, "launch") == ""
    assert explain_denial(Settings(), REMOTE, "launch") == policy.READ_ONLY


def test_a_process_that_serves_nobody_is_open():
    assert policy.resolve_access_mode(Settings()) == "open"


@pytest.mark.parametrize("mode", ["Open", "readonly", "public", "read_only", "none", " open", "0"])
def test_an_unknown_mode_is_an_error_that_names_the_known_ones(monkeypatch, mode):
    for act in ACTS:
        with pytest.raises(UsageError, match="open, read-only, passcode, oidc"):
            explain_denial(Settings(access=mode), PROVED, act)
    with pytest.raises(UsageError, match="known: open"):
        policy.is_restricted(Settings(access=mode))
    monkeypatch.setenv("EVALBOARD_ACCESS", mode)
    with pytest.raises(UsageError, match="open, read-only, passcode, oidc"):
        settings.load_settings()


def test_lists_in_the_environment_are_separated_by_commas_or_spaces(monkeypatch):
    monkeypatch.setenv("EVALBOARD_ALLOW_ENDPOINTS", "openai, api.example.org:8443  vllm")
    monkeypatch.setenv("EVALBOARD_ALLOW_MODELS", "")
    monkeypatch.setenv("EVALBOARD_RUN_BUDGET", "0.25")
    result = settings.load_settings()
    assert result.allow_endpoints == ("openai", "api.example.org:8443", "vllm")
    assert result.allow_models == ()
    assert result.run_budget == 0.25


def test_the_passcode_is_no_setting(tmp_path, monkeypatch):
    """A file of settings is shown to colleagues and committed; a passcode never stands in it."""
    file = tmp_path / "evalboard.toml"
    file.write_text(f'access = "passcode"\npasscode = "{CODE}"\n')
    monkeypatch.setenv("EVALBOARD_CONFIG", str(file))
    with pytest.raises(UsageError, match="unknown setting 'passcode'"):
        settings.load_settings()
    assert CODE not in str(msgspec.to_builtins(Settings(access="passcode")))


@pytest.mark.parametrize("mode", ["read-only", "passcode", "oidc"])
def test_gated_texts_are_shown_in_the_open_alone(mode):
    assert policy.restrict_settings(Settings(access="open", show_gated=True), ANYBODY).show_gated
    assert not policy.restrict_settings(Settings(access=mode, show_gated=True), LISTED).show_gated
    policy.set_listen_address("0.0.0.0")
    assert not policy.restrict_settings(Settings(show_gated=True), ANYBODY).show_gated


def test_the_mark_of_a_visitor_tells_nobody_who_he_is(tmp_path):
    item, other = (Settings(data=str(tmp_path / name), access="oidc") for name in "ab")
    mail = Visitor(name="iss|someone@example.org", proved=True)
    mark = policy.compute_visitor_id(item, mail)
    assert mark == policy.compute_visitor_id(item, mail) != policy.compute_visitor_id(item, LISTED)
    assert mark != policy.compute_visitor_id(other, mail), (
        "a hash that can be looked up names the person"
    )
    assert "someone" not in mark
    key = Path(item.data) / "visitors.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32
    assert [file.name for file in Path(item.data).iterdir()] == ["visitors.key"]
