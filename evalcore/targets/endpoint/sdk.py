"""The HTTP of a target by the official SDK of OpenAI (the extra `openai`): for the Responses
dialect, and wherever the option `client` asks for it.

The SDK sends the request, with its retries off; the reply is read by our own bounds and dialect, so
that an outcome does not depend on the client. What the SDK cannot do (other dialects, signatures
over the body) goes by plain HTTP as before.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from evalcore.access.egress import EgressPolicy
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.intake.http import ACCEPT_ENCODING, ERROR_BYTES, ReplyLimits
from evalcore.intake.json_text import parse_json
from evalcore.targets.endpoint.dialect import StreamAssembler
from evalcore.targets.endpoint.transport import Transport, WireReply, iter_bounded, read_reply

if TYPE_CHECKING:
    from yarl import URL

#: The dialects that the SDK speaks, by the end of their path: the resource of its client.
_RESOURCES = {"/chat/completions": ("chat", "completions"), "/responses": ("responses",)}
SDK_APIS = ("chat", "responses")
#: Names of a body that the SDK's methods want as arguments; the rest goes as it is.
_ARGUMENTS = ("model", "messages", "input")


def choose_transport(
    key: str, client: str, api: str, egress: EgressPolicy | None
) -> type[Transport]:
    """The client of the target `key`. A server that is not for everybody to reach is reached by
    ours alone, which checks each address. Raises UsageError for a client that does not fit."""
    is_installed = find_spec("openai") is not None
    if client == "auto":
        by_sdk = api == "responses" and is_installed and not egress
        return SdkTransport if by_sdk else Transport
    if client == "openai" and (egress or api not in SDK_APIS):
        raise UsageError(Note("sdk_apis", owner=key, names=" and ".join(SDK_APIS)))
    if client == "openai" and not is_installed:
        raise UsageError(Note("sdk_missing", owner=key))
    return SdkTransport if client == "openai" else Transport


class SdkTransport(Transport):
    """`Transport` whose requests the SDK sends."""

    def __init__(
        self,
        base_url: str,
        timeout: float,
        whole_limit: float,
        egress: EgressPolicy | None,
        limits: ReplyLimits,
    ) -> None:
        super().__init__(base_url, timeout, whole_limit, egress, limits)
        self._client = _create_client(base_url, timeout)

    async def post(
        self,
        url: URL,
        body: bytes,
        headers: Mapping[str, str],
        start_stream: Callable[[], StreamAssembler],
    ) -> WireReply:
        """As `Transport.post`; raises the SDK's errors, whose causes tell what happened."""
        parts = next((p for end, p in _RESOURCES.items() if url.path.endswith(end)), None)
        if parts is None or "X-Amz-Date" in headers:
            return await super().post(url, body, headers, start_stream)
        resource: Any = self._client
        for part in parts:
            resource = getattr(resource, part)
        arguments = _build_arguments(url, body, headers)
        began = time.perf_counter()
        return await self._limit_whole(self._send(resource, arguments, start_stream, began))

    async def _send(
        self,
        resource: Any,
        arguments: dict[str, Any],
        start_stream: Callable[[], StreamAssembler],
        began: float,
    ) -> WireReply:
        from openai import APIStatusError

        try:
            async with resource.with_streaming_response.create(**arguments) as response:
                reply = WireReply(response.status_code, response.headers)
                raw, encoding = response.http_response, response.headers.get("content-encoding", "")
                pieces = iter_bounded(raw.aiter_raw(), encoding, self._limits, cut=False)
                return await read_reply(reply, pieces, start_stream, began)
        except APIStatusError as error:
            refused = error.response  # read within bounds by `_BoundedClient`
            return WireReply(refused.status_code, refused.headers, refused.content)

    async def close(self) -> None:
        await self._client.close()
        await super().close()


def _build_arguments(url: URL, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    from openai import Omit

    content = parse_json(body)
    given = {name: content.pop(name) for name in _ARGUMENTS if name in content}
    own: dict[str, Any] = {"Accept-Encoding": ACCEPT_ENCODING, **headers}
    if "authorization" not in {name.lower() for name in headers}:
        own["Authorization"] = Omit()
    return {
        **given,
        "extra_body": content,
        "extra_headers": own,
        "extra_query": dict(url.query) or None,
    }


def _create_client(base_url: str, timeout: float) -> Any:
    """The SDK's client without retries, without redirects, with bounds for the bodies of errors.
    The key stands in the headers of each request, as the endpoint's own way has it."""
    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    class _BoundedClient(DefaultAsyncHttpxClient):
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = await super().send(request, stream=True, **options)
            if response.status_code < 300:
                return response
            content, headers = await _read_error(response), dict(response.headers)
            for name in ("content-encoding", "content-length", "transfer-encoding"):
                headers.pop(name, None)
            return httpx2.Response(
                response.status_code, headers=headers, content=content, request=request
            )

    limit = httpx2.Timeout(timeout, connect=min(10.0, timeout))
    address, _, _ = base_url.partition("?")
    client = AsyncOpenAI(
        api_key="-",
        base_url=address,
        max_retries=0,
        timeout=limit,
        http_client=_BoundedClient(timeout=limit, follow_redirects=False),
    )
    # The SDK takes an account and headers from the environment and would tell them to any server.
    client.organization = client.project = None
    client._custom_headers = {}
    return client


async def _read_error(response: Any) -> bytes:
    """The beginning of an error's body, unpacked within bounds."""
    limits = ReplyLimits(per_reply=ERROR_BYTES)
    encoding = response.headers.get("content-encoding", "")
    content = bytearray()
    pieces: AsyncIterator[bytes] = iter_bounded(response.aiter_raw(), encoding, limits, cut=True)
    try:
        async for piece in pieces:
            content += piece
    finally:
        await response.aclose()
    return bytes(content)
