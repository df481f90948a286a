"""The rule user with a phone: describes what does not work, does what the agent asks, and reports
what the phone shows.

They never act on their own and never judge by the agent's words: they are content when the phone
does what their scenario wants of it, and hand over what they know only when asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.tau2_bench.environment.reward import check_assertion
from evalcore.benchmarks.tau2_bench.environment.tasks import Assertion
from evalcore.benchmarks.tau2_bench.environment.telecom_phone import read_device
from evalcore.benchmarks.tau2_bench.environment.world import Environment
from evalcore.benchmarks.tau2_bench.phone_requests import (
    MAX_TEXT,
    PhoneRequest,
    describe_switch,
    find_switched_field,
    parse_requests,
)
from evalcore.benchmarks.tau_bench.user_goals import convert_slots
from evalcore.benchmarks.tau_bench.user_lexicon import STOP
from evalcore.records import Record

#: The slot that tells a scenario of this user from others.
PHONE_SLOT = "complaint"
#: Turns in a row that bring nothing new, before the user gives up.
PATIENCE = 5
_HAND_OVER = "transfer_to_human_agents"


class PhoneScenario(Record, frozen=True, forbid_unknown_fields=True):
    """What the user knows and wants. `goal` has to hold on the phone, `check` is the tool that
    shows whether it does; `agrees` are the answers to what the agent may propose, by topic, and
    `refuel_gb` the data they would pay for. `questions` are asked once the phone works."""

    identity: dict[str, str]
    complaint: str
    goal: tuple[Assertion, ...]
    check: str
    place: str = ""
    agrees: dict[str, bool] = {}
    refuel_gb: float = 0.0
    questions: tuple[str, ...] = ()


_HELLO = ("Hi, I need help with my phone.", "Hello, my phone does not work as it should.")
_WORKS = ("That works now.", "Now it works, thank you.")
_BYE = ("Thank you, that is all.", "Great, thanks for your help.")
_STILL = ("It still does not work.", "The problem is still there.")
_LOST = (
    "I am not sure what you mean. What should I do or check on my phone?",
    "Sorry, I do not follow. Which setting should I look at or change?",
)
_GIVES_UP = ("I will leave it for now.", "This leads nowhere, I will try another time.")
_UNKNOWN = "I do not know that."

_ASKS: tuple[tuple[str, str], ...] = (
    (r"\b(?:full |your )?name\b", "name"),
    (r"phone number|number of (?:your|the) line|your number", "phone"),
    (r"date of birth|\bdob\b|birthday|born", "dob"),
    (r"where are you|abroad|travel|which country|location", "place"),
    (r"customer id|account number|customer number", "customer_id"),
)
_PROPOSES = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\bwould you like\b|\bdo you want\b"
    r"|\bis (?:it|that) (?:ok|okay|all right|fine)\b|\bdo you (?:agree|accept)\b"
    r"|\b(?:confirm|consent|proceed)\b"
    r"|\bare you (?:ok|okay|willing)\b|\bwill you\b",
    re.I,
)
_TOPICS: tuple[tuple[str, str], ...] = (
    (r"refuel|top[- ]?up|add(?:ing)? (?:\S+ )?(?:gb|data)|extra data|more data|\bgb\b", "refuel"),
    (r"\bpay|\bbill\b|payment", "payment"),
    (r"\bplan\b", "plan"),
    (r"roam", "roaming"),
    (r"resume|reactivat|unsuspend|lift", "resume"),
    (r"transfer|human|colleague|hand you over", "transfer"),
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:gb|gigabytes?)", re.I)
_CLAIMS = re.compile(
    r"\b(?:fixed|resolved|solved|done|works? now|working now|should (?:now )?work|try (?:it )?again"
    r"|anything else|all set|better now)\b",
    re.I,
)
_ASKS_PROBLEM = re.compile(
    r"\b(?:how (?:can|may) i help"
    r"|what(?:'s| is) (?:the )?(?:problem|issue|wrong|happening|going on)"
    r"|describe|tell me more|more details?|what happens|what seems)\b",
    re.I,
)
_REQUESTS = re.compile(r"\b(?:please|need|provide|give me|may i)\b", re.I)


class PhoneUser:
    """The deterministic user with a phone. The seed selects wordings alone."""

    def __init__(self, slots: Mapping[str, Any], environment: Environment, seed: int) -> None:
        """Raises UsageError for slots that are not of such a user."""
        self._scenario, self._environment = convert_slots(slots, PhoneScenario), environment
        self._seed = seed
        self._turns = self._idle = self._unrecognised = self._asked = 0
        self._ending = ""
        self._told: set[str] = set()
        self._trace: list[dict[str, Any]] = []

    async def open(self) -> str:
        return f"{self._choose(_HELLO)} {self._scenario.complaint}"

    async def reply(self, text: str, writes: Sequence[Any]) -> tuple[str, bool]:
        self._turns += 1
        text = text[:MAX_TEXT]
        requests = parse_requests(text, list(read_device(self._environment.state)["app_statuses"]))
        message = self._perform(requests) if requests else self._answer(text)
        if self._idle >= PATIENCE and not self._ending:
            message = self._end(self._choose(_GIVES_UP), "given_up")
        self._trace.append(
            {"requests": [request.tool for request in requests], "works": self._has_reached_goal()}
        )
        return message, bool(self._ending)

    def to_dict(self) -> dict[str, Any]:
        progress = "written" if self._has_reached_goal() else self._ending or "open"
        return {
            "user_turns": self._turns,
            "unrecognised": self._unrecognised,
            "ending": self._ending,
            "goals": [{"kind": "repair", "order": self._scenario.check, "progress": progress}],
            "trace": self._trace,
        }

    def _choose(self, lines: Sequence[str]) -> str:
        return lines[(self._seed + self._turns) % len(lines)]

    def _has_reached_goal(self) -> bool:
        return all(check_assertion(self._environment, each) for each in self._scenario.goal)

    def _perform(self, requests: Sequence[PhoneRequest]) -> str:
        """Do what is asked and report it. Looking twice at what has not changed is idle."""
        had_worked = self._has_reached_goal()
        writes_before = len(self._environment.writes)
        results = [self._perform_request(request) for request in requests]
        fresh = {*results} - self._told or len(self._environment.writes) > writes_before
        self._told |= {*results}
        self._idle = 0 if fresh else self._idle + 1
        if self._has_reached_goal() and not had_worked:
            results.append(self._choose(_WORKS))
        return "\n".join(results)

    def _perform_request(self, request: PhoneRequest) -> str:
        device = read_device(self._environment.state)
        field = find_switched_field(request.tool)
        if field and request.wanted is not None and device[field] == request.wanted:
            return describe_switch(request.tool, device)
        return self._environment.call(request.tool, request.kwargs, "user")

    def _answer(self, text: str) -> str:
        """Answer words that ask for nothing on the phone."""
        if any(call.name == _HAND_OVER for call in self._environment.calls):
            return self._end(self._choose(_BYE), "transferred")
        known = self._tell_known(text)
        if known:
            return known
        if _PROPOSES.search(text) and (answer := self._answer_proposal(text)):
            return answer
        if self._has_reached_goal():
            return self._ask_next_question()
        if _ASKS_PROBLEM.search(text):
            self._idle += 1
            return self._scenario.complaint
        if _CLAIMS.search(text):
            self._idle += 1
            shown = self._environment.call(self._scenario.check, {}, "user")
            return f"{self._choose(_STILL)} {shown}"
        self._idle += 1
        self._unrecognised += 1
        return f"{self._choose(_LOST)} {self._scenario.complaint}"

    def _tell_known(self, text: str) -> str:
        """What the agent asks for about the user; only a question asks."""
        if "?" not in text and not _REQUESTS.search(text):
            return ""
        asked = [slot for words, slot in _ASKS if re.search(words, text, re.I)]
        if not asked:
            return ""
        values = {**self._scenario.identity, "place": self._scenario.place or "I am at home."}
        lines = [values.get(slot, _UNKNOWN) for slot in asked]
        fresh = {f"slot {slot}" for slot in asked} - self._told
        self._told |= fresh
        self._idle = 0 if fresh else self._idle + 1
        return " ".join(lines)

    def _answer_proposal(self, text: str) -> str:
        self._idle += 1
        for words, topic in _TOPICS:
            if re.search(words, text, re.I):
                return self._answer_topic(topic, text)
        return ""

    def _answer_topic(self, topic: str, text: str) -> str:
        if topic != "refuel":
            agrees = self._scenario.agrees.get(topic, topic != "plan")
            return "Yes, please." if agrees else "No, I do not want that."
        wanted = self._scenario.refuel_gb
        if not wanted:
            return "No, I do not want to pay for more data."
        amounts = {float(amount) for amount in _AMOUNT.findall(text)}
        if amounts and wanted not in amounts:
            return f"No, only {wanted:g} GB."
        return "Yes, please." if amounts else f"Yes, {wanted:g} GB, please."

    def _ask_next_question(self) -> str:
        if self._asked < len(self._scenario.questions):
            self._asked += 1
            return self._scenario.questions[self._asked - 1]
        return self._end(self._choose(_BYE), "satisfied")

    def _end(self, line: str, ending: str) -> str:
        self._ending = ending
        return f"{line} {STOP}"
