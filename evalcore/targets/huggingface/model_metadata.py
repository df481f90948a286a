"""What a model's folder says of itself, read from its JSON and the headers of its weights.

No tensor is read and nothing heavy imported, so that a page can show it before anything is loaded.
Format of safetensors: 8 bytes little-endian length, a JSON header of that length, then the data.
"""

from __future__ import annotations

import json
from collections import Counter
from math import prod
from pathlib import Path
from typing import Any

from evalcore.records import Record
from evalcore.targets.huggingface.load_errors import LoadError

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
    """A model before it is loaded; 0 and empty where the folder does not say.

    `linear` are the parameters that int8 and int4 shrink, `size` the bytes of `files`, `vocabulary`
    the tokens the model embeds, `quantised` int8, int4 or another method's name where the weights
    are stored so. `formats` are of safetensors, pickle; `own_code` tells that code lies beside.
    """

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
    missing_weights (no weights, or a part is absent), truncated_weights."""
    config = read_model_config(folder)
    files = weight_files(folder)
    pickles = sorted(file.name for file in folder.glob("*.bin") if "model" in file.name)
    if not files and not pickles:
        raise LoadError("missing_weights", f"{folder} holds no weights ({SINGLE} or {INDEX})")
    text = config.get("text_config")
    inner: dict[str, Any] = {**config, **text} if isinstance(text, dict) else config
    quantised = _read_quantisation(config)
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

    An estimate; the quantising dtypes leave embeddings and norms in 16 bit.
    """
    if metadata.quantised or not metadata.parameters:
        weights = float(metadata.size)
    else:
        each = _BYTES.get(metadata.dtype if dtype == "auto" else dtype, 4.0)
        rest = metadata.parameters - metadata.linear
        weights = metadata.linear * each + rest * max(each, 2.0)
    return int(weights * (1 + _IN_FLIGHT)) + _RUNTIME


def read_model_config(folder: Path) -> dict[str, Any]:
    """`config.json` of a folder; raises LoadError no_config, with advice for a lone adapter."""
    if not (folder / "config.json").is_file() and (folder / "adapter_config.json").is_file():
        raise LoadError(
            "no_config",
            f"{folder} is an adapter, not a model; name its base model as the target and this "
            "folder by the option adapter",
        )
    try:
        return read_json_object(folder / "config.json")
    except (OSError, ValueError) as error:
        raise LoadError(
            "no_config",
            f"{folder} has no readable config.json ({type(error).__name__}); give the folder that "
            "save_pretrained wrote",
        ) from None


def read_json_object(file: Path) -> dict[str, Any]:
    """An object in a file of at most 64 MiB; raises OSError or ValueError."""
    if file.stat().st_size > _LARGEST_JSON:
        raise ValueError("too large")
    try:
        content = json.loads(file.read_bytes())
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(content, dict):
        raise ValueError("no object")
    return content


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
        raise LoadError("missing_weights", f"{folder / INDEX} cannot be read") from None
    if absent:
        raise LoadError(
            "missing_weights",
            f"{len(absent)} of {len(names)} files of weights are absent from {folder}, the first "
            f"is {absent[0]}; copy or download the model again",
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
    return LoadError(
        "truncated_weights", f"{file} is cut off or no safetensors file; copy it again"
    )


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
    most_common = dtypes.most_common(1)
    return _ParameterCount(
        parameters, linear, _DTYPES.get(most_common[0][0], "") if most_common else ""
    )


def _read_quantisation(config: dict[str, Any]) -> str:
    quantisation = config.get("quantization_config")
    if not isinstance(quantisation, dict):
        return ""
    if quantisation.get("load_in_4bit"):
        return "int4"
    return (
        "int8"
        if quantisation.get("load_in_8bit")
        else str(quantisation.get("quant_method") or "unknown")
    )


def _has_template(folder: Path) -> bool:
    if any((folder / name).is_file() for name in ("chat_template.jinja", "chat_template.json")):
        return True
    try:
        return bool(read_json_object(folder / "tokenizer_config.json").get("chat_template"))
    except (OSError, ValueError):
        return False


def _first_whole_number(config: dict[str, Any], *names: str) -> int:
    """The first of the fields that holds a positive whole number, else 0."""
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0


def _first_text(values: Any) -> str:
    return str(values[0]) if isinstance(values, list) and values else ""
