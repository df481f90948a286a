"""How fast SWE-bench logs are graded, and what importing the grader costs.

    python perf/swe_grade.py [ROWS]

ROWS is the file of recorded gradings (default: `swe_bench/official_grading.dev.jsonl.gz` in the
folder that EVALBOARD_SHARED_DATA names, or in ../shared/data beside the project). Prints
milliseconds a log, megabytes a second on large logs of several kinds, and the import as a ratio to
the start of the bare interpreter, each with its limit. Exit status 1: a limit is exceeded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evalcore.benchmarks.swe_bench.grade import grade_log  # noqa: E402

#: Milliseconds a log; seconds for importing; seconds for a megabyte of log.
LOG_LIMIT, IMPORT_LIMIT, MEGABYTE_LIMIT = 1.0, 0.2, 1.0
#: Lines of which large logs are made, by the parser that reads them.
LARGE = {
    "parse_log_pytest": "PASSED tests/test_core.py::test_number[{}]\n",
    "parse_log_pytest_v2": "\x1b[32mPASSED\x1b[0m tests/test_core.py::test_number[{} b]\n",
    "parse_log_django": "test_number_{} (app.tests.Case) ... ok\n",
    "parse_log_sympy": "test_number_{} ok\n",
}
LARGE_BYTES = 10_000_000


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """The shortest of some repetitions, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def interpreter(code: str) -> float:
    """Seconds of a fresh interpreter that runs a line of code."""
    return best(lambda: subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True), 7)


def print_check(name: str, value: float, limit: float, unit: str) -> bool:
    """Print a number beside its limit; whether it keeps it."""
    print(f"{name:<28}{value:9.3f} {unit:<5} of {limit:.1f}  {value / limit:6.2f}")
    return value <= limit


def large(line: str) -> str:
    """A log of about ten megabytes with one result a line."""
    lines = (line.format(number) for number in range(LARGE_BYTES // len(line)))
    return ">>>>> Start Test Output\n" + "".join(lines) + ">>>>> End Test Output\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shared = Path(os.environ.get("EVALBOARD_SHARED_DATA", ROOT.parent / "shared" / "data"))
    recorded = shared / "swe_bench" / "official_grading.dev.jsonl.gz"
    parser.add_argument("rows", nargs="?", type=Path, default=recorded)
    options = parser.parse_args()

    with gzip.open(options.rows, "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    seconds = best(lambda: [grade_log(row["spec"], row["log"], row["prediction"]) for row in rows])
    checks = [print_check(f"grade, {len(rows)} logs", 1000 * seconds / len(rows), LOG_LIMIT, "ms")]

    for name, line in LARGE.items():
        log = large(line)
        spec = {"FAIL_TO_PASS": ["x[1"], "PASS_TO_PASS": [], "log_parser": name}
        seconds = best(lambda log=log, spec=spec: grade_log(spec, log), 2)  # type: ignore[misc]
        checks.append(print_check(name, seconds / (len(log) / 1e6), MEGABYTE_LIMIT, "s/MB"))

    bare = interpreter("pass")
    whole = interpreter("import evalcore.benchmarks.swe_bench.grade")
    checks.append(print_check("import", whole - bare, IMPORT_LIMIT, "s"))
    print(f"{'with import / bare start':<28}{whole / bare:9.2f}")
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
