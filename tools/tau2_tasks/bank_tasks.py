"""The tasks of the bank, with the customers, accounts and cards that they need."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from evalcore.benchmarks.tau2_bench.environment.banking import TABLES, make_id
from evalcore.records import Record
from tools.tau_tasks.profiles import PEOPLE, make_address, random_digits

Row = dict[str, Any]
_NOW = "2025-11-14 03:40:00 EST"
_MERCHANTS = ("Quarry Books", "Alder Cafe", "Lantern Garage", "Canal Bikes", "Ridge Garden")


@dataclass
class Bank:
    """The tables as they grow."""

    rng: Random
    tables: dict[str, dict[str, Row]] = field(
        default_factory=lambda: {table: {} for table in TABLES}
    )

    def to_tables(self) -> dict[str, Any]:
        return {table: {"data": rows, "notes": ""} for table, rows in self.tables.items()}


class Part(Record, frozen=True):
    """One wish of a customer and the calls that fulfil it."""

    wishes: tuple[Row, ...]
    actions: tuple[Row, ...]


Template = Callable[[Bank, Row], list[Part]]


def build_bank_tasks(bank: Bank) -> list[Row]:
    """The rows of all tasks, each with a customer of its own."""
    rows: list[Row] = []
    for topic, difficulty, count, template in TEMPLATES:
        for _ in range(count):
            customer = _add_customer(bank)
            parts = template(bank, customer)
            rows.append(_build_task(len(rows), topic, difficulty, customer, parts))
    return rows


def _build_task(number: int, topic: str, difficulty: int, customer: Row, parts: list[Part]) -> Row:
    wishes = [wish for part in parts for wish in part.wishes]
    log = {name: customer[name] for name in _LOGGED} | {"time_verified": _NOW}
    actions = [_action("log_verification", log)]
    actions += [action for part in parts for action in part.actions]
    return {
        "id": f"banking_{number:02}",
        "user_scenario": {"instructions": _describe(customer, wishes)},
        "initial_state": {
            "initialization_data": {
                "agent_data": {
                    "task_config": {"data": {"dispute_settings": {"auto_resolve_disputes": True}}}
                }
            }
        },
        "evaluation_criteria": {"actions": actions, "reward_basis": ["DB"]},
        "slots": {"identity": _identify(customer), "wishes": wishes},
        "topic": topic,
        "difficulty_level": difficulty,
    }


_LOGGED = ("name", "user_id", "address", "email", "phone_number", "date_of_birth")


def _identify(customer: Row) -> dict[str, str]:
    return {
        "name": f"My name is {customer['name']}.",
        "birth": f"I was born on {customer['date_of_birth']}.",
        "phone": f"My phone number is {customer['phone_number']}.",
        "email": f"My email is {customer['email']}.",
        "address": f"I live at {customer['address']}.",
    }


def _describe(customer: Row, wishes: list[Row]) -> str:
    """The scenario in prose, for a user who is played by a model."""
    parts = [*_identify(customer).values()]
    for wish in wishes:
        parts.append(wish["text"])
        parts += wish.get("details", {}).values()
        if "arguments" in wish:
            parts.append(
                f"Once the agent has given you {wish['tool']}, call it with "
                f"{json.dumps(wish['arguments'])}."
            )
    return " ".join([*parts, "You want these things one after the other and know no ids."])


def _add_customer(bank: Bank) -> Row:
    rng, users = bank.rng, bank.tables["users"]
    number = len(users) + 1
    first, second = PEOPLE[number * 43 % len(PEOPLE)]
    home, day = make_address(rng), rng.randrange(10, 28)
    user_id = make_id(f"customer:{number}", 10)
    users[user_id] = {
        "name": f"{first} {second}",
        "user_id": user_id,
        "address": f"{home['address1']}, {home['city']}, {home['state']} {home['zip']}",
        "email": f"{first}.{second}{number}@example.org".lower(),
        "phone_number": f"555-{rng.randrange(100, 1000)}-{number:04}",
        "date_of_birth": f"0{rng.randrange(1, 10)}/{day}/{rng.randrange(1950, 2004)}",
    }
    return users[user_id]


def _add_account(bank: Bank, customer: Row, kind: str, balance: float) -> Row:
    accounts = bank.tables["accounts"]
    account_id = make_id(f"{kind}:{customer['user_id']}", 12)
    accounts[account_id] = {
        "account_id": account_id,
        "user_id": customer["user_id"],
        "class": kind,
        "level": "Meadow Checking" if kind == "checking" else "Harvest Savings",
        "date_opened": "03/10/2023",
        "status": "OPEN",
        "current_holdings": f"{balance:.2f}",
    }
    return accounts[account_id]


def _add_debit_card(bank: Bank, account: Row) -> Row:
    card_id = f"dbc_{make_id(account['account_id'], 12)}"
    bank.tables["debit_cards"][card_id] = {
        "card_id": card_id,
        "account_id": account["account_id"],
        "user_id": account["user_id"],
        "last_4_digits": random_digits(bank.rng, 4),
        "status": "ACTIVE",
        "issue_date": "03/20/2023",
        "issue_reason": "new_account",
    }
    return bank.tables["debit_cards"][card_id]


def _add_credit_card(bank: Bank, customer: Row, balance: float, limit: int) -> Row:
    account_id = f"cc_{make_id(customer['user_id'], 10)}"
    bank.tables["credit_card_accounts"][account_id] = {
        "account_id": account_id,
        "user_id": customer["user_id"],
        "card_type": bank.rng.choice(("Silver Rewards Card", "Gold Rewards Card")),
        "status": "ACTIVE",
        "date_of_account_open": "06/01/2022",
        "current_balance": f"${balance:.2f}",
        "credit_limit": f"${limit:.2f}",
    }
    return bank.tables["credit_card_accounts"][account_id]


def _add_purchase(bank: Bank, customer: Row, card: Row) -> Row:
    merchant, amount = bank.rng.choice(_MERCHANTS), bank.rng.randrange(2000, 20000) / 100
    entry_id = f"txn_{make_id(merchant + customer['user_id'], 12)}"
    bank.tables["credit_card_transaction_history"][entry_id] = {
        "transaction_id": entry_id,
        "user_id": customer["user_id"],
        "credit_card_type": card["card_type"],
        "merchant_name": merchant,
        "transaction_amount": f"${amount:.2f}",
        "transaction_date": "11/02/2025",
        "category": "Shopping",
        "status": "COMPLETED",
        "rewards_earned": "1 points",
    }
    return bank.tables["credit_card_transaction_history"][entry_id]


def _action(name: str, arguments: Row, requestor: str = "assistant") -> Row:
    return {"name": name, "arguments": arguments, "requestor": requestor}


def _use(tool: str, **arguments: Any) -> list[Row]:
    """Unlock a hidden tool and call it."""
    return [
        _action("unlock_discoverable_agent_tool", {"agent_tool_name": tool}),
        _action(
            "call_discoverable_agent_tool",
            {"agent_tool_name": tool, "arguments": json.dumps(arguments)},
        ),
    ]


def _have_user_call(tool: str, arguments: Row) -> list[Row]:
    """Give the user a tool of theirs, and have it called."""
    called = {"discoverable_tool_name": tool, "arguments": json.dumps(arguments)}
    return [
        _action("give_discoverable_user_tool", {"discoverable_tool_name": tool}),
        _action("call_discoverable_user_tool", called, "user"),
    ]


def _wish(text: str, tool: str, details: Row | None = None, **more: Any) -> Row:
    return {"text": text, "tool": tool, "details": details or {}, **more}


def _lose_card(bank: Bank, customer: Row, account: Row) -> Part:
    card, reason = _add_debit_card(bank, account), bank.rng.choice(("lost", "stolen"))
    delivery, fee = bank.rng.choice((("STANDARD", 0), ("EXPEDITED", 15), ("RUSH", 30)))
    design, cost = bank.rng.choice((("CLASSIC", 0), ("PREMIUM", 10)))
    order = {
        "account_id": account["account_id"],
        "user_id": customer["user_id"],
        "delivery_option": delivery,
        "delivery_fee": fee,
        "card_design": design,
        "design_fee": cost,
        "shipping_address": customer["address"],
    }
    return Part(
        (
            _wish(
                "My debit card is gone and I want it closed.",
                "close_debit_card_4721",
                {"reason": f"It was {reason}.", "card": "The one of my checking account."},
            ),
            _wish(
                "I want a new debit card in its place.",
                "order_debit_card_5739",
                {
                    "delivery": f"Delivery: {delivery.lower()}.",
                    "design": f"Design: {design.lower()}.",
                    "address": "To the address in my record.",
                },
            ),
        ),
        (
            *_use("close_debit_card_4721", card_id=card["card_id"], reason=reason),
            *_use("order_debit_card_5739", **order),
        ),
    )


def _move_money(bank: Bank, source: Row, target: Row) -> Part:
    amount = bank.rng.randrange(3, 20) * 10
    way = f"From {source['class']} to {target['class']}."
    return Part(
        (
            _wish(
                "I want to move money between my accounts.",
                "transfer_funds_between_bank_accounts_7291",
                {"amount": f"{amount} dollars.", "account": way},
            ),
        ),
        tuple(
            _use(
                "transfer_funds_between_bank_accounts_7291",
                source_account_id=source["account_id"],
                destination_account_id=target["account_id"],
                amount=amount,
            )
        ),
    )


def _lost_card(bank: Bank, customer: Row) -> list[Part]:
    account = _add_account(bank, customer, "checking", bank.rng.randrange(300, 900))
    return [_lose_card(bank, customer, account)]


def _mislaid_card(bank: Bank, customer: Row) -> list[Part]:
    checking = _add_account(bank, customer, "checking", bank.rng.randrange(300, 900))
    savings = _add_account(bank, customer, "savings", bank.rng.randrange(900, 3000))
    card = _add_debit_card(bank, checking)
    freeze = Part(
        (
            _wish(
                "I cannot find my debit card. It will turn up, but nobody is to use it until then.",
                "freeze_debit_card_3892",
                {"card": "The one of my checking account.", "reason": "I have mislaid it at home."},
            ),
        ),
        tuple(_use("freeze_debit_card_3892", card_id=card["card_id"])),
    )
    return [freeze, _move_money(bank, savings, checking)]


def _close_credit_card(bank: Bank, customer: Row) -> list[Part]:
    checking = _add_account(bank, customer, "checking", bank.rng.randrange(900, 2000))
    owed = bank.rng.randrange(5000, 40000) / 100
    card = _add_credit_card(bank, customer, owed, 4000)
    reason, words = bank.rng.choice(
        (
            ("not_using_card", "I do not use it."),
            ("annual_fee", "The annual fee is too high."),
            ("simplifying_finances", "I want fewer cards."),
        )
    )
    who = {"credit_card_account_id": card["account_id"], "user_id": customer["user_id"]}
    pay = {**who, "checking_account_id": checking["account_id"], "amount": owed}
    return [
        Part(
            (
                _wish(
                    "I want to close my credit card; pay from checking what I owe on it.",
                    "close_credit_card_account_7834",
                    {"reason": words, "account": "From my checking account."},
                ),
            ),
            (
                *_use("log_credit_card_closure_reason_4521", **who, closure_reason=reason),
                *_use("pay_credit_card_from_checking_9182", **pay),
                *_use("close_credit_card_account_7834", **who),
            ),
        )
    ]


def _refund_fees(bank: Bank, customer: Row) -> list[Part]:
    checking = _add_account(bank, customer, "checking", bank.rng.randrange(100, 900))
    savings = _add_account(bank, customer, "savings", bank.rng.randrange(900, 3000))
    parts = []
    for tool, account, amount in (
        ("apply_checking_account_credit_5829", checking, 12),
        ("apply_savings_account_credit_6831", savings, 6),
    ):
        text = f"I want the monthly fee of my {account['class']} account back."
        use = {"account_id": account["account_id"], "amount": amount, "credit_type": "fee_refund"}
        parts.append(
            Part((_wish(text, tool, {"amount": "The usual fee."}),), tuple(_use(tool, **use)))
        )
    return parts


def _open_savings(bank: Bank, customer: Row) -> list[Part]:
    checking = _add_account(bank, customer, "checking", bank.rng.randrange(900, 2000))
    user_id = customer["user_id"]
    new_id = make_id(f"account:{user_id}:savings:Harvest Savings")
    opened = Part(
        (_wish("I want to open a savings account.", "open_bank_account_4821"),),
        tuple(
            _use(
                "open_bank_account_4821",
                user_id=user_id,
                account_type="savings",
                account_class="Harvest Savings",
            )
        ),
    )
    target = {"class": "the new savings account", "account_id": new_id}
    return [opened, _move_money(bank, checking, target)]


def _dispute_cash_back(bank: Bank, customer: Row) -> list[Part]:
    card = _add_credit_card(bank, customer, 120.0, 3000)
    entry = _add_purchase(bank, customer, card)
    arguments = {"user_id": customer["user_id"], "transaction_id": entry["transaction_id"]}
    tool, points = "submit_cash_back_dispute_0589", int(float(entry["transaction_amount"][1:])) * 2
    shop = {"transaction": f"The one at {entry['merchant_name']}."}
    return [
        Part(
            (
                _wish(
                    "I got too few points for a purchase and want to dispute that.",
                    tool,
                    shop,
                    arguments=arguments,
                ),
                _wish(
                    "I want the points of that purchase put right.",
                    "update_transaction_rewards_3847",
                    shop,
                ),
            ),
            (
                *_have_user_call(tool, arguments),
                *_use(
                    "update_transaction_rewards_3847",
                    transaction_id=entry["transaction_id"],
                    new_rewards_earned=f"{points} points",
                ),
            ),
        )
    ]


def _deposit_check(bank: Bank, customer: Row) -> list[Part]:
    checking = _add_account(bank, customer, "checking", bank.rng.randrange(100, 900))
    savings = _add_account(bank, customer, "savings", bank.rng.randrange(900, 3000))
    amount = bank.rng.randrange(5, 60) * 10
    arguments = {"account_id": checking["account_id"], "check_amount": amount}
    tool = "deposit_check_3847"
    check = Part(
        (
            _wish(
                "I have a check to deposit.",
                tool,
                {"amount": f"{amount} dollars.", "account": "Into checking."},
                arguments=arguments,
            ),
        ),
        tuple(_have_user_call(tool, arguments)),
    )
    return [check, _move_money(bank, savings, checking)]


def _replace_credit_card(bank: Bank, customer: Row) -> list[Part]:
    card = _add_credit_card(bank, customer, bank.rng.randrange(50, 300), 3000)
    who = {"credit_card_account_id": card["account_id"], "user_id": customer["user_id"]}
    expedited = bank.rng.random() < 0.5
    speed = "As fast as possible, expedited." if expedited else "The usual delivery will do."
    return [
        Part(
            (
                _wish(
                    "My credit card is broken and I want another one.",
                    "apply_statement_credit_8472",
                    {
                        "reason": "It is damaged, the chip came off.",
                        "delivery": speed,
                        "address": "To the address in my record.",
                    },
                ),
            ),
            (
                *_use(
                    "order_replacement_credit_card_7291",
                    **who,
                    shipping_address=customer["address"],
                    reason="damaged",
                    expedited_shipping=expedited,
                ),
                *_use(
                    "apply_statement_credit_8472", **who, amount=10, reason="goodwill_adjustment"
                ),
            ),
        )
    ]


def _raise_limit(bank: Bank, customer: Row) -> list[Part]:
    limit = bank.rng.randrange(20, 60) * 100
    card = _add_credit_card(bank, customer, bank.rng.randrange(50, 300), limit)
    who = {"credit_card_account_id": card["account_id"], "user_id": customer["user_id"]}
    more = bank.rng.choice((300, 500, 1000, 2500))
    tool = "approve_credit_limit_increase_5847"
    last: Row = {"new_credit_limit": limit + more}
    if more > 1000:
        tool = "deny_credit_limit_increase_5848"
        last = {"denial_reason": "requested_amount_exceeds_limit"}
    request = "submit_credit_limit_increase_request_7392"
    return [
        Part(
            (_wish("I want a higher limit on my credit card.", tool, {"amount": f"{more} more."}),),
            (*_use(request, **who, requested_increase_amount=more), *_use(tool, **who, **last)),
        )
    ]


#: Topic, difficulty, number of tasks, template.
TEMPLATES: tuple[tuple[str, int, int, Template], ...] = (
    ("a card that is gone", 2, 4, _lost_card),
    ("a card that may turn up, and a transfer", 2, 3, _mislaid_card),
    ("close a credit card", 3, 4, _close_credit_card),
    ("two fees", 2, 3, _refund_fees),
    ("a new savings account", 3, 3, _open_savings),
    ("cash back", 3, 4, _dispute_cash_back),
    ("a check and a transfer", 2, 3, _deposit_check),
    ("a broken credit card", 2, 3, _replace_credit_card),
    ("a higher limit", 2, 4, _raise_limit),
)
