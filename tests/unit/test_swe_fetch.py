"""Fetching data sets of SWE-bench from a server that stands for the Hub."""

from __future__ import annotations

import datetime
import hashlib
import io
import json

import pytest

from evalcore.errors import UsageError
from evalcore.exchange.hub_datasets import NOTE_FILE
from evalcore.exchange.swe_bench import (
    NAMES,
    TASKS,
    VERIFIED,
    default_folder,
    fetch_swe_bench,
    format_swe_bench_fetch,
)
from evalcore.settings import Settings
from tests.support.hub_server import COMMIT, Hub, serving

ROW = {"instance_id": "o__r-1", "repo": "o/r", "FAIL_TO_PASS": '["a", "b"]', "patch": "--- a\n+ü\n"}


def parquet_of(rows) -> bytes:
    import pyarrow
    from pyarrow import parquet

    out = io.BytesIO()
    table = rows if isinstance(rows, pyarrow.Table) else pyarrow.Table.from_pylist(rows)
    parquet.write_table(table, out)
    return out.getvalue()


@pytest.fixture
def stand(monkeypatch):
    """Makes the Hub hold some files of a data set."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent/token")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    opened = []

    def standing(files, dataset=VERIFIED) -> Hub:
        serving_now = serving(Hub(dataset, files, gated=False))
        opened.append(serving_now)
        hub = serving_now.__enter__()
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        return hub

    yield standing
    for item in opened:
        item.__exit__(None, None, None)


def silent(line: str) -> None:
    assert line


def lines(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / TASKS).read_text("utf-8").splitlines()]


def test_the_rows_of_a_split_become_one_file(tmp_path, stand):
    made = {**ROW, "created_at": datetime.datetime(2024, 5, 1, 12, 30)}
    other = {**made, "instance_id": "o__r-2"}
    hub = stand(
        {
            "README.md": b"card",
            "data/test-00000-of-00002.parquet": parquet_of([made]),
            "data/test-00001-of-00002.parquet": parquet_of([other]),
            "data/dev-00000-of-00001.parquet": parquet_of([{**ROW, "instance_id": "dev"}]),
            "old/test.jsonl": b"{}",
        }
    )
    text: list[str] = []
    report = fetch_swe_bench(tmp_path / "data", progress=text.append)
    assert [row["instance_id"] for row in lines(tmp_path / "data")] == ["o__r-1", "o__r-2"]
    assert lines(tmp_path / "data")[0] == {**ROW, "created_at": "2024-05-01 12:30:00"}
    assert {path.name for path in (tmp_path / "data").iterdir()} == {TASKS, NOTE_FILE}
    digest = hashlib.sha256((tmp_path / "data" / TASKS).read_bytes()).hexdigest()
    assert (report.dataset, report.commit, report.files) == (VERIFIED, COMMIT, {TASKS: digest})
    assert "tasks: 2" in text[-1]
    assert format_swe_bench_fetch(report).endswith(f"--dataset {tmp_path / 'data'}")
    assert {authorization for _, _, authorization in hub.asked} == {""}
    again = fetch_swe_bench(tmp_path / "data", progress=silent)
    assert again.already
    with pytest.raises(UsageError, match="contains test of"):
        fetch_swe_bench(tmp_path / "data", "lite", silent)


def test_a_column_that_names_files_opens_none(tmp_path, stand):
    """A column of pictures may name any file or address; its values come as they are stored."""
    import pyarrow

    types = {"info": {"features": {"instance_id": {"dtype": "string", "_type": "Value"}}}}
    types["info"]["features"]["picture"] = {"_type": "Image"}
    picture = {"bytes": None, "path": str(tmp_path / "own.png")}
    table = pyarrow.Table.from_pylist([{"instance_id": "a", "picture": picture}])
    metadata = {"huggingface": json.dumps(types)}
    stand({"test.parquet": parquet_of(table.replace_schema_metadata(metadata))})
    fetch_swe_bench(tmp_path / "data", progress=silent)
    assert lines(tmp_path / "data") == [{"instance_id": "a", "picture": picture}]


def test_short_names_and_json_lines(tmp_path, stand):
    stand({"test.jsonl": json.dumps(ROW).encode()}, NAMES["lite"])
    report = fetch_swe_bench(tmp_path / "data", "lite", silent)
    assert report.dataset == "SWE-bench/SWE-bench_Lite"
    assert lines(tmp_path / "data") == [ROW]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"data/train-00000-of-00001.parquet": b"x"}, "none of these files"),
        ({"test.parquet": b"no parquet"}, r"test\.parquet: is not a readable Parquet file"),
        ({"test.jsonl": b'{"id": 1}'}, "instance_id: is missing"),
        ({"test.jsonl": b"<html>"}, "is not JSON"),
        ({"test.jsonl": b"\n"}, "has no rows"),
    ],
)
def test_what_holds_no_tasks_leaves_nothing(tmp_path, stand, files, problem):
    stand(files)
    with pytest.raises(UsageError, match=problem):
        fetch_swe_bench(tmp_path / "data", progress=silent)
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_that_is_not_there_or_has_no_name(tmp_path, stand):
    stand({"test.jsonl": b"{}"})
    with pytest.raises(UsageError, match="no dataset someone/else"):
        fetch_swe_bench(tmp_path / "data", "someone/else", silent)
    with pytest.raises(UsageError, match="form OWNER/NAME"):
        fetch_swe_bench(tmp_path / "data", "../../etc", silent)


def test_where_the_data_goes(tmp_path):
    settings = Settings(data=str(tmp_path))
    folder = tmp_path / "datasets"
    assert default_folder(settings) == folder / "swe_bench-swe-bench_verified"
    assert default_folder(settings, "mini") == folder / "swe_bench-swe-bench-verified-mini"
