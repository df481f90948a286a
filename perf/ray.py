"""What a cluster costs on one machine: three simulated nodes, one of them killed, and one process.

    python -m perf.ray [--samples 5000]

The same samples against the same server on the loopback, 50 ms, 64 at a time. Printed are wall
seconds and requests of both, how many prompts were asked twice, and the ratios. The cluster is up
before the clock starts; the workers are not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from evalcore.access.secrets import Secrets
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import Options, serve
from tests.support.ray_nodes import start_nodes


def count_answers(folder: RunFolder) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.path.glob("calls/*.jsonl"))


def measure_run(root: Path, samples: int, cluster: Any) -> dict[str, Any]:
    """A run by the cluster, of which one node is killed on the way, or by this process."""
    address = cluster.address if cluster else ""
    settings = Settings(data=str(root / "data"), shipped=str(root / "none"), ray_address=address)
    with serve(Options(latency=0.05)) as server:
        request = RunRequest(
            target="openai:test",
            target_options={"base_url": server.base_url},
            benchmarks=("sql_understanding",),
            dataset=str(syntax_cases(root / "cases", samples)),
            concurrency=64,
            use_cache=False,
            executor="ray" if cluster else "",
        )
        folder = create_folder(plan_run(request, settings), settings)

        def kill_node() -> None:
            while count_answers(folder) < samples // 3:
                time.sleep(0.05)
            cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)

        killer = threading.Thread(target=kill_node, daemon=True) if cluster else None
        started = time.perf_counter()
        if killer:
            killer.start()
        summary = work_on_run(folder, settings, Secrets())
        wall = time.perf_counter() - started
        stats = server.stats()
    score = summary.benchmarks["sql_understanding"]
    return {
        "wall": round(wall, 2),
        "requests": stats["requests"],
        "asked_twice": sum(count > 1 for count in stats["prompts"].values()),
        "score": score.score,
        "coverage": score.coverage,
        "state": summary.state,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=5000)
    samples = parser.parse_args().samples
    os.environ["OPENAI_API_KEY"] = "none"
    with tempfile.TemporaryDirectory() as text:
        root = Path(text)
        single = measure_run(root / "single", samples, None)
        with start_nodes(3, env={"EVALBOARD_NODE_DATA": str(root / "node")}) as cluster:
            spread = measure_run(root / "spread", samples, cluster)
    ratios = {name: round(spread[name] / single[name], 3) for name in ("wall", "requests")}
    print(json.dumps({"single": single, "cluster": spread, "ratios": ratios}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
