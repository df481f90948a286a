"""The index of a run's cases: it says what the journals say, however it was come by."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from evalcore.benchmarks.spool import SpooledSamples, hash_sorted, to_sequence
from evalcore.errors import RunFolderError, UsageError
from evalcore.records import Failure, Sample, content_hash
from evalcore.runner.generation_plan import Marks
from evalcore.store import case_index, case_parts, case_tables
from evalcore.store.case_index import CaseIndex, locate_index
from evalcore.store.case_lines import NOWHERE, Location, hash_case_key
from evalcore.store.case_tables import CaseFilter, ensure_samples_table, query_samples
from evalcore.store.cases import load_run_case
from evalcore.store.journal import Journal, JournalReader, pack_journal, scan_journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredSample, StoredVerdict
from tests.support import stored_runs
from tests.support.stored_runs import BENCHMARK, SAMPLES, SCORING, answer, judge

ALL = "SELECT * FROM samples ORDER BY position, epoch"


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cases make a large run, and each is a part of its table."""
    monkeypatch.setattr(case_index, "LARGE", 2)
    monkeypatch.setattr(case_parts, "_ROWS", 1)
    monkeypatch.setattr(case_parts, "_SMALLEST", 1)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return stored_runs.finish(tmp_path / "runs", "run-1")


def load(folder: RunFolder, epochs: int = 1) -> CaseIndex:
    return CaseIndex.load(folder, SCORING, epochs)


def read_outcomes(index: CaseIndex) -> list[str | None]:
    """The outcome of each case and epoch."""
    return [
        None if location == NOWHERE else index.read_verdict(location, StoredVerdict).verdict.outcome
        for position in range(index.cases)
        for location in index.read_row(position)[3::2]
    ]


def read_answers(index: CaseIndex) -> list[str | None]:
    return [
        None if location == NOWHERE else index.read_episode(location, StoredEpisode).episode.answer
        for position in range(index.cases)
        for location in index.read_row(position)[2::2]
    ]


def read_table(folder: RunFolder) -> list[dict[str, Any]]:
    rows = query_samples([ensure_samples_table(folder)], ALL).to_dict("records")
    return [{key: str(value) for key, value in row.items()} for row in rows]


def test_an_index_says_what_the_journals_say(folder: RunFolder) -> None:
    with load(folder) as index:
        assert [index.read_sample(n).sample for n in range(index.cases)] == list(SAMPLES)
        assert read_outcomes(index) == ["passed", "failed", "passed"]
        assert read_answers(index) == [f"answer to {sample.key}" for sample in SAMPLES]
        assert index.ranges == [(BENCHMARK, 0, 3)]
        assert index.find_case(BENCHMARK, SAMPLES[2].metric, "1") == 2
        assert index.find_case(BENCHMARK, "no metric", "1") is None


def test_what_was_added_behind_an_index_is_seen(folder: RunFolder) -> None:
    with load(folder) as index:
        index.keep()
    judge(folder, SAMPLES[1], passed=True)
    with load(folder) as index:
        assert read_outcomes(index) == ["passed"] * 3
    content = locate_index(folder, SCORING).read_bytes()
    with load(folder) as again:
        assert read_outcomes(again) == ["passed"] * 3
    assert locate_index(folder, SCORING).read_bytes() == content, "a reader changes nothing"


def test_readers_see_what_a_worker_sets(folder: RunFolder) -> None:
    with load(folder) as worker:
        worker.keep()
        with folder.open_journal("verdicts", SCORING, "main.jsonl") as journal:
            verdict = load_run_case(folder, BENCHMARK, SAMPLES[1].metric, "2")[2]
            assert verdict is not None
            changed = StoredVerdict(BENCHMARK, type(verdict)(verdict.metric, "2", "not_executed"))
            worker.set_verdict(1, 0, journal.append(changed), decided=False)
            worker.flush()
        assert read_outcomes(worker) == ["passed", "not_executed", "passed"]
        assert not Location.unpack(worker.read_row(1)[3]).flag


def test_what_a_reader_sets_is_seen_by_nobody_else(folder: RunFolder) -> None:
    """The file that it took over may only be read."""
    with load(folder) as index:
        index.keep()
    content = locate_index(folder, SCORING).read_bytes()
    with load(folder) as reader:
        own = reader.read_row(0)
        reader.share_episodes({own[1]: [0, 1]})
        assert reader.read_row(1)[2] == own[2]
    assert locate_index(folder, SCORING).read_bytes() == content


def test_the_longest_line_of_a_journal_is_read_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalcore.store.journal._USUAL", 1 << 10)
    monkeypatch.setattr("evalcore.store.journal.LONGEST", 1 << 14)
    line = b"x" * ((1 << 14) - 1) + b"\n"
    (tmp_path / "a.jsonl").write_bytes(b"{}\n" + line)
    with JournalReader(tmp_path / "a.jsonl") as reader:
        assert reader.read_line(3) == line
        with pytest.raises(RunFolderError, match="no line begins at byte"):
            reader.read_line(3 + len(line))


def rewrite(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change a journal in location, as an editor may."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: [*lines[:-1], lines[-1].replace(b"passed", b"failed")],
        lambda lines: [],
        lambda lines: list(reversed(lines)),
    ],
)
def test_an_index_of_other_journals_is_made_anew(folder: RunFolder, change: Any) -> None:
    with load(folder) as index:
        index.keep()
    rewrite(folder.verdicts_dir(SCORING) / "w1.jsonl", change)
    with load(folder) as index:
        fresh = read_outcomes(index)
    locate_index(folder, SCORING).unlink()
    with load(folder) as index:
        assert read_outcomes(index) == fresh


@pytest.mark.parametrize("content", [b"", b"{}", b"x" * 100_000, b"\0" * 70_000])
def test_a_damaged_index_is_made_anew(folder: RunFolder, content: bytes) -> None:
    locate_index(folder, SCORING).write_bytes(content)
    with load(folder) as index:
        assert read_outcomes(index) == ["passed", "failed", "passed"]


def test_lines_that_a_loss_of_power_took_are_forgotten(folder: RunFolder) -> None:
    with load(folder) as index:
        index.keep()
        index.flush()
        path = folder.verdicts_dir(SCORING) / "main.jsonl"
        with Journal(path) as journal:
            lost = StoredVerdict(BENCHMARK, stored_runs.judge(folder, SAMPLES[0], passed=True))
            index.set_verdict(0, 0, journal.append(lost), decided=True)
    path.write_bytes(b"")
    with load(folder) as index:
        assert None not in read_outcomes(index)[1:]


def test_cases_that_share_a_key_differ_in_metric(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run-1")
    samples = [Sample("a/b", "c", {"n": 1}), Sample("a", "b/c", {"n": 2})]
    folder.create(stored_runs.spec_of("run-1"), [(BENCHMARK, sample) for sample in samples])
    judge(folder, samples[1], passed=True)
    with load(folder) as index:
        assert read_outcomes(index) == [None, "passed"]
        assert index.find_case(BENCHMARK, "a", "b/c") == 1
        assert index.same_keys == {hash_case_key(BENCHMARK, "a/b/c")}


def test_a_case_finds_the_episode_that_its_verdict_names(folder: RunFolder) -> None:
    answer(folder, SAMPLES[0], key="shared", answer="of both")
    for sample in SAMPLES[:2]:
        judge(folder, sample, passed=True, details={"generation": "shared"})
    judge(folder, SAMPLES[2], passed=True, details={"generation": SAMPLES[0].key})
    with load(folder) as index:
        expected = ["of both", "of both", f"answer to {SAMPLES[0].key}"]
        assert read_answers(index) == expected
        assert not index.is_kept, "which cases share an episode is not in the file"


def test_epochs_and_failures_have_their_own_columns(tmp_path: Path) -> None:
    folder = stored_runs.plan(tmp_path, "run-1", epochs=2)
    answer(folder, SAMPLES[0], epoch=1, failure=Failure("timeout", "late"))
    judge(folder, SAMPLES[0], passed=False, epoch=1)
    answer(folder, SAMPLES[0], epoch=7)
    with load(folder, 2) as index:
        row = index.read_row(0)
        assert row[2] == NOWHERE
        assert row[3] == NOWHERE
        assert Location.unpack(row[4]).flag
        assert Location.unpack(row[5]).flag
        assert index.has_episodes


def test_a_packed_journal_is_read_by_the_same_numbers(folder: RunFolder) -> None:
    path = folder.path / "generations" / "w1.jsonl"
    starts = [start for start, _, _ in scan_journal(path, StoredEpisode)]
    with JournalReader(path) as reader:
        lines = [reader.read_line(start) for start in starts]
    pack_journal(path)
    with JournalReader(path) as reader:
        assert [reader.read_line(start) for start in starts] == lines
        with pytest.raises(RunFolderError, match="no line begins at byte 999999"):
            reader.read_line(999_999)
    with load(folder) as index:
        assert read_answers(index)[2] == f"answer to {SAMPLES[2].key}"
        assert not index.is_kept


def test_a_long_line_is_read_whole(tmp_path: Path) -> None:
    path, text = tmp_path / "long.jsonl", "x" * 300_000
    with Journal(path) as journal:
        journal.append(StoredSample("b", Sample("m", "1", {"text": text})))
        start = journal.append(StoredSample("b", Sample("m", "2", {"text": text})))
    with JournalReader(path) as reader:
        assert reader.read_line(start).endswith(b"\n")
        assert len(reader.read_line(start)) > 300_000


def test_a_bad_line_is_named_by_its_number(folder: RunFolder) -> None:
    with load(folder) as index:
        index.keep()
    with (folder.verdicts_dir(SCORING) / "w1.jsonl").open("ab") as file:
        file.write(b"no json\n")
    with pytest.raises(RunFolderError, match="line 4"):
        load(folder)


def test_the_index_and_the_search_find_the_same_case(folder: RunFolder) -> None:
    cases = [load_run_case(folder, BENCHMARK, s.metric, s.id) for s in SAMPLES]
    with load(folder) as index:
        index.keep()
    assert locate_index(folder, SCORING).exists()
    assert [load_run_case(folder, BENCHMARK, s.metric, s.id) for s in SAMPLES] == cases
    with pytest.raises(UsageError, match="has no case 'none'"):
        load_run_case(folder, BENCHMARK, SAMPLES[0].metric, "none")


# The parts of a table


def keep_index(folder: RunFolder) -> None:
    with load(folder) as index:
        index.keep()


def list_parts(folder: RunFolder) -> list[Path]:
    return sorted(case_parts.locate_parts(folder, SCORING).glob("*.parquet"))


def test_parts_hold_the_rows_of_the_table(folder: RunFolder) -> None:
    keep_index(folder)
    paths = case_tables.list_samples_tables(folder)
    assert len(paths) == 3
    parts = query_samples(paths, ALL).to_dict("records")
    assert [{k: str(v) for k, v in row.items()} for row in parts] == read_table(folder)


def test_a_verdict_changes_the_part_of_its_case_alone(folder: RunFolder) -> None:
    keep_index(folder)
    before = case_tables.list_samples_tables(folder)
    judge(folder, SAMPLES[1], passed=True)
    after = case_tables.list_samples_tables(folder)
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] != before[1]
    assert list(query_samples(after, ALL)["outcome"]) == ["passed"] * 3


def test_replaced_parts_go_when_nobody_reads_them_any_more(folder: RunFolder) -> None:
    keep_index(folder)
    replaced = case_tables.list_samples_tables(folder)[1]
    judge(folder, SAMPLES[1], passed=True)
    case_tables.list_samples_tables(folder)
    assert replaced.exists(), "a query may be under way"
    os.utime(replaced, (0, 0))
    judge(folder, SAMPLES[0], passed=True)
    case_tables.list_samples_tables(folder)
    assert not replaced.exists()


def test_a_worker_writes_no_part_that_changes_soon(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(case_parts, "_ROWS", 2)
    folder = stored_runs.plan(tmp_path, "run-1")
    judge(folder, SAMPLES[0], passed=True)
    with load(folder) as index:
        index.keep()
        case_tables.refresh_parts(index, folder.read_spec())
        assert [path.name[:5] for path in list_parts(folder)] == ["00001"]
    assert len(case_tables.list_samples_tables(folder)) == 2
    assert len(list_parts(folder)) == 2


def test_a_run_that_is_done_has_one_table_and_no_parts(folder: RunFolder, monkeypatch: Any) -> None:
    keep_index(folder)
    # It imports what the worker has no memory for, and answers a damaged part as well.
    monkeypatch.setattr(parquet, "read_table", lambda *_, **__: pytest.fail("read_table"))
    case_tables.list_samples_tables(folder)
    with load(folder) as index:
        index.keep()
        case_tables.finish_table(index, folder.read_spec(), done=True)
    assert list_parts(folder) == []
    made = folder.parquet_path.stat().st_mtime_ns
    assert case_tables.list_samples_tables(folder) == [folder.parquet_path]
    assert folder.parquet_path.stat().st_mtime_ns == made
    assert len(read_table(folder)) == 3


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"x" * 500])
def test_a_damaged_part_is_made_anew(folder: RunFolder, damage: bytes) -> None:
    keep_index(folder)
    part = case_tables.list_samples_tables(folder)[1]
    part.write_bytes(damage)
    assert case_tables.query_case_page(folder)[1] == 3
    case_tables.list_samples_tables(folder)[0].write_bytes(damage)
    assert [row["outcome"] for row in read_table(folder)] == ["passed", "failed", "passed"]


def test_a_page_begins_at_its_row_in_each_epoch(tmp_path: Path) -> None:
    folder = stored_runs.plan(tmp_path, "run-1", epochs=2)
    rows = [(position, epoch) for position in range(3) for epoch in range(2)]

    def list_rows(**page: Any) -> list[tuple[int, int]]:
        frame, total = case_tables.query_case_page(folder, **page)
        assert total == 6
        return list(zip(frame["position"], frame["epoch"], strict=True))

    for offset in range(7):
        assert list_rows(offset=offset, limit=2) == rows[offset : offset + 2]
        assert list_rows(offset=offset, after=(1, 0)) == rows[3 + offset :]
    assert list_rows(offset=1, after=(1, 9)) == rows[5:]


def test_a_page_of_parts_is_a_page_of_the_run(folder: RunFolder) -> None:
    whole, count = case_tables.query_case_page(folder, limit=2, offset=1)
    keep_index(folder)
    folder.parquet_path.unlink()
    parts, parts_count = case_tables.query_case_page(folder, limit=2, offset=1)
    assert parts_count == count == 3
    assert parts.to_dict("records")[0]["id"] == whole.to_dict("records")[0]["id"]
    failed = CaseFilter(outcome=("failed",))
    location = case_tables.locate_case(folder, (BENCHMARK, SAMPLES[1].metric, "2"), 0, failed)
    assert location is not None
    assert (location.total, location.before, location.fits, location.previous) == (1, 0, True, None)
    assert location.outcomes == {"passed": 2, "failed": 1}
    first = case_tables.locate_case(folder, (BENCHMARK, SAMPLES[0].metric, "1"), 0, failed)
    assert first is not None
    assert not first.fits
    assert first.next == (SAMPLES[1].metric, "2", 0)
    nobody = (BENCHMARK, SAMPLES[0].metric, "none")
    assert case_tables.locate_case(folder, nobody, 0, failed) is None


# What a plan is made of


def test_spooled_samples_are_a_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalcore.benchmarks.spool._STEP", 3)
    samples = [Sample("m", str(number), {"n": number}) for number in range(10)]
    spooled = to_sequence(iter(samples))
    assert isinstance(spooled, SpooledSamples)
    assert list(spooled) == samples
    assert len(spooled) == 10
    assert [spooled[n] for n in (0, 4, 9, -1)] == [samples[n] for n in (0, 4, 9, -1)]
    assert spooled[2:8:2] == samples[2:8:2]
    assert list(zip(spooled, spooled, strict=True)) == list(zip(samples, samples, strict=True))
    assert to_sequence(samples) is samples
    with pytest.raises(IndexError):
        spooled[10]
    with pytest.raises(TypeError, match="something else than samples"):
        to_sequence(iter(["no sample"]))  # type: ignore[list-item]


def test_a_hash_of_sorted_parts_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalcore.benchmarks.spool._SORTED_AT_ONCE", 4)
    texts = ["b", "a", 'quote "', "line\nend", "é", "\U0001f600", "z", "a", "\ue000", "\t", "~"]
    for count in range(len(texts) + 1):
        assert hash_sorted(texts[:count]) == content_hash(sorted(texts[:count]))


def test_marks_are_a_set_of_numbers() -> None:
    marks, numbers = Marks(), [0, 3, 8, 9, 1000, 3]
    for number in numbers:
        marks.add(number)
    assert [n for n in range(2000) if n in marks] == sorted(set(numbers))
    assert len(marks) == 5
