"""A process that runs programs in the sandbox for a test: as another user, or to be killed.

One JSON request a line (`means`, `program`, `limits`, how `often` at the same time), one JSON list
of answers a line. Started as `python -m tests.support.sandbox_driver`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import msgspec

from evalcore.errors import EnvironmentFailure
from evalcore.records import Record, from_json, to_json
from evalcore.sandbox.program import Limits, Means, Program, ProgramResult, run_program


class Request(Record, frozen=True):
    means: Means
    program: Program
    limits: Limits = Limits()
    often: int = 1


class Answer(Record, frozen=True):
    finished: ProgramResult | None = None
    failure: str = ""


def answer(request: Request) -> Answer:
    """One run."""
    try:
        return Answer(run_program(request.program, request.limits, means=request.means))
    except EnvironmentFailure as problem:
        return Answer(failure=str(problem))


def main() -> None:
    """Serve until standard input ends."""
    for line in sys.stdin:
        request = from_json(Request, line)
        with ThreadPoolExecutor(request.often) as threads:
            answers = list(threads.map(answer, [request] * request.often))
        print(to_json(answers).decode(), flush=True)


def read_answers(line: str) -> list[Answer]:
    """The driver's reply."""
    return msgspec.json.decode(line, type=list[Answer])


if __name__ == "__main__":
    main()
