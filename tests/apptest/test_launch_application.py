"""Services on the Launch page: listed, asked for what they need, not run on other cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore.runner import client
from evalcore.runner.run_request import ConnectionReport
from tests.apptest.conftest import words

KEY = "canary-Zq7x-0123456789-KEY"
ADDRESS = "https://shift.example"
OWN = """
title: Ours ![x](http://evil.invalid)
about: <b>Rewrites</b>
base_url: http://127.0.0.1:9
branches: [{submit: {url: /a, form: {sql: $sql}}, extract: sql}]
"""


@pytest.fixture
def asked(monkeypatch):
    """What the page asked the runner, in place of doing it."""
    calls = []

    def launch(request, keys, settings, *, visitor):
        calls.append((request, dict(keys)))
        return "20260101-100000-aaaaaa"

    def connect(target, options, keys, settings, *, visitor):
        calls.append((target, dict(options), dict(keys)))
        return ConnectionReport(ok=True, message="", latency=1.5, model="SQLShift", reply="SELECT")

    monkeypatch.setattr(client, "launch_run", launch)
    monkeypatch.setattr(client, "test_connection", connect)
    return calls


def own_description(runs_root: Path, text: str) -> None:
    folder = runs_root.parent / "applications"
    folder.mkdir()
    (folder / "ours.yaml").write_text(text)


def choose(app, key, benchmark="dialect_conversion"):
    app.session_state["launch.target.app"] = key  # the test's widget cannot type a new choice
    app.button_group(key="launch.kind").set_value("app").run()
    app.multiselect(key="launch.benchmarks").set_value([benchmark]).run()


def test_a_service_is_asked_for_its_address_and_key_and_starts(open_page, asked):
    app = open_page("launch")
    choose(app, "app:sqlshift")
    assert app.selectbox(key="launch.target.app").options == [
        "SQLFlash (app:sqlflash)",
        "SQLShift (app:sqlshift)",
    ]
    assert "needs SQLSHIFT_BASE_URL" in words(app)
    assert "needs SQLSHIFT_API_KEY" in words(app)
    assert app.button(key="launch.do.start").disabled
    address = app.text_input(key="typed_key.SQLSHIFT_BASE_URL")
    key = app.text_input(key="typed_key.SQLSHIFT_API_KEY")
    assert [address.label.split()[0], key.label.split()[0]] == ["Address", "Key"]
    assert key.proto.type == key.proto.PASSWORD
    assert address.proto.type == address.proto.DEFAULT
    address.set_value(ADDRESS)
    key.set_value(KEY).run()
    assert not app.warning
    app.button(key="launch.do.start").click().run()
    [(request, keys)] = asked
    assert (request.target, request.target_options) == ("app:sqlshift", {})
    assert keys == {"SQLSHIFT_BASE_URL": ADDRESS, "SQLSHIFT_API_KEY": KEY}
    assert KEY not in words(app) + str(app.query_params)


def test_the_connection_is_tested_with_what_was_typed(open_page, asked, monkeypatch):
    monkeypatch.setenv("SQLSHIFT_BASE_URL", ADDRESS)
    app = open_page("launch")
    choose(app, "app:sqlshift")
    app.text_input(key="typed_key.SQLSHIFT_API_KEY").set_value(KEY).run()
    app.button(key="launch.do.connection").click().run()
    assert "Answered in 1.5 s" in app.success[0].value
    assert asked == [("app:sqlshift", {}, {"SQLSHIFT_API_KEY": KEY})]


def test_what_a_service_answers_is_told_and_the_rest_is_refused(open_page, asked):
    app = open_page("launch")
    choose(app, "app:sqlshift", "sql_understanding")
    assert "Supports: Dialect conversion." in words(app)
    assert "SQLShift does not answer these metrics of SQL understanding" in words(app)
    assert app.button(key="launch.do.start").disabled


def test_a_description_of_ones_own_is_listed_and_its_text_is_no_markup(open_page, asked, runs_root):
    own_description(runs_root, OWN)
    app = open_page("launch", "zh")
    choose(app, "app:ours")
    assert not app.warning
    assert "支持：" in words(app)
    assert not any("<b>" in caption.value for caption in app.caption)
    app.button(key="launch.do.start").click().run()
    assert asked[0][0].target == "app:ours"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_broken_description_is_said_beside_the_form(open_page, asked, runs_root, language):
    own_description(runs_root, "title: Ours\nbase_url: http://h.example\nbranches: []\n")
    app = open_page("launch", language)
    choose(app, "app:ours")
    assert "branches: at least one is needed" in words(app)
    assert app.button(key="launch.do.start").disabled


@pytest.mark.parametrize(("name", "message"), [("typed.yaml", ""), ("none.yaml", "No such file")])
def test_a_path_may_be_typed(open_page, asked, tmp_path, name, message):
    (tmp_path / "typed.yaml").write_text(OWN)
    app = open_page("launch")
    choose(app, str(tmp_path / name))
    assert bool(app.warning) == bool(message)
    assert message in words(app)
    assert f"app:{tmp_path / name}" in [text.value for text in app.text]
