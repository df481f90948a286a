"""The airline of tau2-bench: tools over flights, reservations and users.

The order of checks and changes is upstream's. A booking takes seats;
a cancellation gives none back, and neither does a change of flights. A list is read as records only
where it holds nothing but objects; any other value goes on as it is, up to where it does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.tau2_bench.environment.retail import calculate, transfer_to_human_agents
from evalcore.benchmarks.tau2_bench.environment.shapes import (
    Shape,
    choice_of,
    first_fitting,
    list_of,
    map_of,
    optional,
    to_number,
    to_text,
    to_whole,
)
from evalcore.benchmarks.tau2_bench.environment.world import State, bind_tool_makers
from evalcore.benchmarks.tau_bench.environment.database import Entity, clone_json
from evalcore.benchmarks.tau_bench.environment.tools import object_list_schema, text_schema

CABINS = ("business", "economy", "basic_economy")
_NOW = "2024-05-15T15:00:00"
_NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
_NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
_INSURANCE, _BAG = 30, 50  # USD for a passenger, for a bag that is not free

_BY_CABIN = map_of(to_whole, choice_of(*CABINS))
_FLIGHT_DATES = (
    Shape({"status": choice_of("available"), "available_seats": _BY_CABIN, "prices": _BY_CABIN}),
    Shape(
        {
            "status": choice_of("landed"),
            "actual_departure_time_est": to_text,
            "actual_arrival_time_est": to_text,
        }
    ),
    Shape({"status": choice_of("cancelled")}),
    Shape(
        {
            "status": choice_of("delayed", "on time"),
            "estimated_departure_time_est": to_text,
            "estimated_arrival_time_est": to_text,
        }
    ),
    Shape(
        {
            "status": choice_of("flying"),
            "actual_departure_time_est": to_text,
            "estimated_arrival_time_est": to_text,
        }
    ),
)
_ROUTE = dict.fromkeys(("flight_number", "origin", "destination"), to_text)
FLIGHT = Shape(
    {
        **_ROUTE,
        "scheduled_departure_time_est": to_text,
        "scheduled_arrival_time_est": to_text,
        "dates": map_of(first_fitting(*_FLIGHT_DATES)),
    }
)
PASSENGER = Shape(dict.fromkeys(("first_name", "last_name", "dob"), to_text))
PAYMENT = Shape({"payment_id": to_text, "amount": to_whole})
FLIGHT_CHOICE = Shape({"flight_number": to_text, "date": to_text})
_RESERVED_FLIGHT = Shape({**_ROUTE, "date": to_text, "price": to_whole})
_ADDRESS = Shape(
    {
        "address1": to_text,
        "address2": optional(to_text),
        **dict.fromkeys(("city", "country", "state", "zip"), to_text),
    },
    {"address2": None},
)
_METHODS = (
    Shape(
        {"source": choice_of("credit_card"), "id": to_text, "brand": to_text, "last_four": to_text}
    ),
    Shape({"source": choice_of("gift_card"), "id": to_text, "amount": to_number}),
    Shape({"source": choice_of("certificate"), "id": to_text, "amount": to_number}),
)
USER = Shape(
    {
        "user_id": to_text,
        "name": Shape({"first_name": to_text, "last_name": to_text}),
        "address": _ADDRESS,
        "email": to_text,
        "dob": to_text,
        "payment_methods": map_of(first_fitting(*_METHODS)),
        "saved_passengers": list_of(PASSENGER),
        "membership": choice_of("gold", "silver", "regular"),
        "reservations": list_of(to_text),
    }
)
RESERVATION = Shape(
    {
        "reservation_id": to_text,
        "user_id": to_text,
        "origin": to_text,
        "destination": to_text,
        "flight_type": choice_of("round_trip", "one_way"),
        "cabin": choice_of(*CABINS),
        "flights": list_of(_RESERVED_FLIGHT),
        "passengers": list_of(PASSENGER),
        "payment_history": list_of(PAYMENT),
        "created_at": to_text,
        "total_baggages": to_whole,
        "nonfree_baggages": to_whole,
        "insurance": choice_of("yes", "no"),
        "status": optional(choice_of("cancelled")),
    },
    {"status": None},
)
TABLES = {"flights": FLIGHT, "users": USER, "reservations": RESERVATION}

_AIRPORTS = (
    "SFO San Francisco|JFK New York|LAX Los Angeles|ORD Chicago|DFW Dallas|DEN Denver|SEA Seattle|"
    "ATL Atlanta|MIA Miami|BOS Boston|PHX Phoenix|IAH Houston|LAS Las Vegas|MCO Orlando|EWR Newark|"
    "CLT Charlotte|MSP Minneapolis|DTW Detroit|PHL Philadelphia|LGA LaGuardia"
)


def book_reservation(
    world: State,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: str,
    cabin: str,
    flights: list[Any],
    passengers: list[Any],
    payment_methods: list[Any],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: str,
) -> Entity:
    chosen, travellers = _read_records(FLIGHT_CHOICE, flights), _read_records(PASSENGER, passengers)
    payments = _read_records(PAYMENT, payment_methods)
    user = _require_user(world, user_id)
    reservation_id = _find_free_id(world, _NEW_RESERVATIONS)
    reservation = RESERVATION(
        {
            "reservation_id": reservation_id,
            "user_id": user_id,
            "origin": origin,
            "destination": destination,
            "flight_type": flight_type,
            "cabin": cabin,
            "flights": [],
            "passengers": travellers,
            "payment_history": payments,
            "created_at": _NOW,
            "total_baggages": total_baggages,
            "nonfree_baggages": nonfree_baggages,
            "insurance": insurance,
        }
    )
    _require_flight_choices(chosen)
    total: Any = 0
    for choice in chosen:
        reserved = _reserve_flight(world, choice, cabin, len(passengers))
        reservation["flights"].append(reserved)
        total += reserved["price"] * len(passengers)
    total += _INSURANCE * len(passengers) if insurance == "yes" else 0
    total += _BAG * nonfree_baggages
    _check_payments(user, payments, total)
    user = world.agent.edit("users", user_id)
    for payment in payments:
        method = user["payment_methods"][payment["payment_id"]]
        if method["source"] == "gift_card":
            method["amount"] -= payment["amount"]
        elif method["source"] == "certificate":
            user["payment_methods"].pop(payment["payment_id"])
    for choice in chosen:
        flight = world.agent.edit("flights", choice["flight_number"])
        flight["dates"][choice["date"]]["available_seats"][cabin] -= len(passengers)
    world.agent.put("reservations", reservation_id, reservation)
    user["reservations"].append(reservation_id)
    return reservation


def cancel_reservation(world: State, reservation_id: str) -> Entity:
    _require_reservation(world, reservation_id)
    reservation = world.agent.edit("reservations", reservation_id)
    reservation["payment_history"] += [
        {**payment, "amount": -payment["amount"]} for payment in reservation["payment_history"]
    ]
    reservation["status"] = "cancelled"
    return reservation


def get_reservation_details(world: State, reservation_id: str) -> Entity:
    return _require_reservation(world, reservation_id)


def get_user_details(world: State, user_id: str) -> Entity:
    return _require_user(world, user_id)


def list_all_airports(world: State) -> list[dict[str, str]]:
    pairs = (airport.split(" ", 1) for airport in _AIRPORTS.split("|"))
    return [{"iata": code, "city": city} for code, city in pairs]


def search_direct_flight(world: State, origin: str, destination: str, date: str) -> list[Entity]:
    return _list_direct_flights(world, date, origin=origin, destination=destination)


def search_onestop_flight(
    world: State, origin: str, destination: str, date: str
) -> list[list[Entity]]:
    trips = []
    for first in _list_direct_flights(world, date, origin=origin):
        next_day = "+1" in first["scheduled_arrival_time_est"]
        second_date = f"2024-05-{int(date[-2:]) + 1}" if next_day else date
        for second in _list_direct_flights(
            world,
            second_date,
            origin=first["destination"],
            destination=destination,
            leave_after=first["scheduled_arrival_time_est"],
        ):
            trips.append([{**first, "date": date}, {**second, "date": second_date}])
    return trips


def send_certificate(world: State, user_id: str, amount: int) -> str:
    user = _require_user(world, user_id)
    for method_id in _NEW_CERTIFICATES:
        if method_id not in user["payment_methods"]:
            method = {"source": "certificate", "id": method_id, "amount": to_number(amount)}
            world.agent.edit("users", user_id)["payment_methods"][method_id] = method
            return f"Certificate {method_id} added to user {user_id} with amount {amount}."
    raise ValueError("Too many certificates")


def update_reservation_baggages(
    world: State, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
) -> Entity:
    reservation = _require_reservation(world, reservation_id)
    _require_user(world, reservation["user_id"])
    price = _BAG * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    payment = _pay_update(world, reservation["user_id"], payment_id, price)
    reservation = world.agent.edit("reservations", reservation_id)
    reservation["payment_history"] += payment
    reservation["total_baggages"] = total_baggages
    reservation["nonfree_baggages"] = nonfree_baggages
    return reservation


def update_reservation_flights(
    world: State, reservation_id: str, cabin: str, flights: list[Any], payment_id: str
) -> Entity:
    chosen = _read_records(FLIGHT_CHOICE, flights)
    reservation = _require_reservation(world, reservation_id)
    _require_user(world, reservation["user_id"])
    _require_flight_choices(chosen)
    travellers = len(reservation["passengers"])
    total, reserved_flights = 0, []
    for choice in chosen:
        reserved = _find_reserved_flight(reservation, choice, cabin)
        if reserved is None:
            reserved = _reserve_flight(world, choice, cabin, travellers)
        total += reserved["price"] * travellers
        reserved_flights.append(clone_json(reserved))
    total -= sum(flight["price"] for flight in reservation["flights"]) * travellers
    payment = _pay_update(world, reservation["user_id"], payment_id, total)
    reservation = world.agent.edit("reservations", reservation_id)
    reservation["payment_history"] += payment
    reservation["flights"] = reserved_flights
    reservation["cabin"] = cabin
    return reservation


def update_reservation_passengers(
    world: State, reservation_id: str, passengers: list[Any]
) -> Entity:
    travellers = _read_records(PASSENGER, passengers)
    reservation = _require_reservation(world, reservation_id)
    if len(travellers) != len(reservation["passengers"]):
        raise ValueError("Number of passengers does not match")
    reservation = world.agent.edit("reservations", reservation_id)
    reservation["passengers"] = clone_json(travellers)
    return reservation


def get_flight_status(world: State, flight_number: str, date: str) -> str:
    status: str = _require_flight_date(world, flight_number, date)["status"]
    return status


def _read_records(shape: Shape, values: Any) -> Any:
    """Records of a shape where the values are objects alone, else the values as they are. Raises
    TypeError for what holds no values, ShapeError for an object that does not fit."""
    if all(isinstance(value, Mapping) for value in values):
        return [shape(value) for value in values]
    return values


def _require_flight_choices(values: Any) -> None:
    """Raise AttributeError for values that were not read as flights."""
    if not all(isinstance(value, Mapping) for value in values):
        kind = type(next(iter(values))).__name__
        raise AttributeError(f"{kind!r} object has no attribute 'flight_number'")


def _require_user(world: State, user_id: str) -> Entity:
    return world.agent.require_row("users", user_id, f"User {user_id} not found")


def _require_reservation(world: State, reservation_id: str) -> Entity:
    return world.agent.require_row(
        "reservations", reservation_id, f"Reservation {reservation_id} not found"
    )


def _require_flight(world: State, flight_number: str) -> Entity:
    return world.agent.require_row("flights", flight_number, f"Flight {flight_number} not found")


def _require_flight_date(world: State, flight_number: str, date: str) -> Entity:
    dates: dict[str, Entity] = _require_flight(world, flight_number)["dates"]
    if date not in dates:
        raise ValueError(f"Flight {flight_number} not found on date {date}")
    return dates[date]


def _find_free_id(world: State, ids: Sequence[str]) -> str:
    for reservation_id in ids:
        if world.agent.get("reservations", reservation_id) is None:
            return reservation_id
    raise ValueError("Too many reservations")


def _reserve_flight(world: State, choice: Mapping[str, str], cabin: str, seats: int) -> Entity:
    """A flight as a reservation names it. Raises ValueError where it has not enough seats."""
    number, day = choice["flight_number"], choice["date"]
    flight = _require_flight(world, number)
    on_day = _require_flight_date(world, number, day)
    if on_day["status"] != "available":
        raise ValueError(f"Flight {number} not available on date {day}")
    if on_day["available_seats"][cabin] < seats:
        raise ValueError(f"Not enough seats on flight {number}")
    return {
        "flight_number": number,
        "origin": flight["origin"],
        "destination": flight["destination"],
        "date": day,
        "price": on_day["prices"][cabin],
    }


def _find_reserved_flight(
    reservation: Entity, choice: Mapping[str, str], cabin: str
) -> Entity | None:
    if cabin != reservation["cabin"]:
        return None
    wanted = (choice["flight_number"], choice["date"])
    for flight in reservation["flights"]:
        if (flight["flight_number"], flight["date"]) == wanted:
            reserved: Entity = flight
            return reserved
    return None


def _check_payments(user: Entity, payments: Sequence[Entity], total: Any) -> None:
    for payment in payments:
        method_id, amount = payment["payment_id"], payment["amount"]
        if method_id not in user["payment_methods"]:
            raise ValueError(f"Payment method {method_id} not found")
        method = user["payment_methods"][method_id]
        if method["source"] != "credit_card" and method["amount"] < amount:
            raise ValueError(f"Not enough balance in payment method {method_id}")
    paid = sum(payment["amount"] for payment in payments)
    if paid != total:
        raise ValueError(f"Payment amount does not add up, total price is {total}, but paid {paid}")


def _pay_update(world: State, user_id: str, method_id: str, price: int) -> list[Entity]:
    """The entry of a payment for a change, empty where nothing is due."""
    methods: dict[str, Entity] = _require_user(world, user_id)["payment_methods"]
    if method_id not in methods:
        raise ValueError("Payment method not found")
    source = methods[method_id]["source"]
    if source == "certificate":
        raise ValueError("Certificate cannot be used to update reservation")
    if source == "gift_card" and methods[method_id]["amount"] < price:
        raise ValueError("Gift card balance is not enough")
    if source == "gift_card":
        world.agent.edit("users", user_id)["payment_methods"][method_id]["amount"] -= price
    return [PAYMENT({"payment_id": method_id, "amount": price})] if price != 0 else []


def _list_direct_flights(
    world: State,
    date: str,
    *,
    origin: str | None,
    destination: str | None = None,
    leave_after: str | None = None,
) -> list[Entity]:
    flights = []
    for number, flight in world.agent.rows("flights"):
        departs = flight["scheduled_departure_time_est"]
        ends = ((origin, flight["origin"]), (destination, flight["destination"]))
        if any(asked not in (None, airport) for asked, airport in ends):
            continue
        on_day = flight["dates"].get(date)
        if on_day is None or on_day["status"] != "available":
            continue
        if leave_after is not None and departs < leave_after:
            continue
        flights.append(
            {
                "flight_number": number,
                "origin": flight["origin"],
                "destination": flight["destination"],
                "status": "available",
                "scheduled_departure_time_est": departs,
                "scheduled_arrival_time_est": flight["scheduled_arrival_time_est"],
                "date": None,
                "available_seats": on_day["available_seats"],
                "prices": on_day["prices"],
            }
        )
    return flights


_WHOLE: Schema = {"type": "integer"}
_SCHEMAS: dict[str, Schema] = {
    "user_id": text_schema("The id of the user."),
    "reservation_id": text_schema("The id of the reservation, such as 'ABC123'."),
    "origin": text_schema("The code of the airport that the trip begins at."),
    "destination": text_schema("The code of the airport that the trip leads to."),
    "date": text_schema("The date, as in '2024-05-01'."),
    "flight_number": text_schema("The number of the flight."),
    "flight_type": text_schema("One way, or there and back.", "one_way", "round_trip"),
    "cabin": text_schema("The cabin, the same on all flights.", *CABINS),
    "flights": object_list_schema(
        "All flights of the reservation, also those that stay.",
        {"flight_number": text_schema("The number."), "date": text_schema("The date.")},
    ),
    "passengers": object_list_schema(
        "All passengers of the reservation.",
        {
            "first_name": text_schema("The first name."),
            "last_name": text_schema("The last name."),
            "dob": text_schema("The date of birth, as in '1990-01-01'."),
        },
    ),
    "payment_methods": object_list_schema(
        "What is paid with which method of the user's profile.",
        {"payment_id": text_schema("The id of the method."), "amount": {"type": "number"}},
    ),
    "payment_id": text_schema("The id of a payment method in the user's profile."),
    "total_baggages": {**_WHOLE, "description": "Checked bags in all."},
    "nonfree_baggages": {**_WHOLE, "description": "Those of them that are paid for."},
    "insurance": text_schema("Whether the passengers are insured.", "yes", "no"),
    "amount": {"type": "number", "description": "The amount in USD."},
    "expression": text_schema("Numbers, + - * /, brackets and spaces."),
    "summary": text_schema("What the user wants and what was done so far."),
}
_build_read, _build_write = bind_tool_makers(_SCHEMAS)

TOOLS = (
    _build_write(book_reservation, "Book a trip."),
    _build_read(calculate, "Work out an expression of numbers, such as a total."),
    _build_write(cancel_reservation, "Cancel a whole reservation and refund it."),
    _build_read(get_reservation_details, "All about a reservation."),
    _build_read(get_user_details, "All about a user: payment methods, reservations, membership."),
    _build_read(list_all_airports, "The codes and cities of all airports."),
    _build_read(search_direct_flight, "Flights from one airport to another on a day."),
    _build_read(search_onestop_flight, "Trips with one stop on a day."),
    _build_write(send_certificate, "Give a user a travel certificate."),
    _build_read(transfer_to_human_agents, "Hand the user over to a person."),
    _build_write(update_reservation_baggages, "Change the checked bags of a reservation."),
    _build_write(update_reservation_flights, "Change the flights or the cabin of a reservation."),
    _build_write(update_reservation_passengers, "Change the passengers, not how many they are."),
    _build_read(get_flight_status, "The status of a flight on a day."),
)
