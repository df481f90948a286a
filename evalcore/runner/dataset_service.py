"""Heavy verbs about data sets: `python -m evalcore.runner.dataset_service VERB`, JSON in and out.

As `service`, but what comes in may be hostile: the process has limits of memory and of time.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalcore.access import Visitor
from evalcore.benchmarks.base import DatasetSource
from evalcore.errors import EvalboardError
from evalcore.runner import upload_check, upload_template
from evalcore.runner.column import dataset_hash
from evalcore.runner.plan import create_benchmark
from evalcore.runner.upload_records import DatasetLocation, Upload, Validation
from evalcore.settings import Settings, override_data_folder
from evalcore.store import dataset_index, own_datasets
from evalcore.store.dataset_index import DatasetSummary
from evalcore.store.own_datasets import OwnCard

_MAX_MEMORY = 6 << 30
_MAX_SECONDS = 150

Verb = Callable[[Mapping[str, Any], Settings], Any]


def handle_index(payload: Mapping[str, Any], settings: Settings) -> int:
    """Read data sets and leave their indexes; what cannot be loaded says why in its own."""
    locations = msgspec.convert(payload["sets"], list[DatasetLocation])
    for location in locations:
        version = dataset_index.dataset_signature(Path(location.path), location.options)
        if dataset_index.load_dataset_summary(settings, version) is None:
            dataset_index.write_dataset_index(settings, version, *_build_dataset_index(location))
    return len(locations)


def _build_dataset_index(location: DatasetLocation) -> tuple[list[Any], DatasetSummary]:
    try:
        benchmark = create_benchmark(location.benchmark, location.options)
        samples = benchmark.load_dataset(DatasetSource(path=location.path))
    except EvalboardError as error:
        return [], DatasetSummary(problem=str(error)[:500])
    return samples, dataset_index.summarize_samples(samples, dataset_hash(samples))


def handle_validate(payload: Mapping[str, Any], settings: Settings) -> Validation:
    """Look at an upload; a valid one lies in the room as a data set for as long as that stays."""
    return upload_check.validate_upload(
        _parse_upload(payload), settings, _create_upload_folder(payload)
    )


def handle_lines(payload: Mapping[str, Any], settings: Settings) -> dict[str, list[int]]:
    """Where the cases of a valid upload stand in its file."""
    return upload_check.map_upload_lines(_parse_upload(payload), settings)


def handle_save(payload: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Validate and, if nothing is wrong, keep: {"validation"} and, where it was kept, {"card"}."""
    upload = _parse_upload(payload)
    card = msgspec.convert(payload["card"], OwnCard)
    own_datasets.check_card(settings, card)
    visitor = msgspec.convert(payload["visitor"], Visitor)
    ready = _create_upload_folder(payload)
    validation = upload_check.validate_upload(upload, settings, ready)
    if not validation.ok:
        return {"validation": validation}
    filled_card = msgspec.structs.replace(
        card,
        hash=validation.summary.hash,
        samples=validation.summary.samples,
        file=upload.file[:120],
    )
    saved_card = own_datasets.install_own_dataset(
        settings, visitor, ready, filled_card, replace=bool(payload["replace"])
    )
    return {"validation": validation, "card": saved_card}


def handle_template(
    payload: Mapping[str, Any], settings: Settings
) -> upload_template.UploadPart | None:
    """What the cases of one part of a benchmark look like."""
    with upload_check.open_row_loader(payload["benchmark"], settings) as can_load:
        return upload_template.describe_part(
            payload["benchmark"], payload["part"], settings, can_load
        )


def _parse_upload(payload: Mapping[str, Any]) -> Upload:
    return msgspec.convert(payload["upload"], Upload)  # its content comes as base64


def _create_upload_folder(payload: Mapping[str, Any]) -> Path:
    """A folder on the disk of the data sets, so that it can be moved to them; who asked, and
    outlives this process, removes it."""
    path = Path(payload["room"])
    path.mkdir(parents=True)
    return path


VERBS: dict[str, Verb] = {
    "index": handle_index,
    "validate": handle_validate,
    "lines": handle_lines,
    "save": handle_save,
    "template": handle_template,
}


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_SECONDS, _MAX_SECONDS))
    payload = json.loads(sys.stdin.read())
    try:
        settings = msgspec.convert(payload.pop("settings"), Settings)
        with override_data_folder(settings.data):
            result: dict[str, Any] = {"ok": VERBS[sys.argv[1]](payload, settings)}
    except (EvalboardError, msgspec.ValidationError, OSError, MemoryError) as error:
        result = {"error": str(error) or "there is not enough memory for this"}
    sys.stdout.buffer.write(msgspec.json.encode(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
