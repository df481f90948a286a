"""The benchmark `dialect_conversion`: one statement converted, then executed beside a reference."""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks import judged
from evalcore.benchmarks.base import Context, DatasetSource
from evalcore.benchmarks.dialect_conversion import dataset, judging, prompts
from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.benchmarks.executed import (
    ExecutedBenchmark,
    merge_judged_and_executed,
    score_execution,
)
from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.benchmarks.sql_verdict import (
    ScoringResult,
    build_no_answer_verdict,
    passed_or_failed,
    to_verdict,
)
from evalcore.records import (
    Completion,
    Episode,
    Message,
    Sample,
    Verdict,
    content_hash,
)
from evalcore.sqlkit import features, syntax
from evalcore.sqlkit.equivalence.records import EquivalenceQuestion


class DialectConversion(ExecutedBenchmark):
    """Option `mode`: `verified` (default) or `scale`, where judges alone decide."""

    card = CARD

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load_conversion_samples(source)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return prompts.build_conversion_prompt(sample)

    def generation_key(self, sample: Sample) -> str:
        """Samples that ask the same, of whatever metric, share one answer."""
        return content_hash(sample.input)

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` gives the authored conversion, `null` nothing, `noop` the source itself."""
        texts = {
            "reference": sample.reference["reference"],
            "null": "",
            "noop": sample.input["sql"],
        }
        return Completion(text=texts[kind])

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        if not self.is_judged_only:
            return await self._score_verified(sample, episode, context)
        question = judging.build_judge_question(sample, episode.answer)
        by_judges = await judged.score_as_published(sample, episode, question, context)
        return merge_judged_and_executed(
            by_judges, await self._score_verified(sample, episode, None)
        )

    async def _score_verified(
        self, sample: Sample, episode: Episode, context: Context | None
    ) -> Verdict:
        extracted = extract_sql(episode.answer, sample.reference["dialect"], sample.input["sql"])
        if extracted.kind == "none":
            return build_no_answer_verdict(
                sample, episode, self.card.find_metric(sample.metric).evidence
            )
        result = await self._score_sql(sample, extracted.sql, context)
        return to_verdict(sample, episode, extracted.kind, result)

    def may_be_judged(self, sample: Sample) -> bool:
        """Only where there is nothing to execute."""
        return self.is_judged_only or not sample.reference["reference"]

    async def _score_sql(self, sample: Sample, sql: str, context: Context | None) -> ScoringResult:
        reference = sample.reference
        lacking = features.find_unsupported_feature(
            sql, reference["dialect"], reference["title"], reference["version"]
        )
        if lacking:
            return passed_or_failed(False, "parsed", lacking, error_type="version")
        if not reference["reference"]:
            return await self._score_without_reference(sample, sql, context)
        equivalence = await self.decide_equivalence(
            build_conversion_question(sample), sql, reference["title"]
        )
        return score_execution(equivalence, reference["reference"])

    async def _score_without_reference(
        self, sample: Sample, sql: str, context: Context | None
    ) -> ScoringResult:
        """A case of others, which says nothing but the source: grammar first, then the panel."""
        parses, message = syntax.check_well_formed(sql, sample.reference["dialect"])
        if not parses:
            note = f"The parser refuses the statement: {message}"
            return passed_or_failed(False, "parsed", note, error_type="syntax_error")
        return await judged.score_by_panel(context, judging.build_judge_question(sample, sql))


def build_conversion_question(sample: Sample) -> EquivalenceQuestion:
    """What is held against an answer to a case with a reference."""
    reference = sample.reference
    return EquivalenceQuestion(
        engine=reference["engine"],
        schema=tuple(sample.input["schema"]),
        reference=reference["reference"],
        related=((sample.input["sql"], reference["source"]),),
        data=tuple(tuple(script) for script in reference["data"]),
        state_of=tuple(reference["state_of"]),
        calls=tuple(reference["calls"]),
        ordered=reference["ordered"],
    )
