"""What an episode may take; every limit ends it for a reason of its own, and without a reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalcore.errors import UsageError
from evalcore.records import Completion, Record

#: Ends of a conversation that tau-bench rewards.
USER_STOP, TRANSFER = "user_stop", "transfer"
OVERFLOW = "context_overflow"
#: The provider withheld the answer: whatever follows would be withheld too.
FILTERED = "content_filter"
MAX_TURNS = 200


class Budgets(Record, frozen=True):
    """0 is no limit. Turns are answers of the agent; tokens are all that it read and wrote, seconds
    those it took to answer, and cost is in USD, which limits nothing where no price is known."""

    max_turns: int = 30
    max_tool_errors: int = 10
    max_parse_errors: int = 5
    max_tokens: int = 0
    max_seconds: float = 0.0
    max_cost: float = 0.0


def parse_budgets(options: Mapping[str, Any]) -> Budgets:
    """The limits among a benchmark's options. Raises UsageError for one below 0, and for turns
    without end."""
    limits = {name: options[name] for name in Budgets.__struct_fields__}
    for name, limit in limits.items():
        if not 0 <= limit < float("inf"):
            raise UsageError(f"option tau_bench.{name}={limit}: give a number from 0 up")
    if not 1 <= limits["max_turns"] <= MAX_TURNS:
        raise UsageError(f"option tau_bench.max_turns: give 1 to {MAX_TURNS}")
    return Budgets(**limits)


class BudgetUsage(Record, frozen=True):
    """What an episode took so far, in the units of `Budgets`.

    All of it comes from the answers themselves, so that an episode that is resumed adds up to the
    same.
    """

    max_turns: int = 0
    max_tool_errors: int = 0
    max_parse_errors: int = 0
    max_tokens: int = 0
    max_seconds: float = 0.0
    max_cost: float = 0.0

    def find_exceeded_limit(self, budgets: Budgets) -> str:
        """The name of the first limit that is reached, else empty."""
        for name in Budgets.__struct_fields__:
            limit = getattr(budgets, name)
            if limit and getattr(self, name) >= limit:
                return str(name)
        return ""


def add_answer_usage(spent: BudgetUsage, answer: Completion, cost: float | None) -> BudgetUsage:
    """With one more answer of the agent."""
    usage = answer.usage
    return BudgetUsage(
        spent.max_turns + 1,
        spent.max_tool_errors,
        spent.max_parse_errors,
        spent.max_tokens + (usage.input_tokens or 0) + (usage.output_tokens or 0),
        spent.max_seconds + answer.latency,
        spent.max_cost + (cost or 0.0),
    )
