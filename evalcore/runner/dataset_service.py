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
from evalcore.runner.upload_records import Place, Upload, Validation
from evalcore.settings import Settings, override_data_folder
from evalcore.store import dataset_index, own_datasets
from evalcore.store.dataset_index import DatasetSummary
from evalcore.store.own_datasets import OwnCard

_MOST_MEMORY = 6 << 30
_MOST_SECONDS = 150

Verb = Callable[[Mapping[str, Any], Settings], Any]


def index(given: Mapping[str, Any], settings: Settings) -> int:
    """Read data sets and leave their indexes; what cannot be loaded says why in its own."""
    places = msgspec.convert(given["sets"], list[Place])
    for one in places:
        version = dataset_index.dataset_signature(Path(one.path), one.options)
        if dataset_index.load_dataset_summary(settings, version) is None:
            dataset_index.write_dataset_index(settings, version, *_indexed(one))
    return len(places)


def _indexed(one: Place) -> tuple[list[Any], DatasetSummary]:
    try:
        benchmark = create_benchmark(one.benchmark, one.options)
        samples = benchmark.load_dataset(DatasetSource(path=one.path))
    except EvalboardError as error:
        return [], DatasetSummary(problem=str(error)[:500])
    return samples, dataset_index.summarize_samples(samples, dataset_hash(samples))


def validate(given: Mapping[str, Any], settings: Settings) -> Validation:
    """Look at an upload; a valid one lies in the room as a data set for as long as that stays."""
    return upload_check.validate(_upload(given), settings, _room(given))


def lines(given: Mapping[str, Any], settings: Settings) -> dict[str, list[int]]:
    """Where the cases of a valid upload stand in its file."""
    return upload_check.lines_of(_upload(given), settings)


def save(given: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Validate and, if nothing is wrong, keep: {"validation"} and, where it was kept, {"card"}."""
    upload = _upload(given)
    card = msgspec.convert(given["card"], OwnCard)
    own_datasets.check_card(settings, card)
    visitor = msgspec.convert(given["visitor"], Visitor)
    ready = _room(given)
    found = upload_check.validate(upload, settings, ready)
    if not found.ok:
        return {"validation": found}
    told = msgspec.structs.replace(
        card, hash=found.summary.hash, samples=found.summary.samples, file=upload.file[:120]
    )
    kept = own_datasets.install_own_dataset(
        settings, visitor, ready, told, replace=bool(given["replace"])
    )
    return {"validation": found, "card": kept}


def template(given: Mapping[str, Any], settings: Settings) -> upload_template.Part | None:
    """What the cases of one part of a benchmark look like."""
    with upload_check.loads_alone(given["benchmark"], settings) as loads:
        return upload_template.part_of(given["benchmark"], given["part"], settings, loads)


def _upload(given: Mapping[str, Any]) -> Upload:
    return msgspec.convert(given["upload"], Upload)  # its content comes as base64


def _room(given: Mapping[str, Any]) -> Path:
    """A folder on the disk of the data sets, so that it can be moved to them; who asked, and
    outlives this process, removes it."""
    path = Path(given["room"])
    path.mkdir(parents=True)
    return path


VERBS: dict[str, Verb] = {
    "index": index,
    "validate": validate,
    "lines": lines,
    "save": save,
    "template": template,
}


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
    given = json.loads(sys.stdin.read())
    try:
        settings = msgspec.convert(given.pop("settings"), Settings)
        with override_data_folder(settings.data):
            result: dict[str, Any] = {"ok": VERBS[sys.argv[1]](given, settings)}
    except (EvalboardError, msgspec.ValidationError, OSError, MemoryError) as error:
        result = {"error": str(error) or "there is not enough memory for this"}
    sys.stdout.buffer.write(msgspec.json.encode(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
