"""The benchmark `dialect_conversion`: one statement converted, then executed beside a reference."""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks import judged
from evalcore.benchmarks.base import Context, DatasetSource
from evalcore.benchmarks.dialect_conversion import dataset, judging, prompts
from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.benchmarks.executed import ExecutedBenchmark, beside_execution, by_execution
from evalcore.benchmarks.sql_answer import read_sql
from evalcore.benchmarks.sql_verdict import Ruling, nothing_found, passed_or_failed, ruled
from evalcore.records import (
    Completion,
    Episode,
    Message,
    Sample,
    Verdict,
    content_hash,
)
from evalcore.sqlkit import features, syntax
from evalcore.sqlkit.equivalence.records import Question


class DialectConversion(ExecutedBenchmark):
    """Option `mode`: `verified` (default) or `scale`, where judges alone decide."""

    card = CARD

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load(source)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return prompts.build(sample)

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
        if not self.by_judges_alone:
            return await self._verified(sample, episode, context)
        question = judging.question_of(sample, episode.answer)
        by_judges = await judged.as_published(sample, episode, question, context)
        return beside_execution(by_judges, await self._verified(sample, episode, None))

    async def _verified(self, sample: Sample, episode: Episode, context: Context | None) -> Verdict:
        found = read_sql(episode.answer, sample.reference["dialect"], sample.input["sql"])
        if found.kind == "none":
            return nothing_found(sample, episode, self.card.find_metric(sample.metric).evidence)
        ruling = await self._rule(sample, found.sql, context)
        return ruled(sample, episode, found.kind, ruling)

    def may_be_judged(self, sample: Sample) -> bool:
        """Only where there is nothing to execute."""
        return self.by_judges_alone or not sample.reference["reference"]

    async def _rule(self, sample: Sample, sql: str, context: Context | None) -> Ruling:
        told = sample.reference
        lacking = features.find_unsupported_feature(
            sql, told["dialect"], told["title"], told["version"]
        )
        if lacking:
            return passed_or_failed(False, "parsed", lacking, error_type="version")
        if not told["reference"]:
            return await self._without_reference(sample, sql, context)
        equivalence = await self.decide(question_of(sample), sql, told["title"])
        return by_execution(equivalence, told["reference"])

    async def _without_reference(self, sample: Sample, sql: str, context: Context | None) -> Ruling:
        """A case of others, which says nothing but the source: grammar first, then the panel."""
        parses, message = syntax.check_well_formed(sql, sample.reference["dialect"])
        if not parses:
            note = f"The parser refuses the statement: {message}"
            return passed_or_failed(False, "parsed", note, error_type="syntax_error")
        return await judged.by_panel(context, judging.question_of(sample, sql))


def question_of(sample: Sample) -> Question:
    """What is held against an answer to a case with a reference."""
    told = sample.reference
    return Question(
        engine=told["engine"],
        schema=tuple(sample.input["schema"]),
        reference=told["reference"],
        related=((sample.input["sql"], told["source"]),),
        data=tuple(tuple(script) for script in told["data"]),
        state_of=tuple(told["state_of"]),
        calls=tuple(told["calls"]),
        ordered=told["ordered"],
    )
