"""How a visitor is let in: logging in by OpenID Connect, and the passcode of a board."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from evalcore.access.egress import is_this_machine
from evalcore.settings import Settings

# In a Hugging Face Space with `hf_oauth: true` the host sets the variables; any other provider is
# configured by the same ones, or by `.streamlit/secrets.toml`. Nothing is written to a file.

#: Variables that hold a secret of the server itself; no worker ever gets them.
PROVIDER, CLIENT, SECRET = "OPENID_PROVIDER_URL", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET"
HOST, COOKIE = "SPACE_HOST", "EVALBOARD_COOKIE_SECRET"
#: Where a login begins, where the provider sends a visitor back to, and what the address then says
#: if nobody is logged in by that.
START, CALLBACK = "/auth/login", "/oauth2callback"
RESULT, FAILED = "login", "failed"
_DISCOVERY_PATH = "/.well-known/openid-configuration"


def build_auth_secrets(environment: Mapping[str, str]) -> dict[str, Any]:
    """What `st.App(secrets=...)` takes; empty unless all four variables are set. The cookie is
    signed by EVALBOARD_COOKIE_SECRET, else by a key derived from the client's secret, so that a
    login outlives a restart."""
    variables = {
        name: environment.get(name, "").strip() for name in (PROVIDER, CLIENT, SECRET, HOST)
    }
    if not all(variables.values()):
        return {}
    derived = hmac.new(variables[SECRET].encode(), b"evalboard cookie", hashlib.sha256).hexdigest()
    provider = variables[PROVIDER].rstrip("/").removesuffix(_DISCOVERY_PATH)
    return {
        "auth": {
            "redirect_uri": build_board_url(variables[HOST]) + CALLBACK,
            "cookie_secret": environment.get(COOKIE, "").strip() or derived,
            "client_id": variables[CLIENT],
            "client_secret": variables[SECRET],
            "server_metadata_url": provider + _DISCOVERY_PATH,
        }
    }


def build_board_url(host: str) -> str:
    """The address of the board at a host, "NAME" or "NAME:PORT": by https, save where the host can
    only be the machine of the browser itself, so that nothing is sent over a network."""
    name = urlsplit(f"//{host}").hostname or ""
    return f"{'http' if is_this_machine(name) else 'https'}://{host}"


def build_account_id(claims: Mapping[str, Any]) -> str:
    """Who is logged in, as the provider names them for good; "" where nobody is."""
    if not claims.get("is_logged_in"):
        return ""
    return f"{claims.get('iss', '')}|{claims.get('sub') or claims.get('email') or ''}"


def is_admitted(settings: Settings, claims: Mapping[str, Any]) -> bool:
    """Whether an account is on a list. An e-mail counts only where the provider has verified it,
    and with no list nobody is let in."""
    if not claims.get("is_logged_in"):
        return False
    email = str(claims.get("email") or "").strip().lower()
    if email and claims.get("email_verified") is True:
        if email in map(str.lower, settings.allow_emails):
            return True
        domain = email.rpartition("@")[2]
        if domain in (entry.lower().removeprefix("@") for entry in settings.allow_domains):
            return True
    return not set(settings.allow_organizations).isdisjoint(
        _parse_organizations(claims.get("orgs"))
    )


def _parse_organizations(claim: Any) -> set[str]:
    """Names of organisations from the claim `orgs` of Hugging Face: objects, or plain names."""
    entries = claim if isinstance(claim, list | tuple) else []
    names = (
        entry.get("preferred_username") if isinstance(entry, Mapping) else entry
        for entry in entries
    )
    return {name for name in names if isinstance(name, str) and name}


# The passcode of a board: compared in constant time, and not to be tried out. It stands in the
# environment of the server alone (EVALBOARD_PASSCODE), never in a file of settings. Wrong tries are
# counted in the session that made them and for the address they came from, because whoever tries
# many codes opens many sessions. Over all addresses they only slow down further tries: nobody can
# lock others out. A session that has passed never comes here again.

VARIABLE = "EVALBOARD_PASSCODE"
#: A shorter one can be guessed in spite of the limits below; it lets nobody in.
SHORTEST = 8
_LONGEST = 1024
_OF_A_SESSION, _OF_AN_ADDRESS = 5, 20  # wrong tries within WINDOW
WINDOW = 600.0  # seconds
#: Addresses whose wrong tries are remembered; the one that was last wrong longest ago is forgotten.
_ADDRESSES = 10_000
#: So many wrong tries of all visitors within WINDOW make each try a second slower.
_PER_SECOND = 50
_SLOWEST = 5.0  # seconds


def is_passcode_usable() -> bool:
    """Whether a passcode is set with which anybody can be let in."""
    return len(os.environ.get(VARIABLE, "").strip()) >= SHORTEST


class PasscodeGate:
    """Counts wrong tries; `clock` gives seconds that never go back, `sleep` slows a try down."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._sleep, self._lock = clock, sleep, threading.Lock()
        self._by_address: OrderedDict[str, list[float]] = OrderedDict()
        self._all: deque[float] = deque(maxlen=int(_PER_SECOND * _SLOWEST))

    def try_passcode(self, typed: str, earlier: list[float], address: str = "") -> bool:
        """Whether the passcode was typed; a wrong one is noted, also in the session's `earlier`.
        While `compute_wait` says so, not even the right one passes. `address` is that of
        `addresses.visitor_network`, "" where it cannot be told and nothing is counted by it."""
        if self.compute_wait(earlier, address):
            return False
        if delay := self.compute_delay():
            self._sleep(delay)
        with self._lock:
            if self._compute_wait(earlier, address):  # others of this address were wrong meanwhile
                return False
            if is_passcode_usable() and is_same_passcode(typed, os.environ[VARIABLE].strip()):
                earlier.clear()
                return True
            moment = self._clock()
            self._all.append(moment)
            earlier[:] = [*earlier, moment][-_OF_A_SESSION:]
            if address:
                before = self._by_address.pop(address, [])
                self._by_address[address] = [*before, moment][-_OF_AN_ADDRESS:]
            while len(self._by_address) > _ADDRESSES:
                self._by_address.popitem(last=False)
            return False

    def compute_wait(self, earlier: list[float], address: str = "") -> float:
        """Seconds until another try counts, 0 where it counts now."""
        with self._lock:
            return self._compute_wait(earlier, address)

    def compute_delay(self) -> float:
        """Seconds that each try takes longer now, by the wrong ones of all visitors."""
        with self._lock:
            since = self._clock() - WINDOW
            return float(sum(moment > since for moment in self._all) // _PER_SECOND)

    def _compute_wait(self, earlier: list[float], address: str) -> float:
        ends = [0.0]
        of_address = self._by_address.get(address, [])
        for limit, moments in ((_OF_A_SESSION, earlier), (_OF_AN_ADDRESS, of_address)):
            if len(moments) >= limit:
                ends.append(moments[-limit] + WINDOW - self._clock())
        return max(ends)


def is_same_passcode(typed: str, expected: str) -> bool:
    """Compared by digests of equal length: the time tells neither length nor beginning."""
    left, right = (hashlib.sha256(text[:_LONGEST].encode()).digest() for text in (typed, expected))
    return hmac.compare_digest(left, right)


#: The gate of this server.
GATE = PasscodeGate()
