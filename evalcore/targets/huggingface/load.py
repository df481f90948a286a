"""A model, its tokenizer and adapter in memory, checked so that nothing is silently random, empty
or cut. torch and transformers are imported inside the functions.
"""

from __future__ import annotations

import logging
import re
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalcore.errors import MissingDependency, UsageError
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record
from evalcore.targets.huggingface import machine
from evalcore.targets.huggingface.folder_checks import read_json_object, read_template_file
from evalcore.targets.huggingface.machine import check_loadable
from evalcore.targets.huggingface.messages import HuggingFaceOptions, LoadError, classify_load_error
from evalcore.targets.huggingface.model_files import (
    QUANTISED,
    ModelMetadata,
    ModelRef,
    fetch_model,
    locate_model,
    read_header,
    read_metadata,
)


def load_auto_config(folder: Path, options: HuggingFaceOptions, metadata: ModelMetadata) -> Any:
    """The configuration as transformers understands it; raises LoadError unknown_architecture,
    remote_code or no_config."""
    import transformers

    try:
        return transformers.AutoConfig.from_pretrained(
            str(folder), trust_remote_code=options.trust_remote_code, local_files_only=True
        )
    except Exception as error:  # of many kinds; the words tell
        what = f"config.json of {folder} cannot be used"
        load_error = classify_load_error(error, "no_config", what)
        if load_error.kind != "unknown_architecture":
            raise load_error from None
        named = metadata.model_type or metadata.architecture or "(none named)"
        raise LoadError(
            load_error.kind,
            Note(
                "architecture_unknown",
                version=transformers.__version__,
                architecture=repr(named),
                folder=folder,
            ),
        ) from None


def load_model_weights(
    folder: Path, config: Any, options: HuggingFaceOptions, metadata: ModelMetadata, device: str
) -> tuple[Any, list[str]]:
    """The model with all weights in place, and notes on tensors that it does not use. Raises
    LoadError: missing_weights, shape_mismatch, truncated_weights, unknown_architecture,
    attention_missing, remote_code or no_memory."""
    arguments: dict[str, Any] = {
        "config": config,
        "dtype": _torch_dtype(options, metadata),
        "trust_remote_code": options.trust_remote_code,
        "use_safetensors": None if options.allow_pickle else True,
        "local_files_only": True,
        "output_loading_info": True,
    }
    if options.attn_implementation:
        arguments["attn_implementation"] = options.attn_implementation
    quantisation = _build_quantisation(options)
    if quantisation is not None:
        arguments["quantization_config"] = quantisation
    if device != "cpu" or quantisation is not None or metadata.quantised:
        arguments["device_map"] = "balanced" if device == machine.ALL_GPUS else {"": device}
    try:
        model_class = _select_model_class(config, options)
        model, loading_info = model_class.from_pretrained(str(folder), **arguments)
    except Exception as error:  # of many kinds; the words tell
        what = f"{folder} cannot be loaded"
        raise classify_load_error(error, "unknown_architecture", what) from None
    return model, _check_loaded(loading_info, folder)


def _select_model_class(config: Any, options: HuggingFaceOptions) -> Any:
    """The class that writes text with a model of a configuration."""
    import transformers

    for name in ("AutoModelForCausalLM", "AutoModelForImageTextToText"):
        model_class = getattr(transformers, name)
        remote = options.trust_remote_code and name in (getattr(config, "auto_map", None) or {})
        if remote or type(config) in model_class._model_mapping:
            return model_class
    if getattr(config, "auto_map", None):
        raise ValueError(Note("model_custom_code"))
    raise LoadError(
        "unknown_architecture", Note("model_type_no_decoder", type=repr(config.model_type))
    )


def _check_loaded(loading_info: dict[str, Any], folder: Path) -> list[str]:
    missing, wrong = sorted(loading_info["missing_keys"]), list(loading_info["mismatched_keys"])
    if wrong:
        raise LoadError(
            "shape_mismatch", Note("model_shapes", count=len(wrong), folder=folder, first=wrong[0])
        )
    if missing:
        raise LoadError(
            "missing_weights",
            Note("model_lacks", folder=folder, count=len(missing), first=missing[0]),
        )
    unused = sorted(loading_info["unexpected_keys"])
    return [f"{len(unused)} stored tensors are not used: {unused[0]}, ..."] if unused else []


def _torch_dtype(options: HuggingFaceOptions, metadata: ModelMetadata) -> Any:
    """The dtype of the weights that are not packed. int8 works on 16-bit input only, and on
    float32 would convert at each product."""
    import torch

    if options.dtype in QUANTISED or metadata.quantised in QUANTISED:
        return torch.bfloat16
    return "auto" if options.dtype == "auto" else getattr(torch, options.dtype)


def _build_quantisation(options: HuggingFaceOptions) -> Any:
    if options.dtype not in QUANTISED:
        return None
    import torch
    import transformers

    if options.dtype == "int8":
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
    )


def dtype_used(model: Any, options: HuggingFaceOptions, metadata: ModelMetadata) -> str:
    """The dtype of the weights as they are in memory, in the words of the option."""
    if options.dtype in QUANTISED:
        return options.dtype
    return metadata.quantised or str(model.dtype).removeprefix("torch.")


_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
#: A tokenizer knows nearly all tokens that a model embeds; the rest pads to a round number.
_MIN_SHARE = 0.5
_PROBE = "weather_of_the_probe"


def load_tokenizer(folder: Path, config: Any, trust_remote_code: bool) -> Any:
    """The tokenizer of a folder, padding on the left. Raises LoadError no_tokenizer,
    empty_tokenizer or remote_code."""
    import transformers

    what = f"the tokenizer of {folder} cannot be loaded"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(folder), trust_remote_code=trust_remote_code, local_files_only=True
        )
        empty = not tokenizer("a b", add_special_tokens=False)["input_ids"]
    except Exception as error:  # of many kinds; the words tell
        problem = classify_load_error(error, "no_tokenizer", what)
        expected = problem.kind in ("remote_code", "no_tokenizer")
        raise (problem if expected else LoadError("no_tokenizer", str(problem))) from None
    embedded = getattr(config.get_text_config(), "vocab_size", None) or 0
    if empty or len(tokenizer) < max(2, embedded * _MIN_SHARE):
        raise _build_size_error(folder, len(tokenizer), embedded)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    return tokenizer


def _build_size_error(folder: Path, size: int, embedded: int) -> LoadError:
    if not any((folder / name).is_file() for name in _FILES):
        return LoadError(
            "no_tokenizer",
            f"{folder} has no tokenizer (tokenizer.json or tokenizer.model); copy the files of "
            "the base model's tokenizer into it",
        )
    return LoadError(
        "empty_tokenizer",
        f"the tokenizer of {folder} knows {size} tokens, the model embeds {embedded}; copy the "
        "files of the right tokenizer",
    )


def takes_tools(tokenizer: Any) -> bool:
    """Whether the chat template renders the tools passed to it."""
    if not tokenizer.chat_template:
        return False
    about = {"type": "object", "properties": {}, "required": []}
    tool = {"name": _PROBE, "description": "", "parameters": about}
    try:
        shown = tokenizer.apply_chat_template(
            [{"role": "user", "content": "x"}],
            tools=[{"type": "function", "function": tool}],
            tokenize=False,
            add_generation_prompt=True,
        )
    except Exception:  # templates raise whatever they like
        return False
    return _PROBE in shown


def find_turn_end(tokenizer: Any) -> int | None:
    """The special token with which the chat template closes an answer, None if there is none.
    Settings of fine-tuned models often name the base's end of text only, after which nothing would
    stop an answer."""
    if not tokenizer.chat_template:
        return None
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": _PROBE}]
    try:
        shown = tokenizer.apply_chat_template(turns, tokenize=False)
    except Exception:  # templates raise whatever they like
        return None
    after = tokenizer(shown.rpartition(_PROBE)[2], add_special_tokens=False)["input_ids"]
    special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    return after[0] if after and after[0] in special else None


CONFIG = "adapter_config.json"
_WEIGHTS_FILE = "adapter_model.safetensors"
#: Kinds that add prompts in place of changing weights, which batching cannot treat alike.
_PROMPT_ADAPTERS = frozenset(
    {"PROMPT_TUNING", "PREFIX_TUNING", "P_TUNING", "ADAPTION_PROMPT", "CPT"}
)


def check_adapter(folder: Path, options: HuggingFaceOptions) -> None:
    """Raise LoadError for what can be told before loading: adapter_mismatch, pickle_only,
    missing_weights, truncated_weights."""
    try:
        config = read_json_object(folder / CONFIG)
    except (OSError, ValueError):
        raise LoadError(
            "adapter_mismatch", Note("adapter_config", folder=folder, name=CONFIG)
        ) from None
    if str(config.get("peft_type")) in _PROMPT_ADAPTERS:
        problem = f"adapters of kind {config['peft_type']} are not supported"
        raise LoadError("adapter_mismatch", problem)
    if (folder / _WEIGHTS_FILE).is_file():
        read_header(folder / _WEIGHTS_FILE)
    elif not (folder / "adapter_model.bin").is_file():
        raise LoadError(
            "missing_weights", Note("adapter_weights", folder=folder, name=_WEIGHTS_FILE)
        )
    elif not options.allow_pickle:
        raise LoadError("pickle_only", Note("adapter_pickle", folder=folder))


def read_base_model(folder: Path) -> str:
    """The name of the model for which a checked adapter was made, empty where it does not say."""
    return str(read_json_object(folder / CONFIG).get("base_model_name_or_path") or "")


def apply_adapter(model: Any, folder: Path, merge: bool) -> Any:
    """The model with the adapter of a folder, merged into its weights where `merge`: faster, and in
    16 bit rounded once more. Raises LoadError adapter_mismatch where any tensor of the adapter
    finds no place or any place no tensor: PEFT would leave it out with a warning at most."""
    import peft

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they would say is checked below
            wrapped = peft.PeftModel.from_pretrained(model, str(folder), low_cpu_mem_usage=False)
            load_result = wrapped.load_adapter(str(folder), "default")
    except Exception as error:  # a library's many ways to say that they do not fit
        load_error = classify_load_error(error, "adapter_mismatch", "the adapter cannot be loaded")
        if load_error.kind in ("shape_mismatch", "unknown_architecture"):
            raise _build_mismatch_error(folder, str(error)) from None
        raise load_error from None
    unmatched = [*load_result.missing_keys, *load_result.unexpected_keys]
    if unmatched:
        reason = f"{len(unmatched)} tensors do not fit, the first is {unmatched[0]}"
        raise _build_mismatch_error(folder, reason)
    return wrapped.merge_and_unload() if merge else wrapped


def _build_mismatch_error(folder: Path, reason: str) -> LoadError:
    short = " ".join(reason.split())[:300]
    return LoadError(
        "adapter_mismatch",
        f"the adapter {folder} was made for another model; its {CONFIG} names the base ({short})",
    )


# Runs in the worker process; torch is imported by `load_checkpoint` itself, after all that can be
# told without.

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
    no prompts may be computed side by side; `top_k`, `min_p` and
    `repetition_penalty` are the options of those names."""

    model: Any
    tokenizer: Any
    report: LoadReport
    end_ids: frozenset[int]
    single_rows: bool = False
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0


def load_checkpoint(
    model_ref: ModelRef, options: HuggingFaceOptions, progress: ProgressCallback
) -> LoadedModel:
    """Load a model and check how it can be asked; `progress` takes lines for people. Raises
    LoadError with the kind of the problem, MissingDependency without the extra `local`, UsageError
    for a context beyond the model's."""
    began = time.perf_counter()
    folder = fetch_model(model_ref, options, progress)
    metadata = read_metadata(folder)
    adapter_folder = _fetch_adapter(options, progress)
    check_loadable(folder, metadata, options)
    threads = machine.count_threads(options.threads)
    _prepare_torch(threads)
    device = machine.resolve_device(options.device)
    config = load_auto_config(folder, options, metadata)
    tokenizer_folder = _tokenizer_folder(folder, adapter_folder)
    tokenizer = load_tokenizer(tokenizer_folder, config, options.trust_remote_code)
    if options.chat_template:
        tokenizer.chat_template = read_template_file(options.chat_template)
    check_thinking(tokenizer, options)
    context = _resolve_context(config, tokenizer, options)
    progress(Note("model_loading", model=metadata.architecture or folder.name, device=device))
    model, notes = load_model_weights(folder, config, options, metadata, device)
    if adapter_folder is not None:
        progress(Note("model_adapter", name=options.adapter))
        merge = not metadata.quantised and options.dtype not in QUANTISED
        model = apply_adapter(model, adapter_folder, merge)
        notes += _base_mismatch_notes(adapter_folder, model_ref)
    model.eval()
    from evalcore.targets.huggingface.generate import needs_single_rows

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
    end_ids = collect_end_ids(model, tokenizer)
    return LoadedModel(
        model,
        tokenizer,
        report,
        end_ids,
        single_rows,
        top_k=options.top_k,
        min_p=options.min_p,
        repetition_penalty=options.repetition_penalty,
    )


def collect_end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end an answer, by the model's settings, its tokenizer and its template."""
    eos_ids = getattr(model.generation_config, "eos_token_id", None)
    candidates = tuple(eos_ids) if isinstance(eos_ids, list | tuple) else (eos_ids,)
    candidates = (*candidates, tokenizer.eos_token_id, find_turn_end(tokenizer))
    return frozenset(token_id for token_id in candidates if isinstance(token_id, int))


def _fetch_adapter(options: HuggingFaceOptions, progress: ProgressCallback) -> Path | None:
    if not options.adapter:
        return None
    folder = fetch_model(locate_model(options.adapter, config=CONFIG), options, progress)
    check_adapter(folder, options)
    return folder


def _base_mismatch_notes(adapter_folder: Path, model_ref: ModelRef) -> list[str]:
    """A note where an adapter fits by shape, but names another base by the end of its path."""
    base = read_base_model(adapter_folder)
    same = not base or Path(base).name == Path(model_ref.reference).name
    return [] if same else [f"according to its configuration, the adapter was made for {base!r}"]


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
        raise MissingDependency(Note("local_missing", problem=error)) from None
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
        raise UsageError(Note("context_large", context=options.context, most=own))
    return options.context or own


_THINKING_VARIABLE = re.compile(
    r"\b(?:enable_thinking|reasoning_effort)\b|\b(?:if|not|and|or)\s+thinking\b"
)


def check_thinking(tokenizer: Any, options: HuggingFaceOptions) -> None:
    """Raise UsageError where reasoning is asked for in a way that the chat template ignores."""
    template = tokenizer.chat_template
    texts = template.values() if isinstance(template, dict) else [template or ""]
    if options.requested.reasoning_effort and not any(map(_THINKING_VARIABLE.search, texts)):
        raise UsageError(Note("local_no_effort"))


def _template_notes(tokenizer: Any) -> list[str]:
    plain = Note("local_no_template")
    return [] if tokenizer.chat_template else [plain]
