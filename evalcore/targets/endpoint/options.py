"""The options of an `openai:` target, as a command line or a page gives them."""

from __future__ import annotations

import json
from typing import Any, Literal

from evalcore.access.secrets import scrub_secrets
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record, Sampling, TargetSpec
from evalcore.settings import ApiName, AuthStyle
from evalcore.targets.base import convert_options


class OpenAIOptions(Record, frozen=True, forbid_unknown_fields=True):
    """Options of a target; numbers may come as text. `timeout` is how many seconds may pass without
    a byte of the reply, `whole_timeout` how many the whole may take (0: ten times as many);
    `extra_body` is merged into the body as it is; `asking` says how tools are offered, `api` which
    dialect is spoken, `client` whether plain HTTP or the SDK of OpenAI does it (`auto`: the SDK for
    the Responses dialect, where it is installed), `stream` whether answers are streamed. `headers`
    go with every request, their values from a variable where they are `$NAME`; `auth` says which
    header carries the key."""

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
    api: ApiName = "auto"
    client: Literal["auto", "aiohttp", "openai"] = "auto"
    api_version: str = ""
    auth: AuthStyle = "auto"
    headers: dict[str, str] = {}
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


def read_openai_options(spec: TargetSpec) -> OpenAIOptions:
    """The options of a spec, converted; raises UsageError that never repeats a value."""
    options = convert_options(spec.key, spec.options, OpenAIOptions)
    if options.timeout is not None and not options.timeout > 0:
        raise UsageError(Note("option_timeout", owner=spec.key))
    if not options.whole_timeout >= 0:
        raise UsageError(Note("option_whole_timeout", owner=spec.key))
    return options


def check_no_keys(spec: TargetSpec, key: str | None) -> None:
    """The options enter the run's spec, so that a key in them would be written down."""
    written = json.dumps(spec.options, ensure_ascii=False, default=str)
    if scrub_secrets(written, [key]) != written:
        raise UsageError(Note("option_key", owner=spec.key))
