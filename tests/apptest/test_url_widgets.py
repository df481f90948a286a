"""The widgets of `url_state` alone: those that come late, that go and come back, and that are
changed faster than the address follows."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.support.pages import SECONDS

LINK = {"on": "1", "q": "abc", "low": "2.5", "sort": "name", "tab": "b", "tags": "x", "page": "2"}
LINK |= {"much": "1"}


def draw() -> None:
    """One of each, while the box is ticked."""
    import streamlit as st

    from pages.shared import url_state

    with url_state.watch_moves("t"):
        if not st.checkbox("Shown", key="shown"):
            return
        menu = url_state.draw_menu("Menu", "menu", "t.menu")
        held = {
            "on": url_state.draw_toggle("On", "t.on"),
            "q": url_state.draw_search("Search", "t.q"),
            "low": url_state.draw_number("Low", "t.low"),
            "sort": url_state.draw_select("Sort", ["score", "name"], "t.sort", str),
            "tab": url_state.draw_segments("Tab", ["a", "b"], "t.tab", str),
            "tags": url_state.draw_pills("Tags", ["x", "y"], "t.tags", str),
            "much": url_state.draw_toggle("Much", "t.much", drawn=menu.open),
        }
        if st.session_state.pop("interrupted", False):
            st.stop()
        held["page"] = url_state.read_page_number("t.page", "list")
        url_state.draw_pagination(held["page"], 3, "t.page")
    st.session_state["held"] = held


HELD = {"on": True, "q": "abc", "low": 2.5, "sort": "name", "tab": "b", "tags": ["x"], "page": 2}
HELD |= {"much": True}


def open_link() -> AppTest:
    """The link as it is opened, before any widget has been drawn."""
    app = AppTest.from_function(draw, default_timeout=SECONDS)
    app.query_params.update(LINK)
    return run(app)


def run(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception, app.exception
    return app


def late(app: AppTest, query: dict[str, str]) -> None:
    """Run with what the address of the browser says by then."""
    app.query_params.clear()
    app.query_params.update(query)
    run(app)


def show(app: AppTest, shown: bool) -> AppTest:
    app.checkbox(key="shown").set_value(shown)
    return run(app)


def address(app: AppTest) -> dict[str, str]:
    return dict(app.query_params)


def widgets(app: AppTest) -> list:
    kinds = ("toggle", "text_input", "number_input", "selectbox", "button_group", "pagination")
    return [widget for kind in kinds for widget in app.get(kind)]


def starting_value(widget) -> object:
    """What a browser that draws the widget only now begins with and sends back."""
    proto = widget.proto
    if proto.set_value:
        return widget.value
    if widget.type == "selectbox":
        return widget.options[proto.default]
    if widget.type == "button_group":
        chosen = [widget.options[index] for index in proto.default]
        return chosen[0] if proto.required else chosen
    has_none = widget.type == "number_input" and not proto.HasField("default")
    return None if has_none else proto.default


def test_a_widget_that_is_drawn_in_a_later_run_shows_what_the_link_says():
    app = open_link()
    assert not widgets(app)
    show(app, True)
    assert app.session_state["held"] == HELD
    assert address(app) == LINK


def test_a_widget_that_was_hidden_comes_back_as_it_was_set():
    app = show(open_link(), True)
    app.toggle(key="t.on").set_value(False)
    app.text_input(key="t.q").set_value("xyz")
    app.number_input(key="t.low").set_value(7.0)
    app.selectbox(key="t.sort").select("score")
    run(app)
    held, query = app.session_state["held"], address(app)
    assert query == {"q": "xyz", "low": "7", "tab": "b", "tags": "x", "page": "2", "much": "1"}
    run(show(app, False))
    assert not widgets(app)
    assert address(app) == query
    show(app, True)
    assert app.session_state["held"] == held
    assert address(app) == query


def test_a_browser_that_draws_late_begins_with_what_the_link_says():
    """The first run may be interrupted by the next before anything of it is drawn."""
    app = run(show(open_link(), True))
    drawn = widgets(app)
    assert len(drawn) == len(LINK) - 1  # one is in the menu
    assert [starting_value(widget) for widget in drawn] == [widget.value for widget in drawn]


def test_who_changes_a_widget_faster_than_the_address_follows_loses_nothing():
    """The next run then comes with an address that is older than the one written last."""
    app = show(open_link(), True)
    steps = ("x", 3.0, ["x", "y"], 3), ("xy", 4.0, ["y"], 1), ("xyz", 5.0, ["y", "x"], 3)
    for text, number, tags, page in steps:
        app.text_input(key="t.q").set_value(text)
        app.number_input(key="t.low").set_value(number)
        app.button_group(key="t.tags").set_value(tags)
        app.get("pagination")[0].set_value(page)
        late(app, LINK)
        held = {"q": text, "low": number, "tags": tags, "page": page}
        assert app.session_state["held"] == HELD | held


def test_who_changes_one_widget_after_the_other_keeps_both():
    app = show(open_link(), True)
    app.text_input(key="t.q").set_value("x")
    run(app)
    for act in (
        lambda: app.toggle(key="t.on").set_value(False),
        lambda: app.selectbox(key="t.sort").select("score"),
        lambda: app.get("pagination")[0].set_value(3),
    ):
        act()
        late(app, LINK)
    held = {"on": False, "q": "x", "sort": "score", "page": 3}
    assert app.session_state["held"] == HELD | held
    assert address(app) == {
        name: text
        for name, text in (LINK | {"q": "x", "page": "3"}).items()
        if name not in ("on", "sort")
    }


def test_what_was_chosen_in_a_menu_stays_when_it_is_closed_at_once():
    app = show(open_link(), True)
    app.session_state["t.menu"] = True
    run(app)
    app.toggle(key="t.much").set_value(False)
    run(app)
    app.session_state["t.menu"] = False
    late(app, LINK)
    assert app.session_state["held"] == HELD | {"much": False}
    app.toggle(key="t.on").set_value(False)
    late(app, LINK)
    assert app.session_state["held"] == HELD | {"much": False, "on": False}


def test_what_an_interrupted_run_has_taken_up_is_kept_by_the_next():
    app = show(open_link(), True)
    app.toggle(key="t.on").set_value(False)
    app.session_state["interrupted"] = True
    run(app)
    late(app, LINK)
    assert app.session_state["held"] == HELD | {"on": False}
    late(app, LINK)
    assert app.session_state["held"] == HELD


def test_the_address_sets_what_nobody_has_changed_by_hand():
    """As Back and Forward do."""
    app = show(open_link(), True)
    for query in ({"q": "x", "page": "3"}, {"on": "1", "low": "7"}, LINK, {}):
        late(app, query)
        assert address(app) == query
    assert app.session_state["held"] == {
        "on": False,
        "q": "",
        "low": None,
        "sort": "score",
        "tab": "a",
        "tags": [],
        "page": 1,
        "much": False,
    }
