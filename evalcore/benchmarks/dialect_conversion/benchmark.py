"""The benchmark `dialect_conversion`: one statement converted, then executed beside a reference."""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks.base import Context, DatasetSource
from evalcore.benchmarks.dialect_conversion import dataset, prompts
from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.benchmarks.executed import ExecutedBenchmark, by_execution
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

_NO_PANEL = Ruling(
    outcome="not_executed",
    evidence_kind="judged",
    reason="no_panel",
    note="By the published rule a panel decides alone, and no panel was asked.",
)


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
        found = read_sql(episode.answer)
        if found.kind == "none":
            return nothing_found(sample, episode, self.card.metric(sample.metric).evidence)
        scale = self.options["mode"] == "scale"
        ruling = _NO_PANEL if scale else await self._rule(sample, found.sql)
        return ruled(sample, episode, found.kind, ruling)

    async def _rule(self, sample: Sample, sql: str) -> Ruling:
        told = sample.reference
        lacking = features.missing(sql, told["dialect"], told["title"], told["version"])
        if lacking:
            return passed_or_failed(False, "parsed", lacking, error_type="version")
        if not told["reference"]:
            return self._without_reference(sample, sql)
        equivalence = await self.decide(question_of(sample), sql)
        return by_execution(equivalence, told["reference"])

    def _without_reference(self, sample: Sample, sql: str) -> Ruling:
        """A case of others, which says nothing but the source: only its grammar can be checked."""
        parses, message = syntax.parses(sql, sample.reference["dialect"])
        if not parses:
            note = f"The parser refuses the statement: {message}"
            return passed_or_failed(False, "parsed", note, error_type="syntax_error")
        return Ruling(
            outcome="not_executed",
            evidence_kind="parsed",
            reason="no_reference",
            note="The case has no reference to execute, and no panel was asked.",
        )


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
