"""Evalboard from Python: evaluate a target, read a run, compare, decide, rank.

The names are those of the package: `evalcore.evaluate`, `evalcore.load_run` and so on. Everything
that a program starts here is a run like any other: it stands in the data folder, survives a kill,
and the app shows it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from evalcore import settings as configuration
from evalcore.access import policy
from evalcore.access.secrets import Secrets
from evalcore.benchmarks.functions import define_benchmark
from evalcore.cards import BenchmarkCard
from evalcore.catalog import engine_cards
from evalcore.errors import UsageError, speak_plainly, suggest_name
from evalcore.i18n import Note
from evalcore.records import Episode, Sample, Verdict, to_plain
from evalcore.results import BenchmarkScore, MetricScore, RunSummary
from evalcore.runner.config_fields import convert_fields, convert_value
from evalcore.runner.in_process import plan_checked_run, run_off_the_loop, work_on_run_here
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.targets.functions import TargetFunction, register_function

if TYPE_CHECKING:
    import pandas as pd

    from evalcore.sqlkit.equivalence.pairs import PairDecision

Names = str | Sequence[str | BenchmarkCard] | BenchmarkCard
F = TypeVar("F", bound=Callable[..., Any])
#: Takes the folder of the run that `evaluate` begins, for whoever may cancel it.
_planned: ContextVar[list[RunFolder] | None] = ContextVar("planned", default=None)
_SCORE_COLUMNS = (
    *("benchmark", "metric", "score", "low", "high", "answered", "coverage"),
    *("samples", "passed", "weight", "complete"),
)


@speak_plainly
def evaluate(
    target: str | TargetFunction,
    benchmarks: Names,
    *,
    target_options: Mapping[str, Any] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    metrics: str | Sequence[str] = (),
    dataset: str | Path = "",
    max_samples: int | None = None,
    seed: int = 0,
    epochs: int = 1,
    judges: str | Sequence[str] = (),
    concurrency: int = 0,
    budget: float = 0.0,
    use_cache: bool = True,
    keys: Mapping[str, str] | None = None,
    note: str = "",
    data: str | Path | None = None,
    progress: bool | None = None,
) -> Run:
    """Run benchmarks on a target and wait for the result; works in a notebook too.

    The arguments are those of `evalcore run`. `target` is a key such as `openai:MODEL` or a
    function marked by `evalcore.target`; `benchmarks` one or several keys, or what
    `evalcore.benchmark` returned. `keys` are by the name of their variable and are never written
    down. `data` is the data folder (default: as the app has it). `progress` draws a bar (default:
    where somebody can see it).

    Returns the run, also where it is incomplete: look at `Run.state`. Raises UsageError before
    anything is asked.
    """
    request = _build_request(
        target,
        benchmarks,
        target_options=target_options or {},
        options=options or {},
        metrics=[metrics] if isinstance(metrics, str) else metrics or (),
        dataset=str(dataset or "") if isinstance(dataset, Path | None) else dataset,
        max_samples=max_samples,
        seed=seed,
        epochs=epochs,
        judges=[judges] if isinstance(judges, str) else judges or (),
        concurrency=concurrency,
        budget=budget,
        use_cache=use_cache,
        note=note,
    )
    settings, secrets = _load_settings(data), _take_keys(keys)
    run_id = run_off_the_loop(lambda: _plan_run(request, settings, secrets))
    planned = _planned.get()
    if planned is not None:
        planned.append(RunFolder(settings.runs_dir / run_id))
    return _work_on_run(run_id, settings, secrets, progress)


async def aevaluate(target: str | TargetFunction, benchmarks: Names, **arguments: Any) -> Run:
    """`evaluate` without blocking the event loop. A cancelled task cancels its run, which stays and
    can be resumed."""
    planned: list[RunFolder] = []
    _planned.set(planned)
    arguments = {"progress": False, **arguments}
    work = asyncio.ensure_future(asyncio.to_thread(evaluate, target, benchmarks, **arguments))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():  # a run that is still being planned is cancelled once it has begun
            for folder in planned:
                folder.cancel_path.touch()
            await asyncio.wait([work], timeout=0.1)
        raise


@speak_plainly
def resume(
    run: str | Run,
    *,
    keys: Mapping[str, str] | None = None,
    data: str | Path | None = None,
    progress: bool | None = None,
) -> Run:
    """Continue a run that is not complete; no answered request is repeated."""
    return _work_on_run(_name_run(run), _load_settings(data), _take_keys(keys), progress)


@speak_plainly
def rescore(run: str | Run, *, data: str | Path | None = None) -> Run:
    """Score the recorded answers again with the current scorers, without asking the target."""
    settings = _load_settings(data)
    return _work_on_run(_name_run(run), settings, Secrets(), False, generate=False)


class Run:
    """A run in the data folder; every method reads the disk anew."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @property
    def id(self) -> str:
        """Its id, by which the app and the command line know it."""
        return self.folder.run_id

    @property
    def state(self) -> str:
        """done, incomplete, cancelled, interrupted, running, planned or broken."""
        return self.folder.current_state()

    @property
    def spec(self) -> dict[str, Any]:
        """What repeats the run: target, options, versions, hashes."""
        spec: dict[str, Any] = to_plain(self.folder.read_spec())
        return spec

    @property
    @speak_plainly
    def summary(self) -> dict[str, Any]:
        """The result, as `evalcore show RUN --json` prints it. Raises UsageError before there is
        one."""
        from evalcore.exchange.report_data import summary_to_dict

        return summary_to_dict(self._read_summary())

    @speak_plainly
    def scores(self) -> pd.DataFrame:
        """One row per benchmark (its `metric` is empty) and one per metric.

        `score`, `low` and `high` (its 95% interval) and `answered` run from 0 to 100, `coverage`
        from 0 to 1; NaN is not measured.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for key, score in self._read_summary().benchmarks.items():
            shared = {"benchmark": key, "complete": score.complete}
            rows.append(
                {
                    **shared,
                    **_build_score_row("", score),
                    "coverage": score.coverage,
                    "passed": score.outcomes.get("passed", 0),
                }
            )
            for name, part in score.metrics.items():
                measured = part.measured / part.samples if part.samples else None
                own = {"coverage": measured, "passed": part.passed, "weight": part.weight}
                rows.append({**shared, **_build_score_row(name, part), **own})
        return pd.DataFrame(rows, columns=list(_SCORE_COLUMNS))

    @speak_plainly
    def samples(self) -> pd.DataFrame:
        """The declared cases: benchmark, metric, id, difficulty, input, reference."""
        import pandas as pd

        names = ("metric", "id", "difficulty", "input", "reference")
        return pd.DataFrame(
            [
                {
                    "benchmark": line.benchmark,
                    **{name: getattr(line.sample, name) for name in names},
                }
                for line in self.folder.read_samples()
            ],
            columns=["benchmark", *names],
        )

    @speak_plainly
    def verdicts(self) -> pd.DataFrame:
        """One row per case and epoch: outcome, score (0 to 1), reason, note, latency (seconds),
        tokens, cost (USD) and more; a case without a verdict has the outcome `missing`."""
        from evalcore.store.case_tables import ensure_samples_table, query_samples

        return query_samples(
            [ensure_samples_table(self.folder)],
            "SELECT * EXCLUDE (words, packed_note) FROM samples ORDER BY position, epoch",
        )

    @speak_plainly
    def case(
        self, benchmark: str, metric: str, id: str, epoch: int = 0
    ) -> tuple[Sample, Episode | None, Verdict | None]:
        """One case whole: what was asked, all that was answered, and the verdict with its evidence.
        Raises UsageError where the run has no such case."""
        from evalcore.store.cases import load_run_case

        for name, value in {"benchmark": benchmark, "metric": metric, "id": id}.items():
            convert_value(name, value, str)
        stored, episode, verdict = load_run_case(
            self.folder, benchmark, metric, id, convert_value("epoch", epoch, int)
        )
        return stored.sample, episode, verdict

    def _read_summary(self) -> RunSummary:
        summary = self.folder.read_summary()
        if summary is None:
            raise UsageError(Note("run_no_result", run=self.id, state=self.state))
        return summary

    def __repr__(self) -> str:
        return f"<run {self.id}: {self.state}>"

    def _repr_html_(self) -> str:
        """The scores, in a notebook; pandas escapes what stands in them."""
        from markupsafe import escape

        table: str = self.scores().to_html(index=False, float_format="{:.1f}".format, na_rep="")
        return f"<p>{escape(repr(self))}</p>{table}"


def _build_score_row(metric: str, part: BenchmarkScore | MetricScore) -> dict[str, Any]:
    return {
        "metric": metric,
        "score": part.score,
        "low": part.interval.low if part.interval else None,
        "high": part.interval.high if part.interval else None,
        "answered": part.answered,
        "samples": part.samples,
    }


@speak_plainly
def load_run(run: str | Run, *, data: str | Path | None = None) -> Run:
    """A run by its id, the shipped ones too; raises UsageError for an unknown one."""
    return Run(find_run(_name_run(run), _load_settings(data).run_roots))


@speak_plainly
def list_runs(*, data: str | Path | None = None) -> pd.DataFrame:
    """The runs of the data folder and the shipped ones, newest first: run, state, target,
    created_at, and a column of scores (0 to 100) per benchmark."""
    import pandas as pd

    from evalcore.views import runs

    rows = [
        {
            "run": row.run_id,
            "state": row.state,
            "target": row.target.identity,
            "created_at": row.created_at,
            **row.scores,
        }
        for row in runs.all_rows(_load_settings(data).run_roots)
    ]
    return pd.DataFrame(rows)


@speak_plainly
def compare(first: str | Run, second: str | Run, *, data: str | Path | None = None) -> pd.DataFrame:
    """The second run against the first on the cases of both, one row per benchmark.

    `first` and `second` are the scores there (0 to 100), `difference` is second minus first with
    its 95% interval `low` to `high`, `p` that of the paired `test`; a win is a case on which the
    second scores higher. Benchmarks that were asked or scored by different rules are left out, and
    where a run is not `complete` nothing is compared: a failure of a provider is no wrong answer.
    """
    import pandas as pd

    from evalcore.views.comparison import compare_benchmarks, load_common_cases

    roots = _load_settings(data).run_roots
    names = [_name_run(run, name) for name, run in (("first", first), ("second", second))]
    if names[0] == names[1]:
        raise UsageError(Note("api_same_run", run=names[0]))
    sides = [_read_scores(find_run(name, roots)) for name in names]
    cases = load_common_cases(roots, *names)
    figures = ("common", "wins", "losses", "ties", "difference", "p", "test")
    rows = []
    for pair in compare_benchmarks(cases):
        settled = [pair.benchmark in side and side[pair.benchmark].is_settled for side in sides]
        row = {"benchmark": pair.benchmark, "complete": all(settled)}
        if settled[0]:
            row["first"] = pair.first
        if settled[1]:
            row["second"] = pair.second
        if all(settled):
            row |= {name: getattr(pair.result, name) for name in figures}
            interval = pair.result.interval
            row |= {"low": interval.low, "high": interval.high} if interval else {}
        rows.append(row)
    columns = ["benchmark", "first", "second", *figures[:5], "low", "high", *figures[5:]]
    return pd.DataFrame(rows, columns=[*columns, "complete"])


@speak_plainly
def equivalent(
    reference: str,
    answer: str,
    *,
    engine: str,
    schema: str | Sequence[str],
    ordered: bool | None = None,
    state_of: Sequence[str] = (),
) -> PairDecision:
    """Decide whether two SQL statements are equivalent over a schema (DDL, one text or several).

    `ordered` says whether the order of rows counts (default: as the reference orders them), and
    `state_of` names tables to compare afterwards besides those of the schema. The decision has the
    `status` equivalent, different, invalid or undecided, the `level` of an equivalence (proved,
    tested), and the `counterexample` of a difference. Raises UsageError for an unknown engine.
    """
    from evalcore.sqlkit.equivalence.pairs import Pair, decide_pairs

    fields = {
        "id": "pair",
        "engine": engine,
        "schema": list(schema) if isinstance(schema, tuple) else schema,
        "reference": reference,
        "answer": answer,
        "ordered": ordered,
        "state_of": [state_of] if isinstance(state_of, str) else state_of,
    }
    pair, engines = convert_fields(fields, Pair), engine_cards()
    if engine not in engines:
        problem = Note("api_engine", engine=engine, names=", ".join(engines))
        raise UsageError(suggest_name(problem, engine, engines))
    return run_off_the_loop(lambda: next(iter(decide_pairs([pair]))))


@speak_plainly
def board(
    suite: str = "", *, key: str = "", by: str = "", data: str | Path | None = None
) -> pd.DataFrame:
    """The ranking of a board: one row per target with rank, rank range, tie group, score and its
    95% interval (0 to 100), a column per benchmark, cost (USD) and latency (seconds).

    Without arguments it is the first suite's own board. Raises UsageError naming the boards and
    orders there are.
    """
    from evalcore.exchange.board_export import BoardSelection, resolve_ranking
    from evalcore.views.stored_boards import load_cached_ranking, load_run_headers

    for name, value in {"suite": suite, "key": key, "by": by}.items():
        convert_value(name, value, str)
    settings = _load_settings(data)
    headers = load_run_headers(settings)
    selected, order = resolve_ranking(headers, BoardSelection(suite, key, by))
    return load_cached_ranking(settings, selected, order, headers)


@overload
def target(function: F, *, name: str = "", concurrency: int = 1) -> TargetFunction: ...
@overload
def target(*, name: str = "", concurrency: int = 1) -> Callable[[F], TargetFunction]: ...
def target(
    function: F | None = None, *, name: str = "", concurrency: int = 1
) -> TargetFunction | Callable[[F], TargetFunction]:
    """Make a function a target: `@evalcore.target` or `@evalcore.target(concurrency=8)`.

    The function takes any of `prompt`, `messages`, `tools`, `input`, `epoch` and returns the answer
    as text; `evalcore.targets.functions` says what else it can take and return. What it raises is a
    failure of the target: the run is incomplete then, and the answer is not counted as wrong.
    """
    register = speak_plainly(register_function)
    if function is not None:
        return register(function, name, concurrency)
    return lambda function: register(function, name, concurrency)


@speak_plainly
def benchmark(
    cases: Iterable[Mapping[str, Any]], *, name: str = "", suite: str = "own", version: str = ""
) -> Callable[[Callable[..., Any]], BenchmarkCard]:
    """Make a scoring function a benchmark: `@evalcore.benchmark(cases)`.

    Each case is a mapping with `input`, the question, and any of `id`, `reference`, `difficulty`
    and `metric`. The function takes `answer` and, if it likes, `case` or `messages`, and returns
    True, False, or a score from 0 to 1. The result is the benchmark, for `evaluate`.
    """
    if (
        not isinstance(cases, Iterable)
        or isinstance(cases, str | Mapping)
        or hasattr(cases, "to_dict")
    ):
        raise UsageError(Note("function_cases"))
    for field, value in {"name": name, "suite": suite, "version": version}.items():
        convert_value(field, value, str)
    define = speak_plainly(define_benchmark)
    return lambda function: define(function, cases, name=name, suite=suite, version=version)


def _build_request(target: str | TargetFunction, benchmarks: Names, **fields: Any) -> RunRequest:
    if callable(target) and not isinstance(target, TargetFunction):
        raise UsageError(Note("api_plain_function", name=getattr(target, "__name__", "target")))
    listed = isinstance(benchmarks, Iterable) and not isinstance(benchmarks, str)
    named: Any = benchmarks if listed else [benchmarks]
    fields["benchmarks"] = [each.key if isinstance(each, BenchmarkCard) else each for each in named]
    fields["target"] = target.key if isinstance(target, TargetFunction) else target
    return convert_fields(fields, RunRequest)


def _take_keys(keys: Mapping[str, str] | None) -> Secrets:
    if keys is not None and not isinstance(keys, Mapping):
        convert_value("keys", keys, dict)
    for name, value in (keys or {}).items():
        if not isinstance(value, str):
            convert_value(f"keys[{name!r}]", None, str)  # a key is not repeated, nor its type
    return Secrets(keys)


def _plan_run(request: RunRequest, settings: Settings, secrets: Secrets) -> str:
    """Plan and write the folder; returns the run id."""
    from evalcore.runner import plan

    def warn(line: str) -> None:
        print(f"evalcore: {line}", file=sys.stderr)

    run_plan = plan_checked_run(request, settings, secrets, warn=warn, progress=lambda _: None)
    return plan.create_folder(run_plan, settings).run_id


def _work_on_run(
    run_id: str,
    settings: Settings,
    secrets: Secrets,
    progress: bool | None,
    *,
    generate: bool = True,
) -> Run:
    from evalcore.exchange.progress_bar import show_progress
    from evalcore.runner.client import find_own_run

    folder = find_own_run(run_id, settings)

    with show_progress(run_id, progress) as watch:
        work = partial(work_on_run_here, generate=generate, on_tick=watch)
        try:
            run_off_the_loop(lambda: work(run_id, settings, secrets), folder.cancel_path.touch)
        except KeyboardInterrupt:
            print(f"evalcore: {Note('api_interrupted', run=repr(run_id))}", file=sys.stderr)
            raise
    return Run(folder)


def _load_settings(data: str | Path | None) -> Settings:
    """The settings, with the permissions of someone who has a shell on this machine."""
    if not isinstance(data, Path | None):
        convert_value("data", data, str)
    return policy.restrict_settings(configuration.load_settings(data), policy.OPERATOR)


def _read_scores(folder: RunFolder) -> Mapping[str, BenchmarkScore]:
    summary = folder.read_summary()
    return {} if summary is None else summary.benchmarks


def _name_run(run: str | Run, name: str = "run") -> str:
    return run.id if isinstance(run, Run) else convert_value(name, run, str)
