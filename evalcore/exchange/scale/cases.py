"""From the rows of a case report to samples, episodes and verdicts: published verdicts stay."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from evalcore.exchange.scale.capabilities import evaluation_type, metric_of
from evalcore.exchange.scale.forms import Indicator, ScaleCaseRow, json_object
from evalcore.exchange.scale.logs import Vote
from evalcore.records import Episode, Message, Record, Sample, Section, Verdict

_OURS = {"create_table_statements": "schema", "insert_statements": "data", "db_type": "dialect"}
_HIDDEN_FIELDS = ("expected", "case_id", "difficulty_level")
_LISTS = ("schema", "data")


class GradedCase(Record, frozen=True):
    """One row as it enters a run folder."""

    sample: Sample
    episode: Episode
    verdict: Verdict


def build_graded_cases(
    capability: str,
    report: Iterable[Indicator],
    cases: Mapping[str, Collection[str]],
    votes: Mapping[str, Mapping[str, list[Vote]]],
) -> Iterator[GradedCase]:
    """Every row of a case among `cases` (by metric) in the first indicator of its metric; `votes`
    by metric and case."""
    for metric, row in select_case_rows(report, cases):
        cast = votes.get(metric, {}).get(row.case_id, [])
        sample = build_scale_sample(metric, row)
        yield GradedCase(
            sample,
            _build_scale_episode(sample, row),
            _build_scale_verdict(capability, sample, row, cast),
        )


def select_case_rows(
    report: Iterable[Indicator], cases: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, ScaleCaseRow]]:
    """The rows of `cases` (by metric) with their metrics, from the first indicator of each.

    Of a case that stands there twice only the first row is read: the second would count twice.
    """
    pending = {metric: set(ids) for metric, ids in cases.items()}
    for indicator in report:
        metric = metric_of(indicator.indicator_name)
        remaining = pending.pop(metric, set())
        for row in indicator.case_datas:
            if row.id in remaining:
                remaining.remove(row.id)
                yield metric, row


def build_scale_sample(metric: str, row: ScaleCaseRow) -> Sample:
    """The case of a row, whatever became of it; content that is no JSON object is a question."""
    content = json_object(row.case_content) or {"question": row.case_content}
    return Sample(
        metric=metric,
        id=row.id,
        input=_build_sample_input(content),
        reference={"expected": content["expected"]} if "expected" in content else {},
        difficulty=row.case_weight,
        meta={"source": "SCALE"},
    )


def _build_sample_input(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the target may know of a case, under our names."""
    fields = {
        _OURS.get(name, name): value
        for name, value in content.items()
        if name not in _HIDDEN_FIELDS and not name.startswith("_")  # a client's own notes
    }
    return fields | {name: [fields[name]] for name in _LISTS if isinstance(fields.get(name), str)}


def answer_text(answer: Any) -> str:
    """A parsed answer as the text that it was parsed from."""
    if answer is None:
        return ""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _build_scale_episode(sample: Sample, row: ScaleCaseRow) -> Episode:
    texts = [answer_text(answer.model_answer) for answer in row.model_answers]
    first = texts[0] if texts else ""
    return Episode(
        key=sample.key,
        epoch=0,
        answer=first,
        messages=(
            Message(role="user", content=row.mode_question),
            Message(role="assistant", content=first),
        ),
        completions=len(texts),
        state={"answers": texts} if len(texts) > 1 else {},
    )


def _build_scale_verdict(
    capability: str, sample: Sample, row: ScaleCaseRow, cast: list[Vote]
) -> Verdict:
    objective = evaluation_type(capability, sample.metric) == "objective"
    details: dict[str, Any] = {"published": row.case_eval_result}
    if row.service_error:
        details["error_type"] = "service_error"
    if not row.has_verdict:
        return Verdict(
            metric=sample.metric,
            id=sample.id,
            outcome="not_executed",
            reason="unknown_verdict",
            details=details,
        )
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        outcome="passed" if row.passed else "failed",
        score=float(row.passed),
        evidence_kind="checked" if objective else "judged",
        details=details,
        evidence=(_votes_section(cast),) if cast else (),
    )


def _votes_section(cast: list[Vote]) -> Section:
    several = len({vote.run for vote in cast}) > 1
    body = [
        {
            "judge": f"{vote.judge} ({vote.run})" if several else vote.judge,
            "vote": vote.vote,
            "reason": vote.reason or (vote.text if not vote.vote else ""),
        }
        for vote in cast
    ]
    return Section(kind="votes", title="votes", body=body)
