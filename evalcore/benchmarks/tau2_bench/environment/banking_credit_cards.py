"""Tools of the bank that have to be found in its documents: credit cards and their transactions."""

from __future__ import annotations

from typing import Any

from evalcore.benchmarks.tau2_bench.environment.banking import (
    TODAY,
    add_row,
    format_rows,
    iter_rows,
    make_id,
    report,
    require,
    require_choice,
    require_row,
)
from evalcore.benchmarks.tau2_bench.environment.world import State


def update_transaction_rewards_3847(
    world: State, transaction_id: str, new_rewards_earned: str
) -> str:
    require(transaction_id and new_rewards_earned, "Missing required parameters.")
    table = "credit_card_transaction_history"
    require_row(world, table, transaction_id, "Transaction")
    world.agent.edit(table, transaction_id)["rewards_earned"] = new_rewards_earned
    return report("Rewards updated.", transaction=transaction_id, rewards=new_rewards_earned)


def initial_transfer_to_human_agent_0218(world: State) -> str:
    return "The transfer has begun; all lines are busy. Tell the user so."


def initial_transfer_to_human_agent_1822(world: State) -> str:
    return "No transfer yet. Without saying so, ask about the usual causes of such a problem first."


def emergency_credit_bureau_incident_transfer_1114(world: State) -> str:
    return "The case is marked as urgent. Go on with transfer_to_human_agents at once."


def file_credit_card_transaction_dispute_4829(
    world: State,
    transaction_id: str,
    card_action: str,
    card_last_4_digits: str,
    full_name: str,
    user_id: str,
    phone: str,
    email: str,
    address: str,
    contacted_merchant: bool,
    purchase_date: str,
    issue_noticed_date: str,
    dispute_reason: str,
    resolution_requested: str,
    eligible_for_provisional_credit: bool,
    partial_refund_amount: float | None = None,
) -> str:
    require(transaction_id and user_id, "Missing required parameters.")
    require_choice(card_action, ("keep_active", "cancel_and_reissue"), "card_action")
    reasons = (
        *("unauthorized_fraudulent_charge", "duplicate_charge", "incorrect_amount"),
        *("goods_services_not_received", "goods_services_not_as_described"),
        *("canceled_subscription_still_charging", "refund_never_processed"),
    )
    require_choice(dispute_reason, reasons, "dispute_reason")
    require_choice(resolution_requested, ("full_refund", "partial_refund"), "resolution_requested")
    has_amount = resolution_requested != "partial_refund" or partial_refund_amount is not None
    require(has_amount, "partial_refund_amount is required for a partial refund.")
    dispute_id = make_dispute_id(user_id, transaction_id)
    row = {
        "dispute_id": dispute_id,
        "transaction_id": transaction_id,
        "user_id": user_id,
        "card_action": card_action,
        "card_last_4_digits": card_last_4_digits,
        "full_name": full_name,
        "phone": phone,
        "email": email,
        "address": address,
        "contacted_merchant": contacted_merchant,
        "purchase_date": purchase_date,
        "issue_noticed_date": issue_noticed_date,
        "dispute_reason": dispute_reason,
        "resolution_requested": resolution_requested,
        "partial_refund_amount": partial_refund_amount,
        "eligible_for_provisional_credit": eligible_for_provisional_credit,
        "provisional_credit_given": eligible_for_provisional_credit,
        "submitted_at": TODAY,
        "status": "SUBMITTED",
    }
    added = add_row(world, "transaction_disputes", dispute_id, row)
    require(added, "A dispute of this transaction has been filed already.")
    refund = f"${partial_refund_amount:.2f}" if partial_refund_amount else "full"
    return report("Dispute filed.", dispute=dispute_id, reason=dispute_reason, refund=refund)


def make_dispute_id(user_id: str, transaction_id: str) -> str:
    return f"dsp_{make_id(f'dispute:{user_id}:{transaction_id}', 12)}"


def order_replacement_credit_card_7291(
    world: State,
    credit_card_account_id: str,
    user_id: str,
    shipping_address: str,
    reason: str,
    expedited_shipping: bool = False,
) -> str:
    require(
        credit_card_account_id and user_id and shipping_address and reason,
        "Missing required parameters.",
    )
    reasons = ("fraud_suspected", "lost", "stolen", "damaged", "expired", "other")
    require_choice(reason, reasons, "reason")
    _require_account(world, credit_card_account_id)
    seed = f"credit_card_order:{credit_card_account_id}:{user_id}:{reason}"
    order_id = f"ccord_{make_id(seed, 12)}"
    row = {
        "order_id": order_id,
        "credit_card_account_id": credit_card_account_id,
        "user_id": user_id,
        "shipping_address": shipping_address,
        "reason": reason,
        "expedited_shipping": expedited_shipping,
        "order_date": TODAY,
        "status": "ORDERED",
        "old_card_cancelled": True,
    }
    added = add_row(world, "credit_card_orders", order_id, row)
    require(added, "This replacement has been ordered already.")
    _close_account(world, credit_card_account_id)
    return report("Replacement ordered; the old card is cancelled.", order=order_id)


def _require_account(world: State, account_id: str) -> None:
    rows = iter_rows(world, "credit_card_accounts", account_id=account_id)
    require(next(rows, None) is not None, f"Credit card account '{account_id}' not found.")


def _close_account(world: State, account_id: str, **fields: Any) -> bool:
    if world.agent.get("credit_card_accounts", account_id) is None:
        return False
    account = world.agent.edit("credit_card_accounts", account_id)
    account.update(status="CLOSED", closed_date=TODAY, **fields)
    return True


def get_user_dispute_history_7291(world: State, user_id: str) -> str:
    require(user_id, "Missing required parameter: user_id")
    return format_rows(world, "transaction_disputes", user_id=user_id)


def get_pending_replacement_orders_5765(world: State, credit_card_account_id: str) -> str:
    require(credit_card_account_id, "Missing required parameter: credit_card_account_id")
    return format_rows(world, "credit_card_orders", credit_card_account_id=credit_card_account_id)


def log_credit_card_closure_reason_4521(
    world: State, credit_card_account_id: str, user_id: str, closure_reason: str
) -> str:
    require(credit_card_account_id and user_id and closure_reason, "Missing required parameters.")
    reasons = (
        *("annual_fee", "not_using_card", "found_better_card", "unhappy_with_rewards"),
        *("simplifying_finances", "negative_experience", "other"),
    )
    require_choice(closure_reason, reasons, "closure_reason")
    record_id = f"clsr_{make_id(f'closure_reason:{credit_card_account_id}:{user_id}', 12)}"
    row = {
        "record_id": record_id,
        "credit_card_account_id": credit_card_account_id,
        "user_id": user_id,
        "closure_reason": closure_reason,
        "logged_at": TODAY,
        "status": "LOGGED",
    }
    add_row(world, "credit_card_closure_reasons", record_id, row)
    return report("Closure reason logged.", account=credit_card_account_id, reason=closure_reason)


def get_closure_reason_history_8293(world: State, credit_card_account_id: str) -> str:
    require(credit_card_account_id, "Missing required parameter: credit_card_account_id")
    return format_rows(
        world, "credit_card_closure_reasons", credit_card_account_id=credit_card_account_id
    )


def apply_statement_credit_8472(
    world: State, user_id: str, credit_card_account_id: str, amount: float, reason: str
) -> str:
    require(
        user_id and credit_card_account_id and amount is not None and reason,
        "Missing required parameters.",
    )
    require(amount > 0, "Credit amount must be positive.")
    reasons = (
        *("goodwill_adjustment", "promotional_credit", "annual_fee_reversal"),
        *("late_fee_reversal", "interest_charge_reversal", "dispute_resolution"),
        *("price_match", "retention_offer", "error_correction", "other"),
    )
    require_choice(reason, reasons, "reason")
    _require_account(world, credit_card_account_id)
    seed = ("transaction", user_id, "STATEMENT_CREDIT", reason, f"{amount:.2f}", "Statement Credit")
    entry_id = f"txn_{make_id(':'.join(seed), 12)}"
    row = {
        "transaction_id": entry_id,
        "user_id": user_id,
        "credit_card_account_id": credit_card_account_id,
        "credit_card_type": "N/A",
        "merchant_name": "Rho-Bank Statement Credit",
        "transaction_amount": f"-${amount:.2f}",
        "transaction_date": TODAY,
        "category": "Statement Credit",
        "status": "COMPLETED",
        "rewards_earned": "0 points",
        "credit_reason": reason,
    }
    added = add_row(world, "credit_card_transaction_history", entry_id, row)
    require(added, f"Transaction '{entry_id}' exists.")
    return report("Statement credit applied.", transaction=entry_id, amount=f"${amount:.2f}")


def apply_credit_card_account_flag_6147(
    world: State,
    credit_card_account_id: str,
    user_id: str,
    flag_type: str,
    expiration_date: str,
    reason: str,
) -> str:
    require(
        credit_card_account_id and user_id and flag_type and expiration_date and reason,
        "Missing required parameters.",
    )
    kinds = ("annual_fee_waived", "promotional_apr", "rewards_bonus", "other")
    require_choice(flag_type, kinds, "flag_type")
    reasons = ("retention_offer", "loyalty_benefit", "promotional", "error_correction", "other")
    require_choice(reason, reasons, "reason")
    _require_account(world, credit_card_account_id)
    seed = f"account_flag:{credit_card_account_id}:{flag_type}:{expiration_date}"
    flag_id = f"ccflag_{make_id(seed, 12)}"
    row = {
        "flag_id": flag_id,
        "credit_card_account_id": credit_card_account_id,
        "user_id": user_id,
        "flag_type": flag_type,
        "effective_date": TODAY,
        "expiration_date": expiration_date,
        "reason": reason,
        "applied_at": TODAY,
        "status": "ACTIVE",
    }
    added = add_row(world, "credit_card_account_flags", flag_id, row)
    require(added, f"Flag '{flag_id}' exists.")
    return report("Flag applied.", flag=flag_id, type=flag_type, until=expiration_date)


def close_credit_card_account_7834(world: State, credit_card_account_id: str, user_id: str) -> str:
    require(credit_card_account_id and user_id, "Missing required parameters.")
    _require_account(world, credit_card_account_id)
    closed = _close_account(world, credit_card_account_id, closed_by=user_id)
    require(closed, f"Credit card account '{credit_card_account_id}' cannot be closed.")
    return report("Credit card account closed.", account=credit_card_account_id)


READS = (
    initial_transfer_to_human_agent_0218,
    initial_transfer_to_human_agent_1822,
    emergency_credit_bureau_incident_transfer_1114,
    get_user_dispute_history_7291,
    get_pending_replacement_orders_5765,
    get_closure_reason_history_8293,
)
WRITES = (
    update_transaction_rewards_3847,
    file_credit_card_transaction_dispute_4829,
    order_replacement_credit_card_7291,
    log_credit_card_closure_reason_4521,
    apply_statement_credit_8472,
    apply_credit_card_account_flag_6147,
    close_credit_card_account_7834,
)
