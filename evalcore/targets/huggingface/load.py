"""A model and its tokenizer in memory, checked so that nothing is silently random, empty or cut.

Runs in the worker process; torch is imported by `load` itself, after all that can be told without.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalcore.errors import MissingDependency, UsageError
from evalcore.records import Record
from evalcore.targets.huggingface import adapter, machine
from evalcore.targets.huggingface.fetch import fetch
from evalcore.targets.huggingface.options import Options
from evalcore.targets.huggingface.outline import QUANTISED, outline
from evalcore.targets.huggingface.place import Place, locate
from evalcore.targets.huggingface.preflight import check
from evalcore.targets.huggingface.tokenizer import load_tokenizer, takes_tools, turn_end
from evalcore.targets.huggingface.weights import dtype_used, load_model, read_config

#: Taken as the context of a model that states none (state-space models have no limit).
_UNSTATED_CONTEXT = 131_072
_BROKEN_SENTINEL = 10_000_000
_ONE_BY_ONE = "prompts side by side would change each other's answers here: asked one by one"


class Report(Record, frozen=True):
    """What was loaded. `memory_bytes` are the weights', `context` is in tokens, `template` and
    `tools` say whether the chat template exists and takes tools, `notes` what people should know.
    """

    parameters: int
    memory_bytes: int
    load_seconds: float
    dtype: str
    device: str
    context: int
    template: bool
    tools: bool
    threads: int
    revision: str
    architecture: str
    adapter: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """A model that is ready; `end_ids` are the tokens that end an answer, `single_rows` tells that
    no prompts may be computed side by side."""

    model: Any
    tokenizer: Any
    report: Report
    end_ids: frozenset[int]
    single_rows: bool = False


def load(place: Place, options: Options, say: Callable[[str], None]) -> Loaded:
    """Load a model and check how it can be asked; `say` takes lines for people.

    Raises LoadError with the kind of the problem, MissingDependency without the extra `local`,
    UsageError for a context beyond the model's.
    """
    began = time.perf_counter()
    folder = fetch(place, options, say)
    about = outline(folder)
    extra = _adapter_folder(options, say)
    check(folder, about, options)
    threads = machine.threads(options.threads)
    _prepare(threads)
    device = machine.resolve(options.device)
    config = read_config(folder, options, about)
    tokenizer = load_tokenizer(_speaker(folder, extra), config, options.trust_remote_code)
    context = _context(config, tokenizer, options)
    say(f"loading {about.architecture or folder.name} on {device}")
    model, notes = load_model(folder, config, options, about, device)
    if extra is not None:
        say(f"adding the adapter {options.adapter}")
        merge = not about.quantised and options.dtype not in QUANTISED
        model = adapter.apply(model, extra, merge)
        notes += _other_base(extra, place)
    model.eval()
    from evalcore.targets.huggingface.self_check import needs_single_rows  # needs torch

    single_rows = needs_single_rows(model)
    notes += [_ONE_BY_ONE] if single_rows else []
    report = Report(
        parameters=model.num_parameters(),
        memory_bytes=model.get_memory_footprint(),
        load_seconds=time.perf_counter() - began,
        dtype=dtype_used(model, options, about),
        device=device,
        context=context,
        template=bool(tokenizer.chat_template),
        tools=takes_tools(tokenizer),
        threads=threads,
        revision=place.revision,
        architecture=type(model).__name__ if extra is None else about.architecture,
        adapter=options.adapter,
        notes=(*notes, *_remarks(tokenizer)),
    )
    for note in report.notes:
        say(note)
    return Loaded(model, tokenizer, report, end_ids(model, tokenizer), single_rows)


def end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end an answer, by the model's settings, its tokenizer and its template."""
    found = getattr(model.generation_config, "eos_token_id", None)
    told = tuple(found) if isinstance(found, list | tuple) else (found,)
    told = (*told, tokenizer.eos_token_id, turn_end(tokenizer))
    return frozenset(one for one in told if isinstance(one, int))


def _adapter_folder(options: Options, say: Callable[[str], None]) -> Path | None:
    if not options.adapter:
        return None
    folder = fetch(locate(options.adapter, config=adapter.CONFIG), options, say)
    adapter.check_adapter(folder, options)
    return folder


def _other_base(extra: Path, place: Place) -> list[str]:
    """A note where an adapter fits by shape, but names another base by the end of its path."""
    base = adapter.base_of(extra)
    same = not base or Path(base).name == Path(place.reference).name
    return [] if same else [f"the adapter says that it was made for {base!r}"]


def _speaker(folder: Path, extra: Path | None) -> Path:
    """Where the tokenizer lies: fine-tuning saves its own, with its template, beside an adapter."""
    own = extra is not None and (extra / "tokenizer.json").is_file()
    return extra if own and extra is not None else folder


def _prepare(threads: int) -> None:
    """Import torch with its threads set, and keep the libraries from writing to the terminal."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingDependency(
            f"models on this machine need PyTorch and transformers ({error}); install them with: "
            "pip install 'evalboard[local]'"
        ) from None
    torch.set_num_threads(threads)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # else a line for each matmul


def _context(config: Any, tokenizer: Any, options: Options) -> int:
    text = config.get_text_config()
    own = getattr(text, "max_position_embeddings", None)
    if not isinstance(own, int) or own < 1:
        told = tokenizer.model_max_length
        own = int(told) if 0 < told < _BROKEN_SENTINEL else _UNSTATED_CONTEXT
    if options.context > own:
        raise UsageError(f"option context is {options.context}, the model takes {own} tokens")
    return options.context or own


def _remarks(tokenizer: Any) -> list[str]:
    plain = "no chat template: turns are written as lines 'User: ...' and 'Assistant: ...'"
    return [] if tokenizer.chat_template else [plain]
