"""git, held to what a call says: no hook, no configuration of system or user, no network.

Repositories and patches are hostile. Only the file protocol is allowed, so that no repository can
make git start a helper of its own, and nothing asks for a password.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from evalcore.errors import EnvironmentFailure

SECONDS = 300.0
#: Read as the user's configuration, which unlike `-c` also holds for the helpers that git starts.
_CONFIGURATION = """\
[safe]
\tdirectory = *
[core]
\thooksPath = /dev/null
\tfsmonitor = false
\tautocrlf = false
\tfileMode = false
\tquotePath = false
[protocol]
\tversion = 2
[uploadpack]
\tallowAnySHA1InWant = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[advice]
\tdetachedHead = false
[init]
\tdefaultBranch = main
"""
_MISSING = "git is not installed; install it (Debian: apt install git)"


def run_git(*arguments: str | Path, folder: Path) -> str:
    """What git prints when it is run in a folder; the name of a file that is no UTF-8 is escaped.

    Raises EnvironmentFailure where git is missing, fails or takes longer than SECONDS.
    """
    try:
        process = subprocess.run(
            ["git", *map(str, arguments)],
            cwd=folder,
            env=build_git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise EnvironmentFailure(_MISSING) from None
    except subprocess.TimeoutExpired:
        raise EnvironmentFailure(f"git {arguments[0]} took longer than {SECONDS:g} s") from None
    if process.returncode:
        stderr = process.stderr.decode("utf-8", "replace").strip()[-500:]
        raise EnvironmentFailure(f"git {arguments[0]} failed: {stderr}")
    return process.stdout.decode("utf-8", "surrogateescape")


def build_git_environment() -> dict[str, str]:
    """All that git knows of us: where programs are, and the configuration of this module."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": _write_git_config(),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }


@cache
def _write_git_config() -> str:
    """The path of the configuration, written once for this process and gone with it."""
    folder = tempfile.TemporaryDirectory(prefix="evalcore-git-")
    _config_folders.append(folder)
    config_path = Path(folder.name) / "config"
    config_path.write_text(_CONFIGURATION, encoding="utf-8")
    return str(config_path)


_config_folders: list[tempfile.TemporaryDirectory[str]] = []
