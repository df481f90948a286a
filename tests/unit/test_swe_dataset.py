"""Rows of SWE-bench as samples: both forms of columns, repositories, and what is refused."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.swe_bench import dataset
from evalcore.errors import DatasetError, UsageError

ROW = {
    "repo": "shop/tills",
    "instance_id": "shop__tills-7",
    "base_commit": "a" * 40,
    "patch": "diff --git a/till.py b/till.py\n--- a/till.py\n+++ b/till.py\n@@ -1 +1 @@\n-a\n+b\n",
    "test_patch": "diff --git a/tests/test_till.py b/tests/test_till.py\n",
    "problem_statement": "It rounds wrongly.",
    "FAIL_TO_PASS": '["tests/test_till.py::test_round"]',
    "PASS_TO_PASS": "[]",
    "version": "1.0",
    "difficulty": "15 min - 1 hour",
}


def written(folder, *rows, name="tasks.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return DatasetSource(path=str(folder))


def test_an_older_row_is_a_sample_and_a_task_again(tmp_path):
    [sample] = dataset.load_swe_samples(written(tmp_path, ROW))
    assert (sample.metric, sample.id, sample.difficulty) == ("up_to_1_hour", "shop__tills-7", 1)
    task = dataset.to_swe_task(sample)
    assert task.fail_to_pass == ("tests/test_till.py::test_round",)
    assert task.pass_to_pass == ()
    assert (task.eval_script, task.eval_type, task.repository) == ("", "pass_and_fail", "")
    assert task.difficulty == "15 min - 1 hour"


def test_nothing_of_the_reference_is_told_to_the_target(tmp_path):
    [sample] = dataset.load_swe_samples(written(tmp_path, ROW))
    text = json.dumps(sample.input)
    assert "+b" not in text
    assert "test_round" not in text
    assert sample.input["problem_statement"] == "It rounds wrongly."


def test_the_columns_of_version_5_are_kept(tmp_path):
    new = {
        **ROW,
        "FAIL_TO_PASS": ["a", "b"],
        "eval_script": "#!/bin/bash\n",
        "log_parser": "parse_log_pytest",
        "eval_type": "fail_only",
        "image": "an/image:latest",
    }
    [sample] = dataset.load_swe_samples(written(tmp_path, new))
    task = dataset.to_swe_task(sample)
    assert (task.eval_type, task.log_parser) == ("fail_only", "parse_log_pytest")
    assert (task.image, task.fail_to_pass) == ("an/image:latest", ("a", "b"))


def test_parquet_is_read_as_jsonl_is(tmp_path):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist([ROW]), tmp_path / "test.parquet")
    [sample] = dataset.load_swe_samples(DatasetSource(path=str(tmp_path)))
    assert sample.id == "shop__tills-7"


def test_a_broken_parquet_file_is_named(tmp_path):
    (tmp_path / "test.parquet").write_bytes(b"PAR1 or so")
    with pytest.raises(DatasetError, match=r"test\.parquet: is not a readable Parquet file"):
        dataset.load_swe_samples(DatasetSource(path=str(tmp_path)))


def test_the_text_of_a_prompt_data_set_is_told(tmp_path):
    [sample] = dataset.load_swe_samples(written(tmp_path, {**ROW, "text": "You...\n<issue>"}))
    assert dataset.to_swe_task(sample).text == "You...\n<issue>"


@pytest.mark.parametrize("name", ["shop__tills-7.bundle", "shop__tills.bundle"])
def test_a_bundle_is_found_by_instance_or_repository(tmp_path, name):
    (tmp_path / "repositories").mkdir()
    path = tmp_path / "repositories" / name
    path.write_bytes(b"bundle")
    [sample] = dataset.load_swe_samples(written(tmp_path, ROW), str(path.parent))
    assert dataset.to_swe_task(sample).repository == str(path)


def test_a_checkout_is_found_too(tmp_path):
    path = tmp_path / "repositories" / "shop__tills"
    path.mkdir(parents=True)
    [sample] = dataset.load_swe_samples(written(tmp_path, ROW), str(path.parent))
    assert dataset.to_swe_task(sample).repository == str(path)


def test_the_bundle_that_a_row_names_lies_beside_it(tmp_path):
    (tmp_path / "tills.bundle").write_bytes(b"bundle")
    [sample] = dataset.load_swe_samples(written(tmp_path, {**ROW, "bundle": "tills.bundle"}))
    assert dataset.to_swe_task(sample).repository == str(tmp_path / "tills.bundle")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"instance_id": "../../etc/passwd"}, "instance_id"),
        ({"instance_id": ""}, "instance_id"),
        ({"base_commit": "main"}, "base_commit"),
        ({"base_commit": "--upload-pack=x"}, "base_commit"),
        ({"FAIL_TO_PASS": "[not json"}, "FAIL_TO_PASS"),
        ({"FAIL_TO_PASS": '{"a": 1}'}, "FAIL_TO_PASS"),
        ({"PASS_TO_PASS": [1]}, "PASS_TO_PASS"),
        ({"patch": None}, "patch"),
        ({"problem_statement": 5}, "problem_statement"),
        ({"eval_type": "whatever"}, "eval_type"),
        ({"bundle": "../outside.bundle"}, "bundle"),
        ({"bundle": "missing.bundle"}, "bundle"),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_field(tmp_path, change, field):
    (tmp_path / "outside.bundle").write_bytes(b"x")
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(DatasetError) as caught:
        dataset.load_swe_samples(
            written(folder, ROW, {**ROW, "instance_id": "shop__tills-8", **change})
        )
    assert (caught.value.line, caught.value.field) == (2, field)


def test_a_task_may_stand_there_once(tmp_path):
    with pytest.raises(DatasetError, match="twice"):
        dataset.load_swe_samples(written(tmp_path, ROW, ROW))


def test_an_empty_folder_and_a_missing_one_are_named(tmp_path):
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(DatasetError):
            dataset.load_swe_samples(DatasetSource(path=str(folder)))


def test_repositories_have_to_be_a_folder(tmp_path):
    with pytest.raises(UsageError, match="swe_repositories"):
        dataset.load_swe_samples(written(tmp_path, ROW), str(tmp_path / "gone"))


def test_difficulties_are_chosen_by_either_name(tmp_path):
    easy = {**ROW, "instance_id": "shop__tills-1", "difficulty": "<15 min fix"}
    bare = {**ROW, "instance_id": "shop__tills-2", "difficulty": None}
    samples = dataset.load_swe_samples(written(tmp_path, ROW, easy, bare))

    def ids(*expected):
        return [sample.id[-1] for sample in dataset.filter_difficulties(samples, expected)]

    assert ids() == ["7", "1", "2"]
    assert ids("<15 min fix") == ids("under_15_min") == ["1"]
    assert ids("unrated", "up_to_1_hour") == ["7", "2"]
    with pytest.raises(UsageError, match=r"swe_bench\.difficulties"):
        ids("easy")
