"""What a model can do, learned before a run in at most five requests: its capability card.

The requests go through the target itself, so that what it adapts to (a parameter that the server
refuses costs another request) is adapted to here as in a run. The newest card of each target is
stored in the data folder, and copied into the folder of a run that is planned.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import msgspec

from evalcore.errors import TargetFailure
from evalcore.i18n import Note
from evalcore.records import (
    Completion,
    Failure,
    GenerationRequest,
    Message,
    Sampling,
    TargetSpec,
    Usage,
    content_hash,
    from_json_with_notes,
    to_json_with_notes,
    to_plain,
    utc_now,
)
from evalcore.runner.run_request import (
    Capability,
    CapabilityName,
    CapabilityState,
    ConnectionReport,
)
from evalcore.settings import Settings
from evalcore.store.run_folder import write_atomic
from evalcore.targets.base import Target
from evalcore.targets.pricing import build_target_pricer

#: Requests of one preflight, those included that a refused parameter costs.
REQUEST_LIMIT = 5
#: Name of the preflight in the card of a run.
CARD_FIELD = "preflight"
_FOLDER = "preflights"
_FRESH = timedelta(days=1)
_ANSWER_TOKENS = 1024  # enough for a model that thinks first
_FEW_TOKENS = 16
_CITY = "Lisbon"
_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city at this moment.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
#: Parameters of sampling, with a value that any server takes that takes the parameter.
_SAMPLING: dict[str, float | int] = {"temperature": 0.0, "seed": 1, "top_p": 0.9}


async def probe_target(target: Target, spec: TargetSpec, settings: Settings) -> ConnectionReport:
    """Ask an opened endpoint what it can do."""
    return await _Probe(target, spec, settings).run()


class _Probe:
    """One preflight: what was learned, and the requests it took."""

    def __init__(self, target: Target, spec: TargetSpec, settings: Settings) -> None:
        self.target, self.spec, self.settings = target, spec, settings
        self.requests = 0
        self.learned: dict[CapabilityName, Capability] = {}
        self.untried = dict(_SAMPLING)

    async def run(self) -> ConnectionReport:
        started = time.monotonic()
        first = await self.ask(
            GenerationRequest(
                messages=(Message("user", "Answer with the single word: ready"),),
                sampling=Sampling(max_tokens=_ANSWER_TOKENS),
            )
        )
        latency = time.monotonic() - started
        if isinstance(first, Failure):
            self.note_failed_start(first)
            return self.build_card(first)
        self.learn("key", "yes")
        self.learn("model", "yes", first.model)
        self.note_usage(first)
        await self.probe_tools()
        await self.probe_token_limit()
        self.note_sampling()
        self.note_streaming()
        return msgspec.structs.replace(
            self.build_card(None),
            model=first.model,
            reply=first.text[:200],
            latency=first.latency or latency,  # without retries and waits of ours
        )

    async def ask(self, request: GenerationRequest, reserved: int = 0) -> Completion | Failure:
        """Send a request, with as many parameters that are still untried as may be refused within
        the limit; `reserved` requests are left for later."""
        spare = REQUEST_LIMIT - self.requests - 1 - reserved
        names = list(self.untried)[: max(spare, 0)] if self.requests else []
        tried = {name: self.untried.pop(name) for name in names}
        sampling = msgspec.structs.replace(request.sampling, **tried)
        try:
            answer = await self.target.generate(msgspec.structs.replace(request, sampling=sampling))
        except TargetFailure as error:  # which does not say how many parameters were refused first
            self.requests += 1 + len(tried)
            return error.failure
        self.requests += max(answer.attempts, 1)
        return answer

    async def probe_tools(self) -> None:
        """A call, then the turn in which its result is returned."""
        question = Message("user", f"What is the weather in {_CITY}? Call get_weather.")
        request = GenerationRequest(
            messages=(question,), tools=(_TOOL,), sampling=Sampling(max_tokens=_ANSWER_TOKENS)
        )
        if self.requests >= REQUEST_LIMIT:
            return
        answer = await self.ask(request, reserved=1)
        if isinstance(answer, Failure):
            self.learn("tools", "no" if answer.kind == "permanent" else "unknown", answer.message)
            return
        if not answer.tool_calls:
            self.learn("tools", "no", Note("preflight_no_call"))
            return
        self.learn("tools", "yes")
        if self.requests >= REQUEST_LIMIT:
            return
        results = (
            Message("tool", '{"weather": "sunny"}', tool_call_id=call.id)
            for call in answer.tool_calls
        )
        turn = msgspec.structs.replace(
            request, messages=(question, build_reply_turn(answer), *results)
        )
        second = await self.ask(turn, reserved=1)
        if isinstance(second, Failure):
            self.learn("tool_results", "no", second.message)
        else:
            self.learn("tool_results", "yes")

    async def probe_token_limit(self) -> None:
        """Whether an answer ends where we say, and the parameters of sampling not yet sent."""
        if self.requests >= REQUEST_LIMIT:
            return
        answer = await self.ask(
            GenerationRequest(
                messages=(Message("user", "Count from 1 to 100, one number per line."),),
                sampling=Sampling(max_tokens=_FEW_TOKENS),
            )
        )
        if isinstance(answer, Failure):
            self.learn("token_limit", "no", answer.message)
            return
        tokens = answer.usage.output_tokens
        obeyed = answer.finish_reason == "length" or (tokens is not None and tokens <= _FEW_TOKENS)
        self.learn("token_limit", "yes" if obeyed else "no")

    def learn(self, name: CapabilityName, state: CapabilityState, detail: str = "") -> None:
        self.learned[name] = Capability(name, state, detail)

    def note_failed_start(self, failure: Failure) -> None:
        """Tell a wrong key from an unknown model and from a server that is down."""
        if failure.status in (401, 403):
            self.learn("key", "no", failure.localizable_message)
        elif failure.status == 404:
            self.learn("model", "no", failure.localizable_message)

    def note_usage(self, answer: Completion) -> None:
        counted = None not in (answer.usage.input_tokens, answer.usage.output_tokens)
        self.learn("usage", "yes" if counted else "no")
        unit = Usage(input_tokens=1_000_000, output_tokens=0)
        quote = build_target_pricer(self.target.info, self.settings)
        priced = answer.usage.cost is not None or quote(unit).amount is not None
        self.learn("price", "yes" if priced else "no")

    def note_sampling(self) -> None:
        """What the server refused, by the card of the target; else what it was sent."""
        dropped = set(self.target.info.card.get("dropped", ()))
        refused = [name for name in _SAMPLING if name in dropped]
        untried = [name for name in self.untried if name not in dropped]
        if refused:
            self.learn("sampling", "no", Note("preflight_dropped", names=", ".join(refused)))
        elif len(untried) == len(_SAMPLING):
            self.learn("sampling", "unknown")
        else:
            names = [name for name in _SAMPLING if name not in self.untried]
            self.learn("sampling", "yes", ", ".join(names))

    def note_streaming(self) -> None:
        """Whether answers are streamed, where the target says so on its card."""
        streams = self.target.info.card.get("streaming")
        if isinstance(streams, bool):
            self.learn("streaming", "yes" if streams else "no")

    def build_card(self, failure: Failure | None) -> ConnectionReport:
        names: tuple[CapabilityName, ...] = get_args(CapabilityName)
        return ConnectionReport(
            identity=self.spec.identity,
            at=utc_now(),
            ok=failure is None,
            requests=self.requests,
            message=failure.localizable_message if failure else Note("connection_answered"),
            capabilities=tuple(self.learned.get(n, Capability(n, "unknown")) for n in names),
        )


def build_reply_turn(answer: Completion) -> Message:
    """The turn of the assistant that an answer becomes in the next request, with every field of it
    that a message has, too."""
    shared = set(Message.__struct_fields__) & set(Completion.__struct_fields__)
    return Message(
        role="assistant", content=answer.text, **{name: getattr(answer, name) for name in shared}
    )


# The newest preflight of each target, by its identity; a run gets a copy of one that is fresh.


def store_preflight(card: ConnectionReport, settings: Settings) -> None:
    path = _find_card_path(card.identity, settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, to_json_with_notes(card))


def load_preflight(spec: TargetSpec, settings: Settings) -> ConnectionReport | None:
    """The stored preflight of a target, None where there is none of the last day."""
    try:
        content = _find_card_path(spec.identity, settings).read_bytes()
        card = from_json_with_notes(ConnectionReport, content)
        age = datetime.now(UTC) - datetime.fromisoformat(card.at)
    except (OSError, ValueError, TypeError, msgspec.MsgspecError):
        return None
    return card if card.identity == spec.identity and age < _FRESH else None


def build_run_card(spec: TargetSpec, settings: Settings) -> dict[str, Any]:
    """What the card of a run says of the target before it is opened; empty without a preflight."""
    card = load_preflight(spec, settings)
    return {CARD_FIELD: to_plain(card)} if card else {}


def _find_card_path(identity: str, settings: Settings) -> Path:
    return settings.data_dir / _FOLDER / f"{content_hash(identity)}.json"
