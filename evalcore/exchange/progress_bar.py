"""Progress of long work: a bar in a terminal, an output that changes in a notebook, and a line now
and then where nobody watches, such as the log of a CI job."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evalcore.exchange.report_data import format_progress
from evalcore.i18n import DEFAULT, t

if TYPE_CHECKING:
    from rich.progress import Progress

    from evalcore.runner.summary import Tracker

#: Seconds between two lines of `print_run_progress`.
LINE_INTERVAL = 10.0


def build_progress_bar(*columns: str, auto_refresh: bool = True) -> Progress:
    """A bar with the count and both times, then the texts `columns`."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        *(TextColumn(column, markup=False) for column in columns),
        console=Console(stderr=True),
        auto_refresh=auto_refresh,
    )


@contextmanager
def draw_run_progress(run_id: str, language: str = DEFAULT) -> Iterator[Callable[[Tracker], None]]:
    """Draw a bar for as long as the block lasts; yields what moves it on."""
    # The worker ticks twice a second; no thread of the bar's own.
    with build_progress_bar("{task.fields[counts]}", auto_refresh=False) as bar:
        task = bar.add_task(run_id, total=None, counts="")

        def move_bar(tracker: Tracker) -> None:
            counts = format_progress(
                tracker.outcomes,
                bar.tasks[task].speed,
                tracker.cost,
                errors=tracker.errors,
                language=language,
            )
            scored = tracker.outcomes.total()
            bar.update(task, total=tracker.total, completed=scored, counts=counts, refresh=True)

        yield move_bar


@contextmanager
def print_run_progress(
    run_id: str, say: Callable[[str], None], language: str = DEFAULT
) -> Iterator[Callable[[Tracker], None]]:
    """Say that a run began, and now and then where it stands."""
    say(t("cli.run.began", language, run=run_id))
    last = time.monotonic()

    def print_line(tracker: Tracker) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_INTERVAL:
            last = time.monotonic()
            say(f"{run_id}: {format_run_progress(tracker, language)}")

    yield print_line


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


@contextmanager
def show_notebook_progress(run_id: str) -> Iterator[Callable[[Tracker], None]]:
    """Show an output of the cell that changes as the run goes on."""
    display: Any = import_module("IPython.display").display  # what a notebook has, and no other
    shown = display(_CellText(f"{run_id}: …"), display_id=True)

    def update_output(tracker: Tracker) -> None:
        shown.update(_CellText(f"{run_id}: {format_run_progress(tracker)}"))

    yield update_output


class _CellText:
    """A text that a notebook shows as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def format_run_progress(tracker: Tracker, language: str = DEFAULT) -> str:
    """Where a run stands on one line: cases, share, rate, time left, cost, outcomes, errors."""
    scored, total = tracker.outcomes.total(), tracker.total
    parts = [t("cli.run.cases_done", language, done=scored, total=total)]
    parts += [f"{scored / total:.0%}"] if total else []
    rate = tracker.rate
    if rate:
        left = format_time_left((total - scored) / rate)
        parts.append(t("cli.run.time_left", language, time=left))
    parts.append(
        format_progress(
            tracker.outcomes, rate, tracker.cost, errors=tracker.errors, language=language
        )
    )
    return ", ".join(filter(None, parts))


def format_time_left(seconds: float) -> str:
    """Format seconds as 0:42 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def show_progress(
    run_id: str, progress: bool | None
) -> AbstractContextManager[Callable[[Tracker], None] | None]:
    """An output of the cell in a notebook, else a bar; None shows it where somebody sees it."""
    if progress is not False and is_notebook():
        return show_notebook_progress(run_id)
    if progress or (progress is None and sys.stderr.isatty()):
        return draw_run_progress(run_id)
    return nullcontext()
