"""Every data set there is: bundled, fetched and own ones, with their numbers and their cases. A set
has a key that a link can hold: `bundled:BENCHMARK`, `fetched:NAME`, `own:BENCHMARK:NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pandas as pd

from evalcore.catalog import BenchmarkCard, benchmark_cards, find_bundled_folder, is_builtin
from evalcore.records import Record, Sample
from evalcore.settings import Settings
from evalcore.store import datasets
from evalcore.store.datasets import SOURCE_FILE, CaseRow, OwnCard, load_own_cards, own_folder
from evalcore.store.datasets import DatasetSummary as DatasetSummary
from evalcore.store.datasets import list_trashed_versions as list_trashed_versions
from evalcore.views import cases

Origin = Literal["bundled", "fetched", "own"]
ORIGINS: tuple[Origin, ...] = ("bundled", "fetched", "own")
_BUNDLED_LICENCE = "MIT"
_COLUMNS = [field.name for field in msgspec.structs.fields(CaseRow)]


class DatasetEntry(Record, frozen=True):
    """A data set. `dataset` is what a run is given for it ("" for the bundled one), `options` what
    its benchmark needs to read it, `source` where it was fetched from ("": it was not); the rest
    is its card's."""

    key: str
    origin: Origin
    benchmark: str
    name: str
    path: str
    dataset: str = ""
    options: dict[str, Any] = {}
    licence: str = ""
    source: str = ""
    card: OwnCard | None = None

    @property
    def folder(self) -> Path:
        return Path(self.path)


def list_dataset_entries(settings: Settings) -> list[DatasetEntry]:
    """Every data set, by benchmark and then from the bundled to the own ones."""
    cards = benchmark_cards()
    entries = [_build_bundled_entry(card, settings) for card in cards.values() if card.dataset]
    entries += _list_fetched_entries(settings)
    entries += [_build_own_entry(card, settings) for card in load_own_cards(settings)]
    order = list(cards)
    return sorted(
        entries, key=lambda entry: (order.index(entry.benchmark), ORIGINS.index(entry.origin))
    )


def list_added_datasets(settings: Settings, benchmark: str) -> list[DatasetEntry]:
    """The fetched and own sets that a run of a benchmark can take instead of the bundled one."""
    entries = [entry for entry in list_dataset_entries(settings) if entry.benchmark == benchmark]
    return [entry for entry in entries if entry.origin != "bundled"]


def read_dataset_summary(settings: Settings, entry: DatasetEntry) -> DatasetSummary | None:
    """The numbers of a set, None while its present state has not been read yet."""
    return datasets.load_dataset_summary(settings, compute_dataset_version(entry))


def compute_dataset_version(entry: DatasetEntry) -> str:
    """As `dataset_signature` of the set."""
    return datasets.dataset_signature(entry.benchmark, entry.folder, entry.options)


def load_dataset_cases(settings: Settings, entry: DatasetEntry) -> pd.DataFrame:
    """A row per case of a set whose numbers are ready; gated text is no part of it."""
    rows = datasets.load_case_rows(settings, compute_dataset_version(entry))
    return pd.DataFrame([msgspec.structs.astuple(row) for row in rows], columns=_COLUMNS)


def filter_dataset_cases(
    frame: pd.DataFrame,
    *,
    metric: str = "",
    difficulty: str = "",
    dialect: str = "",
    text: str = "",
) -> pd.DataFrame:
    """The cases that fit every filter; `text` is looked for in ids and in what is asked."""
    matches = pd.Series(True, index=frame.index)
    for name, value in (("metric", metric), ("difficulty", difficulty), ("dialect", dialect)):
        if value:
            matches &= frame[name].astype(str) == value
    for word in text.lower().split():
        within = frame["id"].str.lower().str.contains(word, regex=False)
        matches &= within | frame["text"].str.lower().str.contains(word, regex=False)
    return frame[matches]


def load_dataset_case(
    settings: Settings, entry: DatasetEntry, row: Sequence[Any]
) -> tuple[Sample, bool]:
    """The sample of a row of `load_dataset_cases`, and whether its text is hidden."""
    sample = datasets.load_case_sample(settings, compute_dataset_version(entry), CaseRow(*row))
    if cases.is_gated(sample) and not settings.show_gated:
        return cases.bare_sample(sample), True
    return sample, False


def read_dataset_card(entry: DatasetEntry) -> str:
    """The card text of a bundled set, which is ours, without its heading; "" for any other."""
    path = entry.folder / "README.md"
    if entry.origin != "bundled" or not path.is_file():
        return ""
    return path.read_text(encoding="utf-8").partition("\n")[2].strip()


def _build_bundled_entry(card: BenchmarkCard, settings: Settings) -> DatasetEntry:
    return DatasetEntry(
        key=f"bundled:{card.key}",
        origin="bundled",
        benchmark=card.key,
        name=card.dataset,
        path=str(find_bundled_folder(card, settings)),
        licence=_BUNDLED_LICENCE if is_builtin(card.key) else "",
    )


def _build_own_entry(card: OwnCard, settings: Settings) -> DatasetEntry:
    return DatasetEntry(
        key=f"own:{card.benchmark}:{card.name}",
        origin="own",
        benchmark=card.benchmark,
        name=card.name,
        path=str(own_folder(settings, card.benchmark, card.name)),
        dataset=card.name,
        licence=card.licence,
        source=card.source,
        card=card,
    )


def _list_fetched_entries(settings: Settings) -> list[DatasetEntry]:
    """The folders with a note of where they are from; their names begin with their benchmark."""
    entries = []
    for path in sorted((settings.data_dir / "datasets").glob(f"*/{SOURCE_FILE}")):
        name = path.parent.name
        benchmark = next((key for key in benchmark_cards() if name.split("-")[0] == key), "")
        try:
            note = msgspec.json.decode(path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            continue
        if benchmark and isinstance(note, dict):
            entries.append(_build_fetched_entry(benchmark, path.parent, note))
    return entries


def _build_fetched_entry(benchmark: str, folder: Path, note: dict[str, Any]) -> DatasetEntry:
    commit = str(note.get("commit") or "")[:12]
    option = benchmark_cards()[benchmark].fetched_option
    source = [str(note.get(name) or "") for name in ("dataset", "part", "origin", "version")]
    return DatasetEntry(
        key=f"fetched:{folder.name}",
        origin="fetched",
        benchmark=benchmark,
        name=folder.name,
        path=str(folder),
        dataset=folder.name,
        options={option: note["part"]} if option and note.get("part") else {},
        licence=str(note.get("licence") or ""),
        source=" · ".join(filter(None, [*source, commit])),
    )
