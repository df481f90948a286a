"""The rule user of a bank: wants some things done in turn, proves who they are, tells details when
asked, and uses a tool of their own once the agent has given it.

A wish is over when the records show the call that fulfils it, whatever the agent says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.tau2_bench.environment.world import Environment
from evalcore.benchmarks.tau_bench.user_goals import convert_slots
from evalcore.benchmarks.tau_bench.user_lexicon import STOP
from evalcore.records import Record

#: The slot that tells a scenario of this user from others.
BANK_SLOT = "wishes"
#: Turns in a row that bring nothing new, before the user gives up.
PATIENCE = 5
#: What is read of a message: an agent may write without end.
MAX_TEXT = 20_000
_HAND_OVER = "transfer_to_human_agents"


class Wish(Record, frozen=True, forbid_unknown_fields=True):
    """What the user wants in a sentence, the details by topic, and the hidden tool whose call
    fulfils it; with `arguments` it is a tool of the user's own, which they call."""

    text: str
    tool: str
    details: dict[str, str] = {}
    arguments: dict[str, Any] | None = None


class BankScenario(Record, frozen=True, forbid_unknown_fields=True):
    """Who the user is, by topic, and what they want in turn."""

    identity: dict[str, str]
    wishes: tuple[Wish, ...]


_HELLO = ("Hello, I have a request.", "Hi, I need something done.")
_NEXT = ("Thanks. There is one more thing:", "Good. Next:")
_BYE = ("Thank you, that is all.", "Great, goodbye.")
_AGAIN = ("I still want this:", "My wish has not changed:")
_GIVES_UP = ("I will leave it for now.", "Then I will try another time.")
_UNKNOWN = "I do not know that."

_IDENTITY: tuple[tuple[str, str], ...] = (
    (r"\bname\b", "name"),
    (r"date of birth|\bdob\b|birthday|born", "birth"),
    (r"\bphone\b", "phone"),
    (r"e-?mail", "email"),
    (r"\b(?:home|mailing|your) address\b|where do you live", "address"),
    (r"\buser id\b|customer (?:id|number)|account number", "id"),
)
_ALL_IDENTITY = re.compile(r"verify|identif|identity|who (?:are you|am i)", re.I)
_DETAILS: tuple[tuple[str, str], ...] = (
    (r"how much|amount|\bsum\b|\blimit\b", "amount"),
    (r"\bwhy\b|reason|what happened", "reason"),
    (r"address|\bship|\bsend|deliver(?:ed|y)? to", "address"),
    (r"delivery|how (?:fast|quick)|shipping option", "delivery"),
    (r"design", "design"),
    (r"which card|what card|\bcard\b", "card"),
    (r"which account|what account|\baccounts?\b|\bfrom\b|\binto\b", "account"),
    (r"transaction|purchase|merchant|\bcharge\b", "transaction"),
)
_WANTS_MORE = re.compile(
    r"\bdetails?\b|tell me more|more information|how can i help|what (?:do|would) you (?:want|like)"
    r"|what exactly|anything else i should know",
    re.I,
)
_QUESTION = re.compile(r"\?|\b(?:please|provide|need|give me|tell me|let me know)\b", re.I)
_PROPOSES = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\bwould you like\b|\bdo you want\b|\bconfirm\b"
    r"|\bproceed\b|\bis (?:it|that) (?:ok|okay|correct|right|all right|fine)\b|\bdo you agree\b",
    re.I,
)


_ASKS_FOR = re.compile(r"\b(?:may|can|could) (?:i|we) (?:have|get|ask|know)\b", re.I)


class BankUser:
    """The deterministic user of a bank. The seed selects wordings alone."""

    def __init__(self, slots: Mapping[str, Any], environment: Environment, seed: int) -> None:
        """Raises UsageError for slots that are not of such a user."""
        self._scenario, self._environment = convert_slots(slots, BankScenario), environment
        self._seed = seed
        self._turns = self._idle = self._unrecognised = self._current = 0
        self._ending = ""
        self._told: set[str] = set()
        self._trace: list[dict[str, Any]] = []

    async def open(self) -> str:
        return f"{self._choose(_HELLO)} {self._scenario.wishes[0].text}"

    async def reply(self, text: str, writes: Sequence[Any]) -> tuple[str, bool]:
        self._turns += 1
        message = self._answer(text[:MAX_TEXT])
        if self._idle >= PATIENCE and not self._ending:
            message = self._end(self._choose(_GIVES_UP), "given_up")
        self._trace.append({"wish": self._current, "idle": self._idle})
        return message, bool(self._ending)

    def to_dict(self) -> dict[str, Any]:
        goals = [
            {
                "kind": "bank",
                "order": wish.tool,
                "progress": "written" if at < self._current else self._ending or "open",
            }
            for at, wish in enumerate(self._scenario.wishes)
        ]
        return {
            "user_turns": self._turns,
            "unrecognised": self._unrecognised,
            "ending": self._ending,
            "goals": goals,
            "trace": self._trace,
        }

    def _choose(self, lines: Sequence[str]) -> str:
        return lines[(self._seed + self._turns) % len(lines)]

    def _answer(self, text: str) -> str:
        acted = self._use_own_tool()
        advanced = self._advance()
        if advanced:
            self._idle = 0
            if self._current == len(self._scenario.wishes):
                return self._end(" ".join(filter(None, (acted, self._choose(_BYE)))), "satisfied")
            wish = self._scenario.wishes[self._current]
            return " ".join(filter(None, (acted, self._choose(_NEXT), wish.text)))
        if acted:
            return acted
        if any(call.name == _HAND_OVER for call in self._environment.calls):
            return self._end(self._choose(_BYE), "transferred")
        return self._tell(text)

    def _use_own_tool(self) -> str:
        """Call a tool that was given for the wish at hand, once."""
        wish = self._scenario.wishes[self._current]
        if wish.arguments is None or f"called {self._current}" in self._told:
            return ""
        rows = self._environment.state.agent.rows("user_discoverable_tools")
        if not any(row.get("tool_name") == wish.tool for _, row in rows):
            return ""
        self._told.add(f"called {self._current}")
        arguments = json.dumps(wish.arguments)
        kwargs = {"discoverable_tool_name": wish.tool, "arguments": arguments}
        return self._environment.call("call_discoverable_user_tool", kwargs, "user")

    def _advance(self) -> bool:
        """Pass over the wishes that the records show as fulfilled."""
        before = self._current
        wishes = self._scenario.wishes
        while self._current < len(wishes) and self._is_fulfilled(self._current):
            self._current += 1
        return self._current > before

    def _is_fulfilled(self, at: int) -> bool:
        wish = self._scenario.wishes[at]
        if wish.arguments is not None:
            return f"called {at}" in self._told
        due = sum(each.tool == wish.tool for each in self._scenario.wishes[: at + 1])
        made = sum(
            write.tool == wish.tool or write.kwargs.get("agent_tool_name") == wish.tool
            for write in self._environment.writes
        )
        return bool(made >= due)

    def _tell(self, text: str) -> str:
        wish = self._scenario.wishes[self._current]
        answers = self._collect_answers(text, wish) if _QUESTION.search(text) else {}
        proposes = bool(_PROPOSES.search(text)) and not _ASKS_FOR.search(text)
        fresh = {f"{self._current} {slot}" for slot in answers} - self._told
        if answers and (fresh or not proposes):
            self._told |= fresh
            self._idle = 0 if fresh else self._idle + 1
            first = ("Yes, please.",) if proposes else ()
            return " ".join(dict.fromkeys((*first, *answers.values())))
        self._idle += 1
        if proposes:
            return "Yes, please."
        self._unrecognised += not _QUESTION.search(text)
        return f"{self._choose(_AGAIN)} {wish.text}"

    def _collect_answers(self, text: str, wish: Wish) -> dict[str, str]:
        """What the agent asks for, by topic: of the user, then of the wish."""
        identity = self._scenario.identity
        if _ALL_IDENTITY.search(text) and not any(
            re.search(words, text, re.I) for words, _ in _IDENTITY
        ):
            return {slot: identity[slot] for slot in ("name", "birth") if slot in identity}
        answers = {
            slot: wish.details[slot]
            for words, slot in _DETAILS
            if slot in wish.details and re.search(words, text, re.I)
        }
        asked = [slot for words, slot in _IDENTITY if re.search(words, text, re.I)]
        if not answers:
            answers = {slot: identity.get(slot, _UNKNOWN) for slot in asked}
        if not answers and _WANTS_MORE.search(text):
            answers = dict(wish.details)
        return answers

    def _end(self, line: str, ending: str) -> str:
        self._ending = ending
        return f"{line} {STOP}"
