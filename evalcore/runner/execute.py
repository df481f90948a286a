"""Running a run folder to its end: generate what is missing, score what is unscored, sum up.

The same code starts, resumes and rescores, because it looks at the journals first: a generation
that is journaled is not asked again, an episode that ended in a failure is, a verdict that stands
is kept. Generation and scoring are apart, so neither repeats the other.

A run whose folder is taken away, or which can journal nothing more (a full disk), stops asking
within a second: an answer that cannot be written down is paid for and lost.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from statistics import fmean

import msgspec

from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.benchmarks.base import user_role
from evalcore.benchmarks.scope import build_scope_verdict
from evalcore.errors import (
    BudgetSpent,
    CannotWrite,
    EnvironmentFailure,
    RunRemoved,
    RunStopped,
    TargetFailure,
)
from evalcore.i18n import Note
from evalcore.judges.panel import build_judge_role as judge_role
from evalcore.records import Episode, Failure, Record, RunSpec, Sample, TargetSpec, Verdict, utc_now
from evalcore.results import RunSummary
from evalcore.runner import run_index, run_request
from evalcore.runner import summary as summaries
from evalcore.runner.channels import TARGET, Channel, Channels
from evalcore.runner.context import SampleContext
from evalcore.runner.energy import EnergyMeter
from evalcore.runner.generation_plan import GenerationJob, GenerationPlan, Marks
from evalcore.runner.summary import Tracker
from evalcore.runner.verdicts import compute_verdict
from evalcore.settings import Settings, override_data_folder
from evalcore.store.case_index import CaseIndex
from evalcore.store.case_lines import NOWHERE, Location, is_decided
from evalcore.store.journal import Journal, name_next_journal
from evalcore.store.run_folder import (
    API_CHANGE,
    TOOL_CALLS,
    RunFolder,
    StoredEpisode,
    StoredVerdict,
)

_TICK = 0.5  # seconds between two writes of progress.json, and looks for a cancel file
_JOBS_IN_A_ROW = 16  # that one task works on before the others have a turn
_SCORED_AT_ONCE = 16  # answers whose judges or tests are waited for while nothing is generated


class _Outcome(Record, frozen=True):
    outcome: str


class _OutcomeLine(Record, frozen=True):
    verdict: _Outcome


def execute_run(
    folder: RunFolder,
    settings: Settings,
    secrets: Secrets,
    *,
    generate: bool = True,
    on_tick: Callable[[Tracker], None] | None = None,
) -> RunSummary:
    """Run, resume or (with `generate` off) rescore; the caller holds the lock of the folder.

    `on_tick` is called at every tick. Raises UsageError where the target cannot be opened,
    RunFolderError where the folder does not hold the samples that the run declared or is gone, and
    EnvironmentFailure where nothing can be written into it.
    """
    with override_data_folder(settings.data):
        return asyncio.run(RunExecution(folder, settings, secrets, on_tick).run(generate))


class RunExecution:
    """The state of one worker while it works on one run."""

    def __init__(
        self,
        folder: RunFolder,
        settings: Settings,
        secrets: Secrets,
        on_tick: Callable[[Tracker], None] | None = None,
        journal_name: str = "",
    ) -> None:
        self.folder, self.on_tick = folder, on_tick
        self.journal_name = name = journal_name or name_next_journal(folder.path)
        self.identity = _read_folder_identity(folder)
        self.spec: RunSpec = folder.read_spec()
        self.scoring = summaries.scoring_id(self.spec)
        self.index = CaseIndex.load(folder, self.scoring, self.spec.epochs)
        self.index.own_journal = name
        self.plan = GenerationPlan(self.index, self.spec)
        self.panels = {b.key: b.judges for b in self.spec.benchmarks}
        self.is_resumed = self.index.has_episodes
        total = sum(benchmark.samples for benchmark in self.spec.benchmarks) * self.spec.epochs
        self.tracker = Tracker(folder, total)
        self.generations = folder.open_journal("generations", name)
        self.scores = folder.open_journal("verdicts", self.scoring, name)
        self.channels = Channels(folder, self.spec, settings, secrets, name)
        self.channels.note_tool_calls = self._note_tool_calls
        self.channels.note_resend = self.tracker.record_resend
        self.tool_refusal = folder.read_tool_calls()[1]
        self.started = time.monotonic()
        self.meter: EnergyMeter | None = None
        self.joules: float | None = None
        self.cancelled = False
        self.gone = False
        self.stop_reason = ""  # why nothing more is asked, empty while that is not so
        self.is_unpaid = False  # whether it is stopped for want of money alone

    async def run(self, generate: bool) -> RunSummary:
        self.tracker.record_event("resumed" if self.is_resumed else "started")
        self.tracker.write()
        with suppress(OSError):  # it saves time when the run is resumed or looked at
            self.index.keep()
        ticking = asyncio.create_task(self._publish_progress())
        keeping = asyncio.create_task(run_index.keep_index(self.index, self.spec, self._is_ours))
        working = asyncio.create_task(self._run_phases(generate))
        watching = asyncio.create_task(self._watch_for_stop(working))
        try:
            await working
        except asyncio.CancelledError:
            if self.gone:
                raise RunRemoved(self.folder.path) from None
            if not self.cancelled:
                raise
        finally:
            watching.cancel()
            ticking.cancel()
            working.cancel()
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await self.channels.close()
            for benchmark in self.plan.benchmarks.values():
                benchmark.close()
            self.generations.close()
            self.scores.close()
        with self.index:
            return self._finish_run()

    def _settle_out_of_scope(self) -> None:
        """Give what is outside the scope of the target its verdict: it is asked by nobody."""
        for position in range(self.index.cases if self.spec.scope else 0):
            line, row = self.index.read_sample(position), self.index.read_row(position)
            for epoch in range(self.spec.epochs):
                verdict = build_scope_verdict(self.spec.scope, line.sample, epoch)
                if verdict is None:
                    break
                self.tracker.record_outcome(verdict.outcome)
                if row[3 + 2 * epoch] == NOWHERE:
                    self._journal_verdict(line.benchmark, position, verdict)

    async def _run_phases(self, generate: bool) -> None:
        self._settle_out_of_scope()
        for judge in run_request.list_judge_specs(self.spec):
            await self._open_channel(judge_role(judge), run_request.parse_model_spec(judge))
        missing = await self._score_journaled(keep_failed=not generate)
        if generate and missing and not self.stop_reason:
            channel = await self._open_all()
            if channel.target.info.kind == "local" and not self.is_resumed:
                self.meter = EnergyMeter()
            self.tracker.flow, self.tracker.card = channel.flow, lambda: channel.target.info.card
            jobs = self.plan.build_jobs(missing)
            await self._run_concurrently(jobs, channel.flow.maximum, self._generate_and_score)
            self.joules = self.meter.read_joules() if self.meter else None

    async def _watch_for_stop(self, working: asyncio.Task[None]) -> None:
        """Cancel the work when somebody asks for it, or when the run folder is no longer there."""
        while not (self.gone or self.cancelled):
            self.gone = not self._is_ours()
            self.cancelled = not self.gone and self.folder.cancel_path.exists()
            await asyncio.sleep(0 if self.gone or self.cancelled else _TICK / 2)
        working.cancel()

    def _note_tool_calls(self, mode: str, refusal: str) -> None:
        """Record how calls of tools are asked for. Where that was not chosen and is not native, it
        becomes part of the target's identity, by its option; a run that began natively ends."""
        earlier, _ = self.folder.read_tool_calls()
        if earlier and earlier != mode:
            raise RunStopped(Note("tools_changed", before=earlier, now=mode, message=refusal))
        if not earlier:
            self.tracker.record_event(TOOL_CALLS, f"{mode}: {refusal}" if refusal else mode)
        if not refusal:
            return
        self.tool_refusal = refusal
        options = {**self.spec.target.options, "asking": mode}
        target = msgspec.structs.replace(self.spec.target, options=options)
        self.spec = msgspec.structs.replace(self.spec, target=target)
        self.folder.settle_target(target)

    def _finish_run(self) -> RunSummary:
        wall = time.monotonic() - self.started
        self.tracker.phase = "summing up"
        result = summaries.summarise_run(self.index, self.spec, self.cancelled, wall)
        if self.joules is not None and not result.totals.cached:
            totals = msgspec.structs.replace(result.totals, joules=self.joules)
            result = msgspec.structs.replace(result, totals=totals)
        self.tracker.write()  # the card may have changed since the last tick
        result = msgspec.structs.replace(
            result, tool_refusal=self.tool_refusal, api_change=self.folder.find_event(API_CHANGE)
        )
        if self.stop_reason and not result.is_complete:
            self.tracker.record_event("stopped", self.stop_reason)
            result = msgspec.structs.replace(result, message=self.stop_reason)
            self.tracker.message = self.stop_reason
        run_index.write_result(self.index, self.spec, result)
        self.tracker.phase = ""
        self.tracker.record_event(result.state)
        self.tracker.write(result.state)
        if self.on_tick:  # the last cases came after the last tick
            self.on_tick(self.tracker)
        self.tracker.close()
        return result

    async def _publish_progress(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            if self._is_ours():
                with suppress(OSError):  # a full disk: the journals say whether the run goes on
                    self.tracker.write()
            if self.on_tick:
                self.on_tick(self.tracker)

    async def _open_channel(self, role: str, spec: TargetSpec) -> Channel:
        self.tracker.phase = "loading the judges" if role != TARGET else "loading the target"
        channel = await self.channels.open(
            role, spec, self._set_message, self.tracker.record_failure
        )
        self.tracker.phase = "running"
        return channel

    async def _open_all(self) -> Channel:
        """Open the models that play users, then the target, whose channel is returned."""
        benchmarks = self.plan.benchmarks.values()
        models = [model for benchmark in benchmarks for model in benchmark.simulated_users()]
        for model in dict.fromkeys(models):
            await self._open_channel(user_role(model), run_request.parse_model_spec(model, "user"))
        channel = await self._open_channel(TARGET, self.spec.target)
        self._settle_engine(channel.target.info.card.get("engine_version", ""))
        return channel

    def _settle_engine(self, version: str) -> None:
        """Make the version of a server that was started for the run part of the identity of the
        target, by its option: a run that is resumed insists on it."""
        if not version or self.spec.target.options.get("engine_version"):
            return
        options = {**self.spec.target.options, "engine_version": version}
        target = msgspec.structs.replace(self.spec.target, options=options)
        self.spec = msgspec.structs.replace(self.spec, target=target)
        self.folder.settle_target(target)

    def _is_ours(self) -> bool:
        """Whether the folder is still that of the run."""
        return _read_folder_identity(self.folder) == self.identity

    def _set_message(self, line: str) -> None:
        self.tracker.message = line

    async def _score_journaled(self, keep_failed: bool) -> Marks:
        """Score the journaled episodes that have no verdict yet; returns which units of the plan
        are left to do. An episode that ended in a failure is one of them, unless `keep_failed`."""
        missing = Marks()
        jobs = self._list_unscored(missing, keep_failed)
        await self._run_concurrently(jobs, _SCORED_AT_ONCE, self._score_again)
        return missing

    def _list_unscored(self, missing: Marks, keep_failed: bool) -> Iterator[GenerationJob]:
        """The jobs that are answered and have a verdict missing; adds to `missing` those that are
        not answered, and counts the others."""
        for unit in self.plan.list_units():
            records = self.plan.read_records(unit)
            if not records.has_answer(keep_failed=keep_failed):
                if not self.spec.scope or self.plan.build_job(unit):
                    missing.add(unit.number)
            elif records.is_decided:
                self._count_settled(records.episode, records.verdicts)
            elif job := self.plan.build_job(unit):
                yield job

    def _count_settled(self, episode: int, verdicts: Sequence[int]) -> None:
        """Count what an earlier attempt came to."""
        tally = self.index.read_episode(episode, summaries.TalliedLine).episode
        self.tracker.record_episode(tally)
        for location in verdicts:
            self.tracker.record_outcome(
                self.index.read_verdict(location, _OutcomeLine).verdict.outcome
            )

    async def _score_again(self, job: GenerationJob) -> None:
        location = self.index.read_row(job.positions[0])[2 + 2 * job.epoch]
        episode = self.index.read_episode(location, StoredEpisode).episode
        self.tracker.record_episode(episode)
        await self._score_episode(job, episode, fresh=False)

    async def _run_concurrently(
        self,
        jobs: Iterator[GenerationJob],
        width: int,
        work: Callable[[GenerationJob], Awaitable[None]],
    ) -> None:
        """Work on all jobs, a bounded number at a time, until done or until one cannot be
        journaled. Where the run must stop, those begun are ended and no other is begun."""

        async def process_jobs() -> None:
            for number, job in enumerate(jobs):
                if self.stop_reason:
                    return
                if number % _JOBS_IN_A_ROW == 0:  # a target may answer without ever waiting
                    await asyncio.sleep(0)
                try:
                    await work(job)
                except RunStopped as stop:
                    self._note_stop(stop)

        working = [asyncio.create_task(process_jobs()) for _ in range(min(width, self.plan.size))]
        try:
            await asyncio.gather(*working)
        finally:  # where one fails, the others must not go on asking
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)

    def _note_stop(self, stop: RunStopped) -> None:
        self.stop_reason = self.stop_reason or str(stop)
        self.is_unpaid = isinstance(stop, BudgetSpent)

    async def _generate_and_score(self, job: GenerationJob) -> None:
        episode = await self._run_episode(job)
        line = StoredEpisode(benchmark=job.benchmark.key, episode=episode)
        start, failed = self._append_record(self.generations, line), episode.failure is not None
        for position in job.positions:
            self.index.set_episode(position, job.epoch, start, failed=failed)
        self.tracker.record_episode(episode, episode.completions)
        await self._score_episode(job, episode, fresh=True)

    def _journal_verdict(self, benchmark: str, position: int, verdict: Verdict) -> None:
        stored = StoredVerdict(benchmark=benchmark, verdict=verdict)
        start, decided = self._append_record(self.scores, stored), is_decided(verdict.outcome)
        self.index.set_verdict(position, verdict.epoch, start, decided=decided)

    def _append_record(self, journal: Journal, record: Record) -> int:
        """Where the line begins."""
        try:
            return journal.append(record)
        except OSError as error:
            if not self._is_ours():
                raise RunRemoved(self.folder.path) from None
            raise CannotWrite(journal.path, error) from None

    def _build_context(
        self, job: GenerationJob, sample: Sample, journal_key: str, judges: tuple[str, ...] = ()
    ) -> SampleContext:
        deadline = asyncio.get_running_loop().time() + self.channels.sample_limit
        return SampleContext(
            channels=self.channels,
            benchmark=job.benchmark,
            sample=sample,
            journal_key=journal_key,
            epoch=job.epoch,
            deadline=deadline,
            judges=judges,
        )

    async def _run_episode(self, job: GenerationJob) -> Episode:
        """Run one sample; whatever ends it becomes an episode, so that the run continues."""
        context = self._build_context(job, job.samples[0], job.key)
        try:
            async with asyncio.timeout_at(context.deadline):
                episode = await job.benchmark.run_sample(job.samples[0], context)
                if not isinstance(episode, Episode):
                    raise TypeError(f"run_sample returned a {type(episode).__name__}")
        except TargetFailure as error:
            episode = _build_failed_episode(job, error.failure)
        except TimeoutError:
            limit = self.channels.sample_limit
            note = Note("run_sample_time", seconds=f"{limit:.0f}")
            episode = _build_failed_episode(job, Failure(kind="timeout", message=note))
        except (CannotWrite, RunStopped):
            raise
        except EnvironmentFailure as error:
            episode = _build_failed_episode(job, Failure(kind="environment", message=str(error)))
        except Exception as error:  # a fault of ours in one sample must not end the others
            self.tracker.record_event("fault", scrub_secrets(traceback.format_exc()))
            message = scrub_secrets(f"{type(error).__name__}: {error}")
            episode = _build_failed_episode(job, Failure(kind="environment", message=message))
        return msgspec.structs.replace(
            episode,
            completions=context.completions,
            usage=context.usage,
            cost=context.cost if episode.failure is None else None,
            cost_sources=tuple(sorted(context.cost_sources)) if episode.failure is None else (),
            latency=context.latency,
            time_to_first_token=fmean(context.first_tokens) if context.first_tokens else None,
            queue_time=context.queue_time,
            attempts=context.attempts or (episode.failure.attempts if episode.failure else 0),
            cached=context.cached and context.completions > 0,
            at=utc_now(),
        )

    async def _score_episode(self, job: GenerationJob, episode: Episode, *, fresh: bool) -> None:
        """Score an episode for each of its samples. A verdict that stands is kept, unless the
        episode is `fresh`: one on an earlier answer is none on this."""
        for sample, position in zip(job.samples, job.positions, strict=True):
            location = NOWHERE if fresh else self.index.read_row(position)[3 + 2 * job.epoch]
            if location != NOWHERE and Location.unpack(location).flag:
                line = self.index.read_verdict(location, _OutcomeLine)
                self.tracker.record_outcome(line.verdict.outcome)
                continue
            verdict = await compute_verdict(
                job.benchmark, sample, episode, self._build_judge_context(job, sample)
            )
            if job.key != sample.key:  # where readers find the episode of this verdict
                details = {**verdict.details, "generation": job.key}
                verdict = msgspec.structs.replace(verdict, details=details)
            self._journal_verdict(job.benchmark.key, position, verdict)
            self.tracker.record_outcome(verdict.outcome)

    def _build_judge_context(self, job: GenerationJob, sample: Sample) -> SampleContext | None:
        """Where the judges are asked, for a sample that may need them."""
        judges = self.panels[job.benchmark.key]
        if not judges or not job.benchmark.may_be_judged(sample):
            return None
        return self._build_context(job, sample, sample.key, judges)


def _read_folder_identity(folder: RunFolder) -> tuple[int, int] | None:
    """What tells the folder from any other that takes its name; None when it is gone."""
    try:
        status = folder.path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _build_failed_episode(job: GenerationJob, failure: Failure) -> Episode:
    return Episode(key=job.key, epoch=job.epoch, failure=failure, termination=failure.kind)
