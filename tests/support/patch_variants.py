"""A gold patch and forty ways in which a model may hand it over, made from small authored trees.

The names and numbers are those of the reference table of malformed patches, so that
results can be compared: 34, 35 and 23 hold no whole patch and are rightly refused.
"""

from __future__ import annotations

import difflib
import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Files = Mapping[str, str]
#: Variants that no one can make a patch of.
HOPELESS = ("23", "34", "35")

_CORE = '''"""Readings of a row of sensors."""

import math

LIMIT = 8


def mean(values):
    """Arithmetic mean."""
    if not values:
        raise ValueError("mean of nothing")
    return sum(values) / len(values)


def middle(values):
    """The reading that half of the others lie below."""
    values = sorted(values)
    if not values:
        raise ValueError("middle of nothing")
    half = len(values) // 2
    return values[half]


def spread(values, unit="mm"):
    """Largest less smallest, with 'unit' behind."""
    if len(values) < 2 or unit is None:
        return 0
    return f"{max(values) - min(values)} {unit}"


def deviation(values):
    centre = mean(values)
    total = sum((value - centre) ** 2 for value in values)
    return math.sqrt(total / len(values))
'''
_MENU = '''"""Dishes of a canteen by day."""

DAYS = ["mon", "tue", "wed"]


class Menu:
    def __init__(self, dishes):
        self.dishes = dict(dishes)

    def price(self, day):
        if day not in self.dishes:
            raise KeyError(day)
        return self.dishes[day]["price"]

    def name(self, day):
        if day not in self.dishes:
            raise KeyError(day)
        return self.dishes[day]["name"]

    def cheapest(self):
        return min(self.dishes, key=self.price)
'''
_TEXT = """# Canteen

Prices are in cents.

## Days

Monday to Wednesday.
"""


@dataclass(frozen=True)
class Gold:
    """A tree before and after, and the patch between them in git's form."""

    before: Files
    after: Files

    @property
    def patch(self) -> str:
        return diff_of(self.before, self.after)


def diff_of(before: Files, after: Files) -> str:
    """What git would print for two trees of text files."""
    parts: list[str] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        lines = difflib.unified_diff(
            (old or "").splitlines(keepends=True),
            (new or "").splitlines(keepends=True),
            "/dev/null" if old is None else f"a/{path}",
            "/dev/null" if new is None else f"b/{path}",
        )
        parts.append(f"diff --git a/{path} b/{path}\n")
        parts += ["new file mode 100644\n"] if old is None else []
        parts += ["deleted file mode 100644\n"] if new is None else []
        parts.append("index 1111111..2222222" + (" 100644\n" if old and new else "\n"))
        parts += [
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        ]
    return "".join(parts)


def small() -> Gold:
    """One hunk in one file, whose context holds quotes."""
    before = {"sensors/core.py": _CORE, "sensors/__init__.py": "", "README.md": _TEXT}
    fixed = """    half = len(values) // 2
    if len(values) % 2:
        return values[half]
    return (values[half - 1] + values[half]) / 2
"""
    old = "    half = len(values) // 2\n    return values[half]\n"
    return Gold(before, {**before, "sensors/core.py": _CORE.replace(old, fixed)})


def wide() -> Gold:
    """Four hunks in two files; one file holds two places that look alike."""
    before = {"sensors/core.py": _CORE, "canteen/menu.py": _MENU, "README.md": _TEXT}
    core = _CORE.replace("LIMIT = 8", "LIMIT = 9\nSCALE = 1.5").replace(
        "    centre = mean(values)\n",
        "    if len(values) < LIMIT:\n        raise ValueError(LIMIT)\n    centre = mean(values)\n",
    )
    menu = _MENU.replace('DAYS = ["mon", "tue", "wed"]', 'DAYS = ["mon", "tue", "wed", "thu"]')
    menu = menu.replace(
        '        return self.dishes[day]["name"]',
        '        return self.dishes[day].get("name", "soup")',
    )
    return Gold(before, {**before, "sensors/core.py": core, "canteen/menu.py": menu})


def with_new_file() -> Gold:
    """A changed file and one that is made."""
    gold = small()
    made = '"""Units of length."""\n\nUNITS = ("mm", "cm")\n'
    return Gold(gold.before, {**gold.after, "sensors/units.py": made})


def variants(gold: Gold) -> dict[str, str]:
    """The forty texts by number; the last is of a patch that makes a file if `gold` does."""
    patch = gold.patch
    made: dict[str, str] = {"01": patch}
    made |= {number: make(patch) for number, make in _OF_PATCH.items()}
    made |= {number: make(gold) for number, make in _OF_TREES.items()}
    return dict(sorted(made.items()))


def _lines(patch: str, change: Callable[[str], str]) -> str:
    """The patch with each line of its hunks changed."""
    done: list[str] = []
    inside = False
    for line in patch.split("\n")[:-1]:
        if line.startswith(("diff --git", "@@")):
            inside = line.startswith("@@")
            done.append(line)
        else:
            done.append(change(line) if inside else line)
    return "\n".join(done) + "\n"


def _context(patch: str, change: Callable[[str], str]) -> str:
    return _lines(patch, lambda line: " " + change(line[1:]) if line[:1] == " " else line)


_HEADER = re.compile(r"^@@ -(\d+),(\d+) \+(\d+),(\d+) @@", re.MULTILINE)


def _headers(patch: str, start: int = 0, count: int = 0) -> str:
    def shifted(result: re.Match[str]) -> str:
        a, b, c, d = (int(number) for number in result.groups())
        return f"@@ -{a + start},{max(b + count, 1)} +{c + start},{max(d + count, 1)} @@"

    return _HEADER.sub(shifted, patch)


def _paraphrased(patch: str) -> str:
    """The first line of each hunk that is context and not blank, in other words."""
    done: list[str] = []
    waiting = False
    for line in patch.split("\n"):
        waiting = waiting or line.startswith("@@")
        if waiting and line[:1] == " " and line.strip():
            line, waiting = line.replace("values", "numbers") + "  # as is", False
        done.append(line)
    return "\n".join(done)


def _numbered(patch: str) -> str:
    """Line numbers of the old file behind the marks, as prompts show them."""
    done: list[str] = []
    number = new = 0
    for line in patch.split("\n")[:-1]:
        if match := _HEADER.match(line):
            number, new = int(match[1]), int(match[3])
        elif number and line[:1] in (" ", "-"):
            line = f"{line[0]}{number} {line[1:]}"
            number += 1
            new += line[0] == " "
        elif number and line[:1] == "+":
            line = f"+{new} {line[1:]}"
            new += 1
        if line.startswith("diff --git"):
            number = 0
        done.append(line)
    return "\n".join(done) + "\n"


def _cut(patch: str) -> str:
    """The patch up to a place within the changes of its last hunk."""
    at = patch.rindex("\n+")
    return patch[: at + 8]


def _swapped(patch: str) -> str:
    return _lines(patch, lambda line: {"+": "-", "-": "+"}.get(line[:1], line[:1]) + line[1:])


def _smart(text: str) -> str:
    return text.replace('"', "”").replace("'", "’")


def _fenced(language: str, patch: str) -> str:
    return f"```{language}\n{patch}```\n"


_NAMES = re.compile(r"^(--- |\+\+\+ )[ab]/", re.MULTILINE)
_GIT_LINES = re.compile(r"^(?:diff --git|index).*\n", re.MULTILINE)
_PROSE = "The upper half was taken alone; now both readings count.\n"
_DRAFT = (
    "--- a/nowhere.py\n+++ b/nowhere.py\n@@ -1,2 +1,2 @@\n context\n-first idea\n+second idea\n"
)
_OF_PATCH: dict[str, Callable[[str], str]] = {
    "02": lambda p: _fenced("diff", p),
    "03": lambda p: f"Here is the fix.\n\n{_fenced('patch', p)}\n{_PROSE}",
    "04": lambda p: _fenced("", p),
    "05": lambda p: f"<patch>\n{p}</patch>\n",
    "06": lambda p: f"{_PROSE}\n{p}",
    "07": lambda p: f"{p}\n{_PROSE}",
    "08": lambda p: p.removesuffix("\n"),
    "09": lambda p: _headers(p, count=-5),
    "10": lambda p: _headers(p, count=5),
    "11": lambda p: _headers(p, start=40),
    "12": lambda p: _HEADER.sub("@@", p),
    "13": lambda p: _HEADER.sub("@@ ... @@", p),
    "14": lambda p: p.replace("\n", "\r\n"),
    "15": lambda p: _NAMES.sub(r"\1", _GIT_LINES.sub("", p)),
    "16": lambda p: _GIT_LINES.sub("", p),
    "17": lambda p: _NAMES.sub(r"\1/testbed/", _GIT_LINES.sub("", p)),
    "18": lambda p: re.sub(r"^(diff --git|index|--- |\+\+\+ ).*\n", "", p, flags=re.M),
    "19": lambda p: _lines(p, lambda line: line if line.strip() else ""),
    "20": lambda p: _context(p, lambda text: text + "  "),
    "21": lambda p: _context(p, lambda text: text.replace("    ", "\t")),
    "22": _paraphrased,
    "23": _cut,
    "28": lambda p: json.dumps({"patch": p}),
    "29": lambda p: html.escape(p, quote=False),
    "30": lambda p: f"```python\nprint('before')\n```\n\n{_fenced('diff', p)}",
    "31": lambda p: f"<think>\nSo?\n{_fenced('diff', _DRAFT)}</think>\n\n{_fenced('diff', p)}",
    "32": _swapped,
    "33": _numbered,
    "34": lambda p: "",
    "35": lambda p: "One should average both readings in the middle.\n",
    "36": lambda p: "\n".join(f"    {line}" for line in p.split("\n")[:-1]) + "\n",
    "37": lambda p: f"\ufeff{p}",
    "38": lambda p: f"```diff\n{p}",
    "39": lambda p: _context(p, _smart),
    "40": lambda p: re.sub(r"^new file mode.*\n", "", p, flags=re.M),
}  # fmt: skip


def _v4a(gold: Gold) -> str:
    parts = ["*** Begin Patch"]
    for path, body in _bodies(gold):
        if path not in gold.before:
            parts += [f"*** Add File: {path}"]
            parts += [f"+{line}" for line in gold.after[path].splitlines()]
            continue
        parts += [
            f"*** Update File: {path}",
            *re.sub(r"^@@ .*$", "@@", body, flags=re.M).split("\n"),
        ]
    return "\n".join([*parts, "*** End Patch"]) + "\n"


def _bodies(gold: Gold) -> list[tuple[str, str]]:
    """Path and hunks, without a final line feed, of each changed file."""
    result: list[tuple[str, str]] = []
    for path in sorted({*gold.before, *gold.after}):
        diff = diff_of(
            {path: gold.before[path]} if path in gold.before else {},
            {path: gold.after[path]} if path in gold.after else {},
        )
        if diff:
            result.append((path, diff[diff.index("@@") :].rstrip("\n")))
    return result


def _blocks(gold: Gold, before: str, behind: str) -> str:
    parts: list[str] = []
    for path, body in _bodies(gold):
        for hunk in re.split(r"^@@ .*\n", body, flags=re.M)[1:]:
            lines = hunk.rstrip("\n").split("\n")
            old = [line[1:] for line in lines if line[:1] != "+"]
            new = [line[1:] for line in lines if line[:1] != "-"]
            search = "".join(f"{line}\n" for line in old)
            replace = "".join(f"{line}\n" for line in new)
            block = f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"
            parts.append(before.format(path) + block + behind)
    return "\n".join(parts)


def _whole(gold: Gold) -> str:
    changed = [path for path, _ in _bodies(gold)]
    return "".join(f"[start of {path}]\n{gold.after[path]}[end of {path}]\n" for path in changed)


_OF_TREES: dict[str, Callable[[Gold], str]] = {
    "24": _v4a,
    "25": lambda gold: _blocks(gold, "{}\n```python\n", "```\n"),
    "26": lambda gold: _blocks(gold, "```python\n### {}\n", "```\n"),
    "27": _whole,
}
