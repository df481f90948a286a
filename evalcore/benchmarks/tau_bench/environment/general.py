"""The tools that both domains have: calculating, thinking, handing over to a person."""

from __future__ import annotations

from evalcore.benchmarks.tau_bench.environment.arithmetic import (
    ALLOWED_CHARACTERS,
    evaluate_arithmetic,
)
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.tool import ToolError, build_tool, text_schema


def calculate(database: Database, expression: str) -> str:
    if not isinstance(expression, str):
        raise TypeError(f"{type(expression).__name__!r} object is not an expression")
    if not ALLOWED_CHARACTERS.issuperset(expression):
        raise ToolError("invalid characters in expression")
    return evaluate_arithmetic(expression)


def think(database: Database, thought: str) -> str:
    return ""


def transfer_to_human_agents(database: Database, summary: str) -> str:
    return "Transfer successful"


GENERAL_TOOLS = (
    build_tool(
        calculate,
        "Work out an expression of numbers, for example a total or a difference of prices.",
        {
            "expression": text_schema(
                "Numbers, + - * /, brackets and spaces, such as '2 * (3 + 4.5)'."
            )
        },
    ),
    build_tool(
        think,
        "Note a thought. It changes nothing and gives nothing; use it to plan or to check rules.",
        {"thought": text_schema("The thought.")},
    ),
    build_tool(
        transfer_to_human_agents,
        "Hand the user over to a person, with a summary. This ends the conversation. Use it only "
        "for a request that none of the tools can handle under the policy.",
        {"summary": text_schema("What the user wants and what was done so far.")},
        terminates=True,
    ),
)
