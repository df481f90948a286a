"""What a ranking says in a sentence: who leads, and what cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evalcore.queries.ranking_views import tie_groups
from pages.components.board import bold
from pages.components.language import Translate

_NAMED = 3  # of a tie; the others are counted


def decision(frame: pd.DataFrame, tr: Translate) -> str:
    """One or two sentences, as Markdown with the names escaped; empty where nobody is ranked."""
    groups = tie_groups(frame)
    names = [name for group in groups for name in group]
    if not names:
        return ""
    if len(names) == 1:
        return tr("ranking.words.single", first=bold(names[0]))
    if len(groups[0]) > 1:
        first = tr("ranking.words.tie", names=_listed(groups[0], tr))
    else:
        first = tr("ranking.words.leader", first=bold(names[0]), second=bold(names[1]))
    if len(groups) == 1:
        second = "" if len(names) <= _NAMED else tr("ranking.words.one_group", targets=len(names))
    else:
        second = tr("ranking.words.groups", targets=len(names), groups=len(groups))
    return tr("ranking.words.two", first=first, second=second)


def _listed(names: Sequence[str], tr: Translate) -> str:
    shown = [bold(name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        return tr("ranking.words.and_more", names=", ".join(shown), count=len(names) - _NAMED)
    return tr("ranking.words.and", names=", ".join(shown[:-1]), last=shown[-1])
