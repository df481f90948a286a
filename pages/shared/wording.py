"""The language of this session, names from outside made safe, and numbers as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from evalcore.catalog import localize_text
from evalcore.i18n import LANGUAGES, language_for_locale, lookup_text, t, translate_note
from evalcore.plain_text import DASH, format_signed, to_single_line
from evalcore.results import Interval
from pages.shared import page_links

# The language of this session: its switch in the sidebar, `lang` in the URL, and translating.
# Order of precedence: the switch, the URL's `lang`, the browser's locale. The URL carries `lang`
# exactly while the language differs from the browser's own, so that plain links stay short. The
# widget's `bind` is not used: it would write the label (`lang=中文`) instead of the code.

KEY = "lang"


def current_language() -> str:
    """The code of the language in use, such as `en`."""
    for chosen in (st.session_state.get(KEY), st.query_params.get(KEY)):
        if chosen in LANGUAGES:
            return str(chosen)
    return language_for_locale(st.context.locale)


def tr(key: str, **values: object) -> str:
    """A text of the catalogue in the session's language: `tr("launch.title", count=3)`."""
    return t(key, current_language(), **values)


def look_up(key: str) -> str | None:
    """A text of the catalogue that need not be there."""
    return lookup_text(key, current_language())


def label(area: str, value: object) -> str:
    """The word for a value of an area of the catalogue, else the value itself on one line."""
    return look_up(f"{area}.{value}") or to_plain_line(value)


def localize(texts: Mapping[str, str]) -> str:
    """What a card says in several languages, in the session's."""
    return localize_text(texts, current_language())


def localize_note(text: str) -> str:
    """What a scorer or the runner said, in the session's language."""
    return translate_note(text, current_language())


def draw_language_switch() -> None:
    """Draw the switch in the sidebar; the entry script calls it once, before the page runs."""
    st.session_state.setdefault(KEY, current_language())
    st.sidebar.segmented_control(
        t("common.language", current_language()),
        list(LANGUAGES),
        format_func=lambda code: LANGUAGES[code],
        required=True,
        key=KEY,
        label_visibility="collapsed",
    )


def write_language_to_url() -> None:
    """Write the language into the URL, or take it out.

    To be called once the page has been drawn: the browser learns later than its query which page is
    shown, and would keep the one that was left, under this query, as a place that Back leads to.
    """
    differs = current_language() != language_for_locale(st.context.locale)
    page_links.set_query_param(KEY, current_language() if differs else None)


# Names from outside (models, cases, files), made safe where Streamlit reads Markdown.
# A label, caption, metric or error text is Markdown: an unescaped `![](http://...)` would load an
# image from a stranger's server, and `:red[...]` would imitate our own badges. Longer text of a
# model never comes here at all: it is drawn with `st.text`, `st.code` or `st.json`.

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&^=\"'@/])")

#: Streamlit replaces these after Markdown is read, where a backslash no longer protects: emoji and
#: icon codes `:name:`, bare addresses. An invisible word joiner keeps them apart.
_REPLACED = re.compile(r"(?i)(:)(?=[\w+-]+(?:/\w+)?:)|(:)(?=//)|(www)(?=\.)")
_JOINER = "\u2060"


def to_plain_line(text: object, limit: int = 80) -> str:
    """`text` on one line without invisible characters, cut to `limit` characters."""
    return to_single_line(text, limit)


def escape_markdown(text: object, limit: int = 80) -> str:
    """`text` for a Markdown surface: it shows as it is written and does nothing else."""
    separated = _REPLACED.sub(lambda match: match.group(0) + _JOINER, to_plain_line(text, limit))
    return _SPECIAL.sub(r"\\\1", separated)


def join_names(names: Iterable[str]) -> str:
    """Names one after the other, as the session's language lists them."""
    return tr("ranking.words.separator").join(names)


def format_fact(name: str, value: object) -> str:
    """What something is called and what it is, with the colon of the session's language."""
    return tr("common.fact", name=name, value=value)


# Numbers as people read them, in the session's language; None is always "unknown", never 0.


def format_count(value: float | None) -> str:
    """A whole number with thousands separated."""
    return tr("common.unknown") if value is None else f"{value:,.0f}"


def format_duration(seconds: float | None) -> str:
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


def format_money(dollars: float | None) -> str:
    """US dollars, with more digits the smaller the sum."""
    if dollars is None:
        return tr("common.unknown")
    digits = 2 if dollars == 0 or dollars >= 1 else 4 if dollars >= 0.001 else 6
    return tr("common.dollars", value=f"{dollars:,.{digits}f}")


def build_usage_cells(
    tokens_in: int | None, tokens_out: int | None, cost: float | None
) -> list[tuple[str, str]]:
    """Text keys and values of tokens and cost; a program that is free has no tokens to speak of."""
    tokens = [
        ("common.input_tokens", format_count(tokens_in)),
        ("common.output_tokens", format_count(tokens_out)),
    ]
    program = tokens_in is None and tokens_out is None and cost == 0
    return [*([] if program else tokens), ("common.cost", format_money(cost))]


def format_cost_sources(sources: Sequence[str]) -> str:
    """Who says what a run or a case cost; empty where nobody does, or it is free."""
    labels = [tr(f"common.cost_source.{source}") for source in sources if source != "unknown"]
    return tr("common.cost_by", sources=" · ".join(labels)) if labels else ""


def format_score(value: float | None) -> str:
    """A score of 0 to 100 with one digit; a dash where there is none."""
    return DASH if value is None else f"{value:.1f}"


def format_difference(points: float | None) -> str:
    """A difference of two scores with its sign."""
    return DASH if points is None else format_signed(points)


def format_signed_interval(interval: Interval | None) -> str:
    if interval is None:
        return DASH
    return f"{format_signed(interval.low)} … {format_signed(interval.high)}"


def format_p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def format_score_sign(score: float) -> str:
    """The sign of a case's score of 0 to 1: the outcome is not told by colour alone."""
    return "✓" if score == 1 else "✕" if score == 0 else "◐"


def format_case_score(score: float) -> str:
    return f"{format_score_sign(score)} {score:.2g}"


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
