"""Official entries that a right answer cannot pass, with the reason; a board may exclude them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

from evalcore.records import Record

Defect = Literal["unsatisfiable", "java_array", "java_list", "java_map", "java_map_in_prompt"]


class Flag(Record, frozen=True):
    """Why an entry is flagged. `defect` is also the key of its text in the catalogues."""

    defect: Defect
    reason: str


_EMPTY_ANSWERS = "The list of accepted values of a given argument is empty: every value is wrong."
_UNKNOWN_PARAMETER = (
    "The reference demands an argument that the function's schema does not have: with it the call "
    "has an unexpected argument, without it a missing one."
)
_QUOTES_RETAINED = (
    "The official check keeps the quotes of the elements of `new String[]{...}`, so that correct "
    "Java fails and only an array of bare words, which does not compile, passes."
)

_ELEMENTS_AS_TEXT = (
    "The elements of an ArrayList of `any` are compared as text, so that the reference's numbers "
    "and booleans are never matched."
)
_BARE_REFERENCE = (
    "The reference gives a map's value where a list of accepted values belongs: the right map "
    "fails, an empty one passes."
)
_BODY_DROPPED = (
    "In prompt mode the official decoder drops the body of `new HashMap<>() {{ put(...); }}`, so "
    "that the map arrives empty and the right answer fails; as a native tool call it passes."
)

#: Flagged entries by id.
FLAGGED: MappingProxyType[str, Flag] = MappingProxyType(
    {
        "live_simple_106-63-0": Flag("unsatisfiable", _EMPTY_ANSWERS),
        "live_simple_112-68-0": Flag("unsatisfiable", _EMPTY_ANSWERS),
        "live_multiple_862-181-3": Flag("unsatisfiable", _UNKNOWN_PARAMETER),
        "live_multiple_964-207-0": Flag("unsatisfiable", _UNKNOWN_PARAMETER),
        **{
            f"simple_java_{number}": Flag("java_array", _QUOTES_RETAINED)
            for number in (35, 78, 83, 85, 86, 89, 90, 91)
        },
        **{f"simple_java_{number}": Flag("java_list", _ELEMENTS_AS_TEXT) for number in (36, 65)},
        "simple_java_64": Flag("java_map", _BARE_REFERENCE),
        **{
            f"simple_java_{number}": Flag("java_map_in_prompt", _BODY_DROPPED)
            for number in (1, 67, 68)
        },
    }
)


def list_flagged_ids(defect: Defect) -> frozenset[str]:
    """The ids of the entries with one defect."""
    return frozenset(sample_id for sample_id, flag in FLAGGED.items() if flag.defect == defect)
