"""How fast BFCL answers are decoded, checked and rescored, beside the official checker.

    python perf/bfcl.py [FOLDER] [--official PLACE]

FOLDER holds the official files (default: `bfcl` in the folder that EVALBOARD_SHARED_DATA names, or
in ../shared/data beside the project), PLACE the package `bfcl_eval` where it is not installed.
Prints times in seconds, rates per second on one core, and the ratio of the two checkers' rates.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evalcore.benchmarks.bfcl.categories import DECODE_ONLY, SINGLE_TURN, language  # noqa: E402
from evalcore.benchmarks.bfcl.checker import check  # noqa: E402
from evalcore.benchmarks.bfcl.decode import Call, decode  # noqa: E402
from evalcore.benchmarks.bfcl.entry import Entry, load_folder  # noqa: E402
from evalcore.benchmarks.bfcl.reference import reference_answer  # noqa: E402
from evalcore.benchmarks.bfcl.score import official  # noqa: E402

Case = tuple[Entry, str, Any, list[Call]]
IMPORT = (
    "import time; start = time.perf_counter(); import evalcore.benchmarks.bfcl.score;"
    " print(time.perf_counter() - start)"
)


def cases(entries: list[Entry]) -> list[Case]:
    """Entry, mode, answer and decoded calls of a right answer to every entry, in prompt mode."""
    found = []
    for entry in entries:
        mode = f"prompt_{language(entry.category)}"
        answer = reference_answer(entry, mode)
        calls = [] if "irrelevance" in entry.category else decode(answer, mode)
        found.append((entry, mode, answer, calls))
    return found


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
        tongue = language(entry.category)
        check(entry.category, entry.functions, calls, entry.ground_truth or [], language=tongue)


def official_checker(place: str | None) -> Any:
    """Upstream's `ast_checker` and its languages; None where the package is absent.

    Its table of models, the one part that needs every vendor's library, is replaced.
    """
    if place:
        sys.path.insert(0, place)
    models = types.ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = {"any": types.SimpleNamespace(underscore_to_dot=False)}  # type: ignore[attr-defined]
    sys.modules[models.__name__] = models
    try:
        from bfcl_eval.constants.enums import Language
        from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
    except ImportError:
        return None
    return ast_checker, {one.value: one for one in Language}


def check_theirs(checker: Any, checked: list[Case]) -> None:
    rule, languages = checker
    for entry, _, _, calls in checked:
        tongue = languages[language(entry.category)]
        rule(entry.functions, calls, entry.ground_truth, tongue, entry.category, "any")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shared = Path(os.environ.get("EVALBOARD_SHARED_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("folder", nargs="?", type=Path, default=shared / "bfcl")
    parser.add_argument("--official", metavar="PLACE")
    options = parser.parse_args()

    importing = subprocess.run(
        [sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loading = best(lambda: load_folder(options.folder, SINGLE_TURN), 3)
    entries = load_folder(options.folder, SINGLE_TURN)
    every = cases(entries)
    checked = [case for case in every if case[0].category not in DECODE_ONLY]
    rescoring = best(lambda: [official(entry, answer, mode) for entry, mode, answer, _ in every])
    decoding = best(lambda: [decode(answer, mode) for _, mode, answer, _ in checked])
    ours = len(checked) / best(lambda: check_ours(checked))
    print(f"import                 {float(importing.stdout):8.3f} s")
    print(f"load {len(entries)} entries      {loading:8.3f} s")
    print(f"rescore {len(every)} answers   {rescoring:8.3f} s")
    print(f"decode                 {len(checked) / decoding:8.0f} answers/s")
    print(f"check                  {ours:8.0f} checks/s")
    theirs = official_checker(options.official)
    if theirs is None:
        print("official checker       not installed")
        return
    rate = len(checked) / best(lambda: check_theirs(theirs, checked))
    print(f"official check         {rate:8.0f} checks/s")
    print(f"ours / official        {ours / rate:8.2f}")


if __name__ == "__main__":
    main()
