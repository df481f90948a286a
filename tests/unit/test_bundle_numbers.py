"""Numbers that a bundle made up: it is refused, or its run enters an index that stays readable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalcore import settings as configuration
from evalcore.cli import main
from evalcore.errors import UsageError
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.store.index import load_headers, open_index
from tests.support.bundles import Files, bundled, changed, edit, edit_lines, files_of, finished

SQL = "sql_understanding"
NUMBERS = [10**30, -5, 10**400, float("nan"), float("inf"), "1e999", 1e308, 2**64]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles")
    settings = configuration.load_settings(path / "data")
    folder = finished(settings, "control:null", SQL, max_samples=2)
    return bundled(folder, settings, path / "run.zip")


def poison(files: Files, number: Any) -> None:
    """The number wherever a run counts or measures, but for what a check compares."""
    facts = {"judge_requests": number, "judge_cost": number}
    usage = {"input_tokens": number, "output_tokens": number}
    target = {"target": number}

    def episodes(lines: list[Any]) -> None:
        lines[0]["episode"] |= {"cost": number, "latency": number, "state": {"x": [number]}}
        if not isinstance(number, str):
            lines[0]["episode"] |= {"usage": usage, "attempts": number}

    edit_lines("generations.jsonl", episodes)(files)
    edit_lines("verdicts.jsonl", lambda lines: lines[0]["verdict"]["details"].update(facts))(files)
    edit("summary.json", lambda item: item.update(totals=usage, errors={"permanent": number}))(
        files
    )
    for name in ("spec.json", "summary.json"):
        edit(name, lambda item: item["target"].setdefault("options", {}).update(target))(files)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: str(number)[:8])
def test_no_number_of_a_bundle_breaks_the_store(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: Any
) -> None:
    assert "generations.jsonl" in files_of(bundle)
    settings = configuration.load_settings(tmp_path / "store")
    forged = changed(bundle, tmp_path / "forged.zip", lambda files: poison(files, number))
    try:
        run = import_bundle(forged, settings, progress=lambda line: None).run
    except UsageError:
        assert list(settings.runs_dir.glob("*")) == []
        assert open_index(settings).rebuild() == 0
        return
    assert open_index(settings).rebuild() == 1
    assert run in [header.run_id for header in load_headers(settings)]
    for verb in (["list", "runs"], ["show", run], ["board"]):
        capsys.readouterr()
        assert main.main([*verb, "--json", "--data", settings.data]) == 0
        json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
