"""Logging in by OpenID Connect: what Streamlit is told of the provider, and who is let in.

In a Hugging Face Space with `hf_oauth: true` the host sets the variables; any other provider is
configured by the same ones, or by `.streamlit/secrets.toml`. Nothing is written to a file.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from evalcore.addresses import is_this_machine
from evalcore.settings import Settings

#: Variables that hold a secret of the server itself; no worker ever gets them.
PROVIDER, CLIENT, SECRET = "OPENID_PROVIDER_URL", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET"
HOST, COOKIE = "SPACE_HOST", "EVALBOARD_COOKIE_SECRET"
#: Where the provider sends a visitor back to, and what the board's address then says if nobody is
#: logged in by that.
CALLBACK = "/oauth2callback"
RESULT, FAILED = "login", "failed"
_DISCOVERY_PATH = "/.well-known/openid-configuration"


def build_auth_secrets(environment: Mapping[str, str]) -> dict[str, Any]:
    """What `st.App(secrets=...)` takes; empty unless all four variables are set.

    The cookie is signed by EVALBOARD_COOKIE_SECRET, else by a key derived from the client's secret,
    so that a login outlives a restart.
    """
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
    """Who is logged in, as the provider names him for good; "" where nobody is."""
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
