"""The tasks of the airline: users who want several things changed, one after the other.

The airline, its users and their goals are built as for tau_bench, from another seed.
"""

from __future__ import annotations

from collections.abc import Callable

from tools.tau_tasks import airline_goals as goals
from tools.tau_tasks.airline_fixtures import (
    MEMBER_BAGS,
    Airline,
    ReservationSpec,
    Row,
    add_reservation,
    add_user,
    find_payment_method,
    make_passengers,
)
from tools.tau_tasks.plan import PlannedGoal, TaskPlan, hide_order_id, plan_fallback, plan_refusal

_PlannedGoals = tuple[PlannedGoal, ...]
Template = Callable[[Airline, str], _PlannedGoals]
#: Booked within the last 24 hours.
_JUST_NOW = "2024-05-15T08:20:00"
_TRIES = 50


def build_trip_plans(airline: Airline) -> list[TaskPlan]:
    """Build the plans of all tasks, each with a user of its own."""
    return [
        _build_plan(airline, topic, difficulty, template)
        for topic, difficulty, count, template in TEMPLATES
        for _ in range(count)
    ]


def _build_plan(airline: Airline, topic: str, difficulty: int, template: Template) -> TaskPlan:
    """Plan a task, with another user if the records drawn for the first do not allow its goals."""
    for _ in range(_TRIES):
        user_id = add_user(airline, airline.rng.choice(tuple(MEMBER_BAGS)))
        try:
            return TaskPlan(user_id, topic, difficulty, template(airline, user_id))
        except LookupError:
            continue
    raise LookupError(f"no draw allows {topic!r}")


def _card(airline: Airline, user: str) -> str:
    return find_payment_method(airline, user, "credit_card")


def _replace_passenger(airline: Airline, user: str, booked: Row) -> PlannedGoal:
    """The last passenger is someone else."""
    others = [*booked["passengers"][:-1], make_passengers(airline, user, 2)[1]]
    return goals.plan_passenger_change(booked, others)


def _cancel_trip(airline: Airline, user: str, spec: ReservationSpec, reason: str) -> PlannedGoal:
    return goals.plan_trip_cancellation(add_reservation(airline, user, spec), reason)


def _three_trips(airline: Airline, user: str) -> _PlannedGoals:
    bags = add_reservation(airline, user, ReservationSpec("economy", 2))
    people = add_reservation(airline, user, ReservationSpec("economy", 2))
    return (
        goals.plan_extra_bags(airline, bags, 2, _card(airline, user)),
        _replace_passenger(airline, user, people),
        _cancel_trip(airline, user, ReservationSpec("business"), goals.CHANGED_PLANS),
    )


def _upgrade_and_more(airline: Airline, user: str) -> _PlannedGoals:
    first = add_reservation(airline, user, ReservationSpec("economy", 1))
    second = add_reservation(airline, user, ReservationSpec("economy", 2))
    return (
        goals.plan_upgrade(airline, first, _card(airline, user)),
        _replace_passenger(airline, user, second),
        goals.plan_extra_bags(airline, second, 3, _card(airline, user)),
    )


def _other_day(airline: Airline, user: str) -> _PlannedGoals:
    first = add_reservation(airline, user, ReservationSpec("economy", 2))
    return (
        goals.plan_flight_change(airline, first, _card(airline, user)),
        _replace_passenger(airline, user, first),
        _cancel_trip(airline, user, ReservationSpec("economy", 1, "yes"), goals.ILLNESS),
    )


def _book_again(airline: Airline, user: str) -> _PlannedGoals:
    bags = add_reservation(airline, user, ReservationSpec("economy", 1))
    trip = goals.Trip("economy", 1, 1, pick=goals.EARLIEST)
    return (
        _cancel_trip(airline, user, ReservationSpec("business"), goals.CHANGED_PLANS),
        goals.plan_booking(airline, user, trip, _card(airline, user)),
        goals.plan_extra_bags(airline, bags, 3, _card(airline, user)),
    )


def _compensated(airline: Airline, user: str) -> _PlannedGoals:
    gone = add_reservation(airline, user, ReservationSpec("business", 2, gone=True))
    other = add_reservation(airline, user, ReservationSpec("economy", 2))
    return (
        goals.plan_compensation(gone),
        goals.plan_trip_cancellation(gone, goals.FLIGHT_CANCELLED),
        _replace_passenger(airline, user, other),
    )


def _refused_first(airline: Airline, user: str) -> _PlannedGoals:
    basic = add_reservation(airline, user, ReservationSpec("basic_economy", 1))
    other = add_reservation(airline, user, ReservationSpec("economy", 2))
    return (
        plan_refusal(goals.plan_trip_cancellation(basic, goals.CHANGED_PLANS)),
        goals.plan_extra_bags(airline, basic, 1, _card(airline, user)),
        _replace_passenger(airline, user, other),
        _cancel_trip(
            airline, user, ReservationSpec("basic_economy", created=_JUST_NOW), goals.CHANGED_PLANS
        ),
    )


def _fallback_among(airline: Airline, user: str) -> _PlannedGoals:
    first = add_reservation(airline, user, ReservationSpec("economy", 2))
    second = add_reservation(airline, user, ReservationSpec("economy", 1))
    cancellation = goals.plan_trip_cancellation(first, goals.CHANGED_PLANS)
    return (
        plan_fallback(cancellation, _replace_passenger(airline, user, first)),
        goals.plan_upgrade(airline, second, _card(airline, user)),
        _cancel_trip(airline, user, ReservationSpec("business"), goals.CHANGED_PLANS),
    )


def _hidden_trips(airline: Airline, user: str) -> _PlannedGoals:
    first = add_reservation(airline, user, ReservationSpec("economy", 1, bags=1))
    second = add_reservation(airline, user, ReservationSpec("business", 1))
    third = add_reservation(airline, user, ReservationSpec("economy", 2))
    card = _card(airline, user)
    return (
        hide_order_id(goals.plan_extra_bags(airline, first, 3, card, route=True)),
        hide_order_id(goals.plan_trip_cancellation(second, goals.CHANGED_PLANS, route=True)),
        _replace_passenger(airline, user, third),
    )


#: Topic, difficulty, number of tasks, template.
TEMPLATES: tuple[tuple[str, int, int, Template], ...] = (
    ("three trips", 2, 4, _three_trips),
    ("upgrade, passenger, bags", 2, 4, _upgrade_and_more),
    ("another day, then two changes", 3, 4, _other_day),
    ("cancel and book again", 3, 4, _book_again),
    ("compensation and cancel", 3, 4, _compensated),
    ("a refusal, then three changes", 3, 4, _refused_first),
    ("a fallback among others", 3, 4, _fallback_among),
    ("trips without ids", 3, 4, _hidden_trips),
)
