"""A comparison of several runs for taking away: as data, as text, as Markdown, as CSV.

Scores and differences run from 0 to 100, case scores from 0 to 1. Names come from models and data
sets: in Markdown nothing of them is markup, and in CSV nothing is a formula.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from evalcore.errors import UsageError
from evalcore.plain_text import DASH, safe_cell
from evalcore.queries import contest, lineup
from evalcore.queries.comparison import Compared
from evalcore.queries.contest import CaseLine, Detail, Group, Mark
from evalcore.queries.lineup import Lineup, Obstacle
from evalcore.records import Interval, Record

CASES = 20  # that differ, told per benchmark
CSV_COLUMNS = (
    *("benchmark", "column", "metric", "letter", "run", "target", "samples", "coverage"),
    *("complete", "score", "low", "high", "best", "base", "common", "wins", "losses", "ties"),
    *("difference", "difference_low", "difference_high", "p", "test"),
)
_CELL = 120  # characters of a cell
#: What Markdown could read more into than text: all but words, decimal points and plain marks.
_MARKUP = re.compile(r"[^\w %+,.()/=≥–★…-]|(?<!\w)_|_(?!\w)|(?<!\d)\.|\.(?!\d)")
_SPACE = re.compile(r"\s+")
_Table = tuple[str, list[str], list[list[str]]]  # title, columns, rows


class Runner(Record, frozen=True):
    """A compared run as it is named everywhere else in the report."""

    letter: str
    run_id: str
    target: str
    created_at: str


class Report(Record, frozen=True):
    """All of a comparison. `details` are of the benchmarks on which anyone can be measured against
    the base; their cases are the first few of `differing`, which counts all by benchmark."""

    base: str
    runs: tuple[Runner, ...]
    groups: tuple[Group, ...]
    details: tuple[Detail, ...]
    differing: dict[str, int]
    obstacles: tuple[Obstacle, ...]


def report(
    roots: Sequence[Path],
    who: Lineup,
    base: str = "",
    *,
    benchmark: str = "",
    metric: str = "",
    cases: int = CASES,
) -> Report:
    """Compare those of a lineup against the run `base` (default: the first).

    `benchmark` and `metric` narrow it down. Raises UsageError for a base that takes no part, for a
    benchmark or metric that nobody ran, and where there are too few to compare.
    """
    if len(who.entrants) < lineup.FEWEST:
        raise UsageError("; ".join(one.reason for one in who.absent) or "too few runs to compare")
    chosen = who.of(base) if base else who.entrants[0]
    asked = _asked(who, benchmark, metric)
    scores = contest.scores_of(roots, who)
    details = [
        contest.detail(scores, key, sides, metric)
        for key, sides in contest.comparable(who, chosen).items()
        if key in asked
    ]
    return Report(
        base=chosen.letter,
        runs=tuple(Runner(e.letter, e.run_id, e.identity, e.created_at) for e in who.entrants),
        groups=tuple(group for group in contest.groups(who) if group.benchmark in asked),
        details=tuple(_cut(one, cases) for one in details),
        differing={one.benchmark: len(one.cases) for one in details},
        obstacles=tuple(o for o in lineup.obstacles(who, chosen) if o.benchmark in asked),
    )


def as_text(found: Report) -> str:
    """For a terminal: the tables of `as_markdown`, in columns."""
    parts = []
    for title, columns, rows in _tables(found):
        lines = [columns, *rows]
        widths = [max(len(_plain(line[n])) for line in lines) for n in range(len(columns))]
        told = [
            "  ".join(_plain(c).ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        parts.append("\n".join([_plain(title), *told]))
    return "\n\n".join(parts)


def as_markdown(found: Report) -> str:
    """GitHub-flavoured Markdown."""
    lines = ["# Comparison of runs"]
    for title, columns, rows in _tables(found):
        lines += ["", f"## {_markdown(title)}", "", _row(columns), "|" + "---|" * len(columns)]
        lines += [_row(row) for row in rows]
    return "\n".join(lines) + "\n"


def as_csv(found: Report) -> str:
    """One row per run, benchmark and metric (empty: the whole) under CSV_COLUMNS; what is unknown
    or cannot be compared is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for row in _csv_rows(found):
        writer.writerow({name: safe_cell(value) for name, value in row.items()})
    return text.getvalue()


FORMATS: dict[str, Callable[[Report], str]] = {"text": as_text, "md": as_markdown, "csv": as_csv}


def _asked(who: Lineup, benchmark: str, metric: str) -> list[str]:
    known = lineup.benchmarks(who)
    if benchmark and benchmark not in known:
        raise UsageError(f"none of the runs has benchmark {benchmark!r}: {', '.join(known)}")
    asked = [
        key
        for key in ([benchmark] if benchmark else known)
        if not metric or metric in contest.metrics_of(who, key)
    ]
    if not asked:
        raise UsageError(f"none of the runs has cases of metric {metric!r}")
    return asked


def _cut(one: Detail, cases: int) -> Detail:
    return Detail(one.benchmark, one.metric, one.base, one.common, one.pairs, one.cases[:cases])


def _tables(found: Report) -> Iterator[_Table]:
    base = found.base
    yield (
        "Runs",
        ["", "target", "run", "date"],
        [
            [r.letter + " (base)" * (r.letter == base), r.target, r.run_id, r.created_at[:10]]
            for r in found.runs
        ],
    )
    for group in found.groups:
        yield _scores(group)
    for detail in found.details:
        yield _pairs(detail)
        if detail.cases:
            yield _cases(detail, found.differing[detail.benchmark])
    if found.obstacles:
        rows = [[o.letter, o.benchmark, _why(o)] for o in found.obstacles]
        yield f"Not compared with {base}", ["", "benchmark", "reason"], rows


def _scores(group: Group) -> _Table:
    """A metric a line and a run a column, the best marked with a star, a lower bound as one."""
    lines = [("all", group.marks), *((one.metric, one.marks) for one in group.metrics)]
    rows = []
    for name, marks in lines:
        own = {mark.letter: mark for mark in marks}
        rows.append([name, *(_score(own.get(letter)) for letter in group.letters)])
    size = f"{group.samples} cases" + ("" if group.full else " of a subset")
    title = f"{group.benchmark} (column {group.column}, {size})"
    return title, ["metric", *group.letters], rows


def _score(mark: Mark | None) -> str:
    if mark is None or mark.score is None:
        return DASH
    bound = "" if mark.complete or mark.claimed else "≥ "
    star = " ★" if mark.best else ""
    return f"{bound}{mark.score:.1f}{_span(mark.interval, '.1f')}{star}"


def _span(interval: Interval | None, form: str) -> str:
    if interval is None:
        return ""
    return f" ({interval.low:{form}} – {interval.high:{form}})"


def _pairs(one: Detail) -> _Table:
    about = f"{one.benchmark}{f'/{one.metric}' if one.metric else ''}"
    columns = ["", "won", "lost", "tied", "difference", "95 % interval", "p", "test"]
    rows = [[letter, *_result(pair)] for letter, pair in one.pairs.items()]
    return f"{about} against {one.base}, on {one.common} common cases", columns, rows


def _result(pair: Compared) -> list[str]:
    result = pair.result
    return [
        str(result.wins),
        str(result.losses),
        str(result.ties),
        DASH if result.difference is None else f"{result.difference:+.1f}",
        _span(result.interval, "+.1f").strip(" ()") or DASH,
        "< 0.001" if result.p < 0.001 else f"{result.p:.3f}",
        result.test,
    ]


def _cases(one: Detail, count: int) -> _Table:
    letters = list(one.cases[0].scores)
    rows = [[c.metric, c.id, *(f"{c.scores[n]:.2g}" for n in letters)] for c in one.cases]
    shown = f", the first {len(rows)}" if len(rows) < count else ""
    return f"{one.benchmark}: {count} cases that differ{shown}", ["metric", "case", *letters], rows


def _why(one: Obstacle) -> str:
    """The reason in a sentence."""
    if one.kind != "rules":
        return _REASONS[one.kind]
    if not one.differences:
        return "asked by the same rules, and scored by others"
    told = [f"{d.rule}: {d.base or 'none'} / {d.other or 'none'}" for d in one.differences]
    return f"other rules: {', '.join(told)}"


_REASONS = {
    "not_run": "did not run it",
    "base_not_run": "the base did not run it",
    "claimed": "a claim without cases behind it",
    "unmeasured": "nothing of it was measured in one of the two",
}


def _csv_rows(found: Report) -> Iterator[dict[str, object]]:
    runs = {one.letter: one for one in found.runs}
    pairs = {
        (detail.benchmark, detail.metric, letter): pair
        for detail in found.details
        for letter, pair in detail.pairs.items()
    }
    for group in found.groups:
        lines = [("", group.marks), *((one.metric, one.marks) for one in group.metrics)]
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
                    **({} if pair is None else _csv_pair(pair, runs[found.base].run_id)),
                }


def _csv_score(mark: Mark) -> dict[str, object]:
    interval = mark.interval
    return {
        "samples": mark.samples,
        "coverage": round(mark.coverage, 4),
        "complete": mark.complete,
        "score": "" if mark.score is None else round(mark.score, 4),
        "low": "" if interval is None else round(interval.low, 4),
        "high": "" if interval is None else round(interval.high, 4),
        "best": mark.best,
    }


def _csv_pair(pair: Compared, base: str) -> dict[str, object]:
    result, interval = pair.result, pair.result.interval
    return {
        "base": base,
        "common": result.common,
        "wins": result.wins,
        "losses": result.losses,
        "ties": result.ties,
        "difference": "" if result.difference is None else round(result.difference, 4),
        "difference_low": "" if interval is None else round(interval.low, 4),
        "difference_high": "" if interval is None else round(interval.high, 4),
        "p": f"{result.p:.4g}",
        "test": result.test,
    }


def cases_csv(detail: Detail) -> str:
    """The differing cases of one benchmark: benchmark, metric, case, weight, a score per run."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    letters: Iterable[str] = sorted([detail.base, *detail.pairs])
    writer.writerow(["benchmark", "metric", "case", "weight", *letters])
    for case in detail.cases:
        writer.writerow([safe_cell(value) for value in _csv_case(case, letters)])
    return text.getvalue()


def _csv_case(case: CaseLine, letters: Iterable[str]) -> list[object]:
    scores = [round(case.scores[letter], 4) for letter in letters]
    return [case.benchmark, case.metric, case.id, case.weight, *scores]


def _plain(text: str) -> str:
    """One line of printable characters, cut where it is long."""
    line = "".join(c if c.isprintable() else " " for c in _SPACE.sub(" ", text)).strip()
    return line if len(line) <= _CELL else f"{line[: _CELL - 1]}…"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_markdown(cell) for cell in cells) + " |"


def _markdown(text: str) -> str:
    """Text as character references wherever Markdown could read more into it."""
    return _MARKUP.sub(lambda found: f"&#{ord(found.group())};", _plain(text))
