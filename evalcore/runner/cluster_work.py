"""The jobs of a run on a cluster: which nobody has yet, and what is known of those handed out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from evalcore.records import Call, Sample
from evalcore.runner.channels import EarlierCalls
from evalcore.runner.node import Assignment
from evalcore.runner.summary import VerdictKey


class WorkQueue:
    """Hands out jobs, each built when it is due, so that a large run takes no memory.

    `total` is how many there are in `jobs`, `left` how many are without all of their verdicts.
    What arrives of a job that is handed out is remembered, so that whoever takes over from a lost
    worker repeats none of it.
    """

    def __init__(
        self, jobs: Iterator[Assignment], total: int, earlier: EarlierCalls, roles: Sequence[str]
    ) -> None:
        self.left = total
        self._jobs, self._earlier, self._roles = jobs, earlier, roles
        self._returned: deque[Assignment] = deque()
        self._calls: dict[tuple[str, int], list[Call]] = {}
        self._scored: set[VerdictKey] = set()

    def take_job(self) -> Assignment | None:
        """The next job with the answers that it had before; None where all are handed out."""
        assignment = self._returned.popleft() if self._returned else next(self._jobs, None)
        if assignment is None:
            return None
        keys = _list_call_keys(assignment)
        for key in keys:
            if key not in self._calls:
                self._calls[key] = list(self._find_earlier_calls(*key))
        calls = tuple(call for key in keys for call in self._calls[key])
        return msgspec.structs.replace(assignment, calls=calls)

    def give_back(self, handed: Assignment) -> None:
        """Queue a job again, without what is scored of it already."""
        samples = tuple(
            sample
            for sample in handed.samples
            if handed.episode is None or _build_verdict_key(handed, sample) not in self._scored
        )
        if samples:
            self._returned.appendleft(msgspec.structs.replace(handed, samples=samples))
        else:  # its worker was lost between its last verdict and the word that it is done
            self.close_job(handed)

    def close_job(self, assignment: Assignment) -> None:
        """Forget a job whose verdicts are all journaled."""
        self.left -= 1
        for key in _list_call_keys(assignment):
            self._calls.pop(key, None)
        for sample in assignment.samples:
            self._scored.discard(_build_verdict_key(assignment, sample))

    def note_call(self, call: Call) -> None:
        if (calls := self._calls.get((call.key, call.epoch))) is not None:
            calls.append(call)

    def note_verdict(self, key: VerdictKey) -> None:
        self._scored.add(key)

    def _find_earlier_calls(self, key: str, epoch: int) -> Iterator[Call]:
        for role in self._roles:
            for turn in count():
                call = self._earlier.find((key, epoch, role, turn))
                if call is None:
                    break
                yield call


def _build_verdict_key(assignment: Assignment, sample: Sample) -> VerdictKey:
    return (assignment.benchmark, sample.metric, sample.id, assignment.epoch)


def _list_call_keys(assignment: Assignment) -> list[tuple[str, int]]:
    """The places of the calls of a job in the journal: its generation, and the judging of its
    samples."""
    names = dict.fromkeys([assignment.key, *(sample.key for sample in assignment.samples)])
    return [(f"{assignment.benchmark}/{name}", assignment.epoch) for name in names]
