"""The processes that do the work of pages: short services that answer, workers that outlive all.

Requests and keys go over standard input, never into arguments or files. No process gets what only
the server needs to know, and each is told the access of the visitor whom it works for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

import msgspec

from evalcore import access, login, passcode
from evalcore.access import Visitor
from evalcore.errors import UsageError
from evalcore.runner.request import RunRequest
from evalcore.secrets import scrub_secrets
from evalcore.settings import ROOT, Settings
from evalcore.store.run_folder import RunFolder

_SERVICE_TIMEOUT = 120.0  # seconds
#: What belongs to the server alone and never enters the environment of a worker.
_SERVER_ONLY_VARIABLES = frozenset({passcode.VARIABLE, login.SECRET, login.COOKIE})


def call_service(
    verb: str,
    request: RunRequest,
    keys: Mapping[str, str],
    settings: Settings,
    visitor: Visitor,
) -> Any:
    """What `evalcore.runner.service` answers to a verb; raises UsageError with its problem."""
    restricted = access.restrict_settings(settings, visitor)
    payload = msgspec.json.encode({"request": request, "keys": dict(keys), "settings": restricted})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "evalcore.runner.service", verb],
            input=payload,
            capture_output=True,
            timeout=_SERVICE_TIMEOUT,
            env=build_environment(settings, visitor),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"no answer within {_SERVICE_TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(scrub_secrets(lines[-1] if lines else "the service ended", keys.values()))
    result = json.loads(done.stdout)
    if "error" in result:
        raise UsageError(result["error"])
    return result["ok"]


def start_run_process(
    module: str,
    folders: Sequence[RunFolder],
    keys: Mapping[str, str],
    environment: Mapping[str, str],
    *flags: str,
) -> None:
    """Start the process of some runs, which logs into the first of their folders."""
    paths = [str(folder.path) for folder in folders]
    with folders[0].log_path.open("ab") as log:
        command = [f"evalcore.runner.{module}", *paths, *flags]
        start_detached(command, log, json.dumps(dict(keys)).encode(), environment)


def start_detached(
    command: Sequence[str],
    log: IO[bytes],
    stdin_data: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a module with its arguments in a session of its own: it outlives the page, the tab and
    the server. It reads what is `stdin_data`; without an `environment` it gets
    `build_import_environment()`."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env=environment or build_import_environment(),
    )
    assert process.stdin is not None  # noqa: S101 - asked for by PIPE
    process.stdin.write(stdin_data)
    process.stdin.close()
    return process


def build_environment(settings: Settings, visitor: Visitor) -> dict[str, str]:
    """`build_import_environment()` with the visitor's mode, so that what works for him is bound
    as he is."""
    return build_import_environment() | {
        "EVALBOARD_ACCESS": access.resolve_access_mode(settings, visitor)
    }


def build_import_environment() -> dict[str, str]:
    """This environment, with the project importable and without what only the server may know."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    inherited = {
        name: value for name, value in os.environ.items() if name not in _SERVER_ONLY_VARIABLES
    }
    return inherited | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
