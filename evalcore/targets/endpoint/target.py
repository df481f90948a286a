"""`openai:` targets: models behind any server that speaks one of the dialects.

One attempt per `generate`, without retries; a second request is only one that adapts to what the
server just refused (a parameter, streaming, a system turn), which is then remembered, or lowers a
limit that does not fit. The key lives in the target alone: no error, record or repr holds it, nor
an answer in which a server repeats it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from evalcore.access.egress import EgressPolicy
from evalcore.access.secrets import Secrets, redact_completion
from evalcore.errors import IntakeError, TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.intake.http import decode_json
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    Message,
    ProgressCallback,
    Sampling,
    TargetSpec,
    content_hash,
    to_json,
)
from evalcore.settings import ApiName, Settings
from evalcore.targets import failures
from evalcore.targets.base import TargetInfo, report_partial_answer
from evalcore.targets.endpoint.auth import Authorizer, resolve_headers
from evalcore.targets.endpoint.completions import fit_to_request
from evalcore.targets.endpoint.dialect import (
    CUT_BY_TIMEOUT,
    ApiDialect,
    Capabilities,
    StreamAssembler,
    capabilities_of_endpoint,
    derive_epoch_seed,
    learn_capabilities,
    merge_sampling,
)
from evalcore.targets.endpoint.options import OpenAIOptions, check_no_keys, read_openai_options
from evalcore.targets.endpoint.sdk import choose_transport
from evalcore.targets.endpoint.select import (
    adjust_base_url,
    choose_api,
    create_dialect,
    find_named_api,
)
from evalcore.targets.endpoint.transport import Transport, WireReply
from evalcore.targets.endpoint.turns import MENDS, has_past_turns, mend_turns
from evalcore.targets.endpoints import ModelRoute, check_endpoint, resolve_route
from evalcore.targets.failures import find_lasting_cause
from evalcore.targets.length_refusals import LengthRefusal, read_length_refusal

#: Requests for one answer at most, with all that is adapted to.
_MOST_REQUESTS = 12
_EMPTY_STREAM = Note("reply_stream_empty")
_LEAST_LIMIT = 64  # tokens of an answer that a smaller limit is tried for
_WHOLE = 10  # times `timeout` that a whole request may take


def create_openai_target(spec: TargetSpec, settings: Settings, secrets: Secrets) -> EndpointTarget:
    """The target of a spec, not yet opened; raises UsageError for a bad key or option."""
    options = read_openai_options(spec)
    route = resolve_route(
        spec.key, settings, options.base_url, options.api_key_env, options.api_version, options.auth
    )
    check_no_keys(spec, secrets.get(route.endpoint.api_key_env))
    egress = check_endpoint(spec, settings, secrets)
    return EndpointTarget(spec, route, options, settings, secrets, egress)


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
        endpoint = route.endpoint
        self._authorizer = Authorizer(endpoint, None)
        self._headers: dict[str, str] = {}
        self._secret_headers: list[str] = []
        self._dialect = self._create_dialect(choose_api(endpoint, route.model, options.api))
        self._api_is_settled = options.api != "auto"
        api = self._dialect.name
        self._capabilities = capabilities_of_endpoint(endpoint, stream=options.stream)
        self._parameters: dict[Sampling, dict[str, Any]] = {}
        self._is_plain_tried = False
        self.info = TargetInfo(
            kind="endpoint",
            title=f"{route.model} ({endpoint.title or route.name})",
            max_in_flight=256,
            revision=content_hash(
                [endpoint.base_url, route.model, spec.options, *([api] if api != "chat" else ())]
            ),
            cacheable=True,
            tools=False if api == "completions" else None,
            likelihoods=api == "completions",
            needs_limit=api == "completions",  # servers end such an answer after 16 tokens
            card={
                "endpoint": route.name,
                "base_url": endpoint.base_url,
                "model": route.model,
                "requests_per_minute": endpoint.requests_per_minute,
                "tokens_per_minute": endpoint.tokens_per_minute,
                **self._describe_capabilities(),
            },
        )

    @property
    def api(self) -> str:
        """The dialect that is spoken, which the server may have changed."""
        return self._dialect.name

    def _create_dialect(self, api: ApiName) -> ApiDialect:
        endpoint = self.route.endpoint
        extra_body = {**endpoint.extra_body, **self._options.extra_body}
        return create_dialect(api, endpoint, self.route.model, extra_body)

    def _describe_capabilities(self) -> dict[str, Any]:
        """The entries of the card that a server's refusals can change."""
        dialect, card = self._dialect, self._capabilities.to_card()
        if dialect.name == "chat":
            return card
        names = getattr(dialect, "names", {})
        dropped = sorted(
            {*(names.get(n, n) for n in card["dropped"]), *getattr(dialect, "unsent", ())}
        )
        return card | {
            "api": dialect.name,
            "token_field": dialect.token_fields[0],
            "dropped": dropped,
        }

    def __repr__(self) -> str:
        return f"EndpointTarget({self.key!r})"

    async def open(self, progress: ProgressCallback) -> None:
        """Make the session; nothing is sent. Raises UsageError naming the variable of a key that
        is missing or cannot be one."""
        endpoint, variable = self.route.endpoint, self.route.endpoint.api_key_env
        address = adjust_base_url(endpoint.base_url, self.api)
        key = self._read_key()
        if key is None and not self.route.key_optional:
            raise UsageError(Note("key_needed", owner=self.key, variable=variable))
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise UsageError(Note("key_characters", variable=variable))
        written = {**endpoint.headers, **self._options.headers}
        self._headers = resolve_headers(written, self._secrets)
        self._secret_headers = [
            value for name, value in self._headers.items() if value != written[name].strip()
        ]
        self._headers |= _find_account_headers(address)
        self._authorizer = Authorizer(endpoint, key)
        await self._authorizer.refresh()
        progress(Note("requests_go_to", address=address, api=self.api))
        whole = self._options.whole_timeout or self._timeout * _WHOLE
        connect = choose_transport(self.key, self._options.client, self.api, self._egress)
        self._transport = connect(address, self._timeout, whole, self._egress, self._reply_limits)

    async def generate(self, request: GenerationRequest) -> Completion:
        """One completion: `context_overflow` where the prompt does not fit, `content_filter` where
        the server's policy refuses it. Raises TargetFailure with a classified Failure."""
        if self._transport is None:
            raise UsageError(Note("target_closed", owner=self.key))
        sampling = merge_sampling(request.sampling, self._options.sampling)
        attempts, renewed = 0, False
        refused_dialect, refusal = self._dialect, None
        lowered: dict[str, int] = {}
        unmended: Failure | None = None
        await self._refresh_key()
        while True:
            capabilities, dialect = self._capabilities, self._dialect
            if unmended is not None:
                capabilities = capabilities.with_mends(*MENDS)
            sent = self._build_sent_parameters(sampling, request) | lowered
            attempts += 1
            outcome = await self._post(self._transport, request, sent, capabilities)
            if isinstance(outcome, Completion):
                mended: dict[str, Any] = {"past_turns": "mended"} if unmended else {}
                return self._finish(outcome, attempts, mended)
            failure, words = outcome
            if failures.is_content_filter(failure.status, words):
                return Completion(finish_reason="content_filter", attempts=attempts)
            if refusal is not None and failure.status in (404, 405):
                self._keep_api(refused_dialect)
                raise TargetFailure(refusal)
            if self._speak_named_api(dialect, failure, words):
                refused_dialect, refusal, lowered = dialect, failure, {}
                continue
            if failure.status == 401 and not renewed and await self._refresh_key(renew=True):
                renewed = True
                continue
            limit = _find_limit(sent, dialect.token_fields)
            length = read_length_refusal(failure.status, words, limit)
            if length is not None:
                lowered = self._lower_limit(length, sent)
                if lowered and attempts < _MOST_REQUESTS:
                    continue
                if length.kind in ("overflow", "either"):
                    return Completion(finish_reason="context_overflow", attempts=attempts)
            is_tried = attempts >= _MOST_REQUESTS  # a server that contradicts itself
            if not is_tried and self._adapt(failure, words, sent, capabilities, request.messages):
                continue
            if is_tried or unmended or not _may_be_of_past_turns(failure, request.messages):
                raise TargetFailure(unmended or failure)
            unmended = failure

    def _finish(self, completion: Completion, attempts: int, changes: dict[str, Any]) -> Completion:
        """The answer as it is recorded; `changes` are those of the request beside parameters."""
        sent = completion.sent | changes if changes else completion.sent
        done = msgspec.structs.replace(completion, attempts=attempts, sent=sent)
        return redact_completion(done, self._list_keys())

    def _speak_named_api(self, spoken: ApiDialect, failure: Failure, words: str) -> bool:
        """Go on in the dialect that a refusal names, unless a person chose the present one; the
        card says so, and why. `spoken` is the dialect of the refused request."""
        named = find_named_api(spoken.name, failure.status, words)
        base_url = self.route.endpoint.base_url
        if named is None or self._api_is_settled:
            return False
        if adjust_base_url(base_url, named) != adjust_base_url(base_url, spoken.name):
            return False
        if self._dialect is spoken:
            self._dialect = self._create_dialect(named)
            self._describe_api(failure.message)
        return True

    def _keep_api(self, dialect: ApiDialect) -> None:
        """Go back to a dialect: the server has no other, whatever its words say."""
        self._dialect, self._api_is_settled = dialect, True
        self._describe_api("")

    def _describe_api(self, reason: str) -> None:
        self._parameters.clear()
        learned = {"api": self.api, "api_reason": reason, **self._describe_capabilities()}
        self.info = msgspec.structs.replace(self.info, card=self.info.card | learned)

    async def _refresh_key(self, renew: bool = False) -> bool:
        """Whether the endpoint's command gave another key, where it was due or the present one was
        refused. Raises TargetFailure where the command fails, which may go away."""
        try:
            return await self._authorizer.refresh(self._authorizer.key if renew else None)
        except UsageError as error:
            failure = Failure(kind="retryable", message=str(error))
        raise TargetFailure(failure)

    async def fetch_path(self, path: str, headers: Mapping[str, str]) -> WireReply:
        """What the server answers to a GET of a path. Raises TargetFailure where it does not."""
        if self._transport is None:
            raise UsageError(Note("target_closed", owner=self.key))
        url = self._transport.build_url(path)
        try:
            signed = self._sign(self._dialect, str(url), b"")
            return await self._transport.fetch_reply(url, {**headers, **signed})
        except Exception as error:
            failure = self._sanitize(failures.from_exception(error))
        raise TargetFailure(failure)

    def describe_refusal(self, reply: WireReply) -> Failure:
        """The failure that a reply of an error status means."""
        failure = failures.from_status(
            reply.status,
            reply.headers,
            reply.first_words(),
            self.route.endpoint.api_key_env,
            key_sent=self._authorizer.key is not None,
        )
        return self._sanitize(failure)

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
        dialect = fit_to_request(self._dialect, request)
        if capabilities.mends:
            messages = mend_turns(request.messages, capabilities.mends)
            request = msgspec.structs.replace(request, messages=messages)
        wire = dialect.build_request(request, sent, capabilities)
        body = to_json(wire.body, ordered=False)
        url = transport.build_url(wire.path)
        signed = self._sign(dialect, str(url), body)
        headers = {"Content-Type": "application/json", **wire.headers, **signed}
        assemblers: list[StreamAssembler] = []

        def start_stream() -> StreamAssembler:
            assemblers.append(dialect.start_stream())
            return assemblers[-1]

        began = time.perf_counter()
        try:
            reply = await transport.post(url, body, headers, start_stream)
            outcome, words = self._read_reply(reply, assemblers, sent, dialect)
        except BaseException as error:
            self._report_partial(assemblers, sent, dialect, time.perf_counter() - began)
            if not isinstance(error, Exception):  # the sample's time is over, or the run's
                raise
            return self._sanitize(failures.from_exception(error)), ""
        if isinstance(outcome, Failure):
            return self._sanitize(outcome), words
        if capabilities.stream and not assemblers:
            self._learn(msgspec.structs.replace(self._capabilities, stream=False))
        return msgspec.structs.replace(
            outcome, latency=time.perf_counter() - began, time_to_first_token=reply.first_piece
        )

    def _report_partial(
        self,
        assemblers: list[StreamAssembler],
        sent: dict[str, Any],
        dialect: ApiDialect,
        latency: float,
    ) -> None:
        """Hand over what arrived of a streamed answer that was cut."""
        content = assemblers[-1].build_reply() if assemblers else None
        partial = dialect.parse_reply(content, sent) if content is not None else None
        if not isinstance(partial, Completion):
            return
        if partial.text or partial.reasoning or partial.tool_calls:
            cut = msgspec.structs.replace(partial, finish_reason=CUT_BY_TIMEOUT, latency=latency)
            report_partial_answer(redact_completion(cut, self._list_keys()))

    def _sign(self, dialect: ApiDialect, url: str, body: bytes) -> Mapping[str, str]:
        """The headers with the key and those of the endpoint."""
        return {**self._authorizer.build_headers(url, body, dialect.authorize), **self._headers}

    def _read_reply(
        self,
        reply: WireReply,
        assemblers: list[StreamAssembler],
        sent: dict[str, Any],
        dialect: ApiDialect,
    ) -> tuple[Completion | Failure, str]:
        """Completion or Failure, and the words of the server."""
        if reply.status >= 300:
            return self.describe_refusal(reply), reply.first_words()
        if reply.is_stream:
            content = assemblers[-1].build_reply()
            if content is None:
                return failures.malformed_failure(_EMPTY_STREAM), _EMPTY_STREAM
            if not assemblers[-1].is_complete:
                self._report_partial(assemblers, sent, dialect, 0.0)
                return failures.malformed_failure(Note("reply_stream_cut")), ""
            outcome = dialect.parse_reply(content, sent)
            failed = isinstance(outcome, Failure)
            return outcome, to_json(content).decode() if failed else ""
        try:
            content = decode_json(reply.content)
        except IntakeError:
            return failures.malformed_failure(_describe_text(reply.content)), ""
        return dialect.parse_reply(content, sent), reply.first_words()

    def _sanitize(self, failure: Failure) -> Failure:
        return failures.sanitize_failure(failure, self._list_keys())

    def _list_keys(self) -> list[str]:
        return [*self._authorizer.secrets, *self._secret_headers]

    def _read_key(self) -> str | None:
        name = self.route.endpoint.api_key_env
        key = self._secrets.get(name) if name else None
        return key.strip() if key else None

    def _build_sent_parameters(
        self, sampling: Sampling, request: GenerationRequest
    ) -> dict[str, Any]:
        """The parameters for a sampling, as this server takes them; made once."""
        parameters = self._parameters.get(sampling)
        if parameters is None:
            parameters = self._dialect.build_parameters(sampling, self._capabilities)
            self._parameters[sampling] = parameters
        if request.epoch and isinstance(parameters.get("seed"), int):
            return parameters | {"seed": derive_epoch_seed(parameters["seed"], request)}
        return parameters

    def _lower_limit(self, length: LengthRefusal, sent: dict[str, Any]) -> dict[str, int]:
        """The limit of the answer that a server takes: half of what was sent where it does not say,
        as long as an answer may fit. Empty where that is no less than what was sent, or where the
        prompt alone does not fit."""
        if length.kind == "overflow":
            return {}
        fields = self._dialect.token_fields
        refused = self._capabilities.refused
        possible = (name for name in fields if name not in refused)
        field = next((name for name in fields if name in sent), next(possible, None))
        limit = _find_limit(sent, fields)
        most = length.max_tokens
        if length.kind in ("limit", "either") and limit is not None and limit >= 2 * _LEAST_LIMIT:
            most = limit // 2
        if not most or field is None or (limit is not None and most >= limit):
            return {}
        if length.lasting:
            self._learn(msgspec.structs.replace(self._capabilities, most_tokens=most))
        return {field: most}

    def _adapt(
        self,
        failure: Failure,
        words: str,
        sent: dict[str, Any],
        capabilities: Capabilities,
        messages: Sequence[Message],
    ) -> bool:
        """Remember what a refusal says about the server; False where it says nothing that another
        request could heed. `capabilities` are those that the refused request was built with."""
        if words == _EMPTY_STREAM and capabilities.stream and not self._is_plain_tried:
            self._is_plain_tried = True
            self._learn(msgspec.structs.replace(self._capabilities, stream=False))
            return True
        if failure.status in (400, 422, 501) and not words:
            words = failure.message
        learned = learn_capabilities(
            failure.status, words, sent, capabilities, self._dialect, messages
        )
        if learned is None or learned == capabilities:
            return False
        if learned != self._capabilities:
            self._learn(learned)
        return True

    def _learn(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities
        self._parameters.clear()
        self.info = msgspec.structs.replace(
            self.info, card=self.info.card | self._describe_capabilities()
        )


def _find_account_headers(address: str) -> dict[str, str]:
    """The account that the environment names for OpenAI's own servers; no other is to know it."""
    if not f".{urlsplit(address).hostname}".endswith(".openai.com"):
        return {}
    accounts = {
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID"),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID"),
    }
    return {name: value for name, value in accounts.items() if value}


def _may_be_of_past_turns(failure: Failure, messages: Sequence[Message]) -> bool:
    """Whether a refusal without known words may be of past turns, which the model wrote."""
    refused = failure.status in (400, 422) and failure.kind == "permanent"
    return refused and has_past_turns(messages) and not find_lasting_cause(failure)


def _find_limit(parameters: Mapping[str, Any], fields: tuple[str, ...]) -> int | None:
    """The limit of an answer among sent parameters, None where there is none."""
    return next((limit for limit in map(parameters.get, fields) if isinstance(limit, int)), None)


def _describe_text(content: bytes) -> Note:
    start = content[:200].decode("utf-8", "replace").strip()
    if start.startswith("<"):
        return Note("reply_page", text=start)
    return Note("reply_no_json", status=200, text=start) if start else Note("reply_empty")
