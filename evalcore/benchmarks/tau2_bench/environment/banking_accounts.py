"""Tools of the bank that have to be found in its documents: accounts, credits and limits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from evalcore.benchmarks.tau2_bench.environment.banking import (
    NOW,
    TODAY,
    RefusedCall,
    account_balance,
    add_row,
    count_days_open,
    format_rows,
    get_row,
    is_active,
    make_id,
    read_amount,
    report,
    require,
    require_choice,
    require_row,
)
from evalcore.benchmarks.tau2_bench.environment.world import State
from evalcore.benchmarks.tau_bench.environment.database import Entity

#: USD, and the days after opening within which they are due, by level of an account.
_CHECKING_CLOSURE = {
    **dict.fromkeys(("Light Blue Account", "Light Green Account"), (15, 30)),
    "Green Fee-Free Account": (15, 30),
    **dict.fromkeys(("Blue Account", "Green Account"), (25, 60)),
    "Evergreen Account": (50, 90),
    "Bluest Account": (100, 180),
}
_SAVINGS_CLOSURE = {
    "Bronze Account": (20, 60),
    **dict.fromkeys(("Silver Account", "Silver Plus Account"), (35, 90)),
    **dict.fromkeys(("Gold Account", "Gold Plus Account", "Gold Years Account"), (75, 180)),
    **dict.fromkeys(
        ("Platinum Account", "Platinum Plus Account", "Diamond Elite Account"), (150, 270)
    ),
}
_NOT_ELIGIBLE = "Account eligibility requirements not met."


def open_bank_account_4821(
    world: State, user_id: str, account_type: str, account_class: str
) -> str:
    require(user_id and account_type and account_class, "Missing required parameters.")
    types = ("checking", "savings", "business_checking", "business_savings")
    require_choice(account_type, types, "account_type")
    own = [row for _, row in world.agent.rows("accounts") if row.get("user_id") == user_id]
    require(_may_open(account_type, own), _NOT_ELIGIBLE)
    account_id = make_id(f"account:{user_id}:{account_type}:{account_class}")
    row = {
        "account_id": account_id,
        "user_id": user_id,
        "account_type": account_type,
        "account_class": account_class,
        "current_holdings": "0.00",
        "status": "OPEN",
        "date_opened": TODAY,
    }
    if not add_row(world, "accounts", account_id, row):
        return f"Failed to open account {account_id}: it exists."
    return report("Account opened.", **row)


def _may_open(account_type: str, own: list[Entity]) -> bool:
    """Whether the accounts that a customer has allow one more of a type."""
    if account_type == "savings":
        return any(_is_open_as(row, _PERSONAL, 14) for row in own)
    if account_type == "business_checking":
        closed = any(row.get("status") == "CLOSED" for row in own)
        return not closed and any(_is_open_as(row, _PERSONAL) for row in own)
    if account_type == "business_savings":
        if any(account_balance(row) < 0 for row in own):
            return False
        return any(_is_open_as(row, ("business_checking",), 30) for row in own)
    return True


_PERSONAL = ("checking", "personal_checking")


def _is_open_as(row: Entity, types: tuple[str, ...], days: int | None = None) -> bool:
    of_type = row.get("account_type", row.get("class", "")) in types
    return of_type and is_active(row) and (days is None or (count_days_open(row) or 0) >= days)


def close_bank_account_7392(
    world: State,
    account_id: str,
    reason: str = "Customer requested closure",
    waive_early_closure_fee: bool = False,
) -> str:
    require(account_id, "Missing required parameter (account_id).")
    account = require_row(world, "accounts", account_id, "Account")
    require(account.get("status") != "CLOSED", f"Account '{account_id}' is already closed.")
    balance = account_balance(account)
    fee = 0 if waive_early_closure_fee else _compute_closure_fee(account)
    require(balance >= fee or not fee, "Account unable to be closed.")
    require(balance - fee == 0, f"Account balance must be $0.00, it is ${balance:.2f}.")
    world.agent.edit("accounts", account_id).update(
        status="CLOSED",
        date_closed=TODAY,
        closure_reason=reason,
        early_closure_fee_waived=waive_early_closure_fee,
    )
    return report("Account closed.", account_id=account_id, date=TODAY, reason=reason)


def _compute_closure_fee(account: Entity) -> int:
    tables = {"checking": _CHECKING_CLOSURE, "savings": _SAVINGS_CLOSURE}
    table = tables.get(account.get("class", ""), {})
    fee, days = table.get(account.get("level", ""), (0, 0))
    age = count_days_open(account) if account.get("date_opened") else None
    return fee if age is not None and age < days else 0


def get_all_user_accounts_by_user_id_3847(world: State, user_id: str) -> str:
    require(user_id, "Missing required parameter: user_id")
    tables = ("accounts", "credit_card_accounts")
    return "\n".join(format_rows(world, table, user_id=user_id) for table in tables)


def transfer_funds_between_bank_accounts_7291(
    world: State, source_account_id: str, destination_account_id: str, amount: float
) -> str:
    require(
        source_account_id and destination_account_id and amount is not None,
        "Missing required parameters.",
    )
    amount = read_amount(amount, f"Invalid amount '{amount}'. Must be a number.")
    require(amount > 0, "Transfer amount must be positive.")
    require(source_account_id != destination_account_id, "The accounts cannot be the same.")
    source = require_row(world, "accounts", source_account_id, "Source account")
    target = require_row(world, "accounts", destination_account_id, "Destination account")
    for row in (source, target):
        require(is_active(row), f"Account '{row.get('account_id')}' is not active.")
    balance = account_balance(source)
    require(balance >= amount, f"Insufficient funds: ${balance:.2f}.")
    added = account_balance(target) + amount
    world.agent.edit("accounts", source_account_id)["current_holdings"] = f"${balance - amount:.2f}"
    world.agent.edit("accounts", destination_account_id)["current_holdings"] = f"${added:.2f}"
    return report("Transfer completed.", amount=f"${amount:.2f}", left=f"${balance - amount:.2f}")


def apply_checking_account_credit_5829(
    world: State, account_id: str, amount: float, credit_type: str
) -> str:
    descriptions = {"rebate_credit": "REBATE CREDIT", "fee_refund": "FEE REFUND"}
    return _apply_credit(world, account_id, amount, credit_type, ("checking",), descriptions)


def apply_savings_account_credit_6831(
    world: State, account_id: str, amount: float, credit_type: str
) -> str:
    descriptions = {
        "interest_correction": "INTEREST CORRECTION",
        "fee_refund": "FEE REFUND",
        "goodwill_credit": "GOODWILL CREDIT",
    }
    classes = ("savings", "saving")
    return _apply_credit(world, account_id, amount, credit_type, classes, descriptions)


def _apply_credit(
    world: State,
    account_id: str,
    amount: float,
    credit_type: str,
    classes: tuple[str, ...],
    descriptions: dict[str, str],
) -> str:
    require(account_id and amount is not None and credit_type, "Missing required parameters.")
    amount = read_amount(amount, "Invalid credit amount. Must be a number.")
    require(amount > 0, "Credit amount must be positive.")
    require_choice(credit_type, tuple(descriptions), "credit_type")
    account = require_row(world, "accounts", account_id, "Account")
    kind = classes[0]
    is_kind = account.get("class", "").lower() in classes
    require(is_kind, f"Account '{account_id}' is not a {kind} account.")
    require(is_active(account), f"Account '{account_id}' is not active.")
    balance = account_balance(account) + amount
    sign = "$" if kind == "checking" else ""
    world.agent.edit("accounts", account_id)["current_holdings"] = f"{sign}{balance:.2f}"
    entry_id = f"txn_{make_id(f'{kind}_credit:{account_id}:{credit_type}:{amount}:{TODAY}')}"
    entry = {
        "transaction_id": entry_id,
        "account_id": account_id,
        "date": TODAY,
        "description": f"{descriptions[credit_type]} - CUSTOMER SERVICE",
        "amount": amount,
        "type": credit_type,
        "status": "posted",
    }
    world.agent.put("bank_account_transaction_history", entry_id, entry)
    return report("Credit applied.", account=account_id, balance=f"${balance:.2f}", entry=entry_id)


def submit_interest_discrepancy_report_7294(
    world: State,
    account_id: str,
    user_id: str,
    expected_apy: float,
    actual_apy: float,
    amount_difference: float,
) -> str:
    numbers = (expected_apy, actual_apy, amount_difference)
    require(account_id and user_id and None not in numbers, "Missing required parameters.")
    for number in numbers:
        read_amount(number, "The rates and the amount must be numbers.")
    require_row(world, "accounts", account_id, "Account")
    require_row(world, "users", user_id, "User")
    return report("Interest report submitted.", account=account_id, status="PENDING_REVIEW")


def get_bank_account_transactions_9173(world: State, account_id: str) -> str:
    require(account_id, "Missing required parameter: account_id")
    require_row(world, "accounts", account_id, "Account")
    return format_rows(world, "bank_account_transaction_history", account_id=account_id)


def pay_credit_card_from_checking_9182(
    world: State, user_id: str, checking_account_id: str, credit_card_account_id: str, amount: float
) -> str:
    require(
        user_id and checking_account_id and credit_card_account_id and amount is not None,
        "Missing required parameters.",
    )
    amount = read_amount(amount, "Invalid payment amount. Must be a positive number.")
    require(amount > 0, "Payment amount must be a positive number.")
    account = require_row(world, "accounts", checking_account_id, "Checking account")
    require(account.get("user_id") == user_id, "The checking account is of another user.")
    require(account.get("class") == "checking", "The account is not a checking account.")
    balance = account_balance(account)
    require(amount <= balance, f"Insufficient funds: ${balance:.2f}.")
    card = require_row(world, "credit_card_accounts", credit_card_account_id, "Credit card account")
    require(card.get("user_id") == user_id, "The credit card account is of another user.")
    owed = read_money(card.get("current_balance", "$0.00"))
    require(amount <= owed, f"The payment exceeds the balance of ${owed:.2f}.")
    world.agent.edit("accounts", checking_account_id)["current_holdings"] = (
        f"{balance - amount:.2f}"
    )
    card = world.agent.edit("credit_card_accounts", credit_card_account_id)
    card["current_balance"] = f"${owed - amount:.2f}"
    return report("Payment made.", amount=f"${amount:.2f}", owed=card["current_balance"])


def read_money(value: Any) -> float:
    """An amount as the bank writes it; 0 for what is none."""
    try:
        return float(str(value).replace("$", "").replace(",", ""))
    except ValueError:
        return 0.0


def get_payment_history_6183(world: State, credit_card_account_id: str, months: int) -> str:
    require(credit_card_account_id and months is not None, "Missing required parameters.")
    number = read_amount(months, "Invalid months value. Must be a positive integer.")
    require(int(number) > 0, "months must be a positive integer.")
    return format_rows(world, "payment_history", credit_card_account_id=credit_card_account_id)


def request_temporary_debit_card_limit_increase_8374(
    world: State, card_id: str, limit_type: str, new_limit: int
) -> str:
    require(card_id and limit_type and new_limit is not None, "Missing required parameters.")
    require_choice(limit_type, ("atm", "purchase"), "limit_type")
    limit = read_amount(new_limit, "new_limit must be an integer.")
    require(limit.is_integer(), "new_limit must be an integer.")
    require(limit > 0, "new_limit must be a positive amount.")
    card = require_row(world, "debit_cards", card_id, "Debit card")
    require(card.get("status") == "ACTIVE", f"Debit card '{card_id}' is not active.")
    account = get_row(world, "accounts", card.get("account_id"))
    if account is None:
        raise RefusedCall(f"Could not find the account of debit card '{card_id}'.")
    require(account.get("status") == "OPEN", "The linked account is not in good standing.")
    opened = account.get("date_opened")
    age = count_days_since(opened) if opened else None
    require(age is None or age >= 60, "Account must be at least 60 days old.")
    field, current = f"daily_{limit_type}_limit", card.get(f"daily_{limit_type}_limit")
    if limit_type == "atm" and current is None:
        current = _find_default_limit(account)
    if current is None:
        raise RefusedCall("The card has no such limit.")
    highest = int(current * 1.5)
    require(limit <= highest, f"Requested limit exceeds the maximum of ${highest}.")
    require(limit > current, f"Requested limit is not higher than ${current}.")
    world.agent.edit("debit_cards", card_id).update(
        {
            field: int(limit),
            f"temporary_{limit_type}_limit_increase": True,
            f"original_{limit_type}_limit": current,
            f"temporary_{limit_type}_limit_expires": TODAY,
        }
    )
    return report("Temporary limit granted for 24 hours.", card=card_id, limit=int(limit))


def count_days_since(text: str) -> int | None:
    try:
        opened = datetime.strptime(text, "%m/%d/%Y")
        return (NOW.replace(hour=0, minute=0) - opened).days
    except (TypeError, ValueError):
        return None


_ATM_LIMITS = {
    "blue account": 500,
    "green account": 600,
    "light blue account": 400,
    "green fee-free account": 500,
    "evergreen account": 750,
    "bluest account": 1500,
    "dark green account": 300,
    "gold years account": 600,
    "purple account": 1000,
}


def _find_default_limit(account: Entity) -> int | None:
    level = account.get("level", "").lower()
    require("light green" not in level, "The limits of a teen card are fixed.")
    return _ATM_LIMITS.get(level)


def submit_credit_limit_increase_request_7392(
    world: State, credit_card_account_id: str, user_id: str, requested_increase_amount: int
) -> str:
    require(
        credit_card_account_id and user_id and requested_increase_amount is not None,
        "Missing required parameters.",
    )
    amount = read_amount(requested_increase_amount, "The amount must be a whole number.")
    require(amount.is_integer(), "The amount must be a whole number of dollars.")
    require(amount > 0, "Requested increase amount must be positive.")
    _require_own_card(world, credit_card_account_id, user_id)
    request_id = _make_request_id(credit_card_account_id, user_id, int(amount))
    row = {
        "request_id": request_id,
        "credit_card_account_id": credit_card_account_id,
        "user_id": user_id,
        "requested_increase_amount": int(amount),
        "submitted_at": TODAY,
        "status": "PENDING",
    }
    added = add_row(world, "credit_limit_increase_requests", request_id, row)
    require(added, "A similar request may already exist.")
    return report("Limit increase requested.", **row)


def _require_own_card(world: State, account_id: str, user_id: str) -> Entity:
    card = require_row(world, "credit_card_accounts", account_id, "Credit card account")
    require(card.get("user_id") == user_id, "The credit card account is of another user.")
    return card


def _make_request_id(account_id: str, user_id: str, amount: float) -> str:
    return f"cli_{make_id(f'cli_request:{account_id}:{user_id}:{amount:.2f}', 12)}"


def get_credit_limit_increase_history_4829(world: State, credit_card_account_id: str) -> str:
    require(credit_card_account_id, "Missing required parameter: credit_card_account_id")
    return format_rows(
        world, "credit_limit_increase_requests", credit_card_account_id=credit_card_account_id
    )


def approve_credit_limit_increase_5847(
    world: State, credit_card_account_id: str, user_id: str, new_credit_limit: int
) -> str:
    require(
        credit_card_account_id and user_id and new_credit_limit is not None,
        "Missing required parameters.",
    )
    card = _require_own_card(world, credit_card_account_id, user_id)
    disputed = any(
        row.get("user_id") == user_id
        and row.get("status") in ("SUBMITTED", "UNDER_REVIEW", "PENDING")
        for _, row in world.agent.rows("transaction_disputes")
    )
    ordered = any(
        row.get("credit_card_account_id") == credit_card_account_id
        and row.get("status") in ("PENDING", "PROCESSING", "SHIPPED")
        for _, row in world.agent.rows("credit_card_orders")
    )
    overdue = card.get("account_status", "").upper() in (
        *("PAST_DUE", "DELINQUENT", "COLLECTIONS", "CLOSED"),
    )
    require(not (disputed or ordered or overdue), "The request cannot be approved at this time.")
    former, limit = read_money(card.get("credit_limit", "$0.00")), float(new_credit_limit)
    world.agent.edit("credit_card_accounts", credit_card_account_id)["credit_limit"] = (
        f"${limit:.2f}"
    )
    request_id = _make_request_id(credit_card_account_id, user_id, limit - former)
    row = {
        "request_id": request_id,
        "credit_card_account_id": credit_card_account_id,
        "user_id": user_id,
        "previous_limit": f"${former:.2f}",
        "new_limit": f"${limit:.2f}",
        "increase_amount": f"${limit - former:.2f}",
        "decision_date": TODAY,
        "status": "APPROVED",
    }
    add_row(world, "credit_limit_increase_requests", request_id, row)
    return report("Limit increase approved.", **row)


def deny_credit_limit_increase_5848(
    world: State, credit_card_account_id: str, user_id: str, denial_reason: str
) -> str:
    require(credit_card_account_id and user_id and denial_reason, "Missing required parameters.")
    reasons = (
        *("insufficient_account_age", "cooldown_period_active", "pending_disputes"),
        *("pending_replacement_card", "past_due_balance", "high_utilization"),
        *("insufficient_payment_history", "requested_amount_exceeds_limit", "other"),
    )
    require_choice(denial_reason, reasons, "denial_reason")
    require_row(world, "credit_card_accounts", credit_card_account_id, "Credit card account")
    request_id = _make_request_id(credit_card_account_id, user_id, 0.0)
    row = {
        "request_id": request_id,
        "credit_card_account_id": credit_card_account_id,
        "user_id": user_id,
        "denial_reason": denial_reason,
        "decision_date": TODAY,
        "status": "DENIED",
    }
    add_row(world, "credit_limit_increase_requests", request_id, row)
    return report("Limit increase denied.", **row)


READS = (
    get_all_user_accounts_by_user_id_3847,
    get_bank_account_transactions_9173,
    get_payment_history_6183,
    get_credit_limit_increase_history_4829,
)
WRITES = (
    open_bank_account_4821,
    close_bank_account_7392,
    transfer_funds_between_bank_accounts_7291,
    apply_checking_account_credit_5829,
    apply_savings_account_credit_6831,
    submit_interest_discrepancy_report_7294,
    pay_credit_card_from_checking_9182,
    request_temporary_debit_card_limit_increase_8374,
    submit_credit_limit_increase_request_7392,
    approve_credit_limit_increase_5847,
    deny_credit_limit_increase_5848,
)
