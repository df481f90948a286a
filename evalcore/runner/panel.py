"""The judges of a run: written `openai:MODEL?base_url=...&temperature=0`, checked before the start.

A judge is a target like any other, asked under the role `judge:` and its spec as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import parse_qsl

from evalcore.errors import UsageError
from evalcore.records import RunSpec, TargetSpec

#: Programs give no opinion, and an application answers only what it was described for.
_NO_JUDGES = ("control", "baseline", "app")


def parse_model_spec(judge: str, role: Literal["judge", "user"] = "judge") -> TargetSpec:
    """The target that a judge, or a model that plays a user, is; raises UsageError for a text that
    names none."""
    key, _, query = judge.partition("?")
    kind, colon, name = key.partition(":")
    if not (colon and kind and name):
        raise UsageError(f"{role} {judge!r}: write it as a target, for example openai:MODEL")
    if kind in _NO_JUDGES:
        does = "judge" if role == "judge" else "play a user"
        raise UsageError(f"{role} {judge!r}: a {kind} cannot {does}; name a model")
    try:
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        raise UsageError(
            f"{role} {judge!r}: options follow a question mark as NAME=VALUE, joined by &"
        ) from None
    return TargetSpec(key=key, options=options)


def check_panel(judges: Sequence[str]) -> None:
    """Raises UsageError for a panel that cannot sit: a judge that is none, or one named twice."""
    for judge in judges:
        parse_model_spec(judge)
    if len(set(judges)) < len(judges):
        raise UsageError(f"a judge votes once; named twice in: {', '.join(judges)}")


def list_judge_specs(run: RunSpec) -> tuple[str, ...]:
    """The judges that a run really asks: those of its columns, in order."""
    return tuple(dict.fromkeys(judge for spec in run.benchmarks for judge in spec.judges))
