"""A model and its tokenizer in memory, checked so that nothing is silently random, empty or cut.

Runs in the worker process; torch is imported by `load_checkpoint` itself, after all that can be
told without.
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
from evalcore.targets.huggingface.fetch import fetch_model
from evalcore.targets.huggingface.model_metadata import QUANTISED, read_metadata
from evalcore.targets.huggingface.model_ref import ModelRef, locate_model
from evalcore.targets.huggingface.options import HuggingFaceOptions
from evalcore.targets.huggingface.preflight import check_loadable
from evalcore.targets.huggingface.tokenizer import find_turn_end, load_tokenizer, takes_tools
from evalcore.targets.huggingface.weights import dtype_used, load_auto_config, load_model_weights

#: Taken as the context of a model that states none (state-space models have no limit).
_UNSTATED_CONTEXT = 131_072
_BROKEN_SENTINEL = 10_000_000
_SINGLE_ROWS_NOTE = "prompts side by side would change each other's answers here: asked one by one"


class LoadReport(Record, frozen=True):
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
class LoadedModel:
    """A model that is ready; `end_ids` are the tokens that end an answer, `single_rows` tells that
    no prompts may be computed side by side."""

    model: Any
    tokenizer: Any
    report: LoadReport
    end_ids: frozenset[int]
    single_rows: bool = False


def load_checkpoint(
    model_ref: ModelRef, options: HuggingFaceOptions, progress: Callable[[str], None]
) -> LoadedModel:
    """Load a model and check how it can be asked; `progress` takes lines for people.

    Raises LoadError with the kind of the problem, MissingDependency without the extra `local`,
    UsageError for a context beyond the model's.
    """
    began = time.perf_counter()
    folder = fetch_model(model_ref, options, progress)
    metadata = read_metadata(folder)
    adapter_folder = _fetch_adapter(options, progress)
    check_loadable(folder, metadata, options)
    threads = machine.count_threads(options.threads)
    _prepare_torch(threads)
    device = machine.resolve_device(options.device)
    config = load_auto_config(folder, options, metadata)
    tokenizer = load_tokenizer(
        _tokenizer_folder(folder, adapter_folder), config, options.trust_remote_code
    )
    context = _resolve_context(config, tokenizer, options)
    progress(f"loading {metadata.architecture or folder.name} on {device}")
    model, notes = load_model_weights(folder, config, options, metadata, device)
    if adapter_folder is not None:
        progress(f"adding the adapter {options.adapter}")
        merge = not metadata.quantised and options.dtype not in QUANTISED
        model = adapter.apply_adapter(model, adapter_folder, merge)
        notes += _base_mismatch_notes(adapter_folder, model_ref)
    model.eval()
    from evalcore.targets.huggingface.self_check import needs_single_rows  # needs torch

    single_rows = needs_single_rows(model)
    notes += [_SINGLE_ROWS_NOTE] if single_rows else []
    report = LoadReport(
        parameters=model.num_parameters(),
        memory_bytes=model.get_memory_footprint(),
        load_seconds=time.perf_counter() - began,
        dtype=dtype_used(model, options, metadata),
        device=device,
        context=context,
        template=bool(tokenizer.chat_template),
        tools=takes_tools(tokenizer),
        threads=threads,
        revision=model_ref.revision,
        architecture=type(model).__name__ if adapter_folder is None else metadata.architecture,
        adapter=options.adapter,
        notes=(*notes, *_template_notes(tokenizer)),
    )
    for note in report.notes:
        progress(note)
    return LoadedModel(model, tokenizer, report, collect_end_ids(model, tokenizer), single_rows)


def collect_end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end an answer, by the model's settings, its tokenizer and its template."""
    eos_ids = getattr(model.generation_config, "eos_token_id", None)
    candidates = tuple(eos_ids) if isinstance(eos_ids, list | tuple) else (eos_ids,)
    candidates = (*candidates, tokenizer.eos_token_id, find_turn_end(tokenizer))
    return frozenset(token_id for token_id in candidates if isinstance(token_id, int))


def _fetch_adapter(options: HuggingFaceOptions, progress: Callable[[str], None]) -> Path | None:
    if not options.adapter:
        return None
    folder = fetch_model(locate_model(options.adapter, config=adapter.CONFIG), options, progress)
    adapter.check_adapter(folder, options)
    return folder


def _base_mismatch_notes(adapter_folder: Path, model_ref: ModelRef) -> list[str]:
    """A note where an adapter fits by shape, but names another base by the end of its path."""
    base = adapter.read_base_model(adapter_folder)
    same = not base or Path(base).name == Path(model_ref.reference).name
    return [] if same else [f"the adapter says that it was made for {base!r}"]


def _tokenizer_folder(folder: Path, adapter_folder: Path | None) -> Path:
    """Where the tokenizer lies: fine-tuning saves its own, with its template, beside an adapter."""
    own = adapter_folder is not None and (adapter_folder / "tokenizer.json").is_file()
    return adapter_folder if own and adapter_folder is not None else folder


def _prepare_torch(threads: int) -> None:
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


def _resolve_context(config: Any, tokenizer: Any, options: HuggingFaceOptions) -> int:
    text = config.get_text_config()
    own = getattr(text, "max_position_embeddings", None)
    if not isinstance(own, int) or own < 1:
        tokenizer_limit = tokenizer.model_max_length
        own = int(tokenizer_limit) if 0 < tokenizer_limit < _BROKEN_SENTINEL else _UNSTATED_CONTEXT
    if options.context > own:
        raise UsageError(f"option context is {options.context}, the model takes {own} tokens")
    return options.context or own


def _template_notes(tokenizer: Any) -> list[str]:
    plain = "no chat template: turns are written as lines 'User: ...' and 'Assistant: ...'"
    return [] if tokenizer.chat_template else [plain]
