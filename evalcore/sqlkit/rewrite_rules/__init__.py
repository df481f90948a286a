"""Which known rewrite leads from one query to another, told from their parse trees.

`parsing` makes two texts comparable, `reading` tells what is behind a name; `conditions`, `counts`
and `places` say what is in a query and where, `filters` and `kinds` compare conditions, `detectors`
holds the closed list of rewrites, `same` tells that nothing was rewritten at all, and
`rationale` finds the detector for a rule that is stated in words.
"""

from evalcore.sqlkit.rewrite_rules.detectors import (
    DETECTORS,
    detector_for,
    has_rewrite,
    is_rearranged_statement,
    is_same_statement,
)

__all__ = [
    "DETECTORS",
    "detector_for",
    "has_rewrite",
    "is_rearranged_statement",
    "is_same_statement",
]
