"""A run on the nodes of a Ray cluster: this process plans, hands out work and journals.

The run folder, its lock and its index entry stay with the process that works on the run; nodes
need no shared disk. Each worker (`evalcore.runner.node`) journals on its node, and what its
journals have gained is appended here to journals of the same names, each byte once: a part is taken
at the length that the journal has here and at no other. A job is handed to one worker at a time.
When a node is lost, its jobs go to others with every answer that has arrived here; asked again is
only what the lost node had asked and not yet handed over. Nothing is taken from a worker that was
given up.

Placement is Ray's: workers are actors that ask for a CPU, those of a local model for a GPU where
the cluster has any.
"""

from __future__ import annotations

import asyncio
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING

import msgspec

from evalcore.access.secrets import Secrets
from evalcore.benchmarks.base import user_role
from evalcore.errors import CannotWrite, EnvironmentFailure, RunStopped, UsageError
from evalcore.i18n import Note
from evalcore.judges.panel import build_judge_role
from evalcore.records import Call, Episode, Failure, TargetSpec, from_json, utc_now
from evalcore.results import RunSummary
from evalcore.runner import run_request
from evalcore.runner.channels import TARGET, EarlierCalls
from evalcore.runner.cluster_work import WorkQueue
from evalcore.runner.execute import RunExecution
from evalcore.runner.generation_plan import Marks
from evalcore.runner.limits import Share
from evalcore.runner.node import (
    Assignment,
    Introduction,
    JournalPart,
    NodeTask,
    Orders,
    PackedReason,
    Report,
    WorkerLost,
    hash_code,
    select_node_settings,
)
from evalcore.runner.summary import EpisodeKey, Tracker
from evalcore.settings import Settings, override_data_folder
from evalcore.store.case_index import CaseIndex
from evalcore.store.case_lines import NOWHERE, Location
from evalcore.store.journal import name_next_journal, name_worker_journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict
from evalcore.targets import pricing
from evalcore.targets.registry import create_target

if TYPE_CHECKING:
    from evalcore.runner.ray_workers import RayPool, RayWorker

_AHEAD = 8  # jobs that wait at a worker beyond those that it has in flight
_LOSSES_OF_A_JOB = 3  # workers that a job may take with it before it counts as the cause
_LOSSES_IN_A_ROW = 6  # of workers that handed nothing over
_FAREWELL = 20.0  # seconds in which a worker hands over what it has when the run ends


def execute_on_cluster(
    folder: RunFolder,
    settings: Settings,
    secrets: Secrets,
    *,
    generate: bool = True,
    on_tick: Callable[[Tracker], None] | None = None,
) -> RunSummary:
    """`execute_run` on a Ray cluster: the same journals, verdicts and summary.

    Raises UsageError where there is no cluster, where a node has other code or lacks a key that is
    not here either, and as `execute_run` does.
    """
    with override_data_folder(settings.data):
        return asyncio.run(_ClusterExecution(folder, settings, secrets, on_tick).run(generate))


@dataclass
class _Worker:
    """One actor: what it was handed, and what it reported last."""

    number: int
    actor: RayWorker
    journal_name: str
    name: str = ""
    budget: float = 0.0
    is_open: bool = False
    outstanding: dict[EpisodeKey, Assignment] = field(default_factory=dict)
    lengths: Counter[str] = field(default_factory=Counter)
    report: Report = field(default_factory=Report)
    first_version: int = 0  # of the shares since which there is this worker
    share_version: int = 0  # of the share that it has
    pending: asyncio.Future[Report] | None = None

    @property
    def room(self) -> int:
        return max(self.report.limit, 1) + _AHEAD - len(self.outstanding)


class _ClusterExecution(RunExecution):
    """`RunExecution` whose jobs are worked on by workers elsewhere."""

    def __init__(
        self,
        folder: RunFolder,
        settings: Settings,
        secrets: Secrets,
        on_tick: Callable[[Tracker], None] | None,
    ) -> None:
        leading = name_next_journal(folder.path, numbered=True)
        super().__init__(folder, settings, secrets, on_tick, leading)
        self.settings, self.secrets = settings, secrets
        self.unscored = Marks()
        self.workers: dict[int, _Worker] = {}
        self.losses: Counter[EpisodeKey] = Counter()
        self.losses_in_a_row = 0
        self.version = 0  # of the shares; changes with every worker that comes or goes
        self.numbers = 0
        self.is_short = False  # whether a worker has spent its part of the budget
        self.pool: RayPool | None = None
        self.tracker.flow = self

    @property
    def in_flight(self) -> int:
        return sum(worker.report.in_flight for worker in self.workers.values())

    @property
    def limit(self) -> int:
        return sum(worker.report.limit for worker in self.workers.values())

    @property
    def refused(self) -> int:
        return self._refused_before + sum(w.report.refused for w in self.workers.values())

    _refused_before = 0  # by workers that are gone
    work: WorkQueue

    async def _run_phases(self, generate: bool) -> None:
        self._settle_out_of_scope()
        missing = await self._score_journaled(keep_failed=not generate)
        asked = missing if generate else Marks()
        total = len(self.unscored) + len(asked)
        if not total:
            return
        try:
            with closing(EarlierCalls(self.folder)) as earlier:
                roles = tuple(self._list_roles())
                self.work = WorkQueue(self._list_work(asked), total, earlier, roles)
                await self._distribute(earlier, generate=bool(asked))
        except RunStopped as stop:
            self._note_stop(stop)

    async def _score_journaled(self, keep_failed: bool) -> Marks:
        """Count what is scored; what is only answered is scored by the workers."""
        missing = Marks()
        for job in self._list_unscored(missing, keep_failed):
            self.unscored.add(job.number)
        return missing

    def _list_work(self, asked: Marks) -> Iterator[Assignment]:
        """What is to be done, each job built when a worker has room for it."""
        for job in self.plan.build_jobs(self.unscored):
            rows = [self.index.read_row(position) for position in job.positions]
            column = 2 + 2 * job.epoch
            verdicts = [row[column + 1] for row in rows]
            decided = [v != NOWHERE and Location.unpack(v).flag for v in verdicts]
            self._count_settled(rows[0][column], list(compress(verdicts, decided)))
            episode = self.index.read_episode(rows[0][column], StoredEpisode).episode
            samples = tuple(compress(job.samples, map(operator.not_, decided)))
            yield Assignment(job.benchmark.key, job.key, job.epoch, samples, (), episode)
        for job in self.plan.build_jobs(asked):
            yield Assignment(job.benchmark.key, job.key, job.epoch, job.samples)

    def _list_roles(self) -> dict[str, TargetSpec]:
        """The models of the run by their roles."""
        models = [m for b in self.plan.benchmarks.values() for m in b.simulated_users()]
        judges = run_request.list_judge_specs(self.spec)
        return {
            TARGET: self.spec.target,
            **{build_judge_role(each): run_request.parse_model_spec(each) for each in judges},
            **{user_role(each): run_request.parse_model_spec(each, "user") for each in models},
        }

    def _finish_run(self) -> RunSummary:
        """Sum up by an index of what the workers journaled."""
        self.index.close()
        self.index = CaseIndex.load(self.folder, self.scoring, self.spec.epochs)
        self.index.own_journal = self.journal_name
        with suppress(OSError):
            self.index.keep()
        with self.index:
            return super()._finish_run()

    async def _distribute(self, earlier: EarlierCalls, *, generate: bool) -> None:
        """Have all that is queued worked on; returns when it is, or when the run must stop."""
        from evalcore.runner.ray_workers import RayPool

        self.tracker.phase = "connecting to the cluster"
        target = create_target(self.spec.target, self.settings, self.secrets)
        is_local = generate and target.info.kind == "local"
        await target.close()
        self.pool = await asyncio.to_thread(RayPool, self.settings, is_local)
        left = self.work.left
        workers = min(self.pool.worker_count, left, self.spec.concurrency or left)
        budgets = self._split_budget(workers, earlier)
        self.tracker.phase = "loading the target"
        serving = [asyncio.create_task(self._keep_worker(part, generate)) for part in budgets]
        try:
            await asyncio.gather(*serving)
        finally:
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)
            await asyncio.to_thread(self.pool.disconnect)
        if self.work.left and self.is_short and not self.stop_reason:
            raise RunStopped(Note("budget_cluster", limit=f"{self.channels.budget.limit:g}"))

    def _split_budget(self, count: int, earlier: EarlierCalls) -> list[float]:
        """Equal parts of what is left of the budget, all 0 where there is none. Raises RunStopped
        where nothing is left."""
        budget = self.channels.budget
        if not budget.limit:
            return [0.0] * count
        for role, spec in self._list_roles().items():
            info = create_target(spec, self.settings, self.secrets).info
            price = pricing.build_target_pricer(info, self.settings)
            for call in earlier.iterate_role(role):
                if not call.completion.cached:
                    budget.record_cost(price(call.completion.usage).amount)
        left = budget.limit - budget.spent
        if left <= 0:
            spent = f"{budget.spent:.4g}"
            raise RunStopped(Note("budget_spent", spent=spent, limit=f"{budget.limit:g}"))
        return [left / count] * count

    async def _keep_worker(self, budget: float, generate: bool) -> None:
        """Serve a worker, and another where it is lost, until nothing is left to do. A lost worker
        may have spent its part of the budget: with one, nobody takes over from it."""
        while self.work.left and not self.stop_reason:
            assert self.pool is not None  # noqa: S101 - connected before
            self.numbers += 1
            name = name_worker_journal(self.journal_name, self.numbers)
            worker = _Worker(self.numbers, self.pool.start_worker(), name, budget=budget)
            try:
                await self._serve_worker(worker, generate)
                return
            except WorkerLost as loss:
                self._release_worker(worker, lost=True)
                self.tracker.record_event("worker_lost", f"{worker.name or name}: {loss}")
                self.losses_in_a_row += 1
                if self.losses_in_a_row >= _LOSSES_IN_A_ROW:
                    raise EnvironmentFailure(str(Note("cluster_losses", message=loss))) from None
                if budget:
                    self.is_short = True
                    return
            finally:
                self.pool.end_worker(worker.actor)

    async def _serve_worker(self, worker: _Worker, generate: bool) -> None:
        task = await self._open_worker(worker, generate)
        if task is None:
            return
        try:
            while self.work.left and not (self.stop_reason and worker.report.is_idle):
                version, orders = self.version, self._build_orders(worker)
                worker.pending = asyncio.ensure_future(worker.actor.exchange(orders))
                report = await asyncio.shield(worker.pending)
                worker.pending = None
                self._take_report(worker, report)
                worker.share_version = version
                if report.is_unpaid and report.is_idle:
                    self.is_short = True
                    break
        except asyncio.CancelledError:
            with suppress(WorkerLost, TimeoutError):
                async with asyncio.timeout(_FAREWELL):
                    if worker.pending is not None:  # its lines come before those of the last report
                        self._take_report(worker, await worker.pending)
                    self._take_report(worker, await worker.actor.finish())
            raise
        self._take_report(worker, await worker.actor.finish())
        self._release_worker(worker, lost=False)

    async def _open_worker(self, worker: _Worker, generate: bool) -> NodeTask | None:
        """Start the worker on its node, once Ray has room for it; None where nothing is left."""
        introducing = asyncio.create_task(worker.actor.introduce())
        while not introducing.done():
            await asyncio.wait([introducing], timeout=0.5)
            if not self.work.left or self.stop_reason:
                introducing.cancel()
                return None
        introduction = introducing.result()
        worker.name = f"{introduction.node}, worker {worker.number}"
        if introduction.code != hash_code():  # such a node would score differently
            raise UsageError(Note("cluster_code", node=introduction.node))
        self.tracker.record_event("worker", _describe_worker(worker, introduction))
        self.workers[worker.number] = worker
        self.version += 1
        worker.first_version = self.version
        mode, refusal = self.folder.read_tool_calls()
        task = NodeTask(
            spec=self.spec,
            settings=select_node_settings(self.settings),
            journal_name=worker.journal_name,
            share=self._compute_share(worker),
            tool_calls=f"{mode}: {refusal}" if refusal else mode,
            generate=generate,
            budget=worker.budget,
        )
        names = await worker.actor.list_keys(task)
        keys = {name: self.secrets.get(name) for name in names}
        if lacking := [name for name, value in keys.items() if not value]:
            raise UsageError(Note("cluster_keys", names=", ".join(lacking), node=worker.name))
        typed = self.secrets.to_pipe()
        problem = await worker.actor.open(task, typed | {n: v for n, v in keys.items() if v})
        self._check_opened(worker, problem)
        return task

    def _check_opened(self, worker: _Worker, problem: PackedReason | None) -> None:
        if problem is not None and problem.text:
            raise UsageError(Note("cluster_node", node=worker.name, message=problem.unpack()))

    def _compute_share(self, worker: _Worker) -> Share:
        """The share by the workers that are there now, and the limits of their node."""
        numbers = sorted(self.workers)
        node = worker.name.rpartition(", ")[0]
        neighbors = sum(w.name.rpartition(", ")[0] == node for w in self.workers.values())
        width = self.settings.ray_node_concurrency
        return Share(
            position=numbers.index(worker.number),
            workers=len(numbers),
            width=max(1, width // neighbors) if width else 0,
            requests_per_minute=self.settings.ray_node_requests_per_minute / neighbors,
        )

    def _build_orders(self, worker: _Worker) -> Orders:
        """What the worker is to do next. One that is new gets work once all others have had their
        smaller shares, so that together they stay within the limits."""
        share = self._compute_share(worker)
        if self.stop_reason:
            return Orders(share=share, stop=True)
        others = (other for other in self.workers.values() if other is not worker)
        settled = all(w.share_version >= worker.first_version for w in others if w.is_open)
        assignments: list[Assignment] = []
        while worker.is_open and settled and len(assignments) < worker.room:
            if (assignment := self.work.take_job()) is None:
                break
            assignments.append(assignment)
            worker.outstanding[assignment.episode_key] = assignment
        return Orders(tuple(assignments), share)

    def _take_report(self, worker: _Worker, report: Report) -> None:
        """Journal what the worker handed over, then count it."""
        before, worker.report = worker.report, report
        self._check_opened(worker, report.unopened)
        worker.is_open = worker.is_open or report.is_open
        for part in report.parts:
            self._append_part(worker, part)
        for kind, total in report.failures.items():
            new = total - before.failures.get(kind, 0)
            self.tracker.errors[kind] += new
            self.tracker.requests += new
        for event in report.events:
            self.tracker.record_event(*event)
        for key in report.finished:
            self.work.close_job(worker.outstanding.pop(key))
            self.losses.pop(key, None)
            self.losses_in_a_row = 0
        self.tracker.phase = "running" if worker.is_open else report.phase
        self.tracker.message = report.message
        if report.card:
            self.tracker.card = lambda: report.card
        self._settle_identity(report)
        if report.stopped is not None and not report.is_unpaid and not self.stop_reason:
            self.stop_reason = report.stopped.unpack()

    def _settle_identity(self, report: Report) -> None:
        """Take over what a worker learned of the target; another that learns otherwise ends the
        run, whose answers would be those of two targets."""
        if report.tool_calls:
            mode, _, refusal = report.tool_calls.partition(": ")
            if self.folder.read_tool_calls()[0] != mode:
                self._note_tool_calls(mode, refusal)
        version = self.spec.target.options.get("engine_version")
        if version and report.engine_version and report.engine_version != version:
            raise RunStopped(
                Note("cluster_versions", before=str(version), now=report.engine_version)
            )
        self._settle_engine(report.engine_version)

    def _append_part(self, worker: _Worker, part: JournalPart) -> None:
        """Append what a journal of a worker has gained, once, and count its records."""
        if part.offset != worker.lengths[part.path]:
            expected = worker.lengths[part.path]
            raise WorkerLost(f"{part.path} continues at {part.offset} instead of {expected}")
        path = self.folder.path / part.path
        try:
            path.parent.mkdir(exist_ok=True)
            with path.open("ab") as file:
                file.write(part.lines)
        except OSError as error:
            raise CannotWrite(path, error) from None
        worker.lengths[part.path] += len(part.lines)
        for line in part.lines.splitlines():
            self._count_line(worker, part.path, line)

    def _count_line(self, worker: _Worker, path: str, line: bytes) -> None:
        if path.startswith("calls/"):
            self.work.note_call(from_json(Call, line))
        elif path.startswith("generations/"):
            stored = from_json(StoredEpisode, line)
            episode = stored.episode
            key = (stored.benchmark, episode.key, episode.epoch)
            self.tracker.record_episode(episode, episode.completions)
            if key in worker.outstanding:  # should the worker be lost, scoring is all that is left
                assignment = msgspec.structs.replace(worker.outstanding[key], episode=episode)
                worker.outstanding[key] = assignment
        else:
            scored = from_json(StoredVerdict, line)
            verdict = scored.verdict
            self.work.note_verdict((scored.benchmark, verdict.metric, verdict.id, verdict.epoch))
            self.tracker.record_outcome(verdict.outcome)

    def _release_worker(self, worker: _Worker, *, lost: bool) -> None:
        """Put what the worker did not finish back into the queue."""
        self.workers.pop(worker.number, None)
        self._refused_before += worker.report.refused
        self.version += 1
        for key, assignment in reversed(worker.outstanding.items()):
            self.losses[key] += lost
            if self.losses[key] >= _LOSSES_OF_A_JOB and assignment.episode is None:
                self._give_up_job(assignment)
            else:
                self.work.give_back(assignment)
        worker.outstanding.clear()

    def _give_up_job(self, assignment: Assignment) -> None:
        """Journal that a job cannot be had: every worker that took it was lost."""
        note = Note("cluster_job", count=_LOSSES_OF_A_JOB)
        episode = Episode(
            key=assignment.key,
            epoch=assignment.epoch,
            failure=Failure(kind="environment", message=note),
            termination="environment",
            at=utc_now(),
        )
        stored = StoredEpisode(benchmark=assignment.benchmark, episode=episode)
        self._append_record(self.generations, stored)
        self.tracker.record_episode(episode)
        self.work.give_back(msgspec.structs.replace(assignment, episode=episode))


def _describe_worker(worker: _Worker, introduction: Introduction) -> str:
    gpus = f", GPU {introduction.gpus}" if introduction.gpus else ""
    return f"{worker.name} journals {worker.journal_name}{gpus}"
