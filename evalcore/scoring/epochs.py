"""From verdicts to one score per declared sample: epochs are reduced to their mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import NamedTuple

from evalcore.errors import UsageError
from evalcore.records import MEASURED, Sample, Verdict


class SampleScore(NamedTuple):
    """A declared sample with the scores (0 to 1) of the epochs in which it was measured."""

    metric: str
    id: str
    weight: float
    epochs: int
    measured: tuple[float, ...]

    @property
    def strict(self) -> float:
        """The mean over all declared epochs; an unmeasured one counts 0."""
        return fsum(self.measured) / self.epochs

    @property
    def answered(self) -> float | None:
        """The mean over the measured epochs, None where there is none."""
        return fsum(self.measured) / len(self.measured) if self.measured else None


DeclaredVerdicts = Mapping[tuple[str, str, int], Verdict]


def select_declared_verdicts(
    samples: Sequence[Sample], verdicts: Sequence[Verdict], epochs: int
) -> dict[tuple[str, str, int], Verdict]:
    """At most one verdict per declared (metric, id, epoch).

    Of several on one epoch the last counts, as everywhere in a run folder. Verdicts on samples or
    epochs that were not declared are left out. Raises UsageError for a sample declared twice and
    for a measured verdict without a score of 0 to 1.
    """
    declared = Counter((sample.metric, sample.id) for sample in samples)
    for (metric, name), times in declared.items():
        if times > 1:
            raise UsageError(f"sample {metric}/{name} is declared {times} times; ids are unique")
    declared_verdicts = {
        (verdict.metric, verdict.id, verdict.epoch): verdict
        for verdict in verdicts
        if (verdict.metric, verdict.id) in declared and 0 <= verdict.epoch < epochs
    }
    for verdict in declared_verdicts.values():
        _check_verdict_scores(verdict)
    return declared_verdicts


def reduce_epochs(
    samples: Sequence[Sample], declared_verdicts: DeclaredVerdicts, epochs: int, view: str = ""
) -> list[SampleScore]:
    """One score per sample, in the order of the samples.

    With a `view`, verdicts that have such a second reading count with it, the others as they are.
    """
    reduced = []
    for sample in samples:
        verdicts = (
            declared_verdicts.get((sample.metric, sample.id, epoch)) for epoch in range(epochs)
        )
        measured = tuple(
            verdict.views.get(view, verdict.score)
            for verdict in verdicts
            if verdict is not None and verdict.score is not None and verdict.outcome in MEASURED
        )
        weight = float(sample.difficulty if sample.weight is None else sample.weight)
        reduced.append(SampleScore(sample.metric, sample.id, weight, epochs, measured))
    return reduced


def _check_verdict_scores(verdict: Verdict) -> None:
    if verdict.outcome not in MEASURED:
        return
    for score in (verdict.score, *verdict.views.values()):
        if score is None or not 0 <= score <= 1:
            raise UsageError(
                f"verdict {verdict.metric}/{verdict.id}: {verdict.outcome} with the score {score}; "
                "a measured verdict and its views need scores from 0 to 1"
            )
