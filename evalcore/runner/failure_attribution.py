"""Telling a request that breaks a server from a server that is broken.

Some servers answer with a bare 500 where they cannot parse the call that a model wrote, and do so
for ever (`transformers serve` does). Nothing in such a reply tells it from an outage, but this
does: a request that was answered before is answered again, and then the first fails as before. Only
requests that offer tools are looked at: without them there is no call to break on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from evalcore.errors import TargetFailure
from evalcore.records import Completion, Failure

_BROKEN = 500
_ATTRIBUTION_TRIES = (
    3  # a server that broke may close connections, on which further requests are lost
)

Attempt = Callable[[], Awaitable[Completion]]


async def attribute_failure(
    failures: Sequence[Failure], again: Attempt, control: Attempt
) -> Completion | None:
    """The answer to a request that was given up, empty and `unparsable` where it is at fault; None
    where the server may be.

    `failures` are those of its tries; `again` sends it once more, `control` one that was answered
    before.
    """
    words = {failure.message for failure in failures if failure.status == _BROKEN}
    if len(words) != 1 or not await _is_server_up(control):
        return None
    for tried in range(1, _ATTRIBUTION_TRIES + 1):
        try:
            return await again()
        except TargetFailure as error:
            failure = error.failure
        if failure.status == _BROKEN and failure.message in words:
            return Completion(finish_reason="unparsable", attempts=len(failures) + tried)
    return None


async def _is_server_up(control: Attempt) -> bool:
    for _ in range(_ATTRIBUTION_TRIES):
        try:
            await control()
        except TargetFailure:
            continue
        return True
    return False
