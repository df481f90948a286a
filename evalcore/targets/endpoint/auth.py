"""How a request proves whose it is, where that is not as its dialect has it: the headers of Azure
and of gateways, signatures for Amazon, and keys that a command prints because they expire.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalcore.access.secrets import Secrets
from evalcore.errors import UsageError
from evalcore.settings import AuthStyle, Endpoint
from evalcore.targets.endpoint.select import is_azure

if TYPE_CHECKING:
    from botocore.credentials import Credentials

Authorize = Callable[[str, str, bytes], Mapping[str, str]]

_COMMAND_SECONDS = 60.0
#: Tokens of Entra, Google and gateways live for an hour and more.
_FRESH_SECONDS = 1800.0
_MOST_KEY_BYTES = 16_384
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
            raise UsageError(f"headers: {name[:60]!r} is no header that can be set")
        text = str(value)
        if text.startswith("$"):
            text = secrets.get(text[1:]) or ""
            if not text:
                raise UsageError(f"headers: the variable {value[1:61]} of {name} is not set")
        if not (text.isascii() and text.isprintable()):
            raise UsageError(f"headers: the value of {name} has characters that no header has")
        resolved[name] = text.strip()
    return resolved


def resolve_auth(endpoint: Endpoint) -> AuthStyle:
    """How requests carry the key: as set, else by the address, else by the dialect (`auto`)."""
    if endpoint.auth != "auto":
        return endpoint.auth
    if endpoint.api_key_command:
        return "bearer"
    return "api-key" if is_azure(endpoint.base_url) else "auto"


class Authorizer:
    """The key of one endpoint, and the headers that carry it. `authorize` is the dialect's way."""

    def __init__(self, endpoint: Endpoint, key: str | None) -> None:
        self._endpoint, self._key = endpoint, key
        self._style = resolve_auth(endpoint)
        self._credentials: Credentials | None = None
        self._fetched = 0.0
        self._lock = asyncio.Lock()

    @property
    def key(self) -> str | None:
        return self._key

    async def refresh(self, rejected: str | None = None) -> bool:
        """Fetch the key by the endpoint's command where it is due, or where the server has just
        `rejected` it; True where the key is a new one. Raises UsageError."""
        command = self._endpoint.api_key_command
        if self._style == "sigv4" and self._credentials is None:
            self._credentials = await asyncio.to_thread(_load_aws_credentials)
        if not command:
            return False
        async with self._lock:
            before = self._key
            stale = time.monotonic() - self._fetched > _FRESH_SECONDS
            if before is None or stale or before == rejected:
                self._key, self._fetched = await run_key_command(command), time.monotonic()
            return self._key != (rejected or before)

    def build_headers(self, url: str, body: bytes, authorize: Authorize) -> Mapping[str, str]:
        """The headers that prove whose a request is; none where there is no key."""
        if self._style == "sigv4":
            assert self._credentials is not None  # noqa: S101 - `refresh` was awaited
            return sign_aws_request(self._credentials, url, body)
        if self._key is None:
            return {}
        if self._style == "auto":
            return authorize(self._key, url, body)
        if self._style == "bearer":
            return {"Authorization": f"Bearer {self._key}"}
        return {self._style: self._key}


async def run_key_command(command: str | tuple[str, ...]) -> str:
    """What a command prints, which is a key. Raises UsageError, which repeats nothing of it."""
    arguments = shlex.split(command) if isinstance(command, str) else list(command)
    name = arguments[0] if arguments else ""
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
        )
    except (OSError, ValueError, TypeError):
        raise UsageError(f"api_key_command: {name[:100]!r} cannot be started") from None
    try:
        async with asyncio.timeout(_COMMAND_SECONDS):
            printed, _ = await process.communicate()
    except TimeoutError:
        raise UsageError(
            f"api_key_command: {name[:100]!r} took more than {_COMMAND_SECONDS:.0f} s"
        ) from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    if process.returncode:
        raise UsageError(f"api_key_command: {name[:100]!r} ended with code {process.returncode}")
    key = printed[:_MOST_KEY_BYTES].decode("ascii", "replace").strip()
    if not key or not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(f"api_key_command: {name[:100]!r} printed no key")
    return key


def _load_aws_credentials() -> Credentials:
    """What Amazon's tools would use: variables, profiles, roles. Raises UsageError."""
    try:
        from botocore.session import Session
    except ModuleNotFoundError:
        raise UsageError("auth sigv4 needs the extra bedrock: pip install botocore") from None
    credentials: Any = Session().get_credentials()
    if credentials is None:
        raise UsageError(
            "auth sigv4 found no credentials of AWS: set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    return credentials  # type: ignore[no-any-return]


def sign_aws_request(credentials: Credentials, url: str, body: bytes) -> dict[str, str]:
    """The headers of a POST signed by SigV4; region and service stand in the host's name."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    labels = (urlsplit(url).hostname or "").split(".")
    service = "bedrock-mantle" if labels[0] == "bedrock-mantle" else "bedrock"
    region = next((label for label in labels if re.fullmatch(r"[a-z]+-[a-z-]+-\d", label)), "")
    if not region:
        raise UsageError("auth sigv4 needs an address that names its region, as Bedrock's do")
    request = AWSRequest("POST", url, headers={"Content-Type": "application/json"}, data=body)
    SigV4Auth(credentials.get_frozen_credentials(), service, region).add_auth(request)
    signed = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-SHA256")
    return {name: str(request.headers[name]) for name in signed if name in request.headers}
