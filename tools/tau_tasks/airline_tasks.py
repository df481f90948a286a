"""The tasks of the airline: templates that combine goals, and how often each is used."""

from __future__ import annotations

from collections.abc import Callable

from tools.tau_tasks import airline_goals as goals
from tools.tau_tasks.airline_fixtures import (
    MEMBER_BAGS,
    PAST_DAYS,
    Airline,
    ReservationSpec,
    Row,
    add_reservation,
    add_user,
    find_payment_method,
    make_passengers,
)
from tools.tau_tasks.plan import (
    PlannedGoal,
    TaskPlan,
    hide_order_id,
    plan_fallback,
    plan_price_limit,
    plan_refusal,
)

_PlannedGoals = tuple[PlannedGoal, ...]
#: What plans the goals of a user.
Template = Callable[[Airline, str], _PlannedGoals]
#: Booked within the last 24 hours.
_JUST_NOW = "2024-05-15T08:20:00"
_TRIES = 50


def build_airline_plans(airline: Airline) -> list[TaskPlan]:
    """Build the plans of all tasks, each with a user of its own."""
    plans = []
    for topic, difficulty, count, template in TEMPLATES:
        for _ in range(count):
            plans.append(_build_airline_plan(airline, topic, difficulty, template))
    return plans


def _build_airline_plan(
    airline: Airline, topic: str, difficulty: int, template: Template
) -> TaskPlan:
    """Plan a task, with another user if the records drawn for the first do not allow its goals."""
    for _ in range(_TRIES):
        membership = "regular" if "regular" in topic else airline.rng.choice(tuple(MEMBER_BAGS))
        user_id = add_user(airline, membership)
        try:
            return TaskPlan(user_id, topic, difficulty, template(airline, user_id))
        except LookupError:
            continue
    raise LookupError(f"no draw allows {topic!r}")


def _add_target_reservation(airline: Airline, user: str, spec: ReservationSpec) -> Row:
    """A reservation between two others."""
    add_reservation(airline, user, ReservationSpec(days=PAST_DAYS))
    reservation = add_reservation(airline, user, spec)
    add_reservation(
        airline, user, ReservationSpec("business", airline.rng.randrange(1, 3), back=True)
    )
    return reservation


def _pick_passenger_count(airline: Airline) -> int:
    return airline.rng.randrange(1, 4)


def _pick_payment_method(airline: Airline, user: str) -> str:
    return find_payment_method(airline, user, airline.rng.choice(("credit_card", "gift_card")))


def _book_trip(airline: Airline, user: str) -> _PlannedGoals:
    rng, count = airline.rng, _pick_passenger_count(airline)
    trip = goals.Trip(
        rng.choice(("basic_economy", "economy", "business")),
        count,
        rng.randrange(0, 4) * count,
        rng.choice(("yes", "no")),
        rng.choice((goals.CHEAPEST, goals.EARLIEST, goals.LATEST)),
    )
    return (goals.plan_booking(airline, user, trip, _pick_payment_method(airline, user)),)


def _book_round_trip(airline: Airline, user: str) -> _PlannedGoals:
    trip = goals.Trip(
        "economy", _pick_passenger_count(airline), 2, "yes", goals.EARLIEST, back=True
    )
    return (goals.plan_booking(airline, user, trip, _pick_payment_method(airline, user)),)


def _book_stop(airline: Airline, user: str) -> _PlannedGoals:
    trip = goals.Trip("economy", _pick_passenger_count(airline), 4, pick=goals.CHEAPEST_ANY)
    return (goals.plan_booking(airline, user, trip, _pick_payment_method(airline, user)),)


def _book_certificate(airline: Airline, user: str) -> _PlannedGoals:
    trip = goals.Trip("economy", 2, 1, "yes")
    return (
        goals.plan_booking(airline, user, trip, find_payment_method(airline, user, "certificate")),
    )


def _book_within(airline: Airline, user: str) -> _PlannedGoals:
    """Business is too dear, so it is to be economy on the same day."""
    card = find_payment_method(airline, user, "credit_card")
    first = goals.plan_booking(airline, user, goals.Trip("business", 2), card)
    total = first.actions[0].kwargs["payment_methods"][0]["amount"]
    second = goals.plan_cabin_booking(airline, first, goals.Trip("economy", 2))
    if second.actions[0].kwargs["payment_methods"][0]["amount"] > total * 0.7:
        raise LookupError("business is cheap")
    return (plan_price_limit(first, int(total * 0.8), second),)


def _change_day(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("economy", _pick_passenger_count(airline))
    )
    return (goals.plan_flight_change(airline, booked, _pick_payment_method(airline, user)),)


def _change_hidden(airline: Airline, user: str) -> _PlannedGoals:
    return (hide_order_id(_change_day(airline, user)[0]),)


def _change_back(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("business", _pick_passenger_count(airline), back=True)
    )
    return (goals.plan_flight_change(airline, booked, _pick_payment_method(airline, user), leg=1),)


def _change_within(airline: Airline, user: str) -> _PlannedGoals:
    """The other day is too dear, so there are to be more bags instead."""
    booked, card = (
        _add_target_reservation(airline, user, ReservationSpec("economy", 2)),
        _pick_payment_method(airline, user),
    )
    change = goals.plan_flight_change(airline, booked, card)
    price = goals.compute_change_price(airline, booked, change)
    if price < 40:
        raise LookupError("it is cheap")
    return (plan_price_limit(change, price - 25, goals.plan_extra_bags(airline, booked, 1, card)),)


def _change_below(airline: Airline, user: str) -> _PlannedGoals:
    """Not too dear, whichever of its prices an agent names: the fallback must not be used."""
    booked, card = (
        _add_target_reservation(airline, user, ReservationSpec("economy", 2)),
        _pick_payment_method(airline, user),
    )
    change = goals.plan_flight_change(airline, booked, card)
    full = goals.compute_fare(airline, change.actions[0].kwargs["flights"], "economy") * 2
    paid = booked["payment_history"][0]["amount"]
    limited = plan_price_limit(
        change, max(full, paid) + 50, goals.plan_extra_bags(airline, booked, 1, card)
    )
    return (PlannedGoal(limited.goal, change.actions),)


def _upgrade_cabin(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("economy", _pick_passenger_count(airline))
    )
    return (goals.plan_upgrade(airline, booked, _pick_payment_method(airline, user)),)


def _add_bags(airline: Airline, user: str) -> _PlannedGoals:
    spec = ReservationSpec(
        airline.rng.choice(("basic_economy", "economy")), _pick_passenger_count(airline)
    )
    more = airline.rng.randrange(1, 5)
    return (
        goals.plan_extra_bags(
            airline,
            _add_target_reservation(airline, user, spec),
            more,
            _pick_payment_method(airline, user),
        ),
    )


def _bags_hidden(airline: Airline, user: str) -> _PlannedGoals:
    booked, card = (
        _add_target_reservation(airline, user, ReservationSpec("economy", 1, bags=1)),
        _pick_payment_method(airline, user),
    )
    return (hide_order_id(goals.plan_extra_bags(airline, booked, 3, card, route=True)),)


def _change_passenger(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("economy", airline.rng.randrange(2, 4))
    )
    return (_replace_last_passenger(airline, user, booked),)


def _replace_last_passenger(airline: Airline, user: str, booked: Row) -> PlannedGoal:
    """The last passenger is someone else."""
    return goals.plan_passenger_change(
        booked, [*booked["passengers"][:-1], make_passengers(airline, user, 2)[1]]
    )


def _add_passenger(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("economy", 2))
    who = [*booked["passengers"], make_passengers(airline, user, 2)[1]]
    return (plan_refusal(goals.plan_passenger_change(booked, who)),)


def _cancel_business(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("business", _pick_passenger_count(airline))
    )
    return (goals.plan_trip_cancellation(booked, goals.CHANGED_PLANS),)


def _cancel_new(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("basic_economy", created=_JUST_NOW)
    )
    return (goals.plan_trip_cancellation(booked, goals.CHANGED_PLANS),)


def _cancel_insured(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("economy", 2, "yes"))
    return (
        goals.plan_trip_cancellation(booked, airline.rng.choice((goals.ILLNESS, goals.WEATHER))),
    )


def _cancel_gone(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("economy", _pick_passenger_count(airline), gone=True)
    )
    return (goals.plan_trip_cancellation(booked, goals.FLIGHT_CANCELLED),)


def _cancel_hidden(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("business"))
    return (hide_order_id(goals.plan_trip_cancellation(booked, goals.CHANGED_PLANS, route=True)),)


def _refused_economy(airline: Airline, user: str) -> _PlannedGoals:
    return (
        plan_refusal(
            goals.plan_trip_cancellation(
                _add_target_reservation(airline, user, ReservationSpec("economy", 2)),
                goals.CHANGED_PLANS,
            )
        ),
    )


def _refused_claim(airline: Airline, user: str) -> _PlannedGoals:
    """The flight was not cancelled."""
    return (
        plan_refusal(
            goals.plan_trip_cancellation(
                _add_target_reservation(airline, user, ReservationSpec("basic_economy", 1)),
                goals.FLIGHT_CANCELLED,
            )
        ),
    )


def _refused_insured(airline: Airline, user: str) -> _PlannedGoals:
    return (
        plan_refusal(
            goals.plan_trip_cancellation(
                _add_target_reservation(airline, user, ReservationSpec("economy", 1, "yes")),
                goals.CHANGED_PLANS,
            )
        ),
    )


def _refused_flown(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("business", 1, days=PAST_DAYS))
    return (plan_refusal(goals.plan_trip_cancellation(booked, goals.CHANGED_PLANS)),)


def _refused_basic(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("basic_economy", 1))
    return (
        plan_refusal(
            goals.plan_flight_change(airline, booked, _pick_payment_method(airline, user))
        ),
    )


def _refused_foreign(airline: Airline, user: str) -> _PlannedGoals:
    """The reservation is somebody else's."""
    _add_target_reservation(airline, user, ReservationSpec())
    other = add_user(airline)
    return (
        plan_refusal(
            goals.plan_trip_cancellation(
                _add_target_reservation(airline, other, ReservationSpec("business", 2)),
                goals.CHANGED_PLANS,
            )
        ),
    )


def _refused_compensation(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("economy", 2, gone=True))
    return (plan_refusal(goals.plan_compensation(booked)),)


def _compensation_then_cancel(airline: Airline, user: str) -> _PlannedGoals:
    """No certificate for a regular member without insurance, but the right to cancel."""
    booked = _add_target_reservation(airline, user, ReservationSpec("economy", 2, gone=True))
    return (
        plan_refusal(goals.plan_compensation(booked)),
        goals.plan_trip_cancellation(booked, goals.FLIGHT_CANCELLED),
    )


def _basic_or_cancel(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("basic_economy", 1, created=_JUST_NOW)
    )
    change = goals.plan_flight_change(airline, booked, _pick_payment_method(airline, user))
    return (plan_fallback(change, goals.plan_trip_cancellation(booked, goals.CHANGED_PLANS)),)


def _cancel_or_change(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("economy", 1))
    cancellation = goals.plan_trip_cancellation(booked, goals.CHANGED_PLANS)
    return (
        plan_fallback(
            cancellation,
            goals.plan_flight_change(airline, booked, _pick_payment_method(airline, user)),
        ),
    )


def _cancel_or_passengers(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("economy", 2))
    return (
        plan_fallback(
            goals.plan_trip_cancellation(booked, goals.CHANGED_PLANS),
            _replace_last_passenger(airline, user, booked),
        ),
    )


def _claim_compensation(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("economy", _pick_passenger_count(airline), "yes", gone=True)
    )
    return (goals.plan_compensation(booked),)


def _compensation_and_cancel(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(
        airline, user, ReservationSpec("business", _pick_passenger_count(airline), gone=True)
    )
    return (
        goals.plan_compensation(booked),
        goals.plan_trip_cancellation(booked, goals.FLIGHT_CANCELLED),
    )


def _bags_and_passengers(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("economy", 2))
    more = goals.plan_extra_bags(airline, booked, 3, _pick_payment_method(airline, user))
    return (more, _replace_last_passenger(airline, user, booked))


def _cancel_and_book(airline: Airline, user: str) -> _PlannedGoals:
    cancelled = goals.plan_trip_cancellation(
        _add_target_reservation(airline, user, ReservationSpec("business", 1)), goals.CHANGED_PLANS
    )
    trip = goals.Trip("economy", 1, 1, pick=goals.LATEST)
    return (
        cancelled,
        goals.plan_booking(airline, user, trip, find_payment_method(airline, user, "credit_card")),
    )


def _combine_four_goals(airline: Airline, user: str) -> _PlannedGoals:
    booked, card = (
        _add_target_reservation(airline, user, ReservationSpec("economy", 2)),
        _pick_payment_method(airline, user),
    )
    more = goals.plan_extra_bags(airline, booked, 2, card)
    other = add_reservation(airline, user, ReservationSpec("basic_economy", 1, created=_JUST_NOW))
    who = _replace_last_passenger(airline, user, booked)
    return (
        goals.plan_flight_change(airline, booked, card),
        more,
        who,
        goals.plan_trip_cancellation(other, goals.CHANGED_PLANS),
    )


def _ask_bags(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("business", 3))
    return (goals.ask_bags(airline, booked),)


def _ask_price(airline: Airline, user: str) -> _PlannedGoals:
    return (goals.ask_price(airline, airline.rng.choice(("economy", "business"))),)


def _ask_and_add(airline: Airline, user: str) -> _PlannedGoals:
    booked = _add_target_reservation(airline, user, ReservationSpec("economy", 2))
    other = add_reservation(airline, user, ReservationSpec("economy", 3))
    return (
        goals.ask_paid(other),
        goals.plan_extra_bags(airline, booked, 7, _pick_payment_method(airline, user)),
    )


#: Topic, difficulty, number of tasks, template. A topic with `regular` is about regular members.
TEMPLATES: tuple[tuple[str, int, int, Template], ...] = (
    ("book", 2, 6, _book_trip),
    ("book a round trip", 3, 2, _book_round_trip),
    ("book with a stop", 3, 2, _book_stop),
    ("book with a certificate", 2, 1, _book_certificate),
    ("price limit, book", 3, 2, _book_within),
    ("change the day", 2, 3, _change_day),
    ("change the day, id unknown", 3, 2, _change_hidden),
    ("change the way back", 3, 2, _change_back),
    ("price limit, change", 3, 2, _change_within),
    ("price limit kept", 3, 2, _change_below),
    ("cabin", 2, 2, _upgrade_cabin),
    ("baggage", 1, 4, _add_bags),
    ("baggage, id unknown", 2, 2, _bags_hidden),
    ("passengers", 1, 3, _change_passenger),
    ("cancel: business", 1, 2, _cancel_business),
    ("cancel: 24 hours", 2, 2, _cancel_new),
    ("cancel: insurance", 2, 2, _cancel_insured),
    ("cancel: by the airline", 2, 2, _cancel_gone),
    ("cancel, id unknown", 2, 2, _cancel_hidden),
    ("refusal: economy", 2, 1, _refused_economy),
    ("refusal: not cancelled", 3, 1, _refused_claim),
    ("refusal: not insured against", 2, 1, _refused_insured),
    ("refusal: flown", 2, 1, _refused_flown),
    ("refusal: basic economy", 2, 1, _refused_basic),
    ("refusal: one more passenger", 1, 1, _add_passenger),
    ("refusal: another user's trip", 2, 1, _refused_foreign),
    ("refusal: compensation, regular", 3, 1, _refused_compensation),
    ("refusal, then cancel, regular", 3, 2, _compensation_then_cancel),
    ("change, else cancel", 3, 2, _basic_or_cancel),
    ("cancel, else change", 3, 2, _cancel_or_change),
    ("cancel, else passengers", 3, 1, _cancel_or_passengers),
    ("compensation", 2, 3, _claim_compensation),
    ("compensation and cancel", 3, 2, _compensation_and_cancel),
    ("baggage and passengers", 3, 2, _bags_and_passengers),
    ("cancel and book", 3, 2, _cancel_and_book),
    ("four goals", 3, 1, _combine_four_goals),
    ("question: free bags", 2, 1, _ask_bags),
    ("question: fare", 2, 2, _ask_price),
    ("question, then baggage", 3, 2, _ask_and_add),
)
