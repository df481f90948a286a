"""The worlds that tau-bench plays in: tools on a database, data from files, reward by state.

No model is asked in here. `load_domain` and `load_tasks` read data, an `Environment` plays one
episode, `compute_reward` scores it.
"""

from evalcore.benchmarks.tau_bench.environment.database import ABSENT as ABSENT
from evalcore.benchmarks.tau_bench.environment.database import Database as Database
from evalcore.benchmarks.tau_bench.environment.database import (
    DatabaseDifference as DatabaseDifference,
)
from evalcore.benchmarks.tau_bench.environment.loaders import list_splits as list_splits
from evalcore.benchmarks.tau_bench.environment.loaders import load_domain as load_domain
from evalcore.benchmarks.tau_bench.environment.loaders import load_tasks as load_tasks
from evalcore.benchmarks.tau_bench.environment.reward import Action as Action
from evalcore.benchmarks.tau_bench.environment.reward import Environment as Environment
from evalcore.benchmarks.tau_bench.environment.reward import Reward as Reward
from evalcore.benchmarks.tau_bench.environment.reward import Task as Task
from evalcore.benchmarks.tau_bench.environment.reward import Write as Write
from evalcore.benchmarks.tau_bench.environment.reward import compute_reward as compute_reward
from evalcore.benchmarks.tau_bench.environment.reward import (
    replay_ground_truth as replay_ground_truth,
)
from evalcore.benchmarks.tau_bench.environment.tools import Domain as Domain
from evalcore.benchmarks.tau_bench.environment.tools import Tool as Tool
