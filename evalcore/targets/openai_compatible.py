"""`openai:` targets: models behind any server that speaks chat completions.

One attempt per `generate`, without retries; a second request is only the one that leaves out a
parameter the server just refused, which is then remembered, or lowers a limit that does not fit.
The SDK is imported when a target is opened. The key lives in the SDK's client alone: no error,
record or repr of a target holds it, nor an answer in which a server repeats it.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec

from evalcore.access.egress import EgressPolicy, aiohttp_client
from evalcore.access.secrets import Secrets, redact_completion, scrub_secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.intake.http import ACCEPT_ENCODING, ERROR_BYTES, ReplyLimits, build_bounding_hook
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    ProgressCallback,
    Record,
    Sampling,
    TargetSpec,
    content_hash,
)
from evalcore.settings import Settings
from evalcore.targets import chat_completions, failures
from evalcore.targets.base import TargetInfo, convert_options
from evalcore.targets.chat_completions import (
    TOKEN_FIELDS,
    Dialect,
    build_parameters,
    build_request_body,
    derive_epoch_seed,
    dialect_for_endpoint,
    find_refused_parameter,
    find_token_limit,
    merge_sampling,
)
from evalcore.targets.endpoints import ModelRoute, check_endpoint, resolve_route
from evalcore.targets.failures import LengthRefusal, read_length_refusal

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

_CONNECT_TIMEOUT = 10.0
_NO_KEY = "none"


class OpenAIOptions(Record, frozen=True, forbid_unknown_fields=True):
    """Options of a target; numbers may come as text. `timeout` is of one request, in seconds;
    `extra_body` is merged into the body as it is; `asking` says how tools are offered."""

    base_url: str = ""
    api_key_env: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    timeout: float | None = None
    extra_body: dict[str, Any] = {}
    asking: Literal["auto", "native", "prompt", "json"] = "auto"

    @property
    def sampling(self) -> Sampling:
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=self.seed,
            stop=self.stop,
            reasoning_effort=self.reasoning_effort,
        )


def create_openai_target(
    spec: TargetSpec, settings: Settings, secrets: Secrets
) -> OpenAICompatible:
    """The target of a spec, not yet opened; raises UsageError for a bad key or option."""
    options = read_openai_options(spec)
    route = resolve_route(spec.key, settings, options.base_url, options.api_key_env)
    _check_no_keys(spec, secrets.get(route.endpoint.api_key_env))
    egress = check_endpoint(spec, settings, secrets)
    return OpenAICompatible(spec, route, options, settings, secrets, egress)


def read_openai_options(spec: TargetSpec) -> OpenAIOptions:
    """The options of a spec, converted; raises UsageError that never repeats a value."""
    options = convert_options(spec.key, spec.options, OpenAIOptions)
    if options.timeout is not None and not options.timeout > 0:
        raise UsageError(f"{spec.key}: option timeout must be more than 0 seconds")
    return options


def _check_no_keys(spec: TargetSpec, key: str | None) -> None:
    """The options enter the run's spec, so that a key in them would be written down."""
    written = json.dumps(spec.options, ensure_ascii=False, default=str)
    if scrub_secrets(written, [key]) != written:
        raise UsageError(
            f"{spec.key}: options must not contain a key; name a variable with api_key_env"
        )


class OpenAICompatible:
    """A model at an endpoint; `route` says where its requests go, `reach` how far they may."""

    def __init__(
        self,
        spec: TargetSpec,
        route: ModelRoute,
        options: OpenAIOptions,
        settings: Settings,
        secrets: Secrets,
        egress: EgressPolicy | None = None,
    ) -> None:
        self.key = spec.key
        self.route, self._egress = route, egress
        self._options = options
        self._timeout = options.timeout or settings.request_timeout
        self._reply_limits = settings.reply_limits
        self._secrets = secrets
        self._client: AsyncOpenAI | None = None
        self._dialect = dialect_for_endpoint(route.endpoint)
        self._parameters: dict[Sampling, dict[str, Any]] = {}
        endpoint = route.endpoint
        self.info = TargetInfo(
            kind="endpoint",
            title=f"{route.model} ({endpoint.title or route.name})",
            max_in_flight=256,
            start_in_flight=8,
            revision=content_hash([endpoint.base_url, route.model, spec.options]),
            cacheable=True,
            tools=None,
            card={
                "endpoint": route.name,
                "base_url": endpoint.base_url,
                "model": route.model,
                "requests_per_minute": endpoint.requests_per_minute,
                "tokens_per_minute": endpoint.tokens_per_minute,
                **self._dialect.to_card(),
            },
        )

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.key!r})"

    async def open(self, progress: ProgressCallback) -> None:
        """Make the client; nothing is sent. Raises UsageError naming the variable of a key that
        is missing or cannot be one."""
        address, variable = self.route.endpoint.base_url, self.route.endpoint.api_key_env
        key = self._read_key()
        if key is None and not self.route.key_optional:
            raise UsageError(f"{self.key} needs a key: set the environment variable {variable}")
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise UsageError(f"the variable {variable} contains characters that no key has")
        progress(f"requests go to {address}")
        self._client = _build_sdk_client(
            address, key or _NO_KEY, self._timeout, self._egress, self._reply_limits
        )

    async def generate(self, request: GenerationRequest) -> Completion:
        """One completion: `context_overflow` where the prompt does not fit into the context,
        `content_filter` where the server refuses it by policy. Raises TargetFailure with a
        classified Failure."""
        if self._client is None:
            raise UsageError(f"{self.key} was not opened")
        sent_requests = 0
        lowered: dict[str, int] = {}
        while True:
            dialect = self._dialect
            sampling = merge_sampling(request.sampling, self._options.sampling)
            sent = self._build_sent_parameters(sampling, request.epoch) | lowered
            sent_requests += 1
            outcome = await self._post_completion(
                self._client, build_request_body(request, sent, dialect), sent
            )
            if isinstance(outcome, Completion):
                done = redact_completion(outcome, self._list_keys())
                return msgspec.structs.replace(done, attempts=sent_requests)
            failure, words = outcome
            if failures.is_content_filter(failure.status, words):
                return Completion(finish_reason="content_filter", attempts=sent_requests)
            length = read_length_refusal(failure.status, words, find_token_limit(sent))
            if length is not None and length.kind == "overflow":
                return Completion(finish_reason="context_overflow", attempts=sent_requests)
            if length is not None and not lowered:
                lowered = self._lower_limit(length, sent)
                if lowered:
                    continue
            refused = find_refused_parameter(failure.status, failure.message, sent)
            if refused is None or refused in dialect.refused or not self._drop_parameter(refused):
                raise TargetFailure(failure)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _post_completion(
        self, client: AsyncOpenAI, body: dict[str, Any], sent: dict[str, Any]
    ) -> Completion | tuple[Failure, str]:
        """Send one request. Failures are returned, with the words of the server: an exception
        raised from here would carry the SDK's, and with it the request and its key, as context."""
        import httpx2

        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                # The generic call spares half of the CPU of chat.completions.create, whose
                # validation is not strict enough to be relied on.
                reply = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
            outcome = chat_completions.parse_chat_completion(
                reply.content, sent, time.perf_counter() - began
            )
            words = "" if isinstance(outcome, Completion) else _first_words(reply)
        except Exception as error:
            outcome, words = self._classify_error(error)
        if isinstance(outcome, Completion):
            return outcome
        return failures.sanitize_failure(outcome, self._list_keys()), words

    def _classify_error(self, error: Exception) -> tuple[Failure, str]:
        from openai import APIStatusError

        if not isinstance(error, APIStatusError):
            return failures.from_exception(error), ""
        reply = error.response
        words = _first_words(reply)
        failure = failures.from_status(
            reply.status_code,
            dict(reply.headers.items()),
            words,
            self.route.endpoint.api_key_env,
            key_sent=self._read_key() is not None,
        )
        return failure, words

    def _list_keys(self) -> list[str]:
        return list(filter(None, [self._read_key()]))

    def _read_key(self) -> str | None:
        name = self.route.endpoint.api_key_env
        key = self._secrets.get(name) if name else None
        return key.strip() if key else None

    def _build_sent_parameters(self, sampling: Sampling, epoch: int) -> dict[str, Any]:
        """The parameters for a sampling, as this server takes them; made once."""
        parameters = self._parameters.get(sampling)
        if parameters is None:
            extra = {**self.route.endpoint.extra_body, **self._options.extra_body}
            parameters = build_parameters(self.route.model, sampling, extra, self._dialect)
            self._parameters[sampling] = parameters
        if epoch and isinstance(parameters.get("seed"), int):
            return parameters | {"seed": derive_epoch_seed(parameters["seed"], epoch)}
        return parameters

    def _lower_limit(self, length: LengthRefusal, sent: dict[str, Any]) -> dict[str, int]:
        """The limit of the answer that a server takes; empty where that is not known, or no less
        than what was sent."""
        field = next((name for name in TOKEN_FIELDS if name in sent), self._dialect.limit_field())
        limit = find_token_limit(sent)
        most = length.max_tokens
        if not most or field is None or (limit is not None and most >= limit):
            return {}
        if length.lasting:
            self._learn_dialect(msgspec.structs.replace(self._dialect, most_tokens=most))
        return {field: most}

    def _drop_parameter(self, name: str) -> bool:
        """Remember that the server refuses a parameter; False where it cannot be left out."""
        learned = self._dialect.without_parameter(name)
        if learned is None:
            return False
        self._learn_dialect(learned)
        return True

    def _learn_dialect(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._parameters.clear()
        self.info = msgspec.structs.replace(self.info, card=self.info.card | dialect.to_card())


def _first_words(reply: httpx2.Response) -> str:
    """The beginning of a body as text; never by the charset that the server names."""
    return reply.content[:ERROR_BYTES].decode("utf-8", "replace")


def _build_sdk_client(
    base_url: str, key: str, timeout: float, egress: EgressPolicy | None, reply_limits: ReplyLimits
) -> AsyncOpenAI:
    """The SDK's client. A query of the address goes with every request, behind its path."""
    import httpx2
    from openai import AsyncOpenAI

    limit = httpx2.Timeout(timeout, connect=min(_CONNECT_TIMEOUT, timeout))
    address = urlsplit(base_url)
    options: dict[str, Any] = {
        "params": parse_qsl(address.query, keep_blank_values=True),
        "headers": {"Accept-Encoding": ACCEPT_ENCODING},
        "event_hooks": {"response": [build_bounding_hook(reply_limits)]},
    }
    transport = (
        egress.build_client(limit, **options)
        if egress
        else aiohttp_client(limit, follow_redirects=True, **options)
    )
    try:
        client = AsyncOpenAI(
            api_key=key,
            base_url=address._replace(query="", fragment="").geturl(),
            max_retries=0,
            timeout=limit,
            http_client=transport,
        )
    except httpx2.InvalidURL:
        raise UsageError("base_url names an impossible host") from None
    if not f".{client.base_url.host}".endswith(".openai.com"):
        # The SDK takes these from the environment and would tell them to any other server.
        client.organization = client.project = None
    return client
