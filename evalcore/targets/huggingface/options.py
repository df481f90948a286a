"""Options of an `hf:` target: where and how a model runs, and how it answers."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from evalcore.errors import UsageError
from evalcore.records import Record, Sampling, TargetSpec

Dtype = Literal["auto", "float32", "float16", "bfloat16", "int8", "int4"]
_DEVICE = re.compile(r"auto|cpu|cuda(:\d{1,3})?")
#: Other names of a dtype that configurations in use hold.
_DTYPES = {"fp32": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16"}


class HuggingFaceOptions(Record, frozen=True, forbid_unknown_fields=True):
    """Options of a target; numbers may come as text.

    `dtype` auto is that of the checkpoint; int8 and int4 quantise while loading. `batch_size` 0 is
    as many as `batch_tokens` allow, 1 the exact mode; `batch_tokens` 0 is the device's default,
    `threads` 0 OMP_NUM_THREADS or the physical cores, `context` (tokens) 0 the model's own.
    `trust_remote_code` lets code beside the weights run, `allow_pickle` weights that may hold code.
    `max_new_tokens` is another name of `max_tokens`.
    """

    device: str = "auto"
    dtype: Dtype = "auto"
    adapter: str = ""
    revision: str = ""
    attn_implementation: str = ""
    trust_remote_code: bool = False
    allow_pickle: bool = False
    batch_size: int = 0
    batch_tokens: int = 0
    threads: int = 0
    context: int = 0
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_new_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    asking: Literal["auto", "native", "prompt", "json"] = "auto"

    @property
    def sampling(self) -> Sampling:
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens or self.max_new_tokens,
            seed=self.seed,
            stop=self.stop,
        )


def read_huggingface_options(spec: TargetSpec) -> HuggingFaceOptions:
    """The options of a spec, converted; raises UsageError naming the one that is wrong."""
    values = dict(spec.options)
    names = HuggingFaceOptions.__struct_fields__
    for name in values:
        if name not in names:
            raise UsageError(f"{spec.key}: unknown option {name!r}; known: {', '.join(names)}")
    if isinstance(values.get("stop"), str):
        values["stop"] = _parse_stop_option(values["stop"])
    if isinstance(values.get("dtype"), str):
        plain = values["dtype"].removeprefix("torch.")
        values["dtype"] = _DTYPES.get(plain, plain)
    try:
        options = msgspec.convert(values, HuggingFaceOptions, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{spec.key}: option not understood: {error}") from None
    problem = _find_option_problem(options)
    if problem:
        raise UsageError(f"{spec.key}: option {problem}")
    return options


def _parse_stop_option(text: str) -> Any:
    """A list typed as JSON on a command line; other text is one stop string."""
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        decoded = text
    return decoded if isinstance(decoded, list) else [text]


def _find_option_problem(options: HuggingFaceOptions) -> str:
    """What is wrong with the values, empty if nothing is."""
    if not _DEVICE.fullmatch(options.device):
        return f"device is auto, cpu, cuda or cuda:N, not {options.device!r}"
    for name in ("batch_size", "batch_tokens", "threads", "context"):
        if getattr(options, name) < 0:
            return f"{name} must be 0 or more"
    for name in ("max_tokens", "max_new_tokens"):
        limit = getattr(options, name)
        if limit is not None and limit < 1:
            return f"{name} must be 1 or more"
    both = (options.max_tokens, options.max_new_tokens)
    if None not in both and both[0] != both[1]:
        return "max_tokens and max_new_tokens mean the same; give one of them"
    if options.temperature is not None and not 0 <= options.temperature < float("inf"):
        return "temperature must be 0 or more"
    if options.top_p is not None and not 0 < options.top_p <= 1:
        return "top_p must be more than 0 and at most 1"
    return "stop must hold no empty text" if "" in options.stop else ""
