"""Control targets: the ceiling and the floors of a benchmark.

`control:reference` answers with the reference, `control:null` with nothing, `control:noop` with its
input; `control:cte`, `control:limit` and `control:tautology` with the input in a disguise that
saves nothing, where it is a statement to rewrite. They are answered by `Benchmark.control`: the
runner asks the benchmark in their place, because a request never holds a reference.
"""

from __future__ import annotations

from collections.abc import Callable

from evalcore.catalog import CONTROLS, COSMETIC_CONTROLS
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.records import Completion, GenerationRequest, TargetSpec
from evalcore.targets.base import TargetInfo

KINDS = (*CONTROLS, *COSMETIC_CONTROLS)


class Control:
    """A target without an answer of its own; `kind` says what the benchmark is to give."""

    def __init__(self, spec: TargetSpec) -> None:
        self.kind = spec.key.partition(":")[2]
        if self.kind not in KINDS:
            available = ", ".join(f"control:{kind}" for kind in KINDS)
            raise UsageError(f"unknown target {spec.key!r}; known: {available}")
        if spec.options:
            raise UsageError(f"{spec.key} takes no options, got: {', '.join(spec.options)}")
        self.key = spec.key
        self.info = TargetInfo(
            kind="control", title=f"Control: {self.kind}", start_in_flight=64, tools=True
        )

    async def open(self, progress: Callable[[str], None]) -> None:
        """Nothing to open."""

    async def generate(self, request: GenerationRequest) -> Completion:
        raise EnvironmentFailure(f"{self.key} is answered by the benchmark, not by a request")

    async def close(self) -> None:
        """Nothing to close."""
