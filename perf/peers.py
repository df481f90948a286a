"""Evalboard beside other frameworks: the same samples, the same server, each as a whole command.

    python -m perf.peers [--samples 2000] [--environments build/peers] [--only inspect_ai ...]

2,000 prompts, exact match, 64 requests at a time, against a server on the loopback that answers at
once, after 50 ms, and after 50 ms with at most 200 requests a second. Each framework has an
environment of its own, which the script makes. Reported are wall seconds, CPU milliseconds a sample
and the largest process in MB, of the command from its start to its end, what the server refused,
and how many samples it never answered; and the ratios to Evalboard and to a bare client, which
keeps nothing: as a whole command (`bare`), and its loop without start and imports (`bare_loop`).
CPU is the figure to go by on a machine that does other work.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf import throughput
from perf.bare_client import CONCURRENCY, run_loop
from tests.support.loopback_server import Options, Server, serve

SCENARIOS = {
    "0 ms": Options(),
    "50 ms": Options(latency=0.05),
    "50 ms, 200 a second": Options(latency=0.05, rate_limit=200),
}
_LIMIT = 600  # seconds for a command

_INSPECT_TASK = """
import json
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import exact
from inspect_ai.solver import generate

@task
def addition():
    rows = map(json.loads, open({path!r}))
    samples = [Sample(input=row["query"], target=row["response"]) for row in rows]
    return Task(dataset=samples, solver=generate(), scorer=exact())
"""
_LM_EVAL_TASK = """
task: addition
dataset_path: json
dataset_kwargs:
  data_files: {path}
test_split: train
output_type: generate_until
doc_to_text: "{{{{query}}}}"
doc_to_target: "{{{{response}}}}"
generation_kwargs:
  until: []
  max_gen_toks: 16
metric_list:
  - metric: exact_match
"""


@dataclass(frozen=True)
class Peer:
    """What to install, and the command that evaluates the rows of a folder at an address."""

    packages: tuple[str, ...]
    build_command: Callable[[Path, Path, str], list[str]]


def build_inspect(binaries: Path, folder: Path, base_url: str) -> list[str]:
    (folder / "task.py").write_text(_INSPECT_TASK.format(path=str(folder / "rows.jsonl")))
    words = [str(binaries / "inspect"), "eval", "task.py", "--model", "openai/test"]
    words += ["--model-base-url", base_url, "-M", "responses_api=False"]
    words += ["--max-connections", str(CONCURRENCY)]
    return [*words, "--max-samples", str(CONCURRENCY), "--display", "none", "--log-dir", "logs"]


def build_evalscope(binaries: Path, folder: Path, base_url: str) -> list[str]:
    data = folder / "general_qa"
    data.mkdir()
    (data / "addition.jsonl").write_bytes((folder / "rows.jsonl").read_bytes())
    arguments = {"general_qa": {"local_path": str(data), "subset_list": ["addition"]}}
    words = [str(binaries / "evalscope"), "eval", "--model", "test", "--api-url", base_url]
    words += ["--api-key", "none", "--eval-type", "openai_api", "--datasets", "general_qa"]
    words += ["--dataset-args", json.dumps(arguments), "--eval-batch-size", str(CONCURRENCY)]
    return [*words, "--work-dir", "outputs"]


def build_lm_eval(binaries: Path, folder: Path, base_url: str) -> list[str]:
    tasks = folder / "tasks"
    tasks.mkdir()
    (tasks / "addition.yaml").write_text(_LM_EVAL_TASK.format(path=folder / "rows.jsonl"))
    model = f"model=test,base_url={base_url}/chat/completions,num_concurrent={CONCURRENCY}"
    words = [str(binaries / "lm_eval"), "--model", "local-chat-completions"]
    words += ["--model_args", f"{model},max_retries=5,tokenized_requests=False"]
    words += ["--include_path", str(tasks), "--tasks", "addition", "--apply_chat_template"]
    return [*words, "--output_path", "outputs", "--log_samples"]


PEERS = {
    "inspect_ai": Peer(("inspect_ai==0.3.285", "openai"), build_inspect),
    "evalscope": Peer(("evalscope==1.14.1",), build_evalscope),
    "lm_eval": Peer(("lm-eval[api]==0.4.13",), build_lm_eval),
}


def make_environment(root: Path, name: str) -> Path:
    """The folder of programs of a peer's environment, which is made where there is none."""
    folder = root.resolve() / name
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*install, *PEERS[name].packages], check=True)
        (folder / "installed").touch()
    return folder / "bin"


def write_rows(path: Path, count: int) -> None:
    rows = (
        {
            "query": f"Compute {number} + {number * 7 % 1000}",
            "response": str(number + number * 7 % 1000),
        }
        for number in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def measure_command(words: Sequence[str], folder: Path, count: int) -> dict[str, Any]:
    """Run a command to its end, and say what it took, with all that it started."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        **{"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        **{"HOME": str(folder), "HF_HOME": str(folder / "hf"), "NO_COLOR": "1"},
    }
    started = time.perf_counter()
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            ["timeout", str(_LIMIT), *words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "wall": time.perf_counter() - started,
        "cpu_ms": (used.ru_utime + used.ru_stime) * 1000 / count,
        "memory_mb": used.ru_maxrss / 1024,
        "status": process.returncode,
    }


def measure_evalboard(folder: Path, server: Server, count: int) -> dict[str, Any]:
    (folder / "count.txt").write_text(str(count), encoding="utf-8")
    root = Path(__file__).resolve().parents[1]
    code = (
        "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); "
        "runpy.run_module('perf.throughput', run_name='__main__', alter_sys=True)"
    )
    words = [sys.executable, "-c", code, str(root), "--command", "run", "--target", "openai:test"]
    words += ["--target-option", f"base_url={server.base_url}", "--target-option", "stream=False"]
    words += ["--benchmarks", throughput.CARD.key, "--dataset", str(folder / "count.txt")]
    words += ["--concurrency", str(CONCURRENCY), "--data", str(folder / "data"), "--json"]
    return measure_command(words, folder, count)


def measure_all(count: int, environments: Path, names: Sequence[str]) -> dict[str, Any]:
    """The figures of every framework in every scenario."""
    result: dict[str, Any] = {"samples": count, "concurrency": CONCURRENCY}
    for title, options in SCENARIOS.items():
        figures: dict[str, dict[str, Any]] = {}
        for name in ("bare", "evalboard", *names):
            with serve(options) as server, tempfile.TemporaryDirectory() as text:
                folder = Path(text)
                write_rows(folder / "rows.jsonl", count)
                if name == "bare":
                    if options.rate_limit:  # it repeats nothing
                        continue
                    run_loop(server.base_url, 64)  # imports are paid before the clock
                    figures["bare_loop"] = run_loop(server.base_url, count)
                    figures[name] = throughput.bare_command(server.base_url, count)
                    print(title, name, json.dumps(figures[name]), file=sys.stderr, flush=True)
                    continue
                if name == "evalboard":
                    taken = measure_evalboard(folder, server, count)
                else:
                    binaries = make_environment(environments, name)
                    words = PEERS[name].build_command(binaries, folder, server.base_url)
                    taken = measure_command(words, folder, count)
                stats = server.stats()
                figures[name] = taken | {
                    "requests": stats["requests"],
                    "refused": stats["refused"],
                    "unanswered": count - len(stats["prompts"]),
                }
                if taken["status"]:
                    log = (folder / "log.txt").read_text(errors="replace")
                    figures[name]["ended_with"] = log.strip()[-400:]
            print(title, name, json.dumps(figures[name]), file=sys.stderr, flush=True)
        result[title] = figures | {"ratios": compare_figures(figures)}
    return result


def compare_figures(figures: dict[str, dict[str, Any]]) -> dict[str, float]:
    """How many times what Evalboard took each peer took, and Evalboard of the bare client."""
    own = figures["evalboard"]
    ratios = {
        f"{figure} of {name} to evalboard": taken[figure] / own[figure]
        for name, taken in figures.items()
        if name not in ("bare", "bare_loop", "evalboard")
        for figure in ("wall", "cpu_ms", "memory_mb")
    }
    for name in ("bare", "bare_loop") if "bare" in figures else ():
        taken = figures[name]
        ratios |= {f"{f} of evalboard to {name}": own[f] / taken[f] for f in ("wall", "cpu_ms")}
    return {name: round(ratio, 2) for name, ratio in ratios.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--environments", type=Path, default=Path("build/peers"))
    parser.add_argument("--only", nargs="*", choices=tuple(PEERS), default=tuple(PEERS))
    args = parser.parse_args()
    print(json.dumps(measure_all(args.samples, args.environments, args.only), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
