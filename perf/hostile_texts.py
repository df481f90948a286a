"""How the time of the readers of untrusted text grows with its length.

    python perf/hostile_texts.py [READER...]

Every reader reads texts that are one piece over and over, of a length and of four times that.
Prints the seconds for the longer one and how many times as long it takes, per reader for the piece
that grows most: 4 is linear, 16 quadratic. Times are of the processor, the shortest of three; what
takes below 20 ms is not judged. Exit status 1: a reader grows more than tenfold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evalcore.access.redaction import redact_paths
from evalcore.benchmarks import sql_answer
from evalcore.benchmarks.bfcl.checker.source_literals import java_value, javascript_value
from evalcore.benchmarks.gaia import extraction as gaia
from evalcore.benchmarks.gaia.score import question_scorer
from evalcore.benchmarks.sql_understanding import extraction as sql
from evalcore.benchmarks.swe_bench import diff
from evalcore.benchmarks.swe_bench.log_parsers import PARSERS
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import UnreadableLog
from evalcore.benchmarks.swe_bench.patches import official as swe
from evalcore.benchmarks.swe_bench.patches import repair_patch
from evalcore.benchmarks.tau_bench.agent_intent import parse_agent_intent
from evalcore.benchmarks.tau_bench.environment.reward import find_missing_outputs
from evalcore.call_formats import read_calls
from evalcore.sqlkit.index_advice import read_advice
from tests.support.patch_trees import MappingTree

LENGTH, FACTOR, ROUNDS = 50_000, 4, 3
MOST_GROWTH, LEAST_SECONDS = 10.0, 0.02
TREE = MappingTree({"b.py": "A = 1\nB = 2\n"})
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
#: Openings without an end, separators and lone signs of all the forms that are read.
PIECES = (
    *("a", "1", " ", "\n", "\r", ",", "-", "*", "_", "/", "\\", "'", '"', "`", "$", ":", "<", "请"),
    *("(", "[", "{", "]", "}", "()", "[],", "{},", "{a:", '{"a":', "f(a=", "f(x.", '{"rows":'),
    *("```", "```\n", "```sql\n", "<a>", "</a>", "<a><b>", "<think>", "</think>", "<tool_call>"),
    *("FINAL ANSWER:", "**final answer ", "\\boxed{", "/a", "~/", "i ", "?\n", "can", "1,", "1_"),
    *("/*", "-- c\n", "WITH a ", "UPDATE x ", "CREATE INDEX i ON t (", "\nDROP TABLE ", "no need "),
    *("@@ -1,9 +1,9 @@\n", "--- a\n+++ b\n", "diff --git a/x b/x\n", "+a\n", "rename from x\n"),
    *("PASSED t.py::p[x\n", "Tests:   ", "\x1b[32m", "9 passin", "['", "new HashMap<>() {{ add("),
)


def read_log(text: str) -> None:
    """Read a log by every parser."""
    for parse in PARSERS.values():
        with suppress(UnreadableLog):
            parse(text)


READERS: dict[str, Callable[[str], object]] = {
    "sql answer": sql_answer.extract_sql,
    "json answer": partial(sql.extract_json_answer, fields=("columns", "rows")),
    "index advice": partial(read_advice, dialect="mysql"),
    "gaia answer": gaia.extract_answer,
    "gaia score": lambda text: question_scorer(text, "1, 2"),
    "tool calls": partial(read_calls, functions=[TOOL], lenient=True),
    "java value": partial(java_value, kind="HashMap"),
    "javascript value": partial(javascript_value, kind="dict"),
    "patch": swe.extract_official_patch,
    "diff": diff.parse_diff,
    "repair": partial(repair_patch, tree=TREE),
    "logs": read_log,
    "user's words": parse_agent_intent,
    "expected texts": lambda text: find_missing_outputs(["10"], [text], substring=False),
    "paths": redact_paths,
}


def seconds_of(read: Callable[[str], object], text: str) -> float:
    """Measure the shortest processor time of some readings."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        read(text)
        times.append(time.process_time() - start)
    return min(times)


def main(names: list[str]) -> int:
    status = 0
    for name in names or READERS:
        read, growths = READERS[name], []
        for piece in PIECES:
            count = LENGTH // len(piece)
            short, long = (seconds_of(read, piece * count * times) for times in (1, FACTOR))
            growths.append((long / max(short, 1e-9) if long > LEAST_SECONDS else 0.0, long, piece))
        growth, seconds, piece = max(growths)
        longest, slowest = max((long, piece) for _, long, piece in growths)
        worst = f"{growth:5.1f} times ({seconds:.3f} s, {piece!r})" if growth else "not judged"
        print(f"{name:<18}{longest:7.3f} s {slowest!r:<28} grows most: {worst}", flush=True)
        status |= growth > MOST_GROWTH
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
