"""Which of the files that a patch changed belong to the machinery of tests, not to the program."""

from __future__ import annotations

import sys
from pathlib import PurePosixPath

from evalcore.benchmarks.swe_bench.execution.checkout import TreeChanges
from evalcore.benchmarks.swe_bench.measures import is_test_infrastructure

#: Folders that are usual places of packages, whose content is imported by its own name.
_ROOTS = ("src", "lib")
#: Modules that run before or around tests; a module of the same name in the repository comes first.
_NAMES = frozenset(
    {*sys.stdlib_module_names, "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"}
    | {"py", "xdist", "execnet", "sitecustomize", "usercustomize", "coverage", "hypothesis"}
)
#: Files that tell git or Python how other files are to be read.
_READING = frozenset({".gitattributes", ".gitmodules", "pyvenv.cfg"})


def find_infrastructure_changes(changes: TreeChanges) -> tuple[str, ...]:
    """Those of the changed paths that can decide how tests run and what they report.

    A new module that has the name of one of Python or pytest counts, since it is imported instead;
    a name that the base commit has already is the repository's own.
    """
    base_modules = {_find_import_name(path) for path in changes.base}
    shadows = {_find_import_name(path) for path in changes.created} & (_NAMES - base_modules)
    return tuple(
        path
        for path in changes.paths
        if is_test_infrastructure(path)
        or PurePosixPath(path).name in _READING
        or (path in changes.created and _find_import_name(path) in shadows)
    )


def _find_import_name(path: str) -> str:
    """The name by which the module or package of a path is imported; "" for other files."""
    parts = PurePosixPath(path).parts
    if len(parts) > 1 and parts[0] in _ROOTS:
        parts = parts[1:]
    if len(parts) > 1:
        return parts[0]
    name, _, ending = parts[0].partition(".")
    return name if ending.rpartition(".")[2] in ("py", "pyc", "so") else ""
