"""A panel whose judges say what a test scripts, and the replies they are likely to say."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict

from evalcore.errors import TargetFailure
from evalcore.judges import Question, Rule
from evalcore.records import Completion, Failure, Usage

YES = json.dumps({"answer": "yes", "reason": "same rows"})
NO = json.dumps({"answer": "no", "reason": "a NULL is lost"})
RULES = (Rule("1", "name the columns"), Rule("2", "push the filter down"))
USAGE = Usage(input_tokens=100, output_tokens=10)


def down(message: str = "HTTP 503") -> TargetFailure:
    return TargetFailure(Failure(kind="retryable", message=message, attempts=3))


def picked(*ids: str) -> str:
    return json.dumps({"rules": list(ids), "reason": "seen"})


def question(kind: str = "equivalence", answer: str = "SELECT 1", **more) -> Question:
    options = {"target": "PostgreSQL 9.2", "source": "Oracle 19c", "original": "SELECT 1 FROM dual"}
    if kind == "rules":
        options["rules"] = RULES
    return Question(kind=kind, answer=answer, **(options | more))


class Scripted:
    """An asker. `script` maps a judge to its replies in turn: a text, a failure, or seconds to
    wait before the next; `prices` to USD a reply, unknown where it is missing."""

    epoch = seed = 0

    def __init__(self, script, prices=None):
        self.judges = tuple(script)
        self.prices = dict.fromkeys(script, 0.01) if prices is None else prices
        self.requests = defaultdict(list)
        self._script = {f"judge:{judge}": list(replies) for judge, replies in script.items()}

    async def generate(self, request, role="target"):
        self.requests[role.removeprefix("judge:")].append(request)
        entry = self._script[role].pop(0)
        if isinstance(entry, int | float):
            await asyncio.sleep(entry)
            entry = self._script[role].pop(0)
        if isinstance(entry, Exception):
            raise entry
        return Completion(text=entry, usage=USAGE, latency=0.5)

    def price(self, role, usage):
        assert usage == USAGE
        return self.prices.get(role.removeprefix("judge:"))
