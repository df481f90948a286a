"""The memory of a whole run against servers that try to exhaust it, 32 requests at once.

Bounded is the peak of resident memory that the kernel counts for the process (VmHWM), which no load
of the machine changes. What such a server sends is its own failure and no wrong answer of a model.
`make test` runs a way of the server of each kind, `make test-full` every one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import syntax_cases
from tests.support.hostile_server import GOOD_REPLIES, MODES, serve

AT_ONCE = 32
PEAK_LIMIT = 400_000  # kB
#: What is within the limits of an answer.
ANSWERS = {"answer of 2 MB"}
#: What ends by the time limit alone; it is short, so that the test is.
UNTIL_TIMEOUT = {
    *("endless chunk extension", "endless trailers", "endless continue", "endless stream")
}
#: A packed body, one without end, large answers, many small values, an error, a flood of headers.
EACH_KIND = (
    "gzip bomb",
    "endless chunks",
    "answer of 2 MB",
    "answer of 15 MB",
    "many objects",
    "endless error",
    "endless headers",
)
_RUN = """
import sys
from evalcore.cli.main import main
status = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak.split()[1], file=sys.stderr)
sys.exit(status)
"""


def run(
    folder: Path, target: str, benchmark: str, dataset: Path, seconds: str, *options: str
) -> int:
    """Run to the end; the peak of resident memory in kB."""
    words = ["run", "--json", "--target", target, "--benchmarks", benchmark]
    words += ["--dataset", str(dataset), "--data", str(folder), "--concurrency", str(AT_ONCE)]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *words, *options],
        env={
            **os.environ,
            "EVALBOARD_RETRY_BASE": "0.01",
            "EVALBOARD_MAX_ATTEMPTS": "1",
            "EVALBOARD_REQUEST_TIMEOUT": seconds,
            "OPENAI_API_KEY": "canary-Zq7x-0123456789-KEY",
            "HOSTILE_KEY": "canary-Zq7x-0123456789-KEY",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 3), done.stderr
    return int(done.stderr.split()[-1])


def verdicts(folder: Path) -> list[dict[str, Any]]:
    (made,) = (folder / "runs").iterdir()
    lines = (made / "verdicts").rglob("*.jsonl")
    payloads = [json.loads(line) for path in lines for line in path.read_bytes().splitlines()]
    return [item["verdict"] for item in payloads]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "mode",
    [pytest.param(mode, marks=() if mode in EACH_KIND else pytest.mark.full) for mode in MODES],
)
def test_the_memory_of_a_run_is_bounded(tmp_path: Path, mode: str) -> None:
    cases = syntax_cases(tmp_path / "cases", GOOD_REPLIES + AT_ONCE)
    data = tmp_path / "data"
    with serve(mode) as base_url:
        address = f"base_url={base_url}"
        limit = "whole_timeout=" + ("4" if mode in UNTIL_TIMEOUT else "60")
        options = ("--target-option", address, "--target-option", limit)
        peak = run(data, "openai:test", "sql_understanding", cases, "30", *options)
    print(f"{mode}: {peak / 1000:.0f} MB")
    assert peak < PEAK_LIMIT
    outcomes = Counter(verdict["outcome"] for verdict in verdicts(data))
    assert outcomes["target_error"] == (0 if mode in ANSWERS else AT_ONCE)
    assert outcomes.total() == GOOD_REPLIES + AT_ONCE
