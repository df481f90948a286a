"""The tasks of the airline: templates that combine deeds, and how often each is used."""

from __future__ import annotations

from collections.abc import Callable

from evalcore.benchmarks.tau_bench.generate import airline_deeds as do
from evalcore.benchmarks.tau_bench.generate.airline_world import (
    MORE,
    PAST,
    Airline,
    Row,
    Wish,
    add_reservation,
    add_user,
    method,
    people,
)
from evalcore.benchmarks.tau_bench.generate.plan import (
    Deed,
    Plan,
    dearer,
    instead,
    refused,
    unknown_id,
)

_Made = tuple[Deed, ...]
#: What makes the deeds for a user.
Template = Callable[[Airline, str], _Made]
#: Booked within the last 24 hours.
_JUST_NOW = "2024-05-15T08:20:00"
_TRIES = 50


def airline_plans(airline: Airline) -> list[Plan]:
    """All tasks, each with a user of its own."""
    plans = []
    for topic, difficulty, count, template in TEMPLATES:
        for _ in range(count):
            plans.append(_plan(airline, topic, difficulty, template))
    return plans


def _plan(airline: Airline, topic: str, difficulty: int, template: Template) -> Plan:
    """A task; where a draw does not allow the wish, another user gets it."""
    for _ in range(_TRIES):
        membership = "regular" if "regular" in topic else airline.rng.choice(tuple(MORE))
        user_id = add_user(airline, membership)
        try:
            return Plan(user_id, topic, difficulty, template(airline, user_id))
        except LookupError:
            continue
    raise LookupError(f"no draw allows {topic!r}")


def _booked(airline: Airline, user: str, wish: Wish) -> Row:
    """A reservation between two others."""
    add_reservation(airline, user, Wish(days=PAST))
    made = add_reservation(airline, user, wish)
    add_reservation(airline, user, Wish("business", airline.rng.randrange(1, 3), back=True))
    return made


def _count(airline: Airline) -> int:
    return airline.rng.randrange(1, 4)


def _card(airline: Airline, user: str) -> str:
    return method(airline, user, airline.rng.choice(("credit_card", "gift_card")))


def _book(airline: Airline, user: str) -> _Made:
    rng, count = airline.rng, _count(airline)
    trip = do.Trip(
        rng.choice(("basic_economy", "economy", "business")),
        count,
        rng.randrange(0, 4) * count,
        rng.choice(("yes", "no")),
        rng.choice((do.CHEAPEST, do.EARLIEST, do.LATEST)),
    )
    return (do.book(airline, user, trip, _card(airline, user)),)


def _book_back(airline: Airline, user: str) -> _Made:
    trip = do.Trip("economy", _count(airline), 2, "yes", do.EARLIEST, back=True)
    return (do.book(airline, user, trip, _card(airline, user)),)


def _book_stop(airline: Airline, user: str) -> _Made:
    trip = do.Trip("economy", _count(airline), 4, pick=do.ANY)
    return (do.book(airline, user, trip, _card(airline, user)),)


def _book_certificate(airline: Airline, user: str) -> _Made:
    trip = do.Trip("economy", 2, 1, "yes")
    return (do.book(airline, user, trip, method(airline, user, "certificate")),)


def _book_within(airline: Airline, user: str) -> _Made:
    """Business is too dear, so it is to be economy on the same day."""
    card = method(airline, user, "credit_card")
    first = do.book(airline, user, do.Trip("business", 2), card)
    total = first.actions[0].kwargs["payment_methods"][0]["amount"]
    second = do.in_cabin(airline, first, do.Trip("economy", 2))
    if second.actions[0].kwargs["payment_methods"][0]["amount"] > total * 0.7:
        raise LookupError("business is cheap")
    return (dearer(first, int(total * 0.8), second),)


def _change(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", _count(airline)))
    return (do.change(airline, booked, _card(airline, user)),)


def _change_hidden(airline: Airline, user: str) -> _Made:
    return (unknown_id(_change(airline, user)[0]),)


def _change_back(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("business", _count(airline), back=True))
    return (do.change(airline, booked, _card(airline, user), leg=1),)


def _change_within(airline: Airline, user: str) -> _Made:
    """The other day is too dear, so there are to be more bags instead."""
    booked, card = _booked(airline, user, Wish("economy", 2)), _card(airline, user)
    wanted = do.change(airline, booked, card)
    price = do.price_of(airline, booked, wanted)
    if price < 40:
        raise LookupError("it is cheap")
    return (dearer(wanted, price - 25, do.bags(airline, booked, 1, card)),)


def _change_below(airline: Airline, user: str) -> _Made:
    """Not too dear, whichever of its prices an agent names: the fallback must not be used."""
    booked, card = _booked(airline, user, Wish("economy", 2)), _card(airline, user)
    wanted = do.change(airline, booked, card)
    full = do.fare(airline, wanted.actions[0].kwargs["flights"], "economy") * 2
    paid = booked["payment_history"][0]["amount"]
    kept = dearer(wanted, max(full, paid) + 50, do.bags(airline, booked, 1, card))
    return (Deed(kept.goal, wanted.actions),)


def _upgrade(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", _count(airline)))
    return (do.upgrade(airline, booked, _card(airline, user)),)


def _bags(airline: Airline, user: str) -> _Made:
    wish = Wish(airline.rng.choice(("basic_economy", "economy")), _count(airline))
    more = airline.rng.randrange(1, 5)
    return (do.bags(airline, _booked(airline, user, wish), more, _card(airline, user)),)


def _bags_hidden(airline: Airline, user: str) -> _Made:
    booked, card = _booked(airline, user, Wish("economy", 1, bags=1)), _card(airline, user)
    return (unknown_id(do.bags(airline, booked, 3, card, route=True)),)


def _passengers(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", airline.rng.randrange(2, 4)))
    return (_replaced(airline, user, booked),)


def _replaced(airline: Airline, user: str, booked: Row) -> Deed:
    """The last passenger is someone else."""
    return do.passengers(booked, [*booked["passengers"][:-1], people(airline, user, 2)[1]])


def _one_more(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", 2))
    who = [*booked["passengers"], people(airline, user, 2)[1]]
    return (refused(do.passengers(booked, who)),)


def _cancel_business(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("business", _count(airline)))
    return (do.cancel(booked, do.PLANS),)


def _cancel_new(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("basic_economy", created=_JUST_NOW))
    return (do.cancel(booked, do.PLANS),)


def _cancel_insured(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", 2, "yes"))
    return (do.cancel(booked, airline.rng.choice((do.ILL, do.WEATHER))),)


def _cancel_gone(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", _count(airline), gone=True))
    return (do.cancel(booked, do.GONE),)


def _cancel_hidden(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("business"))
    return (unknown_id(do.cancel(booked, do.PLANS, route=True)),)


def _refused_economy(airline: Airline, user: str) -> _Made:
    return (refused(do.cancel(_booked(airline, user, Wish("economy", 2)), do.PLANS)),)


def _refused_claim(airline: Airline, user: str) -> _Made:
    """The flight was not cancelled."""
    return (refused(do.cancel(_booked(airline, user, Wish("basic_economy", 1)), do.GONE)),)


def _refused_insured(airline: Airline, user: str) -> _Made:
    return (refused(do.cancel(_booked(airline, user, Wish("economy", 1, "yes")), do.PLANS)),)


def _refused_flown(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("business", 1, days=PAST))
    return (refused(do.cancel(booked, do.PLANS)),)


def _refused_basic(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("basic_economy", 1))
    return (refused(do.change(airline, booked, _card(airline, user))),)


def _refused_foreign(airline: Airline, user: str) -> _Made:
    """The reservation is somebody else's."""
    _booked(airline, user, Wish())
    other = add_user(airline)
    return (refused(do.cancel(_booked(airline, other, Wish("business", 2)), do.PLANS)),)


def _refused_compensation(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", 2, gone=True))
    return (refused(do.compensation(booked)),)


def _compensation_then_cancel(airline: Airline, user: str) -> _Made:
    """No certificate for a regular member without insurance, but the right to cancel."""
    booked = _booked(airline, user, Wish("economy", 2, gone=True))
    return (refused(do.compensation(booked)), do.cancel(booked, do.GONE))


def _basic_or_cancel(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("basic_economy", 1, created=_JUST_NOW))
    wanted = do.change(airline, booked, _card(airline, user))
    return (instead(wanted, do.cancel(booked, do.PLANS)),)


def _cancel_or_change(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", 1))
    wanted = do.cancel(booked, do.PLANS)
    return (instead(wanted, do.change(airline, booked, _card(airline, user))),)


def _cancel_or_passengers(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", 2))
    return (instead(do.cancel(booked, do.PLANS), _replaced(airline, user, booked)),)


def _compensation(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", _count(airline), "yes", gone=True))
    return (do.compensation(booked),)


def _compensation_and_cancel(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("business", _count(airline), gone=True))
    return (do.compensation(booked), do.cancel(booked, do.GONE))


def _bags_and_passengers(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", 2))
    more = do.bags(airline, booked, 3, _card(airline, user))
    return (more, _replaced(airline, user, booked))


def _cancel_and_book(airline: Airline, user: str) -> _Made:
    cancelled = do.cancel(_booked(airline, user, Wish("business", 1)), do.PLANS)
    trip = do.Trip("economy", 1, 1, pick=do.LATEST)
    return (cancelled, do.book(airline, user, trip, method(airline, user, "credit_card")))


def _four(airline: Airline, user: str) -> _Made:
    booked, card = _booked(airline, user, Wish("economy", 2)), _card(airline, user)
    more = do.bags(airline, booked, 2, card)
    other = add_reservation(airline, user, Wish("basic_economy", 1, created=_JUST_NOW))
    who = _replaced(airline, user, booked)
    return (do.change(airline, booked, card), more, who, do.cancel(other, do.PLANS))


def _ask_bags(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("business", 3))
    return (do.ask_bags(airline, booked),)


def _ask_price(airline: Airline, user: str) -> _Made:
    return (do.ask_price(airline, airline.rng.choice(("economy", "business"))),)


def _ask_and_add(airline: Airline, user: str) -> _Made:
    booked = _booked(airline, user, Wish("economy", 2))
    other = add_reservation(airline, user, Wish("economy", 3))
    return (do.ask_paid(other), do.bags(airline, booked, 7, _card(airline, user)))


#: Topic, difficulty, number of tasks, template. A topic with `regular` is about regular members.
TEMPLATES: tuple[tuple[str, int, int, Template], ...] = (
    ("book", 2, 6, _book),
    ("book a round trip", 3, 2, _book_back),
    ("book with a stop", 3, 2, _book_stop),
    ("book with a certificate", 2, 1, _book_certificate),
    ("price limit, book", 3, 2, _book_within),
    ("change the day", 2, 3, _change),
    ("change the day, id unknown", 3, 2, _change_hidden),
    ("change the way back", 3, 2, _change_back),
    ("price limit, change", 3, 2, _change_within),
    ("price limit kept", 3, 2, _change_below),
    ("cabin", 2, 2, _upgrade),
    ("baggage", 1, 4, _bags),
    ("baggage, id unknown", 2, 2, _bags_hidden),
    ("passengers", 1, 3, _passengers),
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
    ("refusal: one more passenger", 1, 1, _one_more),
    ("refusal: another user's trip", 2, 1, _refused_foreign),
    ("refusal: compensation, regular", 3, 1, _refused_compensation),
    ("refusal, then cancel, regular", 3, 2, _compensation_then_cancel),
    ("change, else cancel", 3, 2, _basic_or_cancel),
    ("cancel, else change", 3, 2, _cancel_or_change),
    ("cancel, else passengers", 3, 1, _cancel_or_passengers),
    ("compensation", 2, 3, _compensation),
    ("compensation and cancel", 3, 2, _compensation_and_cancel),
    ("baggage and passengers", 3, 2, _bags_and_passengers),
    ("cancel and book", 3, 2, _cancel_and_book),
    ("four goals", 3, 1, _four),
    ("question: free bags", 2, 1, _ask_bags),
    ("question: fare", 2, 2, _ask_price),
    ("question, then baggage", 3, 2, _ask_and_add),
)
