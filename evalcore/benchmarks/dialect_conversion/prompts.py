"""The question that `dialect_conversion` asks, the same for every metric; prompt version 1."""

from __future__ import annotations

from evalcore.records import Message, Sample

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
