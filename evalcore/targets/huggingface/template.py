"""Rendering a chat template so that the same conversation is the same prompt on every day.

Templates may ask for today's date by `strftime_now(format)`. A macro of that name is put before
such a template, which tells one day for ever: else caches, comparisons and repeats would break at
midnight. (Functions given as variables reach no template.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

DAY = datetime(2026, 1, 1, tzinfo=UTC)
_CLOCK = "strftime_now"
_FORMATS = re.compile(_CLOCK + r"\(\s*(?:\"([^\"]{1,100})\"|'([^']{1,100})')")
_MACRO = (
    "{%- macro strftime_now(format) -%}"
    "{{ evaluation_day.get(format, evaluation_day.default) }}"
    "{%- endmacro -%}"
)


def render_chat_template(
    tokenizer: Any,
    turns: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None,
    variables: Mapping[str, Any],
) -> str:
    """The prompt of a conversation, up to the place where the model answers.

    Raises whatever the template raises.
    """
    offered = list(tools) if tools else None
    template: str = tokenizer.get_chat_template(None, offered)
    if _CLOCK in template:
        formats = {
            double_quoted or single_quoted
            for double_quoted, single_quoted in _FORMATS.findall(template)
        }
        days = {form: DAY.strftime(form) for form in formats} | {"default": DAY.date().isoformat()}
        variables = {**variables, "evaluation_day": days}
        template = _MACRO + template
    text: str = tokenizer.apply_chat_template(
        list(turns),
        tools=offered,
        chat_template=template,
        tokenize=False,
        add_generation_prompt=True,
        **variables,
    )
    return text
