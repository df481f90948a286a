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
from pages.components.text import to_plain_line

_ALPHA = 0.05  # of p, shared among the comparisons on show
_MAX_NAMED_RULES = 6  # differing rules that are named
_NESTED = ("options", "weights")


def draw_pair_table(
    detail: BenchmarkDetail, base: ComparedRun, sides: Sequence[ComparedRun], tr: Translate
) -> None:
    """A row per run that may be measured against the base."""
    limit = _ALPHA / len(detail.pairs)
    others = [run for run in sides if run.letter in detail.pairs]
    pairs = [detail.pairs[run.letter] for run in others]
    table = pd.DataFrame(
        {
            "run": [compare_scores.format_run_label(run) for run in others],
            "verdict": [
                _format_pair_verdict(pair, run, base, limit, tr)
                for pair, run in zip(pairs, others, strict=True)
            ],
            "wins": [pair.result.wins for pair in pairs],
            "losses": [pair.result.losses for pair in pairs],
            "ties": [pair.result.ties for pair in pairs],
            "difference": [
                DASH if pair.result.difference is None else f"{pair.result.difference:+.1f}"
                for pair in pairs
            ],
            "interval": [_format_signed_interval(pair.result.interval) for pair in pairs],
            "p": [_format_p_value(pair.result.p) for pair in pairs],
            "test": [tr(f"compare.test.{pair.result.test}") for pair in pairs],
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        height=38 + 35 * len(table),
        alt=tr("compare.pairs_alt", base=base.letter),
        column_config=_build_pair_columns(tr),
    )
    st.caption(tr("compare.pairs_about", base=base.letter, count=detail.common))
    if len(pairs) > 1:
        st.caption(tr("compare.many", count=len(pairs), limit=f"{limit:.3f}"))
    if not all(run.scores[detail.benchmark].complete for run in sides):
        st.caption(tr("runs.comparison_incomplete"))


def draw_incompatibilities(comparison: Lineup, base: ComparedRun, tr: Translate) -> None:
    """What cannot be measured against the base, and why, in full."""
    issues = comparison_runs.find_incompatibilities(comparison, base)
    if not issues:
        return
    title = tr("compare.obstacles", base=base.letter, count=len(issues))
    with st.expander(title, icon=":material/rule:"):
        st.caption(tr("compare.obstacles_about"))
        word_table.draw_word_table(
            {
                tr("compare.run"): [issue.letter for issue in issues],
                tr("common.benchmark"): [benchmark_title(issue.benchmark) for issue in issues],
                tr("common.reason"): [
                    _describe_incompatibility(issue, base, tr) for issue in issues
                ],
            },
            title,
        )


def _build_pair_columns(tr: Translate) -> dict[str, Any]:
    column_config = st.column_config
    return {
        "run": column_config.TextColumn(tr("compare.run")),
        "verdict": column_config.TextColumn(tr("compare.verdict")),
        "wins": column_config.NumberColumn(tr("compare.wins"), width="small"),
        "losses": column_config.NumberColumn(tr("compare.losses"), width="small"),
        "ties": column_config.NumberColumn(tr("compare.ties"), width="small"),
        "difference": column_config.TextColumn(tr("compare.difference"), width="small"),
        "interval": column_config.TextColumn(tr("compare.interval")),
        "p": column_config.TextColumn("p", width="small"),
        "test": column_config.TextColumn(tr("compare.test")),
    }


def _format_pair_verdict(
    pair: PairedScores, run: ComparedRun, base: ComparedRun, limit: float, tr: Translate
) -> str:
    """The difference in words, never more than the numbers bear."""
    if pair.result.wins == pair.result.losses == 0:
        return tr("compare.equal")
    if pair.result.p >= limit:
        return tr("compare.open")
    ahead = run if (pair.result.difference or 0) > 0 else base
    return tr("compare.ahead", run=ahead.letter)


def _format_signed_interval(interval: Interval | None) -> str:
    if interval is None:
        return DASH
    return f"{interval.low:+.1f} … {interval.high:+.1f}"


def _format_p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _describe_incompatibility(issue: Incompatibility, base: ComparedRun, tr: Translate) -> str:
    if issue.kind != "rules":
        return tr(f"compare.why.{issue.kind}", base=base.letter)
    if not issue.differences:
        return tr("compare.why.scored")
    rule_texts = [
        _format_rule_difference(difference, issue, base, tr)
        for difference in issue.differences[:_MAX_NAMED_RULES]
    ]
    return (
        f"{tr('compare.why.rules')} "
        f"{'; '.join(rule_texts)}{'; …' * (len(issue.differences) > _MAX_NAMED_RULES)}"
    )


def _format_rule_difference(
    difference: RuleDifference, issue: Incompatibility, base: ComparedRun, tr: Translate
) -> str:
    group, _, part = difference.rule.partition(".")
    title = tr(f"compare.rule.{group}")
    if group in _NESTED:
        label = (
            metric_title(issue.benchmark, part) if group == "weights" else to_plain_line(part, 40)
        )
        title = f"{title} {label}"
    values = [to_plain_line(value, 40) or DASH for value in (difference.base, difference.other)]
    return f"{title}: {base.letter} {values[0]}, {issue.letter} {values[1]}"
