"""The benchmark `sql_optimization`: rewrites and index advice, each held against the engine."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks import judged
from evalcore.benchmarks.base import Context, DatasetSource
from evalcore.benchmarks.executed import ExecutedBenchmark, beside_execution
from evalcore.benchmarks.sql_answer import read_sql
from evalcore.benchmarks.sql_optimization import advice, dataset, judging, prompts
from evalcore.benchmarks.sql_optimization.assessment import Assessment, assess, question_of
from evalcore.benchmarks.sql_optimization.card import CARD
from evalcore.benchmarks.sql_optimization.rewrites import RULES, Rewrite
from evalcore.benchmarks.sql_verdict import nothing_found, ruled
from evalcore.catalog import COSMETIC_CONTROLS
from evalcore.records import Completion, Episode, Message, Sample, Verdict, content_hash
from evalcore.sqlkit.cosmetics import disguise_query
from evalcore.sqlkit.equivalence.effort import WorkMeter
from evalcore.sqlkit.equivalence.records import Question

_REMEMBERED = 64


class SqlOptimization(ExecutedBenchmark):
    """Option `mode`: `verified` (default) or `scale`, where judges alone decide."""

    card = CARD

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.meter = WorkMeter(self.engines.get)
        self._assessed: OrderedDict[tuple[Question, str], Assessment] = OrderedDict()

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load(source)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return prompts.build(sample)

    def generation_key(self, sample: Sample) -> str:
        """The three rewrite metrics ask the same, so that one answer serves them."""
        return content_hash([sample.metric == "index_advice", sample.input])

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` gives the authored rewrite or index, `null` nothing, `noop` the input, the
        cosmetic kinds the input in their disguise."""
        if kind == "reference":
            by_index = sample.metric == "index_advice"
            text = advice.reference(sample) if by_index else sample.reference["reference"]
            return Completion(text=text)
        sql = sample.input["sql"]
        if kind in COSMETIC_CONTROLS:
            sql = disguise_query(kind, sql, sample.reference["dialect"])
        return Completion(text="" if kind == "null" else sql)

    def may_be_judged(self, sample: Sample) -> bool:
        """Only cases of others, which come without an authored rewrite or an index to create."""
        if sample.metric == "index_advice":
            return self.by_judges_alone or isinstance(sample.reference["expected"], str)
        return self.by_judges_alone or not sample.reference["reference"]

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        if not self.by_judges_alone:
            return await self._verified(sample, episode, context)
        question = judging.QUESTIONS[sample.metric](sample, episode.answer)
        by_judges = await judged.as_published(sample, episode, question, context)
        return beside_execution(by_judges, await self._verified(sample, episode, None))

    async def _verified(self, sample: Sample, episode: Episode, context: Context | None) -> Verdict:
        if sample.metric == "index_advice":
            return await advice.evaluate(self, sample, episode, context)
        found = read_sql(episode.answer, sample.reference["dialect"], sample.input["sql"])
        if found.kind == "none":
            return nothing_found(sample, episode, "executed")
        assessment = await self._assess(sample, found.sql)
        rewrite = Rewrite(sample, found.sql, assessment, self.meter, context)
        return ruled(sample, episode, found.kind, await RULES[sample.metric](rewrite))

    async def _assess(self, sample: Sample, sql: str) -> Assessment:
        """Remembered for a while: the metrics of one answer are scored one after another."""
        question = question_of(sample)
        known = self._assessed.get((question, sql))
        if known is None:
            dialect = sample.reference["dialect"]
            known = await assess(self, self.meter, question, sql, dialect)
            self._assessed[question, sql] = known
            if len(self._assessed) > _REMEMBERED:
                self._assessed.popitem(last=False)
        return known
