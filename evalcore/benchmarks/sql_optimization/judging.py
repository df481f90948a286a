"""What a panel is asked about a rewrite or an advice that cannot be decided by execution."""

from __future__ import annotations

from collections.abc import Callable

from evalcore.judges.records import Question, Rule
from evalcore.records import Sample


def build_equivalence_question(sample: Sample, answer: str) -> Question:
    """Whether the rewrite gives what the original gives."""
    return Question(
        kind="equivalence",
        answer=answer,
        target=sample.input["dialect"],
        original=sample.input["sql"],
        schema=tuple(sample.input["schema"]),
    )


def build_validity_question(sample: Sample, answer: str) -> Question:
    """Whether the rewrite would run."""
    schema = tuple(sample.input["schema"])
    return Question(kind="validity", answer=answer, target=sample.input["dialect"], schema=schema)


def build_rules_question(sample: Sample, answer: str) -> Question:
    """Which of the improvements of the case were made; the sample is about one of them."""
    reference = sample.reference
    return Question(
        kind="rules",
        answer=answer,
        target=sample.input["dialect"],
        original=sample.input["sql"],
        schema=tuple(sample.input["schema"]),
        rules=tuple(
            Rule(id=str(r["rule_id"]), text=str(r["rationale"])) for r in reference["rules"]
        ),
        decides=str(reference["rule"]["rule_id"]),
    )


def build_advice_question(sample: Sample, answer: str) -> Question:
    """Whether the advice agrees with a standard answer in words."""
    return Question(
        kind="index_advice",
        answer=answer,
        target=sample.input["dialect"],
        original=sample.input["sql"],
        schema=tuple(sample.input["schema"]),
        expected=str(sample.reference["expected"]),
        facts=sample.input["columns_selectivity"],
    )


#: What the published rule asks, by metric.
QUESTIONS: dict[str, Callable[[Sample, str], Question]] = {
    "logical_equivalence": build_equivalence_question,
    "syntax_error_detection": build_validity_question,
    "optimization_depth": build_rules_question,
    "index_advice": build_advice_question,
}
