"""Which file of the repository a name in a patch means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from evalcore.benchmarks.swe_bench.patches.draft import NULL, Hunk
from evalcore.benchmarks.swe_bench.patches.placing import exact_places
from evalcore.benchmarks.swe_bench.patches.problems import Refused
from evalcore.benchmarks.swe_bench.patches.readings import readings
from evalcore.benchmarks.swe_bench.patches.source import Source
from evalcore.benchmarks.swe_bench.patches.tree import Tree

_PREFIX = re.compile(r"^[abciwo]/")
#: Where the usual harnesses keep the repository.
_ROOT = re.compile(r"^(?:/(?:testbed|workspace|repo|app)/|testbed/)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
#: A text without file names is looked for in this many characters of files at most.
_MOST_SEARCHED = 128_000_000
_FEWEST_LINES = 2
_FEWEST_CHARACTERS = 20


def plain(name: str) -> str:
    """The name without quotes, time stamp and line end, as the patch writes it."""
    name = name.split("\t")[0].strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'`":
        name = name[1:-1]
    return name


def existing(name: str, tree: Tree, *, exactly: bool = False) -> str:
    """The file that a name means; `exactly`: no leading folders may be left out or added.

    Raises Refused: "file", "which_file" or "path".
    """
    _check(name)
    paths = set(tree.paths())
    for candidate in _candidates(name, exactly=exactly):
        if candidate in paths:
            return candidate
    bare = _bare(name)
    below = [path for path in paths if path.endswith(f"/{bare}")]
    if exactly or not below:
        raise Refused("file")
    if len(below) > 1:
        raise Refused("which_file")
    return below[0]


def created(name: str, tree: Tree) -> str:
    """The path of a file that a patch makes. Raises Refused: "path" or "exists"."""
    _check(name)
    path = _bare(name)
    if path.startswith("/"):
        raise Refused("path")
    if path in set(tree.paths()):
        raise Refused("exists")
    return path


def holding(hunks: Sequence[Hunk], tree: Tree) -> str:
    """The only file that holds the old lines of all hunks, in any white space at line ends.

    Raises Refused: "unnamed" where there is none or too few lines to tell, "which_file", "large".
    """
    options = [next(readings(hunk), None) for hunk in hunks]
    taken = [option for option in options if option is not None]
    old = [line.strip() for option in taken for line in option.old if line.strip()]
    if len(taken) != len(options) or not _telling(old):
        raise Refused("unnamed")
    longest = max(old, key=len)
    found: list[str] = []
    searched = 0
    for path in tree.paths():
        text = tree.read(path) or ""
        searched += len(text)
        if searched > _MOST_SEARCHED:
            raise Refused("large")
        if longest in text:
            source = Source(text)
            if all(exact_places(option, source) for option in taken):
                found.append(path)
    if len(found) != 1:
        raise Refused("which_file" if found else "unnamed")
    return found[0]


def _telling(old: Iterable[str]) -> bool:
    lines = list(old)
    return len(lines) >= _FEWEST_LINES and sum(map(len, lines)) >= _FEWEST_CHARACTERS


def _check(name: str) -> None:
    """Raises Refused for names that no file of a repository has."""
    parts = PurePosixPath(name).parts
    outside = ".." in parts or any(part.casefold() == ".git" for part in parts)
    if not parts or name == NULL or outside or _CONTROL.search(name) or "\\" in name:
        raise Refused("path")


def _bare(name: str) -> str:
    """The name without its prefix, a leading "./" and the folder that the repository lies in."""
    name = _PREFIX.sub("", name.removeprefix("./"), count=1)
    return _ROOT.sub("", name, count=1).removeprefix("./")


def _candidates(name: str, *, exactly: bool) -> list[str]:
    """Paths that a name may mean, likeliest first: without prefix, as it is, without folders."""
    bare = _bare(name)
    parts = bare.strip("/").split("/")
    shorter = [] if exactly else ["/".join(parts[n:]) for n in range(1, len(parts))]
    return [bare, name.removeprefix("./"), *shorter]
