"""Names from outside (models, cases, files), made safe where Streamlit reads Markdown.

A label, caption, metric or error text is Markdown: an unescaped `![](http://...)` would load an
image from a stranger's server, and `:red[...]` would imitate our own badges. Longer text of a model
never comes here at all: it is drawn with `st.text`, `st.code` or `st.json`.
"""

from __future__ import annotations

import re

from evalcore.plain_text import to_single_line

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&^=\"'@/])")

#: Streamlit replaces these after Markdown is read, where a backslash no longer protects: emoji and
#: icon codes `:name:`, bare addresses. An invisible word joiner keeps them apart.
_REPLACED = re.compile(r"(?i)(:)(?=[\w+-]+(?:/\w+)?:)|(:)(?=//)|(www)(?=\.)")
_JOINER = "\u2060"


def to_plain_line(text: object, limit: int = 80) -> str:
    """`text` on one line without invisible characters, cut to `limit` characters."""
    return to_single_line(text, limit)


def escape_markdown(text: object, limit: int = 80) -> str:
    """`text` for a Markdown surface: it shows as it is written and does nothing else."""
    separated = _REPLACED.sub(lambda match: match.group(0) + _JOINER, to_plain_line(text, limit))
    return _SPECIAL.sub(r"\\\1", separated)
