"""Reading case lines: every wrong field is named with its file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalcore.benchmarks import case_file
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.case_file import CaseLine
from evalcore.errors import DatasetError
from evalcore.records import Sample

FILES = {"alpha": ("alpha",), "pair": ("beta", "gamma")}


def read(line: CaseLine, stem: str) -> Iterator[Sample]:
    for metric in FILES[stem]:
        yield Sample(
            metric=metric, id=line.parse_case_id(), input={}, difficulty=line.parse_difficulty()
        )


def write(folder: Path, name: str, *rows: object) -> None:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def case(case_id: object = "1", **more: object) -> dict[str, object]:
    return {"case_id": case_id, "difficulty_level": "2", **more}


def load(folder: Path, *metrics: str) -> list[Sample]:
    return case_file.load_case_samples(
        DatasetSource(path=str(folder), metrics=metrics), FILES, read
    )


def test_a_file_may_feed_several_metrics(tmp_path: Path) -> None:
    write(tmp_path, "alpha.jsonl", case())
    write(tmp_path, "pair.jsonl", case(), case("2"))
    assert [s.key for s in load(tmp_path)] == [
        "alpha/1",
        "beta/1",
        "gamma/1",
        "beta/2",
        "gamma/2",
    ]
    assert [s.key for s in load(tmp_path, "gamma")] == ["gamma/1", "gamma/2"]
    assert [s.key for s in load(tmp_path / "alpha.jsonl")] == ["alpha/1"]


def test_a_field_metric_overrides_the_file_name(tmp_path: Path) -> None:
    write(tmp_path, "mine.jsonl", case(metric="alpha"))
    assert [s.key for s in load(tmp_path / "mine.jsonl")] == ["alpha/1"]
    write(tmp_path, "mine.jsonl", case())
    with pytest.raises(DatasetError, match=r"line 1, field metric.*alpha, pair"):
        load(tmp_path / "mine.jsonl")


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such file"):
        load(tmp_path / "none")
    with pytest.raises(DatasetError, match=r"contains none of: alpha\.jsonl, pair\.jsonl"):
        load(tmp_path)
    write(tmp_path, "alpha.jsonl", case(), case())
    with pytest.raises(DatasetError, match=r"line 2, field case_id.*twice"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("row", "reader", "field"),
    [
        ({}, "parse_case_id", "case_id"),
        ({"case_id": True}, "parse_case_id", "case_id"),
        ({"difficulty_level": "4"}, "parse_difficulty", "difficulty_level"),
        ({"sql": " "}, "parse_text", "sql"),
        ({"sql": 5}, "parse_optional_text", "sql"),
        ({"sql": [1]}, "parse_text_list", "sql"),
        ({"sql": "x"}, "parse_list", "sql"),
        ({"sql": []}, "parse_object", "sql"),
        ({"sql": "yes"}, "parse_bool", "sql"),
        ({"sql": "klingon"}, "parse_dialect", "sql"),
    ],
)
def test_a_wrong_field_is_named(row: dict[str, object], reader: str, field: str) -> None:
    line = CaseLine(Path("cases.jsonl"), 7, row)
    arguments = () if reader in ("parse_case_id", "parse_difficulty") else (field,)
    with pytest.raises(DatasetError, match=rf"cases\.jsonl, line 7, field {field}"):
        getattr(line, reader)(*arguments)


@pytest.mark.parametrize("row", [{}, {"case_id": "", "difficulty_level": "", "sql": None}])
def test_a_field_that_is_missing_is_named_in_the_sentence(row: dict[str, object]) -> None:
    line = CaseLine(Path("cases.jsonl"), 7, row)
    for reader, field in (
        ("parse_case_id", "case_id"),
        ("parse_difficulty", "difficulty_level"),
        *((f"parse_{kind}", "sql") for kind in ("text", "object", "dialect")),
    ):
        with pytest.raises(DatasetError) as caught:
            getattr(line, reader)(*([field] if field == "sql" else []))
        assert caught.value.problem == f"the field {field} is missing or empty"


def test_one_text_stands_for_a_list_of_it() -> None:
    line = CaseLine(Path("x"), 1, {"sql": "SELECT 1", "ordered": False})
    assert line.parse_text_list("sql") == ["SELECT 1"]
    assert line.parse_text_list("absent") == []
    assert line.parse_bool("ordered") is False
    assert line.parse_bool("absent") is None
