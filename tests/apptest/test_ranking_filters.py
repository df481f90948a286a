"""The Ranking page as it is filtered, ordered and arranged, in both languages."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.access.policy import OPERATOR
from evalcore.store.index import load_headers
from evalcore.target_cards import TargetCard, encode_logo, save_card
from tests.support.boards import BENCHMARK, Plan, make_run
from tests.support.page_stores import CANARY
from tests.support.pages import chart_rows, folded, open_page, store, table, unfolded, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")
STRONG, WEAK, LOCAL = "openai:strong", "openai:weak", "hf:small"


@pytest.fixture
def filled(store):
    for target, skill, price, month in (
        (STRONG, 0.5, 0.004, "2026-08"),
        (STRONG, 0.9, 0.004, "2026-11"),
        (WEAK, 0.3, 0.001, "2026-08"),
        (LOCAL, 0.6, 0.0, "2026-11"),
    ):
        created = f"{month}-05T10:00:00.000+00:00"
        make_run(store, Plan(target=target, skill=skill, price=price, created_at=created))
    make_run(store, Plan(target="openai:cut", skill=0.5, failing=4))
    make_run(store, Plan(target="control:null", skill=0.1))
    save_card(
        store,
        OPERATOR,
        STRONG,
        TargetCard(name="Strong One", organization="Acme", parameters=70.0, open_weights=False),
    )
    save_card(store, OPERATOR, LOCAL, TargetCard(parameters=4.0, open_weights=True))
    return store


def names(app):
    return list(table(app, "rank")["target"])


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("query", "result"),
    [
        ({}, ["Strong One", LOCAL, WEAK]),
        ({"q": "acme"}, ["Strong One"]),
        ({"q": "openai:strong"}, ["Strong One"]),
        ({"org": "Acme"}, ["Strong One"]),
        ({"kind": "hf"}, [LOCAL]),
        ({"weights": "open"}, [LOCAL]),
        ({"weights": "open,closed"}, ["Strong One", LOCAL]),
        ({"size": "l"}, ["Strong One"]),
        ({"size": "huge,s"}, [LOCAL]),
        ({"price": "free"}, [LOCAL]),
        ({"evidence": "executed"}, ["Strong One", LOCAL, WEAK]),
        ({"until": "2026-08"}, ["Strong One", WEAK]),
        ({"since": "2026-11"}, ["Strong One", LOCAL]),
        ({"since": "2026-11", "until": "2026-08"}, ["Strong One", LOCAL, WEAK]),
        ({"until": "1999-01"}, ["Strong One", LOCAL, WEAK]),
        ({"sort": "cost"}, [LOCAL, WEAK, "Strong One"]),
        ({"sort": "name"}, [LOCAL, WEAK, "Strong One"]),
        ({"sort": f"{BENCHMARK}/execution_accuracy"}, ["Strong One", LOCAL, WEAK]),
        ({"sort": "nonsense"}, ["Strong One", LOCAL, WEAK]),
    ],
)
def test_a_link_filters_and_orders(filled, query, result):
    assert names(open_page(**query)) == result


def test_ranks_stay_in_any_order(filled):
    shown = table(open_page(sort="cost"), "rank")
    assert list(shown["rank"]) == [2, 3, 1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_filter_that_is_on_has_a_tag_that_takes_it_back(filled, language):
    app = open_page(language=language, weights="open", complete="1", until="2026-11")
    labels = [button.label for button in app.button]
    assert {"en": "Weights: Open", "zh": "权重：开放"}[language] in labels
    assert {"en": "Complete only", "zh": "仅完整运行"}[language] in labels
    app.button(key="ranking.tag.weights").click().run()
    assert names(app) == ["Strong One", LOCAL, WEAK]
    assert "weights" not in app.query_params
    app.button(key="ranking.tag.all").click().run()
    assert not {"complete", "until"} & set(app.query_params)


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_nothing_fits_the_page_says_what_to_loosen(filled, language):
    app = open_page(language=language, q="zzz", weights="open")
    text = words(app)
    assert {"en": "No target matches", "zh": "没有符合条件"}[language] in text
    assert {"en": "again: Search.", "zh": "看到对象：搜索。"}[language] in text
    app.button(key="ranking.empty.reset").click().run()
    assert names(app) == ["Strong One", LOCAL, WEAK]
    assert "q" not in app.query_params


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_months_are_told(filled, language):
    text = words(open_page(language=language, until="2026-08"))
    assert {"en": "as of 2026-08", "zh": "截至 2026-08"}[language] in text


def test_complete_only_hides_what_did_not_end(filled):
    assert "openai:cut" in list(table(open_page(), "status")["target"])
    assert list(table(open_page(complete="1"), "status")["target"]) == ["control:null"]


def test_months_without_a_complete_run_say_so_and_lead_back(store):
    make_run(store, Plan(target="openai:a", created_at="2026-11-01T10:00:00.000+00:00"))
    cut = Plan(target="openai:b", failing=3, created_at="2026-08-01T10:00:00.000+00:00")
    make_run(store, cut)
    app = open_page(until="2026-08")
    assert "No target has a complete run in these months" in words(app)
    app.button(key="ranking.nobody.reset").click().run()
    assert names(app) == ["openai:a"]


def test_columns_are_chosen_by_the_link_and_by_hand(filled):
    usual = list(table(open_page(), "rank").columns)
    assert [name for name in usual if name in ("rank", "target", "score")] == [
        *("rank", "target", "score"),
    ]
    assert {"interval", "group", "cost", "organization"} <= set(usual)
    assert not {"tokens", "price"} & set(usual)
    app = open_page(cols="price,cost,zzz")
    assert [n for n in table(app, "rank").columns if n != "new"][3:] == ["cost", "price"]
    unfolded(app, "ranking.columns").multiselect(key="ranking.cols").set_value([]).run()
    assert app.query_params["cols"] == "-"
    assert list(table(folded(app, "ranking.columns"), "rank").columns) == [
        *("rank", "target", "score", "new"),
    ]


def test_filters_hold_while_their_menu_is_closed(filled):
    app = unfolded(open_page(weights="open"), "ranking.filters")
    assert app.button_group(key="ranking.weights").value == ["open"]
    app.toggle(key="ranking.complete").set_value(True)
    folded(app, "ranking.filters")  # in the same moment
    asked = {name: app.query_params[name] for name in ("weights", "complete")}
    assert asked == {"weights": "open", "complete": "1"}
    assert "ranking.complete" not in [toggle.key for toggle in app.toggle]
    shown = names(app)
    for _ in range(3):
        app.run()
        assert (app.query_params["complete"], names(app)) == ("1", shown)
    app.button(key="ranking.tag.complete").click().run()
    assert "complete" not in app.query_params
    assert not unfolded(app, "ranking.filters").toggle(key="ranking.complete").value
    assert app.button_group(key="ranking.weights").value == ["open"]


def test_the_menu_of_filters_stays_open_while_its_label_counts(filled):
    app = unfolded(open_page(), "ranking.filters")
    app.toggle(key="ranking.complete").set_value(True).run()
    assert app.toggle(key="ranking.complete").value
    app.query_params["complete"] = ""  # as a step back in the browser
    app.run()
    assert not app.toggle(key="ranking.complete").value


def test_evidence_shows_its_metrics_alone(filled):
    shown = table(open_page(evidence="parsed"), "rank")
    assert f"{BENCHMARK}/sql_identification" in shown.columns
    assert f"{BENCHMARK}/execution_accuracy" not in shown.columns


def test_newcomers_are_marked(filled):
    shown = table(open_page(), "rank").set_index("target")["new"]
    assert shown[LOCAL] == "new"
    assert shown.isna()[WEAK]


def test_the_trend_and_the_bars_show_the_filtered(filled):
    app = open_page(q="strong")
    bars, trend = chart_rows(app, 0), chart_rows(app, len(app.get("vega_lite_chart")) - 1)
    assert set(bars["name"].dropna()) == {"Strong One"}
    assert set(trend["series"].dropna()) == {"Strong One"}
    assert trend["run_id"].nunique() == 2


def test_score_is_set_against_what_is_asked(filled):
    app = open_page(vs="latency")
    assert chart_rows(app, 1)["cost"].dropna().eq(0.8).all()
    assert "zero or unknown: 1" in words(open_page(vs="cost"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_board_tells_what_sets_it_apart(filled, language):
    folder = make_run(filled, Plan(target="openai:other", mode="scale"))
    app = open_page(language=language, board=folder.read_spec().benchmarks[0].column)
    assert not app.table
    value = unfolded(app, "ranking.why").table[0].value
    assert [list(value.iloc[:, n]) for n in (1, 2)] == [["verified"], ["scale"]]
    assert "mode" in value.iloc[0, 0]


def test_boards_that_read_alike_are_told_apart(store):
    first = Plan(target="openai:a")
    make_run(store, first)
    folder = make_run(store, msgspec.structs.replace(first, target="openai:b"))
    _pretend_other_column(store, folder)
    titles = open_page().selectbox(key="ranking.board").options
    assert len(set(titles)) == 2


def _pretend_other_column(store, folder):
    """As if the content of the cases were another version under the same label."""
    from evalcore.store.index import record_run

    summary = folder.read_summary()
    score = msgspec.structs.replace(summary.benchmarks[BENCHMARK], column="feedfacecafe")
    folder.write_summary(msgspec.structs.replace(summary, benchmarks={BENCHMARK: score}))
    record_run(store, folder)
    assert len({header.benchmarks[BENCHMARK].column for header in load_headers(store)}) == 2


def test_cards_of_strangers_stay_text(store):
    make_run(store, Plan(target="openai:a", skill=0.5))
    make_run(store, Plan(target="openai:b", skill=0.9))
    name = CANARY[:60]
    save_card(store, OPERATOR, "openai:a", TargetCard(name=name, organization=name))
    app = open_page(org=name, q="openai:a")
    assert all("![x](" not in element.value for element in [*app.markdown, *app.caption])
    assert not any("![x](" in button.label for button in app.button)
    assert names(app) == [name]


def test_a_logo_stands_before_the_name(store):
    from io import BytesIO

    from PIL import Image

    picture = BytesIO()
    Image.new("RGB", (8, 8), (10, 90, 120)).save(picture, "PNG")
    make_run(store, Plan(target="openai:a"))
    card = TargetCard(organization="Acme", logo=encode_logo(picture.getvalue()))
    save_card(store, OPERATOR, "openai:a", card)
    shown = table(open_page(), "rank")
    assert [name for name in shown.columns if name in ("logo", "target")] == ["logo", "target"]
    assert shown["logo"].iloc[0].startswith("data:image/png;base64,")
    make_run(store, Plan(target="openai:b"))
    save_card(store, OPERATOR, "openai:a", TargetCard(organization="Acme"))
    assert "logo" not in table(open_page(), "rank").columns, "nobody has one"


def test_a_broken_file_of_cards_is_said(store):
    make_run(store, Plan(target="openai:a"))
    (store.data_dir / "targets.json").write_text('{"cards": {"x": {"name": 5}}}', encoding="utf-8")
    assert "cannot be read" in words(open_page())
