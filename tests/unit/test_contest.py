"""Several runs side by side: who takes part, what is never mixed, who is best, who wins."""

from __future__ import annotations

from operator import itemgetter

import msgspec
import pytest

from evalcore.errors import UsageError
from evalcore.scoring.intervals import compare_paired
from evalcore.views import comparison, comparison_runs
from evalcore.views.stored_boards import load_run_headers
from tests.support.boards import BENCHMARK, Plan, make_run, settings_in
from tests.support.page_stores import CORRUPT, corrupt_run
from tests.support.stored_runs import plan


@pytest.fixture
def store(tmp_path):
    """`store(Plan, ...)`: the ids of new runs; `store.roots` and `store.settings` are where."""
    settings = settings_in(tmp_path)

    def made(*plans: Plan) -> list[str]:
        return [make_run(settings, item).run_id for item in plans]

    made.settings, made.roots = settings, settings.run_roots
    return made


def rewrite_level(folder, level: int) -> None:
    summary = folder.read_summary()
    score = msgspec.structs.replace(summary.benchmarks[BENCHMARK], level=level)
    folder.write_summary(msgspec.structs.replace(summary, benchmarks={BENCHMARK: score}))


def test_letters_follow_the_order_asked_for_and_repetitions_are_dropped(store):
    a, b = store(Plan("openai:a"), Plan("openai:b"))
    who = comparison_runs.load_lineup(store.roots, [b, a, b])
    assert [(compared.letter, compared.run_id) for compared in who.compared] == [("A", b), ("B", a)]
    assert who.find_compared_run(a).letter == "B"
    with pytest.raises(UsageError, match="not among"):
        who.find_compared_run("gone")


@pytest.mark.parametrize("count", [0, 1, 9])
def test_two_to_eight_runs_are_compared(count):
    with pytest.raises(UsageError, match="2 to 8"):
        comparison_runs.validate_compared_runs([f"run-{n}" for n in range(count)])
    with pytest.raises(UsageError, match="2 to 8"):
        comparison_runs.validate_compared_runs(["same", "same"])


def test_runs_that_cannot_be_read_are_absent_with_the_reason(store):
    [good] = store(Plan("openai:a"))
    corrupt_run(store.settings.runs_dir)
    plan(store.settings.runs_dir, "planned")
    who = comparison_runs.load_lineup(store.roots, [CORRUPT, "planned", good, "../../etc", "gone"])
    kinds = {excluded.run_id: excluded.kind for excluded in who.excluded}
    assert kinds == {
        CORRUPT: "broken",
        "planned": "unscored",
        "../../etc": "missing",
        "gone": "missing",
    }
    assert [compared.letter for compared in who.compared] == ["A"]


def test_the_signature_follows_the_files_and_knows_runs_that_are_gone(store):
    runs = store(Plan("openai:a"), Plan("openai:b"))
    before = comparison_runs.compute_lineup_signature(store.roots, [*runs, "gone"])
    assert before == comparison_runs.compute_lineup_signature(store.roots, [*runs, "gone"])
    (store.settings.runs_dir / runs[1] / "summary.json").touch()
    assert comparison_runs.compute_lineup_signature(store.roots, [*runs, "gone"]) != before


def test_columns_are_never_mixed(store):
    runs = store(
        Plan("openai:a", skill=0.9),
        Plan("openai:b", skill=0.2),
        Plan("openai:c", skill=0.99, mode="official"),
    )
    who = comparison_runs.load_lineup(store.roots, runs)
    first, second = comparison.group_compared_runs(who)
    assert (first.letters, second.letters) == (["A", "B"], ["C"])
    assert [mark.best for mark in first.marks] == [True, False]
    assert [mark.best for mark in second.marks] == [False]
    sides = comparison.find_comparable_runs(who, who.compared[0])
    assert [item.letter for item in sides[BENCHMARK]] == ["A", "B"]
    assert comparison.find_comparable_runs(who, who.compared[2]) == {}
    [obstacle] = comparison_runs.find_incompatibilities(who, who.compared[0])
    assert (obstacle.letter, obstacle.kind) == ("C", "rules")
    assert [(d.rule, d.base, d.other) for d in obstacle.differences] == [
        ("options.mode", "verified", "official")
    ]


def test_what_was_scored_anew_by_other_rules_is_not_compared(store):
    runs = store(Plan("openai:a"), Plan("openai:b"))
    folder = comparison_runs.find_lineup_folders(
        store.roots, comparison_runs.load_lineup(store.roots, runs)
    )[1]
    summary = folder.read_summary()
    score = msgspec.structs.replace(summary.benchmarks[BENCHMARK], column="rescored")
    folder.write_summary(msgspec.structs.replace(summary, benchmarks={BENCHMARK: score}))
    who = comparison_runs.load_lineup(store.roots, runs)
    assert comparison.find_comparable_runs(who, who.compared[0]) == {}
    [obstacle] = comparison_runs.find_incompatibilities(who, who.compared[0])
    assert (obstacle.kind, obstacle.differences) == ("rules", ())


def test_a_bare_claim_is_shown_and_never_compared(store):
    runs = store(Plan("openai:a", skill=0.2), Plan("openai:b", skill=0.9))
    rewrite_level(
        comparison_runs.find_lineup_folders(
            store.roots, comparison_runs.load_lineup(store.roots, runs)
        )[1],
        0,
    )
    who = comparison_runs.load_lineup(store.roots, runs)
    [group] = comparison.group_compared_runs(who)
    assert [(mark.claimed, mark.best) for mark in group.marks] == [(False, False), (True, False)]
    assert comparison.find_comparable_runs(who, who.compared[0]) == {}
    assert [
        incompatibility.kind
        for incompatibility in comparison_runs.find_incompatibilities(who, who.compared[0])
    ] == ["claimed"]


def test_controls_and_incomplete_runs_are_never_the_best(store):
    runs = store(
        Plan("control:reference", skill=1.0),
        Plan("openai:a", skill=0.9, failing=3),
        Plan("openai:b", skill=0.5),
        Plan("openai:c", skill=0.3),
    )
    [group] = comparison.group_compared_runs(comparison_runs.load_lineup(store.roots, runs))
    assert [mark.best for mark in group.marks] == [False, False, True, False]
    assert [mark.complete for mark in group.marks] == [True, False, True, True]


def test_equals_have_no_best_and_ties_at_the_top_share_it(store):
    same = comparison_runs.load_lineup(
        store.roots, store(Plan("openai:a", skill=1.0), Plan("openai:b", skill=1.0))
    )
    assert not any(mark.best for mark in comparison.group_compared_runs(same)[0].marks)
    runs = [*(compared.run_id for compared in same.compared), *store(Plan("openai:c", skill=0.1))]
    [group] = comparison.group_compared_runs(comparison_runs.load_lineup(store.roots, runs))
    assert [mark.best for mark in group.marks] == [True, True, False]
    for line in group.metrics:
        assert [mark.best for mark in line.marks] == [True, True, False]


def test_pairs_are_those_of_the_paired_statistics_and_mirror_each_other(store):
    runs = store(*(Plan(f"openai:m{n}", skill=0.2 + 0.2 * n) for n in range(4)))
    who = comparison_runs.load_lineup(store.roots, runs)
    scores = comparison.load_lineup_scores(store.roots, who)
    with_base = comparison.compare_with_base(
        scores, BENCHMARK, comparison.find_comparable_runs(who, who.compared[0])[BENCHMARK]
    )
    assert (with_base.base, set(with_base.pairs), with_base.common) == ("A", {"B", "C", "D"}, 80)
    sides = {run: rows.set_index(["metric", "id"]) for run, rows in scores.groupby("run")}
    weights = sides[runs[0]]["weight"].to_dict()
    own = [sides[run]["score"].to_dict() for run in runs]
    for letter, mine in zip("BCD", own[1:], strict=True):
        assert with_base.pairs[letter].result == compare_paired(
            mine, own[0], weights, itemgetter(0)
        )
    back = comparison.compare_with_base(
        scores, BENCHMARK, comparison.find_comparable_runs(who, who.compared[3])[BENCHMARK]
    )
    there, here = with_base.pairs["D"].result, back.pairs["A"].result
    assert (there.wins, there.losses, there.p) == (here.losses, here.wins, here.p)
    assert there.difference == pytest.approx(-here.difference)


def test_the_differing_cases_are_all_and_the_weightiest_first(store):
    runs = store(Plan("openai:a", skill=0.3), Plan("openai:b", skill=0.6), Plan("openai:c"))
    who = comparison_runs.load_lineup(store.roots, runs)
    scores = comparison.load_lineup_scores(store.roots, who)
    with_base = comparison.compare_with_base(
        scores, BENCHMARK, comparison.find_comparable_runs(who, who.compared[0])[BENCHMARK]
    )
    table = scores.pivot(index=["metric", "id"], columns="run", values="score")
    expected = set(table.index[table.nunique(axis=1) > 1])
    assert {(case.metric, case.id) for case in with_base.cases} == expected
    sizes = [case.spread * case.weight for case in with_base.cases]
    assert sizes == sorted(sizes, reverse=True)
    assert all(set(case.scores) == {"A", "B", "C"} for case in with_base.cases)


def test_a_metric_narrows_pairs_and_cases(store):
    who = comparison_runs.load_lineup(
        store.roots, store(Plan("openai:a", skill=0.2), Plan("openai:b", skill=0.8))
    )
    metrics = comparison.list_lineup_metrics(who, BENCHMARK)
    scores = comparison.load_lineup_scores(store.roots, who)
    sides = comparison.find_comparable_runs(who, who.compared[0])[BENCHMARK]
    parts = [comparison.compare_with_base(scores, BENCHMARK, sides, metric) for metric in metrics]
    whole = comparison.compare_with_base(scores, BENCHMARK, sides)
    assert [part.common for part in parts] == [20] * len(metrics)
    assert sum(part.pairs["B"].result.wins for part in parts) == whole.pairs["B"].result.wins
    assert {case.metric for case in parts[0].cases} == {metrics[0]}


def test_a_run_of_another_benchmark_is_told_in_both_directions(store):
    runs = store(Plan("openai:a"), Plan("openai:b"))
    who = comparison_runs.load_lineup(store.roots, runs)
    other = msgspec.structs.replace(who.compared[1], scores={}, specs={})
    lineup = comparison_runs.Lineup((who.compared[0], other))
    assert [
        incompatibility.kind
        for incompatibility in comparison_runs.find_incompatibilities(lineup, lineup.compared[0])
    ] == ["not_run"]
    assert [
        incompatibility.kind
        for incompatibility in comparison_runs.find_incompatibilities(lineup, other)
    ] == ["base_not_run"]


def test_suggested_are_the_newest_of_the_fullest_column_without_controls(store):
    a, b, c, other, control = store(
        Plan("openai:a"),
        Plan("openai:b"),
        Plan("openai:c"),
        Plan("openai:d", dataset="other"),
        Plan("control:null"),
    )
    [newer] = store(Plan("openai:a", created_at="2026-11-02T10:00:00.000+00:00"))
    headers = load_run_headers(store.settings)
    assert set(comparison_runs.suggest_runs(headers)) == {newer, b, c}
    assert len(comparison_runs.suggest_runs(headers, limit=2)) == 2
    assert comparison_runs.suggest_runs(headers, [a]) == [
        a,
        *comparison_runs.suggest_runs(headers, [a])[1:],
    ]
    assert newer not in comparison_runs.suggest_runs(headers, [a])
    assert comparison_runs.suggest_runs(headers, [other]) == []
    assert set(comparison_runs.suggest_runs(headers, [control])) == {control, newer, b, c}
    assert comparison_runs.suggest_runs([]) == []
