"""What a panel is asked about a conversion that no engine here can run."""

from __future__ import annotations

from evalcore.judges.records import Question
from evalcore.records import Sample


def question_of(sample: Sample, sql: str) -> Question:
    """Validity where the metric asks for syntax alone, else equivalence with the source."""
    given = sample.input
    target, schema = given["target_dialect"], tuple(given["schema"])
    if sample.metric == "syntax_error_detection":
        return Question(kind="validity", answer=sql, target=target, schema=schema)
    return Question(
        kind="equivalence",
        answer=sql,
        target=target,
        source=given["source_dialect"],
        original=given["sql"],
        schema=schema,
        source_schema=tuple(given["source_schema"]),
    )
