"""A small folder of tau_bench data, and a benchmark, runs and contexts over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.benchmarks.base import DatasetSource, ToolCallMode, check_options
from evalcore.benchmarks.tau_bench.benchmark import TauBench
from evalcore.benchmarks.tau_bench.card import CARD
from evalcore.benchmarks.tau_bench.environment import Domain
from evalcore.benchmarks.tau_bench.environment.loaders import DOMAINS
from evalcore.benchmarks.tau_bench.user_goals import IDENTITY, Goal, Scenario, Slot
from evalcore.records import Completion, GenerationRequest, Sample, ToolCall, Usage
from evalcore.results import RunSummary
from evalcore.runner.execute import execute_run
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.store.run_folder import RunFolder
from tests.support import tau

WHO = {"name": "Given Family", "zip": "10001"}
CANCEL = {
    "name": "cancel_pending_order",
    "kwargs": {"order_id": "#W1", "reason": "no longer needed"},
}
MODIFY = {
    "name": "modify_pending_order_items",
    "kwargs": {
        "order_id": "#W1",
        "item_ids": ["l1"],
        "new_item_ids": ["l2"],
        "payment_method_id": "card_1",
    },
}
LEAVE = {"name": "cancel_reservation", "kwargs": {"reservation_id": "R1"}}
HAND_OVER = {"name": "transfer_to_human_agents", "kwargs": {"summary": "A person is wanted."}}


def _goal(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "order": "#W1", **more}


def _task(actions: Sequence[Any], *goals: Any, outputs: Sequence[str] = ()) -> dict[str, Any]:
    slots = {"slots": {"identity": WHO, "goals": list(goals)}} if goals else {}
    fields = {"user_id": "user_1", "instruction": "You want what you want.", **slots}
    return {**fields, "actions": list(actions), "outputs": list(outputs)}


#: Of retail: a cancellation, a question, a refusal (nothing is to be done), a change with a wish to
#: be handed over, and a task in free prose, which the rule user cannot play.
RETAIL = (
    _task([CANCEL], _goal("cancel", reason="no longer needed")),
    _task([], {"kind": "question", "question": "What does the lamp l2 cost?"}, outputs=["20.6"]),
    _task([], _goal("return", refusal=True, items=[{"product": "lamp"}], payment="card_1")),
    _task(
        [MODIFY, HAND_OVER],
        _goal(
            "modify_items", items=[{"product": "lamp", "change": {"kind": "l2"}}], payment="card_1"
        ),
    ),
    _task([CANCEL]),
)
AIRLINE = (_task([LEAVE], {"kind": "cancel", "order": "R1"}),)
PLAYABLE, IDLE = 5, 1


def write(folder: Path) -> Path:
    """Both small domains with the tasks of split `test`, and retail's first again as `dev`."""
    for domain, tasks in ((tau.retail(), RETAIL), (tau.airline(), AIRLINE)):
        path = folder / domain.name
        path.mkdir(parents=True)
        _tables(domain, path)
        (path / "policy.md").write_text(domain.policy)
        _lines(path / "tasks_test.jsonl", tasks)
    _lines(folder / "retail" / "tasks_dev.jsonl", RETAIL[:1])
    return folder


def _tables(domain: Domain, folder: Path) -> None:
    for table in DOMAINS[domain.name][0]:
        rows = dict(domain.database.rows(table))
        (folder / f"{table}.json").write_text(json.dumps(rows))


def _lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def benchmark(**options: Any) -> TauBench:
    return TauBench(check_options(CARD, options))


def samples(folder: Path, **options: Any) -> dict[str, Sample]:
    """All samples by id."""
    dataset = benchmark(**options).load_dataset(DatasetSource(path=str(folder)))
    return {sample.id: sample for sample in dataset}


def run(
    tmp_path: Path, folder: Path, target: str, options: Mapping[str, Any] | None = None, **more: Any
) -> tuple[RunSummary, RunFolder]:
    settings = configuration.load_settings(tmp_path / "data")
    asked = RunRequest(
        target=target,
        benchmarks=("tau_bench",),
        dataset=str(folder),
        options={"tau_bench": dict(options or {})},
        **more,
    )
    made = create_folder(plan_run(asked, settings), settings)
    return execute_run(made, settings, Secrets({})), made


class Scripted:
    """A context whose target says what `answer(step, request)` gives; all requests are kept."""

    def __init__(
        self,
        answer: Callable[[int, GenerationRequest], Completion],
        *,
        asking: ToolCallMode = "native",
        price: float | None = None,
        epoch: int = 0,
        user: Callable[[int, GenerationRequest], Completion] | None = None,
    ) -> None:
        self.epoch, self.seed, self.judges = epoch, 0, ()
        self.requests: list[GenerationRequest] = []
        self.of_user: list[GenerationRequest] = []
        self._answer, self._asking, self._price, self._user = answer, asking, price, user

    def price(self, role: str, usage: Usage) -> float | None:
        return self._price

    async def resolve_tool_call_mode(self) -> ToolCallMode:
        return self._asking

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        if role == "target":
            self.requests.append(request)
            return self._answer(len(self.requests) - 1, request)
        assert role.startswith("user:")
        assert self._user is not None
        self.of_user.append(request)
        return self._user(len(self.of_user) - 1, request)


def says(*answers: str | Completion) -> Callable[[int, GenerationRequest], Completion]:
    """These answers in turn, the last again and again."""

    def answer(step: int, request: GenerationRequest) -> Completion:
        item = answers[min(step, len(answers) - 1)]
        return Completion(text=item) if isinstance(item, str) else item

    return answer


def calls(*actions: Mapping[str, Any], **more: Any) -> Completion:
    """A native answer with these calls; `ids` and `usage` in `more` as they are."""
    made = tuple(
        ToolCall(f"c{at}", action["name"], json.dumps(action["kwargs"]))
        for at, action in enumerate(actions)
    )
    return Completion(tool_calls=made, finish_reason="tool_calls", **more)


def list_slot_values(scenario: Scenario, goal: Goal, slot: Slot) -> tuple[str, ...]:
    """The texts that answer a slot, none of which may be said before it was asked for."""
    if slot in IDENTITY:
        return (scenario.identity[slot],) if slot in scenario.identity else ()
    if slot == "items":
        return tuple(item.product for item in goal.items)
    if slot == "options":
        return tuple(text for item in goal.items for text in (item.change or {}).values())
    if slot == "address":
        return tuple(text for text in goal.address.values() if text)
    if slot in ("order", "payment", "reason"):
        text = getattr(goal, slot)
        return (text,) if text else ()
    return (goal.details[slot],) if slot in goal.details else ()
