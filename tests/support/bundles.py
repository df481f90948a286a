"""Runs to bundle, and bundles that somebody changed."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evalcore.access.secrets import Secrets
from evalcore.exchange.bundle.exporter import export_bundle
from evalcore.runner.execute import execute_run
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.run_folder import RunFolder

Files = dict[str, bytes]
Change = Callable[[Files], None]


def finished(settings: Settings, target: str, *benchmarks: str, **more: Any) -> RunFolder:
    """A run that was really run, entered into the index."""
    request = RunRequest(target=target, benchmarks=benchmarks, **more)
    folder = create_folder(plan_run(request, settings), settings)
    execute_run(folder, settings, Secrets())
    record_run(settings, folder)
    return folder


def bundled(folder: RunFolder, settings: Settings, path: Path) -> Path:
    export_bundle(folder, path, settings)
    return path


def files_of(bundle: Path) -> Files:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(folder: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(folder, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return folder


def changed(bundle: Path, folder: Path, change: Change, *, vouch: bool = True) -> Path:
    """A copy with files changed; with `vouch` the manifest is made to fit, as a forger would."""
    files = files_of(bundle)
    change(files)
    if vouch:
        manifest = json.loads(files["manifest.json"])
        manifest["files"] = {
            name: hashlib.sha256(data).hexdigest()
            for name, data in files.items()
            if name != "manifest.json"
        }
        files["manifest.json"] = json.dumps(manifest).encode()
    return pack(folder, files)


def edit(name: str, how: Callable[[Any], None]) -> Change:
    """A change of one JSON document."""

    def change(files: Files) -> None:
        value = json.loads(files[name])
        how(value)
        files[name] = json.dumps(value).encode()

    return change


def edit_lines(name: str, how: Callable[[list[Any]], None]) -> Change:
    """A change of the lines of a journal."""

    def change(files: Files) -> None:
        lines = [json.loads(line) for line in files[name].splitlines()]
        how(lines)
        files[name] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    return change
