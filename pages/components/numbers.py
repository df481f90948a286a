"""Numbers as people read them, in the session's language; None is always "unknown", never 0."""

from __future__ import annotations

from collections.abc import Sequence

from evalcore.plain_text import DASH
from pages.components.language import Translate


def format_count(value: float | None, tr: Translate) -> str:
    """A whole number with thousands separated."""
    return tr("common.unknown") if value is None else f"{value:,.0f}"


def format_duration(seconds: float | None, tr: Translate) -> str:
    """A length of time in the largest unit that fits: 340 ms, 2.5 s, 3 min 20 s, 1 h 5 min."""
    if seconds is None:
        return tr("common.unknown")
    if round(seconds * 1000) < 1000:
        return tr("common.milliseconds", value=f"{seconds * 1000:.0f}")
    if round(seconds, 1) < 60:
        return tr("common.seconds", value=f"{seconds:.1f}")
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return tr("common.minutes", minutes=minutes, seconds=rest)
    hours, minutes = divmod(minutes, 60)
    return tr("common.hours", hours=hours, minutes=minutes)


def format_money(dollars: float | None, tr: Translate) -> str:
    """US dollars, with more digits the smaller the sum."""
    if dollars is None:
        return tr("common.unknown")
    digits = 2 if dollars == 0 or dollars >= 1 else 4 if dollars >= 0.001 else 6
    return tr("common.dollars", value=f"{dollars:,.{digits}f}")


def build_usage_cells(
    tokens_in: int | None, tokens_out: int | None, cost: float | None, tr: Translate
) -> list[tuple[str, str]]:
    """Text keys and values of tokens and cost; a program that is free has no tokens to speak of."""
    tokens = [
        ("common.input_tokens", format_count(tokens_in, tr)),
        ("common.output_tokens", format_count(tokens_out, tr)),
    ]
    program = tokens_in is None and tokens_out is None and cost == 0
    return [*([] if program else tokens), ("common.cost", format_money(cost, tr))]


def format_cost_sources(sources: Sequence[str], tr: Translate) -> str:
    """Who says what a run or a case cost; empty where nobody does, or it is free."""
    labels = [tr(f"common.cost_source.{source}") for source in sources if source != "unknown"]
    return tr("common.cost_by", sources=" · ".join(labels)) if labels else ""


def format_score(value: float | None) -> str:
    """A score of 0 to 100 with one digit; a dash where there is none."""
    return DASH if value is None else f"{value:.1f}"


def format_timestamp(stamp: str) -> str:
    """An ISO 8601 time in UTC as `2026-01-31 17:05 UTC`."""
    return f"{stamp[:10]} {stamp[11:16]} UTC" if len(stamp) >= 16 else DASH


def format_weight(value: float) -> str:
    """A weight with three digits: 4, 2.5, 0.833, 0.0347."""
    return f"{value:.3g}"


def format_compact_count(value: float) -> str:
    """A count in thousands, millions or billions where it has that many: 57.6k."""
    for unit, sign in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.1f}{sign}"
    return f"{value:.0f}"


def format_byte_size(amount: float) -> str:
    """Bytes in the decimal units that makers of memory use: 1.9 MB, 16.1 GB."""
    for unit, sign in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if amount >= unit:
            return f"{amount / unit:.1f} {sign}"
    return f"{amount / 1e3:.0f} kB"
