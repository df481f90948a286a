"""A small airline: flights between eight airports, users, and reservations made as tasks need them.

The conversation takes place on 2024-05-15, as the tools' booking time says. Flights up to that day
have landed; of the later ones most are available and some were cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from evalcore.benchmarks.tau_bench.environment.airline import BAG, INSURANCE
from tools.tau_tasks.profiles import PEOPLE, make_user_profile, random_digits

Row = dict[str, Any]
AIRPORTS = ("SEA", "DEN", "ORD", "ATL", "BOS", "PHX", "MSP", "CLT")
#: Pairs without a direct flight.
UNCONNECTED = (("SEA", "CLT"), ("PHX", "BOS"), ("MSP", "ATL"))
DAYS = tuple(f"2024-05-{day:02}" for day in range(10, 29))
TODAY = "2024-05-15"
FUTURE_DAYS = tuple(day for day in DAYS if day > TODAY)
PAST_DAYS = tuple(day for day in DAYS if day < TODAY)
CABINS = ("basic_economy", "economy", "business")
#: Departures of a route: morning, noon, evening.
_HOURS = ((6, 8), (11, 13), (17, 19))
#: Free bags of a passenger by cabin, and how many more by membership.
FREE_BAGS = {"basic_economy": 0, "economy": 1, "business": 2}
MEMBER_BAGS = {"regular": 0, "silver": 1, "gold": 2}
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


@dataclass
class Airline:
    """The tables as they grow; `routes` are those that each user has reserved."""

    rng: Random
    flights: dict[str, Row] = field(default_factory=dict)
    users: dict[str, Row] = field(default_factory=dict)
    reservations: dict[str, Row] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    routes: dict[str, set[frozenset[str]]] = field(default_factory=dict)

    def new_id(self) -> str:
        while (candidate := random_digits(self.rng, 7)) in self.ids:
            pass
        self.ids.add(candidate)
        return candidate


class ReservationSpec(NamedTuple):
    """How a reservation that is to be made looks."""

    cabin: str = "economy"
    people: int = 1
    insurance: str = "no"
    created: str = "2024-05-02T10:30:00"
    back: bool = False
    days: tuple[str, ...] = FUTURE_DAYS
    gone: bool = False  # the airline cancelled the first flight
    bags: int = 0


def new_airline(rng: Random) -> Airline:
    """All flights, and nobody yet."""
    airline = Airline(rng)
    for origin in AIRPORTS:
        for destination in AIRPORTS:
            if origin != destination and not _has_no_direct_flight(origin, destination):
                for earliest, latest in _HOURS:
                    number = f"EVB{101 + len(airline.flights)}"
                    hour = rng.randrange(earliest, latest + 1)
                    minute = rng.choice((0, 10, 25, 40, 55))
                    airline.flights[number] = {
                        "flight_number": number,
                        "origin": origin,
                        "destination": destination,
                        "scheduled_departure_time_est": f"{hour:02}:{minute:02}:00",
                        "scheduled_arrival_time_est": f"{hour + rng.randrange(2, 5):02}:15:00",
                        "dates": {day: _on_day(rng, day) for day in DAYS},
                    }
    return airline


def _has_no_direct_flight(origin: str, destination: str) -> bool:
    return (origin, destination) in UNCONNECTED or (destination, origin) in UNCONNECTED


def _on_day(rng: Random, day: str) -> Row:
    if day <= TODAY:
        return {"status": "landed"}
    if rng.random() < 0.06:
        return {"status": "cancelled"}
    base = rng.randrange(60, 140)
    factors = {"basic_economy": 1.0, "economy": 1.5, "business": 3.5}
    return {
        "status": "available",
        "available_seats": {cabin: rng.randrange(0, 16) for cabin in CABINS},
        "prices": {cabin: int(base * factors[cabin]) + rng.randrange(20) for cabin in CABINS},
    }


def add_user(airline: Airline, membership: str = "regular") -> str:
    """A new user with a credit card, a gift card and a certificate, all with money enough."""
    rng = airline.rng
    user_id, row = make_user_profile(rng, len(airline.users))
    card, gift, certificate = (
        f"{source}_{airline.new_id()}" for source in ("credit_card", "gift_card", "certificate")
    )
    methods = {
        card: {
            "source": "credit_card",
            "brand": "visa",
            "last_four": random_digits(rng, 4),
            "id": card,
        },
        gift: {"source": "gift_card", "amount": rng.randrange(6000, 9000), "id": gift},
        certificate: {"source": "certificate", "amount": 2500, "id": certificate},
    }
    airline.users[user_id] = {
        **row,
        "dob": _random_birthday(rng),
        "payment_methods": methods,
        "saved_passengers": [],
        "membership": membership,
        "reservations": [],
    }
    airline.routes[user_id] = set()
    return user_id


def find_payment_method(airline: Airline, user_id: str, source: str) -> str:
    """The id of the user's payment method of a source."""
    methods: Row = airline.users[user_id]["payment_methods"]
    return next(name for name in methods if name.startswith(source))


def make_passengers(airline: Airline, user_id: str, count: int) -> list[Row]:
    """The user, and companions with other names."""
    user, rng = airline.users[user_id], airline.rng
    passengers = [{**user["name"], "dob": user["dob"]}]
    for first, second in rng.sample(PEOPLE, count - 1):
        passengers.append({"first_name": first, "last_name": second, "dob": _random_birthday(rng)})
    return passengers


def _random_birthday(rng: Random) -> str:
    return f"{rng.randrange(1950, 2005)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"


def find_seats(airline: Airline, number: str, day: str) -> Row | None:
    """Seats and prices of a flight on a day; None where it cannot be booked."""
    flight_day: Row = airline.flights[number]["dates"][day]
    return flight_day if flight_day["status"] == "available" else None


def list_direct_flights(airline: Airline, origin: str, destination: str) -> list[str]:
    """The direct flights of a route in the order of their departure."""
    rows = [
        row
        for row in airline.flights.values()
        if (row["origin"], row["destination"]) == (origin, destination)
    ]
    rows.sort(key=lambda row: str(row["scheduled_departure_time_est"]))
    return [row["flight_number"] for row in rows]


def new_route(airline: Airline, user_id: str) -> tuple[str, str]:
    """A route with direct flights between airports that no other reservation of the user joins."""
    while True:
        origin, destination = airline.rng.sample(AIRPORTS, 2)
        pair = frozenset((origin, destination))
        if not _has_no_direct_flight(origin, destination) and pair not in airline.routes[user_id]:
            airline.routes[user_id].add(pair)
            return origin, destination


def add_reservation(airline: Airline, user_id: str, spec: ReservationSpec) -> Row:
    """A new reservation, paid with the credit card; `gone`: its first flight was cancelled."""
    rng = airline.rng
    flights: list[Row] = []
    while not flights:
        origin, destination = new_route(airline, user_id)
        days = sorted(rng.sample(spec.days, 2))
        legs = [(origin, destination, days[0]), (destination, origin, days[1])][: 1 + spec.back]
        gone = [spec.gone, False]
        leg_flights = [
            _pick_leg_flight(airline, leg, spec.cabin, off)
            for leg, off in zip(legs, gone, strict=False)
        ]
        flights = [flight for flight in leg_flights if flight]
        if len(flights) < len(legs):
            flights = []
            airline.routes[user_id].discard(frozenset((origin, destination)))
    free = (FREE_BAGS[spec.cabin] + MEMBER_BAGS[airline.users[user_id]["membership"]]) * spec.people
    nonfree = max(0, spec.bags - free)
    total = sum(flight["price"] for flight in flights) * spec.people + BAG * nonfree
    total += INSURANCE * spec.people * (spec.insurance == "yes")
    while (name := _make_reservation_id(rng)) in airline.reservations:
        pass
    airline.reservations[name] = {
        "reservation_id": name,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": "round_trip" if spec.back else "one_way",
        "cabin": spec.cabin,
        "flights": flights,
        "passengers": make_passengers(airline, user_id, spec.people),
        "payment_history": [
            {"payment_id": find_payment_method(airline, user_id, "credit_card"), "amount": total}
        ],
        "created_at": spec.created,
        "total_baggages": spec.bags,
        "nonfree_baggages": nonfree,
        "insurance": spec.insurance,
    }
    airline.users[user_id]["reservations"].append(name)
    return airline.reservations[name]


def _make_reservation_id(rng: Random) -> str:
    """Letters and digits in turn, unlike the number of a flight."""
    return "".join(rng.choice(_LETTERS) + str(rng.randrange(2, 10)) for _ in range(3))


def _pick_leg_flight(
    airline: Airline, leg: tuple[str, str, str], cabin: str, gone: bool
) -> Row | None:
    """A flight of the route, cancelled or not; None where there is no such one on the day."""
    origin, destination, day = leg
    status = "cancelled" if gone else "landed" if day <= TODAY else "available"
    numbers = [
        number
        for number in list_direct_flights(airline, origin, destination)
        if airline.flights[number]["dates"][day]["status"] == status
    ]
    if not numbers:
        return None
    prices = {"basic_economy": 60, "economy": 100, "business": 260}
    return {
        "origin": origin,
        "destination": destination,
        "flight_number": airline.rng.choice(numbers),
        "date": day,
        "price": prices[cabin] + airline.rng.randrange(40),
    }
