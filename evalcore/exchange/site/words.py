"""Names and numbers of a site in one language; what is unknown or was not run is a dash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalcore.i18n import t
from evalcore.plain_text import DASH, to_single_line
from evalcore.queries import board_words
from evalcore.queries.boards import Board
from evalcore.queries.names import display_name
from evalcore.target_cards import NO_CARD, TargetCard


class Words(NamedTuple):
    """What templates call: every method gives plain text, which the template escapes."""

    language: str
    cards: Mapping[str, TargetCard]

    def t(self, key: str, **values: Any) -> str:
        return t(key, self.language, **values)

    def target_name(self, row: Mapping[str, Any]) -> str:
        """A target by its card, from its identity and target_key."""
        return to_single_line(display_name(row["identity"], row["target_key"], self.cards))

    def has_card_name(self, row: Mapping[str, Any]) -> bool:
        """Whether the target has a name beside its key."""
        return bool(self.cards.get(row["target_key"], NO_CARD).name)

    def board_title(self, board: Board) -> str:
        return board_words.board_title(board, self.language)

    def ranking_title(self, board: Board, by: str) -> str:
        return board_words.ranked_title(board, by, self.language)

    def ranking_about(self, board: Board, by: str) -> str:
        """What a ranking is, in a sentence or two; the title of one of ours stands beside it."""
        if board.published:
            return board_words.board_about(board, by, self.language)
        return self.t("site.about")

    def column_title(self, board: Board, benchmark: str) -> str:
        return board_words.column_title(board.columns[benchmark], self.language)

    def part_title(self, part: str) -> str:
        return board_words.part_title(part, self.language)

    def order_title(self, order: str) -> str:
        return board_words.order_title(order, self.language)

    def kind_title(self, kind: str) -> str:
        return board_words.kind_title(kind, self.language)

    def suite_title(self, suite: str) -> str:
        return board_words.suite_title(suite, self.language)

    def score(self, value: float | None) -> str:
        return DASH if value is None else f"{value:.1f}"

    def span(self, low: float | None, high: float | None, form: str = "{:.1f}") -> str:
        """An interval, one number where both ends read the same."""
        if low is None or high is None:
            return DASH
        first, last = form.format(low), form.format(high)
        return first if first == last else f"{first} – {last}"

    def ranks(self, row: Mapping[str, Any]) -> str:
        return self.span(row["rank_low"], row["rank_high"], "{}")

    def money(self, dollars: float | None) -> str:
        if dollars is None:
            return DASH
        digits = 2 if dollars == 0 or dollars >= 1 else 4 if dollars >= 0.001 else 6
        return self.t("common.dollars", value=f"{dollars:,.{digits}f}")

    def seconds(self, value: float | None) -> str:
        if value is None:
            return DASH
        if value < 0.9995:
            return self.t("common.milliseconds", value=f"{value * 1000:.0f}")
        return self.t("common.seconds", value=f"{value:.1f}")

    def whole(self, value: float | None) -> str:
        return DASH if value is None else f"{value:,.0f}"

    def percent(self, value: float | None) -> str:
        return DASH if value is None else f"{100 * value:.0f} %"

    def number(self, value: float | None) -> str:
        """A weight or sum with up to four digits after the point."""
        return DASH if value is None else f"{value:,.4f}".rstrip("0").rstrip(".")

    def describe_standing(self, row: Mapping[str, Any], total: int) -> str:
        return board_words.format_standing(row, total, self.language)
