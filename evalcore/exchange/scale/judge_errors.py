"""How often SCALE's verdicts were wrong by our decisions, per model and month, and its boards with
the decided cases corrected.

A corrected score is ours and says so: the published verdict stays wherever nothing was decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import FileError
from evalcore.exchange.report_tables import ReportTable, render_markdown_tables
from evalcore.exchange.scale.forms import WEIGHTS, ScaleDataFolder, evaluation_type, read_report
from evalcore.exchange.scale.month_scan import sum_indicator
from evalcore.exchange.scale.verify import VerifiedRow
from evalcore.plain_text import DASH, format_csv, round_cell
from evalcore.records import Record
from evalcore.scoring.claims import ClaimSum, compute_claimed_score, select_first_parts
from evalcore.scoring.intervals import wilson_interval


class JudgeErrors(Record, frozen=True, omit_defaults=False):
    """The verdicts of one metric on one model in one month. `by` says who gave them: judges, or a
    comparison with an expectation typed by hand. `error_rate` is the share of the decided verdicts
    that are wrong, in percent with its 95 % interval; None where nothing was decided."""

    month: str
    target: str
    capability: str
    metric: str
    by: str
    answers: int
    decided: int
    false_pass: int
    false_fail: int
    error_rate: float | None
    low: float | None
    high: float | None


class CorrectedScore(Record, frozen=True, omit_defaults=False):
    """A published score beside ours. `published` stands on the board, `recomputed` follows from the
    published verdicts by the weights of the report, `corrected` from the same with the decided
    verdicts replaced; `decided` is their share of the points in percent."""

    month: str
    target: str
    capability: str
    published: float
    recomputed: float
    corrected: float
    change: float
    decided: float
    verdicts_replaced: int
    published_by: str = "SCALE"
    corrected_by: str = "Evalboard"


def count_judge_errors(verified: Iterable[VerifiedRow]) -> list[JudgeErrors]:
    """A record per month, model and metric, in that order."""
    groups: dict[tuple[str, str, str, str], list[VerifiedRow]] = defaultdict(list)
    for each in verified:
        row = each.row
        groups[row.month, row.target, row.capability, row.metric].append(each)
    return [_count_group(key, group) for key, group in sorted(groups.items())]


def _count_group(key: tuple[str, str, str, str], group: Sequence[VerifiedRow]) -> JudgeErrors:
    month, target, capability, metric = key
    decided = [each for each in group if each.passed is not None]
    disputed = [each for each in decided if each.is_disputed]
    size = len(decided)
    interval = wilson_interval(len(disputed) / size, size) if size else None
    objective = evaluation_type(capability, metric) == "objective"
    return JudgeErrors(
        month=month,
        target=target,
        capability=capability,
        metric=metric,
        by="expectation" if objective else "judges",
        answers=len(group),
        decided=size,
        false_pass=sum(each.row.passed for each in disputed),
        false_fail=sum(not each.row.passed for each in disputed),
        error_rate=round_cell(100 * len(disputed) / size) if size else None,
        low=round_cell(interval.low) if interval else None,
        high=round_cell(interval.high) if interval else None,
    )


def correct_boards(data_folder: Path, verified: Iterable[VerifiedRow]) -> list[CorrectedScore]:
    """A record per published score whose report was published too, best corrected score first.

    Raises UsageError for a folder without boards, DatasetError for a broken file.
    """
    by_report: dict[tuple[str, str, str], dict[tuple[str, str], VerifiedRow]] = defaultdict(dict)
    for each in verified:
        row = each.row
        cases = by_report[row.month, row.capability, row.target.lower()]
        cases.setdefault((row.metric, row.row_id), each)
    tree = ScaleDataFolder(data_folder)
    scores = []
    for month in tree.months:
        for model in tree.read_models(month):
            for capability, claim in model.scores.items():
                path = tree.find_report(month, capability, model.id)
                if path is None or capability not in WEIGHTS:
                    continue
                cases = by_report[month, capability, path.stem.lower()]
                scores.append(
                    _correct_score(month, model.id, capability, claim.ability_score, path, cases)
                )
    return sorted(
        scores, key=lambda each: (each.month, each.capability, -each.corrected, each.target)
    )


def _correct_score(
    month: str,
    target: str,
    capability: str,
    published: float,
    path: Path,
    cases: dict[tuple[str, str], VerifiedRow],
) -> CorrectedScore:
    stated = (sum_indicator(indicator) for indicator in read_report(path).indicators)
    parts = select_first_parts(stated, WEIGHTS[capability])
    corrected = [_correct_sum(part, cases) for part in parts]
    disputed = sum(each.is_disputed for each in cases.values())
    points = sum(part.total * part.weight for part in parts)
    weights = {part.metric: part.weight for part in parts}
    decided = sum(
        each.row.weight * weights.get(each.row.metric, 0)
        for each in cases.values()
        if each.passed is not None
    )
    before, after = compute_claimed_score(parts), compute_claimed_score(corrected)
    return CorrectedScore(
        month=month,
        target=target,
        capability=capability,
        published=published,
        recomputed=before,
        corrected=after,
        change=round(after - before, 1),
        decided=round(100 * decided / points, 1) if points else 0.0,
        verdicts_replaced=disputed,
    )


def _correct_sum(part: ClaimSum, cases: dict[tuple[str, str], VerifiedRow]) -> ClaimSum:
    """The points of an indicator with those of disputed rows won or lost."""
    change = sum(
        each.row.weight if each.passed else -each.row.weight
        for (metric, _), each in cases.items()
        if metric == part.metric and each.is_disputed
    )
    return msgspec.structs.replace(part, won=part.won + change)


# The files: records as JSON, the same as CSV, and as a table for people.


def write_judge_errors(folder: Path, errors: Sequence[JudgeErrors]) -> list[Path]:
    """Write judge_errors.json, .csv and .md into a folder; raises UsageError where it cannot."""
    note = (
        "Of the verdicts that SCALE published, those that could be decided again here, and how "
        "many of them were wrong. The interval is Wilson's, 95%."
    )
    return _write_records(folder, "judge_errors", "Errors of SCALE's verdicts", note, errors)


def write_corrected_boards(folder: Path, scores: Sequence[CorrectedScore]) -> list[Path]:
    """Write corrected_board.json, .csv and .md into a folder; raises UsageError where it cannot."""
    note = (
        "published is SCALE's score. corrected is computed by Evalboard from SCALE's verdicts "
        "with the decided ones replaced, and is not a statement by SCALE; decided is the share of "
        "the points, in percent, that rests on a decision made here."
    )
    return _write_records(folder, "corrected_board", "SCALE's boards, corrected", note, scores)


def _write_records(
    folder: Path, stem: str, title: str, note: str, records: Sequence[Record]
) -> list[Path]:
    rows = [msgspec.to_builtins(record) for record in records]
    header = list(rows[0]) if rows else []
    renderers: dict[str, Callable[[], str]] = {
        "json": lambda: msgspec.json.format(msgspec.json.encode(rows)).decode() + "\n",
        "csv": lambda: format_csv([header, *(row.values() for row in rows)]),
        "md": lambda: _render_markdown(title, note, rows),
    }
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, render in renderers.items():
            path = folder / f"{stem}.{suffix}"
            path.write_text(render(), encoding="utf-8")
            paths.append(path)
    except OSError as error:
        raise FileError(folder, error) from None
    return paths


def _render_markdown(title: str, note: str, rows: Sequence[dict[str, Any]]) -> str:
    """A table a month, under what the figures mean."""
    names = [name for name in (rows[0] if rows else ()) if name != "month"]
    tables = [ReportTable("What this is", ("note",), ((note,),))]
    for month, group in groupby(rows, lambda row: str(row["month"])):
        cells = tuple(
            tuple(DASH if row[name] is None else str(row[name]) for name in names) for row in group
        )
        tables.append(ReportTable(month, tuple(names), cells))
    return render_markdown_tables(title, tables)
