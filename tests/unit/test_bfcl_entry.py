"""Reading official folders (v4 and v3 names), single files, and what is wrong with them."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.bfcl.categories import (
    category_from_id,
    find_category_language,
    to_v4_category,
)
from evalcore.benchmarks.bfcl.entry import file_category, load_file, load_folder
from evalcore.errors import DatasetError
from tests.support.bfcl import function

QUESTION = [[{"role": "user", "content": "Go."}]]
OFFERED = [function("f", {"a": "integer"}, ("a",))]
TRUTH = [{"f": {"a": [1]}}]


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def row(sample_id, **more):
    return {"id": sample_id, "question": QUESTION, "function": OFFERED, **more}


def official_folder(folder, version="v4", name="simple_python"):
    write(folder / f"BFCL_{version}_{name}.json", row(f"{name}_0"), row(f"{name}_1", note="x"))
    answers = [{"id": f"{name}_{i}", "ground_truth": TRUTH} for i in (1, 0)]
    write(folder / "possible_answer" / f"BFCL_{version}_{name}.json", *answers)
    write(folder / f"BFCL_{version}_irrelevance.json", row("irrelevance_0"))
    write(folder / f"BFCL_{version}_format_sensitivity.json", {"simple": 1})
    return folder


@pytest.mark.parametrize(("version", "name"), [("v4", "simple_python"), ("v3", "simple")])
def test_an_official_folder(tmp_path, version, name):
    entries = load_folder(official_folder(tmp_path, version, name))
    assert [entry.category for entry in entries] == ["simple_python"] * 2 + ["irrelevance"]
    assert [entry.id for entry in entries] == [f"{name}_0", f"{name}_1", "irrelevance_0"]
    assert entries[0].ground_truth == TRUTH
    assert entries[1].extra == {"note": "x"}
    assert entries[2].ground_truth is None
    assert entries[0].functions == OFFERED


def test_categories_filter_by_either_name(tmp_path):
    official_folder(tmp_path)
    assert len(load_folder(tmp_path, ("simple",))) == 2
    assert len(load_folder(tmp_path, ("irrelevance",))) == 1
    with pytest.raises(DatasetError, match="parallel"):
        load_folder(tmp_path, ("irrelevance", "parallel"))


def test_a_newer_version_wins_and_an_empty_folder_is_named(tmp_path):
    official_folder(tmp_path)
    official_folder(tmp_path, "v3", "simple")
    ids = [entry.id for entry in load_folder(tmp_path, ("simple_python",))]
    assert ids == ["simple_python_0", "simple_python_1"]
    with pytest.raises(DatasetError, match="BFCL_v4"):
        load_folder(tmp_path / "possible_answer" / "none")


def test_a_file_with_answers_inline_and_the_category_from_id_or_field(tmp_path):
    path = tmp_path / "mine.jsonl"
    write(
        path,
        row("java_7", ground_truth=TRUTH),
        row("x", category="simple", ground_truth=TRUTH),
        row("live_parallel_multiple_3-2-0", ground_truth=TRUTH),
        {**row("live_irrelevance_1-0-0"), "function": []},
        {**row("live_relevance_1-0-0"), "function": OFFERED[0]},
    )
    categories = [entry.category for entry in load_file(path)]
    assert categories == [
        "simple_java",
        "simple_python",
        "live_parallel_multiple",
        "live_irrelevance",
        "live_relevance",
    ]


def test_multi_turn_entries_keep_their_own_fields(tmp_path):
    path = tmp_path / "multi_turn_base.jsonl"
    truth = [["ls()"], []]
    write(path, {"id": "a", "question": QUESTION, "ground_truth": truth, "path": ["X.ls"]})
    (entry,) = load_file(path)
    assert (entry.ground_truth, entry.functions, entry.extra) == (truth, [], {"path": ["X.ls"]})


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"question": QUESTION}, "id"),
        ({"id": 5}, "id"),
        ({"id": "unknown_1", "question": QUESTION}, "category"),
        (row("parallel_1"), "ground_truth"),
        (row("parallel_1", ground_truth=[]), "ground_truth"),
        (row("parallel_1", ground_truth=[{"f": 1}]), "ground_truth"),
        (row("parallel_1", ground_truth=["f()"]), "ground_truth"),
        ({**row("irrelevance_1"), "question": "Go."}, "question"),
        ({**row("irrelevance_1"), "function": ["f"]}, "function"),
        (row("irrelevance_0"), "id"),
    ],
)
def test_problems_name_line_and_field(tmp_path, bad, field):
    path = tmp_path / "mine.jsonl"
    write(path, row("irrelevance_0"), bad)
    with pytest.raises(DatasetError) as caught:
        load_file(path)
    assert (caught.value.line, caught.value.field) == (2, field)


def test_broken_answers_are_named(tmp_path):
    official_folder(tmp_path)
    answers = tmp_path / "possible_answer" / "BFCL_v4_simple_python.json"
    write(answers, {"id": "simple_python_0"})
    with pytest.raises(DatasetError, match="possible_answer"):
        load_folder(tmp_path)


def test_names_of_categories(tmp_path):
    assert to_v4_category("javascript") == "simple_javascript"
    assert find_category_language("simple_javascript") == "javascript"
    assert find_category_language("simple_java") == "java"
    assert find_category_language("live_multiple") == "python"
    assert category_from_id("parallel_multiple_3") == "parallel_multiple"
    assert category_from_id("javascript_3") == "simple_javascript"
    assert category_from_id("whatever") is None
    assert file_category(tmp_path / "BFCL_v3_java.json") == "simple_java"
    assert file_category(tmp_path / "parallel.jsonl") == "parallel"
    assert file_category(tmp_path / "readme.md") is None
