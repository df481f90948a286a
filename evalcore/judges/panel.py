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


class JudgeClient(Protocol):
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


def build_judge_role(judge: str) -> str:
    """The role under which a judge is asked."""
    return f"judge:{judge}"


async def ask_panel(client: JudgeClient, question: Question) -> Tally:
    """The votes of all judges and what they amount to; a judge that fails is a vote not cast."""
    messages = prompts.build_judge_messages(question)
    votes = await asyncio.gather(
        *(_request_vote(client, j, question, messages) for j in client.judges)
    )
    return tally.tally_votes(question, votes)


async def _request_vote(
    client: JudgeClient, judge: str, question: Question, messages: tuple[Message, ...]
) -> Vote:
    vote = Vote(judge=judge, vote="abstain")
    for attempt in (1, 2):
        vote = msgspec.structs.replace(vote, asked=attempt)
        try:
            completion = await client.generate(
                GenerationRequest(messages=messages), role=build_judge_role(judge)
            )
        except TargetFailure as error:
            return _build_failed_vote(vote, error)
        vote = _add_completion_usage(
            vote, completion, client.price(build_judge_role(judge), completion.usage)
        )
        parsed = reply.parse_judge_reply(completion.text, question)
        if parsed is not None:
            return msgspec.structs.replace(
                vote, vote=parsed.vote, rules=parsed.rules, reason=parsed.reason
            )
        vote = msgspec.structs.replace(vote, reason=_describe_unreadable_reply(completion))
        messages = (*messages, *_build_retry_messages(completion, question))
    return vote


def _build_failed_vote(vote: Vote, error: TargetFailure) -> Vote:
    attempts = vote.attempts + error.failure.attempts
    return msgspec.structs.replace(vote, vote="failed", reason=str(error), attempts=attempts)


def _add_completion_usage(vote: Vote, completion: Completion, price: float | None) -> Vote:
    """The vote with what one more reply took."""
    return msgspec.structs.replace(
        vote,
        cost=None if vote.cost is None or price is None else vote.cost + price,
        usage=add_usage(vote.usage, completion.usage),
        latency=vote.latency + completion.latency,
        attempts=vote.attempts + completion.attempts,
    )


def _build_retry_messages(completion: Completion, question: Question) -> tuple[Message, Message]:
    """The reply as it came, and a short reminder of the form."""
    echo = completion.text[:_ECHO].strip() or "(no text)"
    return (
        Message(role="assistant", content=echo),
        Message(role="user", content=prompts.build_format_reminder(question)),
    )


def _describe_unreadable_reply(completion: Completion) -> str:
    text = completion.text.strip()
    quoted = text[:_QUOTE] + ("…" if len(text) > _QUOTE else "")
    return f"not in the form asked for: {quoted}" if quoted else "the reply is empty"
