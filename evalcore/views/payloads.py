"""Boards, rankings, runs, cases and lists as plain data, for the API and the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evalcore import catalog
from evalcore.catalog import TargetKindCard
from evalcore.errors import UsageError
from evalcore.i18n import DEFAULT, name_code, name_term
from evalcore.plain_text import align_columns, to_single_line
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.views import runs
from evalcore.views.boards import Board, compute_floors
from evalcore.views.comparability import assess_board
from evalcore.views.datasets import list_dataset_entries, read_dataset_summary
from evalcore.views.ranking import SUITE, list_board_orders
from evalcore.views.runs import RunRow

# What is unknown or was not run is None, never 0 and never NaN. Nothing here tells where a file
# lies: reasons of broken runs and the options of a target are left out.

Data = dict[str, Any]

_RUN = (
    *("run_id", "state", "benchmarks", "created_at", "origin", "epochs", "note"),
    *("total", "generated", "scored", "fraction", "outcomes", "errors", "complete", "scores"),
    *("requests", "rate", "eta", "wall", "input_tokens", "output_tokens", "cost"),
    "cost_sources",
)
_CASE = (
    *("benchmark", "metric", "id", "epoch", "difficulty", "case_weight", "weight", "dialect"),
    *("outcome", "score", "evidence_kind", "reason", "cause", "error_type", "note", "extraction"),
    "level",
    *("finish_reason", "latency", "input_tokens", "output_tokens", "cost", "attempts", "cached"),
)
#: Counts that a frame holds as floats wherever one of them is unknown.
_COUNTS = frozenset({"epoch", "difficulty", "input_tokens", "output_tokens", "attempts"})


def board_data(headers: Sequence[RunHeader], board: Board) -> Data:
    """A board: key, suite, published, whole, members, orders, a list of columns, whether each is
    `comparable` with its official board, and floors: per order the scores (0 to 100) of the
    control targets."""
    choices = list_board_orders(board)
    return {
        "key": board.key,
        "suite": board.suite,
        "published": board.published,
        "whole": board.has_all_members,
        "members": list(board.members),
        "orders": choices,
        "columns": [
            {name: getattr(column, name) for name in column.__struct_fields__}
            | {"metrics": list(column.metrics)}
            for column in board.columns.values()
        ],
        "comparable": {
            key: {
                "official_board": column.official_board or None,
                "comparable": column.comparable,
                "reasons": list(column.reasons),
            }
            for key, column in assess_board(board).items()
        },
        "floors": {by: compute_floors(headers, board, "" if by == SUITE else by) for by in choices},
    }


def ranking_data(frame: pd.DataFrame, board: Board) -> list[Data]:
    """The rows of a ranking in its order; `scores` by benchmark and `metrics` by
    "benchmark/metric" are 0 to 100, other fields as `queries.ranking.ranking` names them."""
    rows = []
    for record in frame.to_dict("records"):
        row = {str(name): to_json_value(value) for name, value in record.items()}
        scores = {name: row.pop(name) for name in board.columns}
        metrics = {name: row.pop(name) for name in board.metrics}
        rows.append(row | {"scores": scores, "metrics": metrics})
    return rows


def run_data(row: RunRow) -> Data:
    """A run as it stands now; `target` is the identity of its target."""
    data = {name: getattr(row, name) for name in _RUN}
    target = {"target": row.target.identity, "target_key": row.target.key}
    return data | target | {"benchmarks": list(row.benchmarks)}


def case_data(cases: pd.DataFrame) -> list[Data]:
    """Cases of a run from a page of `queries.cases.case_page`, in the declared order."""
    rows = [
        {name: to_json_value(record[name]) for name in _CASE} for record in cases.to_dict("records")
    ]
    for row in rows:
        row |= {name: int(row[name]) for name in _COUNTS if row[name] is not None}
    return rows


def to_json_value(value: Any) -> Any:
    """A cell of a frame as JSON data: a missing one is None, a time is text in ISO 8601."""
    if pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


# The rows of `evalcore list`: benchmarks, kinds of target, datasets and runs.

Row = dict[str, Any]
_REMEDY = "nothing in it was changed; restore the damaged files from a backup, or delete the folder"


def build_listing(what: str, settings: Settings, language: str = DEFAULT) -> list[Row]:
    """The rows, with titles and states in `language`; programs read them in English."""
    return _LISTS[what](settings, language)


def find_listing_problems(what: str, settings: Settings) -> list[str]:
    """What of the list is not there and why: plug-ins that are left out, wrong members."""
    if what not in ("benchmarks", "targets", "engines"):
        return []
    own = catalog.find_membership_problems(settings.suites) if what == "benchmarks" else []
    return [*map(str, catalog.list_skipped_plugins()), *own]


def as_text(table: Sequence[Row], language: str = DEFAULT) -> str:
    """Columns, padded; nested values are left to the JSON form."""
    if not table:
        return name_term("none", language)
    names = [name for name, value in table[0].items() if not isinstance(value, dict | list)]
    rows = [[_format_cell(row.get(name, ""), language) for name in names] for row in table]
    return align_columns([[name_term(name, language) for name in names], *rows])


def _format_cell(value: Any, language: str) -> str:
    if isinstance(value, bool):
        return name_term("yes" if value else "no", language)
    return to_single_line(value)


def _list_benchmarks(settings: Settings, language: str) -> list[Row]:
    return [
        {
            "key": card.key,
            "suite": card.suite,
            "title": catalog.localize_text(card.title, language),
            "metrics": {metric.key: metric.weight for metric in card.metrics},
            "options": {option.name: option.default for option in card.options},
            "needs": f"pip install 'evalboard[{extra}]'"
            if (extra := catalog.find_missing_extra(card))
            else "",
        }
        for card in catalog.benchmark_cards().values()
    ]


def _list_engines(settings: Settings, language: str) -> list[Row]:
    return [
        {
            "engine": card.name,
            "title": card.title,
            "runs_as": name_term("server" if card.server else "process", language),
        }
        for card in catalog.engine_cards().values()
    ]


def _list_target_kinds(settings: Settings, language: str) -> list[Row]:
    return [
        {
            "kind": card.prefix,
            "form": card.form,
            "title": catalog.localize_text(card.title, language),
            "options": [option.name for option in card.options if not option.secret],
            "examples": _list_target_examples(card, settings),
            "for_example": ", ".join(_list_target_examples(card, settings)),
        }
        for card in catalog.target_kinds().values()
    ]


def _list_target_examples(card: TargetKindCard, settings: Settings) -> list[str]:
    """The examples of a kind; of services all that have a name."""
    if not card.named_targets:
        return list(card.examples)
    try:
        return list(catalog.call_reference(card.named_targets, card.prefix, settings))
    except UsageError:  # a plug-in that fails is no reason to list nothing
        return list(card.examples)


def _list_dataset_folders(settings: Settings, language: str) -> list[Row]:
    """The folders of the bundled sets: the cases as far as they have been read, else the rows."""
    folders = sorted(path for path in Path(settings.datasets).glob("*") if path.is_dir())
    summaries = {
        Path(entry.path): read_dataset_summary(settings, entry)
        for entry in list_dataset_entries(settings)
        if entry.origin == "bundled"
    }
    rows = []
    for folder in folders:
        files = sorted([*folder.glob("*.jsonl"), *folder.glob("*/tasks_*.jsonl")])
        counts = {path.relative_to(folder).as_posix(): _count_jsonl_rows(path) for path in files}
        summary = summaries.get(folder)
        cases = summary.samples if summary and not summary.problem else sum(counts.values())
        rows.append({"name": folder.name, "cases": cases, "files": counts})
    return rows


def _count_jsonl_rows(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _list_runs(settings: Settings, language: str) -> list[Row]:
    return [
        {
            "run_id": row.run_id,
            "state": name_code(row.state, language, "state"),
            "target": row.target.identity,
            "scores": {
                key: None if score is None else round(score, 1) for key, score in row.scores.items()
            },
            "problem": f"{row.problem}; {_REMEDY}" if row.state == "broken" else "",
        }
        for row in runs.all_rows(settings.run_roots)
    ]


_LISTS: dict[str, Callable[[Settings, str], list[Row]]] = {
    "benchmarks": _list_benchmarks,
    "targets": _list_target_kinds,
    "engines": _list_engines,
    "datasets": _list_dataset_folders,
    "runs": _list_runs,
}
