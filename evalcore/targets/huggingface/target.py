"""`hf:` targets: a model of the Hugging Face kind on this machine, in a process of its own.

This side stays light: it writes requests down and reads answers. The process that owns the model
gathers them into batches (`scheduler`), and its state is found in the card while it works.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.records import Completion, GenerationRequest, TargetSpec, content_hash
from evalcore.secrets import Secrets, redact_completion
from evalcore.settings import Settings
from evalcore.targets.base import TargetInfo
from evalcore.targets.huggingface import machine
from evalcore.targets.huggingface.messages import StartOrder, StatsEvent
from evalcore.targets.huggingface.model_ref import ModelRef, locate_model
from evalcore.targets.huggingface.options import HuggingFaceOptions, read_huggingface_options
from evalcore.targets.huggingface.process import ModelProcess
from evalcore.targets.openai_request import derive_epoch_seed, merge_sampling

_WIDTH = {"cpu": 64, "cuda": 512}  # requests that the batches can make use of
_EXACT_WIDTH = 4
_HUB_KEY = "HF_TOKEN"


def create_huggingface_target(
    spec: TargetSpec, settings: Settings, secrets: Secrets
) -> HuggingFace:
    """The target of a spec, not yet loaded; raises UsageError for a bad path or option."""
    options = read_huggingface_options(spec)
    return HuggingFace(spec, options, locate_model(spec.key, options.revision), secrets)


class HuggingFace:
    """A local model; `generate` may be called as often at once as `info.max_in_flight` says."""

    def __init__(
        self, spec: TargetSpec, options: HuggingFaceOptions, model_ref: ModelRef, secrets: Secrets
    ) -> None:
        self.key, self.model_ref = spec.key, model_ref
        self._options, self._secrets = options, secrets
        self._process: ModelProcess | None = None
        self._on_progress: Callable[[str], None] = lambda line: None
        width = _EXACT_WIDTH if options.batch_size == 1 else _compute_request_width(options)
        # a folder's own
        name = model_ref.path.name if model_ref.path and not model_ref.revision else ""
        self.info = TargetInfo(
            kind="local",
            title=name or model_ref.reference,
            max_in_flight=width,
            start_in_flight=width,
            revision=compute_revision(model_ref, options),
            cacheable=True,
            tools=None,
            card={"model": model_ref.reference, "revision": model_ref.revision},
        )

    def __repr__(self) -> str:
        return f"HuggingFace({self.key!r})"

    async def open(self, progress: Callable[[str], None]) -> None:
        """Load the model; raises LoadError (a UsageError) with a remedy. `progress` is told of the
        speed, too, about once a second while the model works."""
        await self.close()
        self._on_progress = progress
        start = StartOrder(self.key, self._options)
        token = self._secrets.get(_HUB_KEY)
        process = ModelProcess(start, self._report_stats, {_HUB_KEY: token} if token else {})
        report = await process.open(progress)
        self._process = process
        self.info.card.update(report)
        self.info = msgspec.structs.replace(self.info, tools=bool(report.get("tools")))
        progress(_format_load_summary(report))

    async def generate(self, request: GenerationRequest) -> Completion:
        """One answer; a prompt that does not fit into the context has the finish reason
        `context_overflow`. Raises TargetFailure."""
        if self._process is None:
            raise UsageError(f"{self.key} was not opened")
        sampling = merge_sampling(request.sampling, self._options.sampling)
        if sampling.seed is not None:
            seed = derive_epoch_seed(sampling.seed, request.epoch)
            sampling = msgspec.structs.replace(sampling, seed=seed)
        model_request = msgspec.structs.replace(request, sampling=sampling, input={})
        completion = await self._process.request_completion(model_request)
        completion = redact_completion(completion, [self._secrets.get(_HUB_KEY)])
        return msgspec.structs.replace(completion, model=self.info.title)

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    def _report_stats(self, stats: StatsEvent) -> None:
        facts = {name: getattr(stats, name) for name in stats.__struct_fields__}
        self.info.card.update(facts)
        self._on_progress(
            f"{stats.tokens_per_second:,.0f} tokens/s, {stats.process_bytes / 1e9:.1f} GB, "
            f"{stats.batch} in the batch, {stats.waiting} waiting"
        )


def compute_revision(model_ref: ModelRef, options: HuggingFaceOptions) -> str:
    """Changes when the files of the model or of its adapter do, by their sizes and times."""
    folders = [model_ref.path] if model_ref.path else []
    if options.adapter:
        folders += (
            [adapter_folder] if (adapter_folder := _find_adapter_folder(options.adapter)) else []
        )
    files = [fact for folder in folders for fact in _list_file_facts(folder)]
    return content_hash([model_ref.reference, model_ref.revision, options.adapter, files])


def _find_adapter_folder(reference: str) -> Path | None:
    folder = Path(reference).expanduser()
    return folder if folder.is_dir() else None


def _list_file_facts(folder: Path) -> list[list[Any]]:
    facts = []
    for file in sorted(folder.iterdir()):
        if file.is_file():
            about = file.stat()
            facts.append([file.name, about.st_size, about.st_mtime_ns])
    return facts


def _compute_request_width(options: HuggingFaceOptions) -> int:
    kind = machine.resolve_device(options.device).partition(":")[0]
    return max(_WIDTH.get(kind, _WIDTH["cpu"]), 2 * options.batch_size)


def _format_load_summary(report: dict[str, Any]) -> str:
    parameters, memory = int(report["parameters"]), int(report["memory_bytes"])
    return (
        f"{report['architecture']}: {parameters / 1e6:,.1f} M parameters, {memory / 1e6:,.0f} MB, "
        f"{report['dtype']} on {report['device']}, loaded in {report['load_seconds']:.1f} s"
    )
