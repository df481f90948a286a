"""How a request proves whose it is, where that is not as its dialect has it: the headers of Azure
and of gateways, signatures for Amazon, and keys that a command prints because they expire.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from evalcore.access.secrets import Secrets
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.settings import AuthStyle, Endpoint
from evalcore.targets.endpoint.select import is_azure

Authorize = Callable[[str, str, bytes], Mapping[str, str]]

_NO_KEY = "none"  # some local servers want a key, and take any
_COMMAND_SECONDS = 60.0
#: Tokens of Entra, Google and gateways live for an hour and more.
_FRESH_SECONDS = 1800.0
_MOST_KEY_BYTES = 16_384
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Headers that the exchange itself is made of.
_OWN_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection"}
)


def resolve_headers(headers: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """The headers of an endpoint with what their variables hold (`$NAME`). Raises UsageError, which
    names no value, for a variable that is not set and for what is no header."""
    resolved = {}
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise UsageError(Note("header_name", name=name[:60]))
        text = str(value)
        if text.startswith("$"):
            text = secrets.get(text[1:]) or ""
            if not text:
                raise UsageError(Note("header_variable", variable=value[1:61], name=name))
        if not (text.isascii() and text.isprintable()):
            raise UsageError(Note("header_value", name=name))
        resolved[name] = text.strip()
    return resolved


def resolve_auth(endpoint: Endpoint) -> AuthStyle:
    """How requests carry the key: as set, else by the address, else by the dialect (`auto`)."""
    if endpoint.auth != "auto":
        return endpoint.auth
    if endpoint.api_key_command:
        return "bearer"
    takes_own_header = is_azure(endpoint.base_url) and "/anthropic" not in endpoint.base_url
    return "api-key" if takes_own_header else "auto"


class Authorizer:
    """The key of one endpoint, and the headers that carry it. `authorize` is the dialect's way."""

    def __init__(self, endpoint: Endpoint, key: str | None) -> None:
        self._endpoint, self._key = endpoint, key
        self._style = resolve_auth(endpoint)
        self._credentials: AwsCredentials | None = None
        self._fetched = 0.0
        self._lock = asyncio.Lock()

    @property
    def key(self) -> str | None:
        return self._key

    @property
    def secrets(self) -> list[str]:
        """What goes out and no record may hold."""
        token = self._credentials.token if self._credentials else ""
        return [text for text in (self._key, token) if text]

    async def refresh(self, rejected: str | None = None) -> bool:
        """Fetch the key by the endpoint's command where it is due, or where the server has just
        `rejected` it; True where the key is a new one. Raises UsageError."""
        command = self._endpoint.api_key_command
        signs = self._style == "sigv4"
        if not command:
            if signs and self._credentials is None:
                self._credentials = read_aws_credentials(None)
            return False
        async with self._lock:
            before = self._key
            stale = time.monotonic() - self._fetched > _FRESH_SECONDS
            if before is None or stale or before == rejected:
                self._key = await run_key_command(command, is_key=not signs)
                self._credentials = read_aws_credentials(self._key) if signs else None
                self._fetched = time.monotonic()
            return self._key != (rejected or before)

    def build_headers(self, url: str, body: bytes, authorize: Authorize) -> Mapping[str, str]:
        """The headers that prove whose a request is."""
        if self._style == "sigv4":
            assert self._credentials is not None  # noqa: S101 - `refresh` was awaited
            return sign_aws_request(self._credentials, url, body)
        if self._style == "auto":
            return authorize(self._key or _NO_KEY, url, body)
        if self._key is None:
            return {}
        if self._style == "bearer":
            return {"Authorization": f"Bearer {self._key}"}
        return {self._style: self._key}


async def run_key_command(command: str | tuple[str, ...], *, is_key: bool = True) -> str:
    """What a command prints, which is a key unless a caller reads more in it. Raises UsageError,
    which repeats nothing of it."""
    try:
        arguments = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError:  # a quotation without an end
        arguments = [str(command)]
    name = arguments[0] if arguments else ""
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
        )
    except (OSError, ValueError, TypeError):
        raise UsageError(Note("key_command_start", name=name[:100])) from None
    try:
        async with asyncio.timeout(_COMMAND_SECONDS):
            printed, _ = await process.communicate()
    except TimeoutError:
        raise UsageError(
            Note("key_command_slow", name=name[:100], seconds=f"{_COMMAND_SECONDS:.0f}")
        ) from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    if process.returncode:
        raise UsageError(Note("key_command_status", name=name[:100], status=process.returncode))
    key = printed[:_MOST_KEY_BYTES].decode("ascii", "replace").strip()
    if not key or (is_key and not (key.isascii() and key.isprintable() and " " not in key)):
        raise UsageError(Note("key_command_empty", name=name[:100]))
    return key


class AwsCredentials(NamedTuple):
    """What signs a request; `token` is that of a session, empty for a lasting key."""

    key_id: str
    secret: str
    token: str = ""


def read_aws_credentials(printed: str | None) -> AwsCredentials:
    """Credentials as a command prints them (`aws configure export-credentials`), else those of the
    usual variables. Raises UsageError where there are none."""
    if printed is None:
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        found = AwsCredentials(*(os.environ.get(name, "").strip() for name in names))
        if found.key_id and found.secret:
            return found
        raise UsageError(Note("sigv4_no_key"))
    try:
        content = json.loads(printed)
        return AwsCredentials(
            str(content["AccessKeyId"]),
            str(content["SecretAccessKey"]),
            str(content.get("SessionToken") or ""),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(Note("sigv4_json")) from None


def sign_aws_request(
    credentials: AwsCredentials, url: str, body: bytes, now: datetime | None = None
) -> dict[str, str]:
    """The headers of a request signed by Amazon's Signature Version 4, a GET where it has no body;
    region and service stand in the host's name. By the standard library: botocore holds
    python-dateutil below the version that the other packages are tested with."""
    parts = urlsplit(url)
    labels = (parts.hostname or "").split(".")
    service = "bedrock-mantle" if labels[0] == "bedrock-mantle" else "bedrock"
    region = next((label for label in labels if _REGION.fullmatch(label)), "")
    if not region:
        raise UsageError(Note("sigv4_region"))
    moment = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    signed = {"host": parts.netloc.rpartition("@")[2], "x-amz-date": moment}
    if body:
        signed["content-type"] = "application/json"
    if credentials.token:
        signed["x-amz-security-token"] = credentials.token
    names = ";".join(sorted(signed))
    canonical = "\n".join(
        (
            "POST" if body else "GET",
            quote(parts.path or "/", safe="/~"),
            "&".join(sorted(parts.query.split("&"))) if parts.query else "",
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={credentials.key_id}/{scope}, SignedHeaders={names}, "
        f"Signature={signature}"
    )
    token = {"X-Amz-Security-Token": credentials.token} if credentials.token else {}
    return {"Authorization": authorization, "X-Amz-Date": moment, **token}
