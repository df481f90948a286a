"""Who plays the user of tau_bench: `rule`, deterministic and without a model."""

from __future__ import annotations

from evalcore.benchmarks.tau_bench.users.goals import Goal, Item, Scenario, from_slots, to_slots
from evalcore.benchmarks.tau_bench.users.rule import RuleUser
from evalcore.benchmarks.tau_bench.users.state import User, UserState

__all__ = ["Goal", "Item", "RuleUser", "Scenario", "User", "UserState", "from_slots", "to_slots"]
