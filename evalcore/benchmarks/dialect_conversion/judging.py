"""What a panel is asked about a conversion that no engine here can run."""

from __future__ import annotations

from evalcore.judges.records import Question
from evalcore.records import Sample


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
