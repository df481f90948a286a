"""The panels of a board: how far their judges agree with each other, and with the engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from evalcore.intake import add_counts, add_numbers, read_cost, read_count
from evalcore.judges import agreement
from evalcore.judges.agreement import Calibration, JudgeProfile, PairAgreement, SplitRate
from evalcore.judges.records import Vote, VoteWord
from evalcore.privacy import mask_target
from evalcore.records import MEASURED, Record, Verdict
from evalcore.store.run_folder import RunFolder, find_run

_WORDS = frozenset(get_args(VoteWord))


class PanelReport(Record, frozen=True):
    """All panels of some runs together: `answers` were judged, `cost` is USD, None if unknown."""

    answers: int
    requests: int
    cost: float | None
    profiles: tuple[JudgeProfile, ...]
    pairs: tuple[PairAgreement, ...]
    splits: SplitRate
    calibration: tuple[Calibration, ...]


def build_panel_report(roots: Sequence[Path], runs: Iterable[str]) -> PanelReport | None:
    """What the judges of these runs did, None where nothing was judged.

    Raises UsageError when there is no such run, RunFolderError when its files are broken.
    """
    judged = [
        (verdict, votes)
        for run in dict.fromkeys(runs)
        for verdict in _load_judged_verdicts(find_run(run, roots))
        if (votes := extract_votes(verdict))
    ]
    if not judged:
        return None
    cases = [votes for _, votes in judged]
    judge_details = [v.details for v, _ in judged if read_count(v.details.get("judge_requests"))]
    executed = [
        (verdict.details["executed"] == "passed", votes)
        for verdict, votes in judged
        if verdict.details.get("executed") in MEASURED
    ]
    return PanelReport(
        answers=len(judged),
        requests=add_counts(*(read_count(d["judge_requests"]) for d in judge_details)) or 0,
        cost=add_numbers(*(read_cost(details.get("judge_cost")) for details in judge_details)),
        profiles=agreement.profile_judges(cases),
        pairs=agreement.compute_pair_agreement(cases),
        splits=agreement.compute_split_rate(cases),
        calibration=agreement.calibrate_judges(executed),
    )


def extract_votes(verdict: Verdict) -> tuple[Vote, ...]:
    """The votes that stand in the evidence of a verdict, under the judges' names."""
    return tuple(
        Vote(judge=_mask_judge_name(line), vote=line["vote"])
        for section in verdict.evidence
        if section.kind == "votes"
        for line in section.body
        if line.get("vote") in _WORDS
    )


def _mask_judge_name(line: Mapping[str, Any]) -> str:
    """A judge without its options, which only say where it is served and how it is sampled."""
    return mask_target(str(line.get("judge", "")).partition("?")[0])


def _load_judged_verdicts(folder: RunFolder) -> list[Verdict]:
    """The latest verdict on each judged sample under the run's present scoring."""
    summary = folder.read_summary()
    if summary is None or not any(spec.judges for spec in folder.read_spec().benchmarks):
        return []
    latest = {
        (line.benchmark, line.verdict.metric, line.verdict.id, line.verdict.epoch): line.verdict
        for line in folder.read_verdicts(summary.scoring)
    }
    return list(latest.values())
