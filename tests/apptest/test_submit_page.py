"""Handing in a run and taking its files away, on the Runs page."""

from __future__ import annotations

import os
import zipfile

import pytest

from evalcore.access.policy import ANYBODY
from evalcore.records import utc_now
from evalcore.runner import jobs
from evalcore.runner.jobs import data_client
from tests.support.bundles import bundled, finished
from tests.support.job_waits import wait_for_job
from tests.support.pages import open_page, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")
SQL = "sql_understanding"
LEVEL = {"en": "level 2: rescored, equal", "zh": "2 级：已重新评分且一致"}
HERE = {"en": "level 3: run here", "zh": "3 级：在此运行"}
NOT_TAKEN = {"en": "Not imported", "zh": "未收录"}
NO_BUNDLE = {"en": "is not a bundle", "zh": "不是提交包"}
CANARY = "![x](http://evil.example/x.png) :red[x].zip"


def files(app):
    return [
        element.proto.id
        for element in app.get("download_button")
        if "runs.file." in element.proto.id
    ]


def hand_in(app, name, content):
    assert app.button(key="submit.send").disabled
    app.get("file_uploader")[0].set_value((name, content, "application/zip")).run()
    app.button(key="submit.send").click().run()
    assert not app.exception, app.exception


def ended(store):
    (job,) = jobs.list_jobs(store, "import")
    assert wait_for_job(store, "import", job.name, 300).state != "running"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bundle_is_handed_in_and_shown_with_its_level(store, tmp_path, language):
    folder = finished(store, "baseline:sqlglot", SQL, max_samples=2)
    content = bundled(folder, store, tmp_path / "run.zip").read_bytes()
    app = open_page("runs", language)
    assert len(files(app)) == 5
    hand_in(app, CANARY, content)
    ended(store)
    app = open_page("runs", language)
    assert {"en": "Imported", "zh": "已收录"}[language] in app.success[0].value
    assert LEVEL[language] in words(app)
    assert CANARY not in words(app)
    assert set(table(app, "run")["level"]) == {LEVEL[language], HERE[language]}
    run = data_client.list_submissions(ANYBODY, store)[0].result["run"]
    app.button(key="submit.dismiss").click().run()
    assert "submit.dismiss" not in {button.key for button in app.button}
    app = open_page("runs", language, run=run)
    assert len(files(app)) == 3  # what was handed in is not bundled again


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_no_bundle_is_refused_with_the_reason(store, tmp_path, language):
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    hand_in(open_page("runs", language), "other.zip", path.read_bytes())
    ended(store)
    app = open_page("runs", language)
    assert NOT_TAKEN[language] in app.error[0].value
    assert NO_BUNDLE[language] in app.error[0].value


@pytest.mark.parametrize("language", LANGUAGES)
def test_how_far_it_is_and_how_it_ended_otherwise(store, language):
    folder = jobs.resolve_job_folder(store, "import", "one")
    folder.mkdir(parents=True)
    job = jobs.Job(
        "import",
        "one",
        started=utc_now(),
        at=utc_now(),
        done=3,
        total=9,
        title="x",
    )
    jobs.write_job_status(folder, job)
    lock = jobs.acquire_job_lock(folder)
    app = open_page("runs", language)
    assert app.button(key="submit.cancel")
    os.close(lock)
    for state, message in {
        "cancelled": {"en": "Canceled", "zh": "已取消"},
        "interrupted": {"en": "ended early", "zh": "提前结束"},
    }.items():
        jobs.write_job_status(
            folder,
            jobs.Job("import", "one", state, started=utc_now(), at=utc_now()),
        )
        assert message[language] in words(open_page("runs", language))


def test_readers_take_files_away_and_hand_nothing_in(store, monkeypatch):
    finished(store, "control:null", SQL, max_samples=1)
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    app = open_page("runs")
    assert len(files(app)) == 4
    assert not app.get("file_uploader")
    monkeypatch.setenv("EVALBOARD_ACCESS", "passcode")
    app = open_page("runs")
    assert not app.get("file_uploader")
