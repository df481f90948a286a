"""Our runner against a bare client loop over the same transport, in the same run.

    python -m perf.throughput [--samples 2000]

Part 1: unique prompts, cache off, exact-match scorer, one journal line per call, generation and
verdict, 50 ms loopback server, concurrency 64. Reported are the ratios of wall time and of CPU time
to a bare `AsyncOpenAI` loop that keeps nothing.
Part 2: a server limited to 200 requests a second, unknown to the client: wall time (ideal 10 s for
2,000 samples), refused requests, samples lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.benchmarks.base import Benchmark, Context, DatasetSource
from evalcore.catalog import BenchmarkCard, MetricCard
from evalcore.records import Completion, Episode, Message, Sample, Verdict
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from tests.support.loopback_server import Options, serve

CONCURRENCY = 64
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


def bare(base_url: str, count: int) -> dict[str, float]:
    """The floor: the same requests through the same SDK and transport, nothing kept."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    async def loop() -> int:
        right = 0
        numbers = iter(range(count))
        async with AsyncOpenAI(
            base_url=base_url, api_key="none", max_retries=0, http_client=DefaultAioHttpClient()
        ) as client:

            async def worker() -> None:
                nonlocal right
                for number in numbers:
                    reply = await client.chat.completions.create(
                        model="test",
                        messages=[
                            {
                                "role": "user",
                                "content": f"Compute {number} + {number * 7 % 1000}",
                            }
                        ],
                    )
                    answer = (reply.choices[0].message.content or "").strip()
                    right += answer == str(number + number * 7 % 1000)

            await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
        return right

    wall, cpu = time.perf_counter(), time.process_time()
    right = asyncio.run(loop())
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "right": right,
    }


def ours(base_url: str, count: int, data: Path) -> dict[str, Any]:
    """A planned run through the worker's own code: locked, journaled, scored and indexed."""
    size = data / "count.txt"
    size.write_text(str(count), encoding="utf-8")
    settings = configuration.load_settings(data)
    request = RunRequest(
        target="openai:test",
        target_options={"base_url": base_url},
        benchmarks=("addition",),
        dataset=str(size),
        concurrency=CONCURRENCY,
        use_cache=False,
    )
    folder = create_folder(plan_run(request, settings), settings)
    wall, cpu = time.perf_counter(), time.process_time()
    summary = work_on_run(folder, settings, Secrets({"OPENAI_API_KEY": "none"}))
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "score": summary.benchmarks["addition"].score,
        "coverage": summary.benchmarks["addition"].coverage,
        "journal_lines": sum(1 for _ in folder.read_calls()),
    }


def measure(count: int) -> dict[str, Any]:
    catalog.benchmark_cards()["addition"] = CARD
    result: dict[str, Any] = {"samples": count, "concurrency": CONCURRENCY}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        with serve(Options(latency=0.05)) as server:
            bare(server.base_url, 64)  # imports and first connections are paid before the clock
            floor, run = bare(server.base_url, count), ours(server.base_url, count, data)
        result["unlimited"] = {
            "bare": floor,
            "ours": run,
            "wall_ratio": run["wall"] / floor["wall"],
            "cpu_ratio": run["cpu"] / floor["cpu"],
        }
        with serve(Options(latency=0.05, rate_limit=200)) as server:
            limited = ours(server.base_url, count, data)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    print(json.dumps(measure(parser.parse_args().samples), indent=2))


if __name__ == "__main__":
    main()
