"""Fetching the official data: out of a wheel, by pip, from a Hub; and what is refused."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
from contextlib import contextmanager

import pytest
from msgspec import structs

from evalcore.benchmarks.bfcl.categories import V3_ALIASES
from evalcore.benchmarks.bfcl.entry import load_folder
from evalcore.benchmarks.official_texts import TEXTS_FILE
from evalcore.errors import UsageError
from evalcore.exchange import hub_datasets
from evalcore.exchange.bfcl import fetch
from evalcore.exchange.bfcl.fetch import DATASET, OFFICIAL_RELEASE, BfclRelease, fetch_bfcl
from evalcore.settings import Settings
from tests.support import quiet_server
from tests.support.bfcl_wheel import NAME, entry_line, make_wheel
from tests.support.shared_data import shared_data

#: What a fetch adds: where the files are from, and the words that upstream asks with.
NOTES = {hub_datasets.NOTE_FILE, TEXTS_FILE}

pytestmark = pytest.mark.slow


def everything(folder) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def silent(line: str) -> None:
    assert line


def test_the_known_files_of_a_wheel_come_out_and_nothing_else(tmp_path):
    release = make_wheel(tmp_path / "w")
    text: list[str] = []
    folder = tmp_path / "deep" / "data"
    report = fetch_bfcl(folder, tmp_path / "w" / NAME, text.append, release)
    assert everything(folder) == {*fetch.wheel_members(), *NOTES}
    assert everything(tmp_path) == {f"deep/data/{n}" for n in everything(folder)} | {f"w/{NAME}"}
    assert list((tmp_path / "deep").iterdir()) == [folder]
    assert (report.version, report.licence, report.already) == ("v4", "Apache-2.0", False)
    assert "bfcl-eval==2026.3.23" in report.origin
    assert (
        report.files["BFCL_v4_parallel.json"]
        == hashlib.sha256((folder / "BFCL_v4_parallel.json").read_bytes()).hexdigest()
    )
    result = fetch.format_bfcl_fetch(report)
    assert "Apache-2.0" in result
    assert result.endswith(f"--benchmarks bfcl --dataset {folder}")
    lines = [*text, *result.splitlines()]
    assert [line.startswith(str(folder)) for line in lines].count(True) == 1


def test_the_command_that_is_printed_scores_the_official_multi_turn_entries(tmp_path, monkeypatch):
    monkeypatch.delenv("EVALBOARD_BFCL_EVAL", raising=False)
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    folder = fetch.default_folder(Settings(data=str(tmp_path / "data")))
    try:
        fetched = fetch_bfcl(folder, "wheel", silent)
    except UsageError as error:
        pytest.skip(f"the official wheel cannot be downloaded here: {error}")
    command = fetch.format_bfcl_fetch(fetched).splitlines()[-1].removeprefix("next: ")
    assert command.startswith("evalcore run ")
    words = shlex.split(command.replace("TARGET", "control:reference"))[1:]
    words += ["--max-samples", "36", "--option", "bfcl.categories=multi_turn_base"]
    ran = subprocess.run(
        [sys.executable, "-m", "evalcore", *words], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr.count("error")) == (0, 0), ran.stdout + ran.stderr
    (summary,) = (tmp_path / "data" / "runs").glob("*/summary.json")
    score = json.loads(summary.read_bytes())["benchmarks"]["bfcl"]
    assert (score["score"], score["outcomes"]) == (100.0, {"passed": 36})


def test_a_folder_elsewhere_is_named_to_the_run(tmp_path, monkeypatch):
    monkeypatch.delenv("EVALBOARD_BFCL_EVAL", raising=False)
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    release = make_wheel(tmp_path)
    fetched = fetch_bfcl(tmp_path / "my data", tmp_path / NAME, silent, release)
    command = fetch.format_bfcl_fetch(fetched).splitlines()[-1]
    assert command.startswith(f"next: EVALBOARD_BFCL_EVAL='{tmp_path}/my data' evalcore run ")
    monkeypatch.setenv("EVALBOARD_BFCL_EVAL", fetched.folder)
    assert fetch.format_bfcl_fetch(fetched).splitlines()[-1].startswith("next: evalcore run ")


def test_a_complete_folder_is_left_in_place(tmp_path):
    release = make_wheel(tmp_path)
    first = fetch_bfcl(tmp_path / "data", tmp_path / NAME, silent, release)
    (tmp_path / NAME).unlink()
    text: list[str] = []
    again = fetch_bfcl(tmp_path / "data", tmp_path / NAME, text.append, release)
    assert again.already
    assert again.files == first.files
    assert text == []
    assert "was complete already" in fetch.format_bfcl_fetch(again)


def test_a_folder_with_something_else_is_never_touched(tmp_path):
    release = make_wheel(tmp_path)
    mine = tmp_path / "data" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(UsageError, match="something else"):
        fetch_bfcl(mine.parent, tmp_path / NAME, silent, release)
    with pytest.raises(UsageError, match="not a folder"):
        fetch_bfcl(mine, tmp_path / NAME, silent, release)
    assert everything(mine.parent) == {"mine.txt"}


def test_a_folder_that_lost_a_file_or_holds_the_other_version_is_named(tmp_path):
    release = make_wheel(tmp_path)
    folder = tmp_path / "data"
    fetch_bfcl(folder, tmp_path / NAME, silent, release)
    with pytest.raises(UsageError, match="contains BFCL v4"):
        fetch_bfcl(folder, "hub", silent)
    (folder / "BFCL_v4_parallel.json").unlink()
    with pytest.raises(UsageError, match=r"lacks BFCL_v4_parallel\.json"):
        fetch_bfcl(folder, tmp_path / NAME, silent, release)


@pytest.mark.parametrize(
    ("without", "more", "problem"),
    [
        (("BFCL_v4_parallel.json",), {}, "lacks"),
        (("BFCL_v4_parallel.json",), {"bfcl_eval/data/BFCL_v4_parallel.json": "x" * 99}, "than"),
    ],
)
def test_a_wheel_without_a_file_or_beyond_a_limit(tmp_path, monkeypatch, without, more, problem):
    release = make_wheel(tmp_path, without, more)
    monkeypatch.setattr(fetch, "_FILE_LIMIT", 98)
    with pytest.raises(UsageError, match=problem):
        fetch_bfcl(tmp_path / "data", tmp_path / NAME, silent, release)
    assert everything(tmp_path) == {NAME}


def test_another_hash_is_refused(tmp_path):
    make_wheel(tmp_path)
    with pytest.raises(UsageError, match=f"sha256 must be {OFFICIAL_RELEASE.sha256}"):
        fetch_bfcl(tmp_path / "data", tmp_path / NAME, silent)
    (tmp_path / "no.whl").write_bytes(b"no zip")
    release = BfclRelease(OFFICIAL_RELEASE.version, hashlib.sha256(b"no zip").hexdigest())
    with pytest.raises(UsageError, match="not a readable wheel"):
        fetch_bfcl(tmp_path / "data", tmp_path / "no.whl", silent, release)
    with pytest.raises(UsageError, match="No such file"):
        fetch_bfcl(tmp_path / "data", tmp_path / "absent.whl", silent)


def test_pip_downloads_from_where_the_user_told_it_to(tmp_path, monkeypatch):
    release = make_wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    report = fetch_bfcl(tmp_path / "data", "wheel", silent, release)
    assert everything(tmp_path / "data") == {*fetch.wheel_members(), *NOTES}
    assert len(report.files) == len(fetch.wheel_members())
    with pytest.raises(UsageError, match=r"could not download bfcl-eval==0\.0\.1: .*--from"):
        fetch_bfcl(tmp_path / "other", "wheel", silent, BfclRelease("0.0.1", ""))


def test_without_pip_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="ensurepip"):
        fetch_bfcl(tmp_path / "data", "wheel", silent)

    def endless(*words, **options):
        raise subprocess.TimeoutExpired("pip", options["timeout"])

    monkeypatch.undo()
    monkeypatch.setattr(subprocess, "run", endless)
    with pytest.raises(UsageError, match="did not end"):
        fetch_bfcl(tmp_path / "data", "wheel", silent)
    assert everything(tmp_path) == set()


def test_the_real_wheel_holds_every_known_file(tmp_path):
    try:
        report = fetch_bfcl(tmp_path / "data", "wheel", silent)
    except UsageError as error:
        pytest.skip(f"the official wheel cannot be downloaded here: {error}")
    entries = load_folder(tmp_path / "data")
    assert len(entries) == 1390 + 2251 + 800 + 465 + 200
    assert len(report.files) == len(fetch.wheel_members())


@contextmanager
def hub(replies):
    """A server on the loopback that knows the paths below the data set, given as name: bytes."""

    class Handler(quiet_server.Handler):
        def do_GET(self):
            prefix = f"/datasets/{DATASET}/resolve/main/"
            name = self.path.removeprefix(prefix) if self.path.startswith(prefix) else ""
            if name and not name.startswith("moved/"):  # as the Hub sends to its storage
                self.send(302, {"Location": f"{prefix}moved/{name}"}, b"")
                return
            body = replies.get(name.removeprefix("moved/"))
            self.send(404 if body is None else 200, {}, body or b"")

    with quiet_server.listening(Handler) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def replies() -> dict[str, bytes]:
    return {name: entry_line(name).encode() for name in fetch.list_official_files("v3")}


def test_the_hub_gives_the_v3_files(tmp_path, monkeypatch, replies):
    text: list[str] = []
    with hub(replies) as address:
        monkeypatch.setenv("HF_ENDPOINT", f"{address}/")
        report = fetch_bfcl(tmp_path / "data", "hub", text.append)
    expected = {*fetch.list_official_files("v3"), hub_datasets.NOTE_FILE}
    assert everything(tmp_path / "data") == expected
    assert {"BFCL_v3_simple.json", "possible_answer/BFCL_v3_java.json"} <= set(report.files)
    assert (report.version, report.source) == ("v3", "hub")
    assert DATASET in report.origin
    assert text[0].startswith(f"1 of {len(replies)}")


@pytest.mark.parametrize("body", [None, b"<html>log in</html>", b"{" + b" " * 9999])
def test_a_hub_without_the_files_leaves_nothing(tmp_path, monkeypatch, replies, body):
    monkeypatch.setattr("evalcore.exchange.bfcl.fetch._FILE_LIMIT", 9000)
    replies["BFCL_v3_parallel.json"] = body
    with hub(replies) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        with pytest.raises(UsageError, match=r"BFCL_v3_parallel\.json"):
            fetch_bfcl(tmp_path / "data", "hub", silent)
    assert everything(tmp_path) == set()


def test_without_network_the_hub_says_what_to_do(tmp_path, monkeypatch):
    with hub({}) as address:
        pass
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(UsageError, match="check the network, or name a mirror in HF_ENDPOINT"):
        fetch_bfcl(tmp_path / "data", "hub", silent)


def test_where_the_data_goes(tmp_path):
    settings = Settings(data=str(tmp_path))
    assert fetch.default_folder(settings) == tmp_path / "datasets" / "bfcl-v4"
    assert fetch.default_folder(settings, "hub") == tmp_path / "datasets" / "bfcl-v3"


def test_a_folder_as_the_hub_has_it_reads_like_todays(tmp_path):
    official = shared_data("bfcl")
    earlier = {today: name for name, today in V3_ALIASES.items()}
    for name in fetch.list_official_files("v4"):
        if "memory" in name or "web_search" in name:  # which v3 does not have
            continue
        text = (official / name).read_text(encoding="utf-8")
        for today, before in earlier.items():
            name = name.replace(f"_{today}.json", f"_{before}.json")
            text = text.replace(f'"id": "{today}_', f'"id": "{before}_')
        path = tmp_path / name.replace("BFCL_v4_", "BFCL_v3_")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert everything(tmp_path) == set(fetch.list_official_files("v3"))
    today, before = load_folder(official), load_folder(tmp_path)
    assert len(before) == 3641 + 800
    assert [entry.category for entry in before] == [element.category for element in today]
    assert {entry.id.rpartition("_")[0] for entry in before} >= {"simple", "java", "javascript"}
    for item, other in zip(before, today, strict=True):
        assert structs.replace(item, id=other.id, source=other.source) == other
    multi_turn = [entry for entry in before if entry.category == "multi_turn_miss_func"]
    assert len(multi_turn) == 200
    assert all(entry.extra["missed_function"] for entry in multi_turn)
