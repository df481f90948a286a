"""A Hub that refuses, breaks or lies: it is told, nothing is lost, nobody else's run is ours."""

from __future__ import annotations

import hashlib
import io
import re
import stat
import zipfile
from pathlib import Path

import pytest

from evalcore.errors import UsageError
from evalcore.exchange.hub_store import archives
from evalcore.exchange.hub_store.archives import digest_of, seal_version, subject_of
from evalcore.exchange.hub_store.pull import pull_results
from evalcore.exchange.hub_store.push import push_results
from evalcore.exchange.hub_store.repository import HubRepository, HubUnreachable
from evalcore.settings import Settings
from evalcore.store import hub_state
from evalcore.store.index import load_headers
from tests.support.bundles import finished
from tests.support.hub_repository import REPO, TOKEN, Store, serving
from tests.support.stored_runs import finish

pytestmark = pytest.mark.slow

RUN = "20260101-100000-aaaaaa"
SUBJECT = subject_of(RUN)
KEY = TOKEN.encode()


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    with serving(Store()) as store:
        monkeypatch.setenv("HF_ENDPOINT", store.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.delenv("EVALBOARD_HUB_KEY", raising=False)
        yield store


def settings_of(folder: Path, **more: str) -> Settings:
    args = {"hub_repo": REPO} | more
    return Settings(data=str(folder), shipped=str(folder / "none"), retry_base=0.0001, **args)


@pytest.fixture
def here(tmp_path) -> Settings:
    return settings_of(tmp_path / "here")


def archive(files: dict[str, bytes], change=None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as opened:
        for name, content in files.items():
            member = zipfile.ZipInfo(name)
            if change:
                change(member)
            opened.writestr(member, content)
    return out.getvalue()


def vouched(files: dict[str, bytes], subject: str = SUBJECT) -> str:
    """The name of an archive as this installation would give it."""
    hashed = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return seal_version(subject, 1, digest_of(subject, hashed), KEY).path


def nothing_came(settings: Settings) -> bool:
    held = list(settings.runs_dir.rglob("*")) if settings.runs_dir.exists() else []
    return not held and not list(settings.data_dir.glob(".hub-scratch*"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("status", "part"),
    [(401, "not valid"), (403, "may not"), (429, "limiting requests"), (500, "500"), (503, "503")],
)
@pytest.mark.parametrize(
    "where", ["GET /api/datasets", "POST /api/datasets/lab/board/commit", "PUT /large"]
)
def test_a_refusal_is_told_and_changes_nothing_here(hub, here, status, part, where):
    finish(here.runs_dir, RUN)
    hub.exists = True
    hub.refusals = [(where, status)] * 40
    with pytest.raises(HubUnreachable, match=part) as refused:
        push_results(here)
    assert TOKEN not in str(refused.value)
    assert (here.runs_dir / RUN / "summary.json").is_file()
    state = hub_state.read_hub_state(here)
    assert part in state.problem
    assert not state.sent_at
    hub.refusals = []
    assert push_results(here).sent == (RUN,)
    assert hub_state.read_hub_state(here).problem == ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("where", ["GET /api/datasets", "POST /api/datasets", "PUT /large"])
@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again(hub, here, where, status):
    finish(here.runs_dir, RUN)
    hub.refusals = [(where, status)] * 2
    assert push_results(here).sent == (RUN,)


def test_no_token_is_told(hub, here, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    for act in (push_results, pull_results):
        with pytest.raises(UsageError, match="HF_TOKEN"):
            act(here)
    assert hub.asked == []


def test_a_wrong_token_is_told_once_and_not_tried_again(hub, here, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_" + "nobodyOfThisBoard" * 2)
    with pytest.raises(HubUnreachable, match="not valid"):
        pull_results(here)
    assert len(hub.asked) == 1


@pytest.mark.parametrize(
    "name", ["", "board", "a/b/c", "../x/y", "lab/bo ard", "-/x", "lab/" + "x" * 99]
)
def test_a_repository_that_is_none_is_told(hub, here, tmp_path, name):
    with pytest.raises(UsageError, match="OWNER/NAME"):
        HubRepository(settings_of(tmp_path, hub_repo=""), name)


def test_a_short_key_is_refused(hub, here, monkeypatch):
    monkeypatch.setenv("EVALBOARD_HUB_KEY", "short")
    with pytest.raises(UsageError, match="EVALBOARD_HUB_KEY"):
        pull_results(here)


def test_a_server_that_is_no_hub_is_told(hub, here):
    hub.exists = True
    hub.reply = lambda *args: (200, {}, b"<html>a page to log in</html>")
    with pytest.raises(UsageError, match="HF_ENDPOINT"):
        pull_results(here)


def test_a_server_that_is_not_there_is_told(hub, here, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubUnreachable, match="cannot be reached"):
        pull_results(here)


def test_other_files_of_the_repository_are_passed_over(hub, here):
    hub.add(
        {
            "README.md": b"# about",
            "runs/../../etc/passwd": b"x",
            "runs/x/000001-zz.zip": b"x",
            f"{SUBJECT}/000000-{'a' * 64}-{'b' * 32}.zip": b"x",
            f"{SUBJECT}/000001-{'a' * 64}-{'b' * 32}.txt": b"x",
            "runs/UPPER/000001-removed-" + "b" * 32 + ".txt": b"x",
        }
    )
    results = pull_results(here)
    assert (results.taken, results.foreign, results.refused) == ((), (), {})
    assert hub.count("GET", "/resolve/") == 0


def test_an_archive_without_our_seal_is_not_even_fetched(hub, here, tmp_path, monkeypatch):
    theirs = settings_of(tmp_path / "theirs")
    finish(theirs.runs_dir, RUN)
    monkeypatch.setenv("EVALBOARD_HUB_KEY", "another installation")
    push_results(theirs)
    monkeypatch.delenv("EVALBOARD_HUB_KEY")
    results = pull_results(here)
    assert (results.taken, results.foreign) == ((), (RUN,))
    assert hub.count("GET", "/resolve/") == 0
    assert nothing_came(here)


def test_the_run_of_another_installation_is_scored_again_and_carries_a_level(
    hub, here, tmp_path, monkeypatch
):
    theirs = settings_of(tmp_path / "theirs")
    finished(theirs, "baseline:sqlglot", "sql_understanding", max_samples=4)
    monkeypatch.setenv("EVALBOARD_HUB_KEY", "another installation")
    push_results(theirs)
    monkeypatch.delenv("EVALBOARD_HUB_KEY")
    results = pull_results(here, foreign=True, progress=lambda line: None)
    assert len(results.imported) == 1
    (header,) = [item for item in load_headers(here) if item.run_id == results.imported[0]]
    assert header.origin == "imported"
    assert header.benchmarks["sql_understanding"].level == 2
    assert results.refused == {}


def test_an_old_version_cannot_be_passed_off_as_the_newest(hub, here):
    finish(here.runs_dir, RUN)
    push_results(here)
    (name,) = hub.files
    hub.add({name.replace("000001", "000009"): hub.files[name]})
    results = pull_results(here)
    assert (results.same, results.renewed) == (1, ())


HOSTILE = {
    "a way out": ({"../../evil.json": b"{}"}, None, "leads out"),
    "an absolute path": ({"/tmp/evil.json": b"{}"}, None, "leads out"),
    "a program": ({"spec.json": b"{}", "evil.py": b"import os"}, None, "not a file of"),
    "a hidden file": ({".evil.json": b"{}"}, None, "not a file of"),
    "a lock": ({"worker.lock": b""}, None, "not a file of"),
    "too deep": ({"a/b/c/d.json": b"{}"}, None, "not a file of"),
    "a link": (
        {"spec.json": b"/etc/passwd"},
        lambda member: setattr(member, "external_attr", (stat.S_IFLNK | 0o777) << 16),
        "a link",
    ),
    "no run": ({"spec.json": b"{}", "summary.json": b"{}"}, None, "^[^/]+/summary.json"),
    "nothing": ({}, None, "spec.json|summary.json"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused_even_under_our_seal(hub, here, what):
    files, change, reason = HOSTILE[what]
    hub.add({vouched(files): archive(files, change)})
    results = pull_results(here)
    assert results.taken == ()
    assert list(results.refused) == [RUN]
    assert re.search(reason, results.refused[RUN]), results.refused
    assert nothing_came(here)
    assert RUN in hub_state.read_hub_state(here).problem


def test_an_archive_that_is_not_what_its_name_says_is_refused(hub, here):
    finish(here.runs_dir, RUN)
    push_results(here)
    (name,) = hub.files
    hub.files[name] = archive({"spec.json": b"{}", "summary.json": b"{}"})
    empty = settings_of(here.data_dir.parent / "empty")
    assert "does not match" in pull_results(empty).refused[RUN]
    assert nothing_came(empty)
    hub.files[name] = b"no archive at all"
    assert "cannot be unpacked" in pull_results(empty).refused[RUN]
    hub.files[name] = archive({"spec.json": b"0" * (3 << 20)})  # a bomb by its ratio is small
    assert RUN in pull_results(empty).refused


def test_one_bad_archive_does_not_keep_the_others_away(hub, here, tmp_path):
    other = "20260102-100000-bbbbbb"
    finish(here.runs_dir, RUN)
    finish(here.runs_dir, other)
    push_results(here)
    bad = next(name for name in hub.files if RUN in name)
    hub.files[bad] = b"torn"
    results = pull_results(settings_of(tmp_path / "empty"))
    assert results.taken == (other,)
    assert list(results.refused) == [RUN]


def test_the_folder_of_another_run_is_refused(hub, here, tmp_path):
    made = finish(tmp_path, "20260103-100000-cccccc")
    files = {name: path.read_bytes() for name, path in archives.list_run_files(made).items()}
    hub.add({vouched(files): archive(files)})
    assert "20260103-100000-cccccc" in pull_results(here).refused[RUN]
    assert nothing_came(here)


def test_an_archive_that_is_too_large_is_not_fetched(hub, here, monkeypatch):
    finish(here.runs_dir, RUN)
    push_results(here)
    monkeypatch.setattr(archives, "LARGEST", 10)
    empty = settings_of(here.data_dir.parent / "empty")
    assert "too large to import" in pull_results(empty).refused[RUN]
    assert hub.count("GET", "/resolve/") == 0
    finish(here.runs_dir, "20260102-100000-bbbbbb")
    assert "too much to keep" in push_results(here).held["20260102-100000-bbbbbb"]


@pytest.mark.parametrize(
    "name", ["evalboard.json", "hub.json", "runs/x/spec.json", "datasets/../targets.json"]
)
def test_extras_bring_nothing_but_data_sets_applications_and_cards(hub, here, name):
    files = {name: b"{}"}
    hub.add({vouched(files, archives.EXTRAS): archive(files)})
    results = pull_results(here)
    assert results.extras == ()
    assert list(results.refused) == ["extras"]
    assert not (here.data_dir / "evalboard.json").exists()


def test_cards_that_are_none_are_refused(hub, here):
    files = {"targets.json": b"{torn"}
    hub.add({vouched(files, archives.EXTRAS): archive(files)})
    assert "cards" in pull_results(here).refused["extras"]
