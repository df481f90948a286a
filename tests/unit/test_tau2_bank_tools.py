"""The bank's hidden tools by what they leave in its records: a debit card from order to end,
accounts and the money between them."""

import json
from pathlib import Path

import pytest

from evalcore.benchmarks.tau2_bench.environment.banking import TODAY
from evalcore.benchmarks.tau2_bench.environment.loaders import load_world
from evalcore.benchmarks.tau2_bench.environment.world import Environment

DATA = Path(__file__).parents[2] / "datasets" / "tau2_bench"
HISTORY = "bank_account_transaction_history"


class Bank:
    """An agent who has unlocked every tool that it calls."""

    def __init__(self, world):
        self.environment = Environment(world)
        self.agent = self.environment.state.agent
        self.account, account = next(
            pair for pair in self.agent.rows("accounts") if pair[1]["class"] == "checking"
        )
        self.user, self.balance = account["user_id"], float(account["current_holdings"])
        self.card = next(
            key for key, row in self.agent.rows("debit_cards") if row["account_id"] == self.account
        )

    def call(self, tool, **arguments):
        self.environment.call("unlock_discoverable_agent_tool", {"agent_tool_name": tool})
        kwargs = {"agent_tool_name": tool, "arguments": json.dumps(arguments)}
        return self.environment.call("call_discoverable_agent_tool", kwargs)

    def row(self, table, key):
        return self.agent.get(table, key)

    def rows(self, table):
        return [row for _, row in self.agent.rows(table)]

    def order(self, **changes):
        order = {
            "account_id": self.account,
            "user_id": self.user,
            "delivery_option": "rush",
            "delivery_fee": 15,
            "card_design": "classic",
            "design_fee": "0",
            "shipping_address": "1 Main St",
        }
        return self.call("order_debit_card_5739", **order | changes)

    def activate(self, tool, card, **changes):
        details = {
            "card_id": card["card_id"],
            "last_4_digits": card["last_4_digits"],
            "expiration_date": card["expiration_date"],
            "cvv": card["cvv"],
            "pin": "2580",
        }
        return self.call(f"activate_debit_card_{tool}", **details | changes)

    def new_card(self):
        return next(card for card in self.rows("debit_cards") if card["status"] == "PENDING")


@pytest.fixture(scope="module")
def world():
    return load_world(DATA, "banking_knowledge")


@pytest.fixture
def bank(world):
    return Bank(world)


def test_a_lost_card_is_closed_replaced_and_activated_by_the_tool_for_its_reason(bank):
    assert "active card" in bank.order()
    closed = bank.call("close_debit_card_4721", card_id=bank.card, reason="Lost")
    assert "closed" in closed
    assert bank.row("debit_cards", bank.card)["closure_reason"] == "lost"
    assert "cannot be closed" in bank.call(
        "close_debit_card_4721", card_id=bank.card, reason="stolen"
    )
    assert "$15.00" in bank.order()
    card = bank.new_card()
    assert card["issue_reason"] == "lost"
    assert len(card["last_4_digits"]) == 4
    assert len(card["cvv"]) == 3
    holdings = bank.row("accounts", bank.account)["current_holdings"]
    assert holdings == f"{bank.balance - 15:.2f}"
    [fee] = [row for row in bank.rows(HISTORY) if row["type"] == "debit_card_fee"]
    assert fee["amount"] == -15.0
    assert fee["description"].endswith("Delivery $15.0")
    assert "ordered already" in bank.order()
    assert "Another tool" in bank.activate("8291", card)
    assert "do not match" in bank.activate("8292", card, last_4_digits="0000")
    assert bank.new_card() == card
    assert "activated" in bank.activate("8292", card)
    assert bank.row("debit_cards", card["card_id"])["activated_date"] == TODAY


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pin": "1234"}, "sequential"),
        ({"pin": "8765"}, "sequential"),
        ({"pin": "7777"}, "same digit"),
        ({"pin": "258"}, "4 digits"),
        ({"cvv": "12"}, "3 digits"),
        ({"cvv": ""}, "Missing"),
        ({"last_4_digits": "12a4"}, "4 digits"),
        ({"card_id": "dbc_none"}, "not found"),
    ],
)
def test_a_card_is_not_activated_with_details_that_cannot_be(bank, changes, problem):
    bank.call("close_debit_card_4721", card_id=bank.card, reason="stolen")
    bank.order()
    card = bank.new_card()
    assert problem in bank.activate("8292", card, **changes)
    assert bank.row("debit_cards", card["card_id"])["status"] == "PENDING"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"delivery_fee": "nan"}, "Insufficient"),
        ({"delivery_fee": 1e9}, "Insufficient"),
        ({"delivery_fee": "free"}, "must be numbers"),
        ({"delivery_option": "drone"}, "delivery_option"),
        ({"card_design": "gold"}, "card_design"),
        ({"user_id": "nobody"}, "another user"),
        ({"account_id": "none"}, "not found"),
        ({"shipping_address": ""}, "Missing"),
    ],
)
def test_an_order_that_is_refused_changes_nothing(bank, changes, problem):
    bank.call("close_debit_card_4721", card_id=bank.card, reason="damaged")
    assert problem in bank.order(**changes)
    assert bank.rows("debit_card_orders") == []
    assert float(bank.row("accounts", bank.account)["current_holdings"]) == bank.balance


def test_a_card_is_frozen_blocked_and_given_another_pin_only_while_that_can_be(bank):
    def status():
        return bank.row("debit_cards", bank.card)["status"]

    digits = bank.row("debit_cards", bank.card)["last_4_digits"]
    reset = {"card_id": bank.card, "last_4_digits": digits, "new_pin": "2580"}
    assert "not FROZEN" in bank.call("unfreeze_debit_card_3893", card_id=bank.card)
    bank.call("freeze_debit_card_3892", card_id=bank.card)
    assert status() == "FROZEN"
    assert "not ACTIVE" in bank.call("reset_debit_card_pin_6284", **reset)
    block = {"card_id": bank.card, "block_recurring": True}
    assert "not active" in bank.call("set_debit_card_recurring_block_7382", **block)
    bank.call("unfreeze_debit_card_3893", card_id=bank.card)
    assert status() == "ACTIVE"
    assert "PIN reset" in bank.call("reset_debit_card_pin_6284", **reset)
    change = {"card_id": bank.card, "current_pin": "2580", "new_pin": "2580"}
    assert "different" in bank.call("change_debit_card_pin_6285", **change)
    assert "changed" in bank.call("change_debit_card_pin_6285", **change | {"new_pin": "1357"})
    bank.call("set_debit_card_recurring_block_7382", **block)
    card = bank.row("debit_cards", bank.card)
    assert card["recurring_blocked"] is True
    assert card["pin_attempts_remaining"] == 3
    listed = bank.call("get_debit_cards_by_account_id_7823", account_id=bank.account)
    assert bank.card in listed


@pytest.mark.parametrize(
    ("alert", "reason", "answer"),
    [
        ({}, "customer_verified", "no active fraud alert"),
        ({}, "velocity_clear", "no velocity block"),
        ({"velocity_blocked": True}, "velocity_clear", "Velocity block cleared"),
        ({"fraud_alert_active": True}, "customer_verified", "Fraud alert cleared"),
        (
            {"fraud_alert_active": True, "alert_source": "bank_initiated"},
            "customer_verified",
            "human agent",
        ),
        ({"fraud_alert_active": True}, "asked nicely", "Invalid reason"),
    ],
)
def test_an_alert_is_cleared_by_its_own_reason_and_never_where_the_bank_set_it(
    bank, alert, reason, answer
):
    bank.agent.edit("debit_cards", bank.card).update(alert)
    arguments = {"card_id": bank.card, "reason": reason}
    assert answer in bank.call("clear_debit_card_fraud_alert_4892", **arguments)
    card = bank.row("debit_cards", bank.card)
    left = card.get("fraud_alert_active", False) or card.get("velocity_blocked", False)
    assert left == (bool(alert) and "cleared" not in answer)


def test_a_dispute_is_filed_once_and_tells_fraud_from_errors(bank):
    dispute = {
        "transaction_id": "btxn_1",
        "account_id": bank.account,
        "card_id": bank.card,
        "user_id": bank.user,
        "dispute_category": "card_not_present_fraud",
        "transaction_date": "11/01/2025",
        "discovery_date": "11/02/2025",
        "disputed_amount": 80.5,
        "transaction_type": "online_purchase",
        "card_in_possession": True,
        "pin_compromised": "no",
        "contacted_merchant": False,
        "police_report_filed": False,
        "written_statement_provided": True,
        "provisional_credit_eligible": True,
        "customer_max_liability_amount": 50,
        "card_action": "close_and_reissue",
    }
    tool = "file_debit_card_transaction_dispute_6281"
    for changes, problem in (
        ({"disputed_amount": -1}, "positive"),
        ({"dispute_category": "bad mood"}, "dispute_category"),
        ({"pin_compromised": "maybe"}, "pin_compromised"),
        ({"police_report_filed": None}, "Missing"),
    ):
        assert problem in bank.call(tool, **dispute | changes)
    assert bank.rows("debit_card_disputes") == []
    assert "Dispute filed" in bank.call(tool, **dispute)
    assert "filed already" in bank.call(tool, **dispute)
    [row] = bank.rows("debit_card_disputes")
    assert row["is_fraud_category"]
    assert row["provisional_credit_amount"] == 80.5
    assert not row["pin_shared_voluntarily"]
    assert row["dispute_id"] in bank.call("get_debit_dispute_status_7483", user_id=bank.user)


def test_money_moves_between_open_accounts_and_is_neither_made_nor_lost(bank):
    other = next(
        key
        for key, row in bank.agent.rows("accounts")
        if key != bank.account and row["status"] == "OPEN"
    )
    held = float(bank.row("accounts", other)["current_holdings"])
    move = {"source_account_id": bank.account, "destination_account_id": other}
    tool = "transfer_funds_between_bank_accounts_7291"
    for amount, problem in (
        (bank.balance + 0.01, "Insufficient"),
        (0, "positive"),
        ("nan", "positive"),
        ("inf", "Insufficient"),
        ("ten", "Must be a number"),
        (None, "Missing"),
    ):
        assert problem in bank.call(tool, **move, amount=amount)
    assert "same" in bank.call(tool, **move | {"destination_account_id": bank.account}, amount=1)
    assert bank.environment.state.agent.get("accounts", other)["current_holdings"] == f"{held:.2f}"
    assert "completed" in bank.call(tool, **move, amount=bank.balance)
    assert bank.row("accounts", bank.account)["current_holdings"] == "$0.00"
    assert bank.row("accounts", other)["current_holdings"] == f"${held + bank.balance:.2f}"
    closing = {"account_id": bank.account, "reason": "moved"}
    assert "Account closed" in bank.call("close_bank_account_7392", **closing)
    assert "already closed" in bank.call("close_bank_account_7392", **closing)
    assert "not active" in bank.call(
        tool, source_account_id=other, destination_account_id=bank.account, amount=1
    )


def test_a_credit_is_added_and_noted(bank):
    credit = {"account_id": bank.account, "amount": "12.5", "credit_type": "fee_refund"}
    assert "not a savings" in bank.call("apply_savings_account_credit_6831", **credit)
    refused = bank.call(
        "apply_checking_account_credit_5829", **credit | {"credit_type": "goodwill_credit"}
    )
    assert "Invalid credit_type" in refused
    bank.call("apply_checking_account_credit_5829", **credit)
    assert bank.row("accounts", bank.account)["current_holdings"] == f"${bank.balance + 12.5:.2f}"
    [entry] = [row for row in bank.rows(HISTORY) if row["type"] == "fee_refund"]
    assert entry["amount"] == 12.5
    listed = bank.call("get_bank_account_transactions_9173", account_id=bank.account)
    assert entry["transaction_id"] in listed


def test_a_card_is_paid_from_the_own_account_up_to_what_is_owed(bank):
    card, row = next(
        pair
        for pair in bank.agent.rows("credit_card_accounts")
        if any(own["user_id"] == pair[1]["user_id"] for own in bank.rows("accounts"))
    )
    account, own = next(
        pair for pair in bank.agent.rows("accounts") if pair[1]["user_id"] == row["user_id"]
    )
    bank.agent.edit("credit_card_accounts", card)["current_balance"] = "$1,040.00"
    bank.agent.edit("accounts", account).update({"class": "checking", "current_holdings": "2000"})
    pay = {
        "user_id": own["user_id"],
        "checking_account_id": account,
        "credit_card_account_id": card,
    }
    tool = "pay_credit_card_from_checking_9182"
    assert "exceeds" in bank.call(tool, **pay, amount=1040.01)
    assert "Insufficient" in bank.call(tool, **pay, amount=2000.01)
    assert "positive" in bank.call(tool, **pay, amount="nan")
    assert "another user" in bank.call(tool, **pay | {"user_id": "x"}, amount=5)
    assert "Payment made" in bank.call(tool, **pay, amount=40)
    assert bank.row("credit_card_accounts", card)["current_balance"] == "$1000.00"
    assert bank.row("accounts", account)["current_holdings"] == "1960.00"


def test_a_limit_is_raised_by_half_at_most_for_a_day(bank):
    bank.agent.edit("debit_cards", bank.card)["daily_purchase_limit"] = 1000
    raise_limit = {"card_id": bank.card, "limit_type": "purchase"}
    tool = "request_temporary_debit_card_limit_increase_8374"
    for limit, problem in (
        (1501, "maximum of $1500"),
        (1000, "not higher"),
        (1200.5, "integer"),
        ("inf", "integer"),
        (-5, "positive"),
    ):
        assert problem in bank.call(tool, **raise_limit, new_limit=limit)
    assert "no such limit" in bank.call(tool, **raise_limit | {"limit_type": "atm"}, new_limit=9)
    assert "granted" in bank.call(tool, **raise_limit, new_limit=1500)
    card = bank.row("debit_cards", bank.card)
    assert (card["daily_purchase_limit"], card["original_purchase_limit"]) == (1500, 1000)
