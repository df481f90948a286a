"""Which file of the repository a name in a patch means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from evalcore.benchmarks.swe_bench.patches.hunk_position import find_exact_positions
from evalcore.benchmarks.swe_bench.patches.parsed_patch import NULL, ParsedHunk
from evalcore.benchmarks.swe_bench.patches.problems import PatchRefused
from evalcore.benchmarks.swe_bench.patches.readings import iter_hunk_readings
from evalcore.benchmarks.swe_bench.patches.source import SourceFile
from evalcore.benchmarks.swe_bench.patches.tree import Tree

_PREFIX = re.compile(r"^[abciwo]/")
#: Where the usual harnesses keep the repository.
_ROOT = re.compile(r"^(?:/(?:testbed|workspace|repo|app)/|testbed/)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
#: A text without file names is looked for in this many characters of files at most.
_MAX_UNNAMED_SEARCH_CHARS = 128_000_000
_MIN_LINES = 2
_MIN_CHARACTERS = 20


def clean_file_name(name: str) -> str:
    """The name without quotes, time stamp and line end, as the patch writes it."""
    name = name.split("\t")[0].strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'`":
        name = name[1:-1]
    return name


def find_existing_file(name: str, tree: Tree, *, exactly: bool = False) -> str:
    """The file that a name means; `exactly`: no leading folders may be left out or added.

    Raises Refused: "file", "which_file" or "path".
    """
    _check_file_name(name)
    paths = set(tree.paths())
    for candidate in _list_candidate_paths(name, exactly=exactly):
        if candidate in paths:
            return candidate
    bare = _strip_name_prefix(name)
    below = [path for path in paths if path.endswith(f"/{bare}")]
    if exactly or not below:
        raise PatchRefused("file")
    if len(below) > 1:
        raise PatchRefused("which_file")
    return below[0]


def resolve_new_path(name: str, tree: Tree) -> str:
    """The path of a file that a patch makes. Raises Refused: "path" or "exists"."""
    _check_file_name(name)
    path = _strip_name_prefix(name)
    if path.startswith("/"):
        raise PatchRefused("path")
    if path in set(tree.paths()):
        raise PatchRefused("exists")
    return path


def find_file_with_hunks(hunks: Sequence[ParsedHunk], tree: Tree) -> str:
    """The only file that holds the old lines of all hunks, in any white space at line ends.

    Raises Refused: "unnamed" where there is none or too few lines to tell, "which_file", "large".
    """
    options = [next(iter_hunk_readings(hunk), None) for hunk in hunks]
    taken = [option for option in options if option is not None]
    old = [line.strip() for option in taken for line in option.old_lines if line.strip()]
    if len(taken) != len(options) or not _is_distinctive(old):
        raise PatchRefused("unnamed")
    longest = max(old, key=len)
    matching_paths: list[str] = []
    searched = 0
    for path in tree.paths():
        text = tree.read(path) or ""
        searched += len(text)
        if searched > _MAX_UNNAMED_SEARCH_CHARS:
            raise PatchRefused("large")
        if longest in text:
            source = SourceFile(text)
            if all(find_exact_positions(option, source) for option in taken):
                matching_paths.append(path)
    if len(matching_paths) != 1:
        raise PatchRefused("which_file" if matching_paths else "unnamed")
    return matching_paths[0]


def _is_distinctive(old: Iterable[str]) -> bool:
    lines = list(old)
    return len(lines) >= _MIN_LINES and sum(map(len, lines)) >= _MIN_CHARACTERS


def _check_file_name(name: str) -> None:
    """Raises Refused for names that no file of a repository has."""
    parts = PurePosixPath(name).parts
    outside = ".." in parts or any(part.casefold() == ".git" for part in parts)
    if not parts or name == NULL or outside or _CONTROL.search(name) or "\\" in name:
        raise PatchRefused("path")


def _strip_name_prefix(name: str) -> str:
    """The name without its prefix, a leading "./" and the folder that the repository lies in."""
    name = _PREFIX.sub("", name.removeprefix("./"), count=1)
    return _ROOT.sub("", name, count=1).removeprefix("./")


def _list_candidate_paths(name: str, *, exactly: bool) -> list[str]:
    """Paths that a name may mean, likeliest first: without prefix, as it is, without folders."""
    bare = _strip_name_prefix(name)
    parts = bare.strip("/").split("/")
    shorter = [] if exactly else ["/".join(parts[n:]) for n in range(1, len(parts))]
    return [bare, name.removeprefix("./"), *shorter]
