"""BFCL on the command line: fetch its data, import results, export a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from evalcore.cli.main import main
from evalcore.exchange import hub_datasets
from evalcore.exchange.bfcl import fetch
from evalcore.settings import load_settings
from evalcore.store.run_folder import find_run
from tests.support.bfcl_results import NATIVE, RIGHT, data_folder, result_file
from tests.support.bfcl_wheel import NAME, make_wheel

MULTI_TURN = tuple(f"multi_turn_{kind}" for kind in ("base", "miss_func", "miss_param"))


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(tmp_path / "store")


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_fetching_says_what_to_do_next(capsys, tmp_path, data, monkeypatch) -> None:
    release = make_wheel(tmp_path)
    monkeypatch.setattr(fetch, "fetch_bfcl", partial(fetch.fetch_bfcl, release=release))
    words = ("datasets", "fetch", "bfcl", "--from", str(tmp_path / NAME), "--data", data)
    status, out, _ = call(capsys, *words)
    path = tmp_path / "store" / "datasets" / "bfcl-v4"
    assert (status, (path / hub_datasets.NOTE_FILE).is_file()) == (0, True)
    assert f"evalcore run --target TARGET --benchmarks bfcl --dataset {path}" in out
    assert "Apache-2.0" in out
    payload = json.loads(call(capsys, *words, "--json")[1])
    assert (payload["version"], payload["already"], payload["folder"]) == ("v4", True, str(path))
    other = tmp_path / "other place"
    assert f"--dataset '{other}'" in call(capsys, *words, "--out", str(other))[1]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--from", "absent.whl"), "absent.whl: No such file"),
        (("--from", "x.whl", "--source", "hub"), "--source hub exclude"),
        (("--out", __file__), f"{__file__} is not a folder"),
    ],
)
def test_what_cannot_be_fetched_is_one_clear_line(capsys, data, words, problem) -> None:
    status, _, err = call(capsys, "datasets", "fetch", "bfcl", "--data", data, *words)
    assert (status, err.count("\n")) == (2, 1)
    assert problem in err


def outcomes(run_id: str, data: str) -> Iterator[tuple[str, str]]:
    folder = find_run(run_id, load_settings(data).run_roots)
    summary = folder.read_summary()
    assert summary is not None
    for stored in folder.read_verdicts(summary.scoring):
        yield f"{stored.verdict.metric}/{stored.verdict.id}", stored.verdict.outcome


@pytest.mark.parametrize("kind", ["reference", "noop"])
def test_a_run_goes_out_and_comes_in_with_the_same_verdicts(capsys, tmp_path, data, kind) -> None:
    """All conversations of the bundled entries, and some single answers of every language."""
    metrics = (*MULTI_TURN, "simple_python", "simple_java", "parallel_multiple", "irrelevance")
    words = ("--benchmarks", "bfcl", "--metrics", *metrics, "--data", data, "--json")
    _, out, _ = call(capsys, "run", "--target", f"control:{kind}", *words)
    run_id = json.loads(out)["run_id"]
    text = str(tmp_path / "out")
    words = ("export", run_id, "--format", "bfcl", "--out", text, "--data", data)
    payload = json.loads(call(capsys, *words, "--json")[1])
    assert (len(payload["files"]), payload["model"]) == (len(metrics), kind)
    assert (payload.get("left_out", 0), payload.get("failed", 0)) == (0, 0)
    words = ("import", "bfcl", text, "--dataset", "bfcl", "--month", "2026-04", "--data", data)
    status, out, err = call(capsys, *words)
    assert (status, out) == (0, "runs: 1 created, 0 replaced, 0 unchanged\n")
    assert err == f"scoring {kind}\n"
    ours, theirs = dict(outcomes(run_id, data)), dict(outcomes(f"bfcl-2026-04-01-{kind}", data))
    assert ours == theirs
    if kind == "reference":
        assert set(ours.values()) == {"passed"}


def test_the_mode_decides_how_answers_are_read(capsys, tmp_path, data) -> None:
    official = data_folder(tmp_path / "official", {"simple_python": 2})
    result_file(tmp_path / "r" / "result" / "m", "simple_python", RIGHT, NATIVE)
    words = ("import", "bfcl", str(tmp_path / "r"), "--dataset", str(official), "--data", data)
    results = {}
    for month, mode in (("2026-01", "fc"), ("2026-02", "prompt")):
        payload = json.loads(call(capsys, *words, "--mode", mode, "--month", month, "--json")[1])
        results[mode] = [outcome for _, outcome in outcomes(payload["created"][0], data)]
    assert results == {"fc": ["failed", "passed"], "prompt": ["passed", "failed"]}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("import", "bfcl", "absent"), "evalcore datasets fetch bfcl"),
        (("import", "bfcl", "absent", "--dataset", "bfcl"), "absent is not a folder"),
        (("export", "none", "--format", "bfcl", "--out", "x"), "no run 'none'"),
    ],
)
def test_bad_arguments_are_one_clear_line(capsys, data, words, problem) -> None:
    status, _, err = call(capsys, *words, "--data", data)
    assert (status, err.count("\n"), problem in err) == (2, 1, True)


def test_a_folder_is_needed_to_export_to(capsys, data) -> None:
    words = ("run", "--target", "control:null", "--benchmarks", "bfcl", "--max-samples", "3")
    run_id = json.loads(call(capsys, *words, "--data", data, "--json")[1])["run_id"]
    status, _, err = call(capsys, "export", run_id, "--format", "bfcl", "--data", data)
    assert (status, "--out is missing" in err) == (2, True)
