"""The rows of `evalcore list`: benchmarks, kinds of target, datasets and runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore.catalog import TargetKindCard
from evalcore.queries import runs
from evalcore.settings import Settings

Row = dict[str, Any]
_REMEDY = "restore what is damaged from a backup, or delete the folder; nothing in it was changed"


def build_listing(what: str, settings: Settings) -> list[Row]:
    return _LISTS[what](settings)


def find_listing_problems(what: str, settings: Settings) -> list[str]:
    """What of the list is not there and why: plug-ins that are left out, wrong members."""
    if what not in ("benchmarks", "targets"):
        return []
    own = catalog.find_membership_problems(settings.suites) if what == "benchmarks" else []
    return [*map(str, catalog.list_skipped_plugins()), *own]


def as_text(table: Sequence[Row]) -> str:
    """Columns, padded; nested values are left to the JSON form."""
    if not table:
        return "none"
    names = [name for name, value in table[0].items() if not isinstance(value, dict | list)]
    cells = [names, *([str(row.get(name, "")) for name in names] for row in table)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def _list_benchmarks(settings: Settings) -> list[Row]:
    return [
        {
            "key": card.key,
            "suite": card.suite,
            "title": card.title["en"],
            "metrics": {metric.key: metric.weight for metric in card.metrics},
            "options": {option.name: option.default for option in card.options},
        }
        for card in catalog.benchmark_cards().values()
    ]


def _list_target_kinds(settings: Settings) -> list[Row]:
    return [
        {
            "kind": card.prefix,
            "form": card.form,
            "title": card.title["en"],
            "options": [option.name for option in card.options],
            "examples": _list_target_examples(card, settings),
            "for_example": ", ".join(_list_target_examples(card, settings)),
        }
        for card in catalog.target_kinds().values()
    ]


def _list_target_examples(card: TargetKindCard, settings: Settings) -> list[str]:
    """The examples of a kind; of services all that have a name."""
    return list(catalog.load_applications(settings) if card.prefix == "app" else card.examples)


def _list_dataset_folders(settings: Settings) -> list[Row]:
    folders = sorted(path for path in Path(settings.datasets).glob("*") if path.is_dir())
    return [
        {
            "name": folder.name,
            "cases": sum(_count_jsonl_rows(path) for path in folder.glob("*.jsonl")),
            "files": {
                path.name: _count_jsonl_rows(path) for path in sorted(folder.glob("*.jsonl"))
            },
        }
        for folder in folders
    ]


def _count_jsonl_rows(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _list_runs(settings: Settings) -> list[Row]:
    return [
        {
            "run_id": row.run_id,
            "state": row.state,
            "target": row.target.identity,
            "scores": {
                key: None if score is None else round(score, 1) for key, score in row.scores.items()
            },
            "problem": f"{row.problem}; {_REMEDY}" if row.state == "broken" else "",
        }
        for row in runs.all_rows(settings.run_roots)
    ]


_LISTS: dict[str, Callable[[Settings], list[Row]]] = {
    "benchmarks": _list_benchmarks,
    "targets": _list_target_kinds,
    "datasets": _list_dataset_folders,
    "runs": _list_runs,
}
