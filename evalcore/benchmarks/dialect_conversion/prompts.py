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


def build(sample: Sample) -> list[Message]:
    """The single user message for a sample."""
    given = sample.input
    schemas = [
        f"\nTables in {given[dialect]}:\n" + "\n".join(given[schema]) + "\n"
        for dialect, schema in (("source_dialect", "source_schema"), ("target_dialect", "schema"))
        if given[schema]
    ]
    content = _QUESTION.format(
        source=given["source_dialect"],
        target=given["target_dialect"],
        schemas="".join(schemas),
        sql=given["sql"],
    )
    return [Message(role="user", content=content)]
