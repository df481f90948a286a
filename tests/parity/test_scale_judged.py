"""SCALE's published judged results, reproduced from the votes in its own process log."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.sql_scoring import score_recorded_votes
from evalcore.exchange.scale import cases
from evalcore.judges import recorded
from evalcore.judges.recorded import read_votes
from tests.support.shared_data import shared_data

#: The one judged log of the sample: one judge, three runs of each case.
LOG = (
    "public/data/evaluation_process_detail_logs/eval_run_logs_2026-06/qwen3.6-35b-a3b/"
    "dialect_conversion/big_sql_conversion.log"
)
CASES, RUNS = 15, 3


@pytest.fixture(scope="module")
def log():
    return cases.read_process_log(shared_data("scale") / LOG)


def as_objects(votes):
    return [{"judge": vote.judge, "run": vote.run, "vote": vote.vote} for vote in votes]


def as_replies(votes):
    """A list of the replies of each run, as they were written."""
    runs: dict[int, list[str]] = {}
    for vote in votes:
        runs.setdefault(vote.run, []).append(vote.text)
    return [runs[run] for run in sorted(runs)]


def test_the_log_holds_what_is_to_be_reproduced(log):
    assert len(log.finals) == CASES
    assert len(log.votes) == CASES * RUNS
    assert {len(list(votes)) for _, votes in cases.group_votes(log.votes)} == {RUNS}
    split = {
        case for case, votes in cases.group_votes(log.votes) if len({v.vote for v in votes}) > 1
    }
    assert split == {"4", "12"}


@pytest.mark.parametrize("form", [as_objects, as_replies])
def test_every_final_result_follows_from_the_votes(log, form):
    forms = {case: form(votes) for case, votes in cases.group_votes(log.votes)}
    case_passes = {
        case: recorded.case_passes(read_votes(votes, by_rules=False))
        for case, votes in forms.items()
    }
    assert case_passes == log.finals


@pytest.mark.parametrize("form", [as_objects, as_replies])
def test_the_rulings_say_so(log, form):
    for case, votes in cases.group_votes(log.votes):
        ruling = score_recorded_votes(form(votes), by_rules=False)
        assert (ruling.outcome == "passed") == log.finals[case]
        assert ruling.details["judge_runs"] == RUNS
        assert ruling.details["judge_split"] == (case in {"4", "12"})
