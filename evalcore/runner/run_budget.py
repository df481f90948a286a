"""The money of one run that a visitor started: every answer is paid for, until none is left."""

from __future__ import annotations

from evalcore.errors import TargetFailure, UsageError
from evalcore.records import Completion, Failure, GenerationRequest, TargetSpec, Usage
from evalcore.settings import Settings
from evalcore.targets.base import TargetInfo
from evalcore.targets.pricing import build_target_pricer

_CHARACTERS_PER_TOKEN = 4  # that a token stands for, where a server counts none


class RunBudget:
    """`limit` in USD, 0 for no limit. Shared by target, judges and models that play a user."""

    def __init__(self, limit: float = 0.0) -> None:
        self.limit, self.spent = limit, 0.0

    def check_price(self, spec: TargetSpec, info: TargetInfo, settings: Settings) -> None:
        """Raises UsageError for a model whose price is unknown: its cost could not be limited."""
        unit_price = build_target_pricer(info, settings)(
            Usage(input_tokens=1, output_tokens=1)
        ).amount
        if self.limit and info.kind == "endpoint" and unit_price is None:
            raise UsageError(
                f"{spec.key}: its price is unknown, so that a run cannot be kept within the "
                "budget of this board; its operator can add the price, or set run_budget to 0"
            )

    def check_remaining(self) -> None:
        """Raises TargetFailure, which no retry helps, when nothing is left."""
        if self.limit and self.spent >= self.limit:
            message = f"the budget of this run, ${self.limit:g}, is used up"
            raise TargetFailure(Failure(kind="permanent", message=message))

    def record_cost(self, cost: float | None) -> None:
        self.spent += cost or 0.0


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
