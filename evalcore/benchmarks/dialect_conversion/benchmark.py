"""The benchmark `dialect_conversion`: one statement converted, then executed beside a reference.

SCALE's files are read unchanged; its `China-made_database` is our `domestic_database`. Ours add
target_version, schema and source_schema (DDL), reference, variants, counterexamples, and what
steers the comparison: data, calls, state_of, ordered. Prompt version 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalcore.benchmarks import case_file, sql_scoring
from evalcore.benchmarks.answer_scoring import (
    ScoringResult,
    build_no_answer_verdict,
    passed_or_failed,
    to_verdict,
)
from evalcore.benchmarks.base import Context, DatasetSource
from evalcore.benchmarks.case_file import CaseLine
from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.benchmarks.sql_scoring import (
    ExecutedBenchmark,
    merge_judged_and_executed,
    score_execution,
)
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.judges import Question
from evalcore.records import Completion, Episode, Message, Sample, Verdict, content_hash
from evalcore.sqlkit import product_features, syntax
from evalcore.sqlkit.dialects import Server, parse_server
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.syntax import find_changed_table

# Reading the cases of `dialect_conversion`: SCALE's files unchanged, and our own superset.
# SCALE fields: case_id, difficulty_level, source_dialect, target_dialect (with its version),
# key_info, sql; its `China-made_database` is our `domestic_database`. Ours add target_version,
# schema and source_schema (DDL), reference, variants, counterexamples, and what steers the
# comparison: data, calls, state_of, ordered.

METRICS = (
    "logical_equivalence",
    "syntax_error_detection",
    "domestic_database",
    "big_sql_conversion",
)
_RENAMED = {"China-made_database": "domestic_database"}
_FILES = {metric: (metric,) for metric in METRICS} | {old: (new,) for old, new in _RENAMED.items()}


def load_conversion_samples(source: DatasetSource) -> list[Sample]:
    """Load the samples of a folder of `<metric>.jsonl` files, or of one such file. Raises
    DatasetError naming file, line and field."""

    def parse_line(line: CaseLine, stem: str) -> Iterator[Sample]:
        yield _build_conversion_sample(line, _RENAMED.get(stem, stem))

    return case_file.load_case_samples(source, _FILES, parse_line)


def _build_conversion_sample(line: CaseLine, metric: str) -> Sample:
    source, target = _parse_server(line, "source_dialect"), _parse_server(line, "target_dialect")
    return Sample(
        metric=metric,
        id=line.parse_case_id(),
        input={
            "source_dialect": source.name,
            "target_dialect": target.name,
            "source_schema": line.parse_text_list("source_schema"),
            "schema": line.parse_text_list("schema"),
            "sql": line.parse_text("sql"),
        },
        reference=_build_reference(line, source, target),
        difficulty=line.parse_difficulty(),
        meta={
            "variants": line.parse_text_list("variants"),
            "counterexamples": line.parse_text_list("counterexamples"),
            "traits": line.parse_list("traits"),
            "note": line.parse_optional_text("note"),
            "source": line.source,
        },
    )


def _parse_server(line: CaseLine, field: str) -> Server:
    version = line.parse_optional_text("target_version") if field == "target_dialect" else ""
    try:
        return parse_server(line.parse_text(field), version)
    except UsageError as error:
        line.raise_field_error(field, str(error))


def _build_reference(line: CaseLine, source: Server, target: Server) -> dict[str, Any]:
    """What the scorer knows: who runs it, and against what. SCALE's cases have no reference."""
    reference: dict[str, Any] = {
        "engine": target.engine,
        "dialect": target.dialect,
        "title": target.title,
        "version": target.version,
        "source": source.dialect,
        "reference": line.parse_optional_text("reference"),
    }
    if reference["reference"]:
        calls = line.parse_text_list("calls")
        changed = find_changed_table(reference["reference"], target.dialect)
        reference |= {
            "data": line.parse_databases("data"),
            "calls": calls,
            "state_of": line.parse_text_list("state_of")
            or ([changed] if changed and not calls else []),
            "ordered": line.parse_bool("ordered"),
        }
    return reference


# The question that `dialect_conversion` asks, the same for every metric; prompt version 1.

_QUESTION = """Convert the SQL below from {source} to {target}.

The result must run on {target} as it stands and do exactly what the original does: the same rows, \
with the same columns in the same order, or the same change of data. Keep the names of tables and \
columns.

Answer with the converted SQL and nothing else: no code fence, no comment, no explanation.
{schemas}
SQL for {source}:
{sql}"""


def build_conversion_prompt(sample: Sample) -> list[Message]:
    """The single user message for a sample."""
    inputs = sample.input
    schemas = [
        f"\nTables in {inputs[dialect]}:\n" + "\n".join(inputs[schema]) + "\n"
        for dialect, schema in (("source_dialect", "source_schema"), ("target_dialect", "schema"))
        if inputs[schema]
    ]
    content = _QUESTION.format(
        source=inputs["source_dialect"],
        target=inputs["target_dialect"],
        schemas="".join(schemas),
        sql=inputs["sql"],
    )
    return [Message(role="user", content=content)]


# What a panel is asked about a conversion that no engine here can run.


def build_judge_question(sample: Sample, sql: str) -> Question:
    """Validity where the metric asks for syntax alone, else equivalence with the source."""
    inputs = sample.input
    target, schema = inputs["target_dialect"], tuple(inputs["schema"])
    if sample.metric == "syntax_error_detection":
        return Question(kind="validity", answer=sql, target=target, schema=schema)
    return Question(
        kind="equivalence",
        answer=sql,
        target=target,
        source=inputs["source_dialect"],
        original=inputs["sql"],
        schema=schema,
        source_schema=tuple(inputs["source_schema"]),
    )


# The benchmark `dialect_conversion`: one statement converted, then executed beside a reference.


class DialectConversion(ExecutedBenchmark):
    """Option `mode`: `verified` (default) or `scale`, where judges alone decide."""

    card = CARD

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return load_conversion_samples(source)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return build_conversion_prompt(sample)

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
        question = build_judge_question(sample, episode.answer)
        by_judges = await sql_scoring.score_as_published(sample, episode, question, context)
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
        lacking = product_features.find_unsupported_feature(
            sql, reference["dialect"], reference["title"], reference["version"]
        )
        if lacking:
            return passed_or_failed(False, "parsed", lacking, error_type="version")
        if not reference["reference"]:
            return await self._score_without_reference(sample, sql, context)
        equivalence = await self.decide_equivalence(
            build_conversion_question(sample), sql, reference["title"], reference["version"]
        )
        return score_execution(equivalence, reference["reference"])

    async def _score_without_reference(
        self, sample: Sample, sql: str, context: Context | None
    ) -> ScoringResult:
        """A case of others, which says nothing but the source: grammar first, then the panel."""
        parses, message = syntax.check_well_formed(sql, sample.reference["dialect"])
        if not parses:
            note = Note("parser_refuses", message=message)
            return passed_or_failed(False, "parsed", note, error_type="syntax_error")
        return await sql_scoring.score_by_panel(context, build_judge_question(sample, sql))


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
