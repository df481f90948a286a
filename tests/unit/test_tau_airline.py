"""The airline tools: each refusal in upstream's words, each effect, and upstream's oddities."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.tau_bench.environment import Environment
from tests.support.tau import airline

A = {"first_name": "A", "last_name": "F", "dob": "1990-01-01"}
AF1 = {"flight_number": "AF1", "date": "2024-05-20"}
AF3 = {"flight_number": "AF3", "date": "2024-05-21"}


def booking(**changes):
    """A right booking of AF3 for one person, with a bag and insured: 100 + 50 + 30."""
    return {
        "user_id": "user_1",
        "origin": "SFO",
        "destination": "BOS",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [AF3],
        "passengers": [A],
        "payment_methods": [
            {"payment_id": "certificate_1", "amount": 100},
            {"payment_id": "gift_card_1", "amount": 80},
        ],
        "total_baggages": 1,
        "nonfree_baggages": 1,
        "insurance": "yes",
        **changes,
    }


def flights(cabin="economy", flights=(AF1,), payment="card_1", reservation="R1"):
    return {
        "reservation_id": reservation,
        "cabin": cabin,
        "flights": list(flights),
        "payment_id": payment,
    }


def bags(total, nonfree, payment="card_1", reservation="R1"):
    return {
        "reservation_id": reservation,
        "total_baggages": total,
        "nonfree_baggages": nonfree,
        "payment_id": payment,
    }


def by(name, amount):
    return [{"payment_id": name, "amount": amount}]


BOOK, FLIGHTS = "book_reservation", "update_reservation_flights"
BAGS, PEOPLE = "update_reservation_baggages", "update_reservation_passengers"
NO_RESERVATION = "reservation not found"
LATE, AWAY = {**AF3, "date": "2024-05-22"}, {**AF3, "date": "2024-06-01"}
NO_FLIGHT = {**AF3, "flight_number": "AF9"}
REFUSALS = [
    ("get_user_details", {"user_id": "x"}, "user not found"),
    ("get_reservation_details", {"reservation_id": "x"}, "user not found"),
    ("cancel_reservation", {"reservation_id": "x"}, NO_RESERVATION),
    ("send_certificate", {"user_id": "x", "amount": 1}, "user not found"),
    (PEOPLE, {"reservation_id": "x", "passengers": []}, NO_RESERVATION),
    (PEOPLE, {"reservation_id": "R1", "passengers": [A]}, "number of passengers does not match"),
    (BOOK, booking(user_id="x"), "user not found"),
    (BOOK, booking(flights=[NO_FLIGHT]), "flight AF9 not found"),
    (BOOK, booking(flights=[AWAY]), "flight AF3 not found on date 2024-06-01"),
    (BOOK, booking(flights=[LATE]), "flight AF3 not available on date 2024-05-22"),
    (BOOK, booking(cabin="business", passengers=[A, A]), "not enough seats on flight AF3"),
    (BOOK, booking(payment_methods=by("x", 180)), "payment method x not found"),
    (
        BOOK,
        booking(payment_methods=by("gift_card_1", 180)),
        "not enough balance in payment method gift_card_1",
    ),
    (
        BOOK,
        booking(payment_methods=by("card_1", 179.5)),
        "payment amount does not add up, total price is 180, but paid 179.5",
    ),
    (BOOK, booking(cabin="first"), "'first'"),
    (FLIGHTS, flights(reservation="x"), NO_RESERVATION),
    (FLIGHTS, flights(flights=[NO_FLIGHT]), "flight AF9 not found"),
    (FLIGHTS, flights(flights=[LATE]), "flight AF3 not available on date 2024-05-22"),
    (FLIGHTS, flights("business"), "not enough seats on flight AF1"),
    (FLIGHTS, flights(payment="x"), "payment method not found"),
    (
        FLIGHTS,
        flights(payment="certificate_1"),
        "certificate cannot be used to update reservation",
    ),
    (
        FLIGHTS,
        flights(flights=[AF1, AF3], payment="gift_card_1"),
        "gift card balance is not enough",
    ),
    (BAGS, bags(1, 1, reservation="x"), NO_RESERVATION),
    (BAGS, bags(1, 1, "x"), "payment method not found"),
    (BAGS, bags(1, 1, "certificate_1"), "certificate cannot be used to update reservation"),
    (BAGS, bags(9, 9, "gift_card_1"), "gift card balance is not enough"),
]


@pytest.mark.parametrize(("name", "kwargs", "refusal"), REFUSALS)
def test_a_refused_call_says_why_and_changes_nothing(name, kwargs, refusal):
    environment = Environment(airline())
    assert environment.call(name, kwargs) == f"Error: {refusal}"
    assert environment.database.list_changed_entities() == {}
    assert environment.writes == []


def played(name, kwargs):
    """The environment and the reservation that a call answered."""
    environment = Environment(airline())
    reservation = json.loads(environment.call(name, kwargs))
    reservations = environment.database.get("reservations", reservation["reservation_id"])
    assert reservations == reservation
    assert [write.tool for write in environment.writes] == [name]
    return environment, reservation


def methods(environment):
    return environment.database.get("users", "user_1")["payment_methods"]


def test_a_booking_uses_up_certificates_and_keeps_extra_keys():
    seat = {**AF3, "seat": "1A"}
    environment, made = played(BOOK, booking(flights=[seat]))
    airports = {"price": 100, "origin": "SFO", "destination": "BOS"}
    assert made["flights"] == [{**seat, **airports}]
    assert (made["reservation_id"], made["created_at"]) == ("HATHAT", "2024-05-15T15:00:00")
    assert "certificate_1" not in methods(environment)
    assert methods(environment)["gift_card_1"]["amount"] == 40
    assert environment.database.get("users", "user_1")["reservations"] == ["R1", "HATHAT"]
    assert environment.database.get("flights", "AF3") is airline_flight(environment)


def airline_flight(environment):
    return environment.domain.database.get("flights", "AF3")


def test_bookings_are_numbered_and_the_fourth_takes_the_third_id():
    environment = Environment(airline())
    call = booking(payment_methods=by("card_1", 180))
    ids = [json.loads(environment.call(BOOK, call))["reservation_id"] for _ in range(4)]
    assert ids == ["HATHAT", "HATHAU", "HATHAV", "HATHAV"]


def test_a_certificate_named_twice_is_an_error_and_no_write():
    twice = by("certificate_1", 90) * 2
    environment = Environment(airline())
    assert environment.call(BOOK, booking(payment_methods=twice)) == "Error: 'certificate_1'"
    assert environment.writes == []


def test_cancelling_gives_back_and_can_be_repeated():
    environment, cancelled = played("cancel_reservation", {"reservation_id": "R1"})
    assert cancelled["status"] == "cancelled"
    assert [paid["amount"] for paid in cancelled["payment_history"]] == [180, -180]
    again = json.loads(environment.call("cancel_reservation", {"reservation_id": "R1"}))
    assert [paid["amount"] for paid in again["payment_history"]] == [180, -180, -180, 180]


def test_a_kept_flight_keeps_its_price():
    _, changed = played(FLIGHTS, flights())
    assert changed["flights"][0]["price"] == 90
    assert len(changed["payment_history"]) == 1


def test_a_change_of_cabin_is_paid_for_and_not_written():
    environment, changed = played(FLIGHTS, flights("basic_economy", payment="gift_card_1"))
    assert changed["cabin"] == "economy"
    assert changed["flights"][0]["price"] == 50
    assert changed["payment_history"][1] == {"payment_id": "gift_card_1", "amount": -80}
    assert methods(environment)["gift_card_1"]["amount"] == 200


def test_only_more_paid_bags_cost():
    environment, changed = played(BAGS, bags(3, 2, "gift_card_1"))
    assert (changed["total_baggages"], changed["nonfree_baggages"]) == (3, 2)
    assert changed["payment_history"][1]["amount"] == 100
    assert methods(environment)["gift_card_1"]["amount"] == 20
    environment.call(BAGS, bags(0, 0, "gift_card_1"))
    assert methods(environment)["gift_card_1"]["amount"] == 20


def test_a_number_without_fraction_is_an_integer_and_stays_as_written():
    environment, changed = played(BAGS, bags(3.0, 0))
    assert isinstance(changed["total_baggages"], float)
    assert environment.database.hash() != played(BAGS, bags(3, 0))[0].database.hash()


def test_passengers_are_replaced():
    _, changed = played(PEOPLE, {"reservation_id": "R1", "passengers": [A, A]})
    assert changed["passengers"] == [A, A]


def test_three_certificates_can_be_sent():
    environment = Environment(airline())
    replies = [environment.call("send_certificate", {"user_id": "user_1", "amount": 5})] + [
        environment.call("send_certificate", {"user_id": "user_1", "amount": 7.5}) for _ in range(3)
    ]
    assert replies[0] == "Certificate certificate_3221322 added to user user_1 with amount 5."
    assert replies[3] == "None"
    assert methods(environment)["certificate_3221324"]["amount"] == 7.5
    assert len(environment.writes) == 3


def search(name, origin, destination, date):
    arguments = {"origin": origin, "destination": destination, "date": date}
    return Environment(airline()).call(name, arguments)


def test_direct_flights_are_those_available_on_the_day():
    (flight,) = json.loads(search("search_direct_flight", "SFO", "BOS", "2024-05-20"))
    assert flight["prices"]["economy"] == 100
    assert "dates" not in flight
    assert search("search_direct_flight", "SFO", "BOS", "2024-05-22") == "[]"
    assert search("search_direct_flight", "SFO", "LAX", "2024-05-20") == "[]"


def test_a_connection_after_midnight_leaves_on_the_next_day():
    ((first, second),) = json.loads(search("search_onestop_flight", "SFO", "BOS", "2024-05-20"))
    assert (first["flight_number"], first["date"]) == ("AF1", "2024-05-20")
    assert (second["flight_number"], second["date"]) == ("AF2", "2024-05-21")


def test_a_day_that_is_none_is_an_error_only_where_it_is_counted():
    match = search("search_onestop_flight", "SFO", "BOS", "soon")
    assert match == "Error: invalid literal for int() with base 10: 'on'"
    assert search("search_onestop_flight", "SFO", "LAX", "soon") == "[]"


def test_airports_are_twenty():
    airports = json.loads(Environment(airline()).call("list_all_airports", {}))
    assert len(airports) == 20
    assert list(airports)[:2] == ["SFO", "JFK"]
