"""The passcode cannot be tried out, and a login lets in those on a list alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from evalcore.access import login
from evalcore.access.egress import visitor_network
from evalcore.access.login import WINDOW, PasscodeGate, is_same_passcode
from evalcore.settings import Settings

CODE = "correct horse battery"
SPACE = {
    "OPENID_PROVIDER_URL": "https://id.example",
    "OAUTH_CLIENT_ID": "client",
    "OAUTH_CLIENT_SECRET": "hush-hush",
    "SPACE_HOST": "me-board.hf.space",
}


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setenv(login.VARIABLE, f" {CODE}\n")
    return Clock()


def test_the_right_one_passes_and_forgives_the_wrong_ones(clock):
    gate, tries = PasscodeGate(clock), []
    assert not gate.try_passcode("wrong", tries)
    assert gate.try_passcode(CODE, tries)
    assert tries == []


@pytest.mark.parametrize("typed", ["", CODE[:-1], CODE + "x", CODE.upper(), "\0", "口令" * 600])
def test_others_do_not(clock, typed):
    assert not PasscodeGate(clock).try_passcode(typed, [])


def test_a_session_waits_after_five_wrong_tries_even_with_the_right_one(clock):
    gate, tries = PasscodeGate(clock), []
    assert [gate.try_passcode(str(n), tries) for n in range(5)] == [False] * 5
    assert gate.compute_wait(tries) == WINDOW
    assert not gate.try_passcode(CODE, tries)
    assert gate.try_passcode(CODE, []), "another session is not held up by one"
    clock.now += WINDOW + 1
    assert gate.try_passcode(CODE, tries)


HERE, ELSEWHERE = "203.0.113.7", "203.0.113.8"


def test_the_sessions_of_an_address_are_counted_together_and_no_others(clock):
    gate = PasscodeGate(clock, sleep=lambda seconds: None)
    tried = sum(
        1
        for _ in range(500)
        if gate.compute_wait([], HERE) == 0 and not gate.try_passcode("x", [], HERE)
    )
    assert tried == 20
    assert not gate.try_passcode(CODE, [], HERE)
    assert gate.try_passcode(CODE, [], ELSEWHERE), "others are not locked out"
    assert gate.try_passcode(CODE, []), "nor is who comes by an unknown way"
    clock.now += WINDOW + 1
    assert gate.try_passcode(CODE, [], HERE)


@pytest.mark.parametrize("hidden", [True, False])
def test_wrong_tries_of_all_slow_down_and_lock_nobody_out(clock, hidden):
    slept: list[float] = []
    gate = PasscodeGate(clock, slept.append)
    for number in range(1000):
        assert not gate.try_passcode("x", [], "" if hidden else f"198.51.100.{number}")
    assert max(slept) == 5.0
    assert gate.try_passcode(CODE, [], HERE)
    clock.now += WINDOW + 1
    slept.clear()
    assert gate.try_passcode(CODE, [], HERE)
    assert slept == []


def test_tries_that_come_at_the_same_time_are_all_counted(clock):
    gate = PasscodeGate(clock)
    with ThreadPoolExecutor(16) as threads:
        passed = list(threads.map(lambda n: gate.try_passcode("x", [], HERE), range(64)))
    assert not any(passed)
    assert gate.compute_wait([], HERE) > 0
    assert gate.compute_delay() == 0.0, "tries that are not looked at are not counted"


def test_a_million_addresses_take_little_memory(clock):
    gate = PasscodeGate(clock, sleep=lambda seconds: None)
    for number in range(30_000):
        gate.try_passcode("x", [], f"2001:db8:{number:x}::/64")
    assert len(gate._by_address) == 10_000
    assert not any(gate.compute_wait([], f"2001:db8:{number:x}::/64") for number in range(30_000))


@pytest.mark.parametrize(
    ("host", "forwarded", "network"),
    [
        ("203.0.113.7", "", "203.0.113.7"),
        ("::ffff:203.0.113.7", "", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "", "2001:db8:1:2::/64"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("8.8.8.8", "1.1.1.1", "8.8.8.8"),  # invented by the sender
        ("8.8.8.8", "8.8.8.8", "8.8.8.8"),  # read from the header by the server, which trusts it
        ("10.0.0.5", "8.8.8.8", ""),  # of a proxy that is not trusted
        ("fe80::1%eth0", "8.8.8.8", ""),
        ("unix", "", ""),
        ("", "", ""),
    ],
)
def test_an_address_is_counted_as_its_network(host, forwarded, network):
    assert visitor_network(host, forwarded) == network


def test_a_refused_try_prolongs_no_wait(clock):
    gate, tries = PasscodeGate(clock), []
    for _ in range(20):
        gate.try_passcode("x", tries)
        clock.now += 1
    assert len(tries) == 5
    assert gate.compute_wait(tries) < WINDOW


def test_no_passcode_lets_nobody_in(clock, monkeypatch):
    monkeypatch.delenv(login.VARIABLE)
    assert not PasscodeGate(clock).try_passcode("", [])
    monkeypatch.setenv(login.VARIABLE, "short")
    assert not PasscodeGate(clock).try_passcode("short", [])


def test_the_comparison_is_of_digests():
    assert is_same_passcode("a", "a")
    assert not is_same_passcode("a", "b")
    assert not is_same_passcode("", "a")


def test_a_space_is_logged_in_to_by_its_own_address():
    auth = login.build_auth_secrets(SPACE)["auth"]
    assert auth["redirect_uri"] == "https://me-board.hf.space/oauth2callback"
    assert auth["server_metadata_url"] == "https://id.example/.well-known/openid-configuration"
    assert (auth["client_id"], auth["client_secret"]) == ("client", "hush-hush")
    assert auth["cookie_secret"] == login.build_auth_secrets(SPACE)["auth"]["cookie_secret"]
    assert "hush" not in auth["cookie_secret"]
    assert len(auth["cookie_secret"]) >= 32
    own = login.build_auth_secrets(SPACE | {"EVALBOARD_COOKIE_SECRET": "mine"})
    assert own["auth"]["cookie_secret"] == "mine"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("board.example", "https://board.example"),
        ("board.example:8443", "https://board.example:8443"),
        ("localhost.board.example", "https://localhost.board.example"),
        ("localhost@board.example", "https://localhost@board.example"),
        ("10.0.0.7:8501", "https://10.0.0.7:8501"),
        ("localhost:8501", "http://localhost:8501"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("[::1]:8501", "http://[::1]:8501"),
    ],
)
def test_only_a_board_on_the_own_machine_is_logged_in_to_without_https(host, address):
    assert login.build_board_url(host) == address
    auth = login.build_auth_secrets(SPACE | {"SPACE_HOST": host})["auth"]
    assert auth["redirect_uri"] == f"{address}/oauth2callback"


@pytest.mark.parametrize("name", list(SPACE))
def test_a_part_that_is_missing_configures_nothing(name):
    assert login.build_auth_secrets(SPACE | {name: " "}) == {}


LISTS = Settings(
    access="oidc",
    allow_emails=("Ada@Example.org",),
    allow_domains=("@lab.example", "other.example"),
    allow_organizations=("our-lab",),
)
MAIL = {"is_logged_in": True, "email_verified": True, "sub": "1", "iss": "https://id.example"}
ACCOUNTS = [
    (MAIL | {"email": "ada@example.org"}, True),
    (MAIL | {"email": "ADA@EXAMPLE.ORG"}, True),
    (MAIL | {"email": "bob@lab.example"}, True),
    (MAIL | {"email": "bob@Other.Example"}, True),
    (MAIL | {"orgs": [{"preferred_username": "our-lab"}]}, True),
    (MAIL | {"orgs": ["our-lab"]}, True),
    (MAIL | {"email": "ada@example.org", "email_verified": False}, False),
    (MAIL | {"email": "ada@example.org", "email_verified": "false"}, False),
    (MAIL | {"email": "ada@example.org", "email_verified": "true"}, False),
    ({"is_logged_in": True, "email": "ada@example.org"}, False),
    (MAIL | {"email": "ada@example.org", "is_logged_in": False}, False),
    ({"email": "ada@example.org", "email_verified": True}, False),
    (MAIL | {"email": "eve@evil.example"}, False),
    (MAIL | {"email": "eve@lab.example.evil.example"}, False),
    (MAIL | {"email": "eve@sub.lab.example"}, False),
    (MAIL | {"email": "ada@example.org@evil.example"}, False),
    (MAIL | {"email": ""}, False),
    (MAIL | {"email": None, "orgs": None}, False),
    (MAIL | {"orgs": "our-lab"}, False),
    (MAIL | {"orgs": [{"name": "our-lab"}, 7, None, {"preferred_username": ["our-lab"]}]}, False),
    ({}, False),
]


@pytest.mark.parametrize(("claims", "may"), ACCOUNTS)
def test_who_is_on_a_list(claims, may):
    assert login.is_admitted(LISTS, claims) is may


@pytest.mark.parametrize("claims", [claims for claims, may in ACCOUNTS if may])
def test_empty_lists_let_nobody_in(claims):
    assert not login.is_admitted(Settings(access="oidc"), claims)


def test_a_person_is_named_by_provider_and_subject():
    assert login.build_account_id(MAIL | {"email": "ada@example.org"}) == "https://id.example|1"
    assert login.build_account_id({"sub": "1"}) == ""
