"""What is odd about published figures, and two rows against each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from evalcore.errors import UsageError
from evalcore.i18n import LANGUAGES
from evalcore.settings import Settings
from evalcore.views.published_claims import KINDS, ClaimFinding, list_claim_findings
from evalcore.views.published_pairs import compare_published_rows
from evalcore.views.published_payloads import describe_finding
from tests.support.boards import settings_in
from tests.support.publications import PublicationBuilder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path)


@pytest.fixture
def shipped(tmp_path):
    return Settings(data=str(tmp_path), shipped=str(ROOT / "data" / "shipped"))


def kinds(store, name=""):
    return Counter(
        (finding.kind, finding.metric)
        for finding in list_claim_findings(store, "acme", identity=name)
    )


def sound(builder, *names):
    for name in names:
        builder.entry(name, reading=builder.reading("110", "11", claimed=72.7))


def test_a_sound_figure_has_no_finding(store):
    builder = PublicationBuilder()
    sound(builder, "x", "y")
    builder.write(store)
    assert kinds(store) == {}


def test_every_oddity_is_named(store):
    builder = PublicationBuilder()
    sound(builder, "x", "y", "z")
    odd = builder.score(
        60.0,
        {"a": 66.6, "b": 100.0},
        a=builder.report("11", 2.0),  # a case less, another weight, another figure
        b=builder.report("11-", 1.0, copies=1),  # a case more, no verdict of it
        c=builder.report("1"),  # of another benchmark
    )
    builder.entry("odd", reading=odd)
    builder.entry("bare", reading=builder.score(10.0))
    builder.write(store)
    assert kinds(store, "acme:odd") == {
        ("score_differs", ""): 1,
        ("metric_differs", "a"): 1,
        ("metric_differs", "b"): 1,
        ("weight_differs", "a"): 1,
        ("missing_cases", "a"): 1,
        ("duplicate_metric", "b"): 1,
        ("undecided_cases", "b"): 1,
        ("extra_cases", "b"): 1,
        ("foreign_metric", "c"): 1,
    }
    assert kinds(store, "acme:bare") == {("no_verdicts", ""): 1}
    assert kinds(store, "acme:x") == {}


def test_verdicts_of_an_earlier_month_and_unasked_metrics_are_named(store):
    builder = PublicationBuilder()
    for month in ("2026-03", "2026-05"):
        builder.entry("x", month, reading=builder.reading("110", "11", claimed=72.7))
    builder.entry("y", reading=builder.score(66.7, a=builder.report("110", 3.0)))
    builder.write(store)
    findings = list_claim_findings(store, "acme", "2026-05")
    assert {(f.name, f.kind, f.metric, f.since) for f in findings} == {
        ("x", "carried_over", "", "2026-03"),
    }
    builder.entry("z", reading=builder.reading("110", "11", claimed=72.7))
    builder.write(store)
    assert ("unasked_metric", "b") in kinds(store, "acme:y")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_finding_is_a_sentence(kind, language):
    finding = ClaimFinding(
        "a/b/c", "x", "2026-05", "reading", "a", kind, 1.0, 2.0, "unexplained", 3
    )
    assert describe_finding(finding, language).endswith((".", "。"))


def test_the_readings_of_scale_are_those_that_were_counted_by_hand(shipped):
    """658 of 879 scores follow from their own report; the rest by kind, and 35 of 3,095 metrics
    differ, as another program found."""
    findings = list_claim_findings(shipped, "scale")
    assert Counter(f.reading for f in findings if f.kind == "score_differs") == {
        "configured_weights": 104,
        "from_parts": 75,
        "from_parts_configured": 18,
        "leftovers": 3,
        "unexplained": 21,
    }
    counts = Counter(f.kind for f in findings)
    assert counts["metric_differs"] == 35
    assert counts["duplicate_metric"] == 11
    assert counts["foreign_metric"] == 3
    assert counts["missing_cases"] > 20


# Two rows.


def test_two_rows_are_compared_on_the_cases_that_both_have(store):
    builder = PublicationBuilder()
    builder.entry("x", reading=builder.reading("11111111", "10"))
    builder.entry("y", reading=builder.reading("00000001", "11"))
    builder.entry("z", reading=builder.reading("0000000-", "11"))
    builder.write(store)
    comparison = compare_published_rows(store, "acme/2026-05/x", "acme/2026-05/y")
    whole, a, b = comparison.pairs
    assert (whole.metric, whole.first, whole.second) == (
        "",
        pytest.approx(100 * 25 / 26),
        pytest.approx(100 * 5 / 26),
    )
    assert (a.result.wins, a.result.losses, a.result.common) == (0, 7, 8)
    assert a.result.p == pytest.approx(2 / 2**7)
    assert b.result.wins == 1
    assert len(comparison.cases) == 8
    assert comparison.cases[0].weight == 3.0
    assert compare_published_rows(store, "x", "z").pairs[1].result.common == 7


def test_the_other_way_round_is_the_mirror(store):
    builder = PublicationBuilder()
    builder.entry("x", reading=builder.reading("11110101", "10"))
    builder.entry("y", reading=builder.reading("01000001", "11"))
    builder.write(store)
    one, other = (compare_published_rows(store, *pair) for pair in (("x", "y"), ("y", "x")))
    for pair, mirrored in zip(one.pairs, other.pairs, strict=True):
        assert pair.result.difference == pytest.approx(-mirrored.result.difference)
        assert pair.result.interval.low == pytest.approx(-mirrored.result.interval.high)
        assert pair.result.p == mirrored.result.p


def test_cases_that_changed_between_months_are_left_out(store):
    builder = PublicationBuilder()
    builder.entry("x", "2026-03", reading=builder.reading("1111", "10"))
    builder.entry("y", "2026-05", reading=builder.reading("11110", "11"))
    builder.write(store)
    comparison = compare_published_rows(store, "acme/2026-03/x", "acme/2026-05/y")
    assert comparison.excluded == ("reading/a",)
    assert [pair.metric for pair in comparison.pairs] == ["", "b"]


def test_claims_alone_are_never_tested(shipped):
    comparison = compare_published_rows(
        shipped, "claude-opus-5_sierra_2026-08-04", "qwen3-8-max_sierra_2026-08-04"
    )
    assert {pair.result for pair in comparison.pairs} == {None}
    assert comparison.cases == ()


def test_rows_of_two_setups_or_publishers_are_refused(shipped):
    text, voice = "claude-opus-5_sierra_2026-08-04", "grok-voice-think-fast-2-0_xai_2026-08-06"
    with pytest.raises(UsageError, match="different ways"):
        compare_published_rows(shipped, text, voice)
    with pytest.raises(UsageError, match="two publishers"):
        compare_published_rows(shipped, text, "scale/2026-06/gpt-5.5")
