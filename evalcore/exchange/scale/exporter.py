"""A run as SCALE's site reads it: a row of the monthly board, case reports and process logs.

Scores are computed from the written reports, so that they recompute; how many of the written Fails
were never measured is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.exchange.report_data import BenchmarkReport, RunReport, read_run_report
from evalcore.exchange.scale import log_text
from evalcore.exchange.scale.capabilities import CAPABILITIES, SUFFIX, indicator_of
from evalcore.exchange.scale.exported_cases import (
    ExportedCase,
    build_indicator,
    collect_exported_cases,
    count_unmeasured,
    list_graded_answers,
    split_case_id,
)
from evalcore.exchange.scale.forms import (
    APPLICATION,
    CapabilityScore,
    Indicator,
    IndicatorScore,
    ScaleModel,
)
from evalcore.exchange.scale.recompute import compute_capability_score, sum_indicator
from evalcore.exchange.scale.tree import board_path, case_folder, log_path
from evalcore.privacy import mask_votes, with_masked_target
from evalcore.records import BenchmarkScore, Record, RunSpec
from evalcore.store import published as published_file
from evalcore.store.run_folder import RunFolder, write_atomic

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_SERVICES = ("app", "baseline", "control")  # kinds of target that are no chat models


class ScaleExport(Record, frozen=True):
    """What was written: files by path, and how many cases without a measured outcome are Fails."""

    month: str
    model: str
    files: tuple[str, ...]
    unmeasured: int


def export_scale_run(folder: RunFolder, out: Path) -> ScaleExport:
    """Write the three kinds of report under `out`, SCALE's folder public/data.

    A monthly board that is there keeps its other rows. Raises UsageError, with nothing written, for
    a run without scores or without a benchmark that SCALE has, and for a board that is none or has
    another model of that id; also where `out` cannot be written.
    """
    run = read_run_report(folder)
    run = msgspec.structs.replace(run, spec=with_masked_target(run.spec))
    reports = [report for report in run.benchmarks if report.spec.key in CAPABILITIES]
    if not reports:
        capability_names = ", ".join(CAPABILITIES)
        raise UsageError(
            f"run {folder.run_id} has none of SCALE's capabilities: {capability_names}"
        )
    cases = collect_exported_cases(folder, run)
    model, month = _build_model_row(folder, run), run.spec.created_at[:7]
    files: dict[Path, bytes] = {}
    for report in reports:
        name = report.spec.key
        if report.score.level == 0:
            model.scores[name] = _bare_claim(report.score)
        else:
            indicators = [build_indicator(report, *group) for group in cases[name].items()]
            model.scores[name] = _build_claim(indicators)
            path = case_folder(out, month) / name / f"{model.id}.json"
            files[path] = msgspec.json.format(msgspec.json.encode(indicators), indent=2)
            files |= _render_logs(out, month, model.id, run.spec, report, cases[name])
    files[board_path(out, month)] = _render_month_board(board_path(out, month), model)
    _write_scale_files(files)
    return ScaleExport(
        month=month,
        model=model.id,
        files=tuple(str(path.relative_to(out)) for path in files),
        unmeasured=sum(count_unmeasured(cases[report.spec.key]) for report in reports),
    )


def _render_logs(
    out: Path,
    month: str,
    model: str,
    spec: RunSpec,
    report: BenchmarkReport,
    cases: Mapping[str, Sequence[ExportedCase]],
) -> dict[Path, bytes]:
    name, logs = report.spec.key, {}
    for metric, group in cases.items():
        text = log_text.render_process_log(
            spec, name, metric, [_build_logged_case(case) for case in group]
        )
        logs[log_path(out, month, model, name, indicator_of(metric))] = text.encode()
    return logs


def _bare_claim(benchmark_score: BenchmarkScore) -> CapabilityScore:
    """An imported claim without cases goes out as it came in."""
    return CapabilityScore(
        ability_score=benchmark_score.score or 0.0,
        indicator_score=tuple(
            IndicatorScore(f"{indicator_of(metric)}{SUFFIX}", metric_score.score)
            for metric, metric_score in benchmark_score.metrics.items()
            if metric_score.score is not None
        ),
    )


def _build_claim(indicators: Sequence[Indicator]) -> CapabilityScore:
    parts = [sum_indicator(indicator) for indicator in indicators]
    return CapabilityScore(
        ability_score=compute_capability_score(parts),
        indicator_score=tuple(
            IndicatorScore(indicator.indicator_name, part.score)
            for indicator, part in zip(indicators, parts, strict=True)
        ),
    )


def _build_logged_case(case: ExportedCase) -> log_text.LoggedCase:
    rounds = tuple((episode, verdict and mask_votes(verdict)) for episode, verdict in case.rounds)
    name = "/".join(filter(None, split_case_id(case.sample)))
    return log_text.LoggedCase(name, rounds, tuple(list_graded_answers(case)), case.passed)


def _build_model_row(folder: RunFolder, run: RunReport) -> ScaleModel:
    """The row, its scores still empty; an import goes out under what its publisher said of it."""
    published = published_file.read_published(folder)
    if published is not None:
        facts = msgspec.convert(published.facts, ScaleModel)
        return msgspec.structs.replace(facts, id=_file_name(facts.id))
    target = run.spec.target
    return ScaleModel(
        id=_file_name(target.identity),
        display=target.identity,
        name=target.key.partition(":")[2],
        type=APPLICATION if target.key.partition(":")[0] in _SERVICES else "Chat",
    )


def _file_name(name: str) -> str:
    """A name as files may have it: it comes from outside."""
    return _UNSAFE.sub("-", name).strip(".-") or "unnamed"


def _render_month_board(path: Path, model: ScaleModel) -> bytes:
    """The monthly board with this row, in the place of its earlier one; others stay as they are."""
    others = _read_board_rows(path)
    earlier = next((other for other in others if other["id"] == model.id), None)
    if earlier is not None and earlier.get("real_model_namne", "") != model.display:
        raise UsageError(f"{path} has another model with the id {model.id}; give another folder")
    rows = [model if other is earlier else other for other in others]
    rows += [model] if earlier is None else []
    return msgspec.json.format(msgspec.json.encode({"models": rows}), indent=2)


def _read_board_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a monthly board as they are, none where there is no file."""
    if not path.exists():
        return []
    try:
        rows: list[dict[str, Any]] = msgspec.json.decode(path.read_bytes())["models"]
        msgspec.convert(rows, tuple[ScaleModel, ...], strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError) as error:
        problem = f"{path} is no monthly board, so nothing was written"
        raise UsageError(f"{problem}: {error}") from None
    return rows


def _write_scale_files(files: dict[Path, bytes]) -> None:
    for path, content in files.items():
        try:
            write_atomic(path, content)
        except OSError as error:
            raise UsageError(f"--out {path}: {error.strerror}") from None
