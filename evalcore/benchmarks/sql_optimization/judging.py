"""What a panel is asked about a rewrite or an advice that cannot be decided by execution."""

from __future__ import annotations

from collections.abc import Callable

from evalcore.judges.records import Question, Rule
from evalcore.records import Sample


def equivalence(sample: Sample, answer: str) -> Question:
    """Whether the rewrite gives what the original gives."""
    return Question(
        kind="equivalence",
        answer=answer,
        target=sample.input["dialect"],
        original=sample.input["sql"],
        schema=tuple(sample.input["schema"]),
    )


def validity(sample: Sample, answer: str) -> Question:
    """Whether the rewrite would run."""
    schema = tuple(sample.input["schema"])
    return Question(kind="validity", answer=answer, target=sample.input["dialect"], schema=schema)


def rules(sample: Sample, answer: str) -> Question:
    """Which of the improvements of the case were made; the sample is about one of them."""
    told = sample.reference
    return Question(
        kind="rules",
        answer=answer,
        target=sample.input["dialect"],
        original=sample.input["sql"],
        schema=tuple(sample.input["schema"]),
        rules=tuple(Rule(id=str(r["rule_id"]), text=str(r["rationale"])) for r in told["rules"]),
        decides=str(told["rule"]["rule_id"]),
    )


def advice(sample: Sample, answer: str) -> Question:
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
    "logical_equivalence": equivalence,
    "syntax_error_detection": validity,
    "optimization_depth": rules,
    "index_advice": advice,
}
