"""Whether an agent said what it had to: texts within its words, numbers as numbers.

tau-bench takes every expected text as a piece of what was said, so that `10` is found in 1093. Here
a number has to stand alone and to be equal; `$1,093.50` is 1093.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_WHOLE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
# ASCII letters only: in Chinese a number may touch the words around it.
_NUMBER = re.compile(rf"(?<![0-9A-Za-z_])(?<![0-9][.,]){_DIGITS}(?![0-9A-Za-z_]|[.,][0-9])")


def find_missing_outputs(
    outputs: Sequence[str], agent_messages: Sequence[str], *, substring: bool
) -> tuple[str, ...]:
    """The expected texts that were never said, regardless of case and of commas in what was said.

    With `substring` numbers are texts too, as in tau-bench itself.
    """
    plain = [words.lower().replace(",", "") for words in agent_messages]
    numbers = set() if substring else _extract_numbers(agent_messages)
    return tuple(
        output
        for output in outputs
        if not (
            _plain_number(output) in numbers
            if not substring and _WHOLE.fullmatch(output)
            else any(output.lower() in words for words in plain)
        )
    )


def _extract_numbers(agent_messages: Sequence[str]) -> set[str]:
    return {_plain_number(number) for words in agent_messages for number in _NUMBER.findall(words)}


def _plain_number(text: str) -> str:
    """A number without commas and without zeros that say nothing after its point."""
    text = text.replace(",", "")
    return text.rstrip("0").rstrip(".") if "." in text else text
