"""How added lines must be written where the old lines around them differ from the file.

The old lines of a hunk and those of the file at its place are pairs. If they differ in indentation
or in typography, the added lines are taken to differ in the same way. Where the pairs do not tell,
nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from evalcore.benchmarks.swe_bench.patches.problems import PatchRefused
from evalcore.benchmarks.swe_bench.patches.source import TYPOGRAPHY

_Indents = Sequence[tuple[str, str]]
_Rule = Callable[[str], str | None]
_TAB_WIDTHS = (4, 8, 2)


class LinePair(NamedTuple):
    """An old line of a hunk: its mark, " " or "-", how it was written, and what the file has."""

    mark: str
    written: str
    have: str


def adjust_indentation(added: Iterable[str], pairs: Iterable[LinePair]) -> list[str]:
    """The added lines as the file would have them.

    Raises Refused ("indent") where the pairs do not say how a line is indented.
    """
    informative = [pair for pair in pairs if pair.written.strip() and pair.have.strip()]
    plain = _build_typography_table(informative)
    if _is_as_written(informative):
        return [line.translate(plain) for line in added]
    indents = [(_find_indent(pair.written), _find_indent(pair.have)) for pair in informative]
    rules = [rule for rule in _list_indent_rules(indents) if all(rule(a) == b for a, b in indents)]
    indent_map = {a: {b for c, b in indents if c == a} for a, _ in indents}
    return [_reindent_line(line, indent_map, rules).translate(plain) for line in added]


def _is_as_written(pairs: Sequence[LinePair]) -> bool:
    """Whether added lines are indented as they are written.

    They bear a mark like the removed lines, so these tell. Context that has lost its mark, a
    blank, has a blank too little; added lines have not.
    """
    removed = [pair for pair in pairs if pair.mark == "-"]
    if all(_find_indent(pair.written) == _find_indent(pair.have) for pair in removed or pairs):
        return True
    lost = (f" {pair.written}" == pair.have or pair.written == pair.have for pair in pairs)
    return not removed and all(lost)


def _reindent_line(line: str, indent_map: dict[str, set[str]], rules: Sequence[_Rule]) -> str:
    if not line.strip():
        return line
    indent = _find_indent(line)
    candidates: set[str | None] = {*indent_map.get(indent, ())} or {
        rule(indent) for rule in rules[:1]
    }
    new = candidates.pop() if len(candidates) == 1 else None
    if new is None:
        raise PatchRefused("indent")
    return new + line[len(indent) :]


def _list_indent_rules(indents: _Indents) -> list[_Rule]:
    """Ways in which all indentation of a hunk may have been changed."""
    written, have = max(indents, key=lambda pair: abs(len(pair[0]) - len(pair[1])))
    rules: list[_Rule] = []
    if have.endswith(written):
        prefix = have.removesuffix(written)
        rules.append(lambda indent: prefix + indent)
    if written.endswith(have):
        lost = written.removesuffix(have)
        rules.append(lambda indent: indent.removeprefix(lost) if indent.startswith(lost) else None)
    rules += [_build_spaces_rule(width) for width in _TAB_WIDTHS]
    rules += [_build_tabs_rule(width) for width in _TAB_WIDTHS]
    return rules


def _build_spaces_rule(width: int) -> _Rule:
    return lambda indent: indent.expandtabs(width)


def _build_tabs_rule(width: int) -> _Rule:
    def to_tabs(indent: str) -> str:
        columns = len(indent.expandtabs(width))
        return "\t" * (columns // width) + " " * (columns % width)

    return to_tabs


def _find_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _build_typography_table(pairs: Sequence[LinePair]) -> dict[int, str]:
    """The groups of signs that were put for plain ones in the old lines."""
    table: dict[int, str] = {}
    for group in TYPOGRAPHY:
        if any(
            _count_signs(pair.written, group) > _count_signs(pair.have, group) for pair in pairs
        ):
            table |= {ord(sign): plain for sign, plain in group.items()}
    return table


def _count_signs(line: str, group: dict[str, str]) -> int:
    return sum(sign in group for sign in line)
