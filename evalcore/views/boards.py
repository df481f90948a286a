"""Which boards there are, and which run stands for a target in each column of one.

A board is a suite plus one column key per benchmark. Runs are comparable exactly where their column
keys are equal, so two datasets, scoring modes or prompt versions make two boards. A row joins a
target's newest complete runs; its older and its best runs are history. What others published stands
on boards of its own, one per publication: its columns belong together and to nothing else.

The mean of a suite is over a declared, versioned membership (`SuiteCard.memberships`). What else is
installed or run in the suite is a further column, so that it takes no rank from anybody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from evalcore import settings
from evalcore.catalog import (
    CONTROL_KIND,
    BenchmarkCard,
    MetricCard,
    benchmark_cards,
    is_usable_key,
    list_command_cards,
    suite_cards,
)
from evalcore.records import EvidenceKind, Record, content_hash
from evalcore.store.headers import HeaderScore, RunHeader, memoize_on_snapshot

DEFAULT = "default"
#: Of the keys of boards that are built from a publisher's results and no run.
PUBLICATION_PREFIX = "published-"
_BUNDLE_PREFIX = "bundle-"


class Column(Record, frozen=True):
    """What one benchmark's scores on a board rest on. `newest` is a time; `targets` counts those
    with a score, `complete` those of them with a complete one; `metrics` are those of the newest
    run, `empty_metrics` those of them without a case.

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
    complete: int = 0
    metrics: tuple[str, ...] = ()
    empty_metrics: tuple[str, ...] = ()

    @property
    def is_default_mode(self) -> bool:
        """Whether the benchmark's default mode, where it has modes, stands in the label."""
        modes = [str(option.default) for option in self.card.options if option.name == "mode"]
        return set(modes) <= set(self.label.split(" · "))

    def evidence(self, metric: str) -> EvidenceKind:
        """What the verdicts on a metric rest on in the mode that stands in the label."""
        named = self.label.split(" · ")[1:]
        mode = next((each for each in self.card.evidence_by_mode if each in named), "")
        return self.card.evidence(metric, mode)

    @property
    def card(self) -> BenchmarkCard:
        """The benchmark's card; of one whose plug-in is absent, what its runs tell."""
        installed = benchmark_cards().get(self.benchmark)
        if installed is not None and installed.open_metrics and self.metrics:
            chosen = tuple(map(installed.find_metric, self.metrics))
            return msgspec.structs.replace(installed, metrics=chosen)
        if installed is not None:
            return installed
        metrics = tuple(MetricCard(key=metric, weight=None) for metric in self.metrics)
        return BenchmarkCard(key=self.benchmark, suite="", implementation="", metrics=metrics)


class Board(Record, frozen=True):
    """A suite with a column per benchmark. `key` is DEFAULT, the column that differs from it, the
    version of the membership (`v1`) or the operator's own (`own-...`), or the dataset of what was
    published together. `members` are the benchmarks of the suite's mean, none where nobody declares
    them; `finished` counts the targets with a complete score in all of them,
    None where nobody counted them."""

    key: str
    suite: str
    columns: dict[str, Column]
    members: tuple[str, ...] = ()
    finished: int | None = None

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells it from all other boards: its suite, the keys of its columns, its members."""
        columns = (f"{key}={column.key}" for key, column in self.columns.items())
        return (self.suite, *columns, *self.members)

    @property
    def published(self) -> bool:
        """Whether it is what others published, and nothing of it was run here."""
        return not any(column.executed for column in self.columns.values())

    @property
    def is_publication(self) -> bool:
        """Whether it is built from a publisher's results, without any run."""
        return self.key.startswith(PUBLICATION_PREFIX)

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
    def has_all_members(self) -> bool:
        """Whether every member of the suite has a column, so that a mean over them is fair."""
        return bool(self.members) and set(self.members) <= set(self.columns)

    @property
    def counted_benchmarks(self) -> tuple[str, ...]:
        """The benchmarks over which sums and means of a row are taken."""
        return self.members if self.has_all_members else tuple(self.columns)

    @property
    def metrics(self) -> list[str]:
        """Every "benchmark/metric" in the order of the columns."""
        return [
            f"{key}/{metric.key}"
            for key, column in self.columns.items()
            for metric in column.card.metrics
        ]


class Row(Record, frozen=True):
    """A target on a board: the run that stands for it in each column it was run in."""

    identity: str
    target_key: str
    runs: dict[str, RunHeader]

    @property
    def kind(self) -> str:
        return self.target_key.partition(":")[0]

    @property
    def is_complete(self) -> bool:
        return all(run.benchmarks[key].complete for key, run in self.runs.items())

    @property
    def complete_part(self) -> Row:
        """The row without the benchmarks that were not run to their end."""
        runs = {key: run for key, run in self.runs.items() if run.benchmarks[key].complete}
        return Row(identity=self.identity, target_key=self.target_key, runs=runs)

    def score(self, benchmark: str) -> HeaderScore | None:
        run = self.runs.get(benchmark)
        return None if run is None else run.benchmarks[benchmark]


def list_suites(headers: Iterable[RunHeader]) -> list[str]:
    """The suites that have any score, in the order of the catalogue, then those of absent plug-ins
    by name."""
    return list(memoize_on_snapshot(headers, "suites", lambda: _find_suites(headers)))


def _find_suites(headers: Iterable[RunHeader]) -> list[str]:
    scores = {(key, score.suite) for header in headers for key, score in header.benchmarks.items()}
    present = {_suite_of(key, suite) for key, suite in scores} - {""}
    declared = [key for key in suite_cards() if key in present]
    return [*declared, *sorted(present - set(declared))]


def map_benchmark_suites(headers: Iterable[RunHeader]) -> dict[str, str]:
    """The suite of every benchmark that is installed or was run."""
    suite_by_benchmark = {key: card.suite for key, card in benchmark_cards().items()}
    for header in headers:
        for key, score in header.benchmarks.items():
            if key not in suite_by_benchmark and (suite := _suite_of(key, score.suite)):
                suite_by_benchmark[key] = suite
    return suite_by_benchmark


def _suite_of(benchmark: str, recorded: str) -> str:
    """The suite of a benchmark; of one whose plug-in is absent, what was recorded, else empty."""
    card = benchmark_cards().get(benchmark)
    if card is not None:
        return card.suite
    return recorded if is_usable_key(benchmark) and is_usable_key(recorded) else ""


def list_columns(headers: Iterable[RunHeader], suite: str) -> dict[str, list[Column]]:
    """Every column of a suite by benchmark, the one for the default board first.

    Preferred are, in this order: runs made here over imported ones, full sets over subsets, the
    bundled cases over others, the default mode, more targets with a complete score (controls do not
    count), more targets, the newest.
    """
    runs_by_column: dict[tuple[str, str], list[RunHeader]] = defaultdict(list)
    for header in headers:
        for benchmark, score in header.benchmarks.items():
            if _suite_of(benchmark, score.suite) == suite:
                runs_by_column[benchmark, score.column].append(header)
    by_benchmark: dict[str, list[Column]] = {key: [] for key in benchmark_cards()}
    for (benchmark, _), runs in sorted(runs_by_column.items()):
        by_benchmark.setdefault(benchmark, []).append(build_column(benchmark, runs))
    for group in by_benchmark.values():
        group.sort(key=_compute_preference, reverse=True)
    return {key: group for key, group in by_benchmark.items() if group}


def build_column(benchmark: str, runs: Sequence[RunHeader]) -> Column:
    """Build one column from equal runs. The same cases may have another name (a path, or all
    metrics chosen one by one); that must not cost the column the preference that an earlier run
    gave it."""

    def plainness_key(run: RunHeader) -> tuple[bool, bool, bool, str, int]:
        score = run.benchmarks[benchmark]
        bundled = is_bundled(benchmark, score.dataset)
        return run.origin == "executed", score.full, bundled, run.created_at, score.samples

    plainest = max(runs, key=plainness_key)
    score = plainest.benchmarks[benchmark]
    models = [run for run in runs if not is_control(run.target_key)]
    return Column(
        benchmark=benchmark,
        key=score.column,
        label=score.label,
        dataset=score.dataset,
        samples=score.samples,
        full=score.full,
        executed=plainest.origin == "executed",
        targets=len({run.identity for run in models}),
        newest=max(run.created_at for run in runs),
        complete=len({run.identity for run in models if run.benchmarks[benchmark].complete}),
        metrics=tuple(score.metrics),
        empty_metrics=tuple(name for name, (*_, cases) in score.metrics.items() if not cases),
    )


def _compute_preference(column: Column) -> tuple[bool, bool, bool, bool, int, int, str]:
    bundled = is_bundled(column.benchmark, column.dataset)
    counts = column.complete, column.targets
    return column.executed, column.full, bundled, column.is_default_mode, *counts, column.newest


def list_boards(headers: Iterable[RunHeader], suite: str) -> list[Board]:
    """The default board of a suite, one per other membership, one per further column, then those
    that others published, the newest first; none without a score."""
    key = ("boards", suite)
    return list(memoize_on_snapshot(headers, key, lambda: _build_boards(headers, suite)))


def _build_boards(headers: Iterable[RunHeader], suite: str) -> list[Board]:
    by_benchmark = list_columns(headers, suite)
    own = {
        benchmark: [column for column in group if column.executed]
        for benchmark, group in by_benchmark.items()
    }
    default = {benchmark: group[0] for benchmark, group in own.items() if group}
    others = [column for group in own.values() for column in group[1:]]
    members = _choose_members(headers, suite, default)
    column_boards = [
        Board(column.key, suite, {**default, column.benchmark: column}, members)
        for column in sorted(others, key=_compute_preference, reverse=True)
    ]
    first = [Board(key=DEFAULT, suite=suite, columns=default, members=members)] if default else []
    choices = {**_own_membership(suite), **_list_memberships(suite)}
    further = [
        Board(key, suite, default, other)
        for key, other in choices.items()
        if set(other) != set(members) and set(other) <= set(default)
    ]
    found = [*first, *further, *column_boards, *_build_published_boards(by_benchmark, suite)]
    return [
        msgspec.structs.replace(board, finished=_count_finished(headers, board)) for board in found
    ]


def _count_finished(headers: Iterable[RunHeader], board: Board) -> int:
    """How many targets but controls have a complete score in every member."""
    if not board.has_all_members:
        return 0
    return sum(
        not is_control(row.target_key)
        and all(score is not None and score.complete for score in map(row.score, board.members))
        for row in list_board_rows(headers, board)
    )


def _list_memberships(suite: str) -> dict[str, tuple[str, ...]]:
    """The declared memberships of a suite by key of board, the newest first."""
    card = suite_cards().get(suite)
    versions = enumerate(card.memberships if card else (), 1)
    return {f"v{number}": members for number, members in reversed(list(versions))}


def _own_membership(suite: str) -> dict[str, tuple[str, ...]]:
    """What the operator's settings name as members, a board of its own."""
    members = tuple(dict.fromkeys(settings.load_settings().suites.get(suite, ())))
    return {f"own-{content_hash(sorted(members), 8)}": members} if members else {}


def _choose_members(
    headers: Iterable[RunHeader], suite: str, columns: Mapping[str, Column]
) -> tuple[str, ...]:
    """The members on the default board: the newest version under which nobody loses a rank that
    an older one gives."""
    versions = list(_list_memberships(suite).values())
    if len(versions) < 2:
        return versions[0] if versions else ()
    board_rows = _build_board_rows(headers, Board(key=DEFAULT, suite=suite, columns=dict(columns)))
    finished = {
        members: {
            row.identity
            for row in board_rows
            if all(score is not None and score.complete for score in map(row.score, members))
        }
        for members in versions
    }
    for number, members in enumerate(versions):
        if all(finished[older] <= finished[members] for older in versions[number + 1 :]):
            return members
    return versions[-1]


def _build_published_boards(
    by_benchmark: Mapping[str, Sequence[Column]], suite: str
) -> list[Board]:
    """A board per dataset of imported runs, by the newest membership that it fills, then one per
    further column of a benchmark in that dataset."""
    columns_by_dataset: dict[str, dict[str, Column]] = defaultdict(dict)
    further: list[Board] = []
    for benchmark, group in by_benchmark.items():
        for column in group:
            first = columns_by_dataset[column.dataset] if not column.executed else {}
            if benchmark in first:
                further.append(Board(column.key, suite, {benchmark: column}, ()))
            elif not column.executed:
                first[benchmark] = column
    newest = sorted(
        columns_by_dataset,
        key=lambda key: max(c.newest for c in columns_by_dataset[key].values()),
        reverse=True,
    )
    versions = list(_list_memberships(suite).values())
    newest_version = versions[0] if versions else ()
    published_boards = []
    for key in newest:
        columns = columns_by_dataset[key]
        filled = (version for version in versions if set(version) <= set(columns))
        published_boards.append(Board(key, suite, columns, next(filled, newest_version)))
    return published_boards + further


def find_board(boards_of_suite: Sequence[Board], key: str) -> Board:
    """The board of that key, else the default one: an old link must not end in an error."""
    return next((board for board in boards_of_suite if board.key == key), boards_of_suite[0])


def is_control(target_key: str) -> bool:
    """Whether a target is a yardstick and takes no rank."""
    return target_key.partition(":")[0] == CONTROL_KIND


def is_bundled(benchmark: str, dataset: str) -> bool:
    """Whether a data set is the one that comes with a benchmark."""
    card = benchmark_cards().get(benchmark)
    return card is not None and card.dataset == dataset


def is_rescored(dataset: str) -> bool:
    """Whether the answers of an imported run with that data set were scored again here; verdicts of
    other publishers are taken over."""
    importers = list_command_cards("importer")
    return dataset.startswith((_BUNDLE_PREFIX, *(f"{key}-" for key in importers)))


def list_board_rows(headers: Iterable[RunHeader], board: Board) -> list[Row]:
    """One row per target identity that has a score on the board, controls included."""
    key = ("rows", board.identity)
    return list(memoize_on_snapshot(headers, key, lambda: _build_board_rows(headers, board)))


def _build_board_rows(headers: Iterable[RunHeader], board: Board) -> list[Row]:
    chosen: dict[str, dict[str, RunHeader]] = defaultdict(dict)
    for header in sorted(headers, key=lambda run: run.created_at):
        for benchmark, column in board.columns.items():
            score = header.benchmarks.get(benchmark)
            if score is None or score.column != column.key:
                continue
            current = chosen[header.identity].get(benchmark)
            if current is None or score.complete or not current.benchmarks[benchmark].complete:
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


def compute_floors(
    headers: Iterable[RunHeader], board: Board, benchmark: str = ""
) -> dict[str, float]:
    """Scores of the complete control runs by what they answer with. `benchmark` empty means the
    suite: the mean over the board's columns where the control ran in all of them."""
    floor_scores = {}
    for row in list_board_rows(headers, board):
        if not is_control(row.target_key):
            continue
        score = suite_score(row, board) if not benchmark else complete_score(row, benchmark)
        if score is not None:
            floor_scores[row.target_key.partition(":")[2]] = score
    return dict(sorted(floor_scores.items(), key=lambda item: item[1]))


def suite_score(row: Row, board: Board) -> float | None:
    """The mean over the members of a suite, 0 to 100, None unless all of them ran to their end or
    are claimed."""
    scores = [complete_score(row, benchmark) for benchmark in board.members]
    complete_scores = [score for score in scores if score is not None]
    if not board.has_all_members or len(complete_scores) < len(scores):
        return None
    return sum(complete_scores) / len(complete_scores)


def complete_score(row: Row, benchmark: str) -> float | None:
    """The score in a benchmark that was run to its end or is claimed."""
    score = row.score(benchmark)
    return score.score if score is not None and (score.complete or score.is_bare_claim) else None
