"""The benchmark `sql_understanding`: one question a sample, one JSON answer, an exact verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence

from evalcore.benchmarks.base import Benchmark, Context, DatasetSource, Finding
from evalcore.benchmarks.sql_understanding import dataset, prompts, scale_rule, verified
from evalcore.benchmarks.sql_understanding.card import CARD
from evalcore.benchmarks.sql_understanding.extraction import Extraction, extract
from evalcore.benchmarks.sql_verdict import Ruling, nothing_found, ruled
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
        return dataset.load(source, self.mode)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return prompts.build(sample, self.mode)

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` gives the expected answer, `null` nothing, `noop` the statement itself."""
        texts = {
            "reference": json.dumps(sample.reference["expected"], ensure_ascii=False),
            "null": "",
            "noop": sample.input["sql"],
        }
        return Completion(text=texts[kind])

    def confirm(self, samples: Sequence[Sample]) -> tuple[list[Finding], dict[str, str]]:
        from evalcore.benchmarks.sql_understanding import confirm

        return confirm.confirm(samples)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        read = self._published if self.mode == "scale" else self._verified
        return read(sample, episode)

    def _verified(self, sample: Sample, episode: Episode) -> Verdict:
        found = extract(episode.answer, list(sample.reference["expected"]))
        if found.value is None:
            return self._nothing(sample, episode)
        reading = verified.read_answer(sample, found.value)
        return self._verdict(sample, episode, found, reading)

    def _published(self, sample: Sample, episode: Episode) -> Verdict:
        """The published rule on the answer as the published agent would have parsed it."""
        answer = scale_rule.parse(episode.answer)
        found = Extraction(kind="none")
        if isinstance(answer, dict):
            found = Extraction(kind="strict", value=answer)
        try:
            right = scale_rule.passes(answer, sample.reference["expected"])
            error, note = ("" if right else "different"), ""
        except scale_rule.Undefined:
            right, error = False, "undefined"
            note = "The published evaluator fails on a boolean here; counted as wrong."
        if found.value is None and not right:
            return self._nothing(sample, episode)
        body = {"expected": sample.reference["expected"], "answer": to_json_cell(answer)}
        section = Section(kind="json", title="compared", body=body)
        reading = verified.Reading(right=right, error=error, note=note, evidence=(section,))
        return self._verdict(sample, episode, found, reading)

    def _verdict(
        self, sample: Sample, episode: Episode, found: Extraction, reading: verified.Reading
    ) -> Verdict:
        error = {"error_type": reading.error} if reading.error else {}
        ruling = Ruling(
            outcome="passed" if reading.right else "failed",
            evidence_kind=self._kind(sample),
            reason="" if reading.right else "wrong_answer",
            note=reading.note,
            details={**error, **reading.details},
            evidence=(*reading.evidence, *_provenance(sample)),
        )
        return ruled(sample, episode, found.kind, ruling)

    def _nothing(self, sample: Sample, episode: Episode) -> Verdict:
        return nothing_found(sample, episode, self._kind(sample), _provenance(sample))

    def _kind(self, sample: Sample) -> EvidenceKind:
        return self.card.evidence(sample.metric, self.mode)


def _provenance(sample: Sample) -> tuple[Section, ...]:
    """Where the expected answer comes from: the engine and version that produced it."""
    provenance = sample.meta.get("provenance")
    return (Section(kind="json", title="provenance", body=provenance),) if provenance else ()
