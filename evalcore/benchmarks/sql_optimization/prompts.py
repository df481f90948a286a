"""The two questions of `sql_optimization`, the first shared by three metrics; prompt version 1."""

from __future__ import annotations

from evalcore.records import Message, Sample

_REWRITE = """Rewrite the SQL statement below so that {dialect} runs it with less work.

The rewrite must return exactly the same rows, with the same columns in the same order, whatever \
the tables hold. Change the statement only: no index, no other object, no setting.

Answer with the rewritten statement and nothing else: no code fence, no comment, no explanation.

Tables and indexes:
{schema}
{facts}
Statement:
{sql}"""

_INDEX = """Which index lets {dialect} run the SQL statement below with less work? The tables are \
large, with the indexes shown.

Answer with one or more CREATE INDEX statements and nothing else. If no index is needed because \
one that exists already serves, answer "No index is needed." If no index can help, answer \
"No index can help."

Tables and indexes:
{schema}
{facts}
Statement:
{sql}"""

_FACTS = (
    ("description", "About the case"),
    ("columns_selectivity", "Selectivity of columns"),
    ("explain", "Plan of the statement as it is"),
)


def build_optimization_prompt(sample: Sample) -> list[Message]:
    """The single user message for a sample."""
    inputs = sample.input
    facts = [f"\n{title}:\n{inputs[name]}\n" for name, title in _FACTS if inputs.get(name)]
    template = _INDEX if sample.metric == "index_advice" else _REWRITE
    content = template.format(
        dialect=inputs["dialect"],
        schema="\n".join(inputs["schema"]) or "(none)",
        facts="".join(facts),
        sql=inputs["sql"],
    )
    return [Message(role="user", content=content)]
