"""Random gold patches over authored files, damaged at random, for what a repair may make of them.

A result is `gold` (the tree that was meant), `refused`, `part` (whole hunks of it: the rest was cut
off where nothing shows it), `written` (every changed line as the damaged text has it) or `wrong`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

from evalcore.benchmarks.swe_bench.diff import FileDiff, Hunk, parse_diff
from evalcore.benchmarks.swe_bench.patches import repair_patch
from tests.support.patch_trees import MappingTree
from tests.support.patch_variants import Files, Gold

Fate = Literal["gold", "refused", "part", "written", "wrong"]
Mutation = Callable[[list[str], random.Random], list[str] | None]
_HEADER = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")
_WORDS = ("weight", "height", "price", "count", "label", "shelf", "batch", "order")


def gold_of(rng: random.Random) -> Gold:
    """One to three files of Python, a third of them with a region that comes twice, changed."""
    before = {f"store/part{n}.py": _source(rng) for n in range(rng.choice((1, 1, 2, 3)))}
    return Gold(before, {path: _changed(text, rng) for path, text in before.items()})


def _source(rng: random.Random) -> str:
    parts = ['"""Goods of a store."""\n\nimport math\n']
    for number in range(rng.randint(6, 14)):
        parts.append(_function(f"{rng.choice(_WORDS)}_{number}", rng))
    if rng.random() < 1 / 3:
        parts.insert(rng.randrange(len(parts)), rng.choice(parts[1:]))
    return "\n\n".join(parts)


def _function(name: str, rng: random.Random) -> str:
    lines = [f"def {name}(goods, limit={rng.randint(1, 9)}):", f'    """The {name} of goods."""']
    for _ in range(rng.randint(1, 5)):
        word = rng.choice(_WORDS)
        lines += rng.choice(
            (
                [f"    {word} = goods.get('{word}', {rng.randint(0, 99)})"],
                [f"    if limit > {rng.randint(1, 9)}:", f'        raise ValueError("{word}")'],
                ["", f"    # {word} comes last"],
                ["    total = 0", "    for one in goods:", f"        total += one.{word}"],
            )
        )
    return "\n".join([*lines, "    return math.floor(limit)", ""])


def _changed(text: str, rng: random.Random) -> str:
    """Lines replaced, added or taken away at up to three places; it still compiles."""
    while True:
        lines = text.splitlines(keepends=True)
        for _ in range(rng.choice((1, 1, 2, 3))):
            at, length = rng.randrange(4, len(lines)), rng.randint(1, 3)
            indent = re.match(r" *", lines[at])[0]  # type: ignore[index]
            new = [f"{indent}new_{rng.randint(0, 99)} = {n}\n" for n in range(rng.randint(1, 4))]
            removed = rng.choice((0, length))
            lines[at : at + removed] = new if rng.random() < 2 / 3 or not removed else []
        changed = "".join(lines)
        try:
            compile(changed, "changed", "exec")
        except SyntaxError:
            continue
        return changed


def _inside(lines: list[str], marks: str) -> list[int]:
    """Numbers of the lines of hunks that bear one of the marks."""
    result: list[int] = []
    inside = False
    for at, line in enumerate(lines):
        inside = line.startswith("@@") or (inside and not line.startswith("diff --git"))
        if inside and line[:1] and line[0] in marks:
            result.append(at)
    return result


def _without(marks: str, number: int = 1) -> Mutation:
    def mutate(lines: list[str], rng: random.Random) -> list[str] | None:
        for _ in range(number):
            places = _inside(lines, marks)
            if not places:
                return None
            del lines[rng.choice(places)]
        return lines

    return mutate


def _without_run(lines: list[str], rng: random.Random) -> list[str]:
    at = rng.choice(_inside(lines, " +-"))
    end = at + rng.randint(2, 5)
    keep = set(_inside(lines, " +-"))
    return [line for n, line in enumerate(lines) if not at <= n < end or n not in keep]


def _replaced(marks: str, make: Callable[[str, list[str], random.Random], str]) -> Mutation:
    def mutate(lines: list[str], rng: random.Random) -> list[str] | None:
        places = _inside(lines, marks)
        if not places:
            return None
        at = rng.choice(places)
        lines[at] = make(lines[at], lines, rng)
        return lines

    return mutate


def _renumbered(make: Callable[[list[int], random.Random], str]) -> Mutation:
    def mutate(lines: list[str], rng: random.Random) -> list[str]:
        matches = [_HEADER.match(line) for line in lines]
        return [
            make([int(number) for number in match.groups()], rng) if match else line
            for match, line in zip(matches, lines, strict=True)
        ]

    return mutate


def _shifted(by: int) -> Mutation:
    def mutate(lines: list[str], rng: random.Random) -> list[str]:
        for at in _inside(lines, " +-"):
            mark, text = lines[at][0], lines[at][1:]
            lines[at] = mark + (" " * by + text if by > 0 else text.removeprefix(" " * -by))
        return lines

    return mutate


def _header(numbers: list[int]) -> str:
    a, b, c, d = numbers
    return f"@@ -{a},{max(b, 0)} +{c},{max(d, 0)} @@"


def _cut_lines(lines: list[str], rng: random.Random) -> list[str]:
    return lines[: rng.randrange(3, len(lines))]


def _cut(lines: list[str], rng: random.Random) -> list[str]:
    text = "\n".join(lines)
    return text[: rng.randrange(10, len(text))].split("\n")


#: Damage whose text is inconsistent or says the same: a wrong tree would be our guess.
MUTATIONS: dict[str, Mutation] = {
    "added line lost": _without("+"),
    "removed line lost": _without("-"),
    "context line lost": _without(" "),
    "two lines lost": _without(" +-", 2),
    "run of lines lost": _without_run,
    "other context": _replaced(" ", lambda line, lines, rng: "     something_else()"),
    "context of elsewhere": _replaced(
        " ", lambda line, lines, rng: " " + rng.choice(lines)[1:]
    ),
    "context reworded": _replaced(" ", lambda line, lines, rng: line.replace("e", "a")),
    "other removed line": _replaced("-", lambda line, lines, rng: "-    something_else()"),
    "plus lost": _replaced("+", lambda line, lines, rng: " " + line[1:]),
    "mark lost": _replaced("+-", lambda line, lines, rng: line[1:]),
    "wrong start": _renumbered(
        lambda n, rng: _header([rng.randint(1, 200), n[1], rng.randint(1, 200), n[3]])
    ),
    "no numbers": _renumbered(lambda n, rng: "@@"),
    "small counts": _renumbered(
        lambda n, rng: _header([n[0], n[1] - rng.randint(0, 4), n[2], n[3] - rng.randint(0, 4)])
    ),
    "any counts": _renumbered(
        lambda n, rng: _header([n[0], n[1] + rng.randint(-3, 3), n[2], n[3] + rng.randint(-3, 3)])
    ),
    "indented": _shifted(4),
    "dedented": _shifted(-4),
    "cut in a line": _cut,
    "cut between lines": _cut_lines,
}  # fmt: skip
_OVER = ("", "context line lost", "other context", "context of elsewhere", "wrong start")


def fates(number: int, seed: int) -> Iterator[tuple[str, str, Fate]]:
    """`number` damaged texts: the name of the damage, the text and what became of it."""
    rng = random.Random(seed)
    names = list(MUTATIONS)
    while number:
        gold = gold_of(rng)
        name, second = rng.choice(names), rng.choice(_OVER)
        lines = gold.patch.split("\n")[:-1]
        damaged = MUTATIONS[name](lines, rng) if lines else None
        if damaged and second and "cut" not in name:
            damaged = MUTATIONS[second](damaged, rng)
        if not damaged:
            continue
        text = "\n".join(damaged) + ("" if name == "cut in a line" else "\n")
        if rng.random() < 1 / 3 and "cut" not in name:
            text = f"So it works:\n\n```diff\n{text}```\n"
        number -= 1
        yield f"{name} {second}".strip(), text, fate(gold, text)


def fate(gold: Gold, text: str) -> Fate:
    repaired = repair_patch(text, MappingTree(gold.before))
    if not repaired.patch:
        return "refused"
    tree = applied(gold.before, parse_diff(repaired.patch))
    if tree == dict(gold.after):
        return "gold"
    if any(tree == part for part in _parts(gold)):
        return "part"
    return "written" if _changes(text) == _changes(repaired.patch) else "wrong"


def applied(before: Files, files: tuple[FileDiff, ...]) -> dict[str, str]:
    """The tree after a clean diff; every line of it must fit."""
    tree = dict(before)
    for file in files:
        old = before[file.old_path].splitlines(keepends=True) if file.old_path else []
        new: list[str] = []
        at = 0
        for hunk in file.hunks:
            assert hunk.complete
            start = hunk.old_start - (hunk.old_count > 0)
            new += old[at:start]
            at = start + _take(hunk, old[start:], new)
        tree[file.new_path] = "".join([*new, *old[at:]])
    return tree


def _take(hunk: Hunk, old: list[str], new: list[str]) -> int:
    taken = 0
    for line in hunk.lines:
        text = line[1:] + "\n"
        if line[0] in " -":
            assert old[taken] == text
            taken += 1
        if line[0] in " +":
            new.append(text)
    return taken


def _parts(gold: Gold) -> Iterator[dict[str, str]]:
    """The trees after the first hunks of a gold patch only."""
    files = parse_diff(gold.patch)
    for last, file in enumerate(files):
        for number in range(len(file.hunks)):
            part = FileDiff(file.old_path, file.new_path, hunks=file.hunks[: number + 1])
            yield applied(gold.before, (*files[:last], part))


def _changes(text: str) -> Counter[str]:
    """The changed lines of a diff but for blank ones."""
    lines = [line for line in text.split("\n") if line[:1] in ("+", "-") and line[1:].strip()]
    return Counter(line[0] + line[1:].strip() for line in lines if line[:4] not in ("+++ ", "--- "))
