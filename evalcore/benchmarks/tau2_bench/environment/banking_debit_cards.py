"""Tools of the bank that have to be found in its documents: debit cards."""

from __future__ import annotations

import json
from typing import Any

from evalcore.benchmarks.tau2_bench.environment.banking import (
    TODAY,
    RefusedCall,
    add_row,
    format_rows,
    get_row,
    make_id,
    read_amount,
    report,
    require,
    require_choice,
    require_row,
)
from evalcore.benchmarks.tau2_bench.environment.banking_credit_cards import make_dispute_id
from evalcore.benchmarks.tau2_bench.environment.world import State
from evalcore.benchmarks.tau_bench.environment.database import Entity

_FRAUD = ("unauthorized_transaction", "card_present_fraud", "card_not_present_fraud")


def file_debit_card_transaction_dispute_6281(
    world: State,
    transaction_id: str,
    account_id: str,
    card_id: str,
    user_id: str,
    dispute_category: str,
    transaction_date: str,
    discovery_date: str,
    disputed_amount: float,
    transaction_type: str,
    card_in_possession: bool,
    pin_compromised: str,
    contacted_merchant: bool,
    police_report_filed: bool,
    written_statement_provided: bool,
    provisional_credit_eligible: bool,
    customer_max_liability_amount: float,
    card_action: str,
) -> str:
    texts = (transaction_id, account_id, card_id, user_id, dispute_category, transaction_date)
    others = (discovery_date, disputed_amount, transaction_type, pin_compromised, card_action)
    facts = (card_in_possession, contacted_merchant, police_report_filed)
    require(all((*texts, *others)), "Missing required parameters.")
    needed = (customer_max_liability_amount, *facts, written_statement_provided)
    require(None not in needed, "Missing required parameters.")
    categories = (
        *(*_FRAUD, "atm_cash_discrepancy", "atm_deposit_not_credited", "duplicate_charge"),
        *("incorrect_amount", "goods_services_not_received"),
        "recurring_charge_after_cancellation",
    )
    require_choice(dispute_category, categories, "dispute_category")
    types = (
        *("pin_purchase", "signature_purchase", "online_purchase", "atm_withdrawal"),
        *("atm_deposit", "recurring_payment", "person_to_person"),
    )
    require_choice(transaction_type, types, "transaction_type")
    pins = ("yes_shared", "yes_observed", "no", "unknown")
    require_choice(pin_compromised, pins, "pin_compromised")
    actions = ("keep_active", "freeze_pending_investigation", "close_and_reissue")
    require_choice(card_action, actions, "card_action")
    require(disputed_amount > 0, "disputed_amount must be a positive number.")
    dispute_id = make_dispute_id(user_id, transaction_id)
    row = {
        "dispute_id": dispute_id,
        "transaction_id": transaction_id,
        "account_id": account_id,
        "card_id": card_id,
        "user_id": user_id,
        "dispute_category": dispute_category,
        "transaction_date": transaction_date,
        "discovery_date": discovery_date,
        "disputed_amount": disputed_amount,
        "transaction_type": transaction_type,
        "card_in_possession": card_in_possession,
        "pin_compromised": pin_compromised,
        "contacted_merchant": contacted_merchant,
        "police_report_filed": police_report_filed,
        "written_statement_provided": written_statement_provided,
        "provisional_credit_eligible": provisional_credit_eligible,
        "provisional_credit_issued": provisional_credit_eligible,
        "provisional_credit_amount": disputed_amount if provisional_credit_eligible else None,
        "customer_max_liability_amount": customer_max_liability_amount,
        "card_action": card_action,
        "is_fraud_category": dispute_category in _FRAUD,
        "pin_shared_voluntarily": pin_compromised == "yes_shared",
        "submitted_at": TODAY,
        "status": "OPEN",
    }
    added = add_row(world, "debit_card_disputes", dispute_id, row)
    require(added, "A dispute of this transaction has been filed already.")
    return report("Dispute filed.", dispute=dispute_id, category=dispute_category)


def set_debit_card_recurring_block_7382(world: State, card_id: str, block_recurring: bool) -> str:
    require(card_id, "Missing required parameter: card_id")
    card = require_row(world, "debit_cards", card_id, "Debit card")
    require(card.get("status", "").upper() == "ACTIVE", "The card is not active.")
    world.agent.edit("debit_cards", card_id)["recurring_blocked"] = block_recurring
    return report("Recurring payments set.", card=card_id, blocked=block_recurring)


def get_debit_dispute_status_7483(world: State, user_id: str) -> str:
    require(user_id, "Missing required parameter: user_id")
    return format_rows(world, "debit_card_disputes", user_id=user_id)


def get_atm_deposit_images_8473(world: State, transaction_id: str) -> str:
    """Pictures of deposits are none of the data: every one has expired."""
    require(transaction_id, "Missing required parameter: transaction_id")
    table = "bank_account_transaction_history"
    entry = require_row(world, table, transaction_id, "Transaction")
    require(entry.get("type") == "atm_deposit", "The transaction is no ATM deposit.")
    return report("No images are available any more.", transaction=transaction_id)


_DESIGNS, _DELIVERIES = ("CLASSIC", "PREMIUM", "CUSTOM"), ("STANDARD", "EXPEDITED", "RUSH")
_DELIVERY_TIMES = {
    "STANDARD": "7-10 business days",
    "EXPEDITED": "3-5 business days",
    "RUSH": "1-2 business days",
}


def order_debit_card_5739(
    world: State,
    account_id: str,
    user_id: str,
    delivery_option: str,
    delivery_fee: float,
    card_design: str,
    design_fee: float,
    shipping_address: str,
    excess_replacement_fee: float | None = None,
) -> str:
    fees = [
        None if fee is None else read_amount(fee, "The fees must be numbers.")
        for fee in (delivery_fee, design_fee)
    ]
    fees.append(_read_excess_fee(excess_replacement_fee))
    texts = (account_id, user_id, delivery_option, card_design, shipping_address)
    require(all(texts) and None not in fees, "Missing required parameters.")
    delivery = delivery_option.upper()
    require_choice(delivery, _DELIVERIES, "delivery_option")
    design = card_design.upper()
    require_choice(design, _DESIGNS, "card_design")
    account = require_row(world, "accounts", account_id, "Account")
    balance = _check_card_order(world, account_id, account, user_id)
    delivery_cost, design_cost, excess = (fee or 0.0 for fee in fees)
    total = delivery_cost + design_cost + excess
    require(total <= 0 or balance >= total, f"Insufficient funds for fees of ${total:.2f}.")
    order_id = f"dcord_{make_id(f'debit_card_order:{account_id}:{user_id}:{delivery}', 12)}"
    order = {
        "order_id": order_id,
        "account_id": account_id,
        "user_id": user_id,
        "delivery_option": delivery,
        "card_design": design,
        "shipping_address": shipping_address,
        "delivery_fee": delivery_cost,
        "design_fee": design_cost,
        "excess_replacement_fee": excess,
        "total_fee": total,
        "order_date": TODAY,
        "expected_delivery": _DELIVERY_TIMES[delivery],
        "status": "PENDING",
    }
    require(add_row(world, "debit_card_orders", order_id, order), "The order exists.")
    if total > 0:
        world.agent.edit("accounts", account_id)["current_holdings"] = f"{balance - total:.2f}"
        _add_fee(world, account_id, order_id, total, (delivery_cost, design_cost, excess))
    card_id = _issue_card(world, account_id, user_id, design)
    return report("Debit card ordered.", order=order_id, card=card_id, fees=f"${total:.2f}")


def _read_excess_fee(value: Any) -> float:
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        return 0.0


def _check_card_order(world: State, account_id: str, account: Entity, user_id: str) -> float:
    """The balance of an account that a card may be ordered for. Raises RefusedCall otherwise."""
    require(account.get("class") == "checking", "The account is not a checking account.")
    require(account.get("status") == "OPEN", "The account is not open.")
    require(account.get("user_id") == user_id, "The account is of another user.")
    try:
        balance = float(str(account.get("current_holdings", "0")).replace(",", ""))
    except ValueError:
        balance = 0.0
    require(balance >= 25, "The account needs a balance of $25.")
    pending = any(
        row.get("account_id") == account_id and row.get("status") == "PENDING"
        for _, row in world.agent.rows("debit_card_orders")
    )
    require(not pending, "A card has been ordered already.")
    active = any(
        row.get("account_id") == account_id and row.get("status") == "ACTIVE"
        for _, row in world.agent.rows("debit_cards")
    )
    require(not active, "The account has an active card.")
    return balance


def _add_fee(
    world: State, account_id: str, order_id: str, total: float, fees: tuple[float, ...]
) -> None:
    delivery, design, excess = fees
    parts = [f"Delivery ${delivery}"] if delivery > 0 else []
    parts += [f"Design ${design}"] if design > 0 else []
    parts += [f"Excess Replacement ${excess:.0f}"] if excess > 0 else []
    entry_id = f"btxn_dcfee_{order_id[-8:]}"
    entry = {
        "transaction_id": entry_id,
        "account_id": account_id,
        "date": TODAY,
        "description": f"DEBIT CARD ORDER FEE - {', '.join(parts)}",
        "amount": -total,
        "type": "debit_card_fee",
        "status": "posted",
    }
    add_row(world, "bank_account_transaction_history", entry_id, entry)


def _issue_card(world: State, account_id: str, user_id: str, design: str) -> str:
    card_id = f"dbc_{make_id(f'debit_card:{account_id}:{user_id}:{TODAY}', 12)}"
    digits = {
        name: "".join(filter(str.isdigit, make_id(f"card_details:{card_id}:{name}", length)))
        for name, length in (("last4", 8), ("cvv", 6))
    }
    user = get_row(world, "users", user_id)
    card = {
        "card_id": card_id,
        "account_id": account_id,
        "user_id": user_id,
        "cardholder_name": (user or {}).get("name", "CARDHOLDER").upper(),
        "last_4_digits": digits["last4"][:4].zfill(4),
        "cvv": digits["cvv"][:3].zfill(3),
        "status": "PENDING",
        "issue_date": TODAY,
        "expiration_date": "11/30/2029",
        "card_design": design,
        "issue_reason": _find_issue_reason(world, account_id),
    }
    add_row(world, "debit_cards", card_id, card)
    return card_id


def _find_issue_reason(world: State, account_id: str) -> str:
    cards = [
        row for _, row in world.agent.rows("debit_cards") if row.get("account_id") == account_id
    ]
    closed = next((card for card in cards if card.get("status") == "CLOSED"), None)
    if closed is None:
        return "first_card" if cards else "new_account"
    reason = closed.get("closure_reason", "first_card")
    reasons = {"lost": "lost", "stolen": "stolen", "fraud": "fraud", "fraud_suspected": "fraud"}
    return reasons.get(reason, "first_card")


#: The reasons of cards that each tool activates, what becomes of the active cards of the account,
#: and why.
_ACTIVATIONS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "8291": (("new_account", "first_card"), "DEACTIVATED", "New card activated"),
    "8292": (("lost", "stolen", "fraud"), "DEACTIVATED", "Replacement card activated ({})"),
    "8293": (
        ("expired", "damaged", "upgrade", "bank_reissue"),
        "GRACE_PERIOD",
        "Reissued card activated ({})",
    ),
}


def activate_debit_card_8291(
    world: State, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
) -> str:
    return _activate(world, "8291", card_id, last_4_digits, expiration_date, cvv, pin)


def activate_debit_card_8292(
    world: State, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
) -> str:
    return _activate(world, "8292", card_id, last_4_digits, expiration_date, cvv, pin)


def activate_debit_card_8293(
    world: State, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
) -> str:
    return _activate(world, "8293", card_id, last_4_digits, expiration_date, cvv, pin)


def _activate(world: State, tool: str, card_id: str, *details: str) -> str:
    last_4_digits, _, cvv, pin = details
    require(card_id and all(details), "Missing required parameters.")
    check_pin(pin)
    require(cvv.isdigit() and len(cvv) == 3, "CVV must be exactly 3 digits.")
    require_four_digits(last_4_digits)
    card = require_row(world, "debit_cards", card_id, "Debit card")
    reasons, former_status, why = _ACTIVATIONS[tool]
    reason = card.get("issue_reason", "new_account")
    require(reason in reasons, f"Another tool activates a card of the reason {reason}.")
    require(card.get("status") == "PENDING", "Only a card that is PENDING can be activated.")
    require(card.get("last_4_digits") == last_4_digits, "The last 4 digits do not match.")
    account_id = card.get("account_id")
    account = get_row(world, "accounts", account_id) if account_id else None
    require(account is None or account.get("status") == "OPEN", "The account is not open.")
    world.agent.edit("debit_cards", card_id).update(status="ACTIVE", activated_date=TODAY)
    end = "deactivated_date" if former_status == "DEACTIVATED" else "grace_period_ends"
    for other_id, other in list(world.agent.rows("debit_cards")):
        same = other.get("account_id") == account_id and other.get("status") == "ACTIVE"
        if other_id != card_id and same:
            shown = card.get("issue_reason", reasons[0])
            world.agent.edit("debit_cards", other_id).update(
                {"status": former_status, end: TODAY, "deactivation_reason": why.format(shown)}
            )
    return report("Debit card activated.", card=card_id)


_SEQUENCES = ("0123456789", "9876543210")


def check_pin(pin: str) -> None:
    require(pin and pin.isdigit() and len(pin) == 4, "PIN must be exactly 4 digits.")
    in_sequence = any(pin in sequence for sequence in _SEQUENCES)
    require(not in_sequence, "PIN cannot be sequential.")
    require(len(set(pin)) > 1, "PIN cannot be all the same digit.")


def require_four_digits(text: str) -> None:
    require(text.isdigit() and len(text) == 4, "Last 4 digits must be exactly 4 digits.")


def close_debit_card_4721(world: State, card_id: str, reason: str) -> str:
    require(card_id and reason, "Missing required parameters.")
    reasons = (
        *("lost", "stolen", "fraud_suspected", "damaged"),
        *("no_longer_needed", "account_closing"),
    )
    reason = reason.lower()
    require_choice(reason, reasons, "reason")
    card = require_row(world, "debit_cards", card_id, "Debit card")
    require(card.get("status") in ("ACTIVE", "PENDING"), "The card cannot be closed.")
    closed = {"status": "CLOSED", "closed_date": TODAY, "closure_reason": reason}
    world.agent.edit("debit_cards", card_id).update(closed)
    return report("Debit card closed.", card=card_id, reason=reason)


def freeze_debit_card_3892(world: State, card_id: str) -> str:
    _require_status(world, card_id, "ACTIVE")
    world.agent.edit("debit_cards", card_id).update(status="FROZEN", frozen_date=TODAY)
    return report("Debit card frozen.", card=card_id)


def unfreeze_debit_card_3893(world: State, card_id: str) -> str:
    card = _require_status(world, card_id, "FROZEN")
    account_id = card.get("account_id")
    account = get_row(world, "accounts", account_id) if account_id else None
    require(account is None or account.get("status") == "OPEN", "The account is not open.")
    world.agent.edit("debit_cards", card_id).update(status="ACTIVE", unfrozen_date=TODAY)
    return report("Debit card unfrozen.", card=card_id)


def _require_status(world: State, card_id: str, status: str) -> Entity:
    require(card_id, "Missing required parameter: card_id.")
    card = require_row(world, "debit_cards", card_id, "Debit card")
    require(card.get("status") == status, f"Debit card '{card_id}' is not {status}.")
    return card


def clear_debit_card_fraud_alert_4892(world: State, card_id: str, reason: str) -> str:
    require(card_id and reason, "Missing required parameters.")
    require_choice(reason, ("customer_verified", "velocity_clear"), "reason")
    card = require_row(world, "debit_cards", card_id, "Debit card")
    if reason == "velocity_clear":
        require(card.get("velocity_blocked", False), "The card has no velocity block.")
        cleared = {"velocity_blocked": False, "velocity_cleared_date": TODAY}
        world.agent.edit("debit_cards", card_id).update(cleared)
        return report("Velocity block cleared.", card=card_id)
    require(card.get("fraud_alert_active", False), "The card has no active fraud alert.")
    if card.get("alert_source") == "bank_initiated":
        raise RefusedCall("The bank set this alert: transfer the user to a human agent.")
    world.agent.edit("debit_cards", card_id).update(
        fraud_alert_active=False, alert_source=None, fraud_alert_cleared_date=TODAY
    )
    return report("Fraud alert cleared.", card=card_id)


def reset_debit_card_pin_6284(world: State, card_id: str, last_4_digits: str, new_pin: str) -> str:
    require(card_id and last_4_digits and new_pin, "Missing required parameters.")
    require_four_digits(last_4_digits)
    check_pin(new_pin)
    card = require_row(world, "debit_cards", card_id, "Debit card")
    require(card.get("last_4_digits") == last_4_digits, "The last 4 digits do not match.")
    _require_status(world, card_id, "ACTIVE")
    world.agent.edit("debit_cards", card_id).update(
        pin_last_changed=TODAY, pin_locked=False, pin_attempts_remaining=3
    )
    return report("PIN reset.", card=card_id)


def change_debit_card_pin_6285(world: State, card_id: str, current_pin: str, new_pin: str) -> str:
    require(card_id and current_pin and new_pin, "Missing required parameters.")
    require(current_pin.isdigit() and len(current_pin) == 4, "Current PIN must be 4 digits.")
    check_pin(new_pin)
    require(current_pin != new_pin, "New PIN must be different from current PIN.")
    _require_status(world, card_id, "ACTIVE")
    world.agent.edit("debit_cards", card_id)["pin_last_changed"] = TODAY
    return report("PIN changed.", card=card_id)


def get_debit_cards_by_account_id_7823(world: State, account_id: str) -> str:
    require(account_id, "Missing required parameter 'account_id'.")
    account = require_row(world, "accounts", account_id, "Account")
    kind = account.get("class", "").lower()
    require(kind in ("checking", "business_checking"), "The account is not a checking account.")
    cards = [
        {"card_id": card_id, **row}
        for card_id, row in world.agent.rows("debit_cards")
        if row.get("account_id") == account_id
    ]
    return json.dumps(cards) if cards else f"No debit cards found for account '{account_id}'."


READS = (
    get_debit_dispute_status_7483,
    get_atm_deposit_images_8473,
    get_debit_cards_by_account_id_7823,
)
WRITES = (
    file_debit_card_transaction_dispute_6281,
    set_debit_card_recurring_block_7382,
    order_debit_card_5739,
    activate_debit_card_8291,
    activate_debit_card_8292,
    activate_debit_card_8293,
    close_debit_card_4721,
    freeze_debit_card_3892,
    unfreeze_debit_card_3893,
    clear_debit_card_fraud_alert_4892,
    reset_debit_card_pin_6284,
    change_debit_card_pin_6285,
)
