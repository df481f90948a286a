"""How fast BFCL answers are decoded, checked, rescored and scored, beside the official checker.

    python perf/bfcl.py [FOLDER] [--official PLACE]

FOLDER holds the official files (default: `bfcl` in the folder that EVALBOARD_SHARED_DATA names, or
in ../shared/data beside the project), PLACE the package `bfcl_eval` where it is not installed
(default: EVALBOARD_BFCL_EVAL). Prints times in seconds with their limits and the share of the limit
that they take, rates per second on one core, and the ratio of the two checkers' rates. `score` is
the whole of `evalcore score`: data and answers read, all views of all answers, verdicts written.
Exit status 1 says that a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evalcore.benchmarks.bfcl.answers import reference_answer  # noqa: E402
from evalcore.benchmarks.bfcl.categories import DECODE_ONLY, SINGLE_TURN, find_category_language  # noqa: E402
from evalcore.benchmarks.bfcl.checker import check_calls  # noqa: E402
from evalcore.benchmarks.bfcl.entry import BfclEntry, load_folder  # noqa: E402
from evalcore.benchmarks.bfcl.score import decode_answer, score_official  # noqa: E402
from evalcore.benchmarks.call_decoding import Call, decode_calls  # noqa: E402
from evalcore.runner.predictions import ScoreRequest, score_file  # noqa: E402
from evalcore.settings import Settings  # noqa: E402

Case = tuple[BfclEntry, str, Any, list[Call]]
IMPORT = (
    "import time; start = time.perf_counter(); import evalcore.benchmarks.bfcl.benchmark;"
    " print(time.perf_counter() - start)"
)
#: Seconds for importing, for loading and for scoring all single-turn entries.
IMPORT_LIMIT, LOAD_LIMIT, SCORE_LIMIT = 0.3, 0.3, 2.0


def cases(entries: list[BfclEntry]) -> list[Case]:
    """Entry, mode, answer and decoded calls of a right answer to every entry, in prompt mode."""
    readings = []
    for entry in entries:
        mode = f"prompt_{find_category_language(entry.category)}"
        answer = reference_answer(entry, mode)
        calls = [] if "irrelevance" in entry.category else decode_calls(answer, mode)
        readings.append((entry, mode, answer, calls))
    return readings


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """The shortest of some repetitions, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def check_ours(checked: list[Case]) -> None:
    for entry, _, _, calls in checked:
        tongue = find_category_language(entry.category)
        check_calls(
            entry.category, entry.functions, calls, entry.ground_truth or [], language=tongue
        )


def official_checker(checkout: str | None) -> Any:
    """Upstream's `ast_checker` and its languages; None where the package is absent.

    Its table of models, the one part that needs every vendor's library, is replaced.
    """
    if checkout:
        sys.path.insert(0, checkout)
    models = types.ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = {"any": types.SimpleNamespace(underscore_to_dot=False)}  # type: ignore[attr-defined]
    sys.modules[models.__name__] = models
    try:
        from bfcl_eval.constants.enums import Language
        from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
    except ImportError:
        return None
    return ast_checker, {language.value: language for language in Language}


def check_theirs(checker: Any, checked: list[Case]) -> None:
    rule, languages = checker
    for entry, _, _, calls in checked:
        tongue = languages[find_category_language(entry.category)]
        rule(entry.functions, calls, entry.ground_truth, tongue, entry.category, "any")


def importing() -> float:
    """Seconds to import the benchmark in a fresh interpreter."""
    words = [sys.executable, "-c", IMPORT]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def scoring(folder: Path, every: list[Case], categories: list[str]) -> float:
    """Seconds of `evalcore score` on right answers, which pass but for the flagged entries."""
    lines = [json.dumps({"id": e.id, "prediction": a, "mode": mode}) for e, mode, a, _ in every]
    with tempfile.TemporaryDirectory() as scratch:
        answers, out = Path(scratch, "answers.jsonl"), Path(scratch, "verdicts.jsonl")
        answers.write_text("\n".join(lines), encoding="utf-8")
        options = {"categories": categories}
        request = ScoreRequest("bfcl", str(answers), dataset=str(folder.resolve()), options=options)
        seconds = best(lambda: score_file(request, out, Settings()), 3)
        written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    wrong = [line["details"] for line in written if not line["passed"]]
    flagged = sum("flagged" in details for details in wrong)
    print(f"score: {len(written)} verdicts, {len(wrong)} not passed ({flagged} flagged entries)")
    return seconds


def print_check(name: str, seconds: float, limit: float) -> bool:
    """Print a time beside its limit; whether it keeps it."""
    print(f"{name:<24}{seconds:8.3f} s  of {limit:.1f} s  {seconds / limit:6.2f}")
    return seconds <= limit


def rates(every: list[Case], checkout: str | None) -> None:
    """Print how much is decoded and checked per second, here and by upstream."""
    checked = [case for case in every if case[0].category not in DECODE_ONLY]
    decoding = best(lambda: [decode_calls(answer, mode) for _, mode, answer, _ in checked])
    ours = len(checked) / best(lambda: check_ours(checked))
    print(f"{'decode':<24}{len(checked) / decoding:8.0f} answers/s")
    print(f"{'check':<24}{ours:8.0f} checks/s")
    theirs = official_checker(checkout)
    if theirs is None:
        print(f"{'official checker':<24}not installed")
        return
    rate = len(checked) / best(lambda: check_theirs(theirs, checked))
    print(f"{'official check':<24}{rate:8.0f} checks/s")
    print(f"{'ours / official':<24}{ours / rate:8.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shared = Path(os.environ.get("EVALBOARD_SHARED_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("folder", nargs="?", type=Path, default=shared / "bfcl")
    parser.add_argument(
        "--official", metavar="PLACE", default=os.environ.get("EVALBOARD_BFCL_EVAL")
    )
    options = parser.parse_args()

    checks = [print_check("import", importing(), IMPORT_LIMIT)]
    loading = best(lambda: load_folder(options.folder, SINGLE_TURN), 3)
    checks.append(print_check("load", loading, LOAD_LIMIT))
    every = cases(load_folder(options.folder, SINGLE_TURN))
    readings = [(entry, answer, mode) for entry, mode, answer, _ in every]
    rescoring = best(lambda: [score_official(decode_answer(*reading)) for reading in readings])
    checks.append(print_check(f"rescore {len(every)} answers", rescoring, SCORE_LIMIT))
    chosen = scoring(options.folder, every, list(SINGLE_TURN))
    checks.append(print_check("score, single-turn data", chosen, SCORE_LIMIT))
    checks.append(print_check("score, all data", scoring(options.folder, every, []), SCORE_LIMIT))
    rates(every, options.official)
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
