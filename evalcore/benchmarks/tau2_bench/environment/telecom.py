"""The telephone company of tau2-bench: the agent's tools over customers, lines, plans and bills.

Today is a fixed day. A charge goes to the customer's bill in draft; where there is none a new one
begins, whose id is counted here and is random upstream.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import date, timedelta
from functools import partial
from typing import Any

from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.tau2_bench.environment.retail import transfer_to_human_agents
from evalcore.benchmarks.tau2_bench.environment.shapes import (
    Convert,
    Shape,
    choice_of,
    list_of,
    optional,
    to_date,
    to_datetime,
    to_flag,
    to_number,
    to_text,
)
from evalcore.benchmarks.tau2_bench.environment.world import Function, State, build_tool
from evalcore.benchmarks.tau_bench.environment.database import Entity
from evalcore.benchmarks.tau_bench.environment.tools import text_schema

TODAY = date(2025, 2, 25)
_FIRST_DAY = "2025-01-01"
LINE_STATUSES = ("Active", "Suspended", "Pending Activation", "Closed")


def _closed(fields: Mapping[str, Convert], **defaults: Any) -> Shape:
    return Shape(fields, defaults, closed=True)


PLAN = _closed(
    {
        "plan_id": to_text,
        "name": to_text,
        "data_limit_gb": to_number,
        "price_per_month": to_number,
        "data_refueling_price_per_gb": to_number,
    }
)
DEVICE = _closed(
    {
        "device_id": to_text,
        "device_type": choice_of("phone", "router", "tablet", "watch", "other"),
        "model": to_text,
        "imei": optional(to_text),
        "is_esim_capable": to_flag,
        "activated": to_flag,
        "activation_date": optional(to_datetime),
        "last_esim_transfer_date": optional(to_datetime),
    },
    imei=None,
    activated=False,
    activation_date=None,
    last_esim_transfer_date=None,
)
_LINE_DATES = (
    *("contract_end_date", "last_plan_change_date"),
    *("last_sim_replacement_date", "suspension_start_date"),
)
LINE = _closed(
    {
        "line_id": to_text,
        "phone_number": to_text,
        "status": choice_of(*LINE_STATUSES),
        "plan_id": to_text,
        "device_id": optional(to_text),
        "data_used_gb": to_number,
        "data_refueling_gb": to_number,
        "roaming_enabled": to_flag,
        **dict.fromkeys(_LINE_DATES, optional(to_date)),
    },
    status="Pending Activation",
    device_id=None,
    data_used_gb=0.0,
    data_refueling_gb=0.0,
    roaming_enabled=False,
    **dict.fromkeys(_LINE_DATES),
)
_LINE_ITEM = _closed(
    {"description": to_text, "amount": to_number, "date": to_date, "item_type": to_text}
)
BILL = _closed(
    {
        "bill_id": to_text,
        "customer_id": to_text,
        "period_start": to_date,
        "period_end": to_date,
        "issue_date": to_date,
        "total_due": to_number,
        "due_date": to_date,
        "line_items": list_of(_LINE_ITEM),
        "status": choice_of("Draft", "Issued", "Awaiting Payment", "Paid", "Overdue", "Disputed"),
    },
    line_items=list,
    status="Draft",
)
_PAYMENT_METHOD = _closed(
    {
        "method_type": choice_of("Credit Card", "Debit Card", "PayPal"),
        "account_number_last_4": to_text,
        "expiration_date": to_text,
    }
)
CUSTOMER = _closed(
    {
        "customer_id": to_text,
        "full_name": to_text,
        "date_of_birth": to_text,
        "email": to_text,
        "phone_number": to_text,
        "address": _closed(dict.fromkeys(("street", "city", "state", "zip_code"), to_text)),
        "account_status": choice_of("Active", "Suspended", "Pending Verification", "Closed"),
        "payment_methods": list_of(_PAYMENT_METHOD),
        "line_ids": list_of(to_text),
        "bill_ids": list_of(to_text),
        "created_at": to_datetime,
        "last_extension_date": optional(to_date),
        "goodwill_credit_used_this_year": to_number,
    },
    account_status="Pending Verification",
    payment_methods=list,
    line_ids=list,
    bill_ids=list,
    created_at=_FIRST_DAY,
    last_extension_date=None,
    goodwill_credit_used_this_year=0.0,
)
#: The shape of the rows of each table, and the field that names one.
TABLES = {
    "plans": (PLAN, "plan_id"),
    "customers": (CUSTOMER, "customer_id"),
    "lines": (LINE, "line_id"),
    "bills": (BILL, "bill_id"),
    "devices": (DEVICE, "device_id"),
}


def get_customer_by_phone(world: State, phone_number: str) -> Entity:
    for _, customer in world.agent.rows("customers"):
        if customer["phone_number"] == phone_number:
            return customer
        for line_id in customer["line_ids"]:
            if find_row(world, "lines", line_id)["phone_number"] == phone_number:
                return customer
    raise ValueError(f"Customer with phone number {phone_number} not found")


def get_customer_by_id(world: State, customer_id: str) -> Entity:
    return find_row(world, "customers", customer_id)


def get_customer_by_name(world: State, full_name: str, dob: str) -> list[Entity]:
    return [
        customer
        for _, customer in world.agent.rows("customers")
        if customer["full_name"].lower() == full_name.lower() and customer["date_of_birth"] == dob
    ]


def get_details_by_id(world: State, id: str) -> Entity:
    tables = {"L": "lines", "D": "devices", "B": "bills", "C": "customers", "P": "plans"}
    if not isinstance(id, str):
        raise AttributeError(f"{type(id).__name__!r} object has no attribute 'startswith'")
    if id[:1] not in tables:
        raise ValueError(f"Unknown ID format or type: {id}")
    return find_row(world, tables[id[:1]], id)


def suspend_line(world: State, customer_id: str, line_id: str, reason: str) -> Entity:
    if _find_own_line(world, customer_id, line_id)["status"] != "Active":
        raise ValueError("Line must be active to suspend")
    line = world.agent.edit("lines", line_id)
    line["status"] = "Suspended"
    line["suspension_start_date"] = str(TODAY)
    message = "Line suspended successfully. $5/month holding fee will apply."
    return {"message": message, "line": line}


def resume_line(world: State, customer_id: str, line_id: str) -> Entity:
    line = _find_own_line(world, customer_id, line_id)
    if line["status"] not in ("Suspended", "Pending Activation"):
        raise ValueError("Line must be suspended to resume")
    line = world.agent.edit("lines", line_id)
    line["status"] = "Active"
    line["suspension_start_date"] = None
    return {"message": "Line resumed successfully", "line": line}


def get_bills_for_customer(world: State, customer_id: str, limit: int = 12) -> list[Entity]:
    customer = get_customer_by_id(world, customer_id)
    bills = [find_row(world, "bills", bill_id) for bill_id in customer["bill_ids"]]
    return sorted(bills, key=lambda bill: str(bill["issue_date"]), reverse=True)[:limit]


def send_payment_request(world: State, customer_id: str, bill_id: str) -> str:
    customer = get_customer_by_id(world, customer_id)
    if list_awaiting_bills(world, customer):
        raise ValueError("A bill is already awaiting payment for this customer")
    if bill_id not in customer["bill_ids"]:
        raise ValueError(f"Bill {bill_id} not found for customer {customer_id}")
    find_row(world, "bills", bill_id)
    world.agent.edit("bills", bill_id)["status"] = "Awaiting Payment"
    return f"Payment request sent to the customer for bill {bill_id}"


def get_data_usage(world: State, customer_id: str, line_id: str) -> Entity:
    line = _find_own_line(world, customer_id, line_id)
    plan = find_row(world, "plans", line["plan_id"])
    return {
        "line_id": line_id,
        "data_used_gb": str(line["data_used_gb"]),
        "data_limit_gb": str(plan["data_limit_gb"]),
        "data_refueling_gb": str(line["data_refueling_gb"]),
        "cycle_end_date": str(date(TODAY.year, TODAY.month + 1, 1) - timedelta(days=1)),
    }


def enable_roaming(world: State, customer_id: str, line_id: str) -> str:
    return _set_roaming(world, customer_id, line_id, enabled=True)


def disable_roaming(world: State, customer_id: str, line_id: str) -> str:
    return _set_roaming(world, customer_id, line_id, enabled=False)


def refuel_data(world: State, customer_id: str, line_id: str, gb_amount: float) -> Entity:
    line = _find_own_line(world, customer_id, line_id)
    if gb_amount <= 0:
        raise ValueError("Refuel amount must be positive")
    plan = find_row(world, "plans", line["plan_id"])
    charge = gb_amount * plan["data_refueling_price_per_gb"]
    line = world.agent.edit("lines", line_id)
    line["data_refueling_gb"] += gb_amount
    price = plan["data_refueling_price_per_gb"]
    reason = f"Data refueling: {gb_amount} GB at ${price}/GB"
    _charge_once(world, customer_id, charge, reason)
    message = f"Successfully added {gb_amount} GB of data for line {line_id} for ${charge:.2f}"
    amount = str(line["data_refueling_gb"])
    return {"message": message, "new_data_refueling_gb": amount, "charge": str(charge)}


# What a task may do to a world before an episode, and ask of it afterwards.


def set_data_usage(world: State, customer_id: str, line_id: str, data_used_gb: float) -> str:
    _find_own_line(world, customer_id, line_id)
    world.agent.edit("lines", line_id)["data_used_gb"] = data_used_gb
    return f"Data usage set to {data_used_gb} GB for line {line_id}"


def suspend_line_for_overdue_bill(
    world: State, customer_id: str, line_id: str, new_bill_id: str, contract_ended: bool
) -> str:
    line = find_row(world, "lines", line_id)
    if line["status"] != "Active":
        raise ValueError("Line must be active to suspend for unpaid bill")
    amount = find_row(world, "plans", line["plan_id"])["price_per_month"]
    if amount <= 0:
        raise ValueError("Amount must be positive for overdue bill")
    bill_ids = get_customer_by_id(world, customer_id)["bill_ids"]
    if any(find_row(world, "bills", each)["status"] == "Overdue" for each in bill_ids):
        raise ValueError("Customer already has an overdue bill")
    last_day = TODAY.replace(day=1) - timedelta(days=1)
    first_day = last_day.replace(day=1)
    bill = _new_bill(customer_id, new_bill_id, first_day, last_day, "Overdue")
    _add_line_item(bill, f"Charge for line {line_id}", amount)
    world.agent.put("bills", new_bill_id, bill)
    world.agent.edit("customers", customer_id)["bill_ids"].append(new_bill_id)
    line = world.agent.edit("lines", line_id)
    line["status"] = "Suspended"
    line["suspension_start_date"] = str(TODAY)
    if contract_ended:
        line["contract_end_date"] = str(last_day)
    text = f"Line {line_id} suspended for unpaid bill {new_bill_id}."
    return f"{text} Contract ended: {contract_ended}"


def assert_data_refueling_amount(
    world: State, customer_id: str, line_id: str, expected_amount: float
) -> bool:
    line = _find_own_line(world, customer_id, line_id)
    return bool(abs(line["data_refueling_gb"] - expected_amount) < 1e-6)


def assert_line_status(world: State, customer_id: str, line_id: str, expected_status: str) -> bool:
    return bool(_find_own_line(world, customer_id, line_id)["status"] == expected_status)


def assert_overdue_bill_exists(world: State, customer_id: str, overdue_bill_id: str) -> bool:
    if overdue_bill_id not in get_customer_by_id(world, customer_id)["bill_ids"]:
        raise ValueError(f"Overdue bill {overdue_bill_id} not found")
    if find_row(world, "bills", overdue_bill_id)["status"] != "Overdue":
        raise ValueError(f"Overdue bill {overdue_bill_id} is not overdue")
    return True


def assert_no_overdue_bill(world: State, overdue_bill_id: str) -> bool:
    bill = world.agent.get("bills", overdue_bill_id)
    return bill is None or bill["status"] == "Paid"


def find_row(world: State, table: str, row_id: str) -> Entity:
    """A row to read. Raises ValueError where there is none."""
    row = world.agent.get(table, row_id) if isinstance(row_id, Hashable) else None
    if row is None:
        raise ValueError(f"{table[:-1].capitalize()} with ID {row_id} not found")
    return row


def find_line_by_phone(world: State, phone_number: str) -> Entity:
    for _, line in world.agent.rows("lines"):
        if line["phone_number"] == phone_number:
            return line
    raise ValueError(f"Line with phone number {phone_number} not found")


def list_awaiting_bills(world: State, customer: Entity) -> list[Entity]:
    bills = [find_row(world, "bills", bill_id) for bill_id in customer["bill_ids"]]
    return [bill for bill in bills if bill["status"] == "Awaiting Payment"]


def _find_own_line(world: State, customer_id: str, line_id: str) -> Entity:
    if line_id not in get_customer_by_id(world, customer_id)["line_ids"]:
        raise ValueError(f"Line {line_id} not found for customer {customer_id}")
    return find_row(world, "lines", line_id)


def _set_roaming(world: State, customer_id: str, line_id: str, *, enabled: bool) -> str:
    word = "enabled" if enabled else "disabled"
    if _find_own_line(world, customer_id, line_id)["roaming_enabled"] == enabled:
        return f"Roaming was already {word}"
    world.agent.edit("lines", line_id)["roaming_enabled"] = enabled
    return f"Roaming {word} successfully"


def _charge_once(world: State, customer_id: str, amount: float, description: str) -> None:
    """Add a charge to the customer's bill in draft, or to a new one for the next month."""
    customer = get_customer_by_id(world, customer_id)
    bills = [find_row(world, "bills", bill_id) for bill_id in customer["bill_ids"]]
    drafts = [bill["bill_id"] for bill in bills if bill["status"] == "Draft"]
    if not drafts:
        first_day = date(TODAY.year, TODAY.month + 1, 1)
        last_day = date(TODAY.year, TODAY.month + 2, 1) - timedelta(days=1)
        count = sum(1 for _ in world.agent.rows("bills"))
        bill_id = f"B{count:08x}"
        world.agent.put("bills", bill_id, _new_bill(customer_id, bill_id, first_day, last_day))
        world.agent.edit("customers", customer_id)["bill_ids"].append(bill_id)
        drafts = [bill_id]
    _add_line_item(world.agent.edit("bills", drafts[0]), description, amount)


def _new_bill(
    customer_id: str, bill_id: str, first_day: date, last_day: date, status: str = "Draft"
) -> Entity:
    return BILL(
        {
            "bill_id": bill_id,
            "customer_id": customer_id,
            "period_start": str(first_day),
            "period_end": str(last_day),
            "issue_date": str(first_day),
            "total_due": 0,
            "due_date": str(first_day + timedelta(days=14)),
            "status": status,
        }
    )


def _add_line_item(bill: Entity, description: str, amount: float) -> None:
    kind = "Credit" if amount < 0 else "Charge"
    item = {"description": description, "amount": amount, "date": str(TODAY), "item_type": kind}
    bill["line_items"].append(_LINE_ITEM(item))
    bill["total_due"] += amount


FUNCTIONS: dict[str, Function] = {
    function.__name__: function
    for function in (
        set_data_usage,
        suspend_line_for_overdue_bill,
        assert_data_refueling_amount,
        assert_line_status,
        assert_overdue_bill_exists,
        assert_no_overdue_bill,
    )
}

_SCHEMAS: dict[str, Schema] = {
    "phone_number": text_schema("The phone number, such as '555-123-2002'."),
    "customer_id": text_schema("The id of the customer, such as 'C1001'."),
    "line_id": text_schema("The id of a line of the customer, such as 'L1001'."),
    "bill_id": text_schema("The id of a bill of the customer, such as 'B1001'."),
    "full_name": text_schema("The full name."),
    "dob": text_schema("The date of birth, as in '1990-01-01'."),
    "id": text_schema("An id; its first letter tells of what: L, D, B, C or P."),
    "reason": text_schema("Why the line is suspended."),
    "limit": {"type": "integer", "description": "How many bills at most, the latest first."},
    "gb_amount": {"type": "number", "description": "How many GB are added."},
    "summary": text_schema("What the user wants and what was done so far."),
}


_build_write = partial(build_tool, schemas=_SCHEMAS, mutates=True)
_build_read = partial(build_tool, schemas=_SCHEMAS)
TOOLS = (
    _build_read(get_customer_by_phone, "Find the customer of a phone number."),
    _build_read(get_customer_by_id, "All about a customer."),
    _build_read(get_customer_by_name, "Find customers by name and date of birth."),
    _build_read(get_details_by_id, "All about a line, device, bill, customer or plan."),
    _build_write(suspend_line, "Suspend an active line; a holding fee is due."),
    _build_write(resume_line, "Make a suspended line active again."),
    _build_read(get_bills_for_customer, "The bills of a customer, the latest first."),
    _build_write(
        send_payment_request,
        "Ask the customer to pay a bill on their phone; one bill at a time can be asked for.",
    ),
    _build_read(get_data_usage, "How much data of a line is used and how much it has."),
    _build_write(enable_roaming, "Allow a line to be used abroad."),
    _build_write(disable_roaming, "Keep a line from being used abroad."),
    _build_read(transfer_to_human_agents, "Hand the user over to a person."),
    _build_write(refuel_data, "Add data to a line for a price per GB."),
)
