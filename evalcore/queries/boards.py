"""Which boards there are, and which run stands for a target in each column of one.

A board is a suite plus one column key per benchmark. Runs are comparable exactly where their column
keys are equal, so two datasets, scoring modes or prompt versions make two boards. A row joins a
target's newest complete runs; its older and its best runs are history. What others published stands
on boards of its own, one per publication: its columns belong together and to nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from evalcore.catalog import SUITES, benchmark_cards
from evalcore.records import Record
from evalcore.store.headers import HeaderScore, RunHeader
from evalcore.store.snapshot import kept

DEFAULT = "default"
CONTROL = "control"
_RESCORED = ("bfcl-", "bundle-")


class Column(Record, frozen=True):
    """What one benchmark's scores on a board rest on. `newest` is a time, `targets` a count.

    `label` says it in words, parted by " · ": data set, mode, options, size.
    """

    benchmark: str
    key: str
    label: str
    dataset: str
    samples: int
    full: bool
    executed: bool
    targets: int
    newest: str

    @property
    def bundled(self) -> bool:
        """Whether the cases are those that come with the benchmark."""
        return is_bundled(self.benchmark, self.dataset)

    @property
    def usual(self) -> bool:
        """Whether the benchmark's default mode, where it has modes, stands in the label."""
        options = benchmark_cards()[self.benchmark].options
        modes = [str(option.default) for option in options if option.name == "mode"]
        return set(modes) <= set(self.label.split(" · "))


class Board(Record, frozen=True):
    """A suite with a column per benchmark. `key` is DEFAULT, the column that differs from it, or
    the dataset of what was published together."""

    key: str
    suite: str
    columns: dict[str, Column]

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells it from all other boards: its suite and the keys of its columns."""
        return (self.suite, *(f"{key}={column.key}" for key, column in self.columns.items()))

    @property
    def published(self) -> bool:
        """Whether it is what others published, and nothing of it was run here."""
        return not any(column.executed for column in self.columns.values())

    @property
    def handed_in(self) -> bool:
        """Whether it is of runs that came in as bundles, whose answers were scored again here."""
        return self.published and self.key.startswith("bundle-")

    @property
    def rescored(self) -> bool:
        """Whether answers that others published were scored again here."""
        return self.published and is_rescored(self.key)

    @property
    def taken_over(self) -> bool:
        """Whether the verdicts are those of a publisher, and nothing was decided here."""
        return self.published and not self.rescored

    @property
    def whole(self) -> bool:
        """Whether every benchmark of the suite has a column, so that a mean over them is fair."""
        return set(self.columns) >= {
            card.key for card in benchmark_cards().values() if card.suite == self.suite
        }


class Row(Record, frozen=True):
    """A target on a board: the run that stands for it in each column it was run in."""

    identity: str
    target_key: str
    runs: dict[str, RunHeader]

    @property
    def kind(self) -> str:
        return self.target_key.partition(":")[0]

    @property
    def complete(self) -> bool:
        return all(run.benchmarks[key].complete for key, run in self.runs.items())

    def score(self, benchmark: str) -> HeaderScore | None:
        run = self.runs.get(benchmark)
        return None if run is None else run.benchmarks[benchmark]


def suites(headers: Iterable[RunHeader]) -> list[str]:
    """The suites that have any score, in the order of the catalogue."""
    return list(kept(headers, "suites", lambda: _suites(headers)))


def _suites(headers: Iterable[RunHeader]) -> list[str]:
    known = benchmark_cards()
    ran = {key for header in headers for key in header.benchmarks}
    present = {known[key].suite for key in ran if key in known}
    return [suite for suite in SUITES if suite in present]


def columns(headers: Iterable[RunHeader], suite: str) -> dict[str, list[Column]]:
    """Every column of a suite by benchmark, the one for the default board first.

    Preferred are, in this order: runs made here over imported ones, full sets over subsets, the
    bundled cases over others, the default mode, more targets (controls do not count), the newest.
    """
    found: dict[tuple[str, str], list[RunHeader]] = defaultdict(list)
    cards = benchmark_cards()
    for header in headers:
        for benchmark, score in header.benchmarks.items():
            if benchmark in cards and cards[benchmark].suite == suite:
                found[benchmark, score.column].append(header)
    by_benchmark: dict[str, list[Column]] = {key: [] for key in cards}
    for (benchmark, _), runs in found.items():
        by_benchmark[benchmark].append(_column(benchmark, runs))
    for group in by_benchmark.values():
        group.sort(key=_preference, reverse=True)
    return {key: group for key, group in by_benchmark.items() if group}


def _column(benchmark: str, runs: Sequence[RunHeader]) -> Column:
    newest = max(runs, key=lambda run: (run.created_at, run.benchmarks[benchmark].samples))
    score = newest.benchmarks[benchmark]
    return Column(
        benchmark=benchmark,
        key=score.column,
        label=score.label,
        dataset=score.dataset,
        samples=score.samples,
        full=score.full,
        executed=newest.origin == "executed",
        targets=len({run.identity for run in runs if not is_control(run.target_key)}),
        newest=newest.created_at,
    )


def _preference(column: Column) -> tuple[bool, bool, bool, bool, int, str]:
    made_here, full, bundled = column.executed, column.full, column.bundled
    return made_here, full, bundled, column.usual, column.targets, column.newest


def boards(headers: Iterable[RunHeader], suite: str) -> list[Board]:
    """The default board of a suite, one per further column, then those that others published, the
    newest first; none without a score."""
    return list(kept(headers, ("boards", suite), lambda: _boards(headers, suite)))


def _boards(headers: Iterable[RunHeader], suite: str) -> list[Board]:
    by_benchmark = columns(headers, suite)
    own = {
        benchmark: [column for column in group if column.executed]
        for benchmark, group in by_benchmark.items()
    }
    default = {benchmark: group[0] for benchmark, group in own.items() if group}
    others = [column for group in own.values() for column in group[1:]]
    made = [
        Board(key=column.key, suite=suite, columns={**default, column.benchmark: column})
        for column in sorted(others, key=_preference, reverse=True)
    ]
    first = [Board(key=DEFAULT, suite=suite, columns=default)] if default else []
    return [*first, *made, *_published(by_benchmark, suite)]


def _published(by_benchmark: Mapping[str, Sequence[Column]], suite: str) -> list[Board]:
    """A board per dataset of imported runs."""
    found: dict[str, dict[str, Column]] = defaultdict(dict)
    for benchmark, group in by_benchmark.items():
        for column in group:
            if not column.executed:
                found[column.dataset].setdefault(benchmark, column)
    newest = sorted(found, key=lambda key: max(c.newest for c in found[key].values()), reverse=True)
    return [Board(key=key, suite=suite, columns=found[key]) for key in newest]


def find(boards_of_suite: Sequence[Board], key: str) -> Board:
    """The board of that key, else the default one: an old link must not end in an error."""
    return next((board for board in boards_of_suite if board.key == key), boards_of_suite[0])


def is_control(target_key: str) -> bool:
    """Whether a target is a yardstick (reference, null, noop) and takes no rank."""
    return target_key.partition(":")[0] == CONTROL


def is_bundled(benchmark: str, dataset: str) -> bool:
    """Whether a data set is the one that comes with a benchmark."""
    card = benchmark_cards().get(benchmark)
    return card is not None and card.dataset == dataset


def is_rescored(dataset: str) -> bool:
    """Whether the answers of an imported run with that data set were scored again here; verdicts of
    other publishers are taken over."""
    return dataset.startswith(_RESCORED)


def rows(headers: Iterable[RunHeader], board: Board) -> list[Row]:
    """One row per target identity that has a score on the board, controls included."""
    return list(kept(headers, ("rows", board.identity), lambda: _rows(headers, board)))


def _rows(headers: Iterable[RunHeader], board: Board) -> list[Row]:
    chosen: dict[str, dict[str, RunHeader]] = defaultdict(dict)
    for header in sorted(headers, key=lambda run: run.created_at):
        for benchmark, column in board.columns.items():
            score = header.benchmarks.get(benchmark)
            if score is None or score.column != column.key:
                continue
            held = chosen[header.identity].get(benchmark)
            if held is None or score.complete or not held.benchmarks[benchmark].complete:
                chosen[header.identity][benchmark] = header
    return [
        Row(
            identity=identity,
            target_key=next(iter(runs.values())).target_key,
            runs={key: runs[key] for key in board.columns if key in runs},
        )
        for identity, runs in chosen.items()
        if runs
    ]


def floors(headers: Iterable[RunHeader], board: Board, benchmark: str = "") -> dict[str, float]:
    """Scores of the complete control runs by what they answer with: reference, null, noop.

    `benchmark` empty means the suite: the mean over the board's columns where the control ran in
    all of them.
    """
    found = {}
    for row in rows(headers, board):
        if not is_control(row.target_key):
            continue
        score = suite_score(row, board) if not benchmark else _complete_score(row, benchmark)
        if score is not None:
            found[row.target_key.partition(":")[2]] = score
    return dict(sorted(found.items(), key=lambda item: item[1]))


def suite_score(row: Row, board: Board) -> float | None:
    """The mean over a suite's benchmarks, 0 to 100, None unless all of them ran to their end or
    are claimed."""
    scores = [_complete_score(row, benchmark) for benchmark in board.columns]
    known = [score for score in scores if score is not None]
    if not board.whole or len(known) < len(scores):
        return None
    return sum(known) / len(known)


def _complete_score(row: Row, benchmark: str) -> float | None:
    score = row.score(benchmark)
    return score.score if score is not None and (score.complete or score.claimed) else None
