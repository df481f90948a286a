"""Official result and score files in, and imported runs scored here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.benchmarks.bfcl.categories import Tally
from evalcore.benchmarks.bfcl.multi_turn import simulators
from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.bfcl import exporter
from evalcore.exchange.bfcl.fetch import default_folder
from evalcore.exchange.bfcl.importer import BfclImportSource, import_bfcl_results
from evalcore.exchange.bfcl.results import Prediction, read_claims, read_results
from evalcore.exchange.hub_datasets import NOTE_FILE
from evalcore.intake import json_text
from evalcore.store import run_folder as published_file
from evalcore.store.index import open_index
from evalcore.store.run_folder import find_run
from tests.support.bfcl_results import (
    FAILED,
    NATIVE,
    RIGHT,
    WRONG,
    data_folder,
    result_file,
    result_line,
    score_file,
    write_lines,
)
from tests.support.boards import settings_in


def silent(line: str) -> None:
    assert line


def test_text_answers_are_read_as_the_prompt_mode(tmp_path):
    result_file(tmp_path, "simple_python", RIGHT, FAILED, None)
    right, failed, none = read_results(tmp_path)
    assert right == Prediction(
        category="simple_python",
        id="simple_python_0",
        mode="prompt",
        answer=RIGHT,
        input_tokens=100,
        output_tokens=7,
        latency=0.5,
        line=1,
    )
    assert right.answer_text == RIGHT
    assert (failed.error, failed.answer_text) == ("Request timed out.", "")
    assert (none.error, none.answer_text, none.line) == ("", "", 3)


def test_one_native_call_makes_all_answers_native(tmp_path):
    result_file(tmp_path, "irrelevance", "None fits.")
    result_file(tmp_path, "simple_python", NATIVE, "I cannot.", [])
    answers = list(read_results(tmp_path))
    assert [answer.mode for answer in answers] == ["fc"] * 4
    assert [answer.category for answer in answers] == ["simple_python"] * 3 + ["irrelevance"]
    assert json.loads(answers[0].answer_text) == NATIVE
    assert (answers[1].answer_text, answers[2].answer_text) == ("I cannot.", "[]")
    assert next(read_results(tmp_path, "prompt")).mode == "prompt"


def test_turns_and_their_numbers(tmp_path):
    path = tmp_path / "multi_turn" / "BFCL_v4_multi_turn_base_result.json"
    turns = [[[{"ls": "{}"}], "done"], ["nothing"]]
    numbers = {"input_token_count": [[10, 20], [5]], "latency": [[0.25, 0.5], [None, "x"]]}
    write_lines(
        path,
        {"id": "multi_turn_base_0", "result": turns, "output_token_count": "?", **numbers},
        {"id": "multi_turn_base_1", "result": [["[ls()]", "done"]]},
        {"id": "multi_turn_base_2", "result": FAILED},
    )
    first, second, failed = read_results(path)
    assert (first.mode, first.answer) == ("fc", turns)
    assert (first.input_tokens, first.output_tokens, first.latency) == (35, None, 0.75)
    assert json.loads(second.answer_text) == [["[ls()]", "done"]]
    assert failed.error
    path.write_text(path.read_text().split("\n")[1])
    assert next(read_results(path)).mode == "prompt"


def test_v3_files_lie_flat_and_are_named_otherwise(tmp_path):
    result_file(tmp_path, "java", "A.f()", version="v3")
    result_file(tmp_path, "live_relevance", RIGHT, version="v3")
    write_lines(tmp_path / "BFCL_v3_exec_simple_result.json", result_line("exec_simple_0", "f()"))
    write_lines(tmp_path / "BFCL_v4_format_sensitivity_result.json", {"other": 1})
    result = [(item.category, item.id) for item in read_results(tmp_path)]
    assert result == [("simple_java", "java_0"), ("live_relevance", "live_relevance_0")]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"result": "x"}, "id"),
        ({"id": "a"}, "result"),
        ({"id": "a", "result": {"f": 1}}, "result"),
        ({"id": "a", "result": json.loads("[" * 70 + "]" * 70)}, "result"),
        (result_line("simple_python_0", "x"), "id"),
    ],
)
def test_a_bad_line_is_named(tmp_path, bad, field):
    path = result_file(tmp_path, "simple_python", RIGHT)
    write_lines(path, result_line("simple_python_0", RIGHT), bad)
    with pytest.raises(DatasetError) as caught:
        list(read_results(tmp_path))
    assert (caught.value.line, caught.value.field) == (2, field)


def test_a_folder_without_results_or_with_two_of_a_category_is_refused(tmp_path, monkeypatch):
    with pytest.raises(DatasetError, match="contains no BFCL_v4"):
        list(read_results(tmp_path))
    path = result_file(tmp_path, "simple_python", RIGHT)
    monkeypatch.setattr(json_text, "FILE_LIMIT", 10)
    with pytest.raises(DatasetError, match="MB"):
        list(read_results(path))
    result_file(tmp_path, "simple", RIGHT, version="v3")
    with pytest.raises(DatasetError, match="same category"):
        list(read_results(tmp_path))


def test_claims_are_the_heads_of_score_files(tmp_path):
    score_file(tmp_path, "simple_python", 3, 4)
    score_file(tmp_path, "irrelevance", 2, 2)
    assert read_claims(tmp_path) == {"simple_python": Tally(3, 4), "irrelevance": Tally(2, 2)}
    write_lines(tmp_path / "non_live" / "BFCL_v4_irrelevance_score.json", {"correct_count": 1})
    with pytest.raises(DatasetError, match="total_count"):
        read_claims(tmp_path)
    path = tmp_path / "non_live" / "BFCL_v4_irrelevance_score.json"
    write_lines(path, {"correct_count": 3, "total_count": 2})
    with pytest.raises(DatasetError, match="total_count"):
        read_claims(tmp_path)


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path / "store")


@pytest.fixture
def official(tmp_path):
    """A folder with results and scores of one model: one failed request, one wrong answer."""
    root = tmp_path / "2026-04-12"
    model = root / "result" / "Acme_M-FC"
    result_file(model, "simple_python", NATIVE, "I cannot.", NATIVE)
    result_file(model, "irrelevance", "None fits.", FAILED)
    score_file(root / "score" / "Acme_M-FC", "simple_python", 2, 3)
    score_file(root / "score" / "Acme_M-FC", "irrelevance", 2, 2)
    return root


def taken(folder, tmp_path, settings, **more):
    data = data_folder(tmp_path / "data", {"simple_python": 3, "irrelevance": 2, "parallel": 1})
    source = BfclImportSource(path=str(folder), dataset=str(data), **more)
    return import_bfcl_results(source, settings, silent)


def test_an_import_is_a_run_scored_here(official, tmp_path, settings):
    done = taken(official, tmp_path, settings)
    (run_id,) = done.created
    assert run_id.startswith("bfcl-2026-04-12-acme_m-fc-")
    folder = find_run(run_id, settings.run_roots)
    spec, summary = folder.read_spec(), folder.read_summary()
    assert (spec.origin, spec.target.key) == ("imported", "bfcl:Acme_M-FC")
    assert (spec.benchmarks[0].samples, spec.benchmarks[0].dataset) == (5, "bfcl-v4-results")
    assert summary is not None
    score = summary.benchmarks["bfcl"]
    assert score.outcomes == {"failed": 1, "passed": 3, "target_error": 1}
    assert (score.level, score.complete) == (1, False)
    assert (summary.totals.input_tokens, summary.totals.requests) == (400, 5)
    stored = {line.episode.key: line.episode for line in folder.read_episodes()}
    assert json.loads(stored["simple_python/simple_python_0"].answer) == NATIVE
    assert stored["simple_python/simple_python_0"].state == {"mode": "fc"}
    failure = stored["irrelevance/irrelevance_1"].failure
    assert failure is not None
    assert failure.message == "Request timed out."
    assert len(list(folder.read_verdicts(summary.scoring))) == 5
    assert {header.run_id for header in open_index(settings).headers()} == {run_id}


def test_claims_stand_beside_what_is_counted_here(official, tmp_path, settings):
    done = taken(official, tmp_path, settings)
    assert {item.capability: (round(item.claimed, 1), item.reading) for item in done.scores} == {
        "simple_python": (66.7, "exact"),
        "irrelevance": (100.0, "unexplained"),
    }
    published = published_file.read_published(find_run(done.created[0], settings.run_roots))
    assert published is not None
    assert (published.publisher, published.month, published.facts["mode"]) == (
        "BFCL",
        "2026-04",
        "fc",
    )
    score = published.scores["bfcl"]
    assert (score.claimed, score.recomputed) == (80.0, 60.0)
    assert [(flag.kind, flag.metric) for flag in score.flags] == [
        ("score_differs", ""),
        ("indicator_score", "irrelevance"),
        ("service_error", "irrelevance"),
    ]
    assert score.flags[1].detail == "2 of 2 published, 1 of 2 here"


def test_a_second_import_changes_nothing_and_a_changed_answer_replaces(
    official, tmp_path, settings
):
    first = taken(official, tmp_path, settings)
    again = taken(official / "result", tmp_path, settings)
    assert (again.created, again.unchanged) == ([], first.created)
    result_file(official / "result" / "Acme_M-FC", "irrelevance", "None.", "None.")
    third = taken(official / "result" / "Acme_M-FC", tmp_path, settings)
    assert third.replaced == first.created
    assert {score.reading for score in third.scores} == {"exact"}


def test_v3_answers_meet_the_entries_of_the_same_number(tmp_path, settings):
    model = tmp_path / "result" / "old"
    result_file(model, "simple", RIGHT, WRONG, RIGHT, RIGHT, version="v3")
    done = taken(tmp_path, tmp_path, settings, date="2024-09")
    assert done.created == ["bfcl-2024-09-01-old"]
    assert done.skipped == ["old: 1 answers to unknown entries of simple_python"]
    summary = find_run(done.created[0], settings.run_roots).read_summary()
    assert summary is not None
    assert summary.benchmarks["bfcl"].outcomes == {"failed": 1, "passed": 2}
    published = published_file.read_published(find_run(done.created[0], settings.run_roots))
    assert published is not None
    assert published.scores == {}


def test_native_answers_in_text_are_no_calls(tmp_path, settings):
    model = tmp_path / "result" / "m"
    leaked = json.dumps([{"name": "city_weather", "arguments": '{"city": "Oslo"}'}])
    result_file(model, "simple_python", NATIVE, leaked, RIGHT)
    (run_id,) = taken(tmp_path, tmp_path, settings).created
    folder = find_run(run_id, settings.run_roots)
    summary = folder.read_summary()
    assert summary is not None
    assert summary.benchmarks["bfcl"].outcomes == {"failed": 2, "passed": 1}
    paths = exporter.export_bfcl_run(folder, tmp_path / "out")
    sent, back = read_results(model), read_results(Path(paths.files[0]).parents[1])
    assert (
        [item.answer for item in back]
        == [entry.answer for entry in sent]
        == [NATIVE, leaked, RIGHT]
    )


def test_what_needs_something_missing_is_named_and_not_counted(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(simulators, "find_installation", lambda: None)
    data = data_folder(tmp_path / "data", {"simple_python": 1})
    name = "BFCL_v4_multi_turn_base.json"
    asked = {"id": "multi_turn_base_0", "question": [[{"role": "user", "content": "Add."}]]}
    write_lines(data / name, asked | {"involved_classes": ["MathAPI"], "initial_config": {}})
    write_lines(data / "possible_answer" / name, {"id": asked["id"], "ground_truth": [["add()"]]})
    model = tmp_path / "all" / "result" / "m"
    result_file(model, "simple_python", RIGHT)
    result_file(model, "multi_turn_base", [["[add()]", "Done."]])
    score_file(tmp_path / "all" / "score" / "m", "simple_python", 1, 1)
    score_file(tmp_path / "all" / "score" / "m", "multi_turn_base", 1, 1)
    source = BfclImportSource(str(tmp_path / "all"), str(data))
    done = import_bfcl_results(source, settings, silent)
    assert [score.capability for score in done.scores] == ["simple_python"]
    (line,) = done.skipped
    assert line.startswith("m: answers that could not be scored, 1 of multi_turn_base: ")
    assert "evalcore datasets fetch bfcl" in line
    assert done.flags == {"dropped_cases": 1}
    folder = find_run(done.created[0], settings.run_roots)
    summary = folder.read_summary()
    assert summary is not None
    assert summary.benchmarks["bfcl"].outcomes == {"environment_error": 1, "passed": 1}
    weights = folder.read_spec().benchmarks[0].weights
    assert weights == pytest.approx({"simple_python": 10 / 12, "multi_turn_base": 7.5})


def test_what_cannot_be_imported_leaves_nothing(official, tmp_path, settings):
    empty = tmp_path / "empty"
    empty.mkdir()
    places = {tmp_path: "give .*result", empty: "contains no", tmp_path / "no": "is not a folder"}
    for folder, problem in places.items():
        with pytest.raises(UsageError, match=problem):
            taken(folder, tmp_path, settings)
    with pytest.raises(UsageError, match="is not a date"):
        taken(official, tmp_path, settings, date="May")
    result_file(official / "result" / "zz", "live_simple", RIGHT)
    with pytest.raises(UsageError, match="zz answer no entry"):
        taken(official, tmp_path, settings)
    assert open_index(settings).headers() == []
    assert list(settings.runs_dir.glob("*")) == []


def test_the_fetched_data_is_what_results_are_scored_on(official, settings):
    with pytest.raises(UsageError, match="datasets fetch bfcl"):
        import_bfcl_results(BfclImportSource(path=str(official)), settings, silent)
    folder = data_folder(default_folder(settings), {"simple_python": 3, "irrelevance": 2})
    (folder / NOTE_FILE).write_text("{}")
    assert (
        len(import_bfcl_results(BfclImportSource(path=str(official)), settings, silent).created)
        == 1
    )


def test_an_imported_run_goes_out_as_it_came_in(official, tmp_path, settings):
    done = taken(official, tmp_path, settings)
    paths = exporter.export_bfcl_run(
        find_run(done.created[0], settings.run_roots), tmp_path / "out"
    )
    assert (paths.model, paths.answers, paths.failed, paths.left_out) == ("Acme_M-FC", 5, 1, 0)
    first = {result.id: result for result in read_results(official / "result" / "Acme_M-FC")}
    back = {result.id: result for result in read_results(tmp_path / "out" / "result" / "Acme_M-FC")}
    assert {k: (v.answer, v.error, v.mode) for k, v in back.items()} == {
        k: (v.answer, v.error, v.mode) for k, v in first.items()
    }
