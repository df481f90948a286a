"""The airline domain: the tools over flights, reservations and users.

Upstream's rules hold to the letter, also where they are odd: an unknown reservation is answered by
`user not found`, the second leg of a connection that arrives a day later shows the first day's
seats and prices, seats are not counted down, a change of cabin is paid for and not written, and a
reservation can be cancelled twice. Whether a change is allowed at all is the policy's matter.
"""

from __future__ import annotations

import json
from typing import Any

from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.tau_bench.environment.database import Database, Entity, clone_json
from evalcore.benchmarks.tau_bench.environment.tools import (
    GENERAL_TOOLS,
    ToolError,
    build_tool,
    get_user_details,
    object_list_schema,
    require_entity,
    text_schema,
)

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
    total = sum(_price_flight_seats(database, flight, cabin, passengers) for flight in flights)
    total += INSURANCE * len(passengers) * (insurance == "yes")
    total += BAG * nonfree_baggages
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
            total += _price_flight_seats(database, flight, cabin, reservation["passengers"])
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


def _price_flight_seats(
    database: Database, flight: Entity, cabin: str, passengers: list[Entity]
) -> Any:
    """What the seats on a flight cost; the flight gets its price and airports."""
    number = flight["flight_number"]
    scheduled_flight = require_entity(database, "flights", number, f"flight {number}")
    day = flight["date"]
    if day not in scheduled_flight["dates"]:
        raise ToolError(f"flight {number} not found on date {day}")
    offered = scheduled_flight["dates"][day]
    if offered["status"] != "available":
        raise ToolError(f"flight {number} not available on date {day}")
    if offered["available_seats"][cabin] < len(passengers):
        raise ToolError(f"not enough seats on flight {number}")
    flight["price"] = offered["prices"][cabin]
    flight["origin"], flight["destination"] = (
        scheduled_flight["origin"],
        scheduled_flight["destination"],
    )
    return flight["price"] * len(passengers)


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


TABLES = ("flights", "reservations", "users")

#: The airports and their cities, in the order they are listed in.
AIRPORTS = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}


def get_reservation_details(database: Database, reservation_id: str) -> str:
    return json.dumps(require_entity(database, "reservations", reservation_id, "user"))


def list_all_airports(database: Database) -> str:
    return json.dumps(AIRPORTS)


def search_direct_flight(database: Database, origin: str, destination: str, date: str) -> str:
    return json.dumps(
        [
            _on_day(flight, date)
            for _, flight in database.rows("flights")
            if flight["origin"] == origin
            and flight["destination"] == destination
            and _is_available(flight, date)
        ]
    )


def search_onestop_flight(database: Database, origin: str, destination: str, date: str) -> str:
    flights = [flight for _, flight in database.rows("flights")]
    arriving = [flight for flight in flights if flight["destination"] == destination]
    connections = []
    for first in flights:
        if first["origin"] != origin:
            continue
        arrival = first["scheduled_arrival_time_est"]
        for second in arriving:
            if second["origin"] != first["destination"]:
                continue
            day = f"2024-05-{int(date[-2:]) + 1}" if "+1" in arrival else date
            in_time = arrival <= second["scheduled_departure_time_est"]
            if in_time and _can_connect(first, date, second, day):
                legs = _on_day(first, date), _on_day(second, date)
                connections.append([{**legs[0], "date": date}, {**legs[1], "date": day}])
    return json.dumps(connections)


def _can_connect(first: Entity, date: str, second: Entity, day: str) -> bool:
    """Whether both legs can be had, each on its day; both days are looked for first."""
    if date not in first["dates"] or day not in second["dates"]:
        return False
    return _is_available(first, date) and _is_available(second, day)


def _is_available(flight: Entity, date: str) -> bool:
    return date in flight["dates"] and flight["dates"][date]["status"] == "available"


def _on_day(flight: Entity, date: str) -> dict[str, Any]:
    """A flight without its calendar, and with what holds on one day of it."""
    plain = {name: value for name, value in flight.items() if name != "dates"}
    return {**plain, **flight["dates"][date]}


_DAY = text_schema("The day of the flight, such as '2024-05-01'.")
_METHOD = text_schema(
    "The id of a payment method in the user's profile, such as 'gift_card_0000000'."
)
_FLIGHT = {
    "flight_number": text_schema("The number of the flight, such as 'HAT001'."),
    "date": _DAY,
}
_PASSENGER = {
    "first_name": text_schema("The first name."),
    "last_name": text_schema("The last name."),
    "dob": text_schema("The date of birth, such as '1990-01-01'."),
}
_PAYMENT = {
    "payment_id": _METHOD,
    "amount": {"type": "number", "description": "The amount in dollars."},
}
_SCHEMAS: dict[str, Schema] = {
    "user_id": text_schema("The id of the user, such as 'given_family_0000'."),
    "reservation_id": text_schema(
        "The id of the reservation, six letters and digits such as 'ABC123'."
    ),
    "origin": text_schema(
        "Where the trip starts, as the three letters of the airport, such as 'SFO'."
    ),
    "destination": text_schema(
        "Where the trip goes to, as the three letters of the airport, such as 'JFK'."
    ),
    "date": _DAY,
    "flight_type": text_schema("Whether the trip goes back.", "one_way", "round_trip"),
    "cabin": text_schema("The cabin of all flights.", "basic_economy", "economy", "business"),
    "flights": object_list_schema("All flights of the trip, in order.", _FLIGHT),
    "passengers": object_list_schema("All passengers.", _PASSENGER),
    "payment_methods": object_list_schema("What is paid with which payment method.", _PAYMENT),
    "payment_id": _METHOD,
    "total_baggages": {"type": "integer", "description": "How many checked bags there are in all."},
    "nonfree_baggages": {
        "type": "integer",
        "description": "How many of the checked bags are not free.",
    },
    "insurance": text_schema("Whether the trip is insured.", "yes", "no"),
    "amount": {"type": "number", "description": "The worth of it in dollars."},
}
_CHANGED_FLIGHTS = object_list_schema(
    "All flights of the changed reservation, in order, also those that stay.", _FLIGHT
)

TOOLS = (
    build_tool(
        book_reservation,
        "Book a trip for a user. The payments have to add up to the total price.",
        _SCHEMAS,
        writes=True,
    ),
    build_tool(cancel_reservation, "Cancel a whole reservation.", _SCHEMAS, writes=True),
    build_tool(
        get_reservation_details,
        "All about a reservation: its flights, passengers, bags and payments.",
        _SCHEMAS,
    ),
    build_tool(
        get_user_details,
        "All about a user: payment methods, membership and reservations.",
        _SCHEMAS,
    ),
    build_tool(list_all_airports, "All airports and their cities.", _SCHEMAS),
    build_tool(
        search_direct_flight,
        "Find flights between two airports on a day, without a stop.",
        _SCHEMAS,
    ),
    build_tool(
        search_onestop_flight,
        "Find connections between two airports on a day, with one stop.",
        _SCHEMAS,
    ),
    build_tool(
        send_certificate,
        "Give a user a travel certificate. Use it only where the policy allows it.",
        _SCHEMAS,
        writes=True,
    ),
    build_tool(
        update_reservation_baggages,
        "Change how many bags a reservation has.",
        _SCHEMAS,
        writes=True,
    ),
    build_tool(
        update_reservation_flights,
        "Change the flights or the cabin of a reservation.",
        {**_SCHEMAS, "flights": _CHANGED_FLIGHTS},
        writes=True,
    ),
    build_tool(
        update_reservation_passengers,
        "Change who flies; the number of passengers stays.",
        _SCHEMAS,
        writes=True,
    ),
    *GENERAL_TOOLS,
)
