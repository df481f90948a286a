"""Fetching GAIA from a server that stands for the Hub: with access, without, and hostile."""

from __future__ import annotations

import io

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.gaia.dataset import find_attachments, load_gaia_samples
from evalcore.errors import UsageError
from evalcore.exchange import hub_datasets as hub_module
from evalcore.exchange.gaia import DATASET, REVISION, default_folder, fetch_gaia, format_gaia_fetch
from evalcore.exchange.hub_datasets import NOTE_FILE
from evalcore.settings import Settings
from tests.support.hub_server import COMMIT, NOT_GRANTED, TOKEN, Hub, listed, serving

#: In two parts, since no id of this form may stand in the project.
ID = "0f0f0f0f-1111-4222-" + "8333-444455556666"


def metadata(split: str) -> bytes:
    """One row as the official set has it, with a file."""
    import pyarrow
    from pyarrow import parquet

    row = {
        "task_id": ID,
        "Question": "How many rows has the sheet?",
        "Level": "2",
        "Final answer": "?" if split == "test" else "17",
        "file_name": f"{ID}.csv",
        "file_path": f"2023/{split}/{ID}.csv",
        "Annotator Metadata": {"Tools": "1. Web browser", "Number of steps": "4"},
    }
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([row]), out)
    return out.getvalue()


@pytest.fixture
def hub(monkeypatch):
    """The server; where the library would wait before it asks again, it does not."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    files = {"README.md": b"card", "2023/test/metadata.parquet": metadata("test")}
    files |= {f"2023/test/{ID}.csv": b"x\n", f"2023/validation/{ID}.csv": b"a,b\n1,2\n"}
    files["2023/validation/metadata.parquet"] = metadata("validation")
    standing = Hub(DATASET, files, gated=True)
    standing.commits.add(REVISION)
    with serving(standing):
        monkeypatch.setenv("HF_ENDPOINT", f"{standing.address}/")
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield standing


def everything(folder) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def silent(line: str) -> None:
    assert TOKEN not in line


def test_a_split_comes_with_its_files_and_loads(tmp_path, hub):
    text: list[str] = []
    gaia = fetch_gaia(tmp_path / "deep" / "gaia", text.append)
    folder = tmp_path / "deep" / "gaia"
    rows = "2023/validation/metadata.parquet"
    assert everything(folder) == {rows, f"2023/validation/{ID}.csv", NOTE_FILE, ".gitignore"}
    assert list((tmp_path / "deep").iterdir()) == [folder]
    assert (gaia.commit, gaia.part, gaia.already) == (REVISION, "validation", False)
    assert set(gaia.files) == {rows, f"2023/validation/{ID}.csv"}
    assert text[0].startswith("1 of 2: 2023/validation/")
    assert "not to be shared" in format_gaia_fetch(gaia)
    (sample,) = load_gaia_samples(DatasetSource(str(folder)), "validation", [1, 2])
    assert sample.meta["gated"]
    assert sample.meta["needs_web"]
    assert find_attachments(sample)[0].read_text() == "a,b\n1,2\n"
    assert f"--dataset {folder}" in format_gaia_fetch(gaia)


def test_the_library_really_talks_to_this_server_with_the_token(tmp_path, hub):
    fetch_gaia(tmp_path / "data", silent)
    asked = {(method, path) for method, path, _ in hub.asked}
    assert ("GET", f"/api/datasets/{DATASET}/tree/{REVISION}") in asked
    assert ("GET", f"/datasets/{DATASET}/resolve/{REVISION}/2023/validation/{ID}.csv") in asked
    assert {authorization for _, _, authorization in hub.asked} == {f"Bearer {TOKEN}"}
    held = b"".join(p.read_bytes() for p in (tmp_path / "data").rglob("*") if p.is_file())
    assert TOKEN.encode() not in held


def test_the_test_split_and_another_revision(tmp_path, hub):
    gaia = fetch_gaia(tmp_path / "data", silent, split="test", revision="main")
    assert gaia.commit == COMMIT
    (sample,) = load_gaia_samples(DatasetSource(gaia.folder), "test", [])
    assert sample.meta["hidden"]
    with pytest.raises(UsageError, match="no split 'train'"):
        fetch_gaia(tmp_path / "other", silent, split="train")


def test_a_complete_folder_is_left_in_place(tmp_path, hub, monkeypatch):
    first = fetch_gaia(tmp_path / "data", silent)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    again = fetch_gaia(tmp_path / "data", silent)
    assert again.already
    assert again.files == first.files
    with pytest.raises(UsageError, match="contains validation of"):
        fetch_gaia(tmp_path / "data", silent, split="test")
    (tmp_path / "data" / f"2023/validation/{ID}.csv").unlink()
    with pytest.raises(UsageError, match="lacks"):
        fetch_gaia(tmp_path / "data", silent)


def test_a_folder_with_something_else_is_never_touched(tmp_path, hub):
    mine = tmp_path / "data" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    for folder, problem in ((mine.parent, "something else"), (mine, "not a folder")):
        with pytest.raises(UsageError, match=problem):
            fetch_gaia(folder, silent)
    assert everything(tmp_path) == {"data/mine.txt"}
    assert not hub.asked


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        (NOT_GRANTED, "not granted access.*accept its terms at https://huggingface.co/datasets/"),
        (None, "needs a token: accept its terms at .*set HF_TOKEN"),
    ],
)
def test_without_access_it_says_what_to_do_and_no_token(
    tmp_path, hub, monkeypatch, capfd, token, problem
):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(UsageError, match=problem) as raised:
        fetch_gaia(tmp_path / "data", silent, token=token)
    assert NOT_GRANTED not in str(raised.value) + "".join(capfd.readouterr())
    assert everything(tmp_path) == set()


@pytest.mark.parametrize(
    ("status", "headers", "problem"),
    [
        (401, {}, "not granted"),
        (401, {"X-Error-Message": "Invalid credentials in Authorization header"}, "valid"),
        (404, {"X-Error-Code": "RepoNotFound"}, "no dataset"),
        (500, {}, "answers 500"),
        (200, {}, "cannot be fetched"),
    ],
)
def test_what_the_hub_refuses_is_told(tmp_path, hub, status, headers, problem):
    hub.refusal = (status, headers)
    with pytest.raises(UsageError, match=problem) as raised:
        fetch_gaia(tmp_path / "data", silent)
    assert TOKEN not in str(raised.value)
    assert everything(tmp_path) == set()


def test_a_revision_that_is_not_there(tmp_path, hub):
    with pytest.raises(UsageError, match="no revision 'v9'"):
        fetch_gaia(tmp_path / "data", silent, revision="v9")


def test_without_network_it_says_so(tmp_path, hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UsageError, match="check the network, or name a mirror in HF_ENDPOINT"):
        fetch_gaia(tmp_path / "data", silent)
    assert everything(tmp_path) == set()


def test_where_the_network_is_forbidden_it_says_by_what(tmp_path, hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match="HF_HUB_OFFLINE disables the network"):
        fetch_gaia(tmp_path / "data", silent)
    assert not hub.asked


@pytest.mark.parametrize(
    "listing", [["x"], [{"type": "file"}], [{"type": "file", "path": 7}], [7], 5]
)
def test_what_is_no_list_of_files_is_told(tmp_path, hub, listing):
    hub.listing = listing
    with pytest.raises(UsageError, match="not a list of files"):
        fetch_gaia(tmp_path / "data", silent)


@pytest.mark.parametrize(
    "name",
    ["2023/validation/../../../out", "2023/validation/..\\..\\out", "2023/validation/a\0b"],
)
def test_names_that_are_no_paths_are_refused(tmp_path, hub, name):
    hub.listing = [listed(name, b"x")]
    with pytest.raises(UsageError, match="not a valid file name"):
        fetch_gaia(tmp_path / "data", silent)
    assert everything(tmp_path) == set()


def test_too_much_or_nothing_is_refused(tmp_path, hub, monkeypatch):
    monkeypatch.setattr(hub_module, "_MOST_FILES", 1)
    with pytest.raises(UsageError, match="more than 1 files"):
        fetch_gaia(tmp_path / "data", silent)
    hub.listing = []
    with pytest.raises(UsageError, match="none of these files"):
        fetch_gaia(tmp_path / "data", silent)
    monkeypatch.undo()


def test_a_file_that_is_not_what_the_hub_describes_is_refused(tmp_path, hub):
    name = f"2023/validation/{ID}.csv"
    hub.listing = [listed(name, b"12345678")]
    with pytest.raises(UsageError, match="is not as the Hub describes it"):
        fetch_gaia(tmp_path / "data", silent)
    assert everything(tmp_path) == set()


def test_where_the_data_goes(tmp_path):
    settings = Settings(data=str(tmp_path))
    assert default_folder(settings) == tmp_path / "datasets" / "gaia-validation"
    assert default_folder(settings, "test") == tmp_path / "datasets" / "gaia-test"
