"""The Runs page tells whether results are kept on the Hub, and who may not steer learns no more."""

from __future__ import annotations

import pytest

from evalcore import settings as configuration
from evalcore.store import hub_state
from evalcore.store.hub_state import HubState
from tests.apptest.conftest import words
from tests.support.page_stores import CANARY

REPO = "lab/board"


@pytest.fixture
def hub_sync(monkeypatch, runs_root):
    """`kept(state)`: results are kept, and the last exchange went like that."""
    monkeypatch.setenv("EVALBOARD_HUB_REPO", REPO)
    monkeypatch.setenv("HF_TOKEN", "hf_" + "tokenOfThisBoard" * 2)

    def went(**state):
        hub_state.write_hub_state(configuration.load_settings(), HubState(repo=REPO, **state))

    return went


def test_nothing_is_said_where_nothing_is_kept(open_page, runs_root):
    assert "Hub" not in words(open_page("runs"))


@pytest.mark.parametrize(
    ("language", "text"), [("en", "as soon as a run has ended"), ("zh", "运行结束后")]
)
def test_before_the_first_exchange(open_page, hub_sync, language, text):
    page = words(open_page("runs", language))
    assert text in page
    assert REPO in page


@pytest.mark.parametrize(("language", "text"), [("en", "last upload"), ("zh", "最近一次上传")])
def test_after_an_exchange(open_page, hub_sync, language, text):
    hub_sync(sent_at="2026-11-22T10:05:00.000+00:00")
    page = words(open_page("runs", language))
    assert text in page
    assert "2026-11-22 10:05 UTC" in page


@pytest.mark.parametrize(("language", "text"), [("en", "is safe"), ("zh", "数据完好")])
def test_a_failure_is_told_with_its_reason(open_page, hub_sync, language, text):
    hub_sync(problem=CANARY)
    app = open_page("runs", language)
    page = words(app)
    assert text in page
    assert "evil" in page
    assert CANARY not in page, "nothing of it is read as Markdown"


@pytest.mark.parametrize(("language", "text"), [("en", "not stored: 1"), ("zh", "未保存的运行：1")])
def test_runs_that_stay_here_are_told(open_page, hub_sync, language, text):
    hub_sync(sent_at="2026-11-22T10:05:00.000+00:00", held={"20260101-100000-aaaaaa": CANARY})
    app = open_page("runs", language)
    assert text in "".join(element.proto.popover.label for element in app.get("popover"))
    assert CANARY in "".join(element.value for element in app.text)


def test_a_missing_token_is_told(open_page, hub_sync, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    assert "no HF_TOKEN" in words(open_page("runs"))


def test_who_may_not_steer_learns_no_names_and_no_reasons(open_page, hub_sync, monkeypatch):
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    hub_sync(problem="a secret reason", held={"20260101-100000-aaaaaa": "another one"})
    app = open_page("runs")
    page = words(app) + "".join(text.value for text in app.text)
    assert "failed" in page
    assert "not stored: 1" in page
    for secret in (REPO, "secret reason", "another one", "20260101"):
        assert secret not in page
