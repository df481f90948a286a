"""The state of a lending library as JSON data; days are ISO dates, money is in cents."""

from __future__ import annotations

from typing import Literal, TypedDict

from evalcore.benchmarks.bfcl.simulated.arguments import Day, DayOrEmpty, Days
from evalcore.records import Record


class Title(TypedDict):
    title: str
    subject: str
    year: int


class Copy(TypedDict):
    """`member_id` is the borrower, or whom a kept copy waits for; `due` is empty unless lent."""

    title_id: str
    shelf: str
    status: Literal["on shelf", "lent", "kept"]
    member_id: str
    due: DayOrEmpty
    renewals: int


class Member(TypedDict):
    name: str
    card_expires: Day
    fees_cents: int


class LibraryScenario(Record, frozen=True):
    """What a desk starts from; `holds` are the members that wait for a title, first come first."""

    today: Day = "2031-03-03"
    loan_days: Days = 21
    loan_limit: int = 5
    late_fee_cents: int = 20
    fee_limit_cents: int = 1000
    titles: dict[str, Title] = {}
    copies: dict[str, Copy] = {}
    members: dict[str, Member] = {}
    holds: dict[str, list[str]] = {}
