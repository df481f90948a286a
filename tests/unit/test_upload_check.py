"""Uploads before the loaders of the benchmarks: templates pass, every mistake is told once."""

import json
import shutil

import pytest

from evalcore import catalog
from evalcore.runner import uploads
from evalcore.runner.jobs import TaskContext
from evalcore.runner.jobs.dataset_service import describe_templates, validate_upload
from evalcore.runner.uploads import MAX_ERRORS, Upload, find_upload_form
from evalcore.settings import Settings

KEY, PART = "sql_understanding", "execution_accuracy"
SETTINGS = Settings()


def checked(tmp_path, text, *, key=KEY, part=PART, file="x.jsonl"):
    content = text if isinstance(text, bytes) else text.encode()
    ready = tmp_path / "ready"
    shutil.rmtree(ready, ignore_errors=True)
    return validate_upload(TaskContext(SETTINGS), Upload(key, file, content, part), str(ready))


def rows(key=KEY, part=PART, count=2):
    return uploads.bundled_rows(key, part, SETTINGS)[:count]


def lines(*cases):
    return "".join(json.dumps(case) + "\n" for case in cases)


def places(result):
    return [(error.line, error.field) for error in result.errors]


#: Benchmarks whose cases come one file at a time; those of tau_bench have a test of their own, and
#: tasks of lm-evaluation-harness are folders.
BY_FILE = [
    key
    for key, card in catalog.benchmark_cards().items()
    if key != "tau_bench" and not card.open_metrics
]


@pytest.mark.parametrize("key", BY_FILE)
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_the_templates_of_every_benchmark_can_be_handed_in(tmp_path, key, form):
    part = find_upload_form(key).parts[0]
    [made] = describe_templates(TaskContext(SETTINGS), key, [part])
    required = {field.name for field in made.fields if field.required}
    assert find_upload_form(key).identity in required
    report = checked(tmp_path, getattr(made, form), key=key, part=part, file=f"x.{form}")
    assert report.errors == ()
    assert report.summary.samples >= 2
    assert len(report.summary.hash) == 16
    assert report.preview[0].text


def test_own_tasks_of_tau_bench_are_played_on_the_bundled_tables(tmp_path):
    [task] = rows("tau_bench", "retail", 1)
    report = checked(tmp_path, lines(task), key="tau_bench", part="retail")
    assert (report.errors, report.summary.metrics) == ((), {"retail": 1})
    assert (tmp_path / "ready" / "retail" / "users.json").is_file()
    wrong = task | {"actions": "none"}
    report = checked(tmp_path, lines(task, wrong), key="tau_bench", part="retail")
    assert [error.line for error in report.errors] == [2]


def test_cases_of_several_metrics_come_in_one_file(tmp_path):
    first, second = rows()[0], rows(part="sql_identification")[0]
    report = checked(tmp_path, lines(first, second | {"metric": "sql_identification"}))
    assert report.summary.metrics == {PART: 1, "sql_identification": 1}
    assert {path.name for path in (tmp_path / "ready").iterdir()} == {
        f"{PART}.jsonl",
        "sql_identification.jsonl",
    }


def test_every_mistake_of_every_line_is_told(tmp_path):
    good = rows()[0]
    bad = good | {"case_id": "x", "difficulty_level": "9", "dialect": "klingon", "sql": ""}
    torn = good | {"case_id": "y", "expected": {"columns": ["a"]}}
    report = checked(tmp_path, lines(good, bad, good) + "{oops\n" + lines(torn))
    assert places(report) == [
        (2, "dialect"),
        (2, "difficulty_level"),
        (2, "sql"),
        (3, "case_id"),
        (4, ""),
        (5, "expected"),
    ]
    assert "is already on line 1" in report.errors[3].problem
    assert not report.more
    assert report.summary.samples == 0


MISTAKES = {
    "no id": ({"case_id": None}, "case_id"),
    "id of a wrong type": ({"case_id": ["a"]}, "case_id"),
    "text is a number": ({"sql": 7}, "sql"),
    "list is an object": ({"create_table_statements": {"a": 1}}, "create_table_statements"),
    "list of numbers": ({"insert_statements": [1, 2]}, "insert_statements"),
    "truth is a text": ({"order_matters": "yes"}, "order_matters"),
    "object is a list": ({"expected": []}, "expected"),
    "a row too short": (
        {"expected": {"result_type": "select", "columns": ["a", "b"], "rows": [[1]]}},
        "expected.rows",
    ),
    "rows are a text": (
        {"expected": {"result_type": "select", "columns": [], "rows": "x"}},
        "expected",
    ),
    "unknown metric": ({"metric": "no_such"}, "metric"),
    "metric is an object": ({"metric": {"a": 1}}, "metric"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_by_its_field(tmp_path, name):
    changes, field = MISTAKES[name]
    report = checked(tmp_path, lines(rows()[1], rows()[0] | changes))
    assert places(report) == [(2, field)]


def test_what_no_loader_foresaw_is_an_error_of_its_line(tmp_path):
    hostile = rows()[0] | {"sql": "SELECT " + "(" * 20_000}
    report = checked(tmp_path, lines(rows()[1], hostile))
    assert report.ok or [error.line for error in report.errors] == [2]


def test_no_path_leads_out_of_the_folder(tmp_path):
    [question] = rows("gaia", "validation", 1)
    for name in ("../../etc/passwd", "/etc/passwd", "x.csv"):
        report = checked(
            tmp_path, lines(question | {"file_name": name}), key="gaia", part="validation"
        )
        assert places(report) == [(1, "file_name")]
        assert str(tmp_path) not in report.errors[0].problem


def test_the_list_of_errors_ends_somewhere(tmp_path):
    report = checked(tmp_path, "{oops\n" * 1_000)
    assert (len(report.errors), report.more) == (MAX_ERRORS, True)


def test_columns_know_what_is_json():
    columns = uploads.list_csv_columns(KEY, SETTINGS)
    assert columns["metric"] is columns["sql"] is columns["case_id"] is False
    assert columns["expected"] is columns["create_table_statements"] is True
