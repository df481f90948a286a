"""The questions of `sql_optimization`: to the target (prompt version 1), and to a panel."""

from __future__ import annotations

from collections.abc import Callable

from evalcore.judges import Question, Rule
from evalcore.records import Message, Sample

# The two questions of `sql_optimization`, the first shared by three metrics; prompt version 1.

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


# What a panel is asked about a rewrite or an advice that cannot be decided by execution.


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
