"""Every run against the base: wins, losses, difference and doubt; and what cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.queries import comparison_runs
from evalcore.queries.comparison import PairedScores
from evalcore.queries.comparison_groups import BenchmarkDetail
from evalcore.queries.comparison_runs import ComparedRun, Incompatibility, Lineup, RuleDifference
from evalcore.records import Interval
from pages.components import compare_scores, word_table
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate
from pages.components.text import plain

_CLEAR = 0.05  # of p, shared among the comparisons on show
_TOLD = 6  # differing rules that are named
_NESTED = ("options", "weights")


def draw(
    found: BenchmarkDetail, base: ComparedRun, sides: Sequence[ComparedRun], tr: Translate
) -> None:
    """A row per run that may be measured against the base."""
    limit = _CLEAR / len(found.pairs)
    others = [one for one in sides if one.letter in found.pairs]
    pairs = [found.pairs[one.letter] for one in others]
    told = pd.DataFrame(
        {
            "run": [compare_scores.name(one) for one in others],
            "verdict": [
                _verdict(pair, one, base, limit, tr)
                for pair, one in zip(pairs, others, strict=True)
            ],
            "wins": [pair.result.wins for pair in pairs],
            "losses": [pair.result.losses for pair in pairs],
            "ties": [pair.result.ties for pair in pairs],
            "difference": [
                DASH if pair.result.difference is None else f"{pair.result.difference:+.1f}"
                for pair in pairs
            ],
            "interval": [_span(pair.result.interval) for pair in pairs],
            "p": [_chance(pair.result.p) for pair in pairs],
            "test": [tr(f"compare.test.{pair.result.test}") for pair in pairs],
        }
    )
    st.dataframe(
        told,
        hide_index=True,
        height=38 + 35 * len(told),
        alt=tr("compare.pairs_alt", base=base.letter),
        column_config=_config(tr),
    )
    st.caption(tr("compare.pairs_about", base=base.letter, count=found.common))
    if len(pairs) > 1:
        st.caption(tr("compare.many", count=len(pairs), limit=f"{limit:.3f}"))
    if not all(one.scores[found.benchmark].complete for one in sides):
        st.caption(tr("runs.comparison_incomplete"))


def obstacles(who: Lineup, base: ComparedRun, tr: Translate) -> None:
    """What cannot be measured against the base, and why, in full."""
    found = comparison_runs.find_incompatibilities(who, base)
    if not found:
        return
    title = tr("compare.obstacles", base=base.letter, count=len(found))
    with st.expander(title, icon=":material/rule:"):
        st.caption(tr("compare.obstacles_about"))
        word_table.draw(
            {
                tr("compare.run"): [one.letter for one in found],
                tr("common.benchmark"): [benchmark_title(one.benchmark) for one in found],
                tr("common.reason"): [_why(one, base, tr) for one in found],
            },
            title,
        )


def _config(tr: Translate) -> dict[str, Any]:
    kinds = st.column_config
    return {
        "run": kinds.TextColumn(tr("compare.run")),
        "verdict": kinds.TextColumn(tr("compare.verdict")),
        "wins": kinds.NumberColumn(tr("compare.wins"), width="small"),
        "losses": kinds.NumberColumn(tr("compare.losses"), width="small"),
        "ties": kinds.NumberColumn(tr("compare.ties"), width="small"),
        "difference": kinds.TextColumn(tr("compare.difference"), width="small"),
        "interval": kinds.TextColumn(tr("compare.interval")),
        "p": kinds.TextColumn("p", width="small"),
        "test": kinds.TextColumn(tr("compare.test")),
    }


def _verdict(
    pair: PairedScores, one: ComparedRun, base: ComparedRun, limit: float, tr: Translate
) -> str:
    """The difference in words, never more than the numbers bear."""
    if pair.result.wins == pair.result.losses == 0:
        return tr("compare.equal")
    if pair.result.p >= limit:
        return tr("compare.open")
    ahead = one if (pair.result.difference or 0) > 0 else base
    return tr("compare.ahead", run=ahead.letter)


def _span(interval: Interval | None) -> str:
    if interval is None:
        return DASH
    return f"{interval.low:+.1f} … {interval.high:+.1f}"


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _why(one: Incompatibility, base: ComparedRun, tr: Translate) -> str:
    if one.kind != "rules":
        return tr(f"compare.why.{one.kind}", base=base.letter)
    if not one.differences:
        return tr("compare.why.scored")
    told = [_difference(each, one, base, tr) for each in one.differences[:_TOLD]]
    return f"{tr('compare.why.rules')} {'; '.join(told)}{'; …' * (len(one.differences) > _TOLD)}"


def _difference(
    each: RuleDifference, one: Incompatibility, base: ComparedRun, tr: Translate
) -> str:
    group, _, part = each.rule.partition(".")
    title = tr(f"compare.rule.{group}")
    if group in _NESTED:
        known = metric_title(one.benchmark, part) if group == "weights" else plain(part, 40)
        title = f"{title} {known}"
    values = [plain(value, 40) or DASH for value in (each.base, each.other)]
    return f"{title}: {base.letter} {values[0]}, {one.letter} {values[1]}"
