"""The scope of an application: what is outside is not asked, has no rank on the full board, and a
board of the scope ranks all targets on the cases inside."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from evalcore.benchmarks.scope import find_scope_problem
from evalcore.cli.main import main
from evalcore.i18n import t
from evalcore.records import Outcome, Sample
from evalcore.store.run_folder import RunFolder
from pages.shared.widgets import OUTCOME_COLOURS
from tests.support.scoped_runs import DESCRIPTION, service, write_cases

__all__ = ["service"]  # a fixture


def sample(dialect: str, sql: str) -> Sample:
    return Sample("m", "1", {"dialect": dialect, "sql": sql})


@pytest.mark.parametrize(
    ("dialect", "sql", "inside"),
    [
        ("PostgreSQL 15", "select 1", True),
        ("postgresql", "WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("Oracle", "SELECT 1 FROM dual", False),
        ("PostgreSQL", "DELETE FROM t", False),
        ("PostgreSQL", "?? what is this", False),
        ("PostgreSQL", "/* SELECT */ DROP TABLE t", False),
    ],
)
def test_a_scope_is_of_dialects_and_of_kinds_of_statements(dialect, sql, inside):
    scope = {"dialects": ("PostgreSQL",), "statements": ("select",)}
    assert (find_scope_problem(scope, sample(dialect, sql)) == "") is inside
    assert find_scope_problem({}, sample(dialect, sql)) == ""


def test_both_dialects_of_a_conversion_count():
    scope = {"dialects": ("Oracle", "PostgreSQL")}
    both = Sample("m", "1", {"source_dialect": "Oracle", "target_dialect": "MySQL", "sql": "x"})
    assert "MySQL" in find_scope_problem(scope, both)


def test_what_is_outside_is_not_sent_and_the_scope_has_a_board(tmp_path, capsys, service):
    url, seen = service
    data, cases = tmp_path / "data", write_cases(tmp_path / "cases")
    (tmp_path / "small.yaml").write_text(DESCRIPTION.format(url=url))

    def run(target: str) -> tuple[int, str]:
        command = ["run", "--target", target, "--benchmarks", "sql_understanding"]
        status = main([*command, "--dataset", cases, "--data", str(data), "--json"])
        return status, json.loads(capsys.readouterr().out.splitlines()[-1])["run_id"]

    status, run_id = run(f"app:{tmp_path / 'small.yaml'}")
    folder = RunFolder(data / "runs" / run_id)
    assert status == 0
    assert len(seen) == 6
    assert folder.read_spec().scope == {"dialects": ("SQLite",)}
    summary = folder.read_summary()
    score = summary.benchmarks["sql_understanding"]
    assert summary.state == "done"
    assert score.outcomes == {"not_applicable": 4, "passed": 6}
    assert (score.complete, score.answered) == (False, 100.0)
    assert main(["resume", run_id, "--data", str(data)]) == 0
    assert main(["rescore", run_id, "--data", str(data)]) == 0
    assert len(seen) == 6
    others = [run("control:reference"), run("control:null")]
    assert [status for status, _ in others] == [0, 0]
    capsys.readouterr()
    assert main(["board", "--scope", run_id, "--data", str(data), "--json"]) == 0
    [board] = json.loads(capsys.readouterr().out)
    assert (board["cases"], board["total"]) == (6, 10)
    assert [row["rank"]["rank"] for row in board["rows"]] == [1, 1, 3]
    assert board["rows"][0]["rank"]["score"] == pytest.approx(100.0)
    assert main(["board", "--scope", run_id, "--data", str(data)]) == 0
    assert "6 of 10 cases (dialects: SQLite)" in capsys.readouterr().out
    assert main(["board", "--scope", others[0][1], "--data", str(data)]) == 2


def test_every_outcome_is_a_word_with_a_title_and_a_colour():
    for outcome in get_args(Outcome):
        for language in ("en", "zh"):
            assert t(f"common.outcome.{outcome}", language)
            assert t(f"methodology.outcome.{outcome}", language)
        assert outcome in OUTCOME_COLOURS
