"""The goals of the airline's users, each with the calls that fulfil it.

Functions raise LookupError where the flights do not allow a goal; those of another draw may.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.benchmarks.tau_bench.environment.airline import BAG, INSURANCE
from evalcore.benchmarks.tau_bench.environment.reward import Action
from evalcore.benchmarks.tau_bench.user_goals import Goal
from evalcore.records import Record
from tools.tau_tasks.airline_fixtures import (
    FREE_BAGS,
    FUTURE_DAYS,
    MEMBER_BAGS,
    UNCONNECTED,
    Airline,
    Row,
    find_seats,
    list_direct_flights,
    make_passengers,
    new_route,
)
from tools.tau_tasks.plan import PlannedGoal, format_amount

#: What users say that they want, in the order: by price, by departure.
CHEAPEST, EARLIEST, LATEST = (
    "the cheapest direct one",
    "the earliest direct one",
    "the latest direct one",
)
CHEAPEST_ANY = "the cheapest one, with one stop where no flight is direct"
ILLNESS, WEATHER = "an illness", "bad weather"
CHANGED_PLANS, FLIGHT_CANCELLED = "a change of plans", "a flight cancelled by the airline"
#: How often a user names the number of the flight instead of describing it.
_NAMED_SHARE = 0.4
_TRIES = 400


class Trip(Record, frozen=True):
    """A booking that a user wants; `insurance` is `yes` or `no`."""

    cabin: str = "economy"
    people: int = 1
    bags: int = 0
    insurance: str = "no"
    pick: str = CHEAPEST
    back: bool = False


def plan_booking(airline: Airline, user_id: str, trip: Trip, payment: str) -> PlannedGoal:
    """Book a trip whose flights are described, not named."""
    for _ in range(_TRIES):
        if trip.pick == CHEAPEST_ANY:
            origin, destination = airline.rng.choice(UNCONNECTED)
        else:
            origin, destination = new_route(airline, user_id)
        days = sorted(airline.rng.sample(FUTURE_DAYS, 2))
        ways = [(origin, destination, days[0]), (destination, origin, days[1])][: 1 + trip.back]
        legs = [_pick_flights(airline, way, trip.cabin, trip.people, trip.pick) for way in ways]
        if all(legs):
            flights = [flight for leg in legs for flight in leg]
            who = make_passengers(airline, user_id, trip.people)
            return _build_booking_goal(
                airline, user_id, who, trip, payment, (origin, destination, days), flights
            )
        airline.routes[user_id].discard(frozenset((origin, destination)))
    raise LookupError("no such flights")


def plan_cabin_booking(airline: Airline, first: PlannedGoal, trip: Trip) -> PlannedGoal:
    """The trip of another booking (one way, direct) in the cabin of `trip`."""
    arguments = first.actions[0].kwargs
    day = arguments["flights"][0]["date"]
    way = arguments["origin"], arguments["destination"], day
    flights = _pick_flights(airline, way, trip.cabin, trip.people, trip.pick)
    if not flights:
        raise LookupError("no such flight")
    where = (*way[:2], [day])
    return _build_booking_goal(
        airline,
        arguments["user_id"],
        arguments["passengers"],
        trip,
        first.goal.payment,
        where,
        flights,
    )


def _build_booking_goal(
    airline: Airline,
    user_id: str,
    who: list[Row],
    trip: Trip,
    payment: str,
    when: tuple[str, str, list[str]],
    flights: list[Row],
) -> PlannedGoal:
    origin, destination, days = when
    nonfree = count_paid_bags(airline, user_id, trip.cabin, trip.people, trip.bags)
    total = compute_fare(airline, flights, trip.cabin) * trip.people + BAG * nonfree
    total += INSURANCE * trip.people * (trip.insurance == "yes")
    goal = Goal(
        "book",
        payment=payment,
        details={
            "route": f"{origin} to {destination}{' and back' if trip.back else ', one way'}",
            "date": f"{days[0]}, back on {days[1]}" if trip.back else days[0],
            "flight": _describe_flight(airline, trip.pick, flights),
            "cabin": trip.cabin.replace("_", " "),
            "passengers": format_passengers(who),
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
    return PlannedGoal(goal, (Action("book_reservation", arguments),))


def _pick_flights(
    airline: Airline, way: tuple[str, str, str], cabin: str, count: int, pick: str
) -> list[Row]:
    """Find the flight or connection that `pick` describes; empty if it is not unique."""
    origin, destination, day = way
    candidates = [[number] for number in list_direct_flights(airline, origin, destination)]
    if pick == CHEAPEST_ANY and not candidates:
        candidates = _list_connections(airline, origin, destination)
    offers = []
    for numbers in candidates:
        days = [find_seats(airline, number, day) for number in numbers]
        if all(offer and offer["available_seats"][cabin] >= count for offer in days):
            price = sum(offer["prices"][cabin] for offer in days if offer)
            departs = airline.flights[numbers[0]]["scheduled_departure_time_est"]
            offers.append((departs if pick in (EARLIEST, LATEST) else price, numbers))
    offers.sort(reverse=pick == LATEST)
    if len(offers) < 2 or offers[0][0] == offers[1][0]:
        return []
    return [{"flight_number": number, "date": day} for number in offers[0][1]]


def _describe_flight(airline: Airline, pick: str, flights: Sequence[Row]) -> str:
    """Describe the flights as the user does; only a single flight may be named by number."""
    by_number = len(flights) == 1 and airline.rng.random() < _NAMED_SHARE
    return f"flight {flights[0]['flight_number']}" if by_number else pick


def _list_connections(airline: Airline, origin: str, destination: str) -> list[list[str]]:
    rows = airline.flights.values()
    return [
        [first["flight_number"], second["flight_number"]]
        for first in rows
        if first["origin"] == origin
        for second in rows
        if (second["origin"], second["destination"]) == (first["destination"], destination)
        and first["scheduled_arrival_time_est"] <= second["scheduled_departure_time_est"]
    ]


def plan_flight_change(airline: Airline, booked: Row, payment: str, *, leg: int = 0) -> PlannedGoal:
    """Plan another day for a leg of a reservation."""
    old = booked["flights"][leg]
    after = booked["flights"][0]["date"] if leg else ""
    days = [day for day in FUTURE_DAYS if day != old["date"] and day > after]
    if not leg and len(booked["flights"]) > 1:
        days = [day for day in days if day < booked["flights"][1]["date"]]
    for _ in range(_TRIES):
        day = airline.rng.choice(days) if days else ""
        pick = airline.rng.choice((CHEAPEST, EARLIEST, LATEST))
        way = old["origin"], old["destination"], day
        count = len(booked["passengers"])
        flights = _pick_flights(airline, way, booked["cabin"], count, pick) if day else []
        if flights and all(_is_bookable(airline, flight, booked) for flight in booked["flights"]):
            flight_text = _describe_flight(airline, pick, flights)
            details = {"route": f"{way[0]} to {way[1]}", "date": day, "flight": flight_text}
            return _build_flight_change(
                booked, details, payment, _replace_leg(booked, leg, flights[0])
            )
    raise LookupError("no such day")


def plan_upgrade(airline: Airline, booked: Row, payment: str) -> PlannedGoal:
    """Business on the same flights."""
    if not all(_is_bookable(airline, flight, booked, "business") for flight in booked["flights"]):
        raise LookupError("no such seats")
    flights = _replace_leg(booked, 0, booked["flights"][0])
    return _build_flight_change(booked, {"cabin": "business"}, payment, flights, "business")


def compute_change_price(airline: Airline, booked: Row, planned: PlannedGoal) -> int:
    """What a change of flights costs more, for all passengers, as the tool reckons."""
    arguments = planned.actions[0].kwargs
    reserved_prices = {
        (leg["flight_number"], leg["date"]): leg["price"]
        for leg in booked["flights"]
        if arguments["cabin"] == booked["cabin"]
    }
    new = 0
    for leg in arguments["flights"]:
        key = leg["flight_number"], leg["date"]
        new += (
            int(reserved_prices[key])
            if key in reserved_prices
            else compute_fare(airline, [leg], arguments["cabin"])
        )
    old = sum(int(flight["price"]) for flight in booked["flights"])
    return (new - old) * len(booked["passengers"])


def _build_flight_change(
    booked: Row, details: dict[str, str], payment: str, flights: list[Row], cabin: str = ""
) -> PlannedGoal:
    goal = Goal("change_flights", booked["reservation_id"], payment=payment, details=details)
    arguments = {"cabin": cabin or booked["cabin"], "flights": flights, "payment_id": payment}
    return PlannedGoal(
        goal, (_build_reservation_action("update_reservation_flights", booked, **arguments),)
    )


def _replace_leg(booked: Row, leg: int, flight: Row) -> list[Row]:
    names = ("flight_number", "date")
    flights = [{name: row[name] for name in names} for row in booked["flights"]]
    flights[leg] = {name: flight[name] for name in names}
    return flights


def _is_bookable(airline: Airline, flight: Row, booked: Row, cabin: str = "") -> bool:
    """Whether a flight can be had on its day for all passengers."""
    offer = find_seats(airline, flight["flight_number"], flight["date"])
    passenger_count = len(booked["passengers"])
    return (
        bool(offer)
        and offer is not None
        and (not cabin or offer["available_seats"][cabin] >= passenger_count)
    )


def plan_extra_bags(
    airline: Airline, booked: Row, more: int, payment: str, *, route: bool = False
) -> PlannedGoal:
    """So many more checked bags; `route`: the user can say where the trip goes."""
    total = booked["total_baggages"] + more
    count = len(booked["passengers"])
    nonfree = count_paid_bags(airline, booked["user_id"], booked["cabin"], count, total)
    details = {
        "baggage": f"{total} checked bags in all",
        **(_build_route_details(booked) if route else {}),
    }
    goal = Goal("change_baggage", booked["reservation_id"], payment=payment, details=details)
    arguments = {
        "total_baggages": total,
        "nonfree_baggages": nonfree,
        "payment_id": payment,
    }
    return PlannedGoal(
        goal, (_build_reservation_action("update_reservation_baggages", booked, **arguments),)
    )


def plan_passenger_change(booked: Row, who: Sequence[Row]) -> PlannedGoal:
    """Plan to replace the passengers."""
    details = {"passengers": format_passengers(who)}
    goal = Goal("change_passengers", booked["reservation_id"], details=details)
    return PlannedGoal(
        goal,
        (_build_reservation_action("update_reservation_passengers", booked, passengers=list(who)),),
    )


def plan_trip_cancellation(booked: Row, reason: str, *, route: bool = False) -> PlannedGoal:
    details = _build_route_details(booked) if route else {}
    goal = Goal("cancel", booked["reservation_id"], reason=reason, details=details)
    return PlannedGoal(goal, (_build_reservation_action("cancel_reservation", booked),))


def plan_compensation(booked: Row) -> PlannedGoal:
    """The certificate for a flight that the airline cancelled."""
    goal = Goal("compensation", booked["reservation_id"], reason=FLIGHT_CANCELLED)
    arguments = {"user_id": booked["user_id"], "amount": 100 * len(booked["passengers"])}
    return PlannedGoal(goal, (Action("send_certificate", arguments),))


def ask_bags(airline: Airline, booked: Row) -> PlannedGoal:
    count = len(booked["passengers"])
    free = count * (
        FREE_BAGS[booked["cabin"]] + MEMBER_BAGS[airline.users[booked["user_id"]]["membership"]]
    )
    where = booked["reservation_id"]
    return _build_question_goal(
        f"How many bags can we check in for free in all on reservation {where}?", free
    )


def ask_price(airline: Airline, cabin: str) -> PlannedGoal:
    for _ in range(_TRIES):
        origin, destination = airline.rng.sample(("SEA", "DEN", "ORD", "ATL", "PHX"), 2)
        day = airline.rng.choice(FUTURE_DAYS)
        flights = _pick_flights(airline, (origin, destination, day), cabin, 1, CHEAPEST)
        if flights:
            question = (
                f"How much is the cheapest direct flight from {origin} to {destination} on {day} "
                f"in {cabin.replace('_', ' ')} for one person?"
            )
            return _build_question_goal(question, compute_fare(airline, flights, cabin))
    raise LookupError("no such flight")


def ask_paid(booked: Row) -> PlannedGoal:
    question = f"How much did I pay for reservation {booked['reservation_id']}?"
    return _build_question_goal(question, booked["payment_history"][0]["amount"])


def compute_fare(airline: Airline, flights: Sequence[Row], cabin: str) -> int:
    """Sum what a seat on all these flights costs today."""
    offers = [find_seats(airline, flight["flight_number"], flight["date"]) for flight in flights]
    return sum(int(offer["prices"][cabin]) for offer in offers if offer)


def count_paid_bags(airline: Airline, user_id: str, cabin: str, count: int, total: int) -> int:
    """How many of the bags are not free."""
    return max(
        0, total - count * (FREE_BAGS[cabin] + MEMBER_BAGS[airline.users[user_id]["membership"]])
    )


def format_passengers(who: Sequence[Row]) -> str:
    return "; ".join(
        f"{passenger['first_name']} {passenger['last_name']}, born {passenger['dob']}"
        for passenger in who
    )


def _build_route_details(booked: Row) -> dict[str, str]:
    return {"route": f"{booked['origin']} to {booked['destination']}"}


def _build_question_goal(text: str, value: float) -> PlannedGoal:
    return PlannedGoal(Goal("question", question=text), outputs=(format_amount(value),))


def _build_reservation_action(tool: str, booked: Row, **arguments: object) -> Action:
    return Action(tool, {"reservation_id": booked["reservation_id"], **arguments})
