"""Local models before they are loaded: what this machine offers, and whether a model would fit.

Only JSON and headers of weights are read and nothing heavy is imported, so that a page may ask at
every click. What is said here is what the process that loads the model would say first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record, TargetSpec
from evalcore.runner.run_request import ConnectionReport
from evalcore.targets.huggingface import engines, load, machine
from evalcore.targets.huggingface.folder_checks import read_json_object, read_template_file
from evalcore.targets.huggingface.machine import check_loadable
from evalcore.targets.huggingface.messages import (
    HuggingFaceOptions,
    LoadError,
    read_huggingface_options,
)
from evalcore.targets.huggingface.model_files import (
    ModelMetadata,
    fetch_model,
    is_hub_offline,
    list_cached_models,
    locate_model,
    memory_needed,
    read_metadata,
)

PREFIX = "hf:"
_LIBRARIES = ("torch", "transformers")
_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_LARGEST_TEMPLATE = 1024 * 1024


class Machine(Record, frozen=True):
    """What there is to choose from: `models` of the local cache with their bytes, `devices` and
    `dtypes` with `auto` first. `missing` names the libraries of the extra `local` that are absent.
    """

    models: dict[str, int]
    devices: tuple[str, ...]
    dtypes: tuple[str, ...]
    missing: tuple[str, ...] = ()


class ModelInspection(Record, frozen=True):
    """A model as a run would find it. `problem` is what would stop the run, in words, with its
    `kind` (that of a LoadError, or `option` or `missing_extra`).

    `about` is None where the model could not be looked at; `where` tells whether that is because
    it has yet to be downloaded. `needed` and `available` are bytes on `device`, 0 and None where
    unknown; `context` is in tokens; `tools` tells whether the chat template speaks of tools.
    `own_code` and `pickle` are what a person should know before trusting it; `adapter_base` is the
    model for which the adapter says it was made.
    """

    kind: str = ""
    problem: str = ""
    where: Literal["here", "download", "nowhere"] = "nowhere"
    about: ModelMetadata | None = None
    device: str = ""
    needed: int = 0
    available: int | None = None
    context: int = 0
    template: bool = False
    tools: bool = False
    tokenizer: bool = True
    own_code: bool = False
    pickle: bool = False
    adapter_base: str = ""


def describe_machine() -> Machine:
    """The choices on this machine."""
    return Machine(
        models={model.reference: model.size for model in list_cached_models()},
        devices=("auto", *machine.list_devices()),
        dtypes=("auto", *machine.list_dtypes("auto")),
        missing=tuple(name for name in _LIBRARIES if find_spec(name) is None),
    )


def inspect_local_model(target: str, options: Mapping[str, Any]) -> ModelInspection:
    """Look at a model without loading it; raises nothing, a problem is part of the answer."""
    try:
        read = read_huggingface_options(TargetSpec(target, dict(options)))
        if read.engine != "transformers":
            return _inspect_served_model(TargetSpec(target, dict(options)), read)
        model_ref = locate_model(target, read.revision)
        if model_ref.path is None:
            if is_hub_offline():
                fetch_model(model_ref, read, lambda line: None)  # says why not
            return _flag_missing_libraries(ModelInspection(where="download"))
        return _flag_missing_libraries(_inspect_folder(model_ref.path, read))
    except LoadError as error:
        return ModelInspection(kind=error.kind, problem=str(error))
    except (UsageError, OSError) as error:
        return ModelInspection(kind="option", problem=str(error))


def _inspect_served_model(spec: TargetSpec, options: HuggingFaceOptions) -> ModelInspection:
    """What can be said of a model before its server is started; whether it fits, the server knows.
    Raises UsageError."""
    engines.check_served_options(spec, options)
    engines.find_program(options.engine)
    _, path = engines.locate_served_model(spec.key, options)
    return ModelInspection(where="here" if path else "download", context=options.context)


def report_local_model(target: str, options: Mapping[str, Any]) -> ConnectionReport:
    """What a test of the connection says of a local model."""
    inspection = inspect_local_model(target, options)
    if inspection.problem:
        return ConnectionReport(ok=False, message=inspection.problem)
    engine = str(options.get("engine") or "transformers")
    if engine != "transformers" and inspection.where == "here":
        return ConnectionReport(ok=True, message=Note("local_served", engine=engine))
    if inspection.about is None:
        message = Note("local_downloads")
        return ConnectionReport(ok=True, message=message)
    free = "?" if inspection.available is None else f"{inspection.available / 1e9:.1f}"
    message = Note(
        "local_fits", needed=f"{inspection.needed / 1e9:.1f}", free=free, device=inspection.device
    )
    return ConnectionReport(ok=True, message=message)


def _inspect_folder(folder: Path, options: HuggingFaceOptions) -> ModelInspection:
    """What the folder says; the first problem that loading would meet is told with it."""
    about = read_metadata(folder)
    device = machine.resolve_device(options.device)
    kind = problem = base = ""
    tokenizer_folder = folder
    try:
        if options.adapter:
            added = locate_model(options.adapter, config=load.CONFIG).path
            if added is not None:
                load.check_adapter(added, options)
                base = load.read_base_model(added)
                tokenizer_folder = added if (added / "tokenizer.json").is_file() else folder
        check_loadable(folder, about, options)
        _check_context(about, options)
    except LoadError as error:
        kind, problem = error.kind, str(error)
    except UsageError as error:
        kind, problem = "option", str(error)
    try:
        template = (
            read_template_file(options.chat_template)
            if options.chat_template
            else _read_chat_template(tokenizer_folder)
        )
    except UsageError as error:
        template, kind, problem = "", "option", str(error)
    return ModelInspection(
        kind=kind,
        problem=problem,
        where="here",
        about=about,
        device=device,
        needed=memory_needed(about, options.dtype),
        available=machine.memory_available(device) if device in machine.list_devices() else None,
        context=options.context or about.context,
        template=bool(template),
        tools=bool(re.search(r"\btools\b", template)),
        tokenizer=about.has_tokenizer or tokenizer_folder != folder,
        own_code=about.own_code,
        pickle="safetensors" not in about.formats,
        adapter_base=base,
    )


def _check_context(about: ModelMetadata, options: HuggingFaceOptions) -> None:
    if 0 < about.context < options.context:
        raise UsageError(Note("context_large", context=options.context, most=about.context))


def _flag_missing_libraries(inspection: ModelInspection) -> ModelInspection:
    """A model that is fine cannot be loaded all the same where the libraries are absent."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if not missing or inspection.problem:
        return inspection
    problem = (
        f"models on this machine need {' and '.join(missing)}; install them with: "
        "pip install 'evalboard[local]'"
    )
    return msgspec.structs.replace(inspection, kind="missing_extra", problem=problem)


def _read_chat_template(folder: Path) -> str:
    """The text of a chat template, empty where there is none or it cannot be read."""
    try:
        for name in _TEMPLATES:
            file = folder / name
            if file.is_file() and file.stat().st_size <= _LARGEST_TEMPLATE:
                return file.read_text(encoding="utf-8", errors="replace")
        template = read_json_object(folder / "tokenizer_config.json").get("chat_template")
    except (OSError, ValueError):
        return ""
    return template if isinstance(template, str) else str(template or "")
