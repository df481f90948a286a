"""The simulated API `LibraryDesk`: its scenario, its stock, and its tools."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal, TypedDict

from evalcore.benchmarks.bfcl.simulated import (
    Answer,
    Day,
    DayOrEmpty,
    Days,
    ToolRefusal,
    answer_refusals,
    check_folded_text,
    check_integer,
    check_text,
    find_row,
    fold_text,
    parse_scenario,
)
from evalcore.records import Record

# The state of a lending library as JSON data; days are ISO dates, money is in cents.


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


# The rest of a big library: rows that a long-context scenario adds around the ones it is about.
# Everything follows from the row's number, so that the stock is the same every time.

ROWS = 600
LONGEST_DELAY_DAYS = 89

_FIRST = ("Amber", "Broken", "Distant", "Early", "Frozen", "Gentle", "Hollow", "Ivory", "Quiet")
_SECOND = ("Bridges", "Canals", "Dunes", "Engines", "Ferries", "Gables", "Harbours", "Islands")
_THIRD = ("at Dawn", "by Night", "in Spring", "of the East", "of the North", "over Time")
_FOURTH = ("", ": A Primer", ": Notes")
_SUBJECTS = ("archives", "bridges", "coasts", "design", "engines", "folklore")
_NAMES = ("Aino", "Bela", "Cleo", "Dario", "Edda", "Femke", "Goran", "Hilla", "Imre", "Juno")
_PLACES = ("Alder", "Birch", "Cedar", "Elm", "Hazel", "Larch", "Maple", "Rowan", "Thorn", "Yew")


def add_stock(
    titles: dict[str, Title], copies: dict[str, Copy], members: dict[str, Member], newest_due: str
) -> None:
    """Add ROWS titles with a copy each and as many members, under ids from 5000 on. Every second
    copy is lent and 1 to LONGEST_DELAY_DAYS days late, `newest_due` being one day late. Rows that
    are there already stay as they are."""
    last = date.fromisoformat(newest_due)
    for row in range(ROWS):
        number = 5000 + row
        due = last - timedelta(days=row * 37 % LONGEST_DELAY_DAYS)
        lent = row % 2 == 0
        titles.setdefault(
            f"T{number}",
            {
                "title": _build_title(row),
                "subject": _SUBJECTS[row % len(_SUBJECTS)],
                "year": 1950 + row * 7 % 80,
            },
        )
        copies.setdefault(
            f"C{number}",
            {
                "title_id": f"T{number}",
                "shelf": f"{'KLMNPQ'[row % 6]}{1 + row // 6}",
                "status": "lent" if lent else "on shelf",
                "member_id": f"M{number}" if lent else "",
                "due": due.isoformat() if lent else "",
                "renewals": row // 2 % 3 if lent else 0,
            },
        )
        house = 1 + row // 100
        members.setdefault(
            f"M{number}",
            {
                "name": f"{_NAMES[row % 10]} of {house} {_PLACES[row // 10 % 10]} Lane",
                "card_expires": (last + timedelta(days=30 + row)).isoformat(),
                "fees_cents": row * 13 % 400,
            },
        )


def _build_title(row: int) -> str:
    first, rest = row % 9, row // 9
    second, rest = rest % 8, rest // 8
    return f"{_FIRST[first]} {_SECOND[second]} {_THIRD[rest % 6]}{_FOURTH[rest // 6 % 3]}"


# Days are ISO dates counted from the scenario's `today`, which never changes; money is in cents.

MAX_RENEWALS = 2


@answer_refusals
class LibraryDesk:
    """Tools for a librarian. A tool that cannot do its work answers {"error": why}."""

    def __init__(self) -> None:
        self._load_scenario({})

    def _load_scenario(self, scenario: dict[str, object], long_context: bool = False) -> None:
        """Set the whole state; `long_context` adds hundreds of titles, members and late loans.
        Raises ValueError for what is no scenario."""
        state = parse_scenario(scenario, LibraryScenario)
        self.today = state.today
        self.loan_days = state.loan_days
        self.loan_limit = state.loan_limit
        self.late_fee_cents = state.late_fee_cents
        self.fee_limit_cents = state.fee_limit_cents
        self.titles = state.titles
        self.copies = state.copies
        self.members = state.members
        self.holds = state.holds
        if long_context:
            add_stock(self.titles, self.copies, self.members, self._shift_today(-1))

    def find_title(self, title: str) -> Answer:
        folded_title = check_folded_text("title", title)
        matches = [
            {"title_id": key, **record}
            for key, record in sorted(self.titles.items())
            if fold_text(record["title"]) == folded_title
        ]
        if not matches:
            raise ToolRefusal(f"no title is called '{title.strip()}'")
        return {"matches": matches}

    def list_subject(self, subject: str) -> Answer:
        folded_subject = check_folded_text("subject", subject)
        titles = [
            {"title_id": key, "title": record["title"], "year": record["year"]}
            for key, record in sorted(self.titles.items())
            if fold_text(record["subject"]) == folded_subject
        ]
        if not titles:
            raise ToolRefusal(f"no subject '{subject.strip()}'")
        return {"titles": titles}

    def list_copies(self, title_id: str) -> Answer:
        title_id = check_text("title_id", title_id)
        find_row(self.titles, "title", title_id)
        rows = [
            {"copy_id": key, "shelf": copy["shelf"], "status": copy["status"], "due": copy["due"]}
            for key, copy in sorted(self.copies.items())
            if copy["title_id"] == title_id
        ]
        return {"copies": rows}

    def find_member(self, name: str) -> Answer:
        folded_name = check_folded_text("name", name)
        matches = [
            {"member_id": key, "name": member["name"]}
            for key, member in sorted(self.members.items())
            if fold_text(member["name"]) == folded_name
        ]
        if not matches:
            raise ToolRefusal(f"no member is called '{name.strip()}'")
        return {"matches": matches}

    def member_account(self, member_id: str) -> Answer:
        member_id = check_text("member_id", member_id)
        member = find_row(self.members, "member", member_id)
        return {
            **member,
            "loans": self._list_loans(member_id),
            "holds": self._list_holds(member_id),
        }

    def lend(self, copy_id: str, member_id: str) -> Answer:
        copy_id, member_id = check_text("copy_id", copy_id), check_text("member_id", member_id)
        copy = find_row(self.copies, "copy", copy_id)
        find_row(self.members, "member", member_id)
        if copy["status"] == "lent":
            raise ToolRefusal(f"copy {copy_id} is lent until {copy['due']}")
        if copy["status"] == "kept" and copy["member_id"] != member_id:
            raise ToolRefusal(f"copy {copy_id} is kept for member {copy['member_id']}")
        self._check_borrower(member_id)
        due = self._shift_today(self.loan_days)
        copy.update({"status": "lent", "member_id": member_id, "due": due, "renewals": 0})
        return {"copy_id": copy_id, "due": due}

    def take_back(self, copy_id: str) -> Answer:
        copy_id = check_text("copy_id", copy_id)
        copy = find_row(self.copies, "copy", copy_id)
        if copy["status"] != "lent":
            raise ToolRefusal(f"copy {copy_id} is not lent")
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
        copy_id = check_text("copy_id", copy_id)
        copy = find_row(self.copies, "copy", copy_id)
        if copy["status"] != "lent":
            raise ToolRefusal(f"copy {copy_id} is not lent")
        if late := self._days_late(copy):
            raise ToolRefusal(f"copy {copy_id} is {late} days late and has to come back")
        if copy["renewals"] >= MAX_RENEWALS:
            raise ToolRefusal(f"copy {copy_id} has been renewed {MAX_RENEWALS} times already")
        if self.holds.get(copy["title_id"]):
            raise ToolRefusal(f"members wait for title {copy['title_id']}")
        copy["due"] = self._shift_today(self.loan_days)
        copy["renewals"] += 1
        return {"copy_id": copy_id, "due": copy["due"]}

    def place_hold(self, title_id: str, member_id: str) -> Answer:
        title_id, member_id = check_text("title_id", title_id), check_text("member_id", member_id)
        find_row(self.titles, "title", title_id)
        find_row(self.members, "member", member_id)
        copies = {key: copy for key, copy in self.copies.items() if copy["title_id"] == title_id}
        free = sorted(key for key, copy in copies.items() if copy["status"] == "on shelf")
        if free:
            raise ToolRefusal(f"copy {free[0]} is on the shelf; lend it instead")
        queue = self.holds.get(title_id, [])
        holders = {copy["member_id"] for copy in copies.values()}
        if member_id in queue or member_id in holders:
            raise ToolRefusal(f"member {member_id} has or awaits title {title_id} already")
        self.holds[title_id] = [*queue, member_id]
        return {"title_id": title_id, "position": len(queue) + 1}

    def cancel_hold(self, title_id: str, member_id: str) -> Answer:
        title_id, member_id = check_text("title_id", title_id), check_text("member_id", member_id)
        queue = self.holds.get(title_id, [])
        if member_id not in queue:
            raise ToolRefusal(f"member {member_id} does not wait for title {title_id}")
        queue.remove(member_id)
        return {"title_id": title_id, "waiting": len(queue)}

    def pay_fees(self, member_id: str, cents: int) -> Answer:
        member_id = check_text("member_id", member_id)
        cents = check_integer("cents", cents, 1, 1_000_000)
        member = find_row(self.members, "member", member_id)
        if cents > member["fees_cents"]:
            raise ToolRefusal(f"member {member_id} owes only {member['fees_cents']} cents")
        member["fees_cents"] -= cents
        return {"member_id": member_id, "fees_cents": member["fees_cents"]}

    def extend_card(self, member_id: str, days: int = 365) -> Answer:
        member_id, days = check_text("member_id", member_id), check_integer("days", days, 1, 730)
        member = find_row(self.members, "member", member_id)
        member["card_expires"] = self._shift_today(days)
        return {"member_id": member_id, "card_expires": member["card_expires"]}

    def move_copy(self, copy_id: str, shelf: str) -> Answer:
        copy_id, shelf = check_text("copy_id", copy_id), check_text("shelf", shelf).upper()
        copy = find_row(self.copies, "copy", copy_id)
        if copy["status"] != "on shelf":
            raise ToolRefusal(f"copy {copy_id} is not on its shelf")
        copy["shelf"] = shelf
        return {"copy_id": copy_id, "shelf": shelf}

    def list_overdue(self) -> Answer:
        rows = [
            {
                "copy_id": key,
                "title_id": copy["title_id"],
                "member_id": copy["member_id"],
                "due": copy["due"],
                "days_late": self._days_late(copy),
            }
            for key, copy in sorted(self.copies.items())
            if self._days_late(copy)
        ]
        return {"loans": rows}

    def _shift_today(self, days: int) -> str:
        return (date.fromisoformat(self.today) + timedelta(days=days)).isoformat()

    def _days_late(self, copy: Copy) -> int:
        if copy["status"] != "lent":
            return 0
        late = date.fromisoformat(self.today) - date.fromisoformat(copy["due"])
        return max(0, late.days)

    def _check_borrower(self, member_id: str) -> None:
        member = self.members[member_id]
        if member["card_expires"] < self.today:
            raise ToolRefusal(f"the card of member {member_id} expired on {member['card_expires']}")
        if member["fees_cents"] > self.fee_limit_cents:
            raise ToolRefusal(
                f"member {member_id} owes {member['fees_cents']} cents, "
                f"more than the limit of {self.fee_limit_cents}"
            )
        if len(self._list_loans(member_id)) >= self.loan_limit:
            raise ToolRefusal(f"member {member_id} has {self.loan_limit} loans, the most allowed")

    def _list_loans(self, member_id: str) -> list[Answer]:
        return [
            {
                "copy_id": key,
                "title_id": copy["title_id"],
                "title": self.titles[copy["title_id"]]["title"],
                "due": copy["due"],
                "days_late": self._days_late(copy),
            }
            for key, copy in sorted(self.copies.items())
            if copy["status"] == "lent" and copy["member_id"] == member_id
        ]

    def _list_holds(self, member_id: str) -> list[Answer]:
        return [
            {
                "title_id": key,
                "title": self.titles[key]["title"],
                "position": queue.index(member_id) + 1,
            }
            for key, queue in sorted(self.holds.items())
            if member_id in queue
        ]
