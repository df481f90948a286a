"""Repairing journals: what cannot be read is set aside, named, and made again."""

from __future__ import annotations

import json

import pytest
from filelock import FileLock
from msgspec.structs import replace

from evalcore.cli.main import main
from evalcore.errors import RunFolderError
from evalcore.records import to_json
from evalcore.store import journal
from evalcore.store.index import load_headers
from evalcore.store.repair import QuarantinedLine, repair_runs
from tests.support import stored_runs
from tests.support.boards import settings_in
from tests.support.stored_runs import SCORING

VERDICTS = f"verdicts/{SCORING}/w1.jsonl"
GARBAGE = (b"\xff\xfe{}", b"\0" * 300, b"{}", b'{"benchmark": 1}', b"[" * 100_000, b"")


@pytest.fixture
def settings(tmp_path, monkeypatch):
    result = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_SHIPPED", result.shipped)
    return result


def damaged_run(settings, name, garbage, run_id="run-1"):
    """A finished run whose second line of a journal is garbage."""
    folder = stored_runs.finish(settings.runs_dir, run_id)
    lines = (folder.path / name).read_bytes().splitlines(keepends=True)
    (folder.path / name).write_bytes(b"".join([lines[0], garbage + b"\n", *lines[2:]]))
    return folder


def repair(settings):
    return list(repair_runs([settings.runs_dir]))


@pytest.mark.parametrize("name", [VERDICTS, "generations/w1.jsonl"])
@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_line_that_cannot_be_read_is_set_aside_as_it_is(settings, name, garbage):
    folder = damaged_run(settings, name, garbage)
    read = folder.read_episodes if name.startswith("gen") else lambda: folder.read_verdicts(SCORING)
    with pytest.raises(RunFolderError, match=r"w1\.jsonl, line 2: .*index rebuild --repair"):
        list(read())
    [line] = repair(settings)
    assert (line.run_id, line.line, line.resumable) == ("run-1", 2, True)
    assert line.file.endswith(name)
    assert (folder.path / f"{name}.damaged").read_bytes() == garbage + b"\n"
    assert len(list(read())) == len(stored_runs.SAMPLES) - 1
    assert folder.current_state() != "done", "its evidence is not complete any more"
    assert not load_headers(settings)
    assert repair(settings) == []


def test_a_torn_last_line_stays_for_the_writer(settings):
    folder = stored_runs.finish(settings.runs_dir, "run-1")
    with (folder.path / VERDICTS).open("ab") as file:
        file.write(b'{"benchmark": "sql')
    before = (folder.path / VERDICTS).read_bytes()
    assert repair(settings) == []
    assert (folder.path / VERDICTS).read_bytes() == before


def test_a_second_repair_adds_to_the_sidecar(settings):
    folder = damaged_run(settings, VERDICTS, b"one")
    repair(settings)
    with (folder.path / VERDICTS).open("ab") as file:
        file.write(b"two\n")
    repair(settings)
    assert (folder.path / f"{VERDICTS}.damaged").read_bytes() == b"one\ntwo\n"


def test_a_line_without_an_end_is_set_aside_in_pieces(settings, monkeypatch):
    monkeypatch.setattr(journal, "LONGEST", 2000)
    folder = damaged_run(settings, VERDICTS, b"x" * 7001)
    with pytest.raises(RunFolderError, match="longer than 2,000 bytes"):
        list(folder.read_verdicts(SCORING))
    assert [line.line for line in repair(settings)] == [2]
    assert (folder.path / f"{VERDICTS}.damaged").read_bytes() == b"x" * 7001 + b"\n"
    assert len(list(folder.read_verdicts(SCORING))) == 2


def test_cases_that_cannot_be_read_are_named_and_left(settings):
    folder = damaged_run(settings, "samples.jsonl", b"garbage")
    before = (folder.path / "samples.jsonl").read_bytes()
    [text] = repair(settings)
    assert "samples.jsonl, line 2" in text
    assert "restore the file" in text
    assert (folder.path / "samples.jsonl").read_bytes() == before
    assert folder.summary_path.exists()


def test_a_run_at_work_is_left_alone(settings):
    folder = damaged_run(settings, VERDICTS, b"garbage")
    with FileLock(folder.lock_path):
        [text] = repair(settings)
    assert "worked on" in text
    assert not (folder.path / f"{VERDICTS}.damaged").exists()


def test_an_imported_run_keeps_its_summary(settings):
    """Nobody here can ask or score it again."""
    folder = damaged_run(settings, VERDICTS, b"garbage")
    spec = replace(folder.read_spec(), origin="imported")
    (folder.path / "spec.json").write_bytes(to_json(spec))
    [line] = repair(settings)
    assert not line.resumable
    assert folder.summary_path.exists()


def test_the_command_reports_file_and_line_and_leaves_the_others(settings, capsys):
    damaged_run(settings, VERDICTS, b"garbage")
    stored_runs.finish(settings.runs_dir, "run-2")
    stored_runs.finish(settings.runs_dir, "run-3").summary_path.write_bytes(b"{")
    flags = ("index", "rebuild", "--data", settings.data)
    assert main([*flags]) == 0
    assert "set aside" not in capsys.readouterr().out
    assert main([*flags, "--repair"]) == 0
    output = capsys.readouterr().out
    assert f"{VERDICTS}, line 2" in output
    assert "evalcore resume run-1" in output
    assert "run-3" in output
    assert "1 run in the index" in output
    assert main([*flags, "--repair", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["runs"] == 1
    assert list(report["damaged"]) == ["run-3"]
    assert report["set_aside"] == []


def test_what_is_set_aside_says_where(settings):
    damaged_run(settings, VERDICTS, b"garbage")
    [line] = repair(settings)
    assert isinstance(line, QuarantinedLine)
    assert line.aside.endswith("w1.jsonl.damaged")
