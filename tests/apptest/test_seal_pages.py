"""The Target page says whether a run is sealed, and what is wrong where its seal is broken."""

from pathlib import Path

import pytest

from evalcore.access.signing import generate_key, load_signing_key
from evalcore.i18n import t
from evalcore.store.run_folder import RunFolder
from evalcore.store.seal import seal_run_folder
from evalcore.views import seals
from tests.support.boards import SCORING, Plan, make_run
from tests.support.pages import open_page, store, words

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")


@pytest.fixture
def signer(tmp_path: Path):
    generate_key(tmp_path / "k.pem")
    return load_signing_key(tmp_path / "k.pem")


@pytest.fixture
def folder(store, signer) -> RunFolder:
    header = make_run(store, Plan(target="openai:a", skill=0.5))
    [path] = store.runs_dir.iterdir()
    assert header is not None
    seal_run_folder(RunFolder(path), signer)
    return RunFolder(path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sealed_run_names_its_key(store, folder, signer, language):
    shown = words(open_page("target", language, key="openai:a"))
    assert signer.public.fingerprint in shown
    assert {"en": "has not changed since", "zh": "此后未被修改"}[language] in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_broken_seal_names_file_and_line_and_runs_nothing(store, folder, language):
    journal = folder.path / "verdicts" / SCORING / "w1.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0], *lines[2:]]))
    (folder.path / "![x](http:evil).json").write_text("{}")
    app = open_page("target", language, key="openai:a")
    [error] = app.error
    assert {"en": "is broken", "zh": "签名校验失败"}[language] in error.value
    assert f"verdicts/{SCORING}/w1.jsonl" in error.value.replace("\\", "")
    assert t("note.seal_dropped", language, file="", lines=2)[1:] in error.value.replace("\\", "")
    assert "![x](" not in error.value


def test_a_change_after_the_page_was_shown_is_seen(store, folder):
    assert not open_page("target", key="openai:a").error
    calls = folder.path / "calls"
    calls.mkdir(exist_ok=True)
    (calls / "w2.jsonl").write_text("{}\n")
    assert len(open_page("target", key="openai:a").error) == 1


def test_a_run_without_a_seal_shows_none(store):
    make_run(store, Plan(target="openai:a", skill=0.5))
    shown = words(open_page("target", key="openai:a"))
    assert "sealed" not in shown


def test_a_run_too_large_for_a_page_says_how_to_check_it(store, folder, monkeypatch):
    status = seals.check_seal(folder, most_bytes=10)
    assert status.state == "unchecked"
    monkeypatch.setattr(seals, "check_seal", lambda folder: status)
    shown = words(open_page("target", key="openai:a"))
    assert "too large to check here" in shown
