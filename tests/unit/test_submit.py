"""Runs handed in by pages: checked and scored apart, refused with a reason, never half taken in."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.policy import ANYBODY, OPERATOR, AccessDenied, Visitor
from evalcore.errors import UsageError
from evalcore.records import utc_now
from evalcore.runner import jobs
from evalcore.runner.jobs import data_client
from evalcore.settings import Settings
from evalcore.store.index import load_headers
from tests.support.bundles import bundled, changed, edit, edit_lines, finished, pack
from tests.support.job_waits import wait_for_job
from tests.support.log_fixtures import FIXTURES

pytestmark = pytest.mark.slow

SQL = "sql_understanding"
SECONDS = 300.0
PROVED = Visitor(proved=True)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("bundles")
    settings = configuration.load_settings(path / "data")
    folder = finished(settings, "baseline:sqlglot", SQL, max_samples=3)
    return bundled(folder, settings, path / "run.zip").read_bytes()


@pytest.fixture
def store(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "store"), shipped=str(tmp_path / "none"))


def ended(name: str, store: Settings) -> jobs.Job:
    job = wait_for_job(store, "import", name, SECONDS)
    assert job is not None
    return job


def left(store: Settings) -> list[str]:
    """Files that somebody uploaded, and runs that are half there."""
    names = [path.name for path in (store.data_dir / "jobs").rglob("*.zip")]
    return names + [path.name for path in store.runs_dir.glob(".*")]


def refused(content: bytes, store: Settings) -> str:
    """Why a bundle was not taken in; nothing of it is left."""
    job = ended(data_client.submit_bundle("run.zip", content, OPERATOR, store), store)
    assert job.state == "failed"
    assert left(store) == []
    assert load_headers(store) == []
    assert store.data not in job.error
    return job.error


def test_a_bundle_is_scored_again_and_taken_in(store: Settings, bundle: bytes) -> None:
    name = data_client.submit_bundle("my run.zip", bundle, OPERATOR, store)
    job = ended(name, store)
    assert (job.state, job.error, job.title) == ("done", "", "my run.zip")
    assert (job.done, job.total) == (3, 3)
    (header,) = load_headers(store)
    assert job.result["run"] == header.run_id
    assert job.result["identity"] == header.identity
    assert job.result["board"] == header.benchmarks[SQL].dataset
    assert [score["level"] for score in job.result["scores"]] == [2]
    assert left(store) == []
    again = ended(data_client.submit_bundle("again.zip", bundle, OPERATOR, store), store)
    assert again.result["became"] == "unchanged"
    assert [submission.title for submission in data_client.list_submissions(ANYBODY, store)] == [
        "again.zip",
        "my run.zip",
    ]


def test_what_was_manipulated_is_refused_with_the_reason(
    store: Settings, bundle: bytes, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.zip"
    whole.write_bytes(bundle)

    def fails(lines: list[dict[str, dict[str, object]]]) -> None:
        for line in lines:
            line["verdict"] |= {"outcome": "failed", "score": 0.0}

    def foreign(spec: dict[str, list[dict[str, object]]]) -> None:
        spec["benchmarks"][0]["key"] = "no_such"

    forged = changed(whole, tmp_path / "a.zip", edit_lines("verdicts.jsonl", fails))
    assert refused(forged.read_bytes(), store).startswith("the verdict on sql_understanding")
    touched = changed(whole, tmp_path / "b.zip", edit("spec.json", foreign), vouch=False)
    assert "spec.json is not the file in the manifest" in refused(touched.read_bytes(), store)
    unknown = changed(whole, tmp_path / "c.zip", edit("spec.json", foreign))
    assert "unknown benchmark" in refused(unknown.read_bytes(), store)
    other = pack(tmp_path / "d.zip", {"readme.txt": b"hello"})
    assert refused(other.read_bytes(), store) == "is not a bundle: it has no manifest.json"
    assert "cannot be unpacked" in refused(b"PK\x03\x04" + b"x" * 100, store)


def test_what_can_be_no_bundle_starts_nothing(
    store: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="not a zip archive"):
        data_client.submit_bundle("x.zip", b"hello", OPERATOR, store)
    monkeypatch.setattr(data_client, "MAX_BUNDLE_BYTES", 1 << 20)
    with pytest.raises(UsageError, match="more than 1 MB"):
        data_client.submit_bundle("x.zip", b"PK\x03\x04" + bytes(1 << 20), OPERATOR, store)
    assert data_client.list_submissions(OPERATOR, store) == []


def test_one_at_a_time_and_it_can_be_cancelled(store: Settings, tmp_path: Path) -> None:
    maker = configuration.load_settings(tmp_path / "maker")
    folder = finished(maker, "control:null", SQL, max_samples=60)
    large = bundled(folder, maker, tmp_path / "large.zip").read_bytes()
    name = data_client.submit_bundle("large.zip", large, OPERATOR, store)
    with pytest.raises(UsageError, match="another bundle"):
        data_client.submit_bundle("second.zip", large, OPERATOR, store)
    until = time.monotonic() + SECONDS
    while not data_client.list_submissions(OPERATOR, store)[0].pid and time.monotonic() < until:
        time.sleep(0.02)
    data_client.cancel_submission(name, OPERATOR, store)
    assert ended(name, store).state == "cancelled"
    assert left(store) == []
    assert load_headers(store) == []
    with pytest.raises(UsageError, match="is not being worked on"):
        data_client.cancel_submission(name, OPERATOR, store)


def test_what_a_killed_process_left_goes_at_the_next_look(store: Settings, bundle: bytes) -> None:
    folder = jobs.resolve_job_folder(store, "import", "killed")
    folder.mkdir(parents=True)
    (folder / "upload.zip").write_bytes(bundle)
    job = jobs.Job("import", "killed", started=utc_now(), at=utc_now(), pid=1)
    jobs.write_job_status(folder, job)
    (message,) = data_client.list_submissions(OPERATOR, store)
    assert message.state == "interrupted"
    assert left(store) == []


@pytest.mark.parametrize(
    ("mode", "visitor"),
    [("read-only", PROVED), ("passcode", ANYBODY), ("oidc", ANYBODY), ("oidc", Visitor(name="x"))],
)
def test_access_decides(mode: str, visitor: Visitor, tmp_path: Path, bundle: bytes) -> None:
    store = Settings(data=str(tmp_path / "store"), access=mode)
    with pytest.raises(AccessDenied):
        data_client.submit_bundle("x.zip", bundle, visitor, store)
    with pytest.raises(AccessDenied):
        data_client.cancel_submission("x", visitor, store)
    assert list((tmp_path / "store" / "jobs").glob("*")) == []


def test_visitors_see_and_end_their_own_and_have_a_share_a_day(
    tmp_path: Path, bundle: bytes
) -> None:
    store = Settings(
        data=str(tmp_path / "store"),
        shipped=str(tmp_path / "none"),
        access="oidc",
        runs_per_day=1,
    )
    ada, bob = Visitor(name="ada", proved=True), Visitor(name="bob", proved=True)
    name = data_client.submit_bundle("ada.zip", bundle, ada, store)
    with pytest.raises(AccessDenied, match="someone else"):
        data_client.cancel_submission(name, bob, store)
    assert ended(name, store).state == "done"
    assert data_client.list_submissions(bob, store) == []
    assert [job.title for job in data_client.list_submissions(ada, store)] == ["ada.zip"]
    assert [job.title for job in data_client.list_submissions(OPERATOR, store)] == ["ada.zip"]
    with pytest.raises(AccessDenied, match="1 bundles a day"):
        data_client.submit_bundle("more.zip", bundle, ada, store)
    assert ended(data_client.submit_bundle("bob.zip", bundle, bob, store), store).state == "done"


def test_logs_of_other_frameworks_are_taken_in(store: Settings, tmp_path: Path) -> None:
    """A file as it is, and a folder as a zip."""
    log = (FIXTURES / "inspect" / "large.eval").read_bytes()
    job = ended(data_client.submit_bundle("large.eval", log, OPERATOR, store), store)
    assert job.state == "done", job.error
    assert job.result["target"] == "inspect:openai-api/board/large"
    assert (job.result["suite"], job.result["board"]) == ("imported", "inspect")
    assert job.result["scores"] == [{"benchmark": "inspect-counting", "level": 1}]
    content = (FIXTURES / "inspect" / "small.json").read_bytes()
    assert ended(data_client.submit_bundle("a.JSON", content, OPERATOR, store), store).error == ""
    files = {
        f"{file.parent.name}/{file.name}": file.read_bytes()
        for file in (FIXTURES / "lm_eval").rglob("*.json*")
    }
    folder = pack(tmp_path / "logs.zip", files)
    name = data_client.submit_bundle("logs.zip", folder.read_bytes(), OPERATOR, store)
    result = ended(name, store).result
    assert (result["runs"], result["became"]) == (2, "created")


def test_a_damaged_log_is_refused_without_its_place(store: Settings) -> None:
    log = (FIXTURES / "inspect" / "large.eval").read_bytes()[:3000]
    job = ended(data_client.submit_bundle("cut.eval", log, OPERATOR, store), store)
    assert job.state == "failed"
    assert str(store.data) not in job.error
    job = ended(data_client.submit_bundle("x.json", b'{"eval": 1}', OPERATOR, store), store)
    assert job.state == "failed"
    assert "contains no log" in job.error
