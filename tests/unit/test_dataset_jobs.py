"""Jobs on data sets: they run apart, tell how far they are, end well, badly or when told to."""

import os
import time

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.catalog import find_benchmark_text, list_official_datasets
from evalcore.errors import UsageError
from evalcore.exchange import gaia as gaia
from evalcore.exchange import swe_bench as swe_bench
from evalcore.exchange.bfcl import fetch as bfcl
from evalcore.records import utc_now
from evalcore.runner import jobs
from evalcore.runner.jobs import data_client
from evalcore.runner.jobs.data_client import DatasetLocation
from evalcore.settings import ROOT, Settings
from evalcore.views import datasets
from tests.support.job_waits import wait_for_job

SECONDS = 300.0
KEY = "sql_understanding"


@pytest.fixture
def settings(tmp_path):
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))


def small(tmp_path, expected="1"):
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "execution_accuracy.jsonl").write_text(
        '{"case_id": "a", "difficulty_level": "1", "dialect": "sqlite", "sql": "SELECT 1 AS a", '
        f'"expected": {{"result_type": "select", "columns": ["a"], "rows": [[{expected}]]}}}}\n'
    )
    return DatasetLocation(KEY, str(folder))


def test_answers_are_confirmed_on_a_real_engine(settings, tmp_path):
    data_client.start_confirm("own:x", small(tmp_path), OPERATOR, settings)
    job = wait_for_job(settings, "confirm", "own.x", SECONDS)
    assert (job.state, job.error, job.done, job.total) == ("done", "", 1, 1)
    assert job.result["problems"] == 0
    assert list(job.result["engines"]) == ["sqlite"]
    assert job == jobs.find_job(settings, "confirm", "own:x")


def test_a_wrong_answer_is_found(settings, tmp_path):
    data_client.start_confirm("own:x", small(tmp_path, "2"), OPERATOR, settings)
    job = wait_for_job(settings, "confirm", "own.x", SECONDS)
    [finding] = job.result["findings"]
    assert finding["sample"] == "execution_accuracy/a"
    assert "the engine returns" in finding["problem"]


def test_a_set_that_is_gone_fails_with_the_reason(settings, tmp_path):
    data_client.start_confirm(
        "own:x", DatasetLocation(KEY, str(tmp_path / "gone")), OPERATOR, settings
    )
    job = wait_for_job(settings, "confirm", "own.x", SECONDS)
    assert job.state == "failed"
    assert "no such file or folder" in job.error


def test_one_at_a_time_and_it_can_be_cancelled(settings):
    dataset_location = DatasetLocation(
        "dialect_conversion", str(ROOT / "datasets" / "dialect_conversion")
    )
    data_client.start_confirm("bundled:dc", dataset_location, OPERATOR, settings)
    with pytest.raises(UsageError, match="already"):
        data_client.start_confirm("bundled:dc", dataset_location, OPERATOR, settings)
    until = time.monotonic() + SECONDS
    while not jobs.find_job(settings, "confirm", "bundled:dc").pid and time.monotonic() < until:
        time.sleep(0.05)
    jobs.cancel_job(settings, "confirm", "bundled:dc", OPERATOR)
    job = wait_for_job(settings, "confirm", "bundled.dc", SECONDS)
    assert job.state == "cancelled"
    with pytest.raises(UsageError, match="is not being worked on"):
        jobs.cancel_job(settings, "confirm", "bundled:dc", OPERATOR)


def test_a_process_that_died_without_a_word_is_told(settings):
    folder = jobs.resolve_job_folder(settings, "fetch", "bfcl-v4")
    folder.mkdir(parents=True)
    jobs.write_job_status(
        folder,
        jobs.Job("fetch", "bfcl-v4", started=utc_now(), at=utc_now(), pid=1),
    )
    assert jobs.find_job(settings, "fetch", "bfcl-v4").state == "interrupted"
    jobs.write_job_status(folder, jobs.Job("fetch", "bfcl-v4", started=utc_now(), at=utc_now()))
    lock = jobs.acquire_job_lock(folder)  # as who starts it does, for the process
    assert jobs.find_job(settings, "fetch", "bfcl-v4").state == "running"
    os.close(lock)
    assert jobs.find_job(settings, "fetch", "bfcl-v4").state == "interrupted"
    (folder / jobs.STATUS_FILE).write_text("{torn")
    assert jobs.find_job(settings, "fetch", "bfcl-v4") is None


def test_a_job_has_a_name_that_is_a_file(settings):
    with pytest.raises(UsageError, match="not a valid job name"):
        jobs.resolve_job_folder(settings, "fetch", "../x")
    with pytest.raises(UsageError, match="not an official dataset"):
        data_client.start_fetch("../x", {}, OPERATOR, settings)


def test_without_network_the_reason_is_told_and_no_key(settings, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    key = "hf_" + "x" * 30
    data_client.start_fetch("gaia-validation", {"HF_TOKEN": key}, OPERATOR, settings)
    job = wait_for_job(settings, "fetch", "gaia-validation", SECONDS)
    assert job.state == "failed"
    assert "disables the network" in job.error
    text = b"".join(path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file())
    assert key.encode() not in text
    assert datasets.list_added_datasets(settings, "gaia") == []
    left = settings.data_dir / "datasets"
    assert not left.exists() or list(left.iterdir()) == []


def test_every_official_set_goes_where_its_fetcher_puts_it(settings):
    for value in list_official_datasets().values():
        folder = {
            "bfcl": lambda part: bfcl.default_folder(settings, part),
            "gaia": lambda part: gaia.default_folder(settings, part),
            "tau_bench": lambda part: settings.data_dir / "datasets" / "tau-v1",
            "swe_bench": lambda part: swe_bench.default_folder(settings, part),
        }[value.benchmark](value.part)
        assert folder.name == value.folder == value.name
        for language in ("en", "zh"):
            assert "{page}" in (find_benchmark_text(value.benchmark, "official", language) or "")
    assert os.sep not in "".join(list_official_datasets())
