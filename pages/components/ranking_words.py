"""What a ranking says in a sentence: who leads, and what cannot be told apart."""

from __future__ import annotations

import pandas as pd

from evalcore.queries import board_words
from evalcore.queries.ranking_views import tie_groups
from pages.components.board import format_bold
from pages.components.language import current_language


def group_tied_names(frame: pd.DataFrame) -> list[list[str]]:
    """The names of the ranked by group of ties, the best group first."""
    names = dict(zip(frame["identity"].tolist(), frame["name"].tolist(), strict=True))
    return [[names[who] for who in group] for group in tie_groups(frame)]


def describe_tie_groups(groups: list[list[str]]) -> str:
    """One or two sentences on what `group_tied_names` found, as Markdown with the names escaped;
    empty where nobody is ranked."""
    return board_words.describe_ranking(groups, current_language(), format_bold)
