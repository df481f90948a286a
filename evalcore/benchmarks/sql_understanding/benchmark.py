"""The benchmark `sql_understanding`: one question a sample, one JSON answer, an exact verdict.

SCALE's files are read unchanged; its cases are MySQL. Ours add dialect, order_matters,
provenance and counterexamples to every case.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evalcore.benchmarks import case_file
from evalcore.benchmarks.answer_scoring import ScoringResult, build_no_answer_verdict, to_verdict
from evalcore.benchmarks.base import Benchmark, Context, DatasetSource, ValidationResult
from evalcore.benchmarks.case_file import CaseLine
from evalcore.benchmarks.sql_understanding import answers
from evalcore.benchmarks.sql_understanding.card import CARD
from evalcore.benchmarks.sql_understanding.extraction import Extraction, extract_json_answer
from evalcore.i18n import Note
from evalcore.judges.recorded import parse_published_reply
from evalcore.records import Completion, Episode, EvidenceKind, Message, Sample, Section, Verdict
from evalcore.sqlkit.dialects import TITLES
from evalcore.sqlkit.result_tables import to_json_cell
from evalcore.sqlkit.syntax import has_order_by

# Reading the cases of `sql_understanding`: SCALE's files unchanged, and our own superset. SCALE
# fields (actiontech/sql-llm-benchmark, datasets of 2026): case_id, difficulty_level "1".."3",
# create_table_statements, insert_statements, sql, expected, and dialect in the plan cases only; its
# cases are MySQL. Ours add dialect, order_matters, provenance and counterexamples to every case.

METRICS = (
    "execution_accuracy",
    "sql_identification",
    "explain_detection",
    "syntax_error_detection",
)
#: Fields that each metric's `expected` must hold; plans come as ours or as SCALE's MySQL row.
EXPECTED: dict[str, tuple[tuple[str, ...], ...]] = {
    "execution_accuracy": (("result_type", "columns", "rows"),),
    "sql_identification": (("sql_type", "statement_type"),),
    "explain_detection": (("steps", "temp_sort"), ("type", "key")),
    "syntax_error_detection": (("has_syntax_error",),),
}
SCALE_DIALECT = "mysql"
_STAND_INS = {"mariadb": "MariaDB"}
_EMBEDDED_PLANS = "sqlite"  # the dialect whose plans are those of an engine without statistics


def load_understanding_samples(source: DatasetSource, mode: str) -> list[Sample]:
    """The samples of a folder of `<metric>.jsonl` files, or of one such file. Raises DatasetError
    naming file, line and field."""

    def parse_line(line: CaseLine, metric: str) -> Iterator[Sample]:
        yield _build_understanding_sample(line, metric, mode)

    return case_file.load_case_samples(
        source, {metric: (metric,) for metric in METRICS}, parse_line
    )


def _build_understanding_sample(line: CaseLine, metric: str, mode: str) -> Sample:
    expected = _parse_expected(line, metric, mode)
    dialect = line.parse_dialect("dialect", SCALE_DIALECT)
    content: dict[str, Any] = {
        "dialect": dialect,
        "schema": line.parse_text_list("create_table_statements"),
        "data": line.parse_text_list("insert_statements"),
        "sql": line.parse_text("sql"),
    }
    provenance = line.row.get("provenance", {})
    if metric == "explain_detection" and isinstance(provenance, dict) and "engine" in provenance:
        content["engine"] = _engine_title(
            str(provenance["engine"]), dialect
        )  # a plan depends on it
    reference: dict[str, Any] = {"expected": expected}
    if metric == "execution_accuracy":
        reference["ordered"] = _is_ordered(line, dialect, expected)
    return Sample(
        metric=metric,
        id=line.parse_case_id(),
        input=content,
        reference=reference,
        difficulty=line.parse_difficulty(),
        meta={
            "provenance": provenance,
            "counterexamples": line.parse_list("counterexamples"),
            "source": line.source,
        },
    )


def _engine_title(engine: str, dialect: str) -> str:
    """ "sqlite 3.40.1" as people write it: "SQLite 3.40.1"; a stand-in also says for what."""
    name, _, version = engine.partition(" ")
    title = f"{TITLES.get(name, _STAND_INS.get(name, name))} {version}".strip()
    return title if name in TITLES else f"{title} as {TITLES[dialect]}"


def _parse_expected(line: CaseLine, metric: str, mode: str) -> dict[str, Any]:
    expected = line.parse_object("expected")
    if mode == "scale":  # the published rule compares whatever fields there are
        return expected
    for fields in EXPECTED[metric]:
        if all(field in expected for field in fields):
            break
    else:
        shapes = " or ".join("{" + ", ".join(fields) + "}" for fields in EXPECTED[metric])
        line.raise_field_error("expected", Note("upload_needs_fields", fields=shapes))
    if metric == "explain_detection" and "steps" not in expected:
        line.raise_field_error(
            "expected",
            "a MySQL EXPLAIN row cannot be confirmed by an engine here; "
            "use --option sql_understanding.mode=scale",
        )
    if metric == "execution_accuracy":
        _check_table(line, expected)
    if metric == "explain_detection" and not isinstance(expected["steps"], list):
        line.raise_field_error("expected.steps", Note("upload_list"))
    return expected


def _check_table(line: CaseLine, expected: dict[str, Any]) -> None:
    columns, rows = expected["columns"], expected["rows"]
    if not isinstance(columns, list) or not isinstance(rows, list):
        line.raise_field_error("expected", "columns and rows must be lists")
    for row in rows:
        if not isinstance(row, list) or len(row) != len(columns):
            problem = Note("upload_row_width", row=f"{row!r}", count=len(columns))
            line.raise_field_error("expected.rows", problem)


def _is_ordered(line: CaseLine, dialect: str, expected: dict[str, Any]) -> bool:
    order_matters = line.parse_bool("order_matters")
    if order_matters is not None:
        return order_matters
    return expected.get("result_type") == "select" and has_order_by(line.row["sql"], dialect)


# The questions that `sql_understanding` asks, one per metric; prompt version 1.
# In `scale` mode the answer's fields are those of the published benchmark; in `verified` mode the
# plan question asks for what an engine can confirm. The dialect is always told.

_ONLY_JSON = "Answer with one JSON object and nothing else: no code fence, no explanation."

_TEMPLATES: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8")
)


def build_understanding_prompt(sample: Sample, mode: str) -> list[Message]:
    """The single user message for a sample."""
    expected = sample.reference["expected"]
    template = _TEMPLATES[sample.metric]
    values: dict[str, Any] = {
        "dialect": sample.input.get("engine") or TITLES[sample.input["dialect"]],
        "schema": "\n".join(sample.input["schema"]) or "(none)",
        "data": "\n".join(sample.input["data"]) or "(none)",
        "sql": sample.input["sql"],
        "only_json": _ONLY_JSON,
        "form": "",
        "order": "",
    }
    if sample.metric == "execution_accuracy":
        values["form"] = _table_form(mode, expected)
        values["order"] = _order_hint(mode, bool(sample.reference["ordered"]))
    elif sample.metric == "explain_detection" and "steps" not in expected:
        template = _TEMPLATES["scale_plan"]
        values["form"] = "{" + ", ".join(f'"{field}": ...' for field in expected) + "}"
    elif sample.metric == "explain_detection" and sample.input["dialect"] != _EMBEDDED_PLANS:
        template = _TEMPLATES["server_plan"]
    return [Message(role="user", content=template.format(**values))]


def _table_form(mode: str, expected: dict[str, Any]) -> str:
    """The published rule compares every field, so `scale` asks for all; `verified` for none of
    the fields that would tell a query from a change."""
    if mode == "verified":
        return '{"columns": ["...", ...], "rows": [[..., ...], ...]}'
    kind = '"result_type": "select" for a query or "table_state" for a change'
    name = ', "table_name": "..."' if "table_name" in expected else ""
    return "{" + kind + name + ', "columns": ["...", ...], "rows": [[..., ...], ...]}'


def _order_hint(mode: str, ordered: bool) -> str:
    if mode == "scale":
        return "Give the rows in the order in which the engine returns them."
    return (
        "Give the rows in the order that the statement asks for."
        if ordered
        else "The order of the rows does not matter."
    )


# The benchmark `sql_understanding`: one question a sample, one JSON answer, an exact verdict.


class SqlUnderstanding(Benchmark):
    """Option `mode`: `verified` (default) or `scale`, the published rule."""

    card = CARD
    confirms_gold = True
    confirms_by_engines = True

    @property
    def mode(self) -> str:
        return str(self.options["mode"])

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return load_understanding_samples(source, self.mode)

    def build_prompt(self, sample: Sample) -> list[Message]:
        return build_understanding_prompt(sample, self.mode)

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` gives the expected answer, `null` nothing, `noop` the statement itself."""
        texts = {
            "reference": json.dumps(sample.reference["expected"], ensure_ascii=False),
            "null": "",
            "noop": sample.input["sql"],
        }
        return Completion(text=texts[kind])

    def validate_references(self, samples: Sequence[Sample]) -> ValidationResult:
        from evalcore.benchmarks.sql_understanding import reference_validation

        return reference_validation.validate_expected_answers(samples)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        score = self._score_published if self.mode == "scale" else self._score_verified
        return score(sample, episode)

    def _score_verified(self, sample: Sample, episode: Episode) -> Verdict:
        extraction = extract_json_answer(episode.answer, list(sample.reference["expected"]))
        if extraction.value is None:
            return self._build_no_answer(sample, episode)
        comparison = answers.read_answer(sample, extraction.value)
        return self._build_comparison_verdict(sample, episode, extraction, comparison)

    def _score_published(self, sample: Sample, episode: Episode) -> Verdict:
        """The published rule on the answer as the published agent would have parsed it."""
        answer = parse_published_reply(episode.answer)
        extraction = Extraction(kind="none")
        if isinstance(answer, dict):
            extraction = Extraction(kind="strict", value=answer)
        try:
            right = answers.passes_published_rule(answer, sample.reference["expected"])
            error, note = ("" if right else "different"), ""
        except answers.UndefinedComparison:
            right, error = False, "undefined"
            note = "The published evaluator fails on a boolean here; counted as wrong."
        if extraction.value is None and not right:
            return self._build_no_answer(sample, episode)
        body = {"expected": sample.reference["expected"], "answer": to_json_cell(answer)}
        section = Section(kind="json", title="compared", body=body)
        comparison = answers.ComparisonResult(
            right=right, error=error, note=note, evidence=(section,)
        )
        return self._build_comparison_verdict(sample, episode, extraction, comparison)

    def _build_comparison_verdict(
        self,
        sample: Sample,
        episode: Episode,
        extraction: Extraction,
        comparison: answers.ComparisonResult,
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
