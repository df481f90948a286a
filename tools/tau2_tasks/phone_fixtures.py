"""A small telephone company: plans, customers with lines and bills, and the phone of a user."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tools.tau_tasks.profiles import PEOPLE, STREETS, TOWNS, random_digits

Row = dict[str, Any]
#: Name, data in GB, USD a month, USD for a further GB.
_PLANS = (
    ("Pocket", 4.0, 18.0, 4.0),
    ("Everyday", 12.0, 32.0, 2.5),
    ("Roamer", 40.0, 55.0, 1.5),
    ("Household", 90.0, 96.0, 1.0),
)
_MODELS = ("Lumen 4", "Lumen 4 Mini", "Cobalt Fold", "Pebble X2")


@dataclass
class PhoneCompany:
    """The tables as they grow."""

    rng: Random
    plans: list[Row] = field(default_factory=list)
    customers: list[Row] = field(default_factory=list)
    lines: list[Row] = field(default_factory=list)
    bills: list[Row] = field(default_factory=list)
    devices: list[Row] = field(default_factory=list)

    def to_tables(self) -> dict[str, list[Row]]:
        return {
            "plans": self.plans,
            "customers": self.customers,
            "lines": self.lines,
            "bills": self.bills,
            "devices": self.devices,
        }


def new_phone_company(rng: Random) -> PhoneCompany:
    """All plans, and no customer yet."""
    company = PhoneCompany(rng)
    for number, (name, data, month, further) in enumerate(_PLANS, 1):
        company.plans.append(
            {
                "plan_id": f"P{number:02}",
                "name": name,
                "data_limit_gb": data,
                "price_per_month": month,
                "data_refueling_price_per_gb": further,
            }
        )
    return company


def add_customer(company: PhoneCompany, *, roaming: bool = True) -> tuple[Row, Row]:
    """A customer with a first line, which is active, and a second one; the customer and the line
    that works, or is to work, in the user's phone."""
    rng, number = company.rng, len(company.customers) + 1
    first, second = PEOPLE[number * 41 % len(PEOPLE)]
    city, state = rng.choice(TOWNS)
    day = rng.randrange(1, 28)
    lines = [_add_line(company, roaming=roaming) for _ in range(2)]
    bill_ids = [_add_bill(company, f"C{number:03}", month) for month in (12, 1)]
    customer = {
        "customer_id": f"C{number:03}",
        "full_name": f"{first} {second}",
        "date_of_birth": f"{rng.randrange(1950, 2004)}-0{rng.randrange(1, 10)}-{day:02}",
        "email": f"{first}.{second}{number}@example.org".lower(),
        "phone_number": lines[0]["phone_number"],
        "address": {
            "street": f"{rng.randrange(10, 990)} {rng.choice(STREETS)}",
            "city": city,
            "state": state,
            "zip_code": random_digits(rng, 5),
        },
        "account_status": "Active",
        "payment_methods": [
            {
                "method_type": rng.choice(("Credit Card", "Debit Card", "PayPal")),
                "account_number_last_4": random_digits(rng, 4),
                "expiration_date": f"{rng.randrange(1, 13):02}/{rng.randrange(2026, 2031)}",
            }
        ],
        "line_ids": [line["line_id"] for line in lines],
        "bill_ids": bill_ids,
        "created_at": "2023-05-02 09:30:00",
        "last_extension_date": None,
        "goodwill_credit_used_this_year": 0.0,
    }
    company.customers.append(customer)
    return customer, lines[number % 2]


def _add_line(company: PhoneCompany, *, roaming: bool) -> Row:
    rng, number = company.rng, len(company.lines) + 1
    plan = rng.choice(company.plans[:3])
    company.devices.append(
        {
            "device_id": f"D{number:03}",
            "device_type": "phone",
            "model": rng.choice(_MODELS),
            "imei": random_digits(rng, 15),
            "is_esim_capable": rng.random() < 0.5,
            "activated": True,
            "activation_date": "2024-03-11 10:00:00",
            "last_esim_transfer_date": None,
        }
    )
    line = {
        "line_id": f"L{number:03}",
        "phone_number": f"555-{rng.randrange(100, 1000)}-{number:04}",
        "status": "Active",
        "plan_id": plan["plan_id"],
        "device_id": f"D{number:03}",
        "data_used_gb": round(plan["data_limit_gb"] * rng.uniform(0.2, 0.7), 1),
        "data_refueling_gb": 0.0,
        "roaming_enabled": roaming,
        "contract_end_date": "2026-11-30",
        "last_plan_change_date": None,
        "last_sim_replacement_date": None,
        "suspension_start_date": None,
    }
    company.lines.append(line)
    return line


def _add_bill(company: PhoneCompany, customer_id: str, month: int) -> str:
    """A bill of a month that is paid, 12 being that of the year before."""
    bill_id, year = f"B{len(company.bills) + 1:03}", 2024 if month == 12 else 2025
    amount = round(company.rng.uniform(20, 120), 2)
    first, issued = f"{year}-{month:02}-01", "2025-01-02" if month == 12 else "2025-02-02"
    company.bills.append(
        {
            "bill_id": bill_id,
            "customer_id": customer_id,
            "period_start": first,
            "period_end": f"{year}-{month:02}-31",
            "issue_date": issued,
            "total_due": amount,
            "due_date": issued[:-2] + "16",
            "line_items": [
                {"description": "Lines", "amount": amount, "date": issued, "item_type": "Charge"}
            ],
            "status": "Paid",
        }
    )
    return bill_id


def build_phone() -> Row:
    """The user's phone and surroundings before a task changes them."""
    return {"device": {"battery_level": 76}, "surroundings": {}}
