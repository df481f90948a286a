"""What a ranking is called: it names the benchmarks that it counts, and who decided."""

import msgspec
import pytest

from evalcore.catalog import benchmark_cards
from evalcore.i18n import LANGUAGES
from evalcore.settings import Settings
from evalcore.views import board_table, board_titles, boards
from evalcore.views.board_table import RankingView
from evalcore.views.ranking import SUITE
from evalcore.web.share import _describe_link
from tests.support.headers import header, score

SQL = [card.key for card in benchmark_cards().values() if card.suite == "sql"]


def board_of(origin="executed", **datasets):
    scores = {
        key: score(f"c.{key}", dataset=datasets.get(key, key), label=f"{key} · verified · 10 s")
        for key in SQL
    }
    run = header("openai:a", 1, **scores)
    run = msgspec.structs.replace(run, origin=origin)
    return boards.list_boards([run], "sql")[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_ranking_by_one_benchmark_names_no_other(language):
    board = board_of()
    titles = {key: board_titles.benchmark_title(key, language) for key in SQL}
    whole = board_titles.ranked_title(board, SUITE, language)
    assert all(title in whole for title in titles.values())
    for by in SQL:
        about = board_titles.board_about(board, by, language)
        assert [key for key in SQL if titles[key] in about] == [by]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_published_ranking_names_its_benchmark_and_claims_no_engine(language):
    month = dict.fromkeys(SQL, "scale-2026-05")
    board = board_of("imported", **month)
    assert board.taken_over
    assert board_table.evidence_kinds(board) == []
    for by in SQL:
        title = board_titles.benchmark_title(by, language)
        assert title in board_titles.board_about(board, by, language)
        for metric in benchmark_cards()[by].metrics:
            about = board_titles.metric_about(board, by, metric.key, language)
            assert about != metric.about[language]
    ours = board_of()
    assert not ours.taken_over
    assert board_table.evidence_kinds(ours)


def test_answers_that_were_scored_again_here_are_not_taken_over():
    board = board_of("imported", **dict.fromkeys(SQL, "bundle-ours"))
    assert board.published
    assert not board.taken_over
    assert "engine" in board_titles.metric_about(board, SQL[0], "execution_accuracy", "en")


def test_a_shared_link_names_what_it_is_ranked_by():
    board = board_of()
    row = {"status": "ranked", "identity": "a", "score": 50.0}
    ranking_view = RankingView(Settings(), [], board, SQL[1])
    vars(ranking_view).update(rows=[row], names={"a": "A"})
    title, about = _describe_link(ranking_view, "", "en")
    assert board_titles.benchmark_title(SQL[1], "en") in about
    assert board_titles.benchmark_title(SQL[2], "en") not in about
    assert title


@pytest.mark.parametrize("benchmark", SQL)
def test_a_mode_that_executes_nothing_rests_on_what_it_does(benchmark):
    board = board_of(**{benchmark: "scale"})  # a data set, and no mode
    verified = board.columns[benchmark]
    metrics = verified.card.metrics
    assert [verified.evidence(item.key) for item in metrics] == [
        entry.evidence for entry in metrics
    ]
    column = msgspec.structs.replace(verified, label="mine · scale · 3 samples")
    kind = "checked" if benchmark == "sql_understanding" else "judged"
    assert {column.evidence(item.key) for item in metrics} == {kind}
    board = msgspec.structs.replace(board, columns={benchmark: column})
    assert board_table.evidence_kinds(board) == [kind]
    assert board_table.shown_parts(board, ("executed",)) == []
    for metric in metrics:
        about = board_titles.metric_about(board, benchmark, metric.key, "en")
        assert "real engine" not in about
