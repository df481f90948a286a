"""`openai:` targets: models behind any server that speaks one of the dialects.

One attempt per `generate`, without retries; a second request is only one that adapts to what the
server just refused (a parameter, streaming, a system turn), which is then remembered, or lowers a
limit that does not fit. The key lives in the target alone: no error, record or repr holds it, nor
an answer in which a server repeats it.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from evalcore.access.egress import EgressPolicy
from evalcore.access.secrets import Secrets, redact_completion, scrub_secrets
from evalcore.errors import IntakeError, TargetFailure, UsageError
from evalcore.intake.http import decode_json
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    ProgressCallback,
    Record,
    Sampling,
    TargetSpec,
    content_hash,
    to_json,
)
from evalcore.settings import Settings
from evalcore.targets import failures
from evalcore.targets.base import TargetInfo, convert_options
from evalcore.targets.endpoint.chat import ChatDialect
from evalcore.targets.endpoint.dialect import (
    ECHOED_FIELDS,
    ApiDialect,
    Capabilities,
    StreamAssembler,
    capabilities_of_endpoint,
    derive_epoch_seed,
    find_refused_parameter,
    merge_sampling,
)
from evalcore.targets.endpoint.transport import Transport, WireReply
from evalcore.targets.endpoints import ModelRoute, check_endpoint, resolve_route
from evalcore.targets.failures import LengthRefusal, read_length_refusal

#: By the value of the option `api`: from model and extra body to the dialect of a target.
DIALECTS: dict[str, Callable[[str, Mapping[str, Any]], ApiDialect]] = {"chat": ChatDialect}
_NO_KEY = "none"
_WHOLE = 10  # times `timeout` that a whole request may take
#: A server that has no turn for the system (Gemma's template, by various servers).
_NO_SYSTEM_TURN = re.compile(
    r"(?i)developer instruction is not enabled|system (role|message|instruction)s? (is |are )?not"
    r" (supported|enabled|allowed)|does not support (the )?(system|developer) (role|message|instr)"
)
#: A server that takes ids of calls in one form only (Mistral).
_SHORT_IDS = re.compile(r"(?is)tool.?call.?id.{0,80}length of 9")
#: A server that answers streamed only, or not so.
_ONLY_STREAM = re.compile(
    r"(?i)only supports? stream|must be set to false for non-?streaming|stream(ing)? is required"
    r"|(please )?(use|enable|set) stream(ing)?( mode|=true)"
)
_NO_STREAM = re.compile(
    r"(?i)stream(ing|ed)?( mode| responses?)?\b.{0,40}\b(not|isn't|un)\s?(yet )?"
    r"(supported|available|implemented|allowed|permitted|enabled)"
    r"|does(n't| not) support stream|verified to stream"
)


class OpenAIOptions(Record, frozen=True, forbid_unknown_fields=True):
    """Options of a target; numbers may come as text. `timeout` is how many seconds may pass without
    a byte of the reply, `whole_timeout` how many the whole may take (0: ten times as many);
    `extra_body` is merged into the body as it is; `asking` says how tools are offered, `api` which
    dialect is spoken, `stream` whether answers are streamed."""

    base_url: str = ""
    api_key_env: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    timeout: float | None = None
    whole_timeout: float = 0.0
    stream: bool = True
    api: Literal["auto", "chat"] = "auto"
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


def create_openai_target(spec: TargetSpec, settings: Settings, secrets: Secrets) -> EndpointTarget:
    """The target of a spec, not yet opened; raises UsageError for a bad key or option."""
    options = read_openai_options(spec)
    route = resolve_route(spec.key, settings, options.base_url, options.api_key_env)
    _check_no_keys(spec, secrets.get(route.endpoint.api_key_env))
    egress = check_endpoint(spec, settings, secrets)
    return EndpointTarget(spec, route, options, settings, secrets, egress)


def choose_dialect(options: OpenAIOptions) -> str:
    """The dialect that a target speaks, by its options."""
    return "chat" if options.api == "auto" else options.api


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


class EndpointTarget:
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
        self._transport: Transport | None = None
        self._key: str | None = None
        self._account_headers: dict[str, str] = {}
        endpoint = route.endpoint
        extra_body = {**endpoint.extra_body, **options.extra_body}
        self._dialect = DIALECTS[choose_dialect(options)](route.model, extra_body)
        self._capabilities = capabilities_of_endpoint(endpoint, stream=options.stream)
        self._parameters: dict[Sampling, dict[str, Any]] = {}
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
                **self._capabilities.to_card(),
            },
        )

    def __repr__(self) -> str:
        return f"EndpointTarget({self.key!r})"

    async def open(self, progress: ProgressCallback) -> None:
        """Make the session; nothing is sent. Raises UsageError naming the variable of a key that
        is missing or cannot be one."""
        address, variable = self.route.endpoint.base_url, self.route.endpoint.api_key_env
        key = self._read_key()
        if key is None and not self.route.key_optional:
            raise UsageError(f"{self.key} needs a key: set the environment variable {variable}")
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise UsageError(f"the variable {variable} contains characters that no key has")
        progress(f"requests go to {address}")
        whole = self._options.whole_timeout or self._timeout * _WHOLE
        self._transport = Transport(address, self._timeout, whole, self._egress, self._reply_limits)
        self._key = key
        self._account_headers = _find_account_headers(address)

    async def generate(self, request: GenerationRequest) -> Completion:
        """One completion: `context_overflow` where the prompt does not fit into the context,
        `content_filter` where the server refuses it by policy. Raises TargetFailure with a
        classified Failure."""
        if self._transport is None:
            raise UsageError(f"{self.key} was not opened")
        sampling = merge_sampling(request.sampling, self._options.sampling)
        attempts = 0
        lowered: dict[str, int] = {}
        while True:
            capabilities = self._capabilities
            sent = self._build_sent_parameters(sampling, request.epoch) | lowered
            attempts += 1
            outcome = await self._post(self._transport, request, sent, capabilities)
            if isinstance(outcome, Completion):
                return self._finish(outcome, attempts)
            failure, words = outcome
            if failures.is_content_filter(failure.status, words):
                return Completion(finish_reason="content_filter", attempts=attempts)
            written = failures.read_failed_generation(failure.status, words)
            if written is not None:
                return self._finish(Completion(text=written, sent=sent), attempts)
            limit = _find_limit(sent, self._dialect.token_fields)
            length = read_length_refusal(failure.status, words, limit)
            if length is not None and length.kind == "overflow":
                return Completion(finish_reason="context_overflow", attempts=attempts)
            if length is not None and not lowered:
                lowered = self._lower_limit(length, sent)
                if lowered:
                    continue
            if not self._adapt(failure, words, sent, capabilities):
                raise TargetFailure(failure)

    def _finish(self, completion: Completion, attempts: int) -> Completion:
        done = msgspec.structs.replace(completion, attempts=attempts)
        return redact_completion(done, self._list_keys())

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    async def _post(
        self,
        transport: Transport,
        request: GenerationRequest,
        sent: dict[str, Any],
        capabilities: Capabilities,
    ) -> Completion | tuple[Failure, str]:
        """Send one request. Failures are returned, with the words of the server: an exception
        raised from here would carry the request and its key as context."""
        wire = self._dialect.build_request(request, sent, capabilities)
        body = to_json(wire.body, ordered=False)
        url = transport.build_url(wire.path)
        headers = {
            "Content-Type": "application/json",
            **self._account_headers,
            **wire.headers,
            **self._dialect.authorize(self._key or _NO_KEY, str(url), body),
        }
        assemblers: list[StreamAssembler] = []

        def start_stream() -> StreamAssembler:
            assemblers.append(self._dialect.start_stream())
            return assemblers[-1]

        began = time.perf_counter()
        try:
            reply = await transport.post(url, body, headers, start_stream)
            outcome, words = self._read_reply(reply, assemblers, sent)
        except Exception as error:
            return self._sanitize(failures.from_exception(error)), ""
        if isinstance(outcome, Failure):
            return self._sanitize(outcome), words
        if capabilities.stream and not assemblers:
            self._learn(msgspec.structs.replace(self._capabilities, stream=False))
        return msgspec.structs.replace(
            outcome,
            latency=time.perf_counter() - began,
            time_to_first_token=reply.first_piece,
        )

    def _read_reply(
        self, reply: WireReply, assemblers: list[StreamAssembler], sent: dict[str, Any]
    ) -> tuple[Completion | Failure, str]:
        """Completion or Failure, and the words of the server."""
        if reply.status >= 300:
            words = reply.first_words()
            failure = failures.from_status(
                reply.status,
                reply.headers,
                words,
                self.route.endpoint.api_key_env,
                key_sent=self._key is not None,
            )
            return failure, words
        if reply.is_stream:
            content = assemblers[-1].build_reply()
            if content is None or not assemblers[-1].is_complete:
                return failures.malformed_failure("the stream ended before the answer did"), ""
            outcome = self._dialect.parse_reply(content, sent)
            failed = isinstance(outcome, Failure)
            return outcome, to_json(content).decode() if failed else ""
        try:
            content = decode_json(reply.content)
        except IntakeError:
            kind = _describe_text(reply.content)
            return failures.malformed_failure(f"status 200 with {kind}"), ""
        return self._dialect.parse_reply(content, sent), reply.first_words()

    def _sanitize(self, failure: Failure) -> Failure:
        return failures.sanitize_failure(failure, self._list_keys())

    def _list_keys(self) -> list[str]:
        return [self._key] if self._key else []

    def _read_key(self) -> str | None:
        name = self.route.endpoint.api_key_env
        key = self._secrets.get(name) if name else None
        return key.strip() if key else None

    def _build_sent_parameters(self, sampling: Sampling, epoch: int) -> dict[str, Any]:
        """The parameters for a sampling, as this server takes them; made once."""
        parameters = self._parameters.get(sampling)
        if parameters is None:
            parameters = self._dialect.build_parameters(sampling, self._capabilities)
            self._parameters[sampling] = parameters
        if epoch and isinstance(parameters.get("seed"), int):
            return parameters | {"seed": derive_epoch_seed(parameters["seed"], epoch)}
        return parameters

    def _lower_limit(self, length: LengthRefusal, sent: dict[str, Any]) -> dict[str, int]:
        """The limit of the answer that a server takes; empty where that is not known, or no less
        than what was sent."""
        fields = self._dialect.token_fields
        refused = self._capabilities.refused
        possible = (name for name in fields if name not in refused)
        field = next((name for name in fields if name in sent), next(possible, None))
        limit = _find_limit(sent, fields)
        most = length.max_tokens
        if not most or field is None or (limit is not None and most >= limit):
            return {}
        if length.lasting:
            self._learn(msgspec.structs.replace(self._capabilities, most_tokens=most))
        return {field: most}

    def _adapt(
        self, failure: Failure, words: str, sent: dict[str, Any], capabilities: Capabilities
    ) -> bool:
        """Remember what a refusal says about the server; False where it says nothing that another
        request could heed. `capabilities` are those that the refused request was built with."""
        if failure.status in (400, 422, 501) and not words:
            words = failure.message
        learned = learn_capabilities(failure.status, words, sent, capabilities, self._dialect)
        if learned is None or learned == capabilities:
            return False
        if learned != self._capabilities:
            self._learn(learned)
        return True

    def _learn(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities
        self._parameters.clear()
        self.info = msgspec.structs.replace(self.info, card=self.info.card | capabilities.to_card())


def learn_capabilities(
    status: int | None,
    words: str,
    sent: Mapping[str, Any],
    capabilities: Capabilities,
    dialect: ApiDialect,
) -> Capabilities | None:
    """What a refusal teaches about a server; None where it teaches nothing."""
    if status not in (400, 404, 405, 415, 422, 501):
        return None
    text = failures.provider_message(words)
    if not capabilities.fold_system and _NO_SYSTEM_TURN.search(text):
        return msgspec.structs.replace(capabilities, fold_system=True)
    if not capabilities.stream and _ONLY_STREAM.search(text):
        return msgspec.structs.replace(capabilities, stream=True)
    if capabilities.stream and _NO_STREAM.search(text):
        return msgspec.structs.replace(capabilities, stream=False)
    if not capabilities.short_ids and _SHORT_IDS.search(text):
        return msgspec.structs.replace(capabilities, short_ids=True)
    refused = find_refused_parameter(status, words, sent, dialect.adaptable)
    if refused is None:
        echoed = ECHOED_FIELDS - capabilities.refused
        refused = find_refused_parameter(status, words, dict.fromkeys(echoed), echoed)
    if refused is None or refused in capabilities.refused:
        return None
    return capabilities.without_parameter(refused)


def _find_account_headers(address: str) -> dict[str, str]:
    """The account that the environment names for OpenAI's own servers; no other is to know it."""
    if not f".{urlsplit(address).hostname}".endswith(".openai.com"):
        return {}
    accounts = {
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID"),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID"),
    }
    return {name: value for name, value in accounts.items() if value}


def _find_limit(parameters: Mapping[str, Any], fields: tuple[str, ...]) -> int | None:
    """The limit of an answer among sent parameters, None where there is none."""
    limits = (parameters.get(name) for name in fields)
    return next((limit for limit in limits if isinstance(limit, int)), None)


def _describe_text(content: bytes) -> str:
    start = content[:200].decode("utf-8", "replace").strip()
    if start.startswith("<"):
        return f"a page in place of JSON; is base_url right? {start}"
    return f"malformed JSON: {start}" if start else "an empty body"
