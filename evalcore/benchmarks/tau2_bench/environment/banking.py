"""The bank of tau2-bench: its records, and what all of its tools share.

Ids are hashes of what they name, so that the same call makes the same record anywhere. Amounts are
texts with or without a dollar sign, as each tool leaves them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from evalcore.benchmarks.tau2_bench.environment.world import State
from evalcore.benchmarks.tau_bench.environment.database import Entity

NOW = datetime(2025, 11, 14, 3, 40)
TODAY = "11/14/2025"
_DATE = "%m/%d/%Y"

TABLES = (
    *("users", "accounts", "debit_cards", "referrals", "credit_card_applications"),
    *("user_discoverable_tools", "user_discoverable_tool_calls", "verification_history"),
    *("credit_card_transaction_history", "cash_back_disputes", "bank_account_transaction_history"),
    *("credit_card_accounts", "agent_discoverable_tools", "task_config", "human_transfer_requests"),
    *("transaction_disputes", "credit_card_orders", "debit_card_orders"),
    *("credit_card_closure_reasons", "credit_card_account_flags", "credit_limit_increase_requests"),
    *("payment_history", "debit_card_disputes"),
)


class RefusedCall(Exception):
    """A tool of the bank does nothing and says why; that it was called may be noted."""


def require(holds: Any, problem: str) -> None:
    """Raises RefusedCall unless something holds."""
    if not holds:
        raise RefusedCall(problem)


def require_choice(value: Any, choices: tuple[str, ...], name: str) -> None:
    require(value in choices, f"Invalid {name}. Must be one of: {list(choices)}")


def read_amount(value: Any, problem: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise RefusedCall(problem) from None


def make_id(seed: str, length: int = 16) -> str:
    return hashlib.sha256(seed.encode()).digest()[: length // 2].hex()


def get_row(world: State, table: str, row_id: Any) -> Entity | None:
    return world.agent.get(table, row_id)


def require_row(world: State, table: str, row_id: Any, what: str) -> Entity:
    row = world.agent.get(table, row_id)
    require(row is not None, f"{what} '{row_id}' not found.")
    return row or {}


def add_row(world: State, table: str, row_id: str, row: Entity) -> bool:
    """Add a row; False where its id is taken."""
    if world.agent.get(table, row_id) is not None:
        return False
    world.agent.put(table, row_id, row)
    return True


def iter_rows(world: State, table: str, **fields: Any) -> Iterator[tuple[str, Entity]]:
    """The rows whose fields have these values, as the text that upstream compares."""
    for row_id, row in world.agent.rows(table):
        if all(row.get(name) == str(value) for name, value in fields.items()):
            yield row_id, row


def format_rows(world: State, table: str, **fields: Any) -> str:
    """The rows as a person reads them, a field a line."""
    rows = list(iter_rows(world, table, **fields))
    lines = [f"{len(rows)} record(s) in {table}" if rows else f"No records found in {table}."]
    for number, (row_id, row) in enumerate(rows, 1):
        lines.append(f"{number}. {row_id}")
        lines += [f"   {name}: {value}" for name, value in row.items()]
    return "\n".join(lines)


def parse_balance(value: Any) -> float:
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        return float(value.replace("$", "").replace(",", ""))
    return 0.0


def account_balance(account: Entity) -> float:
    return parse_balance(account.get("current_holdings", account.get("balance", 0)))


def is_active(account: Entity) -> bool:
    return account.get("status") in ("ACTIVE", "OPEN")


def count_days_open(account: Entity) -> int | None:
    """How many days ago an account was opened; None where that is no date."""
    try:
        return (NOW - datetime.strptime(account.get("date_opened", ""), _DATE)).days
    except (TypeError, ValueError):
        return None


def report(title: str, **facts: Any) -> str:
    """What a tool did, a fact a line."""
    return "\n".join(
        [title, *(f"- {name.replace('_', ' ')}: {fact}" for name, fact in facts.items())]
    )
