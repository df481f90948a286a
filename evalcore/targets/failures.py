"""Why a request yielded no completion: pure functions from what happened to a `Failure`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from evalcore.access.secrets import scrub_secrets
from evalcore.errors import IntakeError
from evalcore.i18n import Note
from evalcore.intake.http import decode_json
from evalcore.plain_text import to_single_line
from evalcore.records import Failure, FailureKind

# Why a request yielded no completion: pure functions from what happened to a `Failure`. Three
# sources: an HTTP status with its body, an exception of the transport, a reply that is no
# completion. The tables are the rule; nothing here imports a client or touches the network.

_MAX_MESSAGE_CHARS = 500
_MAX_BODY_CHARS = 20_000  # characters of a body that are looked at: a page can be megabytes
_RETRYABLE = frozenset({408, 409, 424, 425})  # 424: generation failed (TGI)
#: A 429 for these codes will not go away by waiting.
_NO_CREDIT = frozenset(
    {
        *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "1113"),
        *("exceeded_current_quota_error", "insufficient_user_quota", "quota_exceeded", "arrearage"),
    }
)
_NO_CREDIT_WORDS = re.compile(
    r"(?i)credit balance|insufficient[ _](balance|credit|funds|quota)|arrears|arrearage"
    r"|(requests?|tokens?)[ _]?per[ _]?day[^.]{0,60}(free|plan)|perday[a-z]*(project|model|user)"
    r"|\blimit: 0\b|set inference limit|free-models-per-day"
    r"|\b(calls|requests|tokens) ?(/|per|a) ?month"
)
#: A request that is too large for the tokens of a minute, which some say by 413 (Groq).
TOO_LARGE_FOR_RATE = re.compile(r"(?i)tokens per (minute|day)|\b[tr]p[md]\b|rate.?limit")
_HINTS = {402: Note("failure_credit"), 404: Note("failure_model")}
#: The server says that it could not digest what the model wrote: a matter of the model.
_MODEL_OUTPUT = re.compile(
    r"""(?ixs)
    (tool|function)[\s_-]?calls?\b.{0,80}?\b(pars|decod|malformed|invalid|not\svalid)
    | \b(pars\w*|decod\w*|malformed|invalid)\b.{0,80}?\b(tool|function)[\s_-]?call
    | \b(pars\w*|decod\w*)\b.{0,40}?\b(model'?s?\soutput|generated\stext)
    | model'?s?\soutput\b.{0,80}?\b(pars|decod|malformed|invalid)
    | model\sproduced\soutput\b.{0,40}?\bdoes\snot\smatch
    | parser\scould\snot\sparse | failed\sto\sparse\sinput\sat\spos
    | unexpected\stoken\s\d+\swhile\sexpecting | unexpected\stokens\sremaining\sin\smessage
    """
)
#: How the failure of a request begins of which nothing came in time.
STALLED = Note("failure_stalled")
#: aiohttp's and the standard library's exceptions by class name (their base classes count too):
#: the kind of failure and the code of its note.
_TRANSPORT: dict[str, tuple[FailureKind, str]] = {
    "TookTooLong": ("timeout", "failure_whole"),
    "Redirected": ("permanent", "failure_redirected"),
    "IntakeError": ("malformed", "failure_stream"),
    "ClientConnectorCertificateError": ("permanent", "failure_certificate"),
    "ClientConnectorSSLError": ("permanent", "failure_insecure"),
    "ClientConnectorError": ("retryable", "failure_unconnected"),
    "InvalidURL": ("permanent", "failure_address"),
    "ServerTimeoutError": ("retryable", "failure_stalled"),
    "TimeoutError": ("retryable", "failure_stalled"),
    "ServerDisconnectedError": ("retryable", "failure_unanswered"),
    "ClientPayloadError": ("malformed", "failure_cut_off"),
    "ClientResponseError": ("malformed", "failure_not_http"),
    "ReplyTooLarge": ("malformed", "failure_too_large"),
    "ReplyUnreadable": ("malformed", "failure_compression"),
    "OutOfReach": ("permanent", "failure_egress"),
    "ConnectionError": ("retryable", "failure_reset"),
    "ClientConnectionError": ("retryable", "failure_lost"),
    "OSError": ("retryable", "failure_lost"),
}
#: Names of the other client, which also wraps those above and what is in neither table: they count
#: only where nothing lies beneath.
_PLAIN_TRANSPORT: dict[str, tuple[FailureKind, str]] = {
    "Redirected": ("permanent", "failure_redirected"),
    "IntakeError": ("malformed", "failure_stream"),
    "ConnectError": ("retryable", "failure_unconnected"),
    "TimeoutException": ("retryable", "failure_stalled"),
    "RemoteProtocolError": ("retryable", "failure_unanswered"),
    "NetworkError": ("retryable", "failure_lost"),
}
_WAIT_HINT = re.compile(
    r"(?i)(?:(?:try|retry|again|wait|retrying)\b[^0-9\"{}]{0,30}?\b(?:in|after|for)|please wait"
    r"|\"?retry_?(?:delay|after)(?:_?seconds)?\"?\s*[:=])\s*\"?"
    r"((?:[0-9]+(?:\.[0-9]+)?\s*(?:ms|milliseconds?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?"
    r"|h(?:ours?)?|d(?:ays?)?)?\b[\s,]*)+|(?:[0-9.]+(?:ms|s|m|h|d))+)"
)
_MAX_WAIT_SECONDS = 1e10  # what is longer (or a later Unix time) is no statement
_MIN_UNIX_TIME = 1e8  # from here on a number of seconds is a Unix time
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"([0-9.]+)(ms|s|m|h|d)")


def sanitize_failure(failure: Failure, keys: Iterable[str | None]) -> Failure:
    """The failure with a message that holds no key, in one line of at most 500 characters."""
    hidden = list(keys)
    return failure.with_message(
        lambda text: to_single_line(scrub_secrets(text, hidden), _MAX_MESSAGE_CHARS)
    )


#: Codes of a refusal of the prompt by policy, and the words of servers that have no code.
_FILTERED_CODES = frozenset(
    {
        *("content_filter", "responsibleaipolicyviolation", "content_policy_violation"),
        *("data_inspection_failed", "datainspectionfailed", "moderation_blocked"),
        *("prohibited_content", "flagged_input", "1301", "2016"),
    }
)
_FILTERED_CODE = re.compile("sensitivecontentdetected|censor|content_?blocked")
_FILTERED_WORDS = re.compile(
    r"(?i)content management policy|content exists risk|data_?inspection_?failed"
    r"|inappropriate content|prohibited_content|content_?policy_?violation|safety_check_type"
    r"|(violat|against)\w* (our|the|\w+'s)? ?(usage|content|safety) (polic|guideline)"
    r"|(prompt|content) (was |is )?blocked\b"
    r"|considered high risk|flagged (by|for|as)[^.]{0,60}(moderation|violat|policy)"
    r"|requires moderation on|rejected (by|as a result of) (our|the) safety"
    r"|blocked (due to|for reason:?|because of) safety"
    r"|blocked by (the )?(safety|content)[ _](filter|setting|policy)"
)
_OF_THE_ACCOUNT = re.compile(
    r"(?i)\byour (account|access|organi[sz]ation|project|team|(api )?key)\b[^.]{0,60}"
    r"\b(flagged|terminated|suspended|blocked|disabled|restricted|banned|revoked)"
)
_FILTERED_STATUSES = (400, 403, 422, 451)


def from_status(
    status: int, headers: Mapping[str, str], body: str, key_env: str = "", key_sent: bool = True
) -> Failure:
    """Classify the failure that an HTTP error status means; header names are lower case. `key_env`
    names the variable that should hold the key."""
    body = body[:_MAX_BODY_CHARS]
    kind = _classify_status(status, body)
    hint = _key_hint(key_env, key_sent) if status in (401, 403) else _HINTS.get(status)
    problem = ": ".join(filter(None, [f"HTTP {status}", provider_message(body)]))
    waits = kind in ("rate_limited", "retryable")
    return Failure(
        kind=kind,
        message=Note("failure_hint", problem=problem, hint=hint) if hint else problem,
        status=status,
        retry_after=parse_retry_after(headers, body) if waits else None,
        model_text=_read_failed_generation(body) if kind == "model_output" else "",
    )


def _read_failed_generation(body: str) -> str:
    """What the model wrote, as Groq quotes it in an error of the code `tool_use_failed`."""
    reply = _decode_error_body(body)
    error = reply.get("error") if isinstance(reply, dict) else None
    text = error.get("failed_generation") if isinstance(error, dict) else None
    return text if isinstance(text, str) else ""


_UNREAD_CODES = frozenset({"tool_use_failed", "output_parse_failed", "json_validate_failed"})


def _quotes_generation(body: str) -> bool:
    """Whether an error is of what the model wrote, which it quotes (Groq)."""
    if "failed_generation" not in body and _UNREAD_CODES.isdisjoint(body.split('"')):
        return False
    reply = _decode_error_body(body)
    error = reply.get("error") if isinstance(reply, dict) else None
    if not isinstance(error, dict):
        return False
    return "failed_generation" in error or str(error.get("code")) in _UNREAD_CODES


def is_content_filter(status: int | None, body: str) -> bool:
    """Whether a server refused the prompt by its policy, as some do in place of an answer with the
    finish reason `content_filter`."""
    if status not in (*_FILTERED_STATUSES, 200):
        return False
    reply = _decode_error_body(body[:_MAX_BODY_CHARS])
    if not isinstance(reply, dict | list):  # the page of a proxy that blocks
        return False
    codes = {code.lower() for code in _error_codes(reply)}
    if codes & _FILTERED_CODES or any(_FILTERED_CODE.search(code) for code in codes):
        return True
    if _OF_THE_ACCOUNT.search(body):
        return False
    in_words = status != 200 and _FILTERED_WORDS.search(provider_message(body[:_MAX_BODY_CHARS]))
    return bool(in_words)


_LASTING_STATUSES = (401, 402, 403, 404, 429)
_LASTING_WORDS = re.compile(
    r"(?ix) api[ _-]?key | authenticat | unauthori[sz]ed | permission[ _]denied | access[ ]denied"
    r" | quota | credit | billing | insufficient | arrear | deactivated | suspended"
    r" | model[ _]not[ _]found | (unknown|invalid|no[ ]such|unsupported)[ ]model"
    r" | no[ ]models?[ ]loaded | budget[ _](has[ ]been[ ])?exceeded"
    r" | location[ ]is[ ]not[ ]supported | usage[ ]limits? | not[ ]a[ ]valid[ ]model"
    r" | (account|access|organi[sz]ation|project|team)\b.{0,40}"
    r"\b(disabled|blocked|flagged|terminated|not[ ]active)"
    r" | (unsupported|unrecognized|unknown)[ ](request[ ])?(parameter|argument)"
    r" | not[ ](supported|available)[ ](with|on|for|by)[ ]this[ ]model"
    r" | model\b.{0,80}\b(does[ ]not[ ]exist|not[ ]found|not[ ]available|deprecated|decommissioned)"
    r" | v1/responses | support(ing)?[ ]tools | tool[ ]choice[ ]requires"
)
_UNREACHED = re.compile(
    "certificate|secure connection|usable address|no connection is made|redirect"
)
_VARYING = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{7,}|[0-9]+|\b[a-z]+[-_][0-9A-Za-z]{12,}\b")


def find_lasting_cause(failure: Failure) -> str | None:
    """What makes a failure that of every request (key, quota, credit, an unknown model, an address
    that is not reached), without ids and numbers, which differ from one request to the next. None
    for a failure that may be of one request alone."""
    if failure.kind != "permanent":
        return None
    words = _LASTING_WORDS if failure.status else _UNREACHED
    if failure.status not in _LASTING_STATUSES and not words.search(failure.message):
        return None
    return f"{failure.status} {_VARYING.sub('#', failure.message)}"


def _error_codes(reply: Any) -> Iterator[str]:
    """The codes of an error and of those inside it (Azure: `innererror`)."""
    error = reply[0] if isinstance(reply, list) and reply else reply
    for name in ("error", "innererror", "inner_error"):
        if isinstance(error, dict) and isinstance(error.get(name), dict):
            error = error[name]
            yield from (str(error.get(field)) for field in ("code", "type", "status"))
    if isinstance(reply, dict):
        yield str(reply.get("code"))


def _classify_status(status: int, body: str) -> FailureKind:
    if status == 429:
        codes = {code.lower() for code in _error_codes(_decode_error_body(body))}
        spent = codes & _NO_CREDIT or _NO_CREDIT_WORDS.search(body)
        return "permanent" if spent else "rate_limited"
    if status == 413 and TOO_LARGE_FOR_RATE.search(body):
        return "rate_limited"
    if _quotes_generation(body) or (status >= 500 and _MODEL_OUTPUT.search(body)):
        return "model_output"
    full = status == 498 and "capacity" in body  # Groq's flexible tier
    if status >= 500 or status in _RETRYABLE or full:
        return "retryable"
    return "permanent" if status >= 400 else "malformed"


def _key_hint(key_env: str, key_sent: bool) -> Note:
    if not key_env:
        return Note("failure_key_unnamed")
    if not key_sent:
        return Note("failure_key_unset", variable=key_env)
    return Note("failure_key", variable=key_env)


def from_exception(error: BaseException) -> Failure:
    """Classify the failure behind a lost, refused or broken exchange by its first known cause. The
    SDK wraps and renames: a reset arrives as a timeout, so only the cause tells them apart.
    Exception texts are left out because they may quote a header."""
    causes = list(_iter_causes(error))
    causes.sort(key=lambda cause: type(cause).__name__ != "OutOfReach")  # aiohttp wraps it
    for table, candidates in ((_TRANSPORT, causes), (_PLAIN_TRANSPORT, causes[-1:])):
        for cause in candidates:
            for base in type(cause).__mro__:
                if base.__name__ in table:
                    kind, code = table[base.__name__]
                    problem = Note("failure_named", problem=Note(code), name=type(cause).__name__)
                    return Failure(kind=kind, message=problem)
    return Failure(kind="malformed", message=Note("failure_broken", name=type(error).__name__))


def _iter_causes(error: BaseException) -> Iterator[BaseException]:
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__


#: The status that an error of a code or type has where it is no part of a reply of status 200.
_STATUSES_OF_CODES = {
    code: status
    for status, codes in {
        400: (
            *("context_length_exceeded", "invalid_request_error", "invalid_argument"),
            "badrequesterror",
        ),
        401: ("invalid_api_key", "authentication_error", "unauthenticated", "authenticationerror"),
        403: ("permission_error", "permission_denied", "permissiondeniederror"),
        404: ("model_not_found", "not_found_error", "notfounderror"),
        429: (
            *("rate_limit_exceeded", "rate_limit_error", "rate_limit_reached", "ratelimiterror"),
            *("insufficient_quota", "resource_exhausted", "too_many_requests"),
        ),
        500: (
            *("server_error", "api_error", "internal_server_error", "internal"),
            "internalservererror",
        ),
        503: ("overloaded_error", "engine_overloaded_error", "service_unavailable", "unavailable"),
        504: ("timeout_error", "deadline_exceeded"),
    }.items()
    for code in codes
}


def from_error_body(error: Any) -> Failure:
    """A reply of status 200 that carries an error: some gateways put the real status inside."""
    body = json.dumps({"error": error}, ensure_ascii=False)
    if _quotes_generation(body):  # Groq's error within a stream
        return from_status(400, {}, body)
    for field in ("code", "type", "status"):
        code = str(error.get(field)).lower() if isinstance(error, dict) else ""
        if re.fullmatch("[45][0-9][0-9]", code):
            return from_status(int(code), {}, body)
        if code in _STATUSES_OF_CODES:
            return from_status(_STATUSES_OF_CODES[code], {}, body)
    return malformed_failure(Note("reply_error", message=provider_message(body)))


def malformed_failure(message: str) -> Failure:
    return Failure(kind="malformed", message=message, status=200)


def provider_message(body: str) -> str:
    """What an error body says, whichever of the usual forms it has; else the body itself."""
    content: Any = _decode_error_body(body)
    if isinstance(content, list) and content:
        content = content[0]
    for name in ("error", "message", "detail", "msg"):
        metadata = content.get("metadata") if isinstance(content, dict) else None
        if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):  # OpenRouter
            return (
                f"{content.get('message')}: {provider_message(metadata['raw'][:_MAX_BODY_CHARS])}"
            )
        stated = content.get(name) if isinstance(content, dict) else None
        if stated and stated is not True:  # the words stand beside it
            content = stated
    if content is None or content == {}:
        return body.strip()
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def parse_retry_after(
    headers: Mapping[str, str], body: str = "", now: float | None = None
) -> float | None:
    """Seconds that the server asks to wait, from the most to the least exact statement; None if
    it says nothing. `now` is the Unix time."""
    now = time.time() if now is None else now
    match = _WAIT_HINT.search(body)
    stated = _find_stated_headers(body)
    candidates = (
        _parse_seconds(headers.get("retry-after-ms"), 0.001),
        _parse_seconds(headers.get("x-ms-retry-after-ms"), 0.001),
        _parse_seconds(headers.get("retry-after")),
        _parse_reset_seconds(headers.get("retry-after") or "", now),
        _parse_ratelimit_reset(headers, now),
        _parse_ratelimit_fields(headers.get("ratelimit") or ""),
        _parse_wait(match[1]) if match else None,
        _parse_ratelimit_reset(stated, now),
    )
    return next((seconds for seconds in candidates if seconds is not None), None)


def _parse_wait(text: str) -> float | None:
    """Seconds of a wait in words: `41s`, `1m26.4s`, `20 seconds`, `2 minutes`, `12`."""
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|milli|s|m|h|d)?", text.lower())
    waits = [float(amount) * _UNITS[unit.replace("milli", "ms") or "s"] for amount, unit in parts]
    return _parse_seconds(str(sum(waits))) if waits else None


def _find_stated_headers(body: str) -> dict[str, str]:
    """The headers of the provider behind a gateway, as an error's body repeats them
    (OpenRouter)."""
    reply = _decode_error_body(body) if "headers" in body else None
    for name in ("error", "metadata", "headers"):
        reply = reply.get(name) if isinstance(reply, dict) else None
    return {str(k).lower(): str(v) for k, v in reply.items()} if isinstance(reply, dict) else {}


def _parse_seconds(text: str | None, unit: float = 1.0) -> float | None:
    try:
        seconds = float(text or "") * unit
    except ValueError:
        return None
    return seconds if 0 <= seconds < _MAX_WAIT_SECONDS else None


def _seconds_until_date(text: str | None, now: float) -> float | None:
    """Seconds until an HTTP date (RFC 9110) or an ISO 8601 time."""
    if not text:
        return None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text)
        except (ValueError, OverflowError):
            continue
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, aware.timestamp() - now)
    return None


def _parse_ratelimit_reset(headers: Mapping[str, str], now: float) -> float | None:
    """The longest reset among the limits that are used up (`x-ratelimit-*` and Anthropic's)."""
    waits = []
    for name, value in headers.items():
        family, separator, which = name.lower().partition("ratelimit-")
        if not separator or "reset" not in which:
            continue
        left = headers.get(family + separator + which.replace("reset", "remaining"))
        wait = _parse_reset_seconds(value, now)
        if wait is not None and (left is None or _parse_seconds(left) == 0):
            waits.append(wait)
    return max(waits, default=None)


def _parse_ratelimit_fields(text: str) -> float | None:
    """The longest reset in a header `RateLimit` (IETF draft, both forms) of what is used up."""
    resets = re.findall(r"(?:remaining|\br)=0\b[^\"]*?(?:reset|\bt)=([0-9]+)", text)
    return max(map(float, resets), default=None)


def _parse_reset_seconds(text: str, now: float) -> float | None:
    """A reset as seconds, Unix time in seconds or milliseconds, a duration (`6m0s`) or a date."""
    number = (
        _parse_seconds(text, 1e-3) if len(text.partition(".")[0]) >= 12 else _parse_seconds(text)
    )
    if number is not None:
        return max(0.0, number - now) if number > _MIN_UNIX_TIME else number
    parts = _DURATION.findall(text)
    if parts and "".join(a + b for a, b in parts) == text.strip():
        return sum(float(amount) * _UNITS[unit] for amount, unit in parts)
    return _seconds_until_date(text, now)


def _decode_error_body(body: str) -> Any:
    try:
        return decode_json(body.encode("utf-8", "replace"))
    except IntakeError:
        return None
