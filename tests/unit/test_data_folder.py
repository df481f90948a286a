"""The flag --data reaches all that a command opens below the data folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalcore import settings
from evalcore.cli.main import main
from evalcore.runner import worker
from evalcore.sqlkit.engines import registry
from tests.support.cases import syntax_cases


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """The folders in which a server would be kept; opening one fails after that."""
    folders = []

    def remember(name, limits, folder, dsn):
        folders.append(folder)
        raise registry.MissingDependency("no server in this test")

    monkeypatch.setattr(registry, "open_served", remember)
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "default"))
    return folders


def test_the_engines_of_a_command_lie_below_its_data_folder(opened, monkeypatch, tmp_path):
    monkeypatch.setattr(
        "evalcore.cli.main._print_listing", lambda args: registry.probe_engines() and 0
    )
    main(["list", "benchmarks", "--data", str(tmp_path / "chosen")])
    assert opened == [tmp_path / "chosen" / "engines" / name for name in ("postgres", "mysql")]
    assert settings.load_settings().data_dir == tmp_path / "default", "afterwards all is as it was"


@pytest.mark.parametrize("by", ["command", "worker"])
def test_a_run_with_a_data_folder_starts_its_engines_there(
    opened, monkeypatch, tmp_path: Path, by: str
) -> None:
    data = tmp_path / "chosen"
    monkeypatch.setattr(
        "evalcore.benchmarks.sql_understanding.benchmark.SqlUnderstanding.close",
        lambda self: registry.probe_engines(),
    )
    cases = syntax_cases(tmp_path / "cases", 1)
    flags = ["--target", "control:reference", "--benchmarks", "sql_understanding"]
    main(["run", *flags, "--dataset", str(cases), "--data", str(data)])
    if by == "worker":
        opened.clear()
        [run] = (data / "runs").iterdir()
        monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: PTH123, SIM115
        worker.main([str(run)])
    assert {folder.parent for folder in opened} == {data / "engines"}
    assert not (tmp_path / "default").exists()


@pytest.mark.parametrize("verb", ["equivalent", "doctor"])
def test_other_verbs_open_their_engines_below_a_relative_folder(
    opened, monkeypatch, tmp_path: Path, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.sql").write_text("CREATE TABLE t (a integer)", encoding="utf-8")
    statements = ["--reference", "SELECT a FROM t", "--answer", "SELECT a + 0 FROM t"]
    flags = {"equivalent": ["--engine", "mysql", "--schema", "schema.sql", *statements]}
    main([verb, *flags.get(verb, []), "--data", "chosen"])
    assert {folder.parent.resolve() for folder in opened} == {tmp_path / "chosen" / "engines"}
    assert not (tmp_path / "default").exists()


CASES = str(settings.ROOT / "datasets" / "sql_understanding" / "sql_identification.jsonl")


@pytest.mark.parametrize(
    "words",
    [
        "run --target baseline:sqlglot --benchmarks sql_understanding --max-samples 1",
        "import tests/fixtures/logs/inspect",
        f"datasets validate {CASES} --benchmark sql_understanding",
        "index rebuild",
        "hub fetch owner/name",
        "datasets fetch tau_bench",
    ],
)
def test_a_data_folder_that_cannot_be_written_is_named_with_its_setting(words, tmp_path, capsys):
    data = tmp_path / "data"
    data.write_text("a file")
    assert main([*words.split(), "--data", str(data)]) == 2
    error = capsys.readouterr().err
    assert str(data) in error
    assert "EVALBOARD_DATA" in error


def test_nothing_is_written_into_the_shipped_runs(tmp_path, capsys):
    key = str(tmp_path / "key.pem")
    main(["seal", "keygen", "--key-file", key])
    assert main(["seal", "shipped-baseline-sqlglot", "--key-file", key]) == 2
    assert "read only" in capsys.readouterr().err
