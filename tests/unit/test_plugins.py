"""Plug-ins of other distributions: a broken one is left out and named, a healthy one joins in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalcore import catalog, plugins
from evalcore.benchmarks import registry
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.views import board_table, ranking
from evalcore.views.boards import Board, Column
from tests.support.plugins import BROKEN, plugin_path, write, write_benchmark, write_broken

__all__ = ["plugin_path"]
BUILT_IN = 9


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_left_out_and_named(plugin_path: Path, capsys, name) -> None:
    write_broken(plugin_path, (name,))
    catalog.clear_plugin_cache()
    left_out = catalog.list_skipped_plugins()
    assert [item.distribution for item in left_out] == [f"{name} 1.0"]
    assert BROKEN[name][2] in left_out[0].why
    assert left_out[0].remedy
    assert len(catalog.benchmark_cards()) == BUILT_IN
    status, out, _ = call(capsys, "list", "benchmarks")
    assert status == 0
    assert f"left out: {name.removeprefix('broken_')} ({name} 1.0): " in out


def test_all_of_them_together_spoil_nothing(plugin_path: Path, capsys) -> None:
    write_broken(plugin_path)
    write_benchmark(plugin_path, "healthy", key="sums", suite="sql", title="Sums")
    catalog.clear_plugin_cache()
    status, out, err = call(capsys, "list", "benchmarks", "--json")
    rows = json.loads(out)
    assert status == 0
    assert [row["key"] for row in rows].count("bfcl") == 1
    assert {"sums", "sql_understanding"} <= {row["key"] for row in rows}
    assert err.count("left out: ") == len(BROKEN) + 1
    for what in ("targets", "datasets", "runs"):
        assert call(capsys, "list", what, "--json", "--data", str(plugin_path))[0] == 0


def test_an_import_without_end_is_left_out(plugin_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(plugins, "IMPORT_SECONDS", 0.3)
    source = "import threading; threading.Event().wait()"
    write(plugin_path, "slow", source, {"evalcore.benchmarks": {"slow": "slow:CARD"}})
    catalog.clear_plugin_cache()
    (left_out,) = catalog.list_skipped_plugins()
    assert "takes more than 0.3 seconds" in left_out.why


@pytest.mark.parametrize(
    "text",
    [b"\xff\xfe\x00", b"[evalcore.benchmarks]\nno equals sign\n", b"no section = at:all\n", b""],
)
def test_damaged_metadata_costs_no_other_plugin(plugin_path: Path, text: bytes) -> None:
    write_benchmark(plugin_path, "healthy", key="sums", suite="sql")
    write(plugin_path, "damaged", "CARD = 1", {})
    (plugin_path / "damaged-1.0.dist-info" / "entry_points.txt").write_bytes(text)
    catalog.clear_plugin_cache()
    assert "sums" in catalog.benchmark_cards()
    assert len(catalog.benchmark_cards()) == BUILT_IN + 1


def test_visitors_who_come_at_once_leave_the_streams_as_they_were(plugin_path: Path) -> None:
    write_benchmark(plugin_path, "healthy", key="sums", suite="sql")
    write_broken(plugin_path, ("broken_exiting", "broken_raising"))
    catalog.clear_plugin_cache()
    before = sys.stdout
    with ThreadPoolExecutor(8) as visitors:
        seen = list(visitors.map(lambda _: len(catalog.benchmark_cards()), range(8)))
    assert set(seen) == {BUILT_IN + 1}
    assert sys.stdout is before


def test_of_two_plugins_with_one_key_the_first_by_name_counts(plugin_path: Path) -> None:
    write_benchmark(plugin_path, "second", key="sums", suite="sql")
    write_benchmark(plugin_path, "first", key="sums", suite="sql")
    catalog.clear_plugin_cache()
    assert catalog.benchmark_card("sums").implementation == "first:Sums"
    (left_out,) = catalog.list_skipped_plugins()
    assert left_out.distribution == "second 1.0"
    assert "taken by first 1.0" in left_out.why


def test_a_card_without_titles_goes_by_its_keys(plugin_path: Path) -> None:
    write_benchmark(plugin_path, "untitled", key="sums", suite="law")
    catalog.clear_plugin_cache()
    card = catalog.benchmark_card("sums")
    assert (card.title, card.metrics[0].title) == ({"en": "sums"}, {"en": "sum"})
    assert list(catalog.suite_cards()) == ["sql", "agentic", "academic", "law"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("class Sums(Benchmark)", "class Sums"), "not a subclass of Benchmark"),
        (("class Sums", "raise OSError('gone')\nclass Sums"), "OSError: gone"),
        (("class Sums", "import sys; sys.exit()\nclass Sums"), "SystemExit"),
        (("class Sums", "class Other"), "AttributeError"),
        (("card = CARD", "pass"), "is not that of sums"),
        (("def control", "def other"), "abstract"),
    ],
)
def test_an_implementation_that_cannot_be_used_is_an_error_of_usage(
    plugin_path: Path, capsys, change, reason
) -> None:
    broken = "CARD = BenchmarkCard(key='sums', suite='sql', implementation='engine:Sums',"
    broken += " metrics=(MetricCard(key='sum', weight=1),), dataset='sums_cases')"
    source = f"from evalcore.catalog import BenchmarkCard, MetricCard\n{broken}"
    write(plugin_path, "light", source, {"evalcore.benchmarks": {"sums": "light:CARD"}})
    write_benchmark(plugin_path, "engine", key="sums", suite="sql", change=change)
    (plugin_path / "engine-1.0.dist-info" / "entry_points.txt").write_text("")
    catalog.clear_plugin_cache()
    with pytest.raises(UsageError, match=reason):
        registry.instantiate_benchmark("sums")
    run = ("run", "--target", "control:reference", "--benchmarks", "sums")
    status, _, err = call(capsys, *run, "--data", str(plugin_path / "data"))
    assert (status, reason in err, "Traceback" in err) == (2, True, False)


_NO_EPISODE = "async def run_sample(self, *_): return 3\n\n    "


def run_sums(capsys, folder: Path, target: str = "control:reference") -> tuple[int, dict]:
    status, out, _ = call(
        capsys, "run", "--target", target, "--benchmarks", "sums", "--json", "--data", str(folder)
    )
    return status, json.loads(out.splitlines()[-1]) if out else {}


def test_a_healthy_plugin_runs_on_its_own_data(plugin_path: Path, capsys) -> None:
    write_benchmark(plugin_path, "healthy", key="sums", suite="sql")
    catalog.clear_plugin_cache()
    status, result = run_sums(capsys, plugin_path / "data")
    assert (status, result["benchmarks"]["sums"]["score"]) == (0, 100.0)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (("score=float(passed)", "score=float('nan')"), "environment_error"),
        (("score=float(passed)", "score=1.5"), "environment_error"),
        (("id=sample.id, outcome", "id='other', outcome"), "environment_error"),
        (("return Verdict(", "return dict("), "environment_error"),
        (("async def evaluate", f"{_NO_EPISODE}async def evaluate"), "environment_error"),
    ],
)
def test_a_plugin_that_answers_nonsense_measures_nothing(
    plugin_path: Path, capsys, change, outcome
) -> None:
    write_benchmark(plugin_path, "nonsense", key="sums", suite="sql", change=change)
    catalog.clear_plugin_cache()
    status, result = run_sums(capsys, plugin_path / "data")
    assert status == 3
    assert result["benchmarks"]["sums"]["outcomes"] == {outcome: 6}


@pytest.mark.parametrize("body", ["1 / 0", "return None", "return float('nan')"])
def test_a_sum_that_fails_costs_no_neighbour_its_score(plugin_path: Path, capsys, body) -> None:
    change = ("    def control", f"    def aggregate(self, *_, **__): {body}\n\n    def control")
    write_benchmark(plugin_path, "unsummed", key="sums", suite="sql", change=change)
    catalog.clear_plugin_cache()
    status, out, _ = call(
        capsys,
        *("run", "--target", "control:null", "--benchmarks", "sums", "gaia", "--max-samples", "3"),
        *("--json", "--data", str(plugin_path / "data")),
    )
    assert status == 3
    assert set(json.loads(out.splitlines()[-1])["benchmarks"]) == {"gaia"}


@pytest.mark.parametrize("body", ["1 / 0", "return [3]", "raise SystemExit(4)"])
def test_data_that_cannot_be_loaded_is_an_error_of_usage(plugin_path: Path, capsys, body) -> None:
    change = ("def load_dataset(self, source):", f"def load_dataset(self, source):\n        {body}")
    write_benchmark(plugin_path, "unloaded", key="sums", suite="sql", change=change)
    catalog.clear_plugin_cache()
    status, _ = run_sums(capsys, plugin_path / "data")
    assert status == 2


def test_an_absent_plugin_is_named_where_it_is_asked_for(plugin_path: Path, capsys) -> None:
    write_broken(plugin_path, ("broken_raising",))
    catalog.clear_plugin_cache()
    with pytest.raises(UsageError, match=r"unknown benchmark 'raising'.*left out: raising"):
        catalog.benchmark_card("raising")


@pytest.mark.parametrize("body", ["raise OSError('no')", "CREATE = 3"])
def test_a_factory_of_targets_that_cannot_be_loaded_is_an_error_of_usage(
    plugin_path: Path, capsys, body
) -> None:
    points = {"evalcore.target_factories": {"mine": "mine:CREATE"}}
    write(plugin_path, "mine", body, points)
    status, _, err = call(
        capsys, "run", "--target", "mine:x", "--benchmarks", "gaia", "--data", str(plugin_path)
    )
    assert (status, "mine 1.0" in err) == (2, True)


def test_no_benchmark_can_be_called_like_a_column_of_a_ranking() -> None:
    column = Column("x", "k", "l", "d", 1, True, True, 1, "")
    board = Board("default", "sql", {"x": column}, ("x",))
    ours = set(ranking._list_ranking_columns(board)) - {"x"}
    assert ours | set(board_table.FACT_COLUMNS) | {ranking.SUITE} <= catalog.RESERVED


@pytest.mark.full
@pytest.mark.slow
def test_a_process_that_starts_with_them_lists_and_ranks(tmp_path: Path) -> None:
    write_broken(tmp_path / "site")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    for words in (("list", "benchmarks"), ("board", "--suite", "sql"), ("list", "targets")):
        done = subprocess.run(
            [sys.executable, "-m", "evalcore", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "left out: exiting" in done.stdout
