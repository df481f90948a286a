"""The questions that `sql_understanding` asks, one per metric; prompt version 1.

In `scale` mode the answer's fields are those of the published benchmark; in `verified` mode the
plan question asks for what an engine can confirm. The dialect is always told.
"""

from __future__ import annotations

from typing import Any

from evalcore.records import Message, Sample
from evalcore.sqlkit.dialects import TITLES

_ONLY_JSON = "Answer with one JSON object and nothing else: no code fence, no explanation."

_TABLE = """You predict what {dialect} does. The tables below are created and filled, then the \
statement is executed once. Work out the outcome without running anything.

If the statement is a query, give the rows it returns. If it changes data, give the complete \
content of the changed table afterwards, with all its columns in their order of creation.

{only_json} Its form:
{form}

"columns" holds the column names in order, "rows" one list of values per row in that order. Write \
NULL as null, numbers as numbers, dates and times as ISO text. {order}

Tables:
{schema}

Rows:
{data}

Statement:
{sql}"""

_IDENTIFY = """Classify the SQL statement below, written for {dialect}.

{only_json} Its form:
{{"sql_type": "...", "statement_type": "..."}}

"sql_type" is one of DML, DDL, DCL, TCL, where a SELECT counts as DML. "statement_type" is one of \
SELECT, INSERT, UPDATE, DELETE, MERGE, CREATE, ALTER, DROP, RENAME, TRUNCATE, GRANT, REVOKE, \
BEGIN, COMMIT, SAVEPOINT, ROLLBACK. Classify the statement as a whole, not what stands inside it.

Statement:
{sql}"""

_PLAN = """You predict the query plan that {dialect} chooses for the statement below. The tables \
and indexes are created as shown; no statistics were gathered (ANALYZE was never run).

{only_json} Its form:
{{"steps": [{{"table": "...", "access": "scan", "index": null}}], "temp_sort": false}}

"steps" lists the tables in the order in which the engine visits them, outermost loop first, by \
alias where there is one. "access" is "scan" if all entries of the table or index are visited and \
"search" if only those that match. "index" is the name of the index that is used, "PRIMARY KEY" \
for the primary key or row id, "AUTOMATIC" for one built for this query, else null. "temp_sort" is \
true if a temporary structure is needed for ORDER BY, GROUP BY or DISTINCT.

Tables and indexes:
{schema}

Rows:
{data}

Statement:
{sql}"""

_SCALE_PLAN = """Give the first row that EXPLAIN returns in {dialect} for the statement below, \
after the tables were created and filled as shown.

{only_json} Its form:
{form}

Tables:
{schema}

Rows:
{data}

Statement:
{sql}"""

_SYNTAX = """Does the SQL statement below have a syntax error in {dialect}? Judge the grammar \
only: an unknown table, column or function, or a type that does not fit, is not a syntax error.

{only_json} Its form:
{{"has_syntax_error": "yes"}} or {{"has_syntax_error": "no"}}

Statement:
{sql}"""

_TEMPLATES = {
    "execution_accuracy": _TABLE,
    "sql_identification": _IDENTIFY,
    "explain_detection": _PLAN,
    "syntax_error_detection": _SYNTAX,
}


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
        template = _SCALE_PLAN
        values["form"] = "{" + ", ".join(f'"{field}": ...' for field in expected) + "}"
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
