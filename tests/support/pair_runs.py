"""Two finished runs of three cases that were started to be compared."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalcore.records import Sample, TargetSpec
from evalcore.store.headers import ComparisonSide, format_comparison_note
from evalcore.store.run_folder import RunFolder
from tests.support.stored_runs import BENCHMARK, answer, judge, spec_of, summary_of

FIRST, SECOND = "20260101-100000-aaaaaa", "20260101-100000-bbbbbb"
BASE = TargetSpec("hf:lab/base")
TUNED = TargetSpec("hf:lab/base", {"adapter": "/models/tuned"})
SAMPLES = tuple(
    Sample(metric="execution_accuracy", id=str(n), input={"dialect": "sqlite"}, difficulty=n)
    for n in (1, 2, 3)
)


def pair_of_runs(
    root: Path,
    first: tuple[bool, ...] = (True, True, False),
    second: tuple[bool, ...] = (True, False, False),
    targets: tuple[TargetSpec, TargetSpec] = (BASE, TUNED),
) -> tuple[RunFolder, RunFolder]:
    """Base and tuned on the same cases; the flags tell which of them pass."""
    left = _run(root / FIRST, ComparisonSide("0123abcd", "first"), targets[0], first)
    right = _run(root / SECOND, ComparisonSide("0123abcd", "second"), targets[1], second)
    return left, right


def _run(
    path: Path, pair: ComparisonSide, target: TargetSpec, passes: tuple[bool, ...]
) -> RunFolder:
    spec = msgspec.structs.replace(
        spec_of(path.name, note=format_comparison_note(pair)), target=target
    )
    folder = RunFolder(path)
    folder.create(spec, [(BENCHMARK, sample) for sample in SAMPLES])
    for sample, passed in zip(SAMPLES, passes, strict=True):
        answer(folder, sample, answer="SELECT 1")
        judge(folder, sample, passed=passed, evidence_kind="executed")
    folder.write_summary(summary_of(spec))
    return folder
