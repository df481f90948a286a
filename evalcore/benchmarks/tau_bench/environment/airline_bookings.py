"""The tools of the airline domain that change reservations and users.

They hold to upstream's rules to the letter, also where those are odd: seats are not counted down,
a change of cabin is paid for and not written, nothing keeps a reservation from being cancelled
twice. Whether a change is allowed at all is the policy's matter.
"""

from __future__ import annotations

import json
from typing import Any

from evalcore.benchmarks.tau_bench.environment.base import Entity
from evalcore.benchmarks.tau_bench.environment.canonical import clone_json
from evalcore.benchmarks.tau_bench.environment.database import Database
from evalcore.benchmarks.tau_bench.environment.tool import ToolError, require_entity

#: Ids of the reservations and certificates that can be made in one conversation.
NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
BOOKED_AT = "2024-05-15T15:00:00"
#: Dollars for the insurance of a passenger, and for a bag that is not free.
INSURANCE, BAG = 30, 50


def book_reservation(
    database: Database,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: str,
    cabin: str,
    flights: list[Entity],
    passengers: list[Entity],
    payment_methods: list[Entity],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: str,
) -> str:
    user = require_entity(database, "users", user_id, "user")
    taken = [
        candidate
        for candidate in NEW_RESERVATIONS
        if database.get("reservations", candidate) is not None
    ]
    reservation_id = NEW_RESERVATIONS[min(len(taken), 2)]
    flights = clone_json(flights)
    total = sum(_price_flight_seats(database, flight, cabin, len(passengers)) for flight in flights)
    total += INSURANCE * len(passengers) * (insurance == "yes") + BAG * nonfree_baggages
    _check_payments(user, payment_methods, total)
    _deduct_payments(database, user_id, payment_methods)
    reservation = {
        "reservation_id": reservation_id,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": flights,
        "passengers": passengers,
        "payment_history": payment_methods,
        "created_at": BOOKED_AT,
        "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages,
        "insurance": insurance,
    }
    database.put("reservations", reservation_id, reservation)
    database.edit("users", user_id)["reservations"].append(reservation_id)
    return json.dumps(reservation)


def cancel_reservation(database: Database, reservation_id: str) -> str:
    require_entity(database, "reservations", reservation_id, "reservation")
    reservation = database.edit("reservations", reservation_id)
    reservation["payment_history"] += [
        {"payment_id": paid["payment_id"], "amount": -paid["amount"]}
        for paid in reservation["payment_history"]
    ]
    reservation["status"] = "cancelled"
    return json.dumps(reservation)


def update_reservation_flights(
    database: Database, reservation_id: str, cabin: str, flights: list[Entity], payment_id: str
) -> str:
    reservation = require_entity(database, "reservations", reservation_id, "reservation")
    seats = len(reservation["passengers"])
    flights = clone_json(flights)
    total: Any = 0
    for flight in flights:
        reserved = _find_reserved_flight(reservation, flight, cabin)
        if reserved is None:
            total += _price_flight_seats(database, flight, cabin, seats)
        else:
            total += reserved["price"] * seats
            flight.update({name: reserved[name] for name in ("price", "origin", "destination")})
    total -= sum(flight["price"] for flight in reservation["flights"]) * seats
    _check_update(database, reservation, payment_id, total)
    reservation = database.edit("reservations", reservation_id)
    reservation["flights"] = flights
    _apply_price_change(database, reservation, payment_id, total)
    return json.dumps(reservation)


def update_reservation_baggages(
    database: Database,
    reservation_id: str,
    total_baggages: int,
    nonfree_baggages: int,
    payment_id: str,
) -> str:
    reservation = require_entity(database, "reservations", reservation_id, "reservation")
    total = BAG * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    _check_update(database, reservation, payment_id, total)
    reservation = database.edit("reservations", reservation_id)
    reservation["total_baggages"] = total_baggages
    reservation["nonfree_baggages"] = nonfree_baggages
    _apply_price_change(database, reservation, payment_id, total)
    return json.dumps(reservation)


def update_reservation_passengers(
    database: Database, reservation_id: str, passengers: list[Entity]
) -> str:
    reservation = require_entity(database, "reservations", reservation_id, "reservation")
    if len(passengers) != len(reservation["passengers"]):
        raise ToolError("number of passengers does not match")
    reservation = database.edit("reservations", reservation_id)
    reservation["passengers"] = clone_json(passengers)
    return json.dumps(reservation)


def send_certificate(database: Database, user_id: str, amount: float) -> str:
    """The text of upstream's answer; where all certificates are given out it has none: `None`."""
    methods = require_entity(database, "users", user_id, "user")["payment_methods"]
    free = next((candidate for candidate in NEW_CERTIFICATES if candidate not in methods), None)
    if free is None:
        return "None"
    certificate = {"source": "certificate", "amount": amount, "id": free}
    database.edit("users", user_id)["payment_methods"][free] = certificate
    return f"Certificate {free} added to user {user_id} with amount {amount}."


def _price_flight_seats(database: Database, flight: Entity, cabin: str, seats: int) -> Any:
    """What the seats on a flight cost; the flight gets its price and airports."""
    number = flight["flight_number"]
    scheduled_flight = require_entity(database, "flights", number, f"flight {number}")
    day = flight["date"]
    if day not in scheduled_flight["dates"]:
        raise ToolError(f"flight {number} not found on date {day}")
    offered = scheduled_flight["dates"][day]
    if offered["status"] != "available":
        raise ToolError(f"flight {number} not available on date {day}")
    if offered["available_seats"][cabin] < seats:
        raise ToolError(f"not enough seats on flight {number}")
    flight["price"] = offered["prices"][cabin]
    flight["origin"], flight["destination"] = (
        scheduled_flight["origin"],
        scheduled_flight["destination"],
    )
    return flight["price"] * seats


def _find_reserved_flight(reservation: Entity, flight: Entity, cabin: str) -> Entity | None:
    """The flight as it is already reserved, in the same cabin: it keeps its price."""
    for reserved in reservation["flights"]:
        same = (
            reserved["flight_number"] == flight["flight_number"]
            and reserved["date"] == flight["date"]
        )
        if same and cabin == reservation["cabin"]:
            return dict(reserved)
    return None


def _check_payments(user: Entity, payments: list[Entity], total: Any) -> None:
    methods = user["payment_methods"]
    for payment in payments:
        name, amount = payment["payment_id"], payment["amount"]
        if name not in methods:
            raise ToolError(f"payment method {name} not found")
        limited = methods[name]["source"] in ("gift_card", "certificate")
        if limited and methods[name]["amount"] < amount:
            raise ToolError(f"not enough balance in payment method {name}")
    paid = sum(payment["amount"] for payment in payments)
    if paid != total:
        raise ToolError(f"payment amount does not add up, total price is {total}, but paid {paid}")


def _deduct_payments(database: Database, user_id: str, payments: list[Entity]) -> None:
    """Gift cards shrink, certificates are used up. A certificate that is named twice ends in a
    KeyError after the payments before it, as upstream."""
    methods = database.edit("users", user_id)["payment_methods"]
    for payment in payments:
        name = payment["payment_id"]
        if methods[name]["source"] == "gift_card":
            methods[name]["amount"] -= payment["amount"]
        elif methods[name]["source"] == "certificate":
            del methods[name]


def _check_update(database: Database, reservation: Entity, payment_id: str, total: Any) -> None:
    methods = require_entity(database, "users", reservation["user_id"], "user")["payment_methods"]
    if payment_id not in methods:
        raise ToolError("payment method not found")
    method = methods[payment_id]
    if method["source"] == "certificate":
        raise ToolError("certificate cannot be used to update reservation")
    if method["source"] == "gift_card" and method["amount"] < total:
        raise ToolError("gift card balance is not enough")


def _apply_price_change(
    database: Database, reservation: Entity, payment_id: str, total: Any
) -> None:
    """Enter what a change costs, or gives back, into the gift card and the history."""
    user_id = reservation["user_id"]
    user = require_entity(database, "users", user_id, "user")
    if user["payment_methods"][payment_id]["source"] == "gift_card":
        database.edit("users", user_id)["payment_methods"][payment_id]["amount"] -= total
    if total != 0:
        reservation["payment_history"].append({"payment_id": payment_id, "amount": total})
