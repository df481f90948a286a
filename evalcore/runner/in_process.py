"""Plan a run and work on it in this process, for the command line and for Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from evalcore.access.secrets import Secrets
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import ProgressCallback
from evalcore.results import RunSummary
from evalcore.runner import client, gold, plan, run_request
from evalcore.runner.plan import Plan
from evalcore.runner.run_request import RunRequest
from evalcore.runner.summary import Tracker
from evalcore.runner.worker import work_on_run
from evalcore.settings import Settings

T = TypeVar("T")


def plan_checked_run(
    request: RunRequest,
    settings: Settings,
    secrets: Secrets,
    *,
    warn: ProgressCallback,
    progress: ProgressCallback,
) -> Plan:
    """Plan a run whose targets can be created and whose keys are there.

    The expected answers of cases of one's own are confirmed: `progress` hears what begins, `warn`
    what stays unconfirmed. Raises UsageError, DatasetError for a bad case.
    """
    run_plan = plan.plan_run(request, settings)
    plan.check_targets(run_plan, settings, secrets)
    names = client.missing_keys(request.target, request.target_options, settings)
    names += client.missing_judge_keys(run_request.list_judge_specs(run_plan.spec), settings)
    missing = [name for name in dict.fromkeys(names) if not secrets.has_key(name)]
    if missing:
        raise UsageError(Note("keys_missing", names=", ".join(missing)))
    for line in gold.require_gold(run_plan.gold, run_plan.samples, settings, progress=progress):
        warn(line)
    return run_plan


def work_on_run_here(
    run_id: str,
    settings: Settings,
    secrets: Secrets,
    *,
    generate: bool = True,
    executor: str = "",
    on_tick: Callable[[Tracker], None] | None = None,
) -> RunSummary:
    """Begin or continue a run until it is done or cannot go on; raises as `work_on_run`."""
    folder = client.find_own_run(run_id, settings)
    if not folder.has_live_worker():  # a cancel left by a worker that was killed before it saw it
        folder.cancel_path.unlink(missing_ok=True)
    return work_on_run(
        folder, settings, secrets, generate=generate, executor=executor, on_tick=on_tick
    )


def run_off_the_loop(work: Callable[[], T], stop: Callable[[], None] = lambda: None) -> T:
    """Call `work` here, or in a thread where an event loop runs here, as it does in a notebook.
    Whoever interrupts the notebook waits until the thread has ended, which `stop` asks it to."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(work).result()
        except KeyboardInterrupt:
            stop()
            raise
