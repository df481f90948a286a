"""The engines that serve a local model: their programs, and the command line of each.

Sources: `vllm serve --help`, SGLang's and llama.cpp's documentation of their servers.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import TargetSpec
from evalcore.targets.huggingface.messages import HuggingFaceOptions, LoadError
from evalcore.targets.huggingface.model_files import locate_model, read_metadata

HUB_KEY = "HF_TOKEN"
_KEY_VARIABLE = re.compile(r"(?i)key|token|secret|passw|credential")
_LLAMA_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(:[\w.-]+)?")
_GGUF_PART = re.compile(r"-(\d{5})-of-\d{5}$")


@dataclass(frozen=True)
class EngineProgram:
    """One engine: its program, the command that installs it, where it says its version, the
    requests that it can batch by its own defaults, and the options of the target that it has no
    flag for."""

    title: str
    program: str
    install: str
    version_path: str
    version_field: str
    width: int
    unsupported: tuple[str, ...]


ENGINES: dict[str, EngineProgram] = {
    "vllm": EngineProgram(
        *("vLLM", "vllm", "pip install vllm", "/version", "version", 256), ("threads",)
    ),
    "sglang": EngineProgram(
        *("SGLang", "sglang", "pip install sglang", "/get_server_info", "version", 256),
        ("threads", "adapter"),
    ),
    "llamacpp": EngineProgram(
        *("llama.cpp", "llama-server", "brew install llama.cpp", "/props", "build_info", 4),
        ("dtype", "revision", "trust_remote_code"),
    ),
}
_NEVER_SUPPORTED = ("attn_implementation", "batch_tokens")


def find_program(engine: str) -> str:
    """The path of an engine's program, on PATH or beside this Python. Raises LoadError naming the
    command that installs it."""
    about = ENGINES[engine]
    folders = os.pathsep.join((os.environ.get("PATH", ""), str(Path(sys.executable).parent)))
    program = shutil.which(about.program, path=folders)
    if program is None:
        raise LoadError(
            "engine_missing",
            Note("engine_no_program", engine=engine, program=about.program, install=about.install),
        )
    return program


def locate_served_model(key: str, options: HuggingFaceOptions) -> tuple[str, Path | None]:
    """What a server is to load, and its file or folder where that is here; touches no network.
    Raises LoadError, UsageError."""
    reference = key.removeprefix("hf:").strip()
    path = Path(reference).expanduser()
    if reference and path.is_file() and path.suffix == ".gguf":
        return str(path.resolve()), path.resolve()
    if options.engine != "llamacpp":
        located = locate_model(key, options.revision)
        if located.path is not None and not options.allow_pickle:
            _check_no_pickle(located.path)
        return str(located.path or located.reference), located.path
    if path.is_dir():
        file = _find_gguf(path.resolve())
        return str(file), file
    if not _LLAMA_HUB_ID.fullmatch(reference):
        raise LoadError("path_missing", Note("engine_no_gguf", reference=reference))
    return reference, None


def _check_no_pickle(folder: Path) -> None:
    formats = {file.suffix for file in folder.iterdir()}
    if formats & {".bin", ".pt", ".pth"} and not formats & {".safetensors", ".gguf"}:
        raise LoadError("pickle_only", Note("engine_pickle", name=folder.name))


def _find_gguf(folder: Path) -> Path:
    """The only GGUF file of a folder; of a split one its first part."""
    files = [
        file
        for file in sorted(folder.glob("*.gguf"))
        if not file.name.startswith("mmproj")
        and (match := _GGUF_PART.search(file.stem), match is None or match[1] == "00001")[1]
    ]
    if len(files) != 1:
        names = ", ".join(file.name for file in files[:5]) or "none"
        raise LoadError("path_missing", Note("engine_one_gguf", folder=folder, names=names))
    return files[0]


def check_served_options(spec: TargetSpec, options: HuggingFaceOptions) -> None:
    """Raises UsageError for an option that the engine has no flag for."""
    default = HuggingFaceOptions()
    for name in (*ENGINES[options.engine].unsupported, *_NEVER_SUPPORTED):
        if getattr(options, name) != getattr(default, name):
            raise UsageError(
                Note("engine_option", owner=spec.key, engine=options.engine, name=name)
            )
    if options.dtype in ("int8", "int4"):
        raise UsageError(Note("engine_quantize", owner=spec.key, engine=options.engine))
    if options.engine == "vllm" and options.device == "cpu":
        raise UsageError(Note("engine_device", owner=spec.key))
    try:
        shlex.split(options.server_args)
    except ValueError as error:
        raise UsageError(Note("engine_server_args", owner=spec.key, problem=error)) from None


def build_server_command(
    program: str, model: str, name: str, port: int, options: HuggingFaceOptions
) -> list[str]:
    """The command line of a server. What must hold stands last: the last of two flags counts."""
    served = name
    if options.engine == "llamacpp":
        words = [program, "--model" if Path(model).exists() else "--hf-repo", model, "--jinja"]
        flags = _list_llama_flags(options)
    else:
        words = [
            program,
            "serve",
            *([model] if options.engine == "vllm" else ["--model-path", model]),
        ]
        words += ["--trust-remote-code"] if options.trust_remote_code else []
        flags = _list_checkpoint_flags(model, options)
        if options.adapter:
            adapter = locate_model(options.adapter, config="adapter_config.json")
            words += ["--enable-lora", "--lora-modules"]
            words += [f"{name}={adapter.path or adapter.reference}"]
            served = f"{name}-base"
    for flag, value in flags.items():
        words += [flag, str(value)] if value is not None else []
    words += shlex.split(options.server_args)
    words += ["--alias" if options.engine == "llamacpp" else "--served-model-name", served]
    return [*words, "--host", "127.0.0.1", "--port", str(port)]


def _list_llama_flags(options: HuggingFaceOptions) -> dict[str, Any]:
    """Flags of llama.cpp, None for one that is left out; its context is shared by all rows."""
    rows = options.batch_size
    return {
        "--ctx-size": options.context * (rows or 1) or None,
        "--parallel": rows or None,
        "--threads": options.threads or None,
        "--n-gpu-layers": 0 if options.device == "cpu" else None,
        "--lora": options.adapter or None,
        "--chat-template-file": options.chat_template or None,
    }


def _list_checkpoint_flags(model: str, options: HuggingFaceOptions) -> dict[str, Any]:
    """Flags of vLLM and SGLang, None for one that is left out. The sampling of the model's own
    files is switched off: it would differ from what the record of an answer says."""
    is_vllm = options.engine == "vllm"
    safe = not options.allow_pickle and not model.endswith(".gguf")
    return {
        "--dtype": _choose_dtype(model, options),
        "--revision": options.revision or None,
        "--load-format": "safetensors" if safe else None,
        "--max-model-len" if is_vllm else "--context-length": options.context or None,
        "--max-num-seqs" if is_vllm else "--max-running-requests": options.batch_size or None,
        "--generation-config" if is_vllm else "--sampling-defaults": (
            "vllm" if is_vllm else "openai"
        ),
        "--chat-template": options.chat_template or None,
        "--device": "cpu" if options.device == "cpu" else None,
    }


def _choose_dtype(model: str, options: HuggingFaceOptions) -> str | None:
    """The precision to ask for: `auto` is that of the weights, where servers halve float32."""
    if options.dtype != "auto":
        return options.dtype
    folder = Path(model)
    if folder.is_dir() and read_metadata(folder).dtype == "float32":
        return "float32"
    return None


def build_server_environment(token: str | None, device: str, offline: bool) -> dict[str, str]:
    """This environment without keys, but for the Hub's, and without reports to anybody."""
    inherited = {
        name: value for name, value in os.environ.items() if not _KEY_VARIABLE.search(name)
    }
    number = device.partition(":")[2]
    return {
        **inherited,
        "DO_NOT_TRACK": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PYTHONUNBUFFERED": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "VLLM_HOST_IP": "127.0.0.1",
        "VLLM_NO_USAGE_STATS": "1",
        **({"CUDA_VISIBLE_DEVICES": number} if number.isdigit() else {}),
        **({"HF_HUB_OFFLINE": "1"} if offline else {}),
        **({HUB_KEY: token} if token else {}),
    }
