"""Asking the panel: every judge at once, each once more if its reply cannot be read."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from evalcore.errors import TargetFailure
from evalcore.judges import prompts, reply, tally
from evalcore.judges.records import Question, Tally, Vote
from evalcore.records import Completion, GenerationRequest, Message, Usage, add_usage

#: Characters of an unreadable reply that the judge is shown again, and that are kept as reason.
_ECHO, _QUOTE = 4_000, 200


class Asker(Protocol):
    """Who asks the judges; limits, retries, cache and journal live behind it."""

    @property
    def judges(self) -> tuple[str, ...]:
        """The panel as specs of targets, such as `openai:MODEL?base_url=...`; empty: no panel."""
        ...

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        """A completion of the model in that role; raises TargetFailure when none can be had."""
        ...

    def price(self, role: str, usage: Usage) -> float | None:
        """USD for one completion of the model in that role, None where unknown."""
        ...


def role(judge: str) -> str:
    """The role under which a judge is asked."""
    return f"judge:{judge}"


async def ask(asker: Asker, question: Question) -> Tally:
    """The votes of all judges and what they amount to; a judge that fails is a vote not cast."""
    messages = prompts.messages(question)
    votes = await asyncio.gather(*(_vote(asker, j, question, messages) for j in asker.judges))
    return tally.count(question, votes)


async def _vote(
    asker: Asker, judge: str, question: Question, messages: tuple[Message, ...]
) -> Vote:
    vote = Vote(judge=judge, vote="abstain")
    for asked in (1, 2):
        vote = msgspec.structs.replace(vote, asked=asked)
        try:
            said = await asker.generate(GenerationRequest(messages=messages), role=role(judge))
        except TargetFailure as error:
            return _failed(vote, error)
        vote = _counted(vote, said, asker.price(role(judge), said.usage))
        found = reply.read(said.text, question)
        if found is not None:
            return msgspec.structs.replace(
                vote, vote=found.vote, rules=found.rules, reason=found.reason
            )
        vote = msgspec.structs.replace(vote, reason=_unreadable(said))
        messages = (*messages, *_again(said, question))
    return vote


def _failed(vote: Vote, error: TargetFailure) -> Vote:
    attempts = vote.attempts + error.failure.attempts
    return msgspec.structs.replace(vote, vote="failed", reason=str(error), attempts=attempts)


def _counted(vote: Vote, said: Completion, price: float | None) -> Vote:
    """The vote with what one more reply took."""
    return msgspec.structs.replace(
        vote,
        cost=None if vote.cost is None or price is None else vote.cost + price,
        usage=add_usage(vote.usage, said.usage),
        latency=vote.latency + said.latency,
        attempts=vote.attempts + said.attempts,
    )


def _again(said: Completion, question: Question) -> tuple[Message, Message]:
    """The reply as it came, and a short reminder of the form."""
    echo = said.text[:_ECHO].strip() or "(no text)"
    return (
        Message(role="assistant", content=echo),
        Message(role="user", content=prompts.reminder(question)),
    )


def _unreadable(said: Completion) -> str:
    text = said.text.strip()
    quoted = text[:_QUOTE] + ("…" if len(text) > _QUOTE else "")
    return f"not in the form asked for: {quoted}" if quoted else "the reply is empty"
