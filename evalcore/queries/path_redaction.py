"""What readers of a public board are not told: where files lie on the machine that serves it.

Messages of the runner and of a loader name paths, which help whoever runs the installation and
nobody else. Of a path its last part is left, which tells what went wrong as well.
"""

from __future__ import annotations

import msgspec

from evalcore.privacy import redact_paths as redact_paths
from evalcore.queries.cases import CaseView
from evalcore.queries.runs import RunRow


def redact_run_row(row: RunRow) -> RunRow:
    """A run as anybody may see it."""
    return msgspec.structs.replace(
        row,
        problem=redact_paths(row.problem),
        message=redact_paths(row.message),
        command=redact_paths(row.command),
        note=redact_paths(row.note),
    )


def redact_case(view: CaseView) -> CaseView:
    """A case as anybody may see it: what a failure of this machine says names no place."""
    verdict, episode = view.verdict, view.episode
    if verdict is not None:
        verdict = msgspec.structs.replace(verdict, note=redact_paths(verdict.note))
    if episode is not None and episode.failure is not None:
        message = redact_paths(episode.failure.message)
        failure = msgspec.structs.replace(episode.failure, message=message)
        episode = msgspec.structs.replace(episode, failure=failure)
    return msgspec.structs.replace(view, verdict=verdict, episode=episode)
