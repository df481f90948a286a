"""The wishes of the airline's users, each with the calls that fulfil it.

Raises LookupError where the flights at hand do not allow a wish; another draw may.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks.tau_bench.environment.airline_bookings import BAG, INSURANCE
from evalcore.benchmarks.tau_bench.environment.task import Action
from evalcore.benchmarks.tau_bench.generate.airline_world import (
    APART,
    COMING,
    FREE,
    MORE,
    Airline,
    Row,
    direct,
    new_route,
    people,
    seats,
)
from evalcore.benchmarks.tau_bench.generate.plan import Deed, amount
from evalcore.benchmarks.tau_bench.users.goals import Goal
from evalcore.records import Record

#: What users say that they want, in the order: by price, by departure.
CHEAPEST, EARLIEST, LATEST = (
    "the cheapest direct one",
    "the earliest direct one",
    "the latest direct one",
)
ANY = "the cheapest one, with one stop where no flight is direct"
ILL, WEATHER = "an illness", "bad weather"
PLANS, GONE = "a change of plans", "a flight cancelled by the airline"
#: How often a user names the number of the flight instead of describing it.
_NAMED = 0.4
_TRIES = 400


class Trip(Record, frozen=True):
    """A booking that a user wants; `insurance` is `yes` or `no`."""

    cabin: str = "economy"
    people: int = 1
    bags: int = 0
    insurance: str = "no"
    pick: str = CHEAPEST
    back: bool = False


def book(airline: Airline, user_id: str, trip: Trip, payment: str) -> Deed:
    """Book a trip whose flights are described, not named."""
    for _ in range(_TRIES):
        if trip.pick == ANY:
            origin, destination = airline.rng.choice(APART)
        else:
            origin, destination = new_route(airline, user_id)
        days = sorted(airline.rng.sample(COMING, 2))
        ways = [(origin, destination, days[0]), (destination, origin, days[1])][: 1 + trip.back]
        legs = [_picked(airline, way, trip.cabin, trip.people, trip.pick) for way in ways]
        if all(legs):
            flights = [flight for leg in legs for flight in leg]
            who = people(airline, user_id, trip.people)
            return _booking(
                airline, user_id, who, trip, payment, (origin, destination, days), flights
            )
        airline.routes[user_id].discard(frozenset((origin, destination)))
    raise LookupError("no such flights")


def in_cabin(airline: Airline, first: Deed, trip: Trip) -> Deed:
    """The trip of another booking (one way, direct) in the cabin of `trip`."""
    told = first.actions[0].kwargs
    day = told["flights"][0]["date"]
    way = told["origin"], told["destination"], day
    flights = _picked(airline, way, trip.cabin, trip.people, trip.pick)
    if not flights:
        raise LookupError("no such flight")
    where = (*way[:2], [day])
    return _booking(
        airline, told["user_id"], told["passengers"], trip, first.goal.payment, where, flights
    )


def _booking(
    airline: Airline,
    user_id: str,
    who: list[Row],
    trip: Trip,
    payment: str,
    when: tuple[str, str, list[str]],
    flights: list[Row],
) -> Deed:
    origin, destination, days = when
    nonfree = paid_bags(airline, user_id, trip.cabin, trip.people, trip.bags)
    total = fare(airline, flights, trip.cabin) * trip.people + BAG * nonfree
    total += INSURANCE * trip.people * (trip.insurance == "yes")
    goal = Goal(
        "book",
        payment=payment,
        details={
            "route": f"{origin} to {destination}{' and back' if trip.back else ', one way'}",
            "date": f"{days[0]}, back on {days[1]}" if trip.back else days[0],
            "flight": _said(airline, trip.pick, flights),
            "cabin": trip.cabin.replace("_", " "),
            "passengers": listed(who),
            "baggage": f"{trip.bags} checked bags in all" if trip.bags else "no checked bags",
            "insurance": trip.insurance,
        },
    )
    arguments = {
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": "round_trip" if trip.back else "one_way",
        "cabin": trip.cabin,
        "flights": flights,
        "passengers": who,
        "payment_methods": [{"payment_id": payment, "amount": total}],
        "total_baggages": trip.bags,
        "nonfree_baggages": nonfree,
        "insurance": trip.insurance,
    }
    return Deed(goal, (Action("book_reservation", arguments),))


def _picked(
    airline: Airline, way: tuple[str, str, str], cabin: str, count: int, pick: str
) -> list[Row]:
    """The one flight (or connection) that fits the description; empty where it is not the only."""
    origin, destination, day = way
    found = [[number] for number in direct(airline, origin, destination)]
    if pick == ANY and not found:
        found = _connections(airline, origin, destination)
    offers = []
    for numbers in found:
        days = [seats(airline, number, day) for number in numbers]
        if all(one and one["available_seats"][cabin] >= count for one in days):
            price = sum(one["prices"][cabin] for one in days if one)
            departs = airline.flights[numbers[0]]["scheduled_departure_time_est"]
            offers.append((departs if pick in (EARLIEST, LATEST) else price, numbers))
    offers.sort(reverse=pick == LATEST)
    if len(offers) < 2 or offers[0][0] == offers[1][0]:
        return []
    return [{"flight_number": number, "date": day} for number in offers[0][1]]


def _said(airline: Airline, pick: str, flights: Sequence[Row]) -> str:
    """What the user says of the flight that is wanted; several are always described."""
    named = len(flights) == 1 and airline.rng.random() < _NAMED
    return f"flight {flights[0]['flight_number']}" if named else pick


def _connections(airline: Airline, origin: str, destination: str) -> list[list[str]]:
    rows = airline.flights.values()
    return [
        [first["flight_number"], second["flight_number"]]
        for first in rows
        if first["origin"] == origin
        for second in rows
        if (second["origin"], second["destination"]) == (first["destination"], destination)
        and first["scheduled_arrival_time_est"] <= second["scheduled_departure_time_est"]
    ]


def change(airline: Airline, booked: Row, payment: str, *, leg: int = 0) -> Deed:
    """Another day for one leg of a reservation."""
    old = booked["flights"][leg]
    after = booked["flights"][0]["date"] if leg else ""
    days = [day for day in COMING if day != old["date"] and day > after]
    if not leg and len(booked["flights"]) > 1:
        days = [day for day in days if day < booked["flights"][1]["date"]]
    for _ in range(_TRIES):
        day = airline.rng.choice(days) if days else ""
        pick = airline.rng.choice((CHEAPEST, EARLIEST, LATEST))
        way = old["origin"], old["destination"], day
        count = len(booked["passengers"])
        flights = _picked(airline, way, booked["cabin"], count, pick) if day else []
        if flights and all(_free(airline, one, booked) for one in booked["flights"]):
            said = _said(airline, pick, flights)
            details = {"route": f"{way[0]} to {way[1]}", "date": day, "flight": said}
            return _update(booked, details, payment, _with(booked, leg, flights[0]))
    raise LookupError("no such day")


def upgrade(airline: Airline, booked: Row, payment: str) -> Deed:
    """Business on the same flights."""
    if not all(_free(airline, one, booked, "business") for one in booked["flights"]):
        raise LookupError("no such seats")
    flights = _with(booked, 0, booked["flights"][0])
    return _update(booked, {"cabin": "business"}, payment, flights, "business")


def price_of(airline: Airline, booked: Row, deed: Deed) -> int:
    """What a change of flights costs more, for all passengers, as the tool reckons."""
    arguments = deed.actions[0].kwargs
    kept = {
        (one["flight_number"], one["date"]): one["price"]
        for one in booked["flights"]
        if arguments["cabin"] == booked["cabin"]
    }
    new = 0
    for one in arguments["flights"]:
        key = one["flight_number"], one["date"]
        new += int(kept[key]) if key in kept else fare(airline, [one], arguments["cabin"])
    old = sum(int(flight["price"]) for flight in booked["flights"])
    return (new - old) * len(booked["passengers"])


def _update(
    booked: Row, details: dict[str, str], payment: str, flights: list[Row], cabin: str = ""
) -> Deed:
    goal = Goal("change_flights", booked["reservation_id"], payment=payment, details=details)
    arguments = {"cabin": cabin or booked["cabin"], "flights": flights, "payment_id": payment}
    return Deed(goal, (_call("update_reservation_flights", booked, **arguments),))


def _with(booked: Row, leg: int, flight: Row) -> list[Row]:
    names = ("flight_number", "date")
    flights = [{name: one[name] for name in names} for one in booked["flights"]]
    flights[leg] = {name: flight[name] for name in names}
    return flights


def _free(airline: Airline, flight: Row, booked: Row, cabin: str = "") -> bool:
    """Whether a flight can be had on its day for all passengers."""
    found = seats(airline, flight["flight_number"], flight["date"])
    wanted = len(booked["passengers"])
    return (
        bool(found)
        and found is not None
        and (not cabin or found["available_seats"][cabin] >= wanted)
    )


def bags(airline: Airline, booked: Row, more: int, payment: str, *, route: bool = False) -> Deed:
    """So many more checked bags; `route`: the user can say where the trip goes."""
    total = booked["total_baggages"] + more
    count = len(booked["passengers"])
    nonfree = paid_bags(airline, booked["user_id"], booked["cabin"], count, total)
    details = {"baggage": f"{total} checked bags in all", **(_route(booked) if route else {})}
    goal = Goal("change_baggage", booked["reservation_id"], payment=payment, details=details)
    arguments = {
        "total_baggages": total,
        "nonfree_baggages": nonfree,
        "payment_id": payment,
    }
    return Deed(goal, (_call("update_reservation_baggages", booked, **arguments),))


def passengers(booked: Row, who: Sequence[Row]) -> Deed:
    """These passengers in the place of the former ones."""
    details = {"passengers": listed(who)}
    goal = Goal("change_passengers", booked["reservation_id"], details=details)
    return Deed(goal, (_call("update_reservation_passengers", booked, passengers=list(who)),))


def cancel(booked: Row, reason: str, *, route: bool = False) -> Deed:
    details = _route(booked) if route else {}
    goal = Goal("cancel", booked["reservation_id"], reason=reason, details=details)
    return Deed(goal, (_call("cancel_reservation", booked),))


def compensation(booked: Row) -> Deed:
    """The certificate for a flight that the airline cancelled."""
    goal = Goal("compensation", booked["reservation_id"], reason=GONE)
    arguments = {"user_id": booked["user_id"], "amount": 100 * len(booked["passengers"])}
    return Deed(goal, (Action("send_certificate", arguments),))


def ask_bags(airline: Airline, booked: Row) -> Deed:
    count = len(booked["passengers"])
    free = count * (FREE[booked["cabin"]] + MORE[airline.users[booked["user_id"]]["membership"]])
    where = booked["reservation_id"]
    return _question(f"How many bags can we check in for free in all on reservation {where}?", free)


def ask_price(airline: Airline, cabin: str) -> Deed:
    for _ in range(_TRIES):
        origin, destination = airline.rng.sample(("SEA", "DEN", "ORD", "ATL", "PHX"), 2)
        day = airline.rng.choice(COMING)
        found = _picked(airline, (origin, destination, day), cabin, 1, CHEAPEST)
        if found:
            asked = (
                f"How much is the cheapest direct flight from {origin} to {destination} on {day} "
                f"in {cabin.replace('_', ' ')} for one person?"
            )
            return _question(asked, fare(airline, found, cabin))
    raise LookupError("no such flight")


def ask_paid(booked: Row) -> Deed:
    asked = f"How much did I pay for reservation {booked['reservation_id']}?"
    return _question(asked, booked["payment_history"][0]["amount"])


def fare(airline: Airline, flights: Sequence[Row], cabin: str) -> int:
    """What one seat on all these flights costs today."""
    offers = [seats(airline, one["flight_number"], one["date"]) for one in flights]
    return sum(int(offer["prices"][cabin]) for offer in offers if offer)


def paid_bags(airline: Airline, user_id: str, cabin: str, count: int, total: int) -> int:
    """How many of the bags are not free."""
    return max(0, total - count * (FREE[cabin] + MORE[airline.users[user_id]["membership"]]))


def listed(who: Sequence[Row]) -> str:
    return "; ".join(f"{one['first_name']} {one['last_name']}, born {one['dob']}" for one in who)


def _route(booked: Row) -> dict[str, str]:
    return {"route": f"{booked['origin']} to {booked['destination']}"}


def _question(text: str, value: float) -> Deed:
    return Deed(Goal("question", question=text), outputs=(amount(value),))


def _call(tool: str, booked: Row, **arguments: object) -> Action:
    return Action(tool, {"reservation_id": booked["reservation_id"], **arguments})
