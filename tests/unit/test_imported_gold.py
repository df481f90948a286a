"""Runs and data sets from elsewhere with expected answers that an engine contradicts stay out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange.bundle import importer
from evalcore.exchange.bundle.importer import GoldCheck, ImportedBundle, import_bundle
from evalcore.exchange.hub_store.pull import PullResult, pull_results
from evalcore.exchange.hub_store.push import push_results
from evalcore.runner import gold
from evalcore.settings import Settings
from evalcore.store import datasets
from evalcore.store.index import open_index
from tests.support.bundles import bundled, changed, edit, edit_lines, finished
from tests.support.gold_cases import (
    BROKEN,
    CONTRADICTED,
    KEY,
    PART,
    RIGHT,
    UNCONFIRMED,
    without_mysql,
    write_cases,
)
from tests.support.hub_repository import REPO, TOKEN, Store, serving

__all__ = ["without_mysql"]

pytestmark = pytest.mark.slow

#: Valid in MySQL 8 and in no MariaDB.
MYSQL_8 = RIGHT | {
    "case_id": "mysql8",
    "dialect": "mysql",
    "db_type": "MySQL 8.0.36",
    "sql": "SELECT x.a FROM (SELECT 1 AS b) AS t, LATERAL (SELECT t.b AS a) AS x",
}


def quiet(line: str) -> None:
    """Nobody listens."""


def settings_of(folder: Path) -> Settings:
    return Settings(data=str(folder), shipped=str(folder / "none"), hub_repo=REPO, retry_base=0.001)


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    return settings_of(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Settings:
    return settings_of(tmp_path / "there")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with serving(Store()) as store:
        monkeypatch.setenv("HF_ENDPOINT", store.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.delenv("EVALBOARD_HUB_KEY", raising=False)
        yield store


def run_of(settings: Settings, folder: Path, *rows: dict[str, Any], **more: Any) -> Any:
    """A run over own cases, as an older program or another installation made it."""
    return finished(settings, "control:null", KEY, dataset=str(write_cases(folder, *rows)), **more)


def bundle_of(tmp_path: Path, *rows: dict[str, Any], **more: Any) -> Path:
    """A bundle that another installation made; the data set of a bundle has a plain name."""
    other = settings_of(tmp_path / "other")
    folder = run_of(other, tmp_path / "cases", *rows, **more)
    packed = bundled(folder, other, tmp_path / "packed.zip")

    def rename(spec: dict[str, Any]) -> None:
        spec["benchmarks"][0]["dataset"] = "mine"

    return changed(packed, tmp_path / "run.zip", edit("spec.json", rename))


def taken(bundle: Path, settings: Settings) -> ImportedBundle:
    return import_bundle(bundle, settings, progress=quiet)


def left_behind(settings: Settings) -> list[Path]:
    """Runs, and what an import prepares them in; memory and locks are no runs."""
    runs = [path for path in settings.runs_dir.glob("*") if any(path.rglob("*"))]
    return [*runs, *settings.data_dir.glob(".hub-scratch*")]


@pytest.mark.parametrize(
    ("row", "words"),
    [(CONTRADICTED, "the engine returns"), (BROKEN, "no such table: nowhere")],
    ids=["contradicted", "broken"],
)
def test_a_bundle_is_refused_by_line_field_and_case(
    row: dict[str, Any], words: str, here: Settings, tmp_path: Path
) -> None:
    bundle = bundle_of(tmp_path, RIGHT, row)
    with pytest.raises(UsageError) as error:
        taken(bundle, here)
    text = str(error.value)
    assert text.startswith(f"{bundle}: refused: samples.jsonl, line 2, field expected: ")
    assert f"{PART}/{row['case_id']}" in text
    assert words in text
    assert left_behind(here) == []
    assert open_index(here).headers() == []


def test_one_wrong_answer_among_two_hundred_is_named(here: Settings, tmp_path: Path) -> None:
    rows = [
        RIGHT
        | {
            "case_id": f"c{number}",
            "sql": f"SELECT {number} AS a",
            "expected": {**RIGHT["expected"], "rows": [[number + (number == 137)]]},
        }
        for number in range(200)
    ]
    with pytest.raises(UsageError, match=f"line 138, field expected: {PART}/c137"):
        taken(bundle_of(tmp_path, *rows), here)
    assert left_behind(here) == []


@pytest.mark.usefixtures("without_mysql")
def test_what_no_engine_here_runs_comes_in_and_is_said(
    here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = bundle_of(tmp_path, RIGHT, UNCONFIRMED)
    assert main(["import", "bundle", str(bundle), "--data", here.data]) == 0
    shown = capsys.readouterr().out
    assert "MySQL statements need MariaDB" in shown


def test_what_only_a_newer_server_runs_comes_in(here: Settings, tmp_path: Path) -> None:
    [score] = taken(bundle_of(tmp_path, MYSQL_8), here).scores
    assert score.unconfirmed == 1
    assert score.reason


def test_when_the_time_is_up_the_rest_is_unconfirmed_and_comes_in(
    here: Settings, tmp_path: Path
) -> None:
    bundle = bundle_of(tmp_path, RIGHT, CONTRADICTED)
    [score] = import_bundle(
        bundle, here, progress=quiet, gold=GoldCheck(here, quiet, seconds=0)
    ).scores
    assert score.unconfirmed == 2
    assert "no time" in score.reason


def test_cases_of_a_bundled_set_are_asked_of_nobody(
    here: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "confirm_gold", None)  # calling it breaks
    other = settings_of(tmp_path / "other")
    folder = finished(other, "control:null", KEY, max_samples=4)
    [score] = taken(bundled(folder, other, tmp_path / "run.zip"), here).scores
    assert (score.known_cases, score.unconfirmed) == (4, 0)


def test_equal_cases_are_confirmed_once(
    here: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ask = gold.confirm_gold

    def counted(*args: Any, **more: Any) -> gold.GoldReport:
        asked.append(1)
        return ask(*args, **more)

    monkeypatch.setattr(importer, "confirm_gold", counted)
    bundle = bundle_of(tmp_path, RIGHT)
    again = changed(bundle, tmp_path / "again.zip", edit("spec.json", lambda s: s.update(note="b")))
    assert taken(bundle, here).run != taken(again, here).run
    assert len(asked) == 1


def test_claims_about_wrong_answers_and_places_of_others_are_not_followed(
    here: Settings, tmp_path: Path
) -> None:
    def mark(lines: list[Any]) -> None:
        lines[0]["sample"]["meta"] = {"variants": ["SELECT 9"], "folder": "/", "file": "etc/passwd"}

    bundle = bundle_of(tmp_path, RIGHT)
    changed_bundle = changed(bundle, tmp_path / "m.zip", edit_lines("samples.jsonl", mark))
    [score] = taken(changed_bundle, here).scores
    assert score.unconfirmed == 0


def test_a_bundle_of_the_published_rule_comes_in(here: Settings, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, CONTRADICTED, options={KEY: {"mode": "scale"}})
    [score] = taken(bundle, here).scores
    assert score.unconfirmed == 0


def test_a_bundle_of_a_benchmark_that_is_not_installed_is_refused(
    here: Settings, tmp_path: Path
) -> None:
    def rename(spec: dict[str, Any]) -> None:
        spec["benchmarks"][0]["key"] = "not_here"

    bundle = changed(bundle_of(tmp_path, RIGHT), tmp_path / "p.zip", edit("spec.json", rename))
    with pytest.raises(UsageError, match="not_here"):
        taken(bundle, here)
    assert left_behind(here) == []


def test_two_imports_at_once_leave_one_run(
    here: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, go_on = threading.Event(), threading.Event()
    ask = gold.confirm_gold

    def slow(*args: Any, **more: Any) -> gold.GoldReport:
        waiting.set()
        assert go_on.wait(60)
        return ask(*args, **more)

    bundle = bundle_of(tmp_path, RIGHT)
    monkeypatch.setattr(importer, "confirm_gold", slow)
    first = threading.Thread(target=taken, args=(bundle, here))
    first.start()
    assert waiting.wait(60)
    with pytest.raises(UsageError, match="another import is running"):
        taken(bundle, here)
    go_on.set()
    first.join()
    monkeypatch.setattr(importer, "confirm_gold", ask)
    assert taken(bundle, here).became == "unchanged"


def test_a_kill_while_answers_are_confirmed_leaves_nothing(here: Settings, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, RIGHT)
    mark = tmp_path / "asked"
    code = (
        "import sys, time, pathlib\n"
        "from evalcore import settings\n"
        "from evalcore.exchange.bundle import importer\n"
        "from evalcore.exchange.bundle.importer import import_bundle\n"
        "def hang(*given, **more):\n"
        f"    pathlib.Path({str(mark)!r}).touch()\n"
        "    time.sleep(600)\n"
        "importer.confirm_gold = hang\n"
        f"import_bundle(pathlib.Path({str(bundle)!r}), settings.load_settings({here.data!r}))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    while not mark.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert left_behind(here) == []
    assert taken(bundle, here).became == "created"
    assert len(left_behind(here)) == 1


def pulled(settings: Settings, **more: Any) -> PullResult:
    return pull_results(settings, progress=quiet, **more)


def test_a_pull_refuses_the_contradicted_run_alone(
    hub: Store, here: Settings, there: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run_of(here, tmp_path / "a", RIGHT)
    bad = run_of(here, tmp_path / "b", RIGHT, CONTRADICTED)
    plain = finished(here, "control:null", KEY, max_samples=2)
    push_results(here, progress=quiet)
    message = pulled(there)
    assert set(message.taken) == {good.run_id, plain.run_id}
    assert list(message.refused) == [bad.run_id]
    why = message.refused[bad.run_id]
    assert why.startswith(f"samples.jsonl, line 2, field expected: {PART}/wrong: ")
    assert {path.name for path in left_behind(there)} == {good.run_id, plain.run_id}
    assert {header.run_id for header in open_index(there).headers()} == {good.run_id, plain.run_id}
    assert bad.path.exists()  # where it was run it stays, and on the Hub too
    assert push_results(there, progress=quiet).removed == ()
    words = ["hub", "pull", "--repo", REPO, "--data", there.data]
    assert main(words) != 0
    assert f"{bad.run_id} was refused: samples.jsonl, line 2" in capsys.readouterr().out


@pytest.mark.usefixtures("without_mysql")
def test_a_pull_takes_what_nothing_here_confirms_and_says_so(
    hub: Store, here: Settings, there: Settings, tmp_path: Path
) -> None:
    folder = run_of(here, tmp_path / "a", UNCONFIRMED)
    push_results(here, progress=quiet)
    message = pulled(there)
    assert message.taken == (folder.run_id,)
    assert "1 of 1 expected answers are not confirmed" in message.unconfirmed[folder.run_id]


def test_a_foreign_run_is_refused_as_its_bundle_is(
    hub: Store, here: Settings, there: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_of(here, write_cases(tmp_path / "x").parent, CONTRADICTED)
    spec = json.loads((folder.path / "spec.json").read_text())
    spec["benchmarks"][0]["dataset"] = "mine"
    (folder.path / "spec.json").write_text(json.dumps(spec))
    push_results(here, progress=quiet)
    monkeypatch.setenv("EVALBOARD_HUB_KEY", "another installation's key")
    message = pulled(there, foreign=True)
    assert message.imported == ()
    assert "samples.jsonl, line 1, field expected" in message.refused[folder.run_id]
    assert left_behind(there) == []


def own_set(settings: Settings, name: str, *rows: dict[str, Any]) -> Path:
    folder = settings.data_dir / "datasets" / "own" / KEY / name
    write_cases(folder, *rows)
    card = datasets.OwnCard(KEY, name, samples=len(rows))
    (folder / datasets.CARD_FILE).write_text(json.dumps({"benchmark": KEY, "name": card.name}))
    return folder


def test_an_own_data_set_on_the_hub_comes_in_whole_confirmed_or_not_at_all(
    hub: Store, here: Settings, there: Settings
) -> None:
    own_set(here, "good", RIGHT)
    own_set(here, "bad", RIGHT, CONTRADICTED)
    own_set(here, "same", RIGHT)
    (here.data_dir / "datasets" / "own" / KEY / "same" / "more.jsonl").write_text("{}\n")
    mine = own_set(there, "same", RIGHT | {"case_id": "mine"})
    push_results(here, progress=quiet)
    message = pulled(there)
    assert {card.name for card in datasets.load_own_cards(there)} == {"good", "same"}
    why = message.refused[f"datasets/own/{KEY}/bad"]
    assert why.startswith(f"{PART}.jsonl, line 2, field expected: {PART}/wrong: ")
    assert not (mine.parent / "bad").exists()
    assert not (mine / "more.jsonl").exists()


def test_a_run_of_a_benchmark_that_is_gone_comes_back_unconfirmed(
    hub: Store, here: Settings, there: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_of(here, tmp_path / "a", RIGHT)
    push_results(here, progress=quiet)

    def gone(key: str, options: Any) -> Any:
        raise UsageError(f"unknown benchmark {key!r}")

    monkeypatch.setattr(importer, "create_benchmark", gone)
    message = pulled(there)
    assert message.taken == (folder.run_id,)
    assert "unknown benchmark" in message.unconfirmed[folder.run_id]


def test_gold_of_a_data_set_named_here_is_asked_about_too(here: Settings, tmp_path: Path) -> None:
    """That the cases are at hand says nothing of their answers."""
    bundle = bundle_of(tmp_path, CONTRADICTED)
    with pytest.raises(UsageError, match="line 1, field expected"):
        import_bundle(bundle, here, str(tmp_path / "cases"), progress=quiet)
