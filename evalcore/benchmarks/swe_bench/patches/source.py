"""The repository as the repair sees it: files as lines, where a block of lines occurs, which
lines two texts have in common, and whether Python source compiles.
"""

from __future__ import annotations

import atexit
import os
import re
import stat
import warnings
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Protocol

import msgspec

from evalcore.sandbox.filesystem import Unreadable, read_inside
from evalcore.sandbox.worker_process import WorkerLost, WorkerProcess

#: Bytes of a file beyond which it is not read: no source is longer.
MAX_SOURCE_BYTES = 8 << 20


class Tree(Protocol):
    """A repository at its base commit."""

    def read(self, path: str) -> str | None:
        """The text of a file, line ends as they are; None where there is none to read."""

    def paths(self) -> Sequence[str]:
        """All files, relative to the root, with forward slashes."""


class FolderTree:
    """The plain files of a folder: no link is followed, `.git` is left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[str] | None = None

    def read(self, path: str) -> str | None:
        """None, too, for a file that is no UTF-8 or longer than LARGEST."""
        try:
            return read_inside(self._folder, path, MAX_SOURCE_BYTES).decode("utf-8")
        except (Unreadable, UnicodeDecodeError):
            return None

    def paths(self) -> Sequence[str]:
        if self._paths is None:
            self._paths = sorted(self._list_plain_files())
        return self._paths

    def _list_plain_files(self) -> Iterator[str]:
        for folder, below, names in os.walk(self._folder):
            below[:] = [name for name in below if name != ".git"]
            for path in (Path(folder) / name for name in names):
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path.relative_to(self._folder).as_posix()


# A block of lines is looked for in several forms, from exact to loose. Each form is searched as one
# text, in time that grows with the length of the file and not with what is in it.

#: Places of one block that are looked at; more are as ambiguous.
MAX_POSITIONS = 200

LineForm = Callable[[str], str]

_QUOTES = {**dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("“”„‟″", '"')}
_DASHES = dict.fromkeys("‐‑‒–—−", "-")
_SPACES = dict.fromkeys("\u00a0\u2007\u202f\u2009", " ")
#: Signs that word processing puts for plain ones; those of a group come together.
TYPOGRAPHY: tuple[dict[str, str], ...] = (_QUOTES, _DASHES, _SPACES)
_PLAIN = str.maketrans({**_QUOTES, **_DASHES, **_SPACES, "\ufeff": ""})
_BLANKS = re.compile(r"[ \t]+")


def strip_bom_and_cr(line: str) -> str:
    return line.removeprefix("\ufeff").removesuffix("\r")


def strip_indent(line: str) -> str:
    return strip_bom_and_cr(line).strip()


def normalize_loosely(line: str) -> str:
    return _BLANKS.sub(" ", line.translate(_PLAIN).strip())


def strip_trailing(line: str) -> str:
    return strip_bom_and_cr(line).rstrip()


#: The forms in the order in which they are tried.
LINE_FORMS: tuple[LineForm, ...] = (
    strip_bom_and_cr,
    strip_trailing,
    strip_indent,
    normalize_loosely,
)


class SourceFile:
    """The content of one file. `lines` keep their ends; only a line feed ends one."""

    def __init__(self, text: str) -> None:
        parts = text.split("\n")
        self.lines = [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
        self.texts = parts if parts[-1] else parts[:-1]
        self.size = len(text)
        self._searched: dict[LineForm, tuple[str, list[int]]] = {}
        self._formed: dict[LineForm, list[str]] = {}

    def list_formed_lines(self, form: LineForm) -> list[str]:
        if form not in self._formed:
            self._formed[form] = [form(line) for line in self.texts]
        return self._formed[form]

    def find_block_positions(self, block: Sequence[str], form: LineForm) -> list[int]:
        """The first lines (from 0) at which a block occurs in a form, at most MOST_PLACES."""
        text, starts = self._build_search_text(form)
        needle = "".join(f"\n{form(line)}" for line in block) + "\n"
        if not needle.strip():
            return []
        positions: list[int] = []
        at = text.find(needle)
        while at >= 0 and len(positions) < MAX_POSITIONS:
            positions.append(bisect_right(starts, at) - 1)
            at = text.find(needle, at + 1)
        return positions

    def _build_search_text(self, form: LineForm) -> tuple[str, list[int]]:
        """All lines joined, each between line feeds, and where the line feed before each is."""
        if form not in self._searched:
            formed = self.list_formed_lines(form)
            starts = list(accumulate((len(line) + 1 for line in formed), initial=0))
            self._searched[form] = "".join(f"\n{line}" for line in formed) + "\n", starts
        return self._searched[form]


# Lines that two texts have in common, in near-linear time whatever the texts. Lines that are unique
# in both are matched in their longest common order (the idea of patience diff); between two
# matches, what is equal at both ends is matched, too. The result need not be the shortest
# difference, but it is a correct one.


def match_common_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of equal lines, as numbers from 0, ascending on both sides."""
    anchors = [(-1, -1), *_find_unique_anchors(old, new), (len(old), len(new))]
    pairs: list[tuple[int, int]] = []
    for (a, b), (c, d) in pairwise(anchors):
        pairs += _match_end_lines(old, new, (a + 1, c), (b + 1, d))
        if c < len(old):
            pairs.append((c, d))
    return pairs


def iter_changed_ranges(
    old: Sequence[str], new: Sequence[str]
) -> Iterator[tuple[int, int, int, int]]:
    """What differs: old lines `a` to `b` became new lines `c` to `d` (exclusive)."""
    a = c = 0
    for b, d in [*match_common_lines(old, new), (len(old), len(new))]:
        if a < b or c < d:
            yield a, b, c, d
        a, c = b + 1, d + 1


def _find_unique_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    in_old, in_new = Counter(old), Counter(new)
    where = {line: at for at, line in enumerate(new) if in_new[line] == in_old[line] == 1}
    return _find_longest_ascending(
        [(at, where[line]) for at, line in enumerate(old) if line in where]
    )


def _find_longest_ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs`, whose first numbers ascend, in which the second ones do, too."""
    tops: list[int] = []  # the smallest last number of an ascending part of each length
    ends: list[int] = []  # which pair that is
    before: list[int] = []
    for number, (_, value) in enumerate(pairs):
        length = bisect_left(tops, value)
        before.append(ends[length - 1] if length else -1)
        if length == len(tops):
            tops.append(value)
            ends.append(number)
        else:
            tops[length], ends[length] = value, number
    chain: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _match_end_lines(
    old: Sequence[str], new: Sequence[str], in_old: tuple[int, int], in_new: tuple[int, int]
) -> list[tuple[int, int]]:
    """Pairs of equal lines at the beginning and at the end of two stretches."""
    (a, c), (b, d) = in_old, in_new
    head: list[tuple[int, int]] = []
    while a < c and b < d and old[a] == new[b]:
        head.append((a, b))
        a, b = a + 1, b + 1
    tail: list[tuple[int, int]] = []
    while a < c and b < d and old[c - 1] == new[d - 1]:
        c, d = c - 1, d - 1
        tail.append((c, d))
    return head + tail[::-1]


# Source of a model can exhaust the stack or the memory of the compiler, so none is compiled in this
# process. The child is started when first needed and shared; it can open nothing and run nothing.

_COMPILE_SECONDS = 10.0
_COMPILE_MEMORY_BYTES = 512 << 20
_SERVICE = f"{__name__}:service"


class _Compiler:
    about: Mapping[str, Any] = {}

    def __call__(self, request: Mapping[str, Any]) -> bool:
        try:
            compile(request.get("source", ""), "<source>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return False
        return True


def service(options: Mapping[str, Any]) -> _Compiler:
    """What the child serves: {"source"} to whether it compiles."""
    warnings.simplefilter("ignore")  # to show one, Python would open a file
    return _Compiler()


def compiles_as_python(source: str) -> bool:
    """Whether `source` compiles as a module with the running version of Python. Raises
    EnvironmentFailure where the child cannot be started."""
    try:
        source.encode()  # what asks the child would mend half of a surrogate pair
        reply = _WORKER.request({"source": source})
    except (WorkerLost, UnicodeEncodeError):  # crashed, or text that is no Unicode
        return False
    return not reply.fault and msgspec.json.decode(reply.result, type=bool)


_WORKER = WorkerProcess(
    _SERVICE, {}, seconds=_COMPILE_SECONDS, memory_bytes=_COMPILE_MEMORY_BYTES, max_reply=1 << 16
)
atexit.register(_WORKER.close)
