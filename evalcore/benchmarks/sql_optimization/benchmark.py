"""The benchmark `sql_optimization`: rewrites and index advice, each held against the engine.

SCALE's files are read unchanged. Ours keep one line per statement in `rewrite.jsonl`, which
feeds the three rewrite metrics, with reference, variants, counterexamples, data, and a `check`
per rule; our index cases have structured alternatives.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalcore.benchmarks import case_file, sql_scoring
from evalcore.benchmarks.answer_scoring import build_no_answer_verdict, to_verdict
from evalcore.benchmarks.base import Context, DatasetSource
from evalcore.benchmarks.case_file import CaseLine
from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.benchmarks.sql_optimization import advice, prompts
from evalcore.benchmarks.sql_optimization.card import CARD
from evalcore.benchmarks.sql_optimization.rewrites import (
    RULES,
    AssessedRewrite,
    Assessment,
    assess_rewrite,
    build_rewrite_question,
)
from evalcore.benchmarks.sql_scoring import ExecutedBenchmark, merge_judged_and_executed
from evalcore.catalog import COSMETIC_CONTROLS
from evalcore.errors import UsageError
from evalcore.records import Completion, Episode, Message, Sample, Verdict, content_hash
from evalcore.sqlkit.dialects import Server, parse_server
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.index_advice import UnreadableIndex
from evalcore.sqlkit.query_plans import WorkMeter
from evalcore.sqlkit.syntax import disguise_query

# Reading the cases of `sql_optimization`: SCALE's files unchanged, and our own.
# SCALE fields: case_id, difficulty_level, db_type, description, create_table_statements, sql,
# explain; the depth cases have expected.optimization_rules [{rule_id, difficulty_level,
# rationale}], the index cases a text `expected` and columns_selectivity. Ours keep one line per
# statement in `rewrite.jsonl`, which feeds the three rewrite metrics, with reference, variants,
# counterexamples, data, and a `check` per rule; our index cases have structured alternatives.

REWRITES = ("logical_equivalence", "syntax_error_detection", "optimization_depth")
_FILES = {"rewrite": REWRITES} | {metric: (metric,) for metric in (*REWRITES, "index_advice")}
_DIFFICULTIES = ("1", "2", "3")


def load_optimization_samples(source: DatasetSource) -> list[Sample]:
    """The samples of a folder of case files, or of one file; rules are samples of their own.

    Raises DatasetError naming file, line and field.
    """

    def parse_line(line: CaseLine, stem: str) -> Iterator[Sample]:
        for metric in _FILES[stem]:
            yield from _SAMPLES[metric](line, metric)

    return case_file.load_case_samples(source, _FILES, parse_line)


def _parse_server(line: CaseLine) -> Server:
    try:
        return parse_server(line.parse_text("db_type"))
    except UsageError as error:
        line.raise_field_error("db_type", str(error))


def _build_input(line: CaseLine, target: Server) -> dict[str, Any]:
    return {
        "dialect": target.name,
        "description": line.parse_optional_text("description"),
        "schema": line.parse_text_list("create_table_statements"),
        "sql": line.parse_text("sql"),
        "explain": line.parse_optional_text("explain"),
    }


def _build_reference(line: CaseLine, target: Server) -> dict[str, Any]:
    return {
        "engine": target.engine,
        "dialect": target.dialect,
        "reference": line.parse_optional_text("reference"),
        "data": line.parse_databases("data"),
        "ordered": line.parse_bool("ordered"),
    }


def _parse_rules(line: CaseLine) -> list[dict[str, Any]]:
    """The improvements that a case names; a case of ours may have none."""
    expected = line.row.get("expected") or {}
    rules = expected.get("optimization_rules", []) if isinstance(expected, dict) else None
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        line.raise_field_error("expected.optimization_rules", "must be a list of objects")
    for rule in rules:
        if str(rule.get("difficulty_level")) not in _DIFFICULTIES or "rule_id" not in rule:
            line.raise_field_error(
                "expected.optimization_rules", 'needs rule_id and difficulty_level "1"-"3"'
            )
    return rules


def _build_meta(line: CaseLine) -> dict[str, Any]:
    """What a case itself calls right and wrong; SCALE's say neither."""
    if not line.row.get("reference"):
        return {"source": line.source}
    return {
        "variants": line.parse_text_list("variants"),
        "counterexamples": [line.parse_text("sql"), *line.parse_text_list("counterexamples")],
        "source": line.source,
    }


def _build_rewrite_samples(line: CaseLine, metric: str) -> Iterator[Sample]:
    target = _parse_server(line)
    yield Sample(
        metric=metric,
        id=line.parse_case_id(),
        input=_build_input(line, target),
        reference=_build_reference(line, target) | {"rules": _parse_rules(line)},
        difficulty=line.parse_difficulty(),
        meta=_build_meta(line),
    )


def _build_depth_samples(line: CaseLine, metric: str) -> Iterator[Sample]:
    """Build one sample per rule."""
    target, rules = _parse_server(line), _parse_rules(line)
    for rule in rules:
        yield Sample(
            metric=metric,
            id=f"{line.parse_case_id()}/{rule['rule_id']}",
            input=_build_input(line, target),
            reference=_build_reference(line, target) | {"rule": rule, "rules": rules},
            difficulty=int(rule["difficulty_level"]),
            meta=_build_meta(line),
        )


def _build_index_samples(line: CaseLine, metric: str) -> Iterator[Sample]:
    """SCALE's index cases name no database: all are MySQL."""
    target = _parse_server(line) if line.row.get("db_type") else parse_server("MySQL")
    expected = line.row.get("expected")
    right: list[str] = []
    if isinstance(expected, dict):
        right = _list_right_advice(line, expected, target)
    elif not isinstance(expected, str):
        line.raise_field_error("expected", "must be an object of alternatives, or SCALE's text")
    inputs = _build_input(line, target) | {
        "columns_selectivity": line.parse_optional_text("columns_selectivity")
    }
    yield Sample(
        metric=metric,
        id=line.parse_case_id(),
        input=inputs,
        reference={"engine": target.engine, "dialect": target.dialect, "expected": expected},
        difficulty=line.parse_difficulty(),
        meta={
            "variants": [*line.parse_text_list("variants"), *right],
            "counterexamples": line.parse_text_list("counterexamples"),
            "source": line.source,
        },
    )


def _list_right_advice(line: CaseLine, expected: dict[str, Any], target: Server) -> list[str]:
    """The answers that an expectation itself calls right, to be confirmed like any variant."""
    alternatives = expected.get("alternatives")
    if not isinstance(alternatives, list) or not all(
        isinstance(alternative, dict)
        and isinstance(alternative.get("columns"), list)
        and alternative.get("table")
        for alternative in alternatives
    ):
        line.raise_field_error("expected.alternatives", "must be a list of {table, columns}")
    try:
        right = advice.list_right_answers(expected, target.dialect)
    except UnreadableIndex as error:
        line.raise_field_error("expected.alternatives", str(error))
    if not right:
        line.raise_field_error("expected", "needs an alternative, or none_ok or cannot_ok")
    return right


_SAMPLES = {
    "logical_equivalence": _build_rewrite_samples,
    "syntax_error_detection": _build_rewrite_samples,
    "optimization_depth": _build_depth_samples,
    "index_advice": _build_index_samples,
}


# The benchmark `sql_optimization`: rewrites and index advice, each held against the engine.

_MAX_ASSESSMENTS = 64


class SqlOptimization(ExecutedBenchmark):
    """Option `mode`: `verified` (default) or `scale`, where judges alone decide."""

    card = CARD

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.meter = WorkMeter()
        self._assessments: OrderedDict[tuple[EquivalenceQuestion, str], Assessment] = OrderedDict()

    def close(self) -> None:
        super().close()
        self.meter.close()

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return load_optimization_samples(source)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return prompts.build_optimization_prompt(sample)

    def generation_key(self, sample: Sample) -> str:
        """The three rewrite metrics ask the same, so that one answer serves them."""
        return content_hash([sample.metric == "index_advice", sample.input])

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """Answer as a control: `reference` gives the authored rewrite or index, `null` nothing,
        `noop` the input, the cosmetic kinds the input in disguise."""
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
        question = prompts.QUESTIONS[sample.metric](sample, episode.answer)
        by_judges = await sql_scoring.score_as_published(sample, episode, question, context)
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
        rewrite = AssessedRewrite(sample, extracted.sql, assessment, context)
        return to_verdict(sample, episode, extracted.kind, await RULES[sample.metric](rewrite))

    async def _assess_cached(self, sample: Sample, sql: str) -> Assessment:
        """Remembered for a while: the metrics of one answer are scored one after another."""
        question = build_rewrite_question(sample)
        assessment = self._assessments.get((question, sql))
        if assessment is None:
            server = parse_server(sample.input["dialect"])
            authored = sample.reference["reference"]
            assessment = await assess_rewrite(self, self.meter, question, sql, server, authored)
            self._assessments[question, sql] = assessment
            if len(self._assessments) > _MAX_ASSESSMENTS:
                self._assessments.popitem(last=False)
        return assessment
