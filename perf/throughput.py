"""The whole command against a bare client loop over the same requests, in the same run.

    python -m perf.throughput [--samples 2000]

Part 1: unique prompts, an empty cache, exact-match scorer, one journal line per call, generation
and verdict, 50 ms loopback server, concurrency 64. `evalcore run` is started as a process, answers
streamed and whole, beside a program of plain aiohttp that keeps nothing (`bare`, a process too) and
its loop alone, imports paid before the clock (`bare_loop`); reported are wall seconds, CPU
milliseconds a sample, and their ratios. `one` is a run of one sample.
Part 2: a server limited to 200 requests a second, unknown to the client: wall time (ideal 10 s for
2,000 samples), refused requests, samples lost.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore.benchmarks.base import Benchmark, Context, DatasetSource
from evalcore.catalog import BenchmarkCard, MetricCard
from evalcore.records import Completion, Episode, Message, Sample, Verdict
from perf.bare_client import CONCURRENCY, run_loop

CARD = BenchmarkCard(
    key="addition",
    suite="sql",
    implementation="perf.throughput:Addition",
    metrics=(MetricCard(key="sum", weight=1),),
)


class Addition(Benchmark):
    """`Compute A + B`, scored by exact match: as little work of its own as a benchmark can have."""

    card = CARD

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        count = int(Path(source.path).read_text(encoding="utf-8"))
        return [
            Sample(
                metric="sum",
                id=str(number),
                input={"prompt": f"Compute {number} + {number * 7 % 1000}"},
                reference={"answer": str(number + number * 7 % 1000)},
            )
            for number in range(count)
        ]

    def build_prompt(self, sample: Sample) -> list[Message]:
        return [Message(role="user", content=sample.input["prompt"])]

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        right = episode.answer.strip() == sample.reference["answer"]
        return Verdict(
            metric="sum",
            id=sample.id,
            epoch=episode.epoch,
            outcome="passed" if right else "failed",
            score=float(right),
        )

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        return Completion(text=sample.reference["answer"] if kind == "reference" else "")


def bare_command(base_url: str, count: int) -> dict[str, Any]:
    """The bare client as a process of its own, from its start to its end."""
    program = Path(__file__).with_name("bare_client.py")
    return measure_process([sys.executable, str(program), base_url, "--samples", str(count)], count)


def measure_process(
    words: Sequence[str],
    count: int,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What a command took from its start to its end, and the JSON that it printed."""
    wall = time.perf_counter()
    process = subprocess.Popen(
        words, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE
    )
    output = process.stdout.read() if process.stdout else b""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "wall": time.perf_counter() - wall,
        "cpu_ms": (used.ru_utime + used.ru_stime) * 1000 / count,
        "output": json.loads(output),
    }


def command(base_url: str, count: int, data: Path, *, stream: bool = True) -> dict[str, Any]:
    """`evalcore run` as a process of its own, from its start to its end."""
    data = Path(tempfile.mkdtemp(dir=data))  # so that no answer comes from the cache
    size = data / "count.txt"
    size.write_text(str(count), encoding="utf-8")
    words = [sys.executable, "-m", "perf.throughput", "--command", "run", "--target", "openai:test"]
    words += ["--target-option", f"base_url={base_url}", "--target-option", f"stream={stream}"]
    words += ["--benchmarks", CARD.key, "--dataset", str(size), "--concurrency", str(CONCURRENCY)]
    words += ["--json"]
    taken = measure_process(words, count, {"EVALBOARD_DATA": str(data), "OPENAI_API_KEY": "none"})
    score = taken.pop("output")["benchmarks"][CARD.key]
    return taken | {"score": score["score"], "coverage": score["coverage"]}


def measure(count: int) -> dict[str, Any]:
    from tests.support.loopback_server import Options, serve  # not a part of the command

    result: dict[str, Any] = {"samples": count, "concurrency": CONCURRENCY}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        with serve(Options(latency=0.05)) as server:
            run_loop(server.base_url, 64)  # imports are paid before the clock
            loop = run_loop(server.base_url, count)
            floor = bare_command(server.base_url, count)
            whole = command(server.base_url, count, data, stream=False)
            streamed = command(server.base_url, count, data)
            single = command(server.base_url, 1, data)
        result["unlimited"] = {
            "bare": floor,
            "bare_loop": loop,
            "whole": whole,
            "streamed": streamed,
            "one": single,
            "wall_ratio": whole["wall"] / floor["wall"],
            "cpu_ratio": whole["cpu_ms"] / floor["cpu_ms"],
            "wall_ratio_to_loop": whole["wall"] / loop["wall"],
            "cpu_ratio_to_loop": whole["cpu_ms"] / loop["cpu_ms"],
            "streamed_to_whole": streamed["cpu_ms"] / whole["cpu_ms"],
            "streamed_wall_ratio": streamed["wall"] / floor["wall"],
        }
        with serve(Options(latency=0.05, rate_limit=200)) as server:
            limited = command(server.base_url, count, data)
            stats = server.stats()
        ideal = count / 200
        result["limited"] = {
            **limited,
            "ideal": ideal,
            "wall_ratio": limited["wall"] / ideal,
            "refused_share": stats["refused"] / stats["requests"],
            "lost": round(count * (1 - limited["coverage"])),
        }
    return result


def main() -> int:
    catalog.benchmark_cards()[CARD.key] = CARD
    if sys.argv[1:2] == ["--command"]:
        from evalcore.cli.main import main as run_command

        return run_command(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    print(json.dumps(measure(parser.parse_args().samples), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
