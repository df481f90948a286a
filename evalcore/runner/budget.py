"""The money of one run: every answer is paid for, until what is left may not pay for the next.

A request is reserved for before it is sent, by the largest answer that its model gave so far, so
that requests in flight cannot together spend more than the budget. What does not fit waits for
those in flight; where nothing is in flight, the run stops and may be resumed with a larger budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from evalcore.access import policy
from evalcore.errors import BudgetSpent, UsageError
from evalcore.i18n import Note
from evalcore.records import Completion, GenerationRequest, RunSpec, TargetSpec, Usage
from evalcore.settings import Settings
from evalcore.targets.base import TargetInfo
from evalcore.targets.pricing import Quote, build_target_pricer

_CHARACTERS_PER_TOKEN = 4  # that a token stands for, where a server counts none
#: Tokens that the first answer of a model is taken to have where the request sets no limit.
_FIRST_ANSWER = 256

Pricer = Callable[[Usage], Quote]


class RunBudget:
    """`limit` in USD, 0 for no limit. Shared by target, judges and models that play a user."""

    def __init__(self, limit: float = 0.0) -> None:
        self.limit, self.spent, self.reserved = limit, 0.0, 0.0
        self._in_flight = 0
        self._longest: dict[str, int] = {}  # output tokens of an answer so far, by role
        self._dearest: dict[str, float] = {}  # USD of an answer so far, by role
        self._waiting: list[asyncio.Future[None]] = []

    def check_price(self, spec: TargetSpec, info: TargetInfo, settings: Settings) -> None:
        """Raises UsageError for a model whose price is unknown: its cost could not be limited."""
        if not self.limit or info.kind != "endpoint":
            return
        quote = build_target_pricer(info, settings)(Usage(input_tokens=1, output_tokens=1))
        if quote.amount is None:
            if policy.is_restricted(settings):
                raise UsageError(Note("access_price", target=spec.key))
            model = str(info.card.get("model", "")) or spec.key
            raise UsageError(Note("budget_price", target=spec.key, model=model))

    async def reserve(self, role: str, request: GenerationRequest, price: Pricer) -> float:
        """Set aside what a request may cost, in USD, for `settle`. Waits while those in flight may
        need it; raises BudgetSpent where nothing is in flight and the rest is too little."""
        while self.limit:
            amount = self._expect_cost(role, request, price)
            fits = self.spent + self.reserved + amount <= self.limit
            # what the first answer of a model costs is not known: nothing else is in flight then
            if fits and (role in self._longest or not self._in_flight):
                self.reserved += amount
                self._in_flight += 1
                return amount
            if not self._in_flight:
                raise BudgetSpent(
                    Note("budget_spent", spent=f"{self.spent:.4g}", limit=f"{self.limit:g}")
                )
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        return 0.0

    def settle(
        self, role: str, reserved: float, answer: Completion | None, usage: Usage, price: Pricer
    ) -> None:
        """Replace a reservation by what the answer cost, nothing where there was none or it was
        cached; `usage` is what the answer took."""
        if answer is not None and not answer.cached:
            cost = price(usage).amount
            self.record_cost(cost)
            self._dearest[role] = max(self._dearest.get(role, 0.0), cost or 0.0)
        if answer is not None:
            self._longest[role] = max(self._longest.get(role, 0), usage.output_tokens or 0)
        if self.limit:
            self.reserved = max(self.reserved - reserved, 0.0)
            self._in_flight -= 1
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def record_cost(self, cost: float | None) -> None:
        self.spent += cost or 0.0

    def _expect_cost(self, role: str, request: GenerationRequest, price: Pricer) -> float:
        """USD by the length of the prompt and the longest answer so far, within the limit of the
        request; at least what the dearest answer cost."""
        limit = request.sampling.max_tokens
        tokens = self._longest.get(role, _FIRST_ANSWER)
        if limit is not None:
            tokens = min(tokens, limit)
        usage = Usage(input_tokens=count_prompt_tokens(request), output_tokens=tokens)
        return max(price(usage).amount or 0.0, self._dearest.get(role, 0.0))


def limit_budget(run: RunSpec, raised: float | None, settings: Settings) -> float:
    """The budget of a run in USD, 0 for none: that of the run, or the one that it was resumed with;
    for a visitor's at most what the board allows."""
    own = run.budget if raised is None else raised
    if not policy.is_restricted(settings) or not settings.run_budget:
        return own
    return min(own, settings.run_budget) if own else settings.run_budget


def count_prompt_tokens(request: GenerationRequest) -> int:
    """The tokens of a prompt, by its length."""
    texts = (f"{message.content}{message.reasoning}" for message in request.messages)
    tools = sum(len(str(tool)) for tool in request.tools)
    return (sum(map(len, texts)) + tools) // _CHARACTERS_PER_TOKEN


def estimate_usage(request: GenerationRequest, completion: Completion) -> Usage:
    """The tokens of an answer, by the length of the texts where the server tells none."""
    usage = completion.usage
    if usage.input_tokens is not None and usage.output_tokens is not None:
        return usage
    prompt_length = sum(len(message.content) for message in request.messages)
    answer_length = len(completion.text) + len(completion.reasoning)
    return Usage(
        input_tokens=usage.input_tokens or prompt_length // _CHARACTERS_PER_TOKEN,
        output_tokens=usage.output_tokens or answer_length // _CHARACTERS_PER_TOKEN,
        cost=usage.cost,
    )
