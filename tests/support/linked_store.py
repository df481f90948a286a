"""A store with something behind every filter of every page, for tests of links."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalcore.access.policy import OPERATOR
from evalcore.settings import Settings
from evalcore.target_cards import TargetCard, save_card
from evalcore.views import boards, stored_boards
from tests.support import agentic_runs
from tests.support.boards import Plan, make_run
from tests.support.server import serve

#: Run -> target, share of the cases it solves, USD a case, month, cases without an answer.
_RUNS: dict[str, tuple[str, float, float, str, int]] = {
    "strong-old": ("openai:strong", 0.5, 0.004, "08", 0),
    "strong": ("openai:strong", 0.9, 0.004, "11", 0),
    "weak": ("openai:weak", 0.3, 0.001, "08", 0),
    "model": ("hf:model", 0.6, 0.0, "11", 0),
    "failing": ("openai:failing", 0.6, 0.002, "11", 6),
}
_CREATED = "2026-{}-05T10:00:00.000+00:00"
_DATASET = "other_cases"


def fill(settings: Settings) -> str:
    """Runs of five targets on two boards of one suite and two of another, and two cards; returns
    the key of the second board of the first."""
    for run, (target, skill, price, month, failing) in _RUNS.items():
        plan = Plan(target, skill, _CREATED.format(month), price=price, failing=failing)
        make_run(settings, plan, run)
    make_run(settings, Plan("openai:weak", 0.3, _CREATED.format("07"), dataset=_DATASET), "other")
    agentic_runs.gaia(settings)
    agentic_runs.swe(settings)
    made = TargetCard(organization="Acme", parameters=70.0, open_weights=False)
    save_card(settings, OPERATOR, "openai:strong", made)
    save_card(settings, OPERATOR, "hf:model", TargetCard(parameters=4.0, open_weights=True))
    all_boards = boards.list_boards(stored_boards.load_run_headers(settings), "sql")
    return next(
        board.key
        for board in all_boards
        if any(column.dataset == _DATASET for column in board.columns.values())
    )


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a server over such a store, and the key of its second board."""
    with serve(folder) as started:
        key = fill(Settings(data=str(started.data), shipped=str(folder / "none")))
        yield started.url, key
