"""What a task is: the user's instruction, and the calls and words that fulfil it."""

from __future__ import annotations

from typing import Any

from evalcore.records import Record

#: Flags of tasks, found by replaying their ground truth.
TRUTH_ERRS = "truth-errs"  # a write of the ground truth is refused, so it does less than it says
NOTHING_TO_DO = "nothing-to-do"  # the reward is 1 for doing and saying nothing
#: A label of domains and a flag of their tasks: tau2's data under tau-bench's tools and reward.
TAU2_OFFLINE = "tau2-offline"
OTHER_START = "other-start"  # the task begins in another state, which is not set up here


class Action(Record, frozen=True):
    """A call of a tool in the ground truth."""

    name: str
    kwargs: dict[str, Any] = {}


class Task(Record, frozen=True):
    """One task. `id` is `<domain>/<split>/<index>`, the index counted from 0.

    `outputs` are texts that the agent has to say. `slots` are the instruction as structured data,
    where the file has them, `source` is the task's file:line within the data, "" where unknown.
    """

    id: str
    domain: str
    user_id: str
    instruction: str
    actions: tuple[Action, ...] = ()
    outputs: tuple[str, ...] = ()
    slots: dict[str, Any] | None = None
    flags: tuple[str, ...] = ()
    source: str = ""
