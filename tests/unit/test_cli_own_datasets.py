"""`evalcore datasets list|validate|add|remove`."""

import json

import pytest

from evalcore.catalog import benchmark_cards
from evalcore.cli.main import main

KEY = "sql_understanding"
LINE = (
    '{"case_id": "a", "difficulty_level": "%s", "dialect": "sqlite", "sql": "SELECT 1 AS a", '
    '"expected": {"result_type": "select", "columns": ["a"], "rows": [[1]]}}\n'
)


@pytest.fixture
def call(capsys, tmp_path):
    def run(*words):
        status = main(["datasets", *map(str, words), "--data", str(tmp_path / "data")])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


@pytest.mark.full
@pytest.mark.slow
def test_add_list_and_remove(call, tmp_path):
    file = tmp_path / "execution_accuracy.jsonl"
    file.write_text(LINE % 1)
    status, out, _ = call("add", file, "--benchmark", KEY, "--name", "mine", "--who", "me")
    assert status == 0
    assert f"--benchmarks {KEY} --dataset mine" in out
    rows = json.loads(call("list", "--json")[1])
    assert len(rows) == len(benchmark_cards()) + 1
    [row] = [row for row in rows if row["origin"] == "own"]
    assert (row["name"], row["samples"], len(row["hash"])) == ("mine", 1, 16)
    status, out, _ = call("remove", "mine", "--benchmark", KEY)
    assert status == 0
    assert "trash" in out
    status, _, err = call("remove", "mine", "--benchmark", KEY)
    assert status == 2
    assert "you have no dataset" in err


def test_validate_tells_every_problem_and_keeps_nothing(call, tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_text(LINE % 9 + "{oops\n")
    status, out, _ = call("validate", file, "--benchmark", KEY)
    assert status == 2
    assert 'line 1, difficulty_level: \'9\' must be "1", "2" or "3"' in out
    assert "line 2: is not JSON" in out
    assert "2 problems" in out
    payload = json.loads(call("validate", file, "--benchmark", KEY, "--json")[1])
    assert [error["line"] for error in payload["validation"]["errors"]] == [1, 2]
    assert not (tmp_path / "data" / "datasets" / "own" / KEY).exists()


def test_what_cannot_be_is_said(call, tmp_path):
    status, _, err = call("validate", tmp_path / "none.jsonl", "--benchmark", KEY)
    assert status == 2
    assert "No such file" in err
    status, _, err = call("validate", tmp_path, "--benchmark", "no_such")
    assert status == 2
