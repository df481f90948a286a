"""Which files decide how tests are found, run and reported, instead of what the program does.

A patch that touches one of them can make tests pass without solving anything, so the hardened run
leaves them out. SWE-bench builds its gold patches from paths without the word "test", so that the
rules on names below cost no gold patch anything; only configuration that a project also ships
(`setup.cfg`, `pyproject.toml`) can be part of one, and the gold patch is run hardened as well.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePosixPath

#: Read by pytest, tox, nox and coverage before a test runs, or by Python at its start.
_NAMES = frozenset(
    {
        "conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        ".pytest.toml",
        "tox.ini",
        "noxfile.py",
        "setup.cfg",
        "pyproject.toml",
        ".coveragerc",
        "sitecustomize.py",
        "usercustomize.py",
    }
)
#: Path entries that Python runs at its start, and byte code that stands in for a source file.
_SUFFIXES = (".pth", ".pyc")
_TEST_FILES = ("test_*.py", "*_test.py", "test.py", "tests.py")
_FOLDERS = frozenset({"test", "tests", "testing", "e2e", "__pycache__"})
#: Modules of the runner: one of this name at the top of a repository would be imported instead.
_SHADOWED = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "unittest"})


def is_test_infrastructure(path: str) -> bool:
    """Whether a path of a repository, with `/` between its parts, is test infrastructure."""
    parts = PurePosixPath(path).parts
    if not parts:
        return False
    name = parts[-1]
    return (
        name in _NAMES
        or name.endswith(_SUFFIXES)
        or any(fnmatchcase(name, pattern) for pattern in _TEST_FILES)
        or not _FOLDERS.isdisjoint(parts[:-1])
        or parts[0].removesuffix(".py") in _SHADOWED
    )


is_test_infrastructure.__test__ = False  # type: ignore[attr-defined]  # pytest: this is no test
