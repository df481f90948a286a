"""Numbers for people: units that fit, and unknown never shown as zero."""

from __future__ import annotations

import pytest

from pages.shared import wording


@pytest.fixture(autouse=True)
def english(monkeypatch):
    monkeypatch.setattr(wording, "current_language", lambda: "en")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"),
        (0.0, "0 ms"),
        (0.3401, "340 ms"),
        (2.54, "2.5 s"),
        (59.96, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3900, "1 h 5 min"),
    ],
)
def test_durations(seconds, text):
    assert wording.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (None, "unknown"),
        (0, "$0.00"),
        (12.5, "$12.50"),
        (0.0123, "$0.0123"),
        (0.00002, "$0.000020"),
    ],
)
def test_money(dollars, text):
    assert wording.format_money(dollars) == text


def test_counts_scores_and_moments(monkeypatch):
    assert wording.format_count(1234567) == "1,234,567"
    assert wording.format_score(66.666) == "66.7"
    assert wording.format_score(None) == "–"
    assert wording.format_timestamp("2026-01-31T17:05:09.123+00:00") == "2026-01-31 17:05 UTC"
    assert wording.format_timestamp("") == "–"
    monkeypatch.setattr(wording, "current_language", lambda: "zh")
    assert wording.format_count(None) == "未知"


@pytest.mark.parametrize(
    ("amount", "short", "size"),
    [
        (999, "999", "1 kB"),
        (57_600, "57.6k", "58 kB"),
        (494_000_000, "494.0M", "494.0 MB"),
        (8_030_000_000, "8.0B", "8.0 GB"),
        (2e12, "2000.0B", "2.0 TB"),
    ],
)
def test_large_counts_and_sizes(amount, short, size):
    assert wording.format_compact_count(amount) == short
    assert wording.format_byte_size(amount) == size
