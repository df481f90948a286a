"""*Ranking* on the page of a run: it opens the board that the run is on, with its row in sight."""

from urllib.parse import parse_qs

import pytest

from tests.support.boards import Plan, make_run
from tests.support.pages import drawn_html, open_page, read_html_text, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture


def ranking_link(app):
    """The parameters of the link, by name."""
    links = [link.proto for link in app.get("page_link")]
    [result] = [link for link in links if link.label == "Ranking"]
    return {name: values[0] for name, values in parse_qs(result.query_string).items()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "more", [{}, {"full": False, "cases": 3}, {"dataset": "mine"}, {"mode": "scale"}]
)
def test_the_board_of_a_run_is_opened(store, more):
    make_run(store, Plan(target="openai:usual"))
    run = make_run(store, Plan(target="openai:new", **more))
    link = ranking_link(open_page("runs", run=run.run_id))
    assert "q" not in link
    app = open_page("ranking", **link)
    assert "openai:new" in list(table(app, "target")["target"])


def test_the_row_of_a_run_is_marked_among_many_with_its_neighbors_and_failures(store):
    for number in range(6):
        make_run(store, Plan(target=f"openai:m{number}", cases=4, skill=number / 6))
    run = make_run(store, Plan(target="openai:of-mine", cases=4, skill=0.5))
    link = ranking_link(open_page("runs", run=run.run_id))
    assert link["run"] == run.run_id
    app = open_page("ranking", **link)
    assert app.query_params["run"] == run.run_id
    shown = table(app, "rank")
    assert len(shown) == 7
    marked = [body for body in drawn_html(app) if 'aria-current="true"' in body]
    assert len(marked) == 2, "the sentence on the run, and the table"
    own, whole = (read_html_text(body) for body in marked)
    assert own.startswith("Your run: openai:of-mine scores")
    place = list(shown["target"]).index("openai:of-mine")
    for beside in (place - 1, place + 1):
        assert shown["target"][beside] in own
    assert own.count("solved by") == 3
    assert "openai:of-mine your run" in whole
    assert any(f"run={run.run_id}" in element.value for element in app.code)


def test_a_run_that_is_not_here_marks_nothing(store):
    make_run(store, Plan(target="openai:usual"))
    app = open_page("ranking", run="nosuch")
    assert not any("aria-current" in body for body in drawn_html(app))


def test_a_run_without_a_rank_says_why(store):
    make_run(store, Plan(target="openai:usual"))
    run = make_run(store, Plan(target="openai:cut", failing=4))
    app = open_page("ranking", run=run.run_id)
    assert "Your run: openai:cut has no rank here. Reason: Incomplete" in words(app)
