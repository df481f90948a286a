"""Bars for long work on standard error, or in the output of a notebook's cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evalcore.exchange.report_data import format_progress

if TYPE_CHECKING:
    from rich.progress import Progress

    from evalcore.runner.summary import Tracker


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
def draw_run_progress(run_id: str) -> Iterator[Callable[[Tracker], None]]:
    """Draw a bar for as long as the block lasts; yields what moves it on."""
    # The worker ticks twice a second; no thread of the bar's own.
    with build_progress_bar("{task.fields[counts]}", auto_refresh=False) as bar:
        task = bar.add_task(run_id, total=None, counts="")

        def move_bar(tracker: Tracker) -> None:
            bar.update(
                task,
                total=tracker.total,
                completed=tracker.outcomes.total(),
                counts=format_progress(tracker.outcomes, bar.tasks[task].speed, tracker.cost),
                refresh=True,
            )

        yield move_bar
