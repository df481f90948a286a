"""The worlds that tau-bench plays in: tools on a database, data from files, reward by state.

No model is asked in here. `load_domain` and `load_tasks` read data, an `Environment` plays one
episode, `compute_reward` scores it.
"""

from evalcore.benchmarks.tau_bench.environment.database import ABSENT, Database, DatabaseDifference
from evalcore.benchmarks.tau_bench.environment.loaders import list_splits, load_domain, load_tasks
from evalcore.benchmarks.tau_bench.environment.reward import (
    Action,
    Environment,
    Reward,
    Task,
    Write,
    compute_reward,
    replay_ground_truth,
)
from evalcore.benchmarks.tau_bench.environment.tools import Domain, Tool

__all__ = [
    "ABSENT",
    "Action",
    "Database",
    "DatabaseDifference",
    "Domain",
    "Environment",
    "Reward",
    "Task",
    "Tool",
    "Write",
    "compute_reward",
    "list_splits",
    "load_domain",
    "load_tasks",
    "replay_ground_truth",
]
