"""The benchmark `sql_understanding`: one question a sample, one JSON answer, an exact verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence

from evalcore.benchmarks.base import Benchmark, Context, DatasetIssue, DatasetSource
from evalcore.benchmarks.sql_understanding import dataset, prompts, scale_rule, verified
from evalcore.benchmarks.sql_understanding.card import CARD
from evalcore.benchmarks.sql_understanding.extraction import Extraction, extract_json_answer
from evalcore.benchmarks.sql_verdict import ScoringResult, build_no_answer_verdict, to_verdict
from evalcore.records import (
    Completion,
    Episode,
    EvidenceKind,
    Message,
    Sample,
    Section,
    Verdict,
)
from evalcore.sqlkit.table import to_json_cell


class SqlUnderstanding(Benchmark):
    """Option `mode`: `verified` (default) or `scale`, the published rule."""

    card = CARD
    confirms_gold = True
    confirms_by_engines = True

    @property
    def mode(self) -> str:
        return str(self.options["mode"])

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load_understanding_samples(source, self.mode)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return prompts.build_understanding_prompt(sample, self.mode)

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` gives the expected answer, `null` nothing, `noop` the statement itself."""
        texts = {
            "reference": json.dumps(sample.reference["expected"], ensure_ascii=False),
            "null": "",
            "noop": sample.input["sql"],
        }
        return Completion(text=texts[kind])

    def validate_references(
        self, samples: Sequence[Sample]
    ) -> tuple[list[DatasetIssue], dict[str, str]]:
        from evalcore.benchmarks.sql_understanding import confirm

        return confirm.validate_expected_answers(samples)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        score = self._score_published if self.mode == "scale" else self._score_verified
        return score(sample, episode)

    def _score_verified(self, sample: Sample, episode: Episode) -> Verdict:
        extraction = extract_json_answer(episode.answer, list(sample.reference["expected"]))
        if extraction.value is None:
            return self._build_no_answer(sample, episode)
        comparison = verified.read_answer(sample, extraction.value)
        return self._build_comparison_verdict(sample, episode, extraction, comparison)

    def _score_published(self, sample: Sample, episode: Episode) -> Verdict:
        """The published rule on the answer as the published agent would have parsed it."""
        answer = scale_rule.parse_published_answer(episode.answer)
        extraction = Extraction(kind="none")
        if isinstance(answer, dict):
            extraction = Extraction(kind="strict", value=answer)
        try:
            right = scale_rule.passes_published_rule(answer, sample.reference["expected"])
            error, note = ("" if right else "different"), ""
        except scale_rule.UndefinedComparison:
            right, error = False, "undefined"
            note = "The published evaluator fails on a boolean here; counted as wrong."
        if extraction.value is None and not right:
            return self._build_no_answer(sample, episode)
        body = {"expected": sample.reference["expected"], "answer": to_json_cell(answer)}
        section = Section(kind="json", title="compared", body=body)
        comparison = verified.ComparisonResult(
            right=right, error=error, note=note, evidence=(section,)
        )
        return self._build_comparison_verdict(sample, episode, extraction, comparison)

    def _build_comparison_verdict(
        self,
        sample: Sample,
        episode: Episode,
        extraction: Extraction,
        comparison: verified.ComparisonResult,
    ) -> Verdict:
        error = {"error_type": comparison.error} if comparison.error else {}
        result = ScoringResult(
            outcome="passed" if comparison.right else "failed",
            evidence_kind=self._select_evidence_kind(sample),
            reason="" if comparison.right else "wrong_answer",
            note=comparison.note,
            details={**error, **comparison.details},
            evidence=(*comparison.evidence, *_build_provenance_section(sample)),
        )
        return to_verdict(sample, episode, extraction.kind, result)

    def _build_no_answer(self, sample: Sample, episode: Episode) -> Verdict:
        return build_no_answer_verdict(
            sample, episode, self._select_evidence_kind(sample), _build_provenance_section(sample)
        )

    def _select_evidence_kind(self, sample: Sample) -> EvidenceKind:
        return self.card.evidence(sample.metric, self.mode)


def _build_provenance_section(sample: Sample) -> tuple[Section, ...]:
    """Where the expected answer comes from: the engine and version that produced it."""
    provenance = sample.meta.get("provenance")
    return (Section(kind="json", title="provenance", body=provenance),) if provenance else ()
