"""What a ranking says in a sentence: who leads, and what cannot be told apart."""

from __future__ import annotations

import pandas as pd

from evalcore.queries import board_words
from evalcore.queries.ranking_views import tie_groups
from pages.components.board import bold
from pages.components.language import current


def decision(frame: pd.DataFrame) -> str:
    """One or two sentences, as Markdown with the names (`name`) escaped; empty where nobody is
    ranked."""
    names = {who: bold(name) for who, name in zip(frame["identity"], frame["name"], strict=True)}
    groups = [[names[who] for who in group] for group in tie_groups(frame)]
    return board_words.decision(groups, current())
