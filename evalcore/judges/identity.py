"""Whether a judge and a target are the same model, so that its votes on itself can be marked."""

from __future__ import annotations

from evalcore.records import TargetSpec


def is_same_model(judge: str, target: TargetSpec | str) -> bool:
    """The same model by name, whatever the kind of target, the endpoint and the options.

    Both are written KIND:MODEL, a judge perhaps with ?OPTIONS, a target perhaps with #HASH.
    """
    return _extract_model_name(judge) == _extract_model_name(
        target if isinstance(target, str) else target.key
    )


def _extract_model_name(text: str) -> str:
    key = text.partition("?")[0].partition("#")[0]
    kind, colon, name = key.partition(":")
    return (name if colon else kind).strip().casefold()
