"""Where a model lies, how it comes from the Hugging Face Hub, and what its folder says of itself:
its JSON and the headers of its weights.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from math import prod
from pathlib import Path
from typing import Any

import msgspec

from evalcore.access.secrets import scrub_secrets
from evalcore.errors import IntakeError, UsageError
from evalcore.i18n import Note
from evalcore.records import ProgressCallback, Record
from evalcore.targets.huggingface.folder_checks import (
    check_decoder,
    explain_model_file,
    explain_unusable_folder,
    read_json_object,
    read_quantisation,
)
from evalcore.targets.huggingface.messages import HuggingFaceOptions, LoadError

# What a model's folder says of itself, read from its JSON and the headers of its weights. No tensor
# is read and nothing heavy imported, so that a page can show it before anything is loaded. Format
# of safetensors: 8 bytes little-endian length, a JSON header of that length, then the data.

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
#: Dtypes that bitsandbytes makes of the weights.
QUANTISED = ("int8", "int4")
_LARGEST_JSON = 64 * 1024 * 1024
_VOCABULARIES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
_CONTEXTS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
#: What bitsandbytes stores beside the weights it packed.
_SCALES = (".absmax", ".quant_map", ".SCB", ".weight_format")
#: Bytes of a parameter. int4 packs two into one and keeps a float32 scale for each 64.
_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "int8": 1.0, "int4": 0.5 + 4 / 64}
_RUNTIME = 512 * 1024 * 1024
_IN_FLIGHT = 0.1


class ModelMetadata(Record, frozen=True):
    """A model before it is loaded; 0 and empty where the folder does not say. `linear` are the
    parameters that int8 and int4 shrink, `size` the bytes of `files`, `vocabulary` the tokens the
    model embeds, `quantised` int8, int4 or another method's name where the weights are stored so.
    `formats` are of safetensors, pickle; `own_code` tells that code lies beside."""

    architecture: str
    model_type: str
    parameters: int
    linear: int
    layers: int
    context: int
    vocabulary: int
    dtype: str
    quantised: str
    files: tuple[str, ...]
    size: int
    formats: tuple[str, ...]
    has_tokenizer: bool
    has_template: bool
    own_code: bool


class _ParameterCount(Record, frozen=True):
    parameters: int = 0
    linear: int = 0
    dtype: str = ""


def read_metadata(folder: Path) -> ModelMetadata:
    """The outline of a folder. Raises LoadError for what no loading could mend: no_config,
    missing_weights (no weights, or a part is absent), truncated_weights, unknown_architecture."""
    config = read_model_config(folder)
    files = weight_files(folder)
    pickles = sorted(
        file.name
        for file in folder.glob("*.bin")
        if "model" in file.name and not file.name.startswith("adapter_")
    )
    if not files and not pickles:
        problem = f"{folder} has no weights ({SINGLE} or {INDEX})"
        raise explain_unusable_folder(folder, "missing_weights", problem)
    check_decoder(folder, config)
    text = config.get("text_config")
    inner: dict[str, Any] = {**config, **text} if isinstance(text, dict) else config
    quantised = read_quantisation(folder, config)
    parameter_count = _count_parameters(folder, files, packed=quantised == "int4")
    names = files or tuple(pickles)
    stored = inner.get("dtype") or inner.get("torch_dtype")
    return ModelMetadata(
        architecture=_first_text(config.get("architectures")),
        model_type=str(config.get("model_type") or ""),
        parameters=parameter_count.parameters,
        linear=parameter_count.linear,
        layers=_first_whole_number(inner, "num_hidden_layers", "n_layer", "num_layers"),
        context=_first_whole_number(inner, *_CONTEXTS),
        vocabulary=_first_whole_number(inner, "vocab_size"),
        dtype=stored if isinstance(stored, str) else parameter_count.dtype,
        quantised=quantised,
        files=names,
        size=sum((folder / name).stat().st_size for name in names),
        formats=tuple(["safetensors"] * bool(files) + ["pickle"] * bool(pickles)),
        has_tokenizer=any((folder / name).is_file() for name in _VOCABULARIES),
        has_template=_has_template(folder),
        own_code="auto_map" in config,
    )


def memory_needed(metadata: ModelMetadata, dtype: str = "auto") -> int:
    """Bytes that a model takes in a dtype: weights, a tenth for answers in flight, the libraries.
    An estimate; the quantising dtypes leave embeddings and norms in 16 bit."""
    if metadata.quantised or not metadata.parameters:
        weights = float(metadata.size)
    else:
        each = _BYTES.get(metadata.dtype if dtype == "auto" else dtype, 4.0)
        rest = metadata.parameters - metadata.linear
        weights = metadata.linear * each + rest * max(each, 2.0)
    return int(weights * (1 + _IN_FLIGHT)) + _RUNTIME


def read_model_config(folder: Path) -> dict[str, Any]:
    """`config.json` of a folder; raises LoadError no_config, with advice where the files tell what
    the folder is."""
    try:
        return read_json_object(folder / "config.json")
    except (OSError, ValueError) as error:
        problem = (
            f"{folder} has no readable config.json ({type(error).__name__}); give the folder that "
            "save_pretrained wrote"
        )
        raise explain_unusable_folder(folder, "no_config", problem) from None


#: Fields of `generation_config.json` that say how a model is to be sampled, and their range.
_SAMPLING_FIELDS = {
    "temperature": (0.0, 100.0),
    "top_p": (0.0, 1.0),
    "top_k": (0, 10_000_000),
    "min_p": (0.0, 1.0),
    "repetition_penalty": (0.01, 100.0),
}


def adopt_model_sampling(options: HuggingFaceOptions, folder: Path | None) -> HuggingFaceOptions:
    """The options with the sampling of the model's `generation_config.json` where `sampling` is
    `model`; what a person set stays. Raises LoadError no_config where the files are not here or
    hold no usable number."""
    if options.sampling != "model":
        return options
    try:
        stated = read_json_object((folder or Path()) / "generation_config.json") if folder else None
    except (OSError, ValueError, IntakeError):
        stated = None
    if stated is None:
        raise LoadError("no_config", Note("model_needs_generation_config"))
    if not stated.get("do_sample"):
        stated = {"repetition_penalty": stated.get("repetition_penalty"), "temperature": 0.0}
    stated = {"temperature": 1.0, **{k: v for k, v in stated.items() if v is not None}}
    changes: dict[str, Any] = {}
    for name, (least, most) in _SAMPLING_FIELDS.items():
        value = stated.get(name)
        if value is None or getattr(options, name) != getattr(HuggingFaceOptions(), name):
            continue
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= most
        ):
            raise LoadError(
                "no_config", Note("model_generation_range", name=name, least=least, most=most)
            )
        changes[name] = int(value) if name == "top_k" else float(value)
    return msgspec.structs.replace(options, **changes)


def weight_files(folder: Path) -> tuple[str, ...]:
    """The safetensors files of the weights; raises LoadError where the index names absent ones."""
    if (folder / SINGLE).is_file():
        return (SINGLE,)
    if not (folder / INDEX).is_file():
        return ()
    try:
        names = sorted(set(read_json_object(folder / INDEX)["weight_map"].values()))
        absent = [name for name in names if not (folder / Path(name).name).is_file()]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        raise LoadError(
            "missing_weights", Note("model_index_unread", path=folder / INDEX)
        ) from None
    if absent:
        raise LoadError(
            "missing_weights",
            Note(
                "model_files_absent",
                count=len(absent),
                count_2=len(names),
                folder=folder,
                first=absent[0],
            ),
        )
    return tuple(Path(name).name for name in names)


def read_header(file: Path) -> dict[str, Any]:
    """The tensors of a safetensors file by name; raises LoadError truncated_weights where the file
    is shorter than its header says."""
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > _LARGEST_JSON:
                raise ValueError("no header is that long")
            header = json.loads(stream.read(length))
        tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
        ends = [int(entry["data_offsets"][1]) for entry in tensors.values()]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise _build_truncated_error(file) from None
    if file.stat().st_size < 8 + length + max(ends, default=0):
        raise _build_truncated_error(file)
    return tensors


def _build_truncated_error(file: Path) -> LoadError:
    return LoadError("truncated_weights", Note("model_cut_off", file=file))


def _count_parameters(folder: Path, files: tuple[str, ...], *, packed: bool) -> _ParameterCount:
    """Parameters of the headers; `packed` counts two for each byte of 8-bit tensors."""
    parameters = linear = 0
    dtypes: Counter[str] = Counter()
    for file in files:
        for name, entry in read_header(folder / file).items():
            if name.endswith(_SCALES) or ".quant_state." in name:
                continue
            shape = entry.get("shape") or ()
            size = prod(n for n in shape if isinstance(n, int))
            size *= 2 if packed and entry.get("dtype") == "U8" else 1
            parameters += size
            dtypes[str(entry.get("dtype"))] += size
            outside = "embed" in name or "lm_head" in name or "wte" in name
            linear += size if len(shape) == 2 and not outside else 0
    dtype = max(dtypes, key=lambda name: dtypes[name], default="")
    return _ParameterCount(parameters, linear, _DTYPES.get(dtype, ""))


def _has_template(folder: Path) -> bool:
    if any((folder / name).is_file() for name in ("chat_template.jinja", "chat_template.json")):
        return True
    try:
        return bool(read_json_object(folder / "tokenizer_config.json").get("chat_template"))
    except (OSError, ValueError):
        return False


def _first_whole_number(config: dict[str, Any], *names: str) -> int:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0


def _first_text(values: Any) -> str:
    return str(values[0]) if isinstance(values, list) and values else ""


_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_YES = frozenset({"1", "on", "yes", "true"})
_MAX_MODELS = 1000


class ModelRef(Record, frozen=True):
    """What a key means. `path` is the folder, None where the model has yet to be downloaded;
    `revision` is the commit of a model from the Hub, else what was asked for."""

    reference: str
    path: Path | None
    cached: bool
    revision: str = ""


class CachedModel(Record, frozen=True):
    """A model that the local cache holds whole; `size` is in bytes."""

    reference: str
    path: Path
    revision: str
    size: int


def locate_model(key: str, revision: str = "", config: str = "config.json") -> ModelRef:
    """The place of a target key, with or without its `hf:`; touches no network. A folder wins over
    an id of the same form; `config` is the file that makes a cached one whole (an adapter has
    another). Raises LoadError where it is neither, UsageError for a revision of a folder."""
    reference = key.removeprefix("hf:").strip()
    folder = Path(reference).expanduser()
    if reference and folder.is_dir():
        if revision:
            raise UsageError(Note("local_revision", folder=reference))
        return ModelRef(reference, folder.resolve(), cached=True)
    if folder.is_file():
        raise explain_model_file(folder)
    if not _HUB_ID.fullmatch(reference) or ".." in reference:
        raise LoadError("path_missing", Note("model_no_folder", reference=reference))
    snapshot = find_cached_snapshot(reference, revision, config)
    if snapshot is None:
        return ModelRef(reference, None, cached=False, revision=revision)
    return ModelRef(reference, snapshot, cached=True, revision=snapshot.name)


def find_cached_snapshot(
    reference: str, revision: str = "", config: str = "config.json"
) -> Path | None:
    """The folder of a Hub id in the local cache, None unless `config` and weights are there."""
    repo = cache_folder() / f"models--{reference.replace('/', '--')}"
    commit = revision
    if not _COMMIT.fullmatch(revision):
        name = revision or "main"
        pointer = repo / "refs" / name
        if ".." in Path(name).parts or not pointer.is_file():
            return None
        commit = pointer.read_text(encoding="ascii", errors="replace").strip()
    folder = repo / "snapshots" / commit
    complete = (
        _COMMIT.fullmatch(commit) and (folder / config).is_file() and _list_weight_files(folder)
    )
    return folder if complete else None


def list_cached_models() -> list[CachedModel]:
    """The models of the local cache that can be evaluated without a download, by name."""
    models = []
    for repo in sorted(cache_folder().glob("models--*"))[:_MAX_MODELS]:
        reference = repo.name.removeprefix("models--").replace("--", "/", 1)
        folder = find_cached_snapshot(reference)
        if folder is not None:
            size = sum(weight.stat().st_size for weight in _list_weight_files(folder))
            models.append(CachedModel(reference, folder, folder.name, size))
    return models


def cache_folder() -> Path:
    """The folder of the Hub's cache, by the variables that its client reads."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    home = os.environ.get("HF_HOME") or (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    )
    return Path(home).expanduser() / "hub"


def is_hub_offline() -> bool:
    """Whether the person asked that nothing be downloaded."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(name, "").lower() in _YES for name in names)


def _list_weight_files(folder: Path) -> list[Path]:
    """The files of weights, none where a part is absent (a cache then has a broken link)."""
    try:
        names = weight_files(folder) or tuple(file.name for file in folder.glob("*.bin"))
    except LoadError:
        return []
    adapter = folder / "adapter_model.safetensors"
    files = [folder / name for name in names] or [adapter]
    return files if all(file.is_file() for file in files) else []


#: What loading reads; code and pickled weights only for those who asked for them.
_MODEL_FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")


def fetch_model(
    model_ref: ModelRef, options: HuggingFaceOptions, progress: ProgressCallback
) -> Path:
    """The folder of a place, downloaded where it must be. Raises LoadError: offline_missing where
    nothing may or can be downloaded, path_missing where the Hub has no such model or revision, or
    does not show it without a key."""
    if model_ref.path is not None:
        return model_ref.path
    if is_hub_offline():
        raise LoadError("offline_missing", Note("model_not_cached", reference=model_ref.reference))
    import huggingface_hub as hub

    progress(Note("downloading", name=model_ref.reference))
    extra = ("*.py",) * options.trust_remote_code + ("*.bin",) * options.allow_pickle
    try:
        folder = hub.snapshot_download(
            model_ref.reference,
            revision=model_ref.revision or None,
            allow_patterns=[*_MODEL_FILES, *extra],
        )
    except Exception as error:  # a client has many ways to fail; each ends in one of two
        raise _build_fetch_error(model_ref, error) from None
    return Path(folder)


def _build_fetch_error(model_ref: ModelRef, error: Exception) -> LoadError:
    names = {base.__name__ for base in type(error).__mro__}
    name = model_ref.reference
    if "RevisionNotFoundError" in names:
        problem = f"{name} has no revision {model_ref.revision!r} on the Hub"
        return LoadError("path_missing", problem)
    if "GatedRepoError" in names:
        return LoadError("path_missing", Note("model_gated", name=name))
    if names & {"RepositoryNotFoundError", "HFValidationError"}:
        return LoadError("path_missing", Note("model_unknown", name=name))
    return LoadError(
        "offline_missing",
        Note(
            "model_no_download",
            name=name,
            problem=scrub_secrets(str(error))[:200] or type(error).__name__,
        ),
    )
