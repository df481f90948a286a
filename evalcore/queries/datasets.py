"""Every data set there is: bundled, fetched and own ones, with their numbers and their cases.

A set has a key that a link can hold: `bundled:BENCHMARK`, `fetched:NAME`, `own:BENCHMARK:NAME`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pandas as pd

from evalcore.catalog import BenchmarkCard, benchmark_cards
from evalcore.queries import gated
from evalcore.records import Record, Sample
from evalcore.settings import Settings
from evalcore.store import dataset_index
from evalcore.store.dataset_index import CaseRow
from evalcore.store.dataset_index import DatasetSummary as Summary
from evalcore.store.own_datasets import SOURCE, OwnCard, load_own_cards, own_folder

Origin = Literal["bundled", "fetched", "own"]
ORIGINS: tuple[Origin, ...] = ("bundled", "fetched", "own")
_BUNDLED_LICENCE = "MIT"
_COLUMNS = [field.name for field in msgspec.structs.fields(CaseRow)]


class Entry(Record, frozen=True):
    """A data set. `dataset` is what a run is given for it ("" for the bundled one), `options` what
    its benchmark needs to read it, `source` where fetched data is from; the rest is its card's."""

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
    def place(self) -> Path:
        return Path(self.path)


def entries(settings: Settings) -> list[Entry]:
    """Every data set, by benchmark and then from the bundled to the own ones."""
    cards = benchmark_cards()
    found = [_bundled(card, settings) for card in cards.values() if card.dataset]
    found += _fetched(settings)
    found += [_own(card, settings) for card in load_own_cards(settings)]
    order = list(cards)
    return sorted(found, key=lambda one: (order.index(one.benchmark), ORIGINS.index(one.origin)))


def entry(settings: Settings, key: str) -> Entry | None:
    """One data set, None where there is none of that key."""
    return next((one for one in entries(settings) if one.key == key), None)


def added(settings: Settings, benchmark: str) -> list[Entry]:
    """The fetched and own sets that a run of a benchmark can take instead of the bundled one."""
    found = [one for one in entries(settings) if one.benchmark == benchmark]
    return [one for one in found if one.origin != "bundled"]


def summary(settings: Settings, one: Entry) -> Summary | None:
    """The numbers of a set, None while its present state has not been read yet."""
    return dataset_index.load_dataset_summary(settings, version(one))


def version(one: Entry) -> str:
    """Changes whenever a file of the set does."""
    return dataset_index.dataset_signature(one.place, one.options)


def cases(settings: Settings, one: Entry) -> pd.DataFrame:
    """A row per case of a set whose numbers are ready; gated text is no part of it."""
    rows = dataset_index.load_case_rows(settings, version(one))
    return pd.DataFrame([msgspec.structs.astuple(row) for row in rows], columns=_COLUMNS)


def chosen(
    frame: pd.DataFrame,
    *,
    metric: str = "",
    difficulty: str = "",
    dialect: str = "",
    text: str = "",
) -> pd.DataFrame:
    """The cases that fit every filter; `text` is looked for in ids and in what is asked."""
    kept = pd.Series(True, index=frame.index)
    for name, value in (("metric", metric), ("difficulty", difficulty), ("dialect", dialect)):
        if value:
            kept &= frame[name].astype(str) == value
    for word in text.lower().split():
        within = frame["id"].str.lower().str.contains(word, regex=False)
        kept &= within | frame["text"].str.lower().str.contains(word, regex=False)
    return frame[kept]


def case(settings: Settings, one: Entry, row: Sequence[Any]) -> tuple[Sample, bool]:
    """The sample of a row of `cases`, and whether its text is hidden."""
    sample = dataset_index.load_case_sample(settings, version(one), CaseRow(*row))
    if gated.is_gated(sample) and not settings.show_gated:
        return gated.bare_sample(sample), True
    return sample, False


def about(one: Entry) -> str:
    """The card text of a bundled set, which is ours, without its heading; "" for any other."""
    path = one.place / "README.md"
    if one.origin != "bundled" or not path.is_file():
        return ""
    return path.read_text(encoding="utf-8").partition("\n")[2].strip()


def _bundled(card: BenchmarkCard, settings: Settings) -> Entry:
    return Entry(
        key=f"bundled:{card.key}",
        origin="bundled",
        benchmark=card.key,
        name=card.dataset,
        path=str(Path(settings.datasets) / card.dataset),
        licence=_BUNDLED_LICENCE,
    )


def _own(card: OwnCard, settings: Settings) -> Entry:
    return Entry(
        key=f"own:{card.benchmark}:{card.name}",
        origin="own",
        benchmark=card.benchmark,
        name=card.name,
        path=str(own_folder(settings, card.benchmark, card.name)),
        dataset=card.name,
        licence=card.licence,
        card=card,
    )


def _fetched(settings: Settings) -> list[Entry]:
    """The folders with a note of where they are from; their names begin with their benchmark."""
    found = []
    for path in sorted((settings.data_dir / "datasets").glob(f"*/{SOURCE}")):
        name = path.parent.name
        benchmark = next((key for key in benchmark_cards() if name.split("-")[0] == key), "")
        try:
            told = msgspec.json.decode(path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            continue
        if benchmark and isinstance(told, dict):
            found.append(_of_note(benchmark, path.parent, told))
    return found


def _of_note(benchmark: str, folder: Path, told: dict[str, Any]) -> Entry:
    commit = str(told.get("commit") or "")[:12]
    source = [str(told.get(name) or "") for name in ("dataset", "part", "origin", "version")]
    return Entry(
        key=f"fetched:{folder.name}",
        origin="fetched",
        benchmark=benchmark,
        name=folder.name,
        path=str(folder),
        dataset=folder.name,
        options={"split": told["part"]} if benchmark == "gaia" and told.get("part") else {},
        licence=str(told.get("licence") or ""),
        source=" · ".join(filter(None, [*source, commit])),
    )
