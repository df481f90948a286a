"""Whether a board compares with the official one follows from what its columns rest on."""

from __future__ import annotations

import csv
import io
import json

import pytest
from msgspec.structs import replace

from evalcore.cli.main import main
from evalcore.exchange.reports import render_report
from evalcore.i18n import LANGUAGES
from evalcore.views.boards import Board, Column
from evalcore.views.comparability import (
    assess_board,
    assess_column,
    assess_run,
    describe_assessments,
    describe_comparability,
)
from evalcore.views.payloads import board_data
from tests.support.boards import Plan, make_run
from tests.support.pages import open_page, words
from tests.support.pages import store as store

TAU2 = "protocol=official, split=base, use_llm_user=True, user_model=openai:gpt-4.1-2025-04-14"
OFFICIAL = {
    "bfcl": ("bfcl-v4", "protocol=official"),
    "tau_bench": (
        "tau-v1",
        "protocol=official, split=test, use_llm_user=True, user_model=openai:gpt-4o",
    ),
    "tau2_bench": ("tau2_bench-official", TAU2),
    "gaia": ("gaia-validation", "protocol=official, levels=[1, 2, 3], tool_mode=local"),
    "swe_bench": ("swe_bench-swe-bench_verified", "protocol=official, full_eval=True"),
}


def column(benchmark, dataset, options="", **changes):
    label = " · ".join(filter(None, [dataset, options, "10 samples"]))
    fields = {"samples": 10, "full": True, "executed": True, "targets": 1, "newest": ""}
    return Column(benchmark, "k", label, dataset, **(fields | changes))


@pytest.mark.parametrize("benchmark", OFFICIAL)
def test_a_column_as_upstream_asks_compares(benchmark):
    assessed = assess_column(column(benchmark, *OFFICIAL[benchmark]))
    assert assessed.comparable
    assert assessed.official_board


@pytest.mark.parametrize(
    ("made", "reasons"),
    [
        (column("bfcl", "bfcl"), ("protocol", "data")),
        (column("bfcl", "bfcl-v4"), ("protocol",)),
        (column("bfcl", "bfcl-v4", "protocol=official", full=False), ("subset",)),
        (column("bfcl", "bfcl-v4", "protocol=official, strict=true"), ("options",)),
        (column("bfcl", "bfcl-v4", "protocol=official · own prompt"), ("options",)),
        (column("bfcl", "bfcl-v4", "protocol=official, similarity=official"), ()),
        (column("bfcl", "bfcl-v4", "protocol=official, similarity=stand-in"), ("stand_in",)),
        (column("tau_bench", "tau-v1", "protocol=official, split=test"), ("user",)),
        (
            column(
                "tau_bench",
                "tau-v1",
                "protocol=official, split=test, use_llm_user=True, user_model=hf:tiny",
            ),
            ("user",),
        ),
        (
            column("tau2_bench", "tau2_bench-official", f"{TAU2}, other_data=airline"),
            ("database",),
        ),
        (column("gaia", "gaia-validation", "protocol=official"), ("options",)),
        (column("sql_optimization", "sql_optimization", "verified"), ("no_board",)),
        (column("bfcl", "bfcl-v4", "protocol=official", executed=False), ("published",)),
    ],
)
def test_what_differs_is_named(made, reasons):
    assert assess_column(made).reasons == reasons


@pytest.mark.parametrize(
    ("empty", "domain", "reasons"),
    [
        (("banking_knowledge",), "", ()),
        (("airline", "banking_knowledge"), "", ("lacking",)),
        (("airline", "telecom", "banking_knowledge"), "retail", ()),
        (("airline",), "airline", ("lacking",)),
    ],
)
def test_a_part_that_the_data_lacks_is_named(empty, domain, reasons):
    """A checkout without a large file has no task of that domain."""
    dataset, options = OFFICIAL["tau2_bench"]
    chosen = f"{options}, domain={domain}" if domain else options
    made = column("tau2_bench", dataset, chosen, empty_metrics=empty)
    assert assess_column(made).reasons == reasons


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_board_says_it_in_one_sentence(language):
    columns = {key: column(key, *OFFICIAL[key]) for key in OFFICIAL}
    board = Board("k", "agentic", columns)
    said = describe_comparability(board, "suite", language)
    assert "GAIA" in said
    assert "\n" not in said
    mixed = Board("k", "agentic", {**columns, "bfcl": column("bfcl", "bfcl")})
    assert describe_comparability(mixed, "suite", language) != said
    assert describe_comparability(mixed, "gaia", language) != describe_comparability(
        mixed, "bfcl", language
    )
    assert not assess_board(mixed)["bfcl"].comparable


def test_the_api_has_the_reasons():
    board = Board("k", "agentic", {"bfcl": column("bfcl", "bfcl")})
    assert board_data([], board)["comparable"]["bfcl"] == {
        "official_board": "Berkeley Function Calling Leaderboard v4",
        "comparable": False,
        "reasons": ["protocol", "data"],
    }


@pytest.fixture
def finished(store):
    plan = Plan(target="openai:good", skill=0.8, cases=4)
    return make_run(store, plan)


def test_reports_of_a_run_say_it(finished, capsys):
    report = json.loads(render_report(finished, "json"))
    [assessed] = report["comparable"].values()
    assert assessed["comparable"] is False
    assert assessed["reasons"] == ["no_board"]
    assert assessed["because"]
    [row] = csv.DictReader(io.StringIO(render_report(finished, "csv")))
    assert (row["comparable"], row["official_board"]) == ("False", "")
    assert row["not_comparable_because"] == assessed["because"]
    for form in ("md", "html"):
        text = render_report(finished, form)
        assert "Comparable to the official board" in text
        assert assessed["because"] in text.replace("&#32;", " ")
    assert main(["show", finished.run_id]) == 0
    assert assessed["because"] in capsys.readouterr().out


def test_a_run_under_the_official_protocol_compares(finished):
    spec, summary = finished.read_spec(), finished.read_summary()
    [score] = summary.benchmarks.values()
    dataset, options = OFFICIAL["bfcl"]
    label = f"{dataset} · {options} · 10 samples"
    own = replace(score, benchmark="bfcl", label=label, full=True)
    benchmark = replace(spec.benchmarks[0], key="bfcl", dataset=dataset, suite="agentic")
    run, result = replace(spec, benchmarks=(benchmark,)), replace(summary, benchmarks={"bfcl": own})
    assert assess_run(run, result)["bfcl"].comparable
    imported = replace(run, origin="imported")
    assert assess_run(imported, result)["bfcl"].reasons == ("published",)
    dataset, options = OFFICIAL["tau2_bench"]
    line = next(iter(own.metrics.values()))
    metrics = {"retail": line, "airline": replace(line, samples=0), "telecom": line}
    label = f"{dataset} · {options} · 8 samples"
    other = replace(own, benchmark="tau2_bench", label=label, metrics=metrics)
    named = replace(run, benchmarks=(replace(benchmark, key="tau2_bench", dataset=dataset),))
    assessed = assess_run(named, replace(summary, benchmarks={"tau2_bench": other}))
    assert assessed["tau2_bench"].reasons == ("lacking",)
    begun = replace(result, benchmarks={"bfcl": replace(own, complete=False)})
    assert assess_run(run, begun)["bfcl"].reasons == ("incomplete",)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_of_a_target_says_it(finished, language):
    app = open_page("target", language, key="openai:good")
    assert not app.exception
    said = describe_assessments(
        list(assess_run(finished.read_spec(), finished.read_summary()).values()), language
    )
    assert said in words(app)
