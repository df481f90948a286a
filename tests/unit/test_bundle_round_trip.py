"""A run of each shipped benchmark goes out as a bundle and comes in elsewhere, scored again."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from evalcore import settings as configuration
from evalcore.access.policy import OPERATOR
from evalcore.catalog import benchmark_cards, find_missing_extra
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.runner import client
from evalcore.sandbox.program import detect_sandbox
from evalcore.settings import Settings
from evalcore.store import run_folder
from evalcore.store.index import load_headers
from evalcore.store.run_folder import RunFolder
from evalcore.views.boards import list_boards
from evalcore.views.stored_boards import board_ranking
from tests.support import agentic_runs
from tests.support.bundles import bundled, changed, edit, edit_lines, files_of, finished
from tests.support.cases import syntax_cases
from tests.support.lm_eval import find_lm_eval_python

pytestmark = pytest.mark.slow

SQL = "sql_understanding"


def quiet(line: str) -> None:
    """Progress that nobody reads."""


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    return configuration.load_settings(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Settings:
    """Another store, without the shipped runs."""
    settings = configuration.load_settings(tmp_path / "there")
    return msgspec.structs.replace(settings, shipped=str(tmp_path / "none"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("benchmark", list(benchmark_cards()))
@pytest.mark.parametrize("target", ["control:reference", "control:null"])
def test_every_benchmark_comes_in_equal(
    benchmark: str,
    target: str,
    here: Settings,
    there: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if benchmark in ("swe_bench", "academic") and not detect_sandbox().means:
        pytest.skip(f"patches and programs run in a sandbox: {detect_sandbox().problem}")
    card = benchmark_cards()[benchmark]
    if find_missing_extra(card):
        monkeypatch.setenv(card.library_variable, find_lm_eval_python())
    size = 1 if benchmark == "swe_bench" else 3
    folder = finished(here, target, benchmark, max_samples=size)
    done = import_bundle(bundled(folder, here, tmp_path / "run.zip"), there, progress=quiet)
    (score,) = done.scores
    expected = folder.read_summary().benchmarks[benchmark].score
    assert expected == (100.0 if target == "control:reference" else 0.0)
    assert (done.became, done.source_run) == ("created", folder.run_id)
    assert (score.level, score.claimed, score.recomputed) == (2, expected, expected)
    assert (score.equal, score.verdicts, score.kept, score.known_cases) == (size, size, {}, size)
    imported = RunFolder(there.runs_dir / done.run)
    ours, theirs = folder.read_spec().benchmarks[0], imported.read_spec().benchmarks[0]
    assert imported.read_spec().origin == "imported"
    assert imported.read_spec().target.identity != folder.read_spec().target.identity
    assert theirs.column != ours.column
    assert imported.read_summary().benchmarks[benchmark].level == 2
    assert [s.sample for s in imported.read_samples()] == [s.sample for s in folder.read_samples()]
    assert (
        len(list(imported.read_episodes())) == len(list(imported.read_verdicts("bundle"))) == size
    )


def test_equal_runs_give_equal_bytes(here: Settings, tmp_path: Path) -> None:
    folder = finished(here, "control:reference", SQL, max_samples=4)
    first = bundled(folder, here, tmp_path / "a.zip").read_bytes()
    assert first == bundled(folder, here, tmp_path / "b.zip").read_bytes()


def test_a_second_import_changes_nothing(here: Settings, there: Settings, tmp_path: Path) -> None:
    folder = finished(here, "control:null", SQL, "gaia", max_samples=3, epochs=2)
    bundle = bundled(folder, here, tmp_path / "run.zip")
    first = import_bundle(bundle, there, progress=quiet)
    before = RunFolder(there.runs_dir / first.run).signature()
    second = import_bundle(bundle, there, progress=quiet)
    assert (first.became, second.became) == ("created", "unchanged")
    assert RunFolder(there.runs_dir / first.run).signature() == before
    assert [score.verdicts for score in second.scores] == [6, 6]


def test_it_stands_on_a_board_of_its_own(here: Settings, tmp_path: Path) -> None:
    """The run itself and its bundle in one store: never on one board, never one row."""
    settings = msgspec.structs.replace(here, shipped=str(tmp_path / "none"))
    folder = finished(settings, "baseline:sqlglot", SQL, max_samples=3)
    bundle = bundled(folder, settings, tmp_path / "run.zip")
    done = import_bundle(bundle, settings, progress=quiet)
    own, imported = list_boards(load_headers(settings), "sql")
    assert [own.published, imported.published] == [False, True]
    for board, run in ((own, folder.run_id), (imported, done.run)):
        table = board_ranking(settings, board)
        assert len(table) == 1
        (column,) = board.columns.values()
        (row,) = [h for h in load_headers(settings) if h.benchmarks[SQL].column == column.key]
        assert row.run_id == run
    with pytest.raises(UsageError, match="import"):
        client.rescore_run(done.run, settings, visitor=OPERATOR)


@pytest.mark.full
def test_bundles_over_equal_columns_share_a_board(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    for target in ("control:null", "baseline:sqlglot"):
        folder = finished(here, target, SQL, "dialect_conversion", max_samples=2)
        import_bundle(bundled(folder, here, tmp_path / "run.zip"), there, progress=quiet)
    (board,) = list_boards(load_headers(there), "sql")
    assert set(board.columns) == {SQL, "dialect_conversion"}
    assert len(board_ranking(there, board)) == 2


def test_own_cases_are_scored_and_not_vouched_for(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    """Cases that this machine does not have: level 1, until it is told where they are."""
    cases = syntax_cases(tmp_path / "cases", 6)
    folder = finished(here, "control:reference", SQL, dataset=str(cases))
    bundle = bundled(folder, here, tmp_path / "run.zip")
    first = import_bundle(bundle, there, progress=quiet)
    assert [(s.level, s.equal, s.known_cases) for s in first.scores] == [(1, 6, 0)]
    published = run_folder.read_published(RunFolder(there.runs_dir / first.run))
    assert [flag.kind for flag in published.scores[SQL].flags] == ["unknown_cases"]
    second = import_bundle(bundle, there, str(cases), progress=quiet)
    assert [(s.level, s.known_cases) for s in second.scores] == [(2, 6)]
    assert (second.became, second.run) == ("replaced", first.run)


def test_what_cannot_be_scored_here_is_kept_as_claimed(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    """A task of repairing code that is in no data set here is never run."""
    folder = finished(here, "control:null", "swe_bench", max_samples=2)
    away = msgspec.structs.replace(there, datasets=str(tmp_path / "empty"))
    done = import_bundle(bundled(folder, here, tmp_path / "run.zip"), away, progress=quiet)
    (score,) = done.scores
    assert (score.level, score.equal) == (1, 0)
    assert score.kept == {"its case is not in any dataset here": 2}
    assert all(not line.sample.meta for line in RunFolder(away.runs_dir / done.run).read_samples())
    assert all(
        not v.verdict.evidence for v in RunFolder(away.runs_dir / done.run).read_verdicts("bundle")
    )


def test_another_version_of_the_scorer_is_told_and_ours_counts(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    folder = finished(here, "control:null", SQL, max_samples=4)
    bundle = bundled(folder, here, tmp_path / "run.zip")

    def older(spec: dict) -> None:
        spec["benchmarks"][0]["scorer_version"] = "0"

    def passes(lines: list) -> None:
        lines[0]["verdict"] |= {"outcome": "passed", "score": 1.0}

    first = changed(bundle, tmp_path / "a.zip", edit("spec.json", older))
    both = changed(first, tmp_path / "b.zip", edit_lines("verdicts.jsonl", passes))
    claimed = changed(
        both,
        tmp_path / "c.zip",
        edit("summary.json", lambda message: message["benchmarks"][SQL].update(score=25.0)),
    )
    done = import_bundle(claimed, there, progress=quiet)
    (score,) = done.scores
    assert (score.level, score.claimed, score.recomputed, score.equal) == (1, 25.0, 0.0, 3)
    published = run_folder.read_published(RunFolder(there.runs_dir / done.run))
    assert [flag.kind for flag in published.scores[SQL].flags] == [
        "score_differs",
        "verdict_differs",
    ]
    assert (
        RunFolder(there.runs_dir / done.run).read_summary().benchmarks[SQL].views["claimed"] == 25.0
    )


def test_gated_texts_stay_here_and_leave_a_claim(
    here: Settings, there: Settings, tmp_path: Path
) -> None:
    folder = agentic_runs.gaia(here, "right", agentic_runs.GATED)
    bundle = bundled(folder, here, tmp_path / "run.zip")
    packed = b"".join(files_of(bundle).values())
    assert [word for word in agentic_runs.SECRETS if word.encode() in packed] == []
    assert json.loads(files_of(bundle)["manifest.json"])["redacted"] == {"gaia": 1}
    done = import_bundle(bundle, there, progress=quiet)
    (score,) = done.scores
    assert (score.level, score.recomputed, score.equal) == (0, None, 1)
    (header,) = [item for item in load_headers(there) if item.run_id == done.run]
    assert header.benchmarks["gaia"].is_bare_claim
    shown = msgspec.structs.replace(here, show_gated=True)
    packed = b"".join(files_of(bundled(folder, shown, tmp_path / "all.zip")).values())
    assert all(word.encode() in packed for word in agentic_runs.SECRETS)


def test_the_command_line(here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = finished(here, "control:reference", SQL, max_samples=2)
    out = tmp_path / "out.zip"
    words = ["export", folder.run_id, "--format", "bundle", "--data", here.data, "--out", str(out)]
    assert main(words) == 0
    assert f"a bundle of 2 cases of run {folder.run_id}" in capsys.readouterr().out
    other = str(tmp_path / "other")
    assert main(["import", "bundle", str(out), "--data", other]) == 0
    assert "level 2, 100.00 claimed, 100.00 here; 2 of 2" in capsys.readouterr().out
    assert main(["import", "bundle", str(out), "--data", other, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["became"] == "unchanged"
    assert main(["export", "bundle-none", *words[2:]]) == 2
    assert main([*words[:-1], str(tmp_path / "out.tar")]) == 2
    assert "a bundle is a zip" in capsys.readouterr().err
    run = json.loads(_imported(other))["run_id"]
    assert main(["export", run, *words[2:4], "--data", other, "--out", str(out)]) == 2
    assert "was imported" in capsys.readouterr().err


def _imported(data: str) -> str:
    (spec,) = Path(data).glob("runs/bundle-*/spec.json")
    return spec.read_text(encoding="utf-8")
