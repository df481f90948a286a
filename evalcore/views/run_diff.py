"""Two runs, the first before and the second after: the cases that changed, and whether the
difference between the runs is statistically significant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from evalcore.errors import UsageError, join_notes
from evalcore.i18n import DEFAULT, name_code, name_term, t, t_count
from evalcore.plain_text import align_columns, format_signed, to_single_line
from evalcore.records import Record, to_plain
from evalcore.store import case_tables
from evalcore.store.run_folder import find_run
from evalcore.views import comparison, comparison_runs
from evalcore.views.case_text import TextBlock
from evalcore.views.comparison import PairedScores
from evalcore.views.comparison_report import explain_incompatibility
from evalcore.views.comparison_runs import Incompatibility

SIGNIFICANT = 0.05
#: Of several repetitions the outcome and the cause that most of them have.
_OUTCOMES = """
SELECT benchmark, metric, id, mode(outcome) AS outcome,
       mode(coalesce(cause, reason, '')) AS cause
FROM samples GROUP BY benchmark, metric, id
"""
_KEY = ["benchmark", "metric", "id"]
Change = Literal["fixed", "broken", "better", "worse"]


class CaseSide(Record, frozen=True):
    """One side of a case: `score` 0 to 1 (the mean over the epochs), what it ended as, and why."""

    score: float
    outcome: str
    cause: str


class ChangedCase(Record, frozen=True):
    """A case that scores otherwise than before: `fixed` and `broken` flipped between passed and
    not, `better` and `worse` changed without that."""

    metric: str
    id: str
    change: Change
    first: CaseSide
    second: CaseSide


class BenchmarkDiff(Record, frozen=True):
    """One benchmark on the cases that both hold; the changed ones are those that weigh most first.
    A win of `paired` is a case where the second run scores higher."""

    benchmark: str
    paired: PairedScores
    changed: tuple[ChangedCase, ...]

    @property
    def is_significant(self) -> bool:
        return self.paired.result.p < SIGNIFICANT


class RunDiff(Record, frozen=True):
    """`obstacles` say on which benchmarks the two cannot be compared, and why."""

    first: str
    second: str
    targets: tuple[str, str]
    benchmarks: tuple[BenchmarkDiff, ...]
    obstacles: tuple[Incompatibility, ...]


def build_run_diff(roots: Sequence[Path], first: str, second: str) -> RunDiff:
    """Raises UsageError where one of the two is no run or has no result."""
    lineup = comparison_runs.load_lineup(
        roots, comparison_runs.validate_compared_runs([first, second])
    )
    if lineup.excluded:
        raise UsageError(join_notes([excluded.reason for excluded in lineup.excluded]))
    base, other = lineup.compared
    comparable = comparison.find_comparable_runs(lineup, base)
    cases = comparison.load_common_cases(roots, first, second)
    cases = cases[cases["benchmark"].isin(list(comparable))]
    changed = comparison.find_differing_cases(cases)
    for number, run in enumerate((first, second)):
        outcomes = _load_outcomes(roots, run).rename(
            columns={name: f"{name}_{number}" for name in ("outcome", "cause")}
        )
        changed = changed.merge(outcomes, on=_KEY, how="left")
    return RunDiff(
        first=first,
        second=second,
        targets=(base.identity, other.identity),
        benchmarks=tuple(
            BenchmarkDiff(
                pair.benchmark, pair, tuple(map(_build_change, _list_rows(changed, pair.benchmark)))
            )
            for pair in comparison.compare_benchmarks(cases)
        ),
        obstacles=tuple(comparison_runs.find_incompatibilities(lineup, base)),
    )


def _load_outcomes(roots: Sequence[Path], run: str) -> pd.DataFrame:
    path = case_tables.ensure_samples_table(find_run(run, roots))
    return case_tables.query_samples([path], _OUTCOMES)


def _list_rows(changed: pd.DataFrame, benchmark: str) -> list[dict[str, Any]]:
    rows = changed[changed["benchmark"] == benchmark].to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _build_change(row: dict[str, Any]) -> ChangedCase:
    before, after = (
        CaseSide(float(row[name]), str(row[f"outcome_{number}"]), str(row[f"cause_{number}"]))
        for number, name in enumerate(("first", "second"))
    )
    rises = after.score > before.score
    change: Change = "better" if rises else "worse"
    if (before.outcome == "passed") != (after.outcome == "passed"):
        change = "fixed" if rises else "broken"
    return ChangedCase(str(row["metric"]), str(row["id"]), change, before, after)


def diff_to_dict(diff: RunDiff) -> dict[str, Any]:
    """The object that `diff --json` prints; scores of runs are 0 to 100, those of cases 0 to 1."""
    return {
        "first": {"run_id": diff.first, "target": diff.targets[0]},
        "second": {"run_id": diff.second, "target": diff.targets[1]},
        "benchmarks": {
            each.benchmark: {
                "first": each.paired.first,
                "second": each.paired.second,
                "common": each.paired.result.common,
                "wins": each.paired.result.wins,
                "losses": each.paired.result.losses,
                "ties": each.paired.result.ties,
                "difference": each.paired.result.difference,
                "interval": _list_interval(each.paired),
                "p": each.paired.result.p,
                "test": each.paired.result.test,
                "significant": each.is_significant,
                "changed": [_change_to_dict(case) for case in each.changed],
            }
            for each in diff.benchmarks
        },
        "not_compared": {
            obstacle.benchmark: explain_incompatibility(obstacle) for obstacle in diff.obstacles
        },
    }


def _list_interval(paired: PairedScores) -> list[float] | None:
    interval = paired.result.interval
    return [interval.low, interval.high] if interval else None


def _change_to_dict(case: ChangedCase) -> dict[str, Any]:
    content: dict[str, Any] = to_plain(case)
    for side, values in (("first", case.first), ("second", case.second)):
        content[side] = {name: getattr(values, name) for name in values.__struct_fields__}
    return content


def format_diff_head(diff: RunDiff, language: str = DEFAULT) -> str:
    """The two runs, a line each."""
    names = [name_term(side, language) for side in ("first", "second")]
    rows = zip(names, (diff.first, diff.second), diff.targets, strict=True)
    return align_columns([[to_single_line(cell) for cell in row] for row in rows])


def build_diff_block(diff: BenchmarkDiff, limit: int, language: str = DEFAULT) -> TextBlock:
    """One benchmark: the scores, the paired test in words, and the first `limit` changed cases."""
    lines = [_format_paired(diff.paired, diff.is_significant, language)]
    counts = {
        change: sum(case.change == change for case in diff.changed)
        for change in ("fixed", "broken", "better", "worse")
    }
    changes = [f"{count} {name_term(name, language)}" for name, count in counts.items() if count]
    lines.append(", ".join(changes) or t("cli.diff.none", language))
    rows = [
        list(map(to_single_line, _format_change(case, language))) for case in diff.changed[:limit]
    ]
    lines += [align_columns(rows)] if rows else []
    rest = len(diff.changed) - len(rows)
    lines += [t("cli.more_cases", language, rest=rest, all=len(diff.changed))] if rest else []
    return TextBlock(diff.benchmark, "\n".join(lines))


def _format_paired(paired: PairedScores, significant: bool, language: str) -> str:
    result, interval = paired.result, paired.result.interval
    cases = t_count("cli.count_cases", language, result.common)
    if result.difference is None:
        return t("cli.diff.nothing_counts", language, cases=cases)
    between = ""
    if interval:
        between = f" [{format_signed(interval.low)}, {format_signed(interval.high)}]"
    p = "p < 0.001" if result.p < 0.001 else f"p = {result.p:.3f}"
    word = "significant" if significant else "insignificant"
    points, test = format_signed(result.difference), name_term(result.test, language)
    change = f"{points}{between}, {p} ({test})"
    scores = f"{paired.first:.1f} -> {paired.second:.1f}"
    return t(f"cli.diff.{word}", language, scores=scores, cases=cases, change=change)


def _format_change(case: ChangedCase, language: str) -> list[str]:
    before, after = (
        f"{t(f'common.outcome.{side.outcome}', language).lower()} {side.score:.2g}"
        + (f" ({name_code(side.cause, language, 'cause', 'reason')})" if side.cause else "")
        for side in (case.first, case.second)
    )
    change = name_term(case.change, language)
    return [change, f"{case.metric}/{case.id}", f"{before} ->", after]


def build_obstacle_blocks(diff: RunDiff, language: str = DEFAULT) -> list[TextBlock]:
    """What was not compared; nothing where everything was."""
    lines = [
        f"{obstacle.benchmark}: {explain_incompatibility(obstacle, language)}"
        for obstacle in diff.obstacles
    ]
    if not lines and not diff.benchmarks:
        lines = [t("cli.diff.no_benchmark", language)]
    return [TextBlock(t("cli.diff.obstacles", language), "\n".join(lines))] if lines else []
