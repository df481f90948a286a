"""Whether a board compares with the official one follows from what its columns rest on."""

from __future__ import annotations

import pytest

from evalcore.i18n import LANGUAGES
from evalcore.views.boards import Board, Column
from evalcore.views.comparability import assess_board, assess_column, describe_comparability
from evalcore.views.payloads import board_data

OFFICIAL = {
    "bfcl": ("bfcl-v4", "protocol=official"),
    "tau_bench": (
        "tau-v1",
        "protocol=official, split=test, use_llm_user=True, user_model=openai:gpt-4o",
    ),
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
        (column("tau_bench", "tau-v1", "protocol=official, split=test"), ("user",)),
        (
            column(
                "tau_bench",
                "tau-v1",
                "protocol=official, split=test, use_llm_user=True, user_model=hf:tiny",
            ),
            ("user",),
        ),
        (column("gaia", "gaia-validation", "protocol=official"), ("options",)),
        (column("sql_optimization", "sql_optimization", "verified"), ("no_board",)),
        (column("bfcl", "bfcl-v4", "protocol=official", executed=False), ("published",)),
    ],
)
def test_what_differs_is_named(made, reasons):
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
