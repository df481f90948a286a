"""An OpenID provider on the loopback: who logs in, and what is wrong with their token, by the test.

It speaks the code flow with PKCE (OpenID Connect Core 1.0, section 3.1; RFC 7636): discovery, a
page with a button, a token signed by RS256, its keys, the account, and logging out. It is strict
where a provider is: an address of return, a client or a code that it does not know is refused.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "board-client", "the-client-secret-of-the-board"
LIFE = 600  # seconds that a token is good for
Claims = dict[str, Any]


def _earlier(claims: Claims) -> Claims:
    return claims | {"iat": claims["iat"] - 2 * LIFE, "exp": claims["exp"] - 2 * LIFE}


#: What can be wrong with the claims of a token, by name; `forged` and `unsigned` are of its seal.
SPOILT: dict[str, Callable[[Claims], Claims]] = {
    "audience": lambda claims: claims | {"aud": "another-client"},
    "expired": _earlier,
    "issuer": lambda claims: claims | {"iss": "http://localhost:1"},
    "nonce": lambda claims: claims | {"nonce": "of another login"},
}
SEALS = ("forged", "unsigned")


@dataclass
class Provider:
    """A running provider. `account` is who logs in next, `spoil` one of `SPOILT` or `SEALS`;
    `issued` holds every code and token that it gave out."""

    port: int
    redirect_uri: str
    account: Claims = field(default_factory=dict)
    spoil: str = ""
    issued: list[str] = field(default_factory=list)
    asked: dict[str, dict[str, str]] = field(default_factory=dict)
    key: RSAKey = field(default_factory=lambda: _key())
    other_key: RSAKey = field(default_factory=lambda: _key())

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def discovery(self) -> Claims:
        ends = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        return {f"{name}_endpoint": f"{self.url}/{path}" for name, path in ends.items()} | {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/jwks",
            "end_session_endpoint": f"{self.url}/logout",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def code(self, asked: dict[str, str]) -> str:
        """A code for a login that was asked for; good once."""
        code = secrets.token_urlsafe(24)
        self.asked[code] = asked
        self.issued.append(code)
        return code

    def tokens(self, form: dict[str, str]) -> Claims | None:
        """The tokens for a code, None for one that is unknown, used, or not proved."""
        asked = self.asked.pop(form.get("code", ""), None)
        if asked is None or challenge(form.get("code_verifier", "")) != asked["code_challenge"]:
            return None
        access = secrets.token_urlsafe(24)
        identity = self.identity(asked["nonce"])
        self.issued += [access, identity]
        return {
            "access_token": access,
            "id_token": identity,
            "token_type": "Bearer",
            "expires_in": LIFE,
        }

    def identity(self, nonce: str) -> str:
        """The identity token, spoilt as the test wants it."""
        now = int(time.time())
        claims = self.account | {
            "iss": self.url,
            "aud": CLIENT,
            "iat": now,
            "exp": now + LIFE,
            "nonce": nonce,
        }
        claims = SPOILT.get(self.spoil, lambda same: same)(claims)
        if self.spoil == "unsigned":
            parts = ({"alg": "none"}, claims)
            return ".".join(_encoded(json.dumps(part).encode()) for part in parts) + "."
        header = {"alg": "RS256", "kid": self.key.kid}
        return jwt.encode(header, claims, self.other_key if self.spoil == "forged" else self.key)


class Handler(BaseHTTPRequestHandler):
    """One request to the provider of `self.server`."""

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing: what is asked here holds codes."""

    def do_GET(self) -> None:
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        address = urlsplit(self.path)
        asked = dict(parse_qsl(address.query))
        if address.path == "/.well-known/openid-configuration":
            self.json(provider.discovery())
        elif address.path == "/jwks":
            self.json(KeySet([provider.key]).as_dict(private=False))
        elif address.path == "/authorize":
            self.authorize(provider, asked)
        elif address.path == "/allow":
            answer = {"code": provider.code(asked), "state": asked["state"]}
            self.redirect(f"{provider.redirect_uri}?{urlencode(answer)}")
        elif address.path == "/deny":
            answer = {"error": "access_denied", "state": asked["state"]}
            self.redirect(f"{provider.redirect_uri}?{urlencode(answer)}")
        elif address.path == "/userinfo":
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            self.json(provider.account, 200 if token in provider.issued else 401)
        elif (
            address.path == "/logout" and asked["post_logout_redirect_uri"] == provider.redirect_uri
        ):
            self.redirect(provider.redirect_uri)
        else:
            self.send(404, b"there is nothing here")

    def do_POST(self) -> None:
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        size = int(self.headers.get("Content-Length", 0))
        form = dict(parse_qsl(self.rfile.read(size).decode()))
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.path != "/token" or self.headers.get("Authorization") != f"Basic {basic}":
            self.json({"error": "invalid_client"}, 401)
            return
        tokens = provider.tokens(form)
        self.json(tokens or {"error": "invalid_grant"}, 200 if tokens else 400)

    def authorize(self, provider: Provider, asked: dict[str, str]) -> None:
        """The page of the provider: who is asked may say yes or no."""
        expected = {
            "client_id": CLIENT,
            "redirect_uri": provider.redirect_uri,
            "response_type": "code",
            "code_challenge_method": "S256",
        }
        if any(asked.get(name) != value for name, value in expected.items()):
            self.send(400, b"the client or its address is not known here")
            return
        query = html.escape(urlencode(asked))
        name = html.escape(str(provider.account.get("name", "")))
        links = f'<a href="/allow?{query}">Go on as {name}</a> <a href="/deny?{query}">Refuse</a>'
        page = f'<!doctype html><link rel="icon" href="data:,"><h1>Provider</h1>{links}'
        self.send(200, page.encode(), "text/html; charset=utf-8")

    def json(self, value: Claims, status: int = 200) -> None:
        self.send(status, json.dumps(value).encode(), "application/json")

    def redirect(self, address: str) -> None:
        self.send(302, b"", location=address)

    def send(
        self, status: int, body: bytes, kind: str = "text/plain", location: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location is not None:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)


def challenge(verifier: str) -> str:
    """The challenge S256 of a verifier (RFC 7636, section 4.2)."""
    return _encoded(hashlib.sha256(verifier.encode()).digest())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "the-key", "use": "sig"})


@contextmanager
def provide(redirect_uri: str) -> Iterator[Provider]:
    """A provider that knows one client, with one address of return; ended with the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(server.server_address[1], redirect_uri)
    server.provider = provider  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
