"""Numbers that others report: what is out of range is unknown, and no sum or record breaks."""

from __future__ import annotations

import json
import math

import pytest

from evalcore.intake import (
    COUNT_LIMIT,
    add_counts,
    add_numbers,
    read_cost,
    read_count,
    read_number,
    read_seconds,
)
from evalcore.records import (
    Completion,
    Episode,
    Failure,
    Usage,
    Verdict,
    from_json,
    to_json,
)
from evalcore.results import Progress, RunSummary, Totals, add_usage
from evalcore.runner.summary import compute_totals
from evalcore.settings import Settings
from evalcore.store.index import load_headers, open_index, record_run
from tests.support import stored_runs

ABSURD = (10**30, -1, -(10**30), 2**53, 2**64, math.inf, -math.inf, math.nan, True, "1e999", [1])


@pytest.mark.parametrize("value", [*ABSURD, 12.5, 1e300, None, {}])
def test_what_is_no_count_is_unknown(value):
    assert read_count(value) is None


@pytest.mark.parametrize("value", [0, 1, 12.0, COUNT_LIMIT])
def test_a_count_is_read(value):
    assert read_count(value) == int(value)
    assert type(read_count(value)) is int


@pytest.mark.parametrize("value", [10**30, -1.0, math.inf, math.nan, True, "1", 10**400, None])
def test_what_is_no_number_in_range_is_unknown(value):
    assert read_number(value) is None
    assert read_cost(value) is None
    assert read_seconds(value) is None


def test_sums_stay_in_the_range_that_is_read_again():
    total = None
    for _ in range(1000):
        total = add_counts(total, COUNT_LIMIT)
    assert total == COUNT_LIMIT
    assert add_counts() is None
    assert add_counts(None, 3, None) == 3
    assert add_numbers(1e308, 1e308) is None
    assert add_numbers(1.0, None) is None
    assert add_numbers() == 0.0


@pytest.mark.parametrize("value", [v for v in ABSURD if not isinstance(v, bool | str | list)])
def test_a_record_holds_no_absurd_number(value):
    for record in (
        Usage(input_tokens=value),
        Completion(latency=value, attempts=value),
        Failure(kind="retryable", message="", retry_after=value),
        Episode(key="a", epoch=0, cost=value, latency=value, attempts=value),
        Totals(input_tokens=value, cost=value, requests=value, judge_cost=value),
        Progress(run_id="a", state="done", input_tokens=value, eta=value, requests=value),
    ):
        again = from_json(type(record), to_json(record))
        assert again == record
        for number in json.loads(to_json(record)).values():
            assert not isinstance(number, int | float) or 0 <= number <= 1e15


def test_sums_of_a_run_whose_provider_states_the_largest_count():
    usage = Usage(input_tokens=COUNT_LIMIT, output_tokens=COUNT_LIMIT)
    assert add_usage(usage, usage) == usage
    episodes = [Episode(key=str(n), epoch=0, usage=usage, cost=1e9) for n in range(50)]
    totals = compute_totals(episodes, [], 0.0)
    assert totals.input_tokens == COUNT_LIMIT
    assert totals.cost == 5e10


@pytest.mark.parametrize("value", [10**30, "many", -3, [1], 1.5])
def test_a_panel_that_a_bundle_made_up_is_left_out_of_the_sums(value):
    fair = Verdict("m", "1", "passed", details={"judge_requests": 2, "judge_cost": 0.5})
    made_up = Verdict("m", "2", "passed", details={"judge_requests": value, "judge_cost": 0.5})
    totals = compute_totals([], [fair, made_up], 0.0)
    assert (totals.judge_requests, totals.judge_cost) == (2, 0.5)
    lost = Verdict("m", "3", "passed", details={"judge_requests": 2, "judge_cost": value})
    if value != 1.5:
        assert compute_totals([], [fair, lost], 0.0).judge_cost is None


def test_a_poisoned_run_folder_of_an_older_version_enters_the_index(tmp_path):
    """`10**30` tokens were written to summary.json, and orjson ended there."""
    settings = Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "shipped"))
    folder = stored_runs.finish(settings.runs_dir, "run-1")
    plain = json.loads(folder.summary_path.read_bytes())
    plain["totals"] = {"input_tokens": 10**30, "output_tokens": -4, "cost": 1e300, "requests": 7}
    folder.summary_path.write_text(json.dumps(plain))
    assert isinstance(folder.read_summary(), RunSummary)
    record_run(settings, folder)
    assert open_index(settings).rebuild() == 1
    (header,) = load_headers(settings)
    assert header.totals == Totals(requests=7)
