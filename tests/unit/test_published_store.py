"""Files of published results: written and read again, bounded and typed, never trusted."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from evalcore.errors import DatasetError, UsageError
from evalcore.records import to_json
from evalcore.settings import Settings
from evalcore.store import published
from tests.support.boards import settings_in
from tests.support.publications import PublicationBuilder, publisher_line

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "data" / "shipped" / "published"


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path)


def build():
    builder = PublicationBuilder()
    builder.entry("one", reading=builder.reading("101"))
    builder.entry("two", reading=builder.reading("110"), organization="Org")
    return builder


def lines_of(builder):
    return list(published.format_publication(builder.publication))


def parse(lines):
    return published.parse_publication(Path("acme.jsonl"), lines)


def test_what_is_written_is_read_again(store):
    publication = build().publication
    path = published.save_publication(store, publication)
    again = published.load_publications(store)["acme"]
    assert (again.publisher, again.cases, again.entries) == (
        publication.publisher,
        publication.cases,
        publication.entries,
    )
    assert again.path == str(path)
    assert again.months == ["2026-05"]


def test_what_cannot_be_read_again_is_never_written(store):
    builder = build()
    builder.entry(
        "three",
        reading=builder.score(50.0, a=msgspec.structs.replace(builder.report("101"), verdicts="1")),
    )
    with pytest.raises(DatasetError, match=r"line 6, field scores.reading.reports.a.verdicts"):
        published.save_publication(store, builder.publication)
    assert published.load_publications(store) == {}


ENTRY = {"record": "entry", "month": "2026-05", "id": "x", "name": "x", "scores": {}}
LIST = {"record": "cases", "ids": ["1", "2"], "points": [1, 1]}


def scored(**changes):
    report = {"weight": 1, "cases": 0, "verdicts": "11"} | changes
    return ENTRY | {"scores": {"reading": {"score": 50, "reports": {"a": report}}}}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "line 3"),
        (b"[]", "line 3"),
        (b"\xff\xfe", "line 3"),
        (b"[" * 100_000, "line 3"),
        (b'{"record": "entry"', "line 3"),
        (to_json({"record": "run"}), "line 3"),
        (to_json(ENTRY | {"month": "2026-13"}), "line 3, field month"),
        (to_json(ENTRY | {"month": 202605}), "line 3, field month"),
        (to_json(ENTRY | {"id": ""}), "line 3, field id"),
        (to_json(ENTRY | {"id": "x" * 121}), "line 3, field id"),
        (to_json(ENTRY | {"id": "a/b"}), "line 3, field id"),
        (to_json(ENTRY | {"id": "a,b"}), "line 3, field id"),
        (to_json(ENTRY | {"name": "a\u202eb"}), "line 3, field name"),
        (to_json(ENTRY | {"released": "yesterday"}), "line 3, field released"),
        (to_json(ENTRY | {"type": "robot"}), "line 3, field type"),
        (to_json(ENTRY | {"sql": "SELECT 1"}), "line 3"),
        (to_json(ENTRY | {"scores": {"reading": {"score": 100.1}}}), "score"),
        (
            b'{"record":"entry","month":"2026-05","id":"x","name":"x","scores":'
            b'{"reading":{"score":NaN}}}',
            "line 3",
        ),
        (
            b'{"record":"entry","month":"2026-05","id":"x","name":"x","scores":'
            b'{"reading":{"score":1e999}}}',
            "line 3",
        ),
        (to_json(ENTRY | {"scores": {"singing": {"score": 1}}}), "no such benchmark"),
        (to_json(ENTRY | {"scores": {"Reading!": {"score": 1}}}), "line 3"),
        (to_json(scored(verdicts="1")), "one verdict for each case"),
        (to_json(scored(verdicts="1x")), "verdicts"),
        (to_json(scored(cases=1)), "no list of cases 1"),
        (to_json(scored(cases=-1)), "cases"),
        (to_json(scored(weight=-1)), "weight"),
        (to_json(scored(weight=10**9)), "weight"),
        (to_json(LIST | {"points": [1]}), "one number for each id"),
        (to_json(LIST | {"ids": ["1", "1"]}), "an id twice"),
        (publisher_line(), "the first line, and no other"),
    ],
)
def test_a_line_that_does_not_fit_is_named(line, problem):
    with pytest.raises(DatasetError) as raised:
        parse([publisher_line(), to_json(LIST), line])
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        (publisher_line(key="other"), "the name of the file"),
        (publisher_line(format=2), "format"),
        (publisher_line(source="javascript:alert(1)"), "source"),
        (publisher_line(source="https://x\u0000"), "source"),
        (publisher_line(suite="../x"), "suite"),
        (publisher_line(revision="<b>"), "revision"),
        (to_json(ENTRY), "the first line"),
    ],
)
def test_the_first_line_says_who_published(first, problem):
    with pytest.raises(DatasetError, match="line 1") as raised:
        parse([first])
    assert problem in str(raised.value)


def test_an_empty_file_is_refused():
    with pytest.raises(DatasetError):
        parse([])


def test_a_model_stands_once_in_a_month_letter_case_aside():
    builder = build()
    builder.entry("ONE", reading=builder.reading("111"))
    with pytest.raises(DatasetError, match="2026-05 has 'ONE' twice"):
        parse(lines_of(builder))


def test_a_file_and_its_lines_are_bounded(store, monkeypatch):
    path = build().write(store)
    monkeypatch.setattr(published, "FILE_LIMIT", 100)
    with pytest.raises(UsageError, match="larger than 100 bytes"):
        published.load_publication(path)
    monkeypatch.setattr(published, "_MAX_LINES", 2)
    with pytest.raises(DatasetError, match="more than 2 lines"):
        parse(lines_of(build()))


def test_a_damaged_file_gives_way_to_the_one_that_ships(store):
    shipped = Settings(data=str(Path(store.shipped)), shipped=store.shipped)
    build().write(shipped)
    own = build().write(store)
    own.write_bytes(own.read_bytes() + b"{\n")
    assert len(published.load_publications(store)["acme"].entries) == 2
    [problem] = published.find_publication_problems(store)
    assert "line 6" in problem
    own.unlink()
    assert published.find_publication_problems(store) == []


def test_a_new_file_is_seen_at_once(store):
    builder = build()
    builder.write(store)
    before = published.compute_publications_signature(store)
    assert len(published.load_publications(store)["acme"].entries) == 2
    builder.entry("three", reading=builder.reading("000"))
    builder.write(store)
    assert len(published.load_publications(store)["acme"].entries) == 3
    assert published.compute_publications_signature(store) != before


def test_no_file_is_no_publication(store):
    assert published.load_publications(store) == {}
    assert published.compute_publications_signature(store) == ""


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026/2/5", "2026-02-05"),
        ("2025-12-08", "2025-12-08"),
        ("2026-02-30", ""),
        ("0000-01-01", ""),
        ("2026", ""),
        ("soon", ""),
        ("", ""),
    ],
)
def test_days_are_read_as_publishers_write_them(text, day):
    assert published.parse_day(text) == day


def test_what_ships_is_small_whole_and_holds_no_text_of_cases():
    files = sorted(SHIPPED.glob("*"))
    assert [path.name for path in files] == ["scale.jsonl", "tau2.jsonl"]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    scale, tau2 = map(published.load_publication, files)
    assert (len(scale.months), scale.months[0], scale.months[-1]) == (13, "2026-06", "2025-06")
    assert len(scale.entries) == 309
    scores = [score for entry in scale.entries for score in entry.scores.values()]
    assert len(scores) == 879
    verdicts = [report.verdicts for score in scores for report in score.reports.values()]
    assert sum(map(len, verdicts)) == 103_360
    assert all(entry.organization and entry.type and entry.released for entry in scale.entries)
    assert max(len(name) for cases in scale.cases for name in cases.ids) < 12
    assert len(tau2.entries) == 65
    assert not any(score.reports for entry in tau2.entries for score in entry.scores.values())
    for publication in (scale, tau2):
        assert len(publication.publisher.revision) == 40
        assert publication.publisher.date
    assert b"@" not in files[1].read_bytes(), "no address of a person"
