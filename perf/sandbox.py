"""What it costs to start a program in the sandbox, by each means of this machine.

`python -m perf.sandbox [--rounds N]` runs the same small programs bare and inside, in turn, N
times. It prints per program and means: the median in milliseconds, what the sandbox adds to the
bare run, and the ratio to it. The last line is JSON. Nothing is measured where a means is missing,
and the reason is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from evalcore.sandbox.program import MEANS, Means, Program, detect_means, run_program

PROGRAMS = {
    "true": ("true",),
    "python -S": ("python", "-S", "-c", "pass"),
    "python, import pytest": ("python", "-c", "import pytest"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    usable = [means for means in MEANS if _is_usable(means)]
    times_by_program = {name: measure(words, usable, rounds) for name, words in PROGRAMS.items()}
    for name, times in times_by_program.items():
        for means in usable:
            added = times[means] - times["bare"]
            ratio = times[means] / times["bare"]
            print(
                f"{name}: {means} {times[means]:.1f} ms, bare {times['bare']:.1f} ms: "
                f"{added:+.1f} ms, ratio {ratio:.2f}"
            )
    print(json.dumps({"user": os.geteuid(), "median_ms": times_by_program}))


def measure(words: tuple[str, ...], usable: list[Means], rounds: int) -> dict[str, float]:
    """Median milliseconds, bare and by each means; rounds are interleaved, one is warm-up."""
    ways: dict[str, Callable[[], object]] = {"bare": partial(_bare, words)}
    for means in usable:
        ways[means] = partial(run_program, Program(argv=words), means=means)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds + 1):
        for way, call in ways.items():
            start = time.perf_counter()
            call()
            times[way].append(1000 * (time.perf_counter() - start))
    return {way: round(statistics.median(seen[1:]), 2) for way, seen in times.items()}


def _bare(words: tuple[str, ...]) -> None:
    real = (sys.executable, *words[1:]) if words[0] == "python" else words
    subprocess.run(real, check=True, stdin=subprocess.DEVNULL, capture_output=True)


def _is_usable(means: Means) -> bool:
    support = detect_means(means)
    if not support.means:
        print(f"{means}: not measured: {support.problem}")
    return bool(support.means)


if __name__ == "__main__":
    main()
