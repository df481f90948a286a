"""The worlds that tau-bench plays in: tools on a database, data from files, reward by state.

No model is asked in here. `load_domain` and `load_tasks` read data, an `Environment` plays one
episode, `compute_reward` scores it.
"""

from evalcore.benchmarks.tau_bench.environment.database import ABSENT, Database, DatabaseDifference
from evalcore.benchmarks.tau_bench.environment.load import list_splits, load_domain, load_tasks
from evalcore.benchmarks.tau_bench.environment.play import Environment, Write
from evalcore.benchmarks.tau_bench.environment.reward import (
    Reward,
    compute_reward,
    replay_ground_truth,
)
from evalcore.benchmarks.tau_bench.environment.task import Action, Task
from evalcore.benchmarks.tau_bench.environment.tool import Domain, Tool

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
