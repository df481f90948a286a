"""The Ranking page on stores from empty to broken, in both languages."""

import shutil

import pytest

from evalcore.views import boards, stored_boards
from pages.shared.exports import to_csv_bytes
from tests.support.boards import Plan, make_run
from tests.support.pages import chart_rows, drawn_html, open_page, store, table, unfolded, words

__all__ = ["store"]  # a fixture

LANGUAGES = {"en": "Ranking", "zh": "排行榜"}


def fill(store):
    make_run(store, Plan(target="openai:strong", skill=0.9, price=0.002))
    make_run(store, Plan(target="openai:weak", skill=0.3, price=0.001))
    make_run(store, Plan(target="openai:cut", skill=0.5, failing=4, price=None))
    make_run(store, Plan(target="control:null", skill=0.1, price=None))


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_store_says_so_and_leads_to_launch(store, language):
    app = open_page(language=language)
    assert app.title[0].value == LANGUAGES[language]
    assert not app.dataframe
    assert app.get("page_link")


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_run_is_ranked_alone_and_the_sentence_says_that_it_is_alone(store, language):
    make_run(store, Plan(target="baseline:sqlglot", skill=0.6, price=0.0))
    app = open_page(language=language)
    assert list(table(app, "rank")["target"]) == ["baseline:sqlglot"]
    sentence = {"en": "the only ranked target", "zh": "目前只有它参与排名"}[language]
    assert sentence in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_many_runs_are_ranked_and_the_others_listed_with_the_reason(store, language):
    fill(store)
    app = open_page(language=language)
    ranked = table(app, "rank")
    assert list(ranked["target"]) == ["openai:strong", "openai:weak"]
    assert list(ranked["rank"]) == [1, 2]
    assert list(table(app, "status")["target"]) == ["openai:cut", "control:null"]
    leads = {"en": "openai:strong leads openai:weak by", "zh": "openai:strong 领先 openai:weak"}
    certain = {"en": "a statistically significant lead", "zh": "差距显著"}
    assert leads[language] in words(app)
    assert certain[language] in words(app)


def test_a_tie_is_said_to_be_one(store):
    for name in ("a", "b", "c", "d", "e"):
        make_run(store, Plan(target=f"openai:{name}", skill=1.0))
    text = words(open_page())
    assert "statistically tied with 4 targets" in text
    assert "leads" not in text


def test_missing_values_are_shown_as_a_dash(store):
    fill(store)
    app = open_page()
    assert table(app, "status")["cost"].isna().all()
    assert "–" in words(app)


def test_floors_are_drawn_in_the_chart(store):
    fill(store)
    make_run(store, Plan(target="control:tautology", skill=0.2))
    labels = chart_rows(open_page(), 0)["label"].dropna()
    drawn = set(labels.str.rsplit(" ", n=1).str[0])
    assert drawn == {"floor: empty answer", "floor: input with 1 = 1"}
    tables = [table.value.to_string() for table in open_page("methodology").table]
    assert any("a condition that is always true" in text for text in tables)


def test_the_search_filters_without_moving_the_ranks(store):
    fill(store)
    app = open_page(q="WEAK")
    shown = table(app, "rank")
    assert list(shown["target"]) == ["openai:weak"]
    assert list(shown["rank"]) == [2]
    app.text_input(key="ranking.q").set_value("nobody").run()
    assert "No target matches" in words(app)


def test_a_kind_in_the_url_is_chosen_and_an_unknown_one_ignored(store):
    fill(store)
    make_run(store, Plan(target="baseline:sqlglot", skill=0.6))
    app = open_page(kind="baseline,zzz")
    assert list(table(app, "rank")["target"]) == ["baseline:sqlglot"]
    assert unfolded(app, "ranking.filters").multiselect(key="ranking.kind").value == ["baseline"]


def test_another_mode_is_another_board_that_a_link_can_name(store):
    fill(store)
    folder = make_run(store, Plan(target="openai:other", mode="scale"))
    column = folder.read_spec().benchmarks[0].column
    assert list(table(open_page(), "rank")["target"]) == ["openai:strong", "openai:weak"]
    assert list(table(open_page(board=column), "rank")["target"]) == ["openai:other"]
    assert list(table(open_page(board="gone"), "rank")["target"]) == [
        "openai:strong",
        "openai:weak",
    ]


def test_controls_alone_leave_a_board_without_ranks(store):
    make_run(store, Plan(target="control:reference", skill=1.0))
    app = open_page()
    assert "No target is ranked" in words(app)
    assert list(table(app, "status")["target"]) == ["control:reference"]


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        ("en", "No target is ranked on this board yet. openai:cut comes nearest, with at least"),
        ("zh", "本榜还没有参与排名的对象。 最接近的是 openai:cut，至少"),
    ],
)
def test_where_nobody_is_ranked_the_answer_names_who_comes_nearest(store, language, answer):
    make_run(store, Plan(target="control:null", skill=0.05))
    assert words(open_page(language=language)).count("openai:cut") == 0
    make_run(store, Plan(target="openai:cut", failing=3))
    make_run(store, Plan(target="openai:worse", skill=0.1, failing=3))
    app = open_page(language=language)
    assert answer in words(app)
    links = [link.proto.page for link in app.get("page_link")]
    assert {"launch", "runs"} <= set(links)


def test_a_corrupt_run_folder_does_not_hide_the_others(store):
    fill(store)
    broken = make_run(store, Plan(target="openai:broken", skill=0.99))
    (broken.path / "samples.jsonl").write_text("{torn", encoding="utf-8")
    (broken.path / "spec.json").write_text("nonsense", encoding="utf-8")
    app = open_page()
    assert list(table(app, "rank")["target"]) == ["openai:strong", "openai:weak"]
    assert "openai:broken" not in list(table(app, "status")["target"])
    assert "left out of the ranking" in words(open_page("runs"))


def test_a_run_folder_that_is_gone_takes_no_rank(store):
    fill(store)
    shutil.rmtree(make_run(store, Plan(target="openai:gone", skill=0.99)).path)
    app = open_page()
    assert "openai:gone" not in list(table(app, "rank")["target"])


def test_hostile_names_stay_text(store):
    name = "openai:![x](http://evil.example/p.png)<b>:red[a]`$1$"
    make_run(store, Plan(target=name, skill=0.5))
    app = open_page()
    assert list(table(app, "rank")["target"]) == [name]
    assert all("![x](" not in element.value for element in [*app.markdown, *app.caption])
    assert not any("<b>:red" in body or "<img" in body for body in drawn_html(app))


def test_the_name_of_a_data_set_stays_text_too(store):
    make_run(store, Plan(target="openai:a", dataset="![x](http://evil.example)"))
    assert "![x](" not in words(open_page())


def test_a_spreadsheet_reads_no_formula_from_the_csv(store):
    make_run(store, Plan(target="=HYPERLINK(1)", skill=0.5))
    board = boards.list_boards(stored_boards.load_run_headers(store), "sql")[0]
    text = to_csv_bytes(stored_boards.board_ranking(store, board)).decode()
    assert "'=HYPERLINK(1)" in text
    assert "\n=HYPERLINK" not in text
    assert ",=HYPERLINK" not in text
