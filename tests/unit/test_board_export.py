"""`evalcore board`: the ranking in five forms, with the numbers of the board and hostile names."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from evalcore.cli.boards import BOARD_FORMATS
from evalcore.cli.main import main
from evalcore.exchange import board_export
from evalcore.settings import Settings
from evalcore.views import boards, stored_boards
from evalcore.views.board_table import RankingView
from evalcore.views.boards import Board
from evalcore.views.ranking import SUITE
from tests.support.api import HOSTILE, client, fill
from tests.support.boards import Plan, make_run
from tests.support.pages import store as store


@pytest.fixture
def full(store):
    fill(store)
    return store


def listed(capsys, *words):
    """What `evalcore board` prints."""
    status = main(["board", *words])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    return shown.out


def refused(capsys, *words):
    assert main(["board", *words]) == 2
    return capsys.readouterr().err


@pytest.fixture
def frame(full):
    return stored_boards.board_ranking(
        full, boards.list_boards(stored_boards.load_run_headers(full), "sql")[0]
    )


def test_csv_holds_every_column_and_no_formula(capsys, full, frame):
    rows = list(csv.DictReader(io.StringIO(listed(capsys, "--format", "csv"))))
    assert list(rows[0]) == list(frame.columns)
    assert [row["identity"] for row in rows] == list(frame["identity"])
    assert [float(row["score"]) for row in rows] == list(frame["score"])
    assert [row["rank"] for row in rows] == ["1", "2", "3", "", ""]
    make_run(full, Plan(target="=cmd|x", skill=0.2, cases=8), "formula")
    assert "'=cmd|x" in listed(capsys, "--format", "csv")


@pytest.mark.parametrize(
    "words", [("--json",), ("--format", "json"), ("--json", "--format", "json")]
)
def test_json_is_what_the_api_gives(capsys, full, words):
    payload = json.loads(listed(capsys, *words))
    args = client().get("/api/v1/ranking").json()
    assert args.pop("next") is None
    assert payload == args


def test_text_shows_ranks_intervals_and_reasons(capsys, full, frame):
    lines = listed(capsys).splitlines()
    assert lines[0].startswith("sql: sql_understanding · verified")
    assert lines[2].split("  ")[0] == "Rank"
    best = frame.iloc[0]
    assert lines[3].startswith("1 ")
    assert f"{best['score']:.1f}  {best['low']:.1f} to {best['high']:.1f}" in re.sub(
        "  +", "  ", lines[3]
    )
    assert "incomplete" in lines[6]
    assert "\u202e" not in "\n".join(lines)


def test_markdown_has_no_markup_of_a_name(capsys, full):
    message = listed(capsys, "--format", "md")
    assert "<script" not in message
    rows = [line for line in message.splitlines() if line.startswith("|")]
    assert len({row.count("|") for row in rows}) == 1
    assert len(rows) == 2 + 5


def test_latex_escapes_every_special_character(capsys, full):
    make_run(full, Plan(target=r"openai:a_b%c#d$e{f}~g^h\input{x}", skill=0.2, cases=8), "special")
    message = listed(capsys, "--format", "latex")
    assert (
        r"openai:a\_b\%c\#d\$e\{f\}\textasciitilde{}g\textasciicircum{}h"
        r"\textbackslash{}input\{x\}"
    ) in message
    head, *rest = message.splitlines()
    assert head.startswith("% ")
    assert rest[0].startswith(r"\begin{tabular}{rlrrrl")
    body = [line for line in rest if line.endswith(r"\\")]
    assert len(body) == 1 + 6
    assert len({len(re.findall(r"(?<!\\)&", line)) for line in body}) == 1
    assert "\u202e" not in message


def test_latex_of_names_that_go_on_to_another_line_stays_in_its_comment():
    board = Board(key="default", suite="a\n\\input{/etc/passwd}", columns={}, members=())
    hostile = RankingView(Settings(), [], board, SUITE)
    vars(hostile)["rows"] = []
    assert board_export.FORMATS["latex"](hostile).splitlines()[1].startswith(r"\begin")


def test_another_board_and_order_can_be_chosen(capsys, full):
    make_run(full, Plan(target="openai:strong", cases=5, skill=1, dataset="mine"), "mine")
    key = boards.list_boards(stored_boards.load_run_headers(full), "sql")[1].key
    payload = json.loads(listed(capsys, "--json", "--suite", "sql", "--board", key))
    assert [row["score"] for row in payload["items"]] == [100.0]
    same = listed(capsys, "--by", "sql_understanding", "--format", "csv")
    assert same == listed(capsys, "--format", "csv")


def test_every_form_goes_to_a_file(capsys, full, tmp_path):
    for form in BOARD_FORMATS:
        out = tmp_path / form
        assert listed(capsys, "--format", form, "--out", str(out)) == ""
        assert out.read_text(encoding="utf-8") == listed(capsys, "--format", form)
    assert set(BOARD_FORMATS) == {*board_export.FORMATS, "csv"}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--board", HOSTILE), "known: default"),
        (("--by", "nosuch"), "ranked by one of: sql_understanding"),
        (("--suite", "agentic"), "no board of suite agentic"),
        (("--json", "--format", "csv"), "contradict"),
        (("--out", "/nosuch/place"), "--out /nosuch/place"),
    ],
)
def test_what_cannot_be_listed_is_said(capsys, full, words, problem):
    assert problem in refused(capsys, *words)


def test_an_empty_store_says_what_to_do(capsys, store):
    assert "evalcore run" in refused(capsys)
