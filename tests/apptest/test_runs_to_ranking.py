"""*Ranking* on the page of a run: it opens the board that the run is on, with its row in sight."""

from urllib.parse import parse_qs

import pytest

from tests.support.boards import Plan, make_run
from tests.support.pages import open_page, store, table

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


def test_a_row_among_many_is_looked_for(store):
    for number in range(24):
        make_run(store, Plan(target=f"openai:m{number}", cases=2, skill=number / 24))
    run = make_run(store, Plan(target="openai:last-of-all", cases=2, skill=0.0))
    link = ranking_link(open_page("runs", run=run.run_id))
    assert link["q"] == "openai:last-of-all"
    assert list(table(open_page("ranking", **link), "target")["target"]) == ["openai:last-of-all"]
