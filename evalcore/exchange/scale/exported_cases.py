"""The cases of a run as rows of SCALE's case reports.

The form knows Pass and Fail only: what was not measured is a Fail, as in our strict score.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalcore.errors import UsageError
from evalcore.exchange.report_data import BenchmarkReport, RunReport
from evalcore.exchange.scale.capabilities import (
    SUBJECTIVE,
    SUFFIX,
    evaluation_type,
    indicator_of,
)
from evalcore.exchange.scale.forms import MOST_POINTS, Indicator, ScaleAnswer, ScaleCaseRow
from evalcore.records import MEASURED, Episode, Record, Sample, Verdict
from evalcore.store.run_folder import RunFolder
from evalcore.store.sample_rows import generation_key

_SCHEMA_AS_TEXT = "index_advice"  # whose schema is one text there, elsewhere a list
_THEIRS = {"schema": "create_table_statements", "data": "insert_statements"}


class ExportedCase(Record, frozen=True):
    """A case with its episodes and verdicts by epoch; None where nothing is journaled."""

    sample: Sample
    rounds: tuple[tuple[Episode | None, Verdict | None], ...]

    @property
    def passed(self) -> bool:
        """Whether it passed in more than half of the epochs."""
        wins = sum(v is not None and v.outcome == "passed" for _, v in self.rounds)
        return 2 * wins > len(self.rounds)


def count_unmeasured(of_metric: Mapping[str, Sequence[ExportedCase]]) -> int:
    verdicts = [v for group in of_metric.values() for case in group for _, v in case.rounds]
    return sum(verdict is None or verdict.outcome not in MEASURED for verdict in verdicts)


def collect_exported_cases(
    folder: RunFolder, run: RunReport
) -> dict[str, dict[str, list[ExportedCase]]]:
    """Every declared case with what became of it, by benchmark and metric."""
    verdicts = {
        (line.benchmark, line.verdict.metric, line.verdict.id, line.verdict.epoch): line.verdict
        for line in folder.read_verdicts(run.summary.scoring)
    }
    episodes = {
        (e.benchmark, e.episode.key, e.episode.epoch): e.episode for e in folder.read_episodes()
    }
    cases: dict[str, dict[str, list[ExportedCase]]] = defaultdict(lambda: defaultdict(list))
    specs = {benchmark_spec.key: benchmark_spec for benchmark_spec in run.spec.benchmarks}
    for stored in folder.read_samples():
        (sample,), rounds = specs[stored.benchmark].apply_weights([stored.sample]), []
        for epoch in range(run.spec.epochs):
            verdict = verdicts.get((stored.benchmark, sample.metric, sample.id, epoch))
            key = generation_key(verdict, sample.key)
            rounds.append((episodes.get((stored.benchmark, key, epoch)), verdict))
        cases[stored.benchmark][sample.metric].append(ExportedCase(sample, tuple(rounds)))
    return cases


def build_indicator(
    report: BenchmarkReport, metric: str, cases: Sequence[ExportedCase]
) -> Indicator:
    rows = tuple(_build_scale_row(report.spec.key, case) for case in cases)
    passed, weight = sum(row.passed for row in rows), report.spec.weights.get(metric, 0.0)
    return Indicator(
        indicator_name=f"{indicator_of(metric)}{SUFFIX}",
        indicator_weight=int(weight) if weight == int(weight) else weight,
        evaluation_type=evaluation_type(report.spec.key, metric),
        case_pass_count=passed,
        case_wrong_count=len(rows) - passed,
        correct_rate=round(passed / len(rows), 2),
        case_datas=rows,
    )


def _build_scale_row(capability: str, case: ExportedCase) -> ScaleCaseRow:
    sample = case.sample
    case_id, rule = split_case_id(sample)
    messages = next((episode.messages for episode, _ in case.rounds if episode), ())
    return ScaleCaseRow(
        case_id=case_id,
        case_weight=_compute_case_points(sample),
        case_content=json.dumps(
            _build_case_content(capability, sample, case_id), ensure_ascii=False
        ),
        case_eval_result="Pass" if case.passed else "Fail",
        mode_question="\n\n".join(m.content for m in messages if m.role in ("system", "user")),
        model_answers=tuple(
            ScaleAnswer(number, _parse_json_answer(text))
            for number, text in enumerate(list_graded_answers(case), 1)
        ),
        rule_id=rule or msgspec.UNSET,
    )


def _compute_case_points(sample: Sample) -> int:
    """What the case weighs; raises UsageError for what their whole numbers cannot hold."""
    weight = sample.difficulty if sample.weight is None else sample.weight
    if weight != int(weight) or weight > MOST_POINTS:
        raise UsageError(
            f"case {sample.key} weighs {weight:g}, and SCALE's case_weight is a whole number up to "
            f"{MOST_POINTS}; choose such weights"
        )
    return int(weight)


def split_case_id(sample: Sample) -> tuple[str, str]:
    """The id of a case and, where it stands for one rule of the case, that of the rule."""
    if sample.metric != SUBJECTIVE:
        return sample.id, ""
    case, _, rule = sample.id.rpartition("/")
    return (case, rule) if case else (rule, "")


def _build_case_content(capability: str, sample: Sample, case_id: str) -> dict[str, Any]:
    fields = {_THEIRS.get(name, name): value for name, value in sample.input.items()}
    if capability == "sql_optimization" and "dialect" in fields:
        fields["db_type"] = fields.pop("dialect")
    if sample.metric == _SCHEMA_AS_TEXT and isinstance(fields.get("create_table_statements"), list):
        fields["create_table_statements"] = "\n".join(fields["create_table_statements"])
    expected = sample.reference.get("expected")
    if sample.metric != SUBJECTIVE:  # there each rule has a difficulty of its own
        fields["difficulty_level"] = str(sample.difficulty)
    content = {"case_id": case_id, **fields}
    return content | ({"expected": expected} if expected is not None else {})


def list_graded_answers(case: ExportedCase) -> list[str]:
    """Every answer that was graded: one per epoch, or several that an import kept together."""
    collected: list[str] = []
    for episode, _ in case.rounds:
        stored_answers = episode.state.get("answers") if episode else None
        collected += (
            stored_answers
            if isinstance(stored_answers, list)
            else [episode.answer if episode else ""]
        )
    return collected


def _parse_json_answer(text: str) -> Any:
    """JSON answers go out parsed, as they do there."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text
