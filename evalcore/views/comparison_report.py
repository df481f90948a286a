"""A comparison of several runs for taking away: as data, as text, as Markdown, as CSV.

Scores and differences run from 0 to 100, case scores from 0 to 1. Names come from models and data
sets: in Markdown nothing of them is markup, and in CSV nothing is a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from evalcore.errors import UsageError
from evalcore.i18n import DEFAULT, Note, name_term, t, t_count
from evalcore.plain_text import NOT_RUN, align_columns, format_csv, format_signed, round_cell
from evalcore.records import Record
from evalcore.results import Interval
from evalcore.views import comparison, comparison_runs, user_calibration
from evalcore.views.comparison import BenchmarkDetail, ColumnGroup, PairedScores, RunScore
from evalcore.views.comparison_runs import Incompatibility, Lineup
from evalcore.views.user_calibration import TaskSide, UserCalibration

CASES = 20  # that differ, told per benchmark
CSV_COLUMNS = (
    *("benchmark", "column", "metric", "letter", "run", "target", "samples", "coverage"),
    *("complete", "score", "low", "high", "best", "base", "common", "wins", "losses", "ties"),
    *("difference", "difference_low", "difference_high", "p", "test"),
)
_PAIR = ("won", "lost", "tied", "difference", "95% interval", "p", "test")
#: Texts by key, in some language.
Translate = Callable[..., str]
_CELL = 120  # characters of a cell
#: What Markdown could read more into than text: all but words, decimal points and plain marks.
_MARKUP = re.compile(r"[^\w %+,.()/=≥–−★…-]|(?<!\w)_|_(?!\w)|(?<!\d)\.|\.(?!\d)")
_SPACE = re.compile(r"\s+")
_Table = tuple[str, list[str], list[list[str]]]  # title, columns, rows


class ReportRun(Record, frozen=True):
    """A compared run as it is named everywhere else in the report."""

    letter: str
    run_id: str
    target: str
    created_at: str


class ComparisonReport(Record, frozen=True):
    """All of a comparison. `details` are of the benchmarks on which anyone can be measured against
    the base; their cases are the first few of `differing`, which counts all by benchmark.
    `calibrations` are of the runs that differ from the base in the simulated user alone."""

    base: str
    runs: tuple[ReportRun, ...]
    groups: tuple[ColumnGroup, ...]
    details: tuple[BenchmarkDetail, ...]
    differing: dict[str, int]
    obstacles: tuple[Incompatibility, ...]
    calibrations: tuple[UserCalibration, ...] = ()


def build_comparison_report(
    roots: Sequence[Path],
    lineup: Lineup,
    base: str = "",
    *,
    benchmark: str = "",
    metric: str = "",
    cases: int = CASES,
) -> ComparisonReport:
    """Compare those of a lineup against the run `base` (default: the first).

    `benchmark` and `metric` narrow it down. Raises UsageError for a base that takes no part, for a
    benchmark or metric that nobody ran, and where there are too few to compare.
    """
    if len(lineup.compared) < comparison_runs.MIN_COMPARED:
        raise UsageError(
            "; ".join(entry.reason for entry in lineup.excluded) or Note("too_few_runs")
        )
    base_run = lineup.find_compared_run(base) if base else lineup.compared[0]
    selected = _select_benchmarks(lineup, benchmark, metric)
    scores = comparison.load_lineup_scores(roots, lineup)
    details = [
        comparison.compare_with_base(scores, key, sides, metric)
        for key, sides in comparison.find_comparable_runs(lineup, base_run).items()
        if key in selected
    ]
    return ComparisonReport(
        base=base_run.letter,
        runs=tuple(
            ReportRun(e.letter, e.run_id, e.identity, e.created_at) for e in lineup.compared
        ),
        groups=tuple(
            group for group in comparison.group_compared_runs(lineup) if group.benchmark in selected
        ),
        details=tuple(
            msgspec.structs.replace(entry, cases=entry.cases[:cases]) for entry in details
        ),
        differing={entry.benchmark: len(entry.cases) for entry in details},
        obstacles=tuple(
            o
            for o in comparison_runs.find_incompatibilities(lineup, base_run)
            if o.benchmark in selected
        ),
        calibrations=user_calibration.calibrate_users(roots, lineup, base_run, selected, metric),
    )


def as_text(report: ComparisonReport, language: str = DEFAULT) -> str:
    """For a terminal: the tables of `as_markdown`, in columns."""
    return "\n\n".join(
        f"{_to_plain_cell(title)}\n"
        + align_columns([list(map(_to_plain_cell, row)) for row in (columns, *rows)])
        for title, columns, rows in _build_report_tables(report, language)
    )


def as_markdown(report: ComparisonReport, language: str = DEFAULT) -> str:
    """GitHub-flavoured Markdown."""
    lines = [f"# {t('compare.report.heading', language)}"]
    for title, columns, rows in _build_report_tables(report, language):
        lines += ["", f"## {_escape_markdown(title)}", "", _format_markdown_row(columns)]
        lines += ["|" + "---|" * len(columns), *map(_format_markdown_row, rows)]
    return "\n".join(lines) + "\n"


def as_csv(report: ComparisonReport, language: str = DEFAULT) -> str:
    """One row per run, benchmark and metric (empty: the whole) under CSV_COLUMNS, in any language;
    what is unknown or cannot be compared is an empty cell."""
    rows = ([row.get(name) for name in CSV_COLUMNS] for row in _csv_rows(report))
    return format_csv([CSV_COLUMNS, *rows])


FORMATS: dict[str, Callable[[ComparisonReport, str], str]]
FORMATS = {"text": as_text, "md": as_markdown, "csv": as_csv}


def _select_benchmarks(lineup: Lineup, benchmark: str, metric: str) -> list[str]:
    available = comparison_runs.list_compared_benchmarks(lineup)
    if benchmark and benchmark not in available:
        raise UsageError(
            Note("compare_no_benchmark", benchmark=benchmark, names=", ".join(available))
        )
    selected = [
        key
        for key in ([benchmark] if benchmark else available)
        if not metric or metric in comparison.list_lineup_metrics(lineup, key)
    ]
    if not selected:
        raise UsageError(Note("compare_no_metric", metric=metric))
    return selected


def _build_report_tables(report: ComparisonReport, language: str) -> Iterator[_Table]:
    """The tables with their names in English, which are translated with the titles."""
    base, tr = report.base, partial(t, language=language)
    mark = f" ({name_term('base', language)})"
    rows = [
        [run.letter + mark * (run.letter == base), run.target, run.run_id, run.created_at[:10]]
        for run in report.runs
    ]
    tables = [(tr("compare.runs"), ["", "target", "run", "date"], rows)]
    tables += [_build_score_table(group, language) for group in report.groups]
    for detail in report.details:
        tables.append(_build_pair_table(detail, language))
        if detail.cases:
            tables.append(_build_case_table(detail, report.differing[detail.benchmark], language))
    for calibration in report.calibrations:
        shown = [*build_calibration_tables(calibration, tr), build_task_table(calibration, tr)]
        tables += [(f"{calibration.benchmark}: {each[0]}", *each[1:]) for each in shown]
    if report.obstacles:
        rows = [
            [o.letter, o.benchmark, explain_incompatibility(o, language)] for o in report.obstacles
        ]
        title = tr("compare.obstacles", base=base, count=len(rows))
        tables.append((title, ["", "benchmark", "reason"], rows))
    for title, columns, rows in tables:
        yield title, [name_term(column, language) for column in columns], rows


def _build_score_table(group: ColumnGroup, language: str) -> _Table:
    """A metric a line and a run a column, the best marked with a star, a lower bound as one."""
    lines = [
        (name_term("all", language), group.marks),
        *((metric_scores.metric, metric_scores.marks) for metric_scores in group.metrics),
    ]
    rows = []
    for name, marks in lines:
        own = {mark.letter: mark for mark in marks}
        rows.append([name, *(_format_run_score(own.get(letter)) for letter in group.letters)])
    part = "whole" if group.full else "part"
    words = {"name": group.benchmark, "column": group.column}
    title = t_count(f"compare.report.{part}", language, group.samples, **words)
    return title, ["metric", *group.letters], rows


def _format_run_score(mark: RunScore | None) -> str:
    if mark is None or mark.score is None:
        return NOT_RUN
    bound = "" if mark.complete or mark.claimed else "≥ "
    star = " ★" if mark.best else ""
    return f"{bound}{mark.score:.1f}{_format_score_interval(mark.interval)}{star}"


def _format_score_interval(
    interval: Interval | None, form: Callable[[float], str] = "{:.1f}".format
) -> str:
    return "" if interval is None else f" ({form(interval.low)} – {form(interval.high)})"


def _build_pair_table(detail: BenchmarkDetail, language: str) -> _Table:
    about = f"{detail.benchmark}{f'/{detail.metric}' if detail.metric else ''}"
    rows = [
        [letter, *_format_pair_result(pair)[:-1], name_term(pair.result.test, language)]
        for letter, pair in detail.pairs.items()
    ]
    words = {"about": about, "base": detail.base}
    title = t_count("compare.report.pairs", language, detail.common, **words)
    return title, ["", *_PAIR], rows


def _format_pair_result(pair: PairedScores) -> list[str]:
    result = pair.result
    return [
        str(result.wins),
        str(result.losses),
        str(result.ties),
        NOT_RUN if result.difference is None else format_signed(result.difference),
        _format_score_interval(result.interval, format_signed).strip(" ()") or NOT_RUN,
        "< 0.001" if result.p < 0.001 else f"{result.p:.3f}",
        result.test,
    ]


def _build_case_table(detail: BenchmarkDetail, count: int, language: str) -> _Table:
    letters = list(detail.cases[0].scores)
    rows = [[c.metric, c.id, *(f"{c.scores[n]:.2g}" for n in letters)] for c in detail.cases]
    part = "first" if len(rows) < count else "differing"
    title = t_count(
        f"compare.report.{part}", language, count, name=detail.benchmark, shown=len(rows)
    )
    return title, ["metric", "case", *letters], rows


def build_calibration_tables(calibration: UserCalibration, tr: Translate) -> Iterator[_Table]:
    """Who played the user, how far the outcomes agree, and the score task by task; figures stand
    under each other, as there is no room for more of them side by side on a phone."""
    first, second = calibration.letters
    # A specification is one long word, were it not for these spaces.
    named = (user.replace("?", " ?").replace("&", " &") for user in calibration.users)
    users = [user or tr("compare.calibration.rules") for user in named]
    title = tr("compare.calibration.title", base=first, other=second)
    rows = [list(row) for row in zip(calibration.letters, users, strict=True)]
    yield title, ["", tr("compare.calibration.user")], rows
    rate, kappa, pair = calibration.agreement, calibration.kappa, calibration.paired
    span = _format_score_interval(calibration.interval)
    figures = {
        "tasks": str(len(calibration.tasks)),
        "agreement": NOT_RUN if rate is None else f"{rate:.1f}%{span}",
        "kappa": NOT_RUN if kappa is None else f"{kappa:.2f}",
        "undecided": str(calibration.undecided),
        "unshared": str(calibration.unshared),
    }
    rows = [[tr(f"compare.calibration.{name}"), figure] for name, figure in figures.items()]
    both = ["", f"{first}, {second}"]
    yield tr("compare.calibration.agreement"), both, rows
    if pair is None:
        return
    words = {True: "passed", False: "failed"}
    rows = [
        [f"{first}: {tr(f'common.outcome.{words[ours]}')}"]
        + [str(calibration.count_tasks(ours, theirs)) for theirs in words]
        for ours in words
    ]
    columns = ["", *(f"{second}: {tr(f'common.outcome.{word}')}" for word in words.values())]
    yield tr("compare.calibration.table"), columns, rows
    names = ("wins", "losses", "ties", "difference", "interval")
    labels = [first, second, *(tr(f"compare.{name}") for name in names), "p"]
    scores = [f"{pair.first:.1f}", f"{pair.second:.1f}", *_format_pair_result(pair)[:-1]]
    rows = [list(row) for row in zip(labels, scores, strict=True)]
    yield tr("compare.against", title=second, base=first), both, rows


def build_task_table(calibration: UserCalibration, tr: Translate) -> _Table:
    """Every task with both outcomes, those that differ first."""
    rows = [
        ["" if task.agrees else "≠", task.metric, task.id]
        + [_format_task_side(side, tr) for side in (task.first, task.second)]
        for task in calibration.tasks
    ]
    title = tr("compare.calibration.differ", count=len(calibration.disagreements), all=len(rows))
    columns = ["", tr("common.metric"), tr("common.case"), *calibration.letters]
    return title, columns, rows


def _format_task_side(side: TaskSide, tr: Translate) -> str:
    word = tr(f"common.outcome.{'passed' if side.has_passed else 'failed'}")
    return f"{word} {side.passed}/{side.repetitions}" if side.repetitions > 1 else word


def explain_incompatibility(incompatibility: Incompatibility, language: str = DEFAULT) -> str:
    """Why two runs are not compared on a benchmark."""
    none, kind = name_term("none", language), str(incompatibility.kind)
    if kind == "rules" and not incompatibility.differences:
        kind = "scored"
    changes = [
        f"{d.rule}: {d.base or none} / {d.other or none}" for d in incompatibility.differences
    ]
    return t(f"compare.report.why.{kind}", language, changes=", ".join(changes))


def _csv_rows(report: ComparisonReport) -> Iterator[dict[str, object]]:
    runs = {entry.letter: entry for entry in report.runs}
    pairs = {
        (detail.benchmark, detail.metric, letter): pair
        for detail in report.details
        for letter, pair in detail.pairs.items()
    }
    for group in report.groups:
        lines = [("", group.marks), *((entry.metric, entry.marks) for entry in group.metrics)]
        for metric, marks in lines:
            for mark in marks:
                run = runs[mark.letter]
                pair = pairs.get((group.benchmark, metric, mark.letter))
                yield {
                    "benchmark": group.benchmark,
                    "column": group.column,
                    "metric": metric,
                    "letter": mark.letter,
                    "run": run.run_id,
                    "target": run.target,
                    **_csv_score(mark),
                    **({} if pair is None else _csv_pair(pair, runs[report.base].run_id)),
                }


def _csv_score(mark: RunScore) -> dict[str, object]:
    interval = mark.interval
    return {
        "samples": mark.samples,
        "coverage": round(mark.coverage, 4),
        "complete": mark.complete,
        "score": round_cell(mark.score),
        "low": round_cell(interval.low if interval else None),
        "high": round_cell(interval.high if interval else None),
        "best": mark.best,
    }


def _csv_pair(pair: PairedScores, base: str) -> dict[str, object]:
    result, interval = pair.result, pair.result.interval
    return {
        "base": base,
        "common": result.common,
        "wins": result.wins,
        "losses": result.losses,
        "ties": result.ties,
        "difference": round_cell(result.difference),
        "difference_low": round_cell(interval.low if interval else None),
        "difference_high": round_cell(interval.high if interval else None),
        "p": f"{result.p:.4g}",
        "test": result.test,
    }


def cases_csv(detail: BenchmarkDetail) -> str:
    """The differing cases of one benchmark: benchmark, metric, case, weight, a score per run."""
    letters = sorted([detail.base, *detail.pairs])
    rows = (
        [case.benchmark, case.metric, case.id, case.weight]
        + [round(case.scores[letter], 4) for letter in letters]
        for case in detail.cases
    )
    return format_csv([["benchmark", "metric", "case", "weight", *letters], *rows])


def _to_plain_cell(text: str) -> str:
    """Return one line of printable characters, truncated if it is long."""
    line = "".join(c if c.isprintable() else " " for c in _SPACE.sub(" ", text)).strip()
    return line if len(line) <= _CELL else f"{line[: _CELL - 1]}…"


def _format_markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_escape_markdown(cell) for cell in cells) + " |"


def _escape_markdown(text: str) -> str:
    """Text as character references wherever Markdown could read more into it."""
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", _to_plain_cell(text))
