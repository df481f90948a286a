"""Links without a browser: every state of `link_states` opens from its address with every widget as
the link says and nothing taken out of it, and again on the way back; what hands set is in the
address; links are copied, named by a parameter, and refused where they ask for what is not here.

`tests/browser/test_link_history.py` does the same in a real browser, some of it in `make test`.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest
from streamlit.testing.v1 import AppTest

from app import PAGES
from evalcore.settings import Settings
from tests.support import linked_store
from tests.support.link_states import NOT_HERE, STATES, WAYS, State
from tests.support.pages import APP, SECONDS

pytestmark = pytest.mark.usefixtures("framed")
URL = "http://localhost:8501"
EVERY = [
    pytest.param(name, state, id=f"{name}?{urlencode(state.query)}")
    for name, states in STATES.items()
    for state in states
]


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory):
    """The key of the second board of the store that the app reads."""
    folder: Path = tmp_path_factory.mktemp("links")
    settings = Settings(data=str(folder / "data"), shipped=str(folder / "none"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBOARD_DATA", settings.data)
        patch.setenv("EVALBOARD_SHIPPED", settings.shipped)
        patch.delenv("EVALBOARD_CONFIG", raising=False)
        yield linked_store.fill(settings)


def go(app: AppTest, page: str, query: dict[str, str]) -> AppTest:
    """What a link, Back or Forward makes a browser ask for: a page with this query."""
    app.query_params.clear()
    app.query_params.update(query)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception, app.exception
    return app


def arrive(state: State, board: str) -> AppTest:
    """A state as a new visitor with an English browser gets it by its link."""
    app = AppTest.from_file(str(APP), default_timeout=SECONDS)
    app.context.update(locale="en-US", url=f"{URL}/{state.path}")
    query = state.query_for(board)
    if not state.path:  # the first page, which a path cannot name before the app has run
        app.query_params.update(query)
        app.run()
        assert not app.exception, app.exception
        return app
    return go(app, state.path, query)


def look(app: AppTest, state: State, board: str) -> None:
    """Every widget is as the state says, and the address still says it, in the same order."""
    for check in state.holds:
        check.in_app(app)
    assert list(app.query_params.items()) == list(state.query_for(board).items())


def leave_and_return(app: AppTest, page: str, elsewhere: str) -> None:
    """A step to another page of the navigation and Back."""
    query = dict(app.query_params)
    title = app.main.title[0].value
    go(app, elsewhere, {"lang": query["lang"]} if "lang" in query else {})
    assert app.main.title[0].value != title
    go(app, page, query)
    assert app.main.title[0].value == title


def test_there_are_forty_over_all_pages():
    assert set(STATES) == {card.name for card in PAGES}
    assert list(WAYS) == list(STATES)
    addresses = {state.address("", "b") for states in STATES.values() for state in states}
    assert len(addresses) == len(EVERY) >= 60


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "state"), EVERY)
def test_a_state_opens_from_its_link_and_again_on_the_way_back(board, name, state):
    """Its address can be copied, with what hosts without paths need where the page has one."""
    app = arrive(state, board)
    look(app, state, board)
    copied = [code.value for code in app.get("code")]
    assert name == "launch" or state.address(URL, board) in copied
    assert name in ("launch", "ranking") or state.bare(URL, board) in copied
    leave_and_return(app, name, "metrics" if name == "methodology" else "methodology")
    look(app, state, board)


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "state"), EVERY)
def test_a_page_named_by_a_parameter_opens_with_all_the_others(board, name, state):
    """For hosts that pass no path; a step back leads to the ranking and not forward again."""
    bare = {"page": name} | state.query_for(board)
    app = AppTest.from_file(str(APP), default_timeout=SECONDS)
    app.context.update(locale="en-US")
    app.query_params.update(bare)
    app.run()
    look(app, state, board)
    go(app, "ranking", bare)
    assert app.main.title[0].value in ("Ranking", "排行榜")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WAYS)
def test_what_hands_have_set_is_in_the_address_and_stays_on_the_way_back(board, name):
    """Back within the page takes the last act back, and Forward does it again."""
    way = WAYS[name]
    app = arrive(way.start, board)
    history = [dict(app.query_params)]
    for act, ending in way.acts:
        act.in_app(app)
        app.run()
        assert not app.exception, app.exception
        assert urlencode(app.query_params).endswith(ending.rpartition("?")[2])
        history.append(dict(app.query_params))
    *_, before, query = history
    if name == way.start.path or not way.start.path:
        for step in (before, query):
            go(app, name, step)
            assert app.query_params == step
    for check in way.holds:
        check.in_app(app)
    leave_and_return(app, name, way.elsewhere)
    for check in way.holds:
        check.in_app(app)
    assert dict(app.query_params) == query


@pytest.mark.parametrize(("state", "left"), NOT_HERE)
def test_what_is_not_here_is_told_and_leaves_the_address(board, state, left):
    app = arrive(state, board)
    assert any("“nosuch”" in toast.value for toast in app.toast)
    assert app.query_params == left


def test_the_next_target_is_in_the_address(board):
    app = arrive(STATES["target"][0], board)
    step = next(button for button in app.main.button if button.label == "hf\\:model")
    step.click().run()
    assert app.main.title[0].value == "hf\\:model"
    assert app.query_params == {"key": "hf:model"}


def test_a_case_leads_back_to_the_cases_that_it_was_stepped_through(board):
    app = arrive(STATES["case"][3], board)
    label = "Cases of openai\\:strong"
    link = next(link for link in app.main.page_link if link.label == label)
    query = dict(parse_qsl(link.proto.query_string))
    assert query["key"] == "openai:strong"
    filters = {"difficulty": "1,2", "q": "answer to execution"}
    assert filters.items() <= query.items()
    assert filters.items() <= go(app, "target", query).query_params.items()
