"""The files of a run that pages give: reports and the bundle, fit for all who see the board."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import msgspec
import pytest

from evalcore import settings as configuration
from evalcore.access.policy import ANYBODY, OPERATOR
from evalcore.errors import UsageError
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.records import Failure, to_json
from evalcore.runner.jobs import data_client
from evalcore.runner.jobs.data_client import EXPORT_FORMS
from evalcore.settings import ROOT, Settings
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredSample, write_atomic
from tests.support.bundles import files_of, finished
from tests.support.cases import syntax_cases

pytestmark = pytest.mark.slow

SQL = "sql_understanding"
KEY = "key-that-looks-like-a-word"


@pytest.fixture
def store(tmp_path: Path) -> Settings:
    return configuration.load_settings(tmp_path / "store")


#: Records are of no control.
TARGETS = {data_client.RECORDS_FORM: "baseline:sqlglot"}


def readable(data: bytes, form: str, folder: Path) -> str:
    if form == data_client.RECORDS_FORM:
        with zipfile.ZipFile(io.BytesIO(data)) as records:
            return b"\n".join(records.read(name) for name in records.namelist()).decode()
    if form != data_client.BUNDLE_FORM:
        return data.decode()
    folder.write_bytes(data)
    return b"\n".join(files_of(folder).values()).decode()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", EXPORT_FORMS)
def test_no_place_and_no_key_is_in_a_file(
    store: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    cases = syntax_cases(tmp_path / "private" / "cases", 3)
    note = f"see /home/somebody/notes.txt and {KEY}"
    folder = finished(store, TARGETS.get(form, "control:null"), SQL, dataset=str(cases), note=note)
    spec = msgspec.structs.replace(folder.read_spec(), access="oidc", started_by="feedfacefeedface")
    write_atomic(folder.path / "spec.json", to_json(spec))
    first = next(folder.read_episodes())
    failure = Failure("environment", f"no such file: {tmp_path}/private/x, Bearer {'z' * 20}")
    failed = msgspec.structs.replace(first.episode, failure=failure, answer=f"it is {KEY}")
    with Journal(folder.path / "generations" / "main.jsonl") as journal:
        journal.append(StoredEpisode(SQL, failed))
    message = readable(
        data_client.export_run_file(folder.run_id, form, ANYBODY, store), form, tmp_path / "b.zip"
    )
    for secret in (str(tmp_path), "/private", "/home/somebody", KEY, "z" * 20, "feedface"):
        assert secret not in message
    assert SQL in message or "SQL" in message


def test_a_bundle_of_a_page_can_be_handed_in(store: Settings, tmp_path: Path) -> None:
    folder = finished(store, "baseline:sqlglot", SQL, max_samples=3)
    path = tmp_path / "run.zip"
    path.write_bytes(data_client.export_run_file(folder.run_id, "bundle", ANYBODY, store))
    done = import_bundle(
        path, configuration.load_settings(tmp_path / "other"), progress=lambda line: None
    )
    assert [score.level for score in done.scores] == [2]


def test_a_shipped_run_gives_its_report(tmp_path: Path) -> None:
    store = Settings(data=str(tmp_path / "store"), access="read-only")
    shipped = sorted((ROOT / "data" / "shipped" / "runs").iterdir())[0].name
    report = json.loads(data_client.export_run_file(shipped, "json", ANYBODY, store))
    assert report["benchmarks"]
    assert str(ROOT) not in json.dumps(report)


def gated(folder: RunFolder) -> str:
    """Makes every case of a run one of a gated set; returns a word of its questions."""
    lines = [
        StoredSample(
            sample.benchmark,
            msgspec.structs.replace(
                sample.sample, meta={"gated": True}, input={"sql": "SECRETWORD"}
            ),
        )
        for sample in folder.read_samples()
    ]
    data = b"".join(to_json(item) + b"\n" for item in lines)
    write_atomic(folder.path / "samples.jsonl", data)
    with Journal(folder.path / "generations" / "main.jsonl") as journal:
        for line in list(folder.read_episodes()):
            text = msgspec.structs.replace(line.episode, answer="SECRETWORD")
            journal.append(StoredEpisode(line.benchmark, text))
    return "SECRETWORD"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", ["json", "bundle", data_client.RECORDS_FORM])
@pytest.mark.parametrize(
    ("mode", "shown", "there"),
    [("open", False, False), ("open", True, True), ("read-only", True, False)],
)
def test_gated_texts_go_out_only_where_they_are_shown(
    store: Settings, tmp_path: Path, form: str, mode: str, shown: bool, there: bool
) -> None:
    folder = finished(store, TARGETS.get(form, "control:null"), SQL, max_samples=2)
    word = gated(folder)
    seen = msgspec.structs.replace(store, access=mode, show_gated=shown)
    data = data_client.export_run_file(folder.run_id, form, ANYBODY, seen)
    assert (word in readable(data, form, tmp_path / "b.zip")) == there


def test_what_cannot_be_given_says_why(store: Settings) -> None:
    with pytest.raises(UsageError, match="no run"):
        data_client.export_run_file("../x", "md", OPERATOR, store)
    with pytest.raises(UsageError, match="not a file format"):
        data_client.export_run_file("x", "exe", OPERATOR, store)
    folder = finished(store, "control:null", SQL, max_samples=1)
    (folder.path / "summary.json").unlink()
    with pytest.raises(UsageError, match="has no scores yet"):
        data_client.export_run_file(folder.run_id, "md", OPERATOR, store)
