"""Published answers decided again: by which evidence, each once, and without a look at verdicts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore.cli import main
from evalcore.errors import UsageError
from evalcore.exchange.scale import judge_errors, redecision, verify
from evalcore.exchange.scale.forms import CASES
from evalcore.exchange.scale.published_answers import BlindQuestion, read_published_data
from evalcore.exchange.scale.redecision import Redecider, Redecision
from evalcore.exchange.scale.twins import read_expected_indexes, read_twins
from evalcore.settings import ROOT
from evalcore.sqlkit.engines import Limits
from evalcore.sqlkit.equivalence import Counterexample, Equivalence
from tests.support.engines import server_engine
from tests.support.scale_months import DECIDABLE_MONTHS, DECIDABLE_ROWS, write_decidable_months
from tests.support.scale_tree import TreeBuilder, indicator, row
from tests.support.shared_data import shared_data

TWINS = ROOT / "datasets" / "scale_twins" / "logical_equivalence.jsonl"


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("postgres", "mysql"):
        server_engine(name, Limits()).close()
    root = tmp_path_factory.mktemp("months")
    write_decidable_months(root)
    return root


@pytest.fixture(scope="module")
def verified(
    months: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[verify.VerifiedRow], Path]:
    journal = tmp_path_factory.mktemp("verified") / verify.JOURNAL
    return verify.verify_published_answers(months, TWINS, journal), journal


def test_each_row_gets_the_verdict_of_the_engine(
    verified: tuple[list[verify.VerifiedRow], Path],
) -> None:
    by_case = {(each.row.month, each.row.case_id): each for each in verified[0]}
    assert len(by_case) == len(DECIDABLE_MONTHS) * len(DECIDABLE_ROWS)
    for month in DECIDABLE_MONTHS:
        for number, case in enumerate(DECIDABLE_ROWS, 1):
            each = by_case[month, str(number)]
            decisions = [msgspec.to_builtins(decision) for decision in each.decisions]
            assert each.passed is case[5], (case[:4], decisions)
            assert each.row.passed is case[4]
            assert not each.is_disputed or each.decisive.why


def test_a_question_of_both_months_is_decided_and_journaled_once(
    verified: tuple[list[verify.VerifiedRow], Path],
) -> None:
    lines = verified[1].read_text().splitlines()
    keys = {key for each in verified[0] for key in each.row.questions}
    assert sorted(json.loads(line)["key"] for line in lines) == sorted(keys)


def test_verdicts_are_in_no_question(tmp_path: Path) -> None:
    write_decidable_months(tmp_path)
    before = read_published_data(tmp_path, {})
    for path in (tmp_path / CASES).rglob("*.json"):
        text = path.read_text().replace('"Pass"', '"?"').replace('"Fail"', '"Pass"')
        path.write_text(text.replace('"?"', '"Fail"'))
    after = read_published_data(tmp_path, {})
    assert [row.passed for row in after.rows] == [not row.passed for row in before.rows]
    assert after.questions == before.questions
    assert [row.questions for row in after.rows] == [row.questions for row in before.rows]


_ODD: tuple[Any, ...] = (None, 5, "x", [], {}, [1, None, {"a": []}], True, "(" * 3000, 1e308)
_FIELDS = ("create_table_statements", "insert_statements", "sql", "expected", "key_info", "db_type")


def write_odd_month(root: Path) -> None:
    """A month whose cases have each field of another type than it should have."""
    tree = TreeBuilder(root)
    for number, (capability, name, case, answers, passed, _) in enumerate(DECIDABLE_ROWS):
        rows = []
        for field in (*_FIELDS, "target_dialect", ""):
            for odd in _ODD:
                content = case | {field: odd} if field else case
                args = odd if not field else answers[0]
                answer = {"case_evaluation_count": 1, "model_answer": args}
                text = json.dumps(content)
                rows.append(row(len(rows), passed, case_content=text, model_answers=[answer]))
        tree.report(
            f"2026-{1 + number % 12:02}", f"m{number}", [indicator(name, rows, 1)], capability
        )


def test_cases_with_fields_of_other_types_are_read(tmp_path: Path) -> None:
    write_odd_month(tmp_path)
    data = read_published_data(tmp_path, {})
    assert len(data.rows) == len(DECIDABLE_ROWS) * len(_ODD) * (len(_FIELDS) + 2)
    assert data.questions


@pytest.mark.full
def test_cases_with_fields_of_other_types_are_decided_or_not(months: Path, tmp_path: Path) -> None:
    write_odd_month(tmp_path)
    redecider = Redecider()
    for question in read_published_data(tmp_path, {}).questions.values():
        assert redecider.decide(question).decision != "fault", question
    redecider.close()


class _Interrupt(Exception):
    pass


def test_an_interrupted_verification_goes_on_and_decides_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_decidable_months(tmp_path)
    journal = tmp_path / verify.JOURNAL
    made: Counter[str] = Counter()

    def decide(self: Redecider, question: Any) -> Redecision:
        made[repr(question)] += 1
        return Redecision(True, "valid", "")

    def interrupt(decided: int, total: int, new: int) -> None:
        if new == 4:
            raise _Interrupt

    monkeypatch.setattr(Redecider, "decide", decide)
    with pytest.raises(_Interrupt):
        verify.verify_published_answers(tmp_path, TWINS, journal, progress=interrupt)
    with journal.open("ab") as file:
        file.write(b'{"key":"to')  # a line that a kill has torn
    seen: list[tuple[int, int, int]] = []
    verify.verify_published_answers(
        tmp_path, TWINS, journal, progress=lambda *counts: seen.append(counts)
    )
    assert set(made.values()) == {1}
    assert seen[0][0] == 4
    assert seen[-1][0] == seen[-1][1] == len(made)
    verify.verify_published_answers(tmp_path, TWINS, journal)
    assert set(made.values()) == {1}


def test_a_difference_without_a_database_to_show_it_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_decidable_months(tmp_path)
    questions = read_published_data(tmp_path, {}).questions.values()
    question = next(each for each in questions if each.kind == "equivalence")
    ties = Equivalence("different", counterexample=Counterexample("ties", {}, reason="order"))
    monkeypatch.setattr(redecision, "decide_on_stand_in", lambda *asked: ties)
    redecider = Redecider()
    assert redecider.decide(question).passed is None
    redecider.close()


def test_what_a_missing_engine_left_undecided_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_decidable_months(tmp_path)
    journal = tmp_path / verify.JOURNAL
    absent = Redecision(None, "no_engine", "no server", lasts=False)
    monkeypatch.setattr(Redecider, "decide", lambda self, question: absent)
    first = verify.verify_published_answers(tmp_path, TWINS, journal)
    assert not journal.read_text()
    assert not any(each.passed is not None for each in first)
    present = Redecision(True, "valid", "")
    monkeypatch.setattr(Redecider, "decide", lambda self, question: present)
    second = verify.verify_published_answers(tmp_path, TWINS, journal)
    assert all(each.passed for each in second if each.row.questions)


def test_decisions_by_older_rules_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_decidable_months(tmp_path)
    journal = tmp_path / verify.JOURNAL
    for version, passed in (("0", False), ("1", True)):
        monkeypatch.setattr(verify, "RULES_VERSION", version)
        decision = Redecision(passed, "valid", "")
        monkeypatch.setattr(Redecider, "decide", lambda self, question, made=decision: made)
        rows = verify.verify_published_answers(tmp_path, TWINS, journal)
        assert {each.passed for each in rows if each.row.questions} == {passed}


def test_two_verifications_of_one_folder_do_not_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_decidable_months(tmp_path)
    journal = tmp_path / verify.JOURNAL
    made = Redecision(True, "valid", "")
    monkeypatch.setattr(Redecider, "decide", lambda self, question: made)
    refused = []

    def try_again(decided: int, total: int, new: int) -> None:
        if new == 1:
            with pytest.raises(UsageError, match="another process"):
                verify.verify_published_answers(tmp_path, TWINS, journal)
            refused.append(new)

    verify.verify_published_answers(tmp_path, TWINS, journal, progress=try_again)
    assert refused


def test_errors_and_corrected_scores_add_up(
    months: Path, verified: tuple[list[verify.VerifiedRow], Path]
) -> None:
    errors = judge_errors.count_judge_errors(verified[0])
    assert {(each.month, each.target) for each in errors} == {
        (m, "acme-1") for m in DECIDABLE_MONTHS
    }
    wrong = [row for row in DECIDABLE_ROWS if row[5] is not None and row[5] != row[4]]
    for month in DECIDABLE_MONTHS:
        mine = [each for each in errors if each.month == month]
        assert sum(each.false_pass for each in mine) == sum(row[4] for row in wrong)
        assert sum(each.false_fail for each in mine) == sum(not row[4] for row in wrong)
        assert {each.by for each in mine if each.capability == "sql_understanding"} == {
            "expectation"
        }
        assert all(each.low <= each.error_rate <= each.high for each in mine if each.decided)
        assert all(each.error_rate is None for each in mine if not each.decided)
    for score in judge_errors.correct_boards(months, verified[0]):
        rows = [row for row in DECIDABLE_ROWS if row[0] == score.capability]
        right = [row[4] if row[5] is None else row[5] for row in rows]
        assert score.published == 75.0
        assert score.recomputed == round(100 * sum(row[4] for row in rows) / len(rows), 1)
        assert score.corrected == round(100 * sum(right) / len(rows), 1)
        share = sum(row[5] is not None for row in rows) / len(rows)
        assert score.decided == round(100 * share, 1)
        assert score.corrected_by == "Evalboard"
        assert score.published_by == "SCALE"


def test_files_of_a_hostile_model_hold_no_formula_and_no_markup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_decidable_months(tmp_path, "=1+1|<b>`x`")
    made = Redecision(True, "valid", "")
    monkeypatch.setattr(Redecider, "decide", lambda self, question: made)
    rows = verify.verify_published_answers(tmp_path, TWINS, tmp_path / verify.JOURNAL)
    out = tmp_path / "out"
    judge_errors.write_judge_errors(out, judge_errors.count_judge_errors(rows))
    judge_errors.write_corrected_boards(out, judge_errors.correct_boards(tmp_path, rows))
    for stem in ("judge_errors", "corrected_board"):
        assert ",'=1+1|<b>`x`," in (out / f"{stem}.csv").read_text()
        assert "<b>" not in (out / f"{stem}.md").read_text()
        assert json.loads((out / f"{stem}.json").read_text())[0]["target"] == "=1+1|<b>`x`"


def test_the_command_prints_one_line_of_json_and_writes_its_files(
    months: Path,
    verified: tuple[list[verify.VerifiedRow], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = tmp_path / verify.JOURNAL  # the decisions are there, so no engine starts
    target.parent.mkdir(parents=True)
    target.write_bytes(verified[1].read_bytes())
    out = tmp_path / "differences.jsonl"
    common = ["verify", "scale", str(months), "--data", str(tmp_path), "--jobs", "1"]
    flags = ["--out", str(out), "--report", str(tmp_path / "r"), "--export", str(tmp_path / "b")]
    assert main.main([*common, *flags, "--json"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1
    report = json.loads(printed[0])
    part = report["sql_optimization"]
    assert {"answers", "eligible", "decided", "agree", "by_case", "by_metric"} <= set(part)
    for name in ("answers", "eligible", "decided", "agree"):
        assert part[name] == sum(counts[name] for counts in part["by_case"].values())
    assert len(out.read_text().splitlines()) == len(verify.list_disagreements(report))
    assert {path.name for path in (tmp_path / "b").iterdir()} == {
        f"corrected_board.{suffix}" for suffix in ("json", "csv", "md")
    }
    assert main.main(common) == 0
    assert "eligible answers decided" in capsys.readouterr().out


def test_a_folder_without_reports_is_refused(tmp_path: Path, capsys: Any) -> None:
    assert main.main(["verify", "scale", str(tmp_path), "--data", str(tmp_path)]) == 2
    assert "evaluation_case_reports" in capsys.readouterr().err
    assert main.main(["verify", "scale", str(tmp_path), "--jobs", "0"]) == 2
    assert "--jobs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("prose", "indexes", "flags", "is_whole"),
    [
        ("给 users 表的 username 列加索引", ["users (username)"], "", True),
        ("在orders表的b,a列创建索引，顺序为a,b", ["orders (a, b)"], "", True),
        ("在o表的a,b列创建复合索引，要求b列在最左", [], "", False),
        ("分别给p表的a，b列添加单列索引", [], "", False),
        ("给p表的a列和b列创建单列索引", [], "", False),
        ("在a表的x列创建索引，并且在b表的y列创建索引", [], "", False),
        ("以下两种情况均可：\n1. 无性能问题\n2. 在t表的c列添加索引", ["t (c)"], "none", True),
        ("like前模糊无法走索引，无法通过索引解决", [], "cannot", True),
        ("情况1：\n1. 在t表的c列创建索引\n2. 在u表的d列创建索引", [], "", False),
        ("给 t 表的 c 列加索引，消除临时表和文件排序", ["t (c)"], "", True),
    ],
)
def test_what_a_case_names_in_prose_is_read_or_left(
    prose: str, indexes: list[str], flags: str, is_whole: bool
) -> None:
    expected, whole = read_expected_indexes(prose, "mysql")
    assert [index.target for index in expected.alternatives] == indexes
    assert (expected.none_ok, expected.cannot_ok) == (flags == "none", flags == "cannot")
    assert whole is is_whole


@pytest.mark.full
def test_a_killed_command_goes_on_with_all_workers(
    months: Path, verified: tuple[list[verify.VerifiedRow], Path], tmp_path: Path
) -> None:
    """What two workers decide, with a kill between, is what one process decides."""
    journal = tmp_path / verify.JOURNAL
    command = [sys.executable, "-m", "evalcore", "verify", "scale", str(months)]
    command += ["--data", str(tmp_path), "--jobs", "2", "--json"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    while first.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.05)
    if first.poll() is None:
        os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    decisions = [json.loads(line) for line in journal.read_text().splitlines()]
    expected = [json.loads(line) for line in verified[1].read_text().splitlines()]
    assert len({line["key"] for line in decisions}) == len(decisions) == len(expected)
    verdicts = {line["key"]: line["decision"].get("passed") for line in expected}
    assert {line["key"]: line["decision"].get("passed") for line in decisions} == verdicts


@pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.full)])
def test_published_answers_are_mostly_decided_as_published(step: int, tmp_path: Path) -> None:
    """Of the real month every case; in `make test` the first of each metric and one target."""
    published = shared_data("scale/public/data")
    for name in ("postgres", "mysql"):
        server_engine(name, Limits()).close()
    for path in published.glob(f"{CASES}/*/*/{'*' if step == 1 else 'gpt-5.5'}.json"):
        report = json.loads(path.read_text())
        for part in report:
            part["case_datas"] = part["case_datas"][::step]
        target = tmp_path / path.relative_to(published)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(report))
    jobs = len(os.sched_getaffinity(0)) if step == 1 else 1
    rows = verify.verify_published_answers(tmp_path, TWINS, tmp_path / "journal.jsonl", jobs=jobs)
    report = verify.summarize_agreement(rows)
    for entry in verify.list_disagreements(report):
        assert entry["why"]
        assert entry["decision"] != "different" or entry["counterexample"]["tables"]
    conversion = report["dialect_conversion"]["by_metric"]["logical_equivalence"]
    rewrite = report["sql_optimization"]["by_metric"]["logical_equivalence"]
    if step > 1:  # too few for a share
        assert report["sql_optimization"]["decided"] > 0
        return
    assert conversion["decided"] >= 0.7 * conversion["eligible"] > 0
    assert rewrite["decided"] >= 0.8 * rewrite["eligible"] > 0
    for part in (conversion, rewrite):  # one of the few answers of a single target may differ
        assert part["decided"] - part["agree"] <= max(1, 0.07 * part["decided"])


def test_every_twin_can_be_read() -> None:
    assert all(twin.questions for twin in read_twins(TWINS).values())


@pytest.mark.parametrize(
    ("sql", "named", "passed"),
    [
        ("BEGIN TRANSACTION; COMMIT", False, None),
        ("BEGIN TRANSACTION; COMMIT", True, False),
        ("SELEC 1", False, False),
        ("SELECT 1", False, True),
    ],
)
def test_what_another_database_takes_is_no_error_of_an_unnamed_one(
    sql: str, named: bool, passed: bool | None
) -> None:
    case = {"sql": sql, "named": named}
    question = BlindQuestion("label", "mysql", '{"has_syntax_error": "no"}', "MySQL", case=case)
    redecider = Redecider()
    assert redecider.decide(question).passed is passed
    redecider.close()
