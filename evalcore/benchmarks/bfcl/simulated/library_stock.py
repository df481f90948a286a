"""The rest of a big library: rows that a long-context scenario adds around the ones it is about.

Everything follows from the row's number, so that the stock is the same every time.
"""

from __future__ import annotations

from datetime import date, timedelta

from evalcore.benchmarks.bfcl.simulated.library_state import Copy, Member, Title

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
    """Add ROWS titles with a copy each and as many members, under ids from 5000 on.

    Every second copy is lent and 1 to LONGEST_DELAY_DAYS days late, `newest_due` being one day
    late. Rows that are there already stay as they are.
    """
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
        members.setdefault(
            f"M{number}",
            {
                "name": _build_member_name(row),
                "card_expires": (last + timedelta(days=30 + row)).isoformat(),
                "fees_cents": row * 13 % 400,
            },
        )


def _build_title(row: int) -> str:
    first, rest = row % 9, row // 9
    second, rest = rest % 8, rest // 8
    return f"{_FIRST[first]} {_SECOND[second]} {_THIRD[rest % 6]}{_FOURTH[rest // 6 % 3]}"


def _build_member_name(row: int) -> str:
    house = 1 + row // 100
    return f"{_NAMES[row % 10]} of {house} {_PLACES[row // 10 % 10]} Lane"
