"""Several nodes of a Ray cluster on this machine, each with processes of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is absent: pip install -c constraints.txt -e '.[dev]'")

ROOT = str(Path(__file__).resolve().parents[2])


@contextmanager
def start_nodes(count: int, *, gpus: int = 0, env: dict[str, str] | None = None) -> Iterator[Any]:
    """A cluster of a head without CPUs and `count` nodes with one; `nodes` lists them. Its
    processes inherit `env` and find this package."""
    from ray._private import ray_constants
    from ray.cluster_utils import Cluster

    ray_constants.ENABLE_RAY_CLUSTER = False  # all on the loopback, whatever other addresses say
    before = dict(os.environ)
    os.environ.update(env or {})
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, before.get("PYTHONPATH"))))
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before.get("PATH", "")])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # the same, for those who join later
    cluster = None
    try:
        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        cluster.nodes = [cluster.add_node(num_cpus=1, num_gpus=gpus) for _ in range(count)]
        yield cluster
    finally:
        if cluster is not None:
            cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)
