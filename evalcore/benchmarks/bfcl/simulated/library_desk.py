"""The desk of a lending library: titles, copies, members, loans, holds and fees.

Days are ISO dates, money is in cents. A due date is counted from the scenario's `today`, which
never changes.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal

from evalcore.benchmarks.bfcl.simulated.arguments import (
    Answer,
    fold,
    folded,
    refusal,
    scenario_of,
    text,
    whole,
)
from evalcore.benchmarks.bfcl.simulated.library_state import Copy, LibraryScenario, Member
from evalcore.benchmarks.bfcl.simulated.library_stock import add_stock

MOST_RENEWALS = 2


class LibraryDesk:
    """Tools for a librarian. A tool that cannot do its work answers {"error": why}."""

    def __init__(self) -> None:
        self._load_scenario({})

    def _load_scenario(self, scenario: dict[str, object], long_context: bool = False) -> None:
        """Set the whole state; `long_context` adds hundreds of titles, members and late loans.

        Raises ValueError for what is no scenario.
        """
        given = scenario_of(scenario, LibraryScenario)
        self.today = given.today
        self.loan_days = given.loan_days
        self.loan_limit = given.loan_limit
        self.late_fee_cents = given.late_fee_cents
        self.fee_limit_cents = given.fee_limit_cents
        self.titles = given.titles
        self.copies = given.copies
        self.members = given.members
        self.holds = given.holds
        if long_context:
            add_stock(self.titles, self.copies, self.members, self._day(-1))

    def find_title(self, title: str) -> Answer:
        wanted = folded("title", title)
        found = [
            {"title_id": key, **one}
            for key, one in sorted(self.titles.items())
            if fold(one["title"]) == wanted
        ]
        return {"matches": found} if found else refusal(f"no title is called '{title.strip()}'")

    def list_subject(self, subject: str) -> Answer:
        wanted = folded("subject", subject)
        found = [
            {"title_id": key, "title": one["title"], "year": one["year"]}
            for key, one in sorted(self.titles.items())
            if fold(one["subject"]) == wanted
        ]
        return {"titles": found} if found else refusal(f"no subject '{subject.strip()}'")

    def list_copies(self, title_id: str) -> Answer:
        title_id = text("title_id", title_id)
        if title_id not in self.titles:
            return refusal(f"no title '{title_id}'")
        rows = [
            {"copy_id": key, "shelf": one["shelf"], "status": one["status"], "due": one["due"]}
            for key, one in sorted(self.copies.items())
            if one["title_id"] == title_id
        ]
        return {"copies": rows}

    def find_member(self, name: str) -> Answer:
        wanted = folded("name", name)
        found = [
            {"member_id": key, "name": one["name"]}
            for key, one in sorted(self.members.items())
            if fold(one["name"]) == wanted
        ]
        return {"matches": found} if found else refusal(f"no member is called '{name.strip()}'")

    def member_account(self, member_id: str) -> Answer:
        member_id = text("member_id", member_id)
        member = self.members.get(member_id)
        if member is None:
            return refusal(f"no member '{member_id}'")
        return {**member, "loans": self._loans_of(member_id), "holds": self._holds_of(member_id)}

    def lend(self, copy_id: str, member_id: str) -> Answer:
        copy_id, member_id = text("copy_id", copy_id), text("member_id", member_id)
        copy, member = self.copies.get(copy_id), self.members.get(member_id)
        if copy is None:
            return refusal(f"no copy '{copy_id}'")
        if member is None:
            return refusal(f"no member '{member_id}'")
        if copy["status"] == "lent":
            return refusal(f"copy {copy_id} is lent until {copy['due']}")
        if copy["status"] == "kept" and copy["member_id"] != member_id:
            return refusal(f"copy {copy_id} is kept for member {copy['member_id']}")
        if problem := self._bar_to_borrowing(member_id, member):
            return refusal(problem)
        due = self._day(self.loan_days)
        copy.update({"status": "lent", "member_id": member_id, "due": due, "renewals": 0})
        return {"copy_id": copy_id, "due": due}

    def take_back(self, copy_id: str) -> Answer:
        copy_id = text("copy_id", copy_id)
        copy = self.copies.get(copy_id)
        if copy is None:
            return refusal(f"no copy '{copy_id}'")
        if copy["status"] != "lent":
            return refusal(f"copy {copy_id} is not lent")
        late = self._days_late(copy)
        fee = late * self.late_fee_cents
        if copy["member_id"] in self.members:
            self.members[copy["member_id"]]["fees_cents"] += fee
        queue = self.holds.get(copy["title_id"], [])
        next_id = queue.pop(0) if queue else ""
        status: Literal["kept", "on shelf"] = "kept" if next_id else "on shelf"
        copy.update({"status": status, "member_id": next_id, "due": "", "renewals": 0})
        return {"copy_id": copy_id, "days_late": late, "fee_cents": fee, "kept_for": next_id}

    def renew(self, copy_id: str) -> Answer:
        copy_id = text("copy_id", copy_id)
        copy = self.copies.get(copy_id)
        if copy is None:
            return refusal(f"no copy '{copy_id}'")
        if copy["status"] != "lent":
            return refusal(f"copy {copy_id} is not lent")
        if late := self._days_late(copy):
            return refusal(f"copy {copy_id} is {late} days late and has to come back")
        if copy["renewals"] >= MOST_RENEWALS:
            return refusal(f"copy {copy_id} has been renewed {MOST_RENEWALS} times already")
        if self.holds.get(copy["title_id"]):
            return refusal(f"members wait for title {copy['title_id']}")
        copy["due"] = self._day(self.loan_days)
        copy["renewals"] += 1
        return {"copy_id": copy_id, "due": copy["due"]}

    def place_hold(self, title_id: str, member_id: str) -> Answer:
        title_id, member_id = text("title_id", title_id), text("member_id", member_id)
        if title_id not in self.titles:
            return refusal(f"no title '{title_id}'")
        if member_id not in self.members:
            return refusal(f"no member '{member_id}'")
        copies = {key: one for key, one in self.copies.items() if one["title_id"] == title_id}
        free = sorted(key for key, one in copies.items() if one["status"] == "on shelf")
        if free:
            return refusal(f"copy {free[0]} is on the shelf; lend it instead")
        queue = self.holds.get(title_id, [])
        holders = {one["member_id"] for one in copies.values()}
        if member_id in queue or member_id in holders:
            return refusal(f"member {member_id} has or awaits title {title_id} already")
        self.holds[title_id] = [*queue, member_id]
        return {"title_id": title_id, "position": len(queue) + 1}

    def cancel_hold(self, title_id: str, member_id: str) -> Answer:
        title_id, member_id = text("title_id", title_id), text("member_id", member_id)
        queue = self.holds.get(title_id, [])
        if member_id not in queue:
            return refusal(f"member {member_id} does not wait for title {title_id}")
        queue.remove(member_id)
        return {"title_id": title_id, "waiting": len(queue)}

    def pay_fees(self, member_id: str, cents: int) -> Answer:
        member_id, cents = text("member_id", member_id), whole("cents", cents, 1, 1_000_000)
        member = self.members.get(member_id)
        if member is None:
            return refusal(f"no member '{member_id}'")
        if cents > member["fees_cents"]:
            return refusal(f"member {member_id} owes only {member['fees_cents']} cents")
        member["fees_cents"] -= cents
        return {"member_id": member_id, "fees_cents": member["fees_cents"]}

    def extend_card(self, member_id: str, days: int = 365) -> Answer:
        member_id, days = text("member_id", member_id), whole("days", days, 1, 730)
        member = self.members.get(member_id)
        if member is None:
            return refusal(f"no member '{member_id}'")
        member["card_expires"] = self._day(days)
        return {"member_id": member_id, "card_expires": member["card_expires"]}

    def move_copy(self, copy_id: str, shelf: str) -> Answer:
        copy_id, shelf = text("copy_id", copy_id), text("shelf", shelf).upper()
        copy = self.copies.get(copy_id)
        if copy is None:
            return refusal(f"no copy '{copy_id}'")
        if copy["status"] != "on shelf":
            return refusal(f"copy {copy_id} is not on its shelf")
        copy["shelf"] = shelf
        return {"copy_id": copy_id, "shelf": shelf}

    def list_overdue(self) -> Answer:
        rows = [
            {
                "copy_id": key,
                "title_id": one["title_id"],
                "member_id": one["member_id"],
                "due": one["due"],
                "days_late": self._days_late(one),
            }
            for key, one in sorted(self.copies.items())
            if self._days_late(one)
        ]
        return {"loans": rows}

    def _day(self, days: int) -> str:
        return (date.fromisoformat(self.today) + timedelta(days=days)).isoformat()

    def _days_late(self, copy: Copy) -> int:
        if copy["status"] != "lent":
            return 0
        late = date.fromisoformat(self.today) - date.fromisoformat(copy["due"])
        return max(0, late.days)

    def _bar_to_borrowing(self, member_id: str, member: Member) -> str:
        """Why a member may not borrow, or an empty text."""
        if member["card_expires"] < self.today:
            return f"the card of member {member_id} expired on {member['card_expires']}"
        if member["fees_cents"] > self.fee_limit_cents:
            return (
                f"member {member_id} owes {member['fees_cents']} cents, "
                f"more than the limit of {self.fee_limit_cents}"
            )
        if len(self._loans_of(member_id)) >= self.loan_limit:
            return f"member {member_id} has {self.loan_limit} loans, the most allowed"
        return ""

    def _loans_of(self, member_id: str) -> list[Answer]:
        return [
            {
                "copy_id": key,
                "title_id": one["title_id"],
                "title": self.titles[one["title_id"]]["title"],
                "due": one["due"],
                "days_late": self._days_late(one),
            }
            for key, one in sorted(self.copies.items())
            if one["status"] == "lent" and one["member_id"] == member_id
        ]

    def _holds_of(self, member_id: str) -> list[Answer]:
        return [
            {
                "title_id": key,
                "title": self.titles[key]["title"],
                "position": queue.index(member_id) + 1,
            }
            for key, queue in sorted(self.holds.items())
            if member_id in queue
        ]
