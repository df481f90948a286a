"""Episodes of tau-bench with scripted agents, and what such agents have in common.

An agent is a generator: it is sent the user's text, calls tools by `call(name, arguments)` and
yields its next message.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evalcore.benchmarks.tau_bench.environment import Domain, Environment, Task
from evalcore.benchmarks.tau_bench.user_simulators import RuleUser, UserState

#: Messages of an agent in one episode, as tau-bench limits them.
MOST_TURNS = 60
Call = Callable[[str, dict[str, Any]], str]
Agent = Generator[str, str, None]
MakeAgent = Callable[[Call, int], Agent]

CONFIRMS = (
    "Do you confirm (yes/no)?",
    "Shall I proceed?",
    "Is that correct? Please reply yes to go ahead.",
    "Would you like me to go ahead with this?",
)


class Played(NamedTuple):
    """An episode: `lines` are (who, text) in order, `said` what the agent said."""

    environment: Environment
    state: UserState
    lines: list[tuple[str, str]]

    @property
    def agent_texts(self) -> list[str]:
        return [text for who, text in self.lines if who == "agent"]


def play(domain: Domain, task: Task, make: MakeAgent, seed: int) -> Played:
    """An episode of the rule user with a scripted agent, in a fresh environment."""
    environment, user = Environment(domain), RuleUser()
    state = user.open(task, seed)
    agent = make(environment.call, seed)
    next(agent)
    lines = [("user", state.last_message)]
    for _ in range(MOST_TURNS):
        lines.append(("agent", agent.send(state.last_message)))
        if environment.terminated:
            break
        text, state, done = user.reply(state, lines[-1][1], environment.writes)
        lines.append(("user", text))
        if done:
            break
    return Played(environment, state, lines)


class Denied(Exception):
    """What the user wants is against the policy, or a tool would refuse it; the text says why."""


#: A wish that is not the one that was just refused.
_NEXT = re.compile(r"something else|In that case|let us do this|one more thing|Next:|Then also")
_TOO_MUCH = re.compile(r"more than I want to pay|too expensive|Too much")


def serve(
    wish: str,
    answer: Callable[[str], str],
    intents: Iterable[tuple[str, str]],
    act: Callable[[str], Generator[str, str, str]],
) -> Agent:
    """Wish by wish: answers questions, acts on intents, and stays with what it refused. `act`
    returns the new wish of a user who drops the present one, or an empty text when it is done."""
    denied = reason = ""
    while True:
        reply = answer(wish)
        intent = next((name for name, words in intents if re.search(words, wish)), "")
        if reply or not intent:
            wish = yield reply or "What can I do for you?"
            continue
        if intent != denied or _NEXT.search(wish):
            try:
                dropped, denied = (yield from act(intent)), ""
            except Denied as error:
                denied, reason = intent, str(error)
            else:
                wish = dropped or (
                    yield "That has been done. Is there anything else I can help you with?"
                )
                continue
        wish = yield f"I am sorry, but that is not possible: {reason}."


def agreed(question: str) -> Generator[str, str, str | None]:
    """None after a yes, the text of a user for whom it is too dear, an empty text after a no."""
    reply = yield question
    if reply.startswith("Yes"):
        return None
    return reply if _TOO_MUCH.search(reply) else ""


def ask_all(
    asks: Mapping[str, Sequence[str]], slots: Sequence[str], pick: random.Random
) -> Generator[str, str, dict[str, str]]:
    """What the user tells for each slot, asked one by one or all at once."""
    if pick.random() < 0.3:
        text = yield " ".join(pick.choice(asks[slot]) for slot in slots)
        return dict.fromkeys(slots, text)
    fields = {}
    for slot in slots:
        fields[slot] = yield pick.choice(asks[slot])
    return fields
