"""What a run costs as it grows: memory and time of each step, as ratios to the smallest run.

    python -m perf.million [10000 100000 1000000] [--target control:reference|loopback]

Every step is a process of its own: plan, run, resume of the finished run, the first and the next
page of its cases, a filtered page, and one case. Reported are seconds and the peak memory (MB) of
the process, of a page also the CPU seconds, which other work on the machine leaves as they are.
`plan` and `run` are also in microseconds a sample, and every figure is followed by its ratio to the
first size of the same invocation. The last line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore.benchmarks.base import Benchmark, Context, DatasetSource
from evalcore.catalog import BenchmarkCard, MetricCard
from evalcore.records import Completion, Episode, Message, Sample, Verdict

SIZES = (10_000, 100_000, 1_000_000)
CARD = BenchmarkCard(
    key="million",
    suite="own",
    implementation="perf.million:Million",
    metrics=(MetricCard(key="sum", weight=1), MetricCard(key="product", weight=2)),
    controls=("reference", "null", "noop"),
)


class Million(Benchmark):
    """Sums and products; the dataset is a file that holds how many."""

    card = CARD

    def load_dataset(self, source: DatasetSource) -> Iterator[Sample]:
        count = int(Path(source.path).read_text(encoding="utf-8"))
        return (self._build_sample(number) for number in range(count))

    def _build_sample(self, number: int) -> Sample:
        other, is_sum = number * 7919 % 1000, number % 2 == 0
        answer = number + other if is_sum else number * other
        return Sample(
            metric="sum" if is_sum else "product",
            id=f"case-{number:07}",
            input={"prompt": f"Compute {number} {'+' if is_sum else '*'} {other}"},
            reference={"answer": str(answer)},
            difficulty=1 + number % 3,
        )

    def build_prompt(self, sample: Sample) -> list[Message]:
        return [Message(role="user", content=sample.input["prompt"])]

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        right = episode.answer.strip() == sample.reference["answer"]
        return Verdict(
            metric=sample.metric,
            id=sample.id,
            epoch=episode.epoch,
            outcome="passed" if right else "failed",
            score=float(right),
            reason="" if right else "wrong_answer",
        )

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """Right but for each seventh case, so that the score is no round number."""
        right = kind == "reference" and not sample.id.endswith("7")
        return Completion(text=sample.reference["answer"] if right else "")


def plan(data: Path, size: int, options: dict[str, str]) -> dict[str, Any]:
    """Load, freeze and write the run."""
    from evalcore.runner.plan import create_folder, plan_run
    from evalcore.runner.run_request import RunRequest
    from evalcore.settings import load_settings

    data.mkdir(parents=True, exist_ok=True)
    count = data / "count.txt"
    count.write_text(str(size), encoding="utf-8")
    settings = load_settings(data)
    options = dict(options)
    request = RunRequest(
        target=options.pop("target"),
        target_options=options,
        benchmarks=(CARD.key,),
        dataset=str(count),
        concurrency=64,
        use_cache=False,
    )
    return {"run": create_folder(plan_run(request, settings), settings).run_id}


def work(data: Path, run: str) -> dict[str, Any]:
    """Begin or resume the run, as its worker does."""
    from evalcore.access.secrets import Secrets
    from evalcore.runner.worker import work_on_run
    from evalcore.settings import load_settings
    from evalcore.store.run_folder import RunFolder

    settings = load_settings(data)
    secrets = Secrets({"OPENAI_API_KEY": "none"})
    summary = work_on_run(RunFolder(settings.runs_dir / run), settings, secrets)
    score = summary.benchmarks[CARD.key]
    return {"score": score.score, "interval": score.interval and list(to_pair(score.interval))}


def to_pair(interval: Any) -> tuple[float, float]:
    return interval.low, interval.high


def look(data: Path, run: str, size: int) -> dict[str, Any]:
    """What a visitor does: pages of the cases, then one case."""
    import pandas  # noqa: F401 - the server has loaded it long before

    from evalcore.settings import load_settings
    from evalcore.views.cases import EVERY_CASE, CaseFilter, case_page, case_view

    roots = [load_settings(data).runs_dir]
    before = peak_memory()
    times: dict[str, float] = {}

    def measure(name: str, action: Callable[[], Any]) -> Any:
        start, cpu = time.perf_counter(), time.process_time()
        result = action()
        times[name] = time.perf_counter() - start
        times[f"{name} cpu"] = time.process_time() - cpu
        return result

    measure("first page", lambda: case_page(roots, run, EVERY_CASE))
    measure("next page", lambda: case_page(roots, run, EVERY_CASE, offset=size // 2))
    where = CaseFilter(outcome=("failed",))
    frame, failed = measure("failed page", lambda: case_page(roots, run, where))
    measure("search page", lambda: case_page(roots, run, CaseFilter(text="compute 4242 ")))
    metric, case = str(frame["metric"].iloc[-1]), str(frame["id"].iloc[-1])
    measure("one case", lambda: case_view(roots, run, metric, case))
    measure("filtered case", lambda: case_view(roots, run, metric, case, where=where))
    return {"times": times, "memory added": peak_memory() - before, "failed": failed}


def peak_memory() -> float:
    """MB that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


STAGES: dict[str, Callable[..., dict[str, Any]]] = {"plan": plan, "work": work, "look": look}


def run_stage(name: str, *arguments: Any) -> dict[str, Any]:
    """A step in a process of its own: what it returns, its seconds and its peak memory."""
    command = [sys.executable, "-m", "perf.million", "--stage", name, json.dumps(arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read() if process.stdout else b""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{name} of {arguments} ended with {process.returncode}")
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return {**result, "peak": used.ru_maxrss / 1024, "cpu": used.ru_utime + used.ru_stime}


def measure_size(size: int, options: dict[str, str]) -> dict[str, float]:
    """Every figure of a run of one size."""
    with tempfile.TemporaryDirectory() as folder:
        planned = run_stage("plan", folder, size, options)
        run = planned["run"]
        ran = run_stage("work", folder, run)
        resumed = run_stage("work", folder, run)
        if (ran["score"], ran["interval"]) != (resumed["score"], resumed["interval"]):
            raise SystemExit(f"resumed run scores {resumed}, the run scored {ran}")
        looked = run_stage("look", folder, run, size)
        stored = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    print(f"{size:>9,}  score {ran['score']:.6f}  interval {ran['interval']}", flush=True)
    return {
        "plan s": planned["seconds"],
        "plan us/sample": planned["seconds"] * 1e6 / size,
        "plan peak MB": planned["peak"],
        "run s": ran["seconds"],
        "run us/sample": ran["seconds"] * 1e6 / size,
        "run cpu us/sample": ran["cpu"] * 1e6 / size,
        "run peak MB": ran["peak"],
        "resume s": resumed["seconds"],
        "resume cpu s": resumed["cpu"],
        "resume peak MB": resumed["peak"],
        **{f"{name} s": seconds for name, seconds in looked["times"].items()},
        "pages peak MB": looked["peak"],
        "pages added MB": looked["memory added"],
        "disk bytes/sample": stored / size,
    }


def main() -> int:
    catalog.benchmark_cards()[CARD.key] = CARD
    if sys.argv[1:2] == ["--stage"]:
        name, arguments = sys.argv[2], json.loads(sys.argv[3])
        start = time.perf_counter()
        result = STAGES[name](Path(arguments[0]), *arguments[1:])
        print(json.dumps({**result, "seconds": time.perf_counter() - start}))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--target", default="control:reference")
    chosen = parser.parse_args()
    results: dict[int, dict[str, float]] = {}
    with contextlib.ExitStack() as stack:
        options = {"target": chosen.target}
        if chosen.target == "loopback":
            from tests.support.loopback_server import Options, serve

            server = stack.enter_context(serve(Options(latency=0)))
            options = {"target": "openai:test", "base_url": server.base_url}
        for size in chosen.sizes:
            results[size] = measure_size(size, options)
    first = results[chosen.sizes[0]]
    print(f"{'':22}" + "".join(f"{size:>14,}{'ratio':>8}" for size in results))
    for name in first:
        cells = (f"{row[name]:>14,.3f}{row[name] / first[name]:>8.2f}" for row in results.values())
        print(f"{name:22}" + "".join(cells))
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
