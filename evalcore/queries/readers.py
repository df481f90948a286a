"""What readers of a public board are not told: where files lie on the machine that serves it.

Messages of the runner and of a loader name paths, which help whoever runs the installation and
nobody else. Of a path its last part is left, which tells what went wrong as well.
"""

from __future__ import annotations

import msgspec

from evalcore.privacy import redact_paths as without_places
from evalcore.queries.cases import CaseView
from evalcore.queries.runs import RunRow


def row_for_readers(row: RunRow) -> RunRow:
    """A run as anybody may see it."""
    return msgspec.structs.replace(
        row,
        problem=without_places(row.problem),
        message=without_places(row.message),
        command=without_places(row.command),
        note=without_places(row.note),
    )


def case_for_readers(view: CaseView) -> CaseView:
    """A case as anybody may see it: what a failure of this machine says names no place."""
    verdict, episode = view.verdict, view.episode
    if verdict is not None:
        verdict = msgspec.structs.replace(verdict, note=without_places(verdict.note))
    if episode is not None and episode.failure is not None:
        message = without_places(episode.failure.message)
        failure = msgspec.structs.replace(episode.failure, message=message)
        episode = msgspec.structs.replace(episode, failure=failure)
    return msgspec.structs.replace(view, verdict=verdict, episode=episode)
