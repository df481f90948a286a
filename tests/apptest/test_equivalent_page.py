"""The page that checks two statements: the form, its examples, the verdict, a file, a link."""

from __future__ import annotations

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from evalcore.access.policy import OPERATOR
from evalcore.runner import jobs
from evalcore.runner.jobs import Job, pair_checks
from evalcore.runner.jobs.pair_checks import Pair
from evalcore.settings import Settings
from tests.support.job_waits import wait_for_job
from tests.support.pages import open_page, store, table, words

__all__ = ["store"]
SCHEMA = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)"
SAME = Pair("", "sqlite", SCHEMA, "SELECT n FROM t WHERE n > 1", "SELECT n FROM t WHERE 1 < n")
OTHER = msgspec.structs.replace(SAME, id="<b>other</b>", answer="SELECT n FROM t WHERE n >= 1")


def field(app: AppTest, name: str) -> str:
    return str(app.text_area(key=f"equivalent.{name}").value)


def decide(store: Settings, *pairs: Pair) -> str:
    name = pair_checks.start_check(pairs, OPERATOR, store)
    job = wait_for_job(store, "equivalent", name, 300)
    assert job is not None
    assert job.state == "done"
    return name


def badges(app: AppTest) -> str:
    return "\n".join(str(element.value) for element in app.markdown)


def test_an_example_is_checked_and_its_link_shows_the_verdict(store: Settings):
    app = open_page("equivalent")
    app.button(key="equivalent.example.join").click().run()
    assert "LEFT JOIN" in field(app, "reference")
    app.button(key="FormSubmitter:equivalent.form-Check").click().run()
    assert not app.exception
    name = app.query_params["check"]
    name = name[0] if isinstance(name, list) else name
    assert wait_for_job(store, "equivalent", name, 300).state == "done"  # type: ignore[union-attr]
    again = open_page("equivalent", check=name)
    assert "LEFT JOIN" in field(again, "reference")
    assert again.selectbox(key="equivalent.engine").value == "sqlite"
    assert "Equivalent" in badges(again)


@pytest.mark.parametrize(
    ("language", "word", "none"),
    [("en", "Different", "No rows. Columns: "), ("zh", "不同", "没有行。列：")],
)
def test_a_difference_shows_its_database(store: Settings, language: str, word: str, none: str):
    app = open_page("equivalent", language, check=decide(store, OTHER))
    assert word in badges(app)
    nothing = msgspec.structs.replace(OTHER, answer="SELECT n FROM t WHERE 1 = 0")
    assert none in words(open_page("equivalent", language, check=decide(store, nothing)))
    assert len(app.dataframe) >= 2  # the table's rows, and what each side returned


def test_what_a_person_types_after_a_link_stays(store: Settings):
    app = open_page("equivalent", check=decide(store, SAME))
    opened = app.query_params["check"]
    app.text_area(key="equivalent.answer").set_value("SELECT 2")
    app.button(key="FormSubmitter:equivalent.form-Check").click().run()
    assert field(app, "answer") == "SELECT 2"
    assert app.query_params["check"] != opened


def test_a_file_of_pairs_shows_a_table_that_filters(store: Settings):
    name = decide(store, SAME, OTHER)
    app = open_page("equivalent", view="file", check=name)
    assert list(table(app, "status")["status"]) == ["Equivalent", "Different"]
    filtered = open_page("equivalent", view="file", check=name, status="different")
    assert list(table(filtered, "id")["id"]) == ["<b>other</b>"]


def test_an_empty_field_is_refused_in_words(store: Settings):
    app = open_page("equivalent")
    app.button(key="FormSubmitter:equivalent.form-Check").click().run()
    assert "Fill in the schema" in words(app)
    assert "check" not in app.query_params


@pytest.mark.parametrize(
    ("state", "word"), [("cancelled", "canceled"), ("failed", "The check failed: out of luck")]
)
def test_a_check_that_did_not_end_well_says_so(store: Settings, state, word: str):
    folder = jobs.resolve_job_folder(store, "equivalent", "abc")
    folder.mkdir(parents=True)
    job = Job("equivalent", "abc", state, error="out of luck", started="2026-01-01T00:00:00+00:00")
    jobs.write_job_status(folder, job)
    assert word in words(open_page("equivalent", check="abc"))


def test_a_check_that_is_gone_says_so(store: Settings):
    assert "no longer stored" in words(open_page("equivalent", check="../../x"))


def test_a_closed_board_shows_results_and_checks_nothing(store: Settings, monkeypatch):
    name = decide(store, OTHER)
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    app = open_page("equivalent", check=name)
    assert app.button(key="FormSubmitter:equivalent.form-Check").disabled
    assert "Different" in badges(app)
