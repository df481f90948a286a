"""The worlds that tau-bench plays in: tools on a database, data from files, reward by state.

No model is asked in here. `load_domain` and `load_tasks` read data, an `Environment` plays one
episode, `reward` scores it.
"""

from evalcore.benchmarks.tau_bench.environment.database import ABSENT, Database, Difference
from evalcore.benchmarks.tau_bench.environment.load import load_domain, load_tasks, splits
from evalcore.benchmarks.tau_bench.environment.play import Environment, Write
from evalcore.benchmarks.tau_bench.environment.reward import Reward, reward, truth
from evalcore.benchmarks.tau_bench.environment.task import Action, Task
from evalcore.benchmarks.tau_bench.environment.tool import Domain, Tool

__all__ = [
    "ABSENT",
    "Action",
    "Database",
    "Difference",
    "Domain",
    "Environment",
    "Reward",
    "Task",
    "Tool",
    "Write",
    "load_domain",
    "load_tasks",
    "reward",
    "splits",
    "truth",
]
