"""The card of a target on its page: shown, edited, undone, refused, and never what it says."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image

from evalcore.access.policy import ANYBODY
from evalcore.target_cards import FILE, TargetCard, load_cards, save_card
from tests.support.boards import Plan, make_run
from tests.support.pages import open_page, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

KEY = "openai:a"
CARD = TargetCard(
    name="Alpha 1",
    organization="Somebody",
    type="chat",
    parameters=7,
    open_weights=True,
    released="2026-11",
    licence="MIT",
    site="https://example.org/alpha",
)
LANGUAGES = ("en", "zh")


@pytest.fixture(autouse=True)
def runs(store):
    make_run(store, Plan(target=KEY, skill=0.5), "run-a")
    make_run(store, Plan(target="openai:b", skill=0.9), "run-b")


def field(app, name):
    key = f"card.field.{name}"
    kinds = (app.text_input, app.selectbox, app.number_input, app.checkbox)
    return next(item for kind in kinds for item in kind if item.key == key)


def press(app, label):
    return next(button for button in app.button if button.label == label).click().run()


def edited(**query):
    app = open_page("target", key=KEY, **query)
    return app.button(key="card.edit").click().run()


def is_open(app) -> bool:
    return any(text_input.key == "card.field.name" for text_input in app.text_input)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_card_stands_at_the_head(store, language):
    save_card(store, ANYBODY, KEY, CARD)
    app = open_page("target", language, key=KEY)
    text = words(app).replace("\\", "")
    assert app.title[0].value == "Alpha 1"
    assert {
        "en": "Somebody · 7B parameters · open weights · MIT · released 2026-11",
        "zh": "Somebody · 7B 参数 · 开放权重 · MIT · 发布于 2026-11",
    }[language] in text
    assert KEY in text
    link = next(element for element in app.main.get("link_button"))
    assert link.proto.url == "https://example.org/alpha"
    assert app.selectbox(key="target.key").options[0] == "Alpha 1"


def test_a_card_is_saved_shown_and_undone(store):
    app = edited()
    field(app, "name").set_value(" Alpha 1 ")
    field(app, "type").set_value("thinking")
    field(app, "parameters").set_value(0.5)
    field(app, "open_weights").set_value("closed")
    press(app, "Save")
    card = TargetCard(name="Alpha 1", type="thinking", parameters=0.5, open_weights=False)
    assert load_cards(store) == {KEY: card}
    assert not is_open(app)
    assert app.title[0].value == "Alpha 1"
    assert "The card is saved" in words(app)
    press(app, "Undo")
    assert load_cards(store) == {}
    assert app.title[0].value == "openai\\:a"
    press(app, "Undo")
    assert load_cards(store) == {KEY: card}


def test_every_wrong_field_says_so_and_nothing_typed_is_lost(store):
    app = edited()
    field(app, "name").set_value("two\u202elines")
    field(app, "released").set_value("soon")
    field(app, "site").set_value("javascript:alert(1)")
    field(app, "licence").set_value("kept")
    press(app, "Save")
    assert len(app.error) == 3
    assert is_open(app)
    assert [field(app, name).value for name in ("released", "licence")] == ["soon", "kept"]
    assert not (store.data_dir / FILE).exists()
    for name in ("name", "released", "site"):
        field(app, name).set_value("")
    press(app, "Save")
    assert load_cards(store) == {KEY: TargetCard(licence="kept")}


def test_revert_cancel_and_remove(store):
    save_card(store, ANYBODY, KEY, CARD)
    app = edited()
    field(app, "name").set_value("Other")
    press(app, "Revert")
    assert field(app, "name").value == "Alpha 1"
    field(app, "name").set_value("Other")
    press(app, "Cancel")
    assert not is_open(app)
    assert load_cards(store) == {KEY: CARD}
    app.button(key="card.edit").click().run()
    assert field(app, "name").value == "Alpha 1"
    press(app, "Remove")
    assert load_cards(store) == {}
    press(app, "Undo")
    assert load_cards(store) == {KEY: CARD}


def test_a_logo_is_taken_in_refused_and_dropped(store):
    app = edited()
    file = BytesIO()
    Image.new("RGB", (100, 100), "teal").save(file, "PNG")
    app.file_uploader[0].set_value(("x.png", b"<svg/>", "image/png"))
    press(app, "Save")
    assert "PNG" in app.error[0].value
    app.file_uploader[0].set_value(("x.png", file.getvalue(), "image/png"))
    press(app, "Save")
    assert load_cards(store)[KEY].logo.startswith("data:image/png")
    app.button(key="card.edit").click().run()
    field(app, "logo.drop").set_value(True)
    press(app, "Save")
    assert load_cards(store) == {}


def test_a_change_of_another_person_is_no_error(store):
    app = edited()
    field(app, "name").set_value("Mine")
    save_card(store, ANYBODY, KEY, CARD)
    press(app, "Save")
    assert load_cards(store) == {KEY: TargetCard(name="Mine")}
    press(app, "Undo")
    assert load_cards(store) == {KEY: CARD}


def test_nobody_edits_where_that_is_refused(store, monkeypatch):
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    app = open_page("target", key=KEY)
    assert not [button for button in app.button if button.key == "card.edit"]
    app.session_state["card.open"] = KEY  # as if the page had forgotten to ask
    app.run()
    field(app, "name").set_value("Mine")
    press(app, "Save")
    assert "read-only" in app.error[0].value.replace("\\", "")
    assert not (store.data_dir / FILE).exists()


def test_a_broken_file_is_said_and_targets_go_by_their_keys(store):
    (store.data_dir / FILE).write_text('{"cards": {"openai:a": {"site": "javascript:x"}}}')
    app = open_page("target", key=KEY)
    assert "The target cards cannot be read" in words(app)
    assert app.title[0].value == "openai\\:a"
    app.button(key="card.edit").click().run()
    assert "not saved" in words(app)
    assert open_page("runs").title


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "text",
    ["![x](http://evil.example/i.png)", ":red[**boo**] [go](http://evil.example)", "#W" * 29],
)
@pytest.mark.parametrize("page", ["target", "case", "compare", "metrics", "runs"])
def test_a_hostile_card_does_nothing_but_be_shown(store, page, text):
    card = TargetCard(name=text, organization=text, licence=text, site="https://example.org")
    save_card(store, ANYBODY, KEY, card)
    query = {
        "target": {"key": KEY},
        "case": {"run": "run-a", "metric": "execution_accuracy", "id": "1"},
        "compare": {"runs": "run-a,run-b"},
        "runs": {"run": "run-a"},
    }.get(page, {})
    app = open_page(page, **query)
    message = words(app)
    assert "![x](" not in message
    assert ":red[" not in message
    assert "](http" not in message


def test_the_name_stands_on_every_page_that_names_the_target(store):
    save_card(store, ANYBODY, KEY, CARD)
    compared = open_page("compare", runs="run-a,run-b")
    assert "Alpha 1" in list(table(compared, "letter")["target"])
    assert "Alpha 1" in list(table(open_page("metrics"), "rank")["target"])
    runs = open_page("runs", run="run-a")
    assert "Alpha 1" in list(table(runs, "progress")["target"])
    assert "Alpha 1" in [subheader.value for subheader in runs.subheader]
    case = open_page("case", run="run-a", metric="execution_accuracy", id="1")
    assert "Cases of Alpha 1" in [element.proto.label for element in case.main.get("page_link")]
