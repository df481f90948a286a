"""Visitors of a board in every mode, and the settings and runs of such a board."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from evalcore.access import login, policy
from evalcore.access.policy import ANYBODY, Visitor
from evalcore.results import Progress
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from tests.support.page_stores import evidence_run

CODE = "correct horse battery"
INSIDE = {
    "passcode": Visitor(proved=True),
    "oidc": Visitor(name="https://id.example|7", proved=True),
}
OUTSIDE = {
    "read-only": Visitor(name="https://id.example|7", proved=True),
    "passcode": ANYBODY,
    "oidc": Visitor(name="https://id.example|8"),
}
NULL = RunRequest(target="control:null", benchmarks=("sql_understanding",), max_samples=2)


def guarded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings that nothing outside of the test has a say in, and a passcode."""
    monkeypatch.setattr(policy, "_is_local_server", None)
    monkeypatch.setenv(login.VARIABLE, CODE)
    monkeypatch.delenv("EVALBOARD_ACCESS", raising=False)
    for name in ("EVALBOARD_CONFIG", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Settings(data=str(folder / "data"), shipped=str(folder / "none"))


def with_mode(settings: Settings, mode: str, **changes: object) -> Settings:
    """The same settings under a mode of access."""
    return msgspec.structs.replace(settings, access=mode, **changes)


def planned(
    settings: Settings, mode: str, mark: str, *, created: float, cost: float | None = None
) -> RunFolder:
    """A run folder of a visitor, ended at that cost where one is given."""
    run = time.strftime("%Y%m%d-%H%M%S", time.gmtime(created)) + f"-{os.urandom(3).hex()}"
    made = evidence_run(settings.runs_dir)
    folder = RunFolder(made.path.rename(settings.runs_dir / run))
    spec = msgspec.structs.replace(folder.read_spec(), run_id=run, access=mode, started_by=mark)
    (folder.path / "spec.json").write_bytes(msgspec.json.encode(spec))
    (folder.path / "summary.json").unlink(missing_ok=True)
    if cost is not None:
        folder.write_progress(Progress(run_id=run, state="incomplete", cost=cost))
        (folder.path / "worker.lock").touch()
    return folder
