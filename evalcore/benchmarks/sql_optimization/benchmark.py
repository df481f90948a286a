"""The benchmark `sql_optimization`: rewrites and index advice, each held against the engine."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks import judged
from evalcore.benchmarks.base import Context, DatasetSource
from evalcore.benchmarks.executed import ExecutedBenchmark, merge_judged_and_executed
from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.benchmarks.sql_optimization import advice, dataset, judging, prompts
from evalcore.benchmarks.sql_optimization.assessment import (
    Assessment,
    assess_rewrite,
    build_rewrite_question,
)
from evalcore.benchmarks.sql_optimization.card import CARD
from evalcore.benchmarks.sql_optimization.rewrites import RULES, AssessedRewrite
from evalcore.benchmarks.sql_verdict import build_no_answer_verdict, to_verdict
from evalcore.catalog import COSMETIC_CONTROLS
from evalcore.records import Completion, Episode, Message, Sample, Verdict, content_hash
from evalcore.sqlkit.cosmetics import disguise_query
from evalcore.sqlkit.equivalence.effort import WorkMeter
from evalcore.sqlkit.equivalence.records import EquivalenceQuestion

_MAX_ASSESSMENTS = 64


class SqlOptimization(ExecutedBenchmark):
    """Option `mode`: `verified` (default) or `scale`, where judges alone decide."""

    card = CARD

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.meter = WorkMeter(self.engines.get)
        self._assessments: OrderedDict[tuple[EquivalenceQuestion, str], Assessment] = OrderedDict()

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load_optimization_samples(source)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return prompts.build_optimization_prompt(sample)

    def generation_key(self, sample: Sample) -> str:
        """The three rewrite metrics ask the same, so that one answer serves them."""
        return content_hash([sample.metric == "index_advice", sample.input])

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` gives the authored rewrite or index, `null` nothing, `noop` the input, the
        cosmetic kinds the input in their disguise."""
        if kind == "reference":
            by_index = sample.metric == "index_advice"
            text = (
                advice.find_reference_advice(sample) if by_index else sample.reference["reference"]
            )
            return Completion(text=text)
        sql = sample.input["sql"]
        if kind in COSMETIC_CONTROLS:
            sql = disguise_query(kind, sql, sample.reference["dialect"])
        return Completion(text="" if kind == "null" else sql)

    def may_be_judged(self, sample: Sample) -> bool:
        """Only cases of others, which come without an authored rewrite or an index to create."""
        if sample.metric == "index_advice":
            return self.is_judged_only or isinstance(sample.reference["expected"], str)
        return self.is_judged_only or not sample.reference["reference"]

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        if not self.is_judged_only:
            return await self._score_verified(sample, episode, context)
        question = judging.QUESTIONS[sample.metric](sample, episode.answer)
        by_judges = await judged.score_as_published(sample, episode, question, context)
        return merge_judged_and_executed(
            by_judges, await self._score_verified(sample, episode, None)
        )

    async def _score_verified(
        self, sample: Sample, episode: Episode, context: Context | None
    ) -> Verdict:
        if sample.metric == "index_advice":
            return await advice.evaluate_advice(self, sample, episode, context)
        extracted = extract_sql(episode.answer, sample.reference["dialect"], sample.input["sql"])
        if extracted.kind == "none":
            return build_no_answer_verdict(sample, episode, "executed")
        assessment = await self._assess_cached(sample, extracted.sql)
        rewrite = AssessedRewrite(sample, extracted.sql, assessment, self.meter, context)
        return to_verdict(sample, episode, extracted.kind, await RULES[sample.metric](rewrite))

    async def _assess_cached(self, sample: Sample, sql: str) -> Assessment:
        """Remembered for a while: the metrics of one answer are scored one after another."""
        question = build_rewrite_question(sample)
        assessment = self._assessments.get((question, sql))
        if assessment is None:
            dialect = sample.reference["dialect"]
            assessment = await assess_rewrite(self, self.meter, question, sql, dialect)
            self._assessments[question, sql] = assessment
            if len(self._assessments) > _MAX_ASSESSMENTS:
                self._assessments.popitem(last=False)
        return assessment
