"""Rows of GAIA in every layout as samples, their files, and rows and files that are hostile."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.gaia import dataset as rows_module
from evalcore.benchmarks.gaia.dataset import find_attachments, load_gaia_samples
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.records import from_json, to_json

UUID = "0F0f0f0f-1111-4222-8333-44445555666"


def row(number: int = 1, **changed) -> dict:
    return {
        "task_id": f"eb-{number}",
        "Question": "How many?",
        "Level": 1,
        "Final answer": "17",
        "file_name": "",
        **changed,
    }


def official(number: int, split: str = "validation", **changed) -> dict:
    about = {"Steps": "1. look", "Number of steps": "7", "Tools": "1. Search engine"}
    task = f"{UUID}{number}"
    return row(
        task_id=task,
        Level=str(number),
        file_path=f"2023/{split}/{task}.csv",
        file_name=f"{task}.csv",
        **{"Annotator Metadata": about, **changed},
    )


def write(path: Path, result: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(result), path)
    else:
        path.write_text("".join(json.dumps(entry) + "\n" for entry in result), encoding="utf-8")
    for item in result:
        if item.get("file_path") and item["file_name"]:
            (path.parent / item["file_name"]).write_text(item["task_id"])
    return path


def samples(path: Path, split: str = "validation", levels=(), metrics=()):
    return load_gaia_samples(DatasetSource(str(path), metrics=tuple(metrics)), split, levels)


def load_single(path: Path, **changed):
    (sample,) = samples(write(path / "rows.jsonl", [row(**changed)]))
    return sample


def test_the_layout_of_the_hub_from_its_root_from_within_and_by_level(tmp_path):
    folder = tmp_path / "2023" / "validation"
    path = write(folder / "metadata.parquet", [official(1), official(2)])
    for location in (tmp_path, tmp_path / "2023", folder, path):
        first, second = samples(location)
        assert (first.metric, second.metric) == ("level_1", "level_2")
        (file,) = find_attachments(second)
        assert file.read_text() == second.id == f"{UUID}2"
    path.unlink()
    for level in (1, 2, 3):
        write(folder / f"metadata.level{level}.parquet", [official(level)])
    assert [sample.metric for sample in samples(tmp_path)] == ["level_1", "level_2", "level_3"]
    assert [sample.metric for sample in samples(tmp_path, levels=[3])] == ["level_3"]


def test_an_official_row_is_marked_and_its_facts_are_kept(tmp_path):
    write(tmp_path / "2023/validation/metadata.parquet", [official(3)])
    (sample,) = samples(tmp_path)
    name = f"{UUID}3.csv"
    assert sample.input == {"question": "How many?", "file_name": name, "level": 3}
    digest = hashlib.sha256(sample.id.encode()).hexdigest()
    assert sample.reference == {"answer": "17", "files": {name: digest}}
    assert sample.difficulty == 1
    assert sample.meta == {
        "source": "2023/validation/metadata.parquet:1",
        "tools": "1. Search engine",
        "needs_web": True,
        "steps": 7,
        "gated": True,
        "folder": str(tmp_path),
        "file": f"2023/validation/{name}",
    }
    assert from_json(type(sample), to_json(sample)) == sample


def test_the_earlier_layout_and_annotations_as_text(tmp_path):
    about = json.dumps({"Tools": "1. A web browser\n2. Excel", "Number of steps": 5})
    result = official(1, **{"Annotator Metadata": about})
    write(tmp_path / "2023" / "validation" / "metadata.jsonl", [result])
    (sample,) = samples(tmp_path)
    assert sample.meta["steps"] == 5
    assert sample.meta["needs_web"]


def test_the_test_split_is_hidden_and_never_taken_for_another(tmp_path):
    write(tmp_path / "2023/test/metadata.parquet", [official(1, "test", **{"Final answer": "?"})])
    (sample,) = samples(tmp_path, "test")
    assert sample.meta["hidden"]
    for folder in (tmp_path, tmp_path / "2023" / "test"):
        with pytest.raises(DatasetError, match="no split 'validation'"):
            samples(folder)
    bare = row()
    bare.pop("Final answer")
    path = write(tmp_path / "own" / "test.jsonl", [bare])
    assert samples(path, "test")[0].meta["hidden"]
    with pytest.raises(DatasetError, match="field Final answer"):
        samples(path)


@pytest.mark.parametrize(
    ("answer", "hidden"), [("?", True), ("", True), (" ", True), (None, True), ("??", False)]
)
def test_questions_without_an_answer_are_hidden(tmp_path, answer, hidden):
    assert load_single(tmp_path, **{"Final answer": answer}).meta.get("hidden", False) == hidden


def test_our_own_rows(tmp_path):
    steps = [{"tool": "calculator", "arguments": {"expression": "1 + 1"}, "why": "x"}]
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "x.csv").write_text("1")
    path = write(
        tmp_path / "validation.jsonl",
        [
            row(1, derivation=steps, topic="sums", wrong=["16", 18], file_name="files/x.csv"),
            row(2, Level=3, **{"Final answer": 0.5}),
        ],
    )
    first, second = samples(path.parent)
    assert first.reference["derivation"] == [
        {"tool": "calculator", "arguments": {"expression": "1 + 1"}}
    ]
    assert first.meta["counterexamples"] == ["16", "18"]
    assert first.meta["topic"] == "sums"
    assert "gated" not in first.meta
    assert "needs_web" not in first.meta
    assert first.input["file_name"] == "x.csv"
    assert find_attachments(first) == ((tmp_path / "files" / "x.csv").resolve(),)
    assert (second.metric, second.reference["answer"]) == ("level_3", "0.5")
    assert find_attachments(second) == ()
    with pytest.raises(DatasetError, match="no split 'test'"):
        samples(path.parent, "test")


def test_levels_choose_and_metrics_go_before_them(tmp_path):
    result = [row(1, Level="1"), row(2, Level=2.0), row(3, Level="3"), row(4, Level=None)]
    path = write(tmp_path / "some.jsonl", result)
    assert [s.id for s in samples(path.parent, levels=[1, 2])] == ["eb-1", "eb-2", "eb-4"]
    assert [s.id for s in samples(path)] == ["eb-1", "eb-2", "eb-3", "eb-4"]
    assert [s.id for s in samples(path, levels=[1], metrics=["level_3"])] == ["eb-3"]
    with pytest.raises(DatasetError, match="has no question of level_3"):
        samples(write(tmp_path / "less" / "x.jsonl", result[:1]), metrics=["level_3"])


def test_a_scoring_set_is_without_levels_and_never_hidden(tmp_path):
    result = [{"id": "a", "reference": "17"}, {"id": 2, "reference": "?"}, {"id": "c", "level": 2}]
    result[2]["reference"] = ""
    path = write(tmp_path / "set.jsonl", result)
    first, second, third = samples(path, levels=[2])
    assert (first.metric, second.metric, third.metric) == ("unlevelled", "unlevelled", "level_2")
    assert [s.reference["answer"] for s in (first, second, third)] == ["17", "?", ""]
    assert first.input == {}
    assert [s.meta for s in (first, second)] == [{"source": f"set.jsonl:{n}"} for n in (1, 2)]
    assert second.id == "2"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"task_id": " "}, "line 1, field task_id: is missing"),
        ({"task_id": True}, "field task_id"),
        ({"Question": ""}, "field Question"),
        ({"Question": ["a"]}, "field Question"),
        ({"Level": "4"}, "field Level: '4' is not 1, 2 or 3"),
        ({"Level": True}, "field Level"),
        ({"Level": 1.5}, "field Level"),
        ({"Final answer": ["17"]}, "field Final answer"),
        ({"Annotator Metadata": "{"}, "field Annotator Metadata: is not JSON"),
        ({"Annotator Metadata": [1]}, "is not an object"),
        ({"derivation": [{"tool": "x"}]}, "field derivation"),
        ({"derivation": "x"}, "field derivation"),
        ({"wrong": "16"}, "field wrong"),
        ({"file_name": 7}, "field file_name"),
        ({"file_name": "gone.csv"}, "there is no file gone.csv next to the rows"),
        ({"file_path": "2023/validation/gone.csv"}, "no file 2023/validation/gone.csv"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path, changed, problem):
    with pytest.raises(DatasetError, match=problem):
        load_single(tmp_path, **changed)


@pytest.mark.parametrize(
    "name",
    ["../secret", "a/../../secret", "/etc/passwd", "..\\secret", "C:/x", "~/../..", ".", "a\0b"],
)
@pytest.mark.parametrize("field", ["file_name", "file_path"])
def test_paths_that_leave_the_folder_are_refused(tmp_path, name, field):
    (tmp_path / "secret").write_text("x")
    with pytest.raises(DatasetError, match=f"field {field}"):
        load_single(tmp_path / "data", **{field: name})


def test_links_that_leave_the_folder_are_refused(tmp_path):
    (tmp_path / "secret.csv").write_text("x")
    data = tmp_path / "data"
    data.mkdir()
    (data / "x.csv").symlink_to(tmp_path / "secret.csv")
    (data / "up").symlink_to(tmp_path)
    (data / "own.csv").write_text("1")
    (data / "near.csv").symlink_to(data / "own.csv")
    for name in ("x.csv", "up/secret.csv"):
        with pytest.raises(DatasetError, match="leaves the folder"):
            load_single(data, file_name=name)
    assert find_attachments(load_single(data, file_name="near.csv"))[0].read_text() == "1"


def test_a_file_that_was_changed_since_is_our_failure(tmp_path):
    (tmp_path / "x.csv").write_text("1")
    sample = load_single(tmp_path, file_name="x.csv")
    assert find_attachments(sample)
    (tmp_path / "x.csv").write_text("2")
    with pytest.raises(EnvironmentFailure, match="has changed since the run was planned"):
        find_attachments(sample)
    (tmp_path / "x.csv").unlink()
    with pytest.raises(EnvironmentFailure, match="is missing"):
        find_attachments(sample)
    (tmp_path / "x.csv").symlink_to("/etc/hostname")
    with pytest.raises(EnvironmentFailure, match="is missing"):
        find_attachments(sample)


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("1")
    sample = load_single(tmp_path, file_name="x.csv")

    def refused(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("evalcore.benchmarks.gaia.dataset.hashlib.file_digest", refused)
    with pytest.raises(DatasetError, match="cannot be read; check its permissions"):
        load_single(tmp_path, file_name="x.csv")
    with pytest.raises(EnvironmentFailure):
        find_attachments(sample)


def test_an_id_that_stands_twice_and_sources_that_are_none(tmp_path):
    with pytest.raises(DatasetError, match=r"line 2, field task_id: 'eb-1' occurs twice here"):
        samples(write(tmp_path / "a.jsonl", [row(), row()]))
    with pytest.raises(DatasetError, match="no such file"):
        samples(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="has no split"):
        samples(tmp_path / "empty")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no parquet PAR1")
    with pytest.raises(DatasetError, match="is not a readable Parquet file"):
        samples(tmp_path / "bad.parquet")


def test_parquet_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "x.parquet", [row()])
    assert samples(path)[0].id == "eb-1"
    monkeypatch.setattr(rows_module, "_LIMIT", 10)
    with pytest.raises(DatasetError, match="is larger than"):
        samples(path)


@pytest.mark.parametrize(
    ("tools", "needed"),
    [
        ("1. Web browser\n2. Search engine", True),
        ("Google Translate", True),
        ("access to Wikipedia", True),
        ("YouTube player", True),
        ("1. calculator\n2. python", False),
        ("None", False),
        ("Excel, PDF viewer, research notes", False),
    ],
)
def test_whether_a_question_needs_the_web(tmp_path, tools, needed):
    sample = load_single(tmp_path, **{"Annotator Metadata": {"Tools": tools}})
    assert sample.meta.get("needs_web", False) == needed
