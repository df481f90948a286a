"""The benchmark around an agent that serves a simulated user, for tau-bench and tau2-bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.base import NO_FIELDS, Benchmark
from evalcore.benchmarks.tau_bench.conversation import Budgets, ConversationResult, parse_budgets
from evalcore.benchmarks.tau_bench.score import compute_pass_groups, to_episode_state
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Episode, Sample, Verdict
from evalcore.results import BenchmarkScore


class UserBenchmark(Benchmark):
    """Options `use_llm_user`, `user_model` and `split`; the rule user plays what has slots, a model
    any task."""

    confirms_gold = True
    #: What an episode's state holds of a prediction.
    to_state: Callable[[Any], dict[str, Any]] = staticmethod(to_episode_state)

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises UsageError for a limit that is none, and for one of our own under
        protocol=official."""
        super().__init__(options)
        self._budgets = parse_budgets(options, self.key)
        defaults = {option.name: option.default for option in self.card.options}
        limits = Budgets.__struct_fields__
        changed = [name for name in limits if self.options[name] != defaults[name]]
        if self.is_official and changed:
            raise UsageError(Note("tau_official_limits", benchmark=self.key, name=changed[0]))

    def simulated_users(self) -> tuple[str, ...]:
        if not self.options["use_llm_user"]:
            return ()
        model = self.options["user_model"]
        if not model:
            raise UsageError(Note("tau_user_model", benchmark=self.key))
        return (model,)

    def check_playable(self, samples: Sequence[Sample], playable: Sequence[Sample]) -> None:
        """Raises UsageError where a split that was named, or all there is, cannot be played."""
        unplayable = len(samples) - len(playable)
        if unplayable and (self.options["split"] or not playable):
            raise UsageError(
                Note("tau_free_prose", lacking=unplayable, count=len(samples), benchmark=self.key)
            )

    def episode_from_answer(
        self, sample: Sample, prediction: Any, extra_fields: Mapping[str, Any] = NO_FIELDS
    ) -> Episode:
        state = self.to_state(prediction)
        says = state["says"]
        return Episode(
            key=self.generation_key(sample), epoch=0, answer=says[-1] if says else "", state=state
        )

    def aggregate(
        self,
        samples: Sequence[Sample],
        verdicts: Sequence[Verdict],
        weights: Mapping[str, float],
        **score_fields: Any,
    ) -> BenchmarkScore:
        """The score, with pass^k and the score of doing nothing as its groups."""
        benchmark_score = super().aggregate(samples, verdicts, weights, **score_fields)
        groups = compute_pass_groups(samples, verdicts, score_fields.get("epochs", 1))
        return msgspec.structs.replace(benchmark_score, groups=groups)


def build_conversation_episode(
    key: str,
    epoch: int,
    mode: str,
    result: ConversationResult,
    actions: Sequence[Mapping[str, str]],
    own_ends: Sequence[str],
) -> Episode:
    """The episode of a conversation; `own_ends` are those that are no limit."""
    return Episode(
        key=key,
        epoch=epoch,
        answer=result.says[-1] if result.says else "",
        messages=result.messages,
        finish_reason=result.finish_reason,
        termination="" if result.ended in own_ends else result.ended,
        state={
            "mode": mode,
            "actions": list(actions),
            "says": list(result.says),
            "ended": result.ended,
            "parse_errors": result.spent.max_parse_errors,
            "call_readings": result.call_readings,
            "user": result.user,
        },
    )
