"""No key and no place of this machine goes out with a bundle."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from evalcore import settings as configuration
from evalcore.access.redaction import build_redactor, redact_sample, redact_spec
from evalcore.errors import UsageError
from evalcore.exchange.bundle.exporter import export_bundle
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.records import BenchmarkSpec, Failure, RunSpec, Sample, TargetSpec, to_json
from evalcore.settings import Settings
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode
from tests.support.bundles import bundled, files_of, finished
from tests.support.cases import syntax_cases

SQL = "sql_understanding"
KEY = "key-that-looks-like-a-word"


@pytest.fixture
def store(tmp_path: Path) -> Settings:
    return configuration.load_settings(tmp_path / "store")


def packed(bundle: Path) -> str:
    return b"\n".join(files_of(bundle).values()).decode()


def test_no_place_and_no_key_goes_out(
    store: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    cases = syntax_cases(tmp_path / "private" / "cases", 3)
    folder = finished(
        store,
        "control:null",
        SQL,
        dataset=str(cases),
        note=f"see /home/somebody/notes.txt and {KEY}",
    )
    folder.write_card({"loaded": [str(tmp_path / "private" / "weights")], "bits": 4})
    first = next(folder.read_episodes())
    failure = Failure("environment", f"no such file: {tmp_path}/private/x, Bearer {'z' * 20}")
    failed = msgspec.structs.replace(first.episode, failure=failure, answer=f"it is {KEY}")
    with Journal(folder.path / "generations" / "main.jsonl") as journal:
        journal.append(StoredEpisode(SQL, failed))
    bundle = bundled(folder, store, tmp_path / "run.zip")
    text = packed(bundle)
    for secret in (str(tmp_path), "/private", "/home/somebody", KEY, "z" * 20):
        assert secret not in text
    spec = json.loads(files_of(bundle)["spec.json"])
    assert spec["benchmarks"][0]["dataset"] == cases.name
    assert json.loads(files_of(bundle)["card.json"]) == {"loaded": ["weights"], "bits": 4}
    assert "notes.txt" in spec["note"]


def test_the_answers_are_not_touched(store: Settings, tmp_path: Path) -> None:
    """What looks like a path or a key in an answer is the model's, and scored as it is."""
    folder = finished(store, "control:null", SQL, max_samples=1)
    first = next(folder.read_episodes())
    text = "SELECT '/usr/share/x', 'sk-000000000000000', 'api_key=abcdefghijklmnop'"
    answered = msgspec.structs.replace(first.episode, answer=text)
    with Journal(folder.path / "generations" / "main.jsonl") as journal:
        journal.append(StoredEpisode(SQL, answered))
    assert text in packed(bundled(folder, store, tmp_path / "run.zip"))


def test_a_local_model_goes_by_its_name(store: Settings) -> None:
    spec = RunSpec(
        run_id="r",
        created_at="2026-01-01T00:00:00+00:00",
        target=TargetSpec(
            "hf:/home/somebody/models/tiny",
            {"base_url": "http://127.0.0.1:8/v1", "adapter": "/srv/private/lora"},
        ),
        benchmarks=(
            BenchmarkSpec(
                key=SQL,
                suite="sql",
                dataset="/srv/data/mine.jsonl",
                dataset_hash="",
                options={"prompt": "Read /etc/motd. $question", "n": 3, "list": ["/a/b", "c"]},
                weights={},
                prompt_version="1",
                scorer_version="1",
                column="",
                samples=1,
            ),
        ),
        command="evalcore run --target hf:/home/somebody/tiny --dataset /srv/data/mine.jsonl",
    )
    message = redact_spec(spec, build_redactor(store))
    assert message.target == TargetSpec(
        "hf:tiny~22ce4946", {"base_url": "http://127.0.0.1:8/v1", "adapter": "lora"}
    )
    assert message.command == "evalcore run --target hf:tiny~1888bd7d --dataset mine.jsonl"
    (benchmark,) = message.benchmarks
    assert benchmark.dataset == "mine.jsonl"
    assert benchmark.options == {
        "prompt": "Read /etc/motd. $question",
        "n": 3,
        "list": ["b", "c"],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no path at all", "no path at all"),
        ("either/or, 1/2, a/b/c", "either/or, 1/2, a/b/c"),
        ("see https://example.org/a/b?c=/d", "see https://example.org/a/b?c=d"),
        ("at /opt/x/y.py, line 3", "at y.py, line 3"),
        ("'/opt/x/y'", "'y'"),
        ("key=/opt/x/y;z", "key=y;z"),
        ("/opt/x/", "x"),
        ("/" * 5000, "/" * 5000),
    ],
)
def test_paths_in_words(text: str, message: str, store: Settings) -> None:
    assert build_redactor(store).redact_text(text) == message


def test_a_case_keeps_its_content() -> None:
    sample = Sample(
        metric="m",
        id="1",
        input={"file": "/etc/motd"},
        meta={"repository": "/srv/private/box", "provenance": "own", "line": 3},
    )
    message = redact_sample(sample)
    assert message.meta == {"repository": "box", "provenance": "own", "line": 3}
    assert message.case_hash == sample.case_hash


def test_only_a_finished_run_goes_out(store: Settings, tmp_path: Path) -> None:
    folder = finished(store, "control:null", SQL, max_samples=2)
    journal = folder.path / "generations" / "main.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0])
    with pytest.raises(UsageError, match="resume it until it is complete"):
        export_bundle(folder, tmp_path / "x.zip", store)
    journal.write_bytes(b"".join(lines))
    (folder.path / "summary.json").unlink()
    with pytest.raises(UsageError, match="has not ended"):
        export_bundle(folder, tmp_path / "x.zip", store)
    assert not (tmp_path / "x.zip").exists()


def test_a_file_that_cannot_be_written(store: Settings, tmp_path: Path) -> None:
    folder = finished(store, "control:null", SQL, max_samples=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--out"):
        export_bundle(folder, tmp_path / "file" / "x.zip", store)


def test_a_run_that_is_too_large(
    store: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished(store, "control:null", SQL, max_samples=1)
    monkeypatch.setattr("evalcore.exchange.bundle.contents.LARGEST", 100)
    with pytest.raises(UsageError, match="run fewer benchmarks"):
        export_bundle(folder, tmp_path / "x.zip", store)


def test_the_command_of_others_is_not_taken_over(store: Settings, tmp_path: Path) -> None:
    """Nobody should paste what a stranger wrote."""
    folder = finished(store, "control:null", SQL, max_samples=1)
    done = import_bundle(
        bundled(folder, store, tmp_path / "x.zip"), store, progress=lambda line: None
    )
    spec = RunFolder(store.runs_dir / done.run).read_spec()
    assert spec.command == ""
    assert b"evalcore run" not in to_json(spec)
