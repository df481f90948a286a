"""Scripted agents for the bundled airline that see only the user's text and what the tools return.

They hold to the policy of the bundled data; its rules are written down here a second time, apart
from those by which the tasks are made.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Generator, Sequence
from typing import Any

from tests.support import tau_agents
from tests.support.tau_episodes import CONFIRMS, Agent, Call, Denied, agreed, ask_all, serve

Row = dict[str, Any]
ASKS = {
    "order": ("What is the reservation id?", "Which reservation is it? Please share its id."),
    "route": ("What are the origin and the destination?", "Which route are you flying?"),
    "date": ("On which date would you like to fly?", "What day do you want to travel?"),
    "flight": ("Which flight would you like?", "Which flight do you prefer?"),
    "cabin": (
        "Which cabin would you like: basic economy, economy or business?",
        "What cabin should it be?",
    ),
    "passengers": (
        "Who are all the passengers?",
        "Please list the passengers with name and date of birth.",
    ),
    "baggage": (
        "How many checked bags should there be in all?",
        "How many checked bags in total, including those you have?",
    ),
    "insurance": ("Would you like travel insurance?", "Should the trip be insured: insurance?"),
    "payment": (
        "Which payment method should I use?",
        "Please specify the credit card, gift card or certificate to use for the payment.",
    ),
    "reason": ("What is the reason?", "May I ask why?"),
    "change": (
        "Which route, what date, which flight and which cabin would you like?",
        "Please tell me the route, the date, your preferred flight, and the cabin.",
    ),
}
_BOOK = ("route", "date", "flight", "cabin", "passengers", "baggage", "insurance", "payment")
SLOTS: dict[str, Sequence[str]] = {
    "book": _BOOK,
    "compensation": ("order",),
    "passengers": ("order", "passengers"),
    "baggage": ("order", "baggage", "payment"),
    "cancel": ("order", "reason"),
    "change": ("order", "change", "payment"),
}
_INTENTS = (
    ("compensation", r"\bcompensat"),
    ("passengers", r"\bpassenger"),
    ("baggage", r"\bbaggage"),
    ("cancel", r"\bcancel"),
    ("book", r"\bbook\b|new booking"),
    ("change", r"\bchange"),
)
_DOES = {
    "book": "book the trip",
    "compensation": "send a certificate",
    "passengers": "update the passengers",
    "baggage": "update the baggage",
    "cancel": "cancel the reservation",
    "change": "change the flights",
}
_TOOLS = {
    "book": "book_reservation",
    "compensation": "send_certificate",
    "passengers": "update_reservation_passengers",
    "baggage": "update_reservation_baggages",
    "cancel": "cancel_reservation",
    "change": "update_reservation_flights",
}
_TODAY, _DAY_AGO = "2024-05-15", "2024-05-14T15:00:00"
_FREE = {"basic_economy": 0, "economy": 1, "business": 2}
_MORE = {"regular": 0, "silver": 1, "gold": 2}
_DATE = re.compile(r"(?<!born )\d{4}-\d\d-\d\d")
_CABIN = re.compile(r"basic economy|economy|business")


class _Desk:
    """What an agent knows in an episode, and how it looks things up."""

    def __init__(self, call: Call, user: Row, user_id: str) -> None:
        self.call, self.user, self.user_id = call, user, user_id

    def look(self, tool: str, **arguments: Any) -> Any:
        return json.loads(self.call(tool, arguments))

    def booked(self, reservation_id: str) -> Row:
        if reservation_id not in self.user["reservations"]:
            raise Denied("this reservation is not among yours")
        row: Row = self.look("get_reservation_details", reservation_id=reservation_id)
        return row

    def on_route(self, text: str) -> Row:
        for name in self.user["reservations"]:
            row = self.booked(name)
            if re.search(rf"{row['origin']} to {row['destination']}", text):
                return row
        raise Denied("there is no such trip")

    def offers(self, origin: str, destination: str, date: str, *, stop: bool) -> list[list[Row]]:
        where = {"origin": origin, "destination": destination, "date": date}
        rows = [[{**row, "date": date}] for row in self.look("search_direct_flight", **where)]
        if stop and not rows:
            rows = self.look("search_onestop_flight", **where)
        return rows

    def gone(self, booked: Row) -> bool:
        """Whether the airline cancelled a flight that is to come."""
        for leg in booked["flights"]:
            offers = self.offers(leg["origin"], leg["destination"], leg["date"], stop=False)
            numbers = [item[0]["flight_number"] for item in offers]
            if leg["date"] > _TODAY and leg["flight_number"] not in numbers:
                return True
        return False

    def nonfree(self, cabin: str, people: int, bags: int) -> int:
        return max(0, bags - people * (_FREE[cabin] + _MORE[self.user["membership"]]))


def competent(call: Call, seed: int) -> Agent:
    """Asks, looks up, holds the wish against the policy, names the price, confirms, writes."""
    pick = random.Random(seed)
    wish = yield ""
    user = outcome = None
    while user is None:
        outcome = re.search(r"[a-z]+_[a-z]+_\d{4}", (yield "What is your user id?"))
        text = call("get_user_details", {"user_id": outcome[0] if outcome else ""})
        user = None if text.startswith("Error") else json.loads(text)
    assert outcome is not None
    desk = _Desk(call, user, outcome[0])

    def act(intent: str) -> Generator[str, str, str]:
        revealed = yield from ask_all(ASKS, SLOTS[intent], pick)
        if "order" in revealed:
            booked = yield from _find(desk, revealed["order"], pick)
            _check(desk, intent, booked, revealed)
            arguments, lines = _PREPARE[intent](desk, booked, revealed)
        else:
            arguments, lines = _booking(desk, revealed)
        question = [f"I will {_DOES[intent]}.", *lines, pick.choice(CONFIRMS)]
        reply = yield from agreed("\n".join(question))
        if reply is None:
            result = call(_TOOLS[intent], arguments)
            if result.startswith("Error"):
                raise Denied(result[7:])
        return reply or ""

    yield from serve(wish, lambda text: _answer(desk, text), _INTENTS, act)


def _find(desk: _Desk, text: str, pick: random.Random) -> Generator[str, str, Row]:
    match = re.search(r"\b(?:[A-Z]\d){3}\b", text)
    if match:
        return desk.booked(match[0])
    return desk.on_route((yield pick.choice(ASKS["route"])))


def _check(desk: _Desk, intent: str, booked: Row, revealed: dict[str, str]) -> None:
    """Raises Denied for what the policy forbids and no tool would stop."""
    insured = booked["insurance"] == "yes"
    if any(leg["date"] <= _TODAY for leg in booked["flights"]):
        raise Denied("a part of the trip has flown")
    if intent == "change" and booked["cabin"] == "basic_economy":
        raise Denied("basic economy stays as it was booked")
    if intent == "compensation":
        entitled = insured or booked["cabin"] == "business" or desk.user["membership"] != "regular"
        if not entitled or not desk.gone(booked):
            raise Denied("the conditions for a certificate are not met")
    if intent == "cancel":
        covered = insured and re.search("illness|weather", revealed["reason"])
        free = booked["cabin"] == "business" or booked["created_at"] >= _DAY_AGO
        if not (free or covered or desk.gone(booked)):
            raise Denied("the conditions for a cancellation are not met")


def _cancelling(desk: _Desk, booked: Row, revealed: dict[str, str]) -> tuple[Row, list[str]]:
    named = {"reservation_id": booked["reservation_id"]}
    return named, [f"Reservation: {booked['reservation_id']}"]


def _compensating(desk: _Desk, booked: Row, revealed: dict[str, str]) -> tuple[Row, list[str]]:
    amount = 100 * len(booked["passengers"])
    lines = [f"Reservation: {booked['reservation_id']}", f"Amount: ${amount}"]
    return {"user_id": desk.user_id, "amount": amount}, lines


def _seating(desk: _Desk, booked: Row, revealed: dict[str, str]) -> tuple[Row, list[str]]:
    named, lines = _cancelling(desk, booked, revealed)
    who = _people(revealed["passengers"])
    if len(who) != len(booked["passengers"]):
        raise Denied("the number of passengers stays as it is")
    return {**named, "passengers": who}, [*lines, f"Passengers: {json.dumps(who)}"]


def _loading(desk: _Desk, booked: Row, revealed: dict[str, str]) -> tuple[Row, list[str]]:
    named, lines = _cancelling(desk, booked, revealed)
    total, payment = _bags(revealed["baggage"]), _payment(revealed)
    nonfree = desk.nonfree(booked["cabin"], len(booked["passengers"]), total)
    cost = 50 * max(0, nonfree - booked["nonfree_baggages"])
    arguments = {"total_baggages": total, "nonfree_baggages": nonfree, "payment_id": payment}
    lines += [f"Bags: {total}", f"You would pay ${cost} with {payment}."]
    return {**named, **arguments}, lines


def _changing(desk: _Desk, booked: Row, revealed: dict[str, str]) -> tuple[Row, list[str]]:
    named, lines = _cancelling(desk, booked, revealed)
    change, payment = revealed["change"], _payment(revealed)
    cabin = _CABIN.search(change)
    new_cabin = cabin[0].replace(" ", "_") if cabin else booked["cabin"]
    route, date = re.search(r"([A-Z]{3}) to ([A-Z]{3})", change), _DATE.search(change)
    flights, people, more = [], len(booked["passengers"]), 0
    for leg in booked["flights"]:
        moved = route and date and (leg["origin"], leg["destination"]) == route.groups()
        if moved and date:
            chosen = _choose(desk, (*route.groups(), date[0]), new_cabin, people, change)[0]
            price = chosen["prices"][new_cabin]
        elif new_cabin != booked["cabin"]:
            where = leg["origin"], leg["destination"], leg["date"]
            offers = desk.offers(*where, stop=False)
            chosen = next(o[0] for o in offers if o[0]["flight_number"] == leg["flight_number"])
            price = chosen["prices"][new_cabin]
        else:
            chosen, price = leg, leg["price"]
        more += (price - leg["price"]) * people
        flights.append({"flight_number": chosen["flight_number"], "date": chosen["date"]})
    lines += [f"Flights: {json.dumps(flights)}"] + ([f"You would pay ${more} more."] * (more > 0))
    return {**named, "cabin": new_cabin, "flights": flights, "payment_id": payment}, lines


_PREPARE = {
    "cancel": _cancelling,
    "compensation": _compensating,
    "passengers": _seating,
    "baggage": _loading,
    "change": _changing,
}


def _booking(desk: _Desk, revealed: dict[str, str]) -> tuple[Row, list[str]]:
    route = re.search(r"([A-Z]{3}) to ([A-Z]{3})( and back)?", revealed["route"])
    cabin, days = _CABIN.search(revealed["cabin"]), _DATE.findall(revealed["date"])
    if route is None or cabin is None or not days:
        raise Denied("something is missing")
    who, in_cabin = _people(revealed["passengers"]), cabin[0].replace(" ", "_")
    ways = [(route[1], route[2], days[0])]
    ways += [(route[2], route[1], days[1])] if route[3] else []
    legs = [_choose(desk, way, in_cabin, len(who), revealed["flight"]) for way in ways]
    flights = [flight for leg in legs for flight in leg]
    short = [{name: flight[name] for name in ("flight_number", "date")} for flight in flights]
    bags = _bags(revealed["baggage"])
    nonfree = desk.nonfree(in_cabin, len(who), bags)
    insured = re.search(r"insurance: yes|yes, as to the insurance", revealed["insurance"], re.I)
    total = sum(flight["prices"][in_cabin] for flight in flights) * len(who) + 50 * nonfree
    total += 30 * len(who) if insured else 0
    arguments = {
        "user_id": desk.user_id,
        "origin": route[1],
        "destination": route[2],
        "flight_type": "round_trip" if route[3] else "one_way",
        "cabin": in_cabin,
        "flights": short,
        "passengers": who,
        "payment_methods": [{"payment_id": _payment(revealed), "amount": total}],
        "total_baggages": bags,
        "nonfree_baggages": nonfree,
        "insurance": "yes" if insured else "no",
    }
    return arguments, [f"Details: {json.dumps(arguments)}", f"The total price is ${total}."]


def _choose(desk: _Desk, way: tuple[str, ...], cabin: str, people: int, expected: str) -> list[Row]:
    """The flights that the user described, with seats for all."""
    origin, destination, date = way
    offers = [
        offer
        for offer in desk.offers(origin, destination, date, stop="one stop" in expected)
        if all(flight["available_seats"][cabin] >= people for flight in offer)
    ]
    if not offers:
        raise Denied("there are no seats on that day")
    offers.sort(key=lambda offer: str(offer[0]["scheduled_departure_time_est"]))
    if "cheapest" in expected:
        offers.sort(key=lambda offer: sum(flight["prices"][cabin] for flight in offer))
    number = re.search(r"\bflight ([A-Z]{3}\d{3})", expected)
    if number:
        return next(offer for offer in offers if offer[0]["flight_number"] == number[1])
    return offers[-1 if "latest" in expected else 0]


def _people(text: str) -> list[Row]:
    matches = re.findall(r"([A-Z]\w+) ([A-Z]\w+), born (\d{4}-\d\d-\d\d)", text)
    return [{"first_name": a, "last_name": b, "dob": c} for a, b, c in matches]


def _bags(text: str) -> int:
    match = re.search(r"(\d+) checked bags", text)
    return int(match[1]) if match else 0


def _payment(revealed: dict[str, str]) -> str:
    match = re.search(r"(?:credit_card|gift_card|certificate)_\d+", revealed["payment"])
    return match[0] if match else ""


def _answer(desk: _Desk, text: str) -> str:
    """The answer to a question of the bundled tasks; empty where the text asks none."""
    if paid := re.search(r"How much did I pay for reservation (\w+)", text):
        history = desk.booked(paid[1])["payment_history"]
        return f"It is ${history[0]['amount']}."
    if bags := re.search(r"for free in all on reservation (\w+)", text):
        booked = desk.booked(bags[1])
        each = _FREE[booked["cabin"]] + _MORE[desk.user["membership"]]
        return f"You can check in {each * len(booked['passengers'])}."
    fare = re.search(r"flight from (\w{3}) to (\w{3}) on (\S+) in ([a-z ]+) for one", text)
    if fare is None:
        return ""
    cabin = fare[4].replace(" ", "_")
    result = _choose(desk, fare.groups()[:3], cabin, 1, "cheapest")
    return f"It is ${result[0]['prices'][cabin]}."


def chatty(call: Call, seed: int) -> Agent:
    """Asks for everything, asks for a yes, and never calls a tool."""
    pick = random.Random(seed)
    lines = ["What is your user id?", *CONFIRMS, *(line for each in ASKS.values() for line in each)]
    yield ""
    while True:
        yield pick.choice(lines)


_WHERE = ("origin", "destination", "date")
NEEDS = {
    "get_user_details": ("user_id",),
    "get_reservation_details": ("reservation_id",),
    "search_direct_flight": _WHERE,
    "search_onestop_flight": _WHERE,
    "list_all_airports": (),
    "calculate": ("expression",),
    "transfer_to_human_agents": ("summary",),
    "cancel_reservation": ("reservation_id",),
    "send_certificate": ("user_id", "amount"),
    "update_reservation_baggages": (
        "reservation_id",
        "total_baggages",
        "nonfree_baggages",
        "payment_id",
    ),
    "update_reservation_passengers": ("reservation_id", "passengers"),
    "update_reservation_flights": ("reservation_id", "cabin", "flights", "payment_id"),
}


def random_calls(call: Call, seed: int) -> Agent:
    """Asks anything, and calls any tool with whatever it has read; numbers are small ones."""
    pick = random.Random(seed)

    def typed(name: str, arguments: Row) -> str:
        for need in ("total_baggages", "nonfree_baggages"):
            arguments |= {need: pick.randrange(6)} if need in arguments else {}
        if "amount" in arguments:
            arguments["amount"] = 100 * pick.randrange(1, 4)
        return call(name, arguments)

    yield from tau_agents.at_random(typed, seed, NEEDS, {**ASKS, "who": ("Your user id?",)})
