"""What the card of a plug-in may bring beside its cases: commands, uploads, data sets, groups,
words, baselines. All of it is found through the card."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from evalcore import catalog
from evalcore.access.secrets import Secrets
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.results import BenchmarkScore
from evalcore.runner import client, jobs
from evalcore.runner.jobs import data_client
from evalcore.runner.uploads import find_upload_form
from evalcore.settings import Settings
from evalcore.sqlkit import dialects
from evalcore.sqlkit.engines import registry
from evalcore.store.headers import RunHeader
from evalcore.views import target_scores
from evalcore.views.board_table import find_token_price
from tests.support.plugins import plugin_path, write, write_benchmark

__all__ = ["plugin_path"]
_ADDED = """    dataset="sums_cases",
    upload_form=UploadForm(parts=("own",), identity="n"),
    submission="sum",
    groups=(GroupCard("all", 100, ("sum", "rest")), GroupCard("rest", members=("remark",))),
    baselines={"constant": "adder:answer"},
    official_datasets=(
        OfficialDataset("sums-hard", "sums", "hard", "sums-hard", "Hard sums", "https://x.org"),
    ),
    fetcher=CommandCard("adder:fetch", "sums", (FlagCard("level", default="easy"),)),
    exporter=CommandCard("adder:export", "sums", (FlagCard("patch"), FlagCard("data"))),
    importer=CommandCard("adder:take_in", "sums", (FlagCard("year"),), publisher="Sum Inc."),
    rules=("exact",),
    texts={"rules.exact": {"en": "Exact"}, "form": {"en": "Sums only", "zh": "求和"}},
)
def answer(request, baseline):
    return "3"

def fetch(settings, folder, flags, progress, token=None):
    folder = folder or settings.data_dir / "datasets" / f"sums-{flags['level']}"
    folder.mkdir(parents=True)
    (folder / "sum.jsonl").write_text('{"a": 1, "b": 2}')
    (folder / "source.json").write_text('{"part": "%s"}' % flags["level"])
    return CommandResult({"files": ["sum.jsonl"], "token": token}, f"fetched {flags['level']}")

def export(folder, out, flags):
    out.write_text(folder.run_id + flags["patch"])
    return CommandResult({"out": str(out)}, "exported", ("a remark",))

def take_in(settings, path, flags, progress):
    return CommandResult({"year": flags["year"]}, f"took {path.name} of {flags['year']}")

"""
_IMPORTS = (
    "from evalcore.catalog import CommandCard, CommandResult, FlagCard, GroupCard, OfficialDataset"
    ", UploadForm\n"
)


@pytest.fixture
def settings(plugin_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    change = ('    dataset="sums_cases",\n)\n', _ADDED)
    write_benchmark(plugin_path, "adder", key="sums", suite="arithmetic", change=change)
    module = plugin_path / "adder.py"
    module.write_text(_IMPORTS + module.read_text())
    catalog.clear_plugin_cache()
    assert catalog.list_skipped_plugins() == ()
    data = str(plugin_path.parent / "data")
    monkeypatch.setenv("EVALBOARD_DATA", data)
    return Settings(data=data, shipped=str(plugin_path.parent / "none"))


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_its_commands_are_verbs_of_the_command_line(settings, capsys, tmp_path):
    assert call(capsys, "datasets", "fetch", "sums", "--level", "odd")[1] == "fetched odd\n"
    status, out, err = call(capsys, "datasets", "list", "--json")
    assert status == 0, err
    listed = json.loads(out)
    assert {"name": "sums-odd", "origin": "fetched"}.items() <= next(
        row for row in listed if row["benchmark"] == "sums" and row["origin"] == "fetched"
    ).items()
    run = ("run", "--target", "baseline:constant", "--benchmarks", "sums", "--json")
    result = json.loads(call(capsys, *run)[1])
    assert result["benchmarks"]["sums"]["outcomes"]["passed"] == 1  # 1 + 2 alone is 3
    out = tmp_path / "answers"
    export = ("export", result["run_id"], "--format", "sums", "--out", out)
    assert call(capsys, *export) == (0, "exported\n", "a remark\n")
    assert out.read_text() == result["run_id"]
    assert call(capsys, *export, "--patch", "official")[0] == 0  # a flag that another has, too
    assert call(capsys, "import", "sums", tmp_path, "--year", "1999")[1].endswith("of 1999\n")
    for verb in (["export", "--help"], ["import", "--help"], ["datasets", "fetch", "--help"]):
        with pytest.raises(SystemExit):
            main(verb)
        assert "sums" in capsys.readouterr().out


def test_its_official_set_is_fetched_by_a_job(settings, plugin_path):
    assert "sums-hard" in catalog.list_official_datasets()
    from evalcore.exchange.page_jobs import fetch_official_dataset

    keys = Secrets({data_client.HUB_TOKEN_VARIABLE: "t"})
    done = fetch_official_dataset(jobs.TaskContext(settings, keys), "sums-hard")
    assert done == {"files": 1, "token": "t"}
    assert (settings.data_dir / "datasets" / "sums-hard" / "sum.jsonl").is_file()
    assert jobs.find_job(settings, "fetch", "sums-hard") is None


def test_forms_groups_and_words_come_from_its_card(settings):
    assert find_upload_form("sums").parts == ("own",)
    assert find_upload_form("gaia").parts == ("validation",)
    assert catalog.find_benchmark_text("sums", "form", "zh") == "求和"
    assert catalog.find_benchmark_text("sums", "rules.exact", "zh") == "Exact"
    assert catalog.find_benchmark_text("sums", "title", "en") is None
    assert catalog.find_benchmark_text("nobody", "form", "en") is None
    score = BenchmarkScore(
        benchmark="sums", column="c", score=1, interval=None, answered=1, coverage=1, samples=1,
        complete=True, full=True, outcomes={}, metrics={}, groups={"all": None},
    )  # fmt: skip
    [row] = target_scores.build_group_scores(score).to_dict("records")
    assert (row["weight"], row["missing"]) == (100, ("sum", "rest"))
    assert list(catalog.suite_cards()) == ["sql", "agentic", "academic", "arithmetic"]


_CARD = """
from evalcore.catalog import *
CARD = BenchmarkCard(key="b", suite="sql", implementation="x:Y",
                     metrics=(MetricCard(key="m", weight=1),), {more})
"""


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ('exporter=CommandCard("x:y", "z", (FlagCard("a b"),))', "the flag"),
        ('fetcher=CommandCard("x:y", "z", (FlagCard("a"), FlagCard("a")))', "twice"),
        ('official_datasets=(OfficialDataset("n", "b", "p", "n", "t", "u"),)', "no fetcher"),
        (
            'fetcher=CommandCard("x:y", "z", (FlagCard("a"),)),'
            'official_datasets=(OfficialDataset("n", "b", "p", "../n", "t", "u"),)',
            "the folder",
        ),
        (
            'fetcher=CommandCard("x:y", "z", (FlagCard("a"),)),'
            'official_datasets=(OfficialDataset("n", "bfcl", "p", "n", "t", "u"),)',
            "is of 'bfcl'",
        ),
        ('rules=("a b",)', "the rule"),
        ('texts={"form": "Sums"}', "wrong"),
        ('upload_form="own"', "wrong"),
    ],
)
def test_a_card_that_cannot_be_used_is_left_out(plugin_path, more, reason):
    source = _CARD.format(more=more).replace(
        "import *", "import BenchmarkCard, CommandCard, FlagCard, MetricCard, OfficialDataset"
    )
    write(plugin_path, "broken", source, {"evalcore.benchmarks": {"b": "broken:CARD"}})
    catalog.clear_plugin_cache()
    [skipped] = catalog.list_skipped_plugins()
    assert reason in skipped.why


_ENGINE = """
from evalcore.catalog import EngineCard
CARD = EngineCard(**{"name": "lite", "title": "Lite", "backend": "x:y", "statements": "SELECT",
                     "dialect": "sqlite", **%s})
"""


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": "duckdb"}, "taken by Evalboard"),
        ({"name": "Lite"}, "capitals"),
        ({"name": "a/b"}, "not usable"),
        ({"backend": "nothing"}, "its backend is"),
        ({"server": "x:y"}, "its backend is"),
        ({"statements": " "}, "runs no statements"),
        ({"refused_functions": "("}, "is not a pattern"),
        ({"dialect": 3}, "wrong"),
    ],
)
def test_an_engine_that_cannot_be_used_is_left_out(plugin_path, capsys, fields, reason):
    write(plugin_path, "lite", _ENGINE % fields, {"evalcore.engines": {"lite": "lite:CARD"}})
    catalog.clear_plugin_cache()
    [skipped] = catalog.list_skipped_plugins()
    assert reason in skipped.why
    assert list(catalog.engine_cards()) == ["sqlite", "duckdb", "postgres", "mysql"]
    assert main(["list", "engines"]) == 0
    assert "left out" in capsys.readouterr().out


def test_an_engine_whose_dialect_nobody_reads_costs_the_others_nothing(plugin_path):
    fields = {"name": "odd", "dialect": "klingon"}
    write(plugin_path, "odd", _ENGINE % fields, {"evalcore.engines": {"odd": "odd:CARD"}})
    catalog.clear_plugin_cache()
    assert dialects.parse_server("PostgreSQL 9.2").engine == "postgres"
    with registry.open_engine("sqlite") as engine:
        assert engine.execute([], "SELECT 1").status == "ok"
    answers = registry.probe_engines()
    assert answers["sqlite"][0].isdigit()
    assert "klingon" in answers["odd"]


@pytest.mark.parametrize("fault", ["raise OSError('gone')", "import sys; sys.exit(3)", "1 / 0"])
def test_a_command_that_fails_is_an_error_of_usage(settings, plugin_path, capsys, tmp_path, fault):
    module = plugin_path / "adder.py"
    failing = "def fetch(*_, **__):\n    " + fault + "\n\ndef other_fetch("
    module.write_text(module.read_text().replace("def fetch(", failing))
    del sys.modules["adder"]
    catalog.clear_plugin_cache()
    status, _, err = call(capsys, "datasets", "fetch", "sums")
    assert (status, "the plug-in of sums failed" in err, "Traceback" in err) == (2, True, False)


_TARGET = """
from evalcore.catalog import TargetKindCard
CARD = TargetKindCard(prefix="odd", form="odd:x", title={}, about={}, examples=("odd:x",), **{
    name: "odd_target:fail" for name in
    ("implementation", "check", "egress", "missing_keys", "key_variables", "named_targets",
     "list_price")})
def fail(*_):
    raise RuntimeError("out of order")
"""


def test_a_kind_of_target_whose_functions_fail_costs_nothing_but_itself(
    plugin_path, capsys, tmp_path, monkeypatch
):
    points = {"evalcore.targets": {"odd": "odd_target:CARD"}}
    write(plugin_path, "odd_target", _TARGET, points)
    catalog.clear_plugin_cache()
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    status, out, _ = call(capsys, "list", "targets")
    assert (status, "odd:x" in out, "openai:" in out) == (0, True, True)
    run = ("run", "--target", "odd:x", "--benchmarks", "gaia", "--max-samples", "1")
    status, _, err = call(capsys, *run)
    assert (status, "the plug-in of odd" in err, "Traceback" in err) == (2, True, False)
    assert call(capsys, *run[:2], "control:null", *run[3:])[0] == 0
    with pytest.raises(UsageError, match="out of order"):
        client.missing_keys("odd:x", {}, Settings())
    assert client.missing_keys("nobody:x", {}, Settings()) == ()
    header = RunHeader("r", "odd:x", "odd:x", "2026-01-01", "done")
    assert find_token_price(header, Settings()) is None
