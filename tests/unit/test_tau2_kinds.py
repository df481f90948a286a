"""Values of wrong JSON types in calls of tau2-bench: converted, refused or kept as upstream."""

from __future__ import annotations

import json
from math import inf, isnan
from pathlib import Path

import pytest

from evalcore.benchmarks.tau2_bench.environment.loaders import load_world
from evalcore.benchmarks.tau2_bench.environment.shapes import ShapeError, to_number, to_whole
from evalcore.benchmarks.tau2_bench.environment.world import Environment

DATA = Path(__file__).parents[2] / "datasets" / "tau2_bench"
BOOK, FLIGHTS = "book_reservation", "update_reservation_flights"
PASSENGERS = "update_reservation_passengers"
PERSON = {"first_name": "A", "last_name": "F", "dob": "1990-01-01"}


@pytest.fixture(scope="module")
def world():
    return load_world(DATA, "airline")


@pytest.fixture
def desk(world):
    """An episode, and a reservation of one passenger in it."""
    environment = Environment(world)
    rows = environment.state.agent.rows("reservations")
    return environment, next(key for key, row in rows if len(row["passengers"]) == 1)


def call(environment, name, **kwargs):
    return environment.try_call(name, kwargs, "assistant")


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        *((True, 1), (2.0, 2), (9e18, 9 * 10**18), (10**30, 10**30), ("3", 3), (" -3.0\n", -3)),
        *(("+3.00", 3), ("007", 7), ("1_000", 1000), ("9007199254740993.0", 9007199254740993)),
        *((text, None) for text in ("", "3.", ".0", "1e3", "3.0e0", "1__0", "_1", "٣", "x", "- 3")),
        *((value, None) for value in (1e19, 2.5, inf, None, [], {}, "1.0_0", "9" * 4301)),
    ],
)
def test_a_whole_number_is_read_as_upstream_reads_it(value, whole):
    if whole is None:
        with pytest.raises(ShapeError):
            to_whole(value)
    else:
        assert to_whole(value) == whole


def test_a_number_is_read_as_upstream_reads_it():
    assert [to_number(value) for value in (True, "1e3", " 2.5", "9" * 400)] == [1, 1000, 2.5, inf]
    assert isnan(to_number("NaN"))
    for value in ("٣", "", "x", "- 3", 10**400, None, [], {}):
        with pytest.raises(ShapeError):
            to_number(value)


@pytest.mark.parametrize("passengers", ["x", {"a": 1}, ["a"], [None], [[PERSON]]])
def test_passengers_that_are_no_objects_are_kept_where_their_number_fits(desk, passengers):
    environment, reservation = desk
    answer, done = call(environment, PASSENGERS, reservation_id=reservation, passengers=passengers)
    assert done
    assert json.loads(answer)["passengers"] == passengers
    assert environment.state.agent.get("reservations", reservation)["passengers"] == passengers
    assert [write.tool for write in environment.writes] == [PASSENGERS]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"reservation_id": "NONE"}, "Reservation NONE not found"),
        ({"reservation_id": {}}, "unhashable type: 'dict'"),
        ({"passengers": "xy"}, "Number of passengers does not match"),
        ({"passengers": ""}, "Number of passengers does not match"),
        ({"passengers": 3}, "'int' object is not iterable"),
        ({"passengers": None}, "'NoneType' object is not iterable"),
        ({"passengers": [{"a": 1}]}, "the field first_name is missing"),
        # objects that fit are read before anything else is looked at
        ({"passengers": [{"a": 1}], "reservation_id": "NONE"}, "the field first_name is missing"),
    ],
)
def test_the_order_of_checks_of_passengers(desk, changes, problem):
    environment, reservation = desk
    wrong = {"reservation_id": reservation, "passengers": "x", **changes}
    assert call(environment, PASSENGERS, **wrong) == (f"Error: {problem}", False)
    assert environment.state.agent.list_changed_entities() == {}


@pytest.mark.parametrize(
    ("flights", "kind"),
    [("x", "str"), ({"a": 1}, "str"), ([None], "NoneType"), ([{"flight_number": 1}, 3], "dict")],
)
def test_flights_that_are_no_objects_fail_where_they_are_read(desk, flights, kind):
    environment, reservation = desk
    agent = environment.state.agent
    user = agent.get("reservations", reservation)["user_id"]
    problem = f"Error: {kind!r} object has no attribute 'flight_number'"
    change = {"cabin": "economy", "flights": flights, "payment_id": "none"}
    assert call(environment, FLIGHTS, reservation_id=reservation, **change) == (problem, False)
    answer, _ = call(environment, FLIGHTS, reservation_id="NONE", **change)
    assert answer == "Error: Reservation NONE not found"
    booking = {
        **{"user_id": user, "origin": "SFO", "destination": "JFK", "flight_type": "one_way"},
        **{"cabin": "economy", "flights": flights, "passengers": [PERSON], "payment_methods": []},
        **{"total_baggages": 0, "nonfree_baggages": 0, "insurance": "no"},
    }
    assert call(environment, BOOK, **booking) == (problem, False)
    answer, _ = call(environment, BOOK, **{**booking, "user_id": "none"})
    assert answer == "Error: User none not found"
    answer, _ = call(environment, BOOK, **{**booking, "passengers": "x"})
    assert answer == "Error: passengers: a list is needed, not a text"
    answer, _ = call(environment, BOOK, **{**booking, "payment_methods": [3]})
    assert answer == "Error: payment_history: an object is needed, not 3"
    assert agent.list_changed_entities() == {}


def test_no_airport_stands_for_any(world):
    flights = dict(world.state.agent.rows("flights"))
    number, flight = next(iter(flights.items()))
    date = next(day for day, row in flight["dates"].items() if row["status"] == "available")
    query = {"destination": flight["destination"], "date": date}
    answer, _ = call(Environment(world), "search_direct_flight", origin=None, **query)
    listed = {each["flight_number"] for each in json.loads(answer)}
    assert number in listed
    assert listed == {
        name
        for name, row in flights.items()
        if row["destination"] == query["destination"]
        and row["dates"].get(date, {}).get("status") == "available"
    }
