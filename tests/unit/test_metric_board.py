"""One metric across the targets of a board: ranks, counts, levels, causes, what is missing."""

import shutil

import pandas as pd
import pytest

from evalcore.benchmarks.sql_understanding.card import CARD
from evalcore.store.journal import Journal
from evalcore.store.run_folder import StoredVerdict, list_run_folders
from evalcore.views import boards, case_points, metric_board, stored_boards
from tests.support.boards import BENCHMARK, SCORING, Plan, make_run, settings_in
from tests.support.headers import header, score

METRIC = CARD.metrics[0].key
STRONG = Plan(target="openai:strong", skill=0.85, price=0.002)
WEAK = Plan(target="openai:weak", skill=0.3)


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path)


def first_board(settings):
    return boards.list_boards(stored_boards.load_run_headers(settings), "sql")[0]


def shown(settings, metric=METRIC):
    """The frame and the cases that it rests on."""
    board = first_board(settings)
    paths = case_points.ensure_case_tables(list_run_folders(settings.run_roots))
    metric_cases = metric_board.metric_cases(paths, BENCHMARK, metric)
    view = stored_boards.board_metric(settings, board, BENCHMARK, metric)
    assert view.cases == metric_cases.cases["id"].nunique()
    return view.standing, metric_cases


def failing(settings, standing, result):
    return metric_board.summarize_failures(standing, result).set_index(["identity", "cause"])


def test_ranks_scores_and_counts_are_those_of_the_metric_alone(settings):
    other = CARD.metrics[1].key
    make_run(settings, Plan(target="openai:a", skills={METRIC: 0.9, other: 0.1}))
    make_run(settings, Plan(target="openai:b", skills={METRIC: 0.1, other: 0.9}))
    frame, result = shown(settings)
    assert list(frame["identity"]) == ["openai:a", "openai:b"]
    assert list(frame["rank"]) == [1, 2]
    assert list(shown(settings, other)[0]["identity"]) == ["openai:b", "openai:a"]
    headers = {run.identity: run for run in stored_boards.load_run_headers(settings)}
    for _, row in frame.iterrows():
        value, low, high, samples = headers[row["identity"]].benchmarks[BENCHMARK].metrics[METRIC]
        assert (row["score"], row["low"], row["high"]) == (value, low, high)
        assert row["cases"] == samples == 20
    own = result.cases[result.cases["run"] == frame["run_id"][0]]
    assert frame["passed"][0] == own["passed"].sum()
    assert 100 * (own["difficulty"] * own["score"]).sum() / own["difficulty"].sum() == (
        pytest.approx(frame["score"][0], abs=0.01)
    )


def test_difficulties_are_means_of_their_cases_and_shown_only_where_they_differ(settings):
    make_run(settings, STRONG)
    frame, result = shown(settings)
    assert metric_board.level_columns(frame) == ["level/1", "level/2", "level/3"]
    easy = result.cases[result.cases["difficulty"] == 1]
    assert frame["level/1"][0] == pytest.approx(100 * easy["score"].mean())
    assert metric_board.level_columns(frame.drop(columns=["level/2", "level/3"])) == []


def test_cost_is_a_mean_a_case_and_unknown_where_a_price_is(settings):
    make_run(settings, STRONG)
    make_run(settings, Plan(target="openai:unpriced", price=None))
    make_run(settings, Plan(target="baseline:sqlglot", price=0.0))
    costs = shown(settings)[0].set_index("identity")["cost"]
    assert costs["openai:strong"] == pytest.approx(0.002)
    assert pd.isna(costs["openai:unpriced"])
    assert costs["baseline:sqlglot"] == 0.0
    assert list(shown(settings)[0]["latency"]) == pytest.approx([0.8] * 3)


def test_equal_targets_share_a_rank_and_a_group(settings):
    for name in "abc":
        make_run(settings, Plan(target=f"openai:{name}", skill=1.0))
    frame, _ = shown(settings)
    assert list(frame["rank"]) == [1, 1, 1]
    assert list(frame["group"]) == [1, 1, 1]


def test_controls_and_incomplete_runs_take_no_rank_and_come_below(settings):
    for plan in (STRONG, Plan(target="openai:cut", failing=4), Plan(target="control:null")):
        make_run(settings, plan)
    frame, _ = shown(settings)
    assert list(frame["status"]) == ["ranked", "incomplete", "control"]
    assert frame["rank"].isna().tolist() == [False, True, True]


def test_the_lines_are_the_complete_controls(settings):
    headers = [
        header("control:null", 1, **{BENCHMARK: score(metrics={METRIC: (4.0, 1.0, 9.0, 20)})}),
        header(
            "control:reference", 1, **{BENCHMARK: score(metrics={METRIC: (100.0, 99, 100, 20)})}
        ),
        header(
            "control:noop", 1, **{BENCHMARK: score(complete=False, metrics={METRIC: (2, 1, 3, 20)})}
        ),
        header("openai:a", 1, **{BENCHMARK: score(metrics={METRIC: (50.0, 40.0, 60.0, 20)})}),
    ]
    board = boards.list_boards(headers, "sql")[0]
    lines = metric_board.find_control_lines(headers, board, BENCHMARK, METRIC)
    assert lines == {"null": 4.0, "reference": 100.0}


def test_a_metric_without_cases_has_no_rows_never_a_zero(settings):
    headers = [header("openai:a", 1, **{BENCHMARK: score(metrics={METRIC: (0.0, None, None, 0)})})]
    board = boards.list_boards(headers, "sql")[0]
    metric_cases = metric_board.metric_cases([], BENCHMARK, METRIC)
    frame = metric_board.metric_board(headers, board, BENCHMARK, METRIC, metric_cases.cases)
    assert frame.empty
    assert list(metric_board.summarize_failures(frame, metric_cases).columns) == [
        "identity",
        "cause",
        "count",
        "share",
    ]
    assert metric_board.find_metric_weight(metric_cases.cases) is None
    assert metric_board.evidence_shares(metric_cases.cases) == {}


def test_a_run_that_cannot_be_read_is_listed_and_not_ranked(settings):
    make_run(settings, STRONG)
    broken = make_run(settings, Plan(target="openai:broken", skill=0.99))
    shutil.rmtree(broken.path / "verdicts")
    (broken.path / "samples.jsonl").write_text("{torn", encoding="utf-8")
    frame, _ = shown(settings)
    assert dict(zip(frame["identity"], frame["status"], strict=True)) == {
        "openai:strong": "ranked",
        "openai:broken": "unreadable",
    }
    assert pd.isna(frame["cases"][1])


def test_failures_add_up_to_what_did_not_pass(settings):
    for plan in (STRONG, WEAK, Plan(target="control:null", skill=0.0)):
        make_run(settings, plan)
    frame, result = shown(settings)
    causes = failing(settings, frame, result)
    assert set(causes.index.get_level_values("identity")) == {"openai:strong", "openai:weak"}
    missed = (frame["cases"] - frame["passed"])[frame["status"] == "ranked"]
    counts = causes.groupby("identity", sort=False)["count"].sum()
    assert list(counts) == list(missed)
    assert causes["share"].sum() == pytest.approx(missed.sum() / 20)


def test_rare_and_unknown_causes_go_together(settings):
    folder = make_run(settings, Plan(target="openai:a", skill=0.0))
    with Journal(folder.path / "verdicts" / SCORING / "w2.jsonl") as journal:
        for number, stored in enumerate(list(folder.read_verdicts(SCORING))):
            kind = "" if number == 0 else f"kind{min(number, 12):02}"
            verdict = stored.verdict
            fields = {name: getattr(verdict, name) for name in ("metric", "id", "outcome", "score")}
            message = type(verdict)(**fields, reason=kind)
            journal.append(StoredVerdict(benchmark=BENCHMARK, verdict=message))
    frame, result = shown(settings)
    causes = failing(settings, frame, result)["count"].droplevel("identity")
    assert causes["kind12"] == 8
    assert len(causes) == metric_board.MAX_CAUSES + 1
    assert causes.index[-1] == metric_board.OTHER
    assert causes.sum() == 20


def test_the_weight_and_the_evidence_are_those_of_the_cases(settings):
    make_run(settings, STRONG)
    _, result = shown(settings)
    assert metric_board.find_metric_weight(result.cases) == CARD.metrics[0].weight
    assert metric_board.evidence_shares(result.cases) == {"executed": 1.0}
    mixed = result.cases.assign(evidence=["judged"] * 5 + ["executed"] * 15)
    assert metric_board.evidence_shares(mixed) == {"executed": 0.75, "judged": 0.25}


def test_repetitions_count_as_a_share_of_a_case():
    cases = pd.DataFrame(
        {
            "run": "r",
            "id": ["1", "2"],
            "difficulty": [1, 1],
            "case_weight": [1.0, 1.0],
            "weight": [1.0, 1.0],
            "tries": [4, 4],
            "score": [0.25, 1.0],
            "passed": [0.25, 1.0],
            "unusable": [False, False],
            "evidence": ["checked", "checked"],
            "cost": [0.1, 0.3],
            "unpriced": [False, False],
            "latency": [1.0, 3.0],
        }
    )
    headers = [
        header("openai:a", 1, run="r", **{BENCHMARK: score(metrics={METRIC: (62.5, 1.0, 99.0, 2)})})
    ]
    board = boards.list_boards(headers, "sql")[0]
    row = metric_board.metric_board(headers, board, BENCHMARK, METRIC, cases).iloc[0]
    assert (row["passed"], row["cases"]) == (1.25, 2)
    assert (row["cost"], row["latency"]) == (pytest.approx(0.2), 2.0)
    cases["unusable"] = [True, False]
    row = metric_board.metric_board(headers, board, BENCHMARK, METRIC, cases).iloc[0]
    assert (row["passed"], row["cases"]) == (1.0, 1)
