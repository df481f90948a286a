"""How many of forty malformed patches reach the gold tree, and what random damage leads to.

    python -m perf.patch_ladder [--damaged 2000] [--seed 1]

Each variant of `tests.support.patch_variants` goes through the official chain as it is, through the
official extraction and chain, and through the ladder and the chain. Reported: the share that
reaches the gold tree, and how many end in another tree than the one before or the gold one. Then
the fates of damaged patches (`tests.support.patch_mutations`) and the time that a repair takes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from evalcore.benchmarks.swe_bench.patches import repair_patch
from evalcore.benchmarks.swe_bench.patches.official import (
    ApplyResult,
    apply_official,
    extract_official_patch,
)
from evalcore.benchmarks.swe_bench.patches.source import FolderTree
from tests.support.patch_mutations import fates
from tests.support.patch_trees import files_of, make_tree, restore
from tests.support.patch_variants import Gold, small, variants, wide, with_new_file

GOLDS = {"one hunk": small(), "four hunks": wide(), "a new file": with_new_file()}
WAYS = ("official chain", "official extraction", "ladder")


def _ways(folder: Path, text: str) -> tuple[Callable[[], ApplyResult], ...]:
    return (
        lambda: apply_official(folder, text),
        lambda: apply_official(folder, extract_official_patch(text)),
        lambda: _repaired(folder, text),
    )


def _repaired(folder: Path, text: str) -> ApplyResult:
    """What the ladder refuses is not applied: to GNU patch an empty patch is a good one."""
    patch = repair_patch(text, FolderTree(folder)).patch
    return apply_official(folder, patch) if patch else ApplyResult()


def fate_of(folder: Path, gold: Gold, apply: Callable[[], ApplyResult]) -> str:
    applied = apply()
    files = files_of(folder)
    restore(folder)
    if files == dict(gold.after):
        return "gold"
    if files != dict(gold.before):
        return "wrong"
    return "same" if applied.how else "refused"


def variants_report(name: str, gold: Gold) -> None:
    counts: dict[str, Counter[str]] = {way: Counter() for way in WAYS}
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_tree(Path(scratch) / "tree", gold.before)
        for text in variants(gold).values():
            for way, apply in zip(WAYS, _ways(folder, text), strict=True):
                counts[way][fate_of(folder, gold, apply)] += 1
    print(f"\n{name}")
    for way, tally in counts.items():
        total = sum(tally.values())
        share = tally["gold"] / total
        print(
            f"  {way:20} gold {tally['gold']:2}/{total} ({share:.0%})  wrong {tally['wrong']}"
            f"  accepted without effect {tally['same']}  refused {tally['refused']}"
        )


def damage_report(number: int, seed: int) -> None:
    by_kind: dict[str, Counter[str]] = {}
    begun = time.perf_counter()
    for name, _, fate in fates(number, seed):
        by_kind.setdefault(name, Counter())[fate] += 1
    seconds = time.perf_counter() - begun
    total = sum(by_kind.values(), Counter[str]())
    print(f"\n{number} damaged patches, seed {seed}: {dict(total)}")
    print(f"  {1000 * seconds / number:.1f} ms each, making and judging included")
    for name in sorted(name for name, tally in by_kind.items() if tally["wrong"]):
        print(f"  wrong: {name} {by_kind[name]['wrong']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--damaged", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name, gold in GOLDS.items():
        variants_report(name, gold)
    damage_report(arguments.damaged, arguments.seed)


if __name__ == "__main__":
    main()
