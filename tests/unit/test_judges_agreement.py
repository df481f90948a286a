"""Agreement of judges, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from evalcore import judges
from evalcore.judges import Calibration, JudgeProfile, PairAgreement, SplitRate, Vote

WORDS = {"y": "yes", "n": "no", "a": "abstain", "f": "failed"}


def cases(**votes):
    """One case per letter of each judge's row; "-" where it was not asked."""
    length = len(next(iter(votes.values())))
    return [
        [Vote(judge, WORDS[row[n]]) for judge, row in votes.items() if row[n] != "-"]
        for n in range(length)
    ]


def test_kappa_of_the_textbook_table():
    """20 yes together, 15 no together, 5 and 10 apart: observed 0.7, by chance 0.5, so 0.4."""
    both = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10
    assert judges.compute_kappa(both + [(False, False)] * 15) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("both", "kappa"),
    [
        ([], None),
        ([(True, True)] * 5, None),  # both always yes: chance agrees always
        ([(True, True), (False, False)], 1.0),
        ([(True, False), (False, True)], -1.0),
        ([(True, True), (True, False)], 0.0),
    ],
)
def test_kappa_at_its_ends(both, kappa):
    assert judges.compute_kappa(both) == kappa


def test_pairs_rest_on_the_cases_where_both_voted():
    pair_agreement = judges.compute_pair_agreement(cases(a="yynnya", b="yynyn-", c="ffffff"))
    assert pair_agreement == (PairAgreement("a", "b", n=5, agreed=0.6, kappa=pytest.approx(1 / 6)),)


def test_a_pair_that_never_met_has_no_rates():
    assert judges.compute_pair_agreement(cases(a="y-", b="-y")) == (PairAgreement("a", "b", n=0),)


def test_splits_count_cases_with_two_votes_or_more():
    votes = cases(a="yyny", b="ynna", c="yyaf")
    assert judges.compute_split_rate(votes) == SplitRate(n=3, split=1, rate=pytest.approx(1 / 3))
    assert judges.compute_split_rate([]) == SplitRate(n=0, split=0, rate=None)


def test_profiles_tell_severity_on_the_same_cases():
    """a says yes thrice where the others' means are 1/2, 0 and 1: milder by 0.5."""
    mild, second, third = judges.profile_judges(cases(a="yyya", b="ynyn", c="nnff"))
    assert mild == JudgeProfile(
        judge="a",
        n=4,
        cast=3,
        compared=3,
        yes_rate=1.0,
        difference=pytest.approx((0.5 + 1 + 0) / 3),
        abstained=0.25,
        failed=0.0,
    )
    assert (second.cast, second.compared, second.yes_rate) == (4, 3, 0.5)
    assert second.difference == pytest.approx((0.5 - 0.5 + 0) / 3)
    assert (third.failed, third.difference) == (0.5, pytest.approx((-1 - 0.5) / 2))


def test_a_judge_that_never_voted_has_no_severity():
    [profile] = judges.profile_judges(cases(a="ff"))
    assert profile == JudgeProfile("a", n=2, cast=0, compared=0, abstained=0.0, failed=1.0)


def test_calibration_counts_false_passes_and_fails():
    passed = [True, True, False, False, False]
    pairs = zip(passed, cases(a="ynyna", b="yynnn"), strict=True)
    assert judges.calibrate_judges(pairs) == (
        Calibration("a", n=4, agreed=0.5, kappa=0.0, false_pass=1, false_fail=1),
        Calibration("b", n=5, agreed=1.0, kappa=1.0, false_pass=0, false_fail=0),
    )


def test_nothing_to_compare_is_nothing():
    assert (
        judges.compute_pair_agreement([])
        == judges.profile_judges([])
        == judges.calibrate_judges([])
        == ()
    )
