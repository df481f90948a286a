"""Cases found by what was asked and answered, and stepped through within a whole filter."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from evalcore.records import Failure, Sample
from evalcore.store.case_tables import query_case_page
from evalcore.store.run_folder import RunFolder
from evalcore.views import target_scores
from evalcore.views.cases import CaseFilter, case_page, case_view
from tests.support.stored_runs import BENCHMARK, answer, judge, spec_of, summary_of

RUN = "20260101-100000-aaaaaa"
ASKED = {
    "1": ({"question": "Ünits SOLD", "rows": [{"name": "deep down"}]}, "forty two"),
    "2": ({"question": "units left", "sql": "SELECT 2"}, "a percent sign % and _"),
    "3": ({"question": "units left"}, "nothing"),
}
GATED = "2"


def make(root: Path, *, gated: bool = False) -> RunFolder:
    """Three answered cases of one metric and one of another: 1 passed, 2 failed, 3 an error."""
    samples = [
        Sample(
            metric="execution_accuracy",
            id=name,
            input=asked,
            difficulty=int(name),
            meta={"gated": True} if gated and name == GATED else {},
        )
        for name, (asked, _) in ASKED.items()
    ]
    samples.append(Sample(metric="syntax_error_detection", id="1", input={}))
    folder = RunFolder(root / RUN)
    spec = spec_of(RUN)
    benchmark = msgspec.structs.replace(spec.benchmarks[0], samples=len(samples))
    folder.create(
        msgspec.structs.replace(spec, benchmarks=(benchmark,)),
        [(BENCHMARK, sample) for sample in samples],
    )
    failure = Failure(kind="rate_limited", message="slow down")
    for sample, (_, value) in zip(samples, ASKED.values(), strict=False):
        answer(folder, sample, answer=value, failure=failure if sample.id == "3" else None)
    judge(folder, samples[0], passed=True)
    judge(folder, samples[1], passed=False, reason="wrong_answer", note="a row differs")
    judge(folder, samples[2], passed=False, outcome="target_error", score=None)
    judge(folder, samples[3], passed=False, reason="format")
    folder.write_summary(summary_of(spec))
    return folder


def search_ids(root: Path, text: str, **more: bool) -> list[str]:
    cases, count = case_page((root,), RUN, CaseFilter(text=text), **more)
    assert count == len(cases)
    return [str(case) for case in cases["id"]]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ünits sold", ["1"]),
        ("DEEP", ["1"]),
        ("forty", ["1"]),
        ("units left", ["2", "3"]),
        ("row differs", ["2"]),
        ("%", ["2"]),
        ("_", ["2"]),
        ("' OR 1=1 --", []),
        ("leftover", []),
    ],
)
def test_question_answer_and_note_are_searched_as_plain_text(
    tmp_path: Path, text: str, ids: list[str]
) -> None:
    make(tmp_path)
    assert search_ids(tmp_path, text) == ids


def test_of_a_gated_case_only_the_id_is_searched(tmp_path: Path) -> None:
    make(tmp_path, gated=True)
    assert search_ids(tmp_path, "units left") == ["3"]
    assert search_ids(tmp_path, "percent") == search_ids(tmp_path, "row differs") == []
    assert search_ids(tmp_path, GATED) == [GATED]
    assert search_ids(tmp_path, "percent", show_gated=True) == [GATED]


def test_a_long_text_is_searched_from_its_beginning_and_not_listed(tmp_path: Path) -> None:
    folder = make(tmp_path)
    sample = Sample(metric="execution_accuracy", id="1", input={})
    answer(folder, sample, answer="begins " + "x" * 30_000 + " ends")
    assert search_ids(tmp_path, "begins") == ["1"]
    assert search_ids(tmp_path, " ends") == []
    assert "words" not in query_case_page(folder)[0].columns


def test_a_reason_is_that_of_a_failure_or_of_an_error(tmp_path: Path) -> None:
    make(tmp_path)
    whys = target_scores.count_failure_reasons((tmp_path,), RUN, BENCHMARK)
    assert dict(zip(whys["why"], whys["count"], strict=True)) == {
        "wrong_answer": 1,
        "format": 1,
        "rate_limited": 1,
    }
    cases, _ = case_page((tmp_path,), RUN, CaseFilter(why=("rate_limited", "format")))
    assert list(cases["outcome"]) == ["target_error", "failed"]


def test_neighbours_cross_metrics_and_keep_to_every_part_of_the_filter(tmp_path: Path) -> None:
    make(tmp_path)

    def find_position(where: CaseFilter, metric: str = "execution_accuracy", case: str = "2"):
        return case_view((tmp_path,), RUN, metric, case, where=where).position

    failed = find_position(CaseFilter(outcome=("failed",)))
    assert (failed.number, failed.total) == (1, 2)
    assert (failed.next.metric, failed.next.id) == ("syntax_error_detection", "1")
    assert failed.outcomes == {"failed": 2, "passed": 1, "target_error": 1}
    hard = find_position(CaseFilter(difficulty=(2, 3), text="left"))
    assert (hard.number, hard.total, hard.previous) == (1, 2, None)
    assert hard.next.id == "3"
    assert hard.outcomes == {"failed": 1, "target_error": 1}
    outside = find_position(CaseFilter(why=("format",)))
    assert (outside.number, outside.total, outside.next.id) == (None, 1, "1")


def test_a_search_does_not_lead_to_gated_neighbours(tmp_path: Path) -> None:
    make(tmp_path, gated=True)
    where = CaseFilter(text="units")
    view = case_view((tmp_path,), RUN, "execution_accuracy", "1", where=where)
    assert (view.position.total, view.position.next.id) == (1, "3")
