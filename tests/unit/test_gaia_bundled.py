"""The bundled data of gaia: derived by the real tools, hopeless to guess, nothing of GAIA in it."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.gaia import dataset
from evalcore.benchmarks.gaia.score import question_scorer, select_branch
from evalcore.benchmarks.gaia.tools.toolset import Toolset
from evalcore.sandbox.program import detect_sandbox
from evalcore.settings import ROOT
from tests.support.rows import each_row

pytestmark = pytest.mark.slow

FOLDER = ROOT / "datasets" / "gaia"
ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (FOLDER / "validation.jsonl").read_text(encoding="utf-8").splitlines()
]
WITH_FILE = [row for row in ROWS if row["file_name"]]
STEPS = {1: range(1, 4), 2: range(3, 6), 3: range(5, 9)}
COLUMNS = {
    "task_id",
    "Question",
    "Level",
    "Final answer",
    "file_name",
    "Annotator Metadata",
    "derivation",
    "wrong",
    "topic",
    "difficulty_level",
}
ANNOTATED = {
    "Steps",
    "Number of steps",
    "How long did this take?",
    "Tools",
    "Number of tools",
}
KINDS = {"csv", "db", "docx", "html", "json", "jsonl", "md", "pdf", "png"} | {
    "pptx",
    "py",
    "sqlite",
    "txt",
    "wav",
    "xlsx",
    "xml",
    "zip",
}
LARGEST, ALL_FILES = 60 * 1024, 2**20


def ident(row: dict[str, Any]) -> str:
    return str(row["task_id"])


def attached(row: dict[str, Any]) -> list[Path]:
    return [FOLDER / row["file_name"]] if row["file_name"] else []


def inner(content: bytes, before: str) -> list[tuple[str, bytes]]:
    """The files of an archive and of the archives in it, by the path the tools give them."""
    result = []
    archive = zipfile.ZipFile(io.BytesIO(content))
    for name in archive.namelist():
        result.append((f"{before}/{name}", archive.read(name)))
        if name.endswith(".zip"):
            result += inner(archive.read(name), f"{before}/{name}")
    return result


def paths(row: dict[str, Any]) -> list[str]:
    """All that can be read of the file of a question, members of archives included."""
    path = FOLDER / row["file_name"]
    members = inner(path.read_bytes(), path.name) if path.suffix == ".zip" else []
    return [path.name, *(name for name, _ in members)]


@pytest.fixture
def sandbox():
    if not detect_sandbox().means:
        pytest.skip(f"derivations run programs: {detect_sandbox().problem}")


def test_there_are_enough_questions_of_each_level():
    assert Counter(row["Level"] for row in ROWS) == {1: 27, 2: 27, 3: 16}
    assert len(WITH_FILE) == 44


def test_every_row_has_the_official_columns_and_ours():
    for row in ROWS:
        assert set(row) == COLUMNS, row["task_id"]
        assert set(row["Annotator Metadata"]) == ANNOTATED, row["task_id"]
        assert row["difficulty_level"] == str(row["Level"])
        assert row["topic"].strip()
        assert row["Question"].strip() == row["Question"] != ""


def test_the_ids_are_ours_and_unlike_those_of_the_official_set():
    assert [row["task_id"] for row in ROWS] == [f"eb-gaia-{at:03}" for at in range(1, 71)]


def test_no_question_stands_here_twice():
    assert len({row["Question"] for row in ROWS}) == len(ROWS)


def test_the_steps_fit_the_level_and_are_numbered():
    for row in ROWS:
        lines = row["Annotator Metadata"]["Steps"].splitlines()
        assert int(row["Annotator Metadata"]["Number of steps"]) == len(lines)
        assert len(lines) in STEPS[row["Level"]], row["task_id"]
        assert [line.split(".")[0] for line in lines] == [str(at + 1) for at in range(len(lines))]


def test_nothing_is_said_that_nobody_measured_and_no_web_is_needed():
    samples = dataset.load_gaia_samples(DatasetSource(path=str(FOLDER)), "validation", (1, 2, 3))
    assert not any(sample.meta.get("needs_web") for sample in samples)
    assert all(row["Annotator Metadata"]["How long did this take?"] == "" for row in ROWS)


def test_the_set_loads_with_its_files():
    samples = dataset.load_gaia_samples(DatasetSource(path=str(FOLDER)), "validation", (1, 2, 3))
    metrics = Counter(sample.metric for sample in samples)
    assert metrics == {"level_1": 27, "level_2": 27, "level_3": 16}
    assert sum(bool(dataset.find_attachments(sample)) for sample in samples) == 44
    assert not any(sample.meta.get("gated") for sample in samples)


def test_all_three_ways_of_comparing_are_used():
    branches = Counter(select_branch(row["Final answer"]) for row in ROWS)
    assert branches == {"number": 24, "list": 35, "string": 11}


@each_row("row", ROWS)
def test_the_answer_is_right_and_the_wrong_ones_are_wrong(row):
    truth = row["Final answer"]
    assert question_scorer(truth, truth).right
    assert len(set(row["wrong"])) >= 2
    assert not [answer for answer in row["wrong"] if question_scorer(answer, truth).right]


def test_a_constant_answer_is_right_once_at_most():
    guesses = {row["Final answer"] for row in ROWS} | {str(number) for number in range(1001)}
    guesses |= {answer for row in ROWS for answer in row["wrong"]} | {"", "yes", "no", "0.5"}
    for guess in guesses:
        right = sum(question_scorer(guess, row["Final answer"]).right for row in ROWS)
        assert right <= 1, guess


@pytest.mark.sampled(5)
@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("row", ROWS, ids=ident)
def test_the_derivation_brings_the_answer(row):
    with Toolset(attached(row)) as desk:
        results = [desk.call(step["tool"], step["arguments"]) for step in row["derivation"]]
    assert row["derivation"][-1]["tool"] in ("calculator", "python")
    assert not [result for result in results if result.startswith("Error")]
    assert results[-1].strip() == row["Final answer"]


def test_the_annotated_tools_are_those_of_the_derivation():
    names = {
        "list_files": "List of files",
        "read_file": "File reader",
        "calculator": "Calculator",
        "python": "Python",
    }
    for row in ROWS:
        used = dict.fromkeys(names[step["tool"]] for step in row["derivation"])
        lines = row["Annotator Metadata"]["Tools"].splitlines()
        assert lines == [f"{at}. {name}" for at, name in enumerate(used, 1)], row["task_id"]
        assert row["Annotator Metadata"]["Number of tools"] == str(len(used))


def test_a_question_with_a_file_says_so_and_no_other_does():
    for row in ROWS:
        assert bool(row["file_name"]) == ("attached" in row["Question"].lower()), row["task_id"]


def test_every_file_belongs_to_one_question_and_is_small():
    there = sorted((FOLDER / "files").iterdir())
    assert [f"files/{path.name}" for path in there] == sorted(row["file_name"] for row in WITH_FILE)
    assert max(path.stat().st_size for path in there) <= LARGEST
    assert sum(path.stat().st_size for path in there) <= ALL_FILES
    assert not list(FOLDER.rglob("*.py"))


def test_there_are_files_of_many_kinds():
    kinds = {PurePosixPath(path).suffix[1:] for row in WITH_FILE for path in paths(row)}
    assert kinds == KINDS


@each_row("row", WITH_FILE)
def test_all_of_the_file_can_be_read_and_holds_no_number_that_is_asked(row):
    truth = row["Final answer"]
    with Toolset(attached(row)) as desk:
        listed = desk.call("list_files", {})
        for path in paths(row):
            text = desk.call("read_file", {"path": path})
            assert not text.startswith("Error"), path
            assert len(text) > 20, path
            assert path.count(".zip/") > 1 or path in listed
            numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)}
            assert select_branch(truth) != "number" or float(truth) not in numbers, path


@each_row("row", WITH_FILE)
def test_the_dates_in_the_files_are_fixed(row):
    path = FOLDER / row["file_name"]
    if not zipfile.is_zipfile(path):
        return
    for info in zipfile.ZipFile(path).infolist():
        assert info.date_time == (2025, 1, 1, 0, 0, 0), info.filename


def test_nothing_tells_who_made_the_files():
    office = [FOLDER / row["file_name"] for row in WITH_FILE]
    for folder in (path for path in office if path.suffix in (".docx", ".pptx", ".xlsx")):
        core = zipfile.ZipFile(folder).read("docProps/core.xml").decode()
        names = re.findall(r"<(?:dc:creator|cp:lastModifiedBy)\b[^>]*>([^<]*)<", core)
        assert set(names) == {"evalboard"}, folder.name
