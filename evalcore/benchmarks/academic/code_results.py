"""What stands for the metric that runs programs, in the process of lm-evaluation-harness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.academic.harness_records import CODE_METRIC, hash_program


class ProgramsNeeded(Exception):
    """A metric wants to know of programs whether they pass."""


class CodeResults:
    """Stands for the metric `code_eval` of the package `evaluate`, and runs nothing: whether a
    program passes is looked up among the results of programs that ran in the sandbox."""

    def __init__(self) -> None:
        self.passed: Mapping[str, bool] = {}
        self.needed: list[str] = []
        self.is_scoring = False

    def compute(
        self,
        references: Sequence[str],
        predictions: Sequence[Sequence[str]],
        k: Sequence[int] = (1, 10, 100),
        **_: Any,
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """As `code_eval.compute`. Raises ProgramsNeeded where a result is missing."""
        counts = [1] if isinstance(k, int) else list(k)
        if not self.is_scoring:  # the trial that task modules make when they are imported
            return {f"pass@{count}": 0.0 for count in counts}, {}
        groups = [
            [f"{candidate}\n{reference}" for candidate in candidates]
            for reference, candidates in zip(references, predictions, strict=True)
        ]
        self.needed = [
            text for group in groups for text in group if hash_program(text) not in self.passed
        ]
        if self.needed:
            raise ProgramsNeeded
        right = [sum(self.passed[hash_program(text)] for text in group) for group in groups]
        return {
            f"pass@{count}": _mean(
                [
                    _estimate_pass_at_k(len(group), number, count)
                    for group, number in zip(groups, right, strict=True)
                ]
            )
            for count in counts
            if all(len(group) >= count for group in groups)
        }, {}


def _estimate_pass_at_k(total: int, right: int, k: int) -> float:
    """The share of draws of `k` among `total` programs that hold a right one."""
    if total - right < k:
        return 1.0
    return 1.0 - math.comb(total - right, k) / math.comb(total, k)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def replace_code_metric(results: CodeResults) -> None:
    """Let `evaluate.load("code_eval")` give our stand-in; other metrics stay as they are."""
    import evaluate

    load = evaluate.load

    def load_metric(path: str, *arguments: Any, **options: Any) -> Any:
        return results if path == CODE_METRIC else load(path, *arguments, **options)

    evaluate.load = load_metric
