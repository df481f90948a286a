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
from evalcore.exchange.report_data import BenchmarkReport, RunReport, read
from evalcore.exchange.scale import log_text
from evalcore.exchange.scale.capabilities import CAPABILITIES, SUFFIX, indicator_of
from evalcore.exchange.scale.exported_cases import (
    Case,
    answers,
    cases_of,
    identity,
    indicator,
    unmeasured,
)
from evalcore.exchange.scale.forms import (
    APPLICATION,
    CapabilityScore,
    Indicator,
    IndicatorScore,
    Model,
)
from evalcore.exchange.scale.recompute import part_of, score
from evalcore.exchange.scale.tree import board_path, case_folder, log_path
from evalcore.privacy import mask_votes, with_masked_target
from evalcore.records import BenchmarkScore, Record, RunSpec
from evalcore.store import published as published_file
from evalcore.store.run_folder import RunFolder, write_atomic

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_SERVICES = ("app", "baseline", "control")  # kinds of target that are no chat models


class Exported(Record, frozen=True):
    """What was written: files by path, and how many cases without a measured outcome are Fails."""

    month: str
    model: str
    files: tuple[str, ...]
    unmeasured: int


def export(folder: RunFolder, out: Path) -> Exported:
    """Write the three kinds of report under `out`, SCALE's folder public/data.

    A monthly board that is there keeps its other rows. Raises UsageError, with nothing written, for
    a run without scores or without a benchmark that SCALE has, and for a board that is none or has
    another model of that id; also where `out` cannot be written.
    """
    run = read(folder)
    run = msgspec.structs.replace(run, spec=with_masked_target(run.spec))
    reports = [report for report in run.benchmarks if report.spec.key in CAPABILITIES]
    if not reports:
        known = ", ".join(CAPABILITIES)
        raise UsageError(f"run {folder.run_id} has none of SCALE's capabilities: {known}")
    cases = cases_of(folder, run)
    model, month = _model(folder, run), run.spec.created_at[:7]
    files: dict[Path, bytes] = {}
    for report in reports:
        name = report.spec.key
        if report.score.level == 0:
            model.scores[name] = _bare_claim(report.score)
        else:
            indicators = [indicator(report, *group) for group in cases[name].items()]
            model.scores[name] = _claim(indicators)
            path = case_folder(out, month) / name / f"{model.id}.json"
            files[path] = msgspec.json.format(msgspec.json.encode(indicators), indent=2)
            files |= _logs(out, month, model.id, run.spec, report, cases[name])
    files[board_path(out, month)] = _board(board_path(out, month), model)
    _write(files)
    return Exported(
        month=month,
        model=model.id,
        files=tuple(str(path.relative_to(out)) for path in files),
        unmeasured=sum(unmeasured(cases[report.spec.key]) for report in reports),
    )


def _logs(
    out: Path,
    month: str,
    model: str,
    spec: RunSpec,
    report: BenchmarkReport,
    cases: Mapping[str, Sequence[Case]],
) -> dict[Path, bytes]:
    name, found = report.spec.key, {}
    for metric, group in cases.items():
        text = log_text.render(spec, name, metric, [_logged(case) for case in group])
        found[log_path(out, month, model, name, indicator_of(metric))] = text.encode()
    return found


def _bare_claim(told: BenchmarkScore) -> CapabilityScore:
    """An imported claim without cases goes out as it came in."""
    return CapabilityScore(
        ability_score=told.score or 0.0,
        indicator_score=tuple(
            IndicatorScore(f"{indicator_of(metric)}{SUFFIX}", one.score)
            for metric, one in told.metrics.items()
            if one.score is not None
        ),
    )


def _claim(indicators: Sequence[Indicator]) -> CapabilityScore:
    parts = [part_of(indicator) for indicator in indicators]
    return CapabilityScore(
        ability_score=score(parts),
        indicator_score=tuple(
            IndicatorScore(indicator.indicator_name, part.score)
            for indicator, part in zip(indicators, parts, strict=True)
        ),
    )


def _logged(case: Case) -> log_text.LoggedCase:
    rounds = tuple((episode, verdict and mask_votes(verdict)) for episode, verdict in case.rounds)
    name = "/".join(filter(None, identity(case.sample)))
    return log_text.LoggedCase(name, rounds, tuple(answers(case)), case.passed)


def _model(folder: RunFolder, run: RunReport) -> Model:
    """The row, its scores still empty; an import goes out under what its publisher said of it."""
    published = published_file.read_published(folder)
    if published is not None:
        facts = msgspec.convert(published.facts, Model)
        return msgspec.structs.replace(facts, id=_file_name(facts.id))
    target = run.spec.target
    return Model(
        id=_file_name(target.identity),
        display=target.identity,
        name=target.key.partition(":")[2],
        type=APPLICATION if target.key.partition(":")[0] in _SERVICES else "Chat",
    )


def _file_name(name: str) -> str:
    """A name as files may have it: it comes from outside."""
    return _UNSAFE.sub("-", name).strip(".-") or "unnamed"


def _board(path: Path, model: Model) -> bytes:
    """The monthly board with this row, in the place of its earlier one; others stay as they are."""
    others = _rows(path)
    earlier = next((other for other in others if other["id"] == model.id), None)
    if earlier is not None and earlier.get("real_model_namne", "") != model.display:
        raise UsageError(f"{path} has another model with the id {model.id}; give another folder")
    rows = [model if other is earlier else other for other in others]
    rows += [model] if earlier is None else []
    return msgspec.json.format(msgspec.json.encode({"models": rows}), indent=2)


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a monthly board as they are, none where there is no file."""
    if not path.exists():
        return []
    try:
        rows: list[dict[str, Any]] = msgspec.json.decode(path.read_bytes())["models"]
        msgspec.convert(rows, tuple[Model, ...], strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError) as error:
        problem = f"{path} is no monthly board, so nothing was written"
        raise UsageError(f"{problem}: {error}") from None
    return rows


def _write(files: dict[Path, bytes]) -> None:
    for path, content in files.items():
        try:
            write_atomic(path, content)
        except OSError as error:
            raise UsageError(f"--out {path}: {error.strerror}") from None
