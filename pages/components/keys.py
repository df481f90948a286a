"""Keys typed for this session: asked for where the environment has none, kept in memory only.

They live in the session's widget state, go to a worker through `evalcore.runner.client` and are
never written, put into a URL or shown again.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.language import Translate
from pages.components.text import escape_markdown

_PREFIX = "typed_key."
_ADDRESS = ("_URL", "_HOST")  # how the names of variables end that hold an address


def ask_for_keys(names: Sequence[str], tr: Translate) -> None:
    """A field for each environment variable that a target needs and nobody has set; what is typed
    is hidden, save for an address."""
    for name in names:
        is_address = name.upper().endswith(_ADDRESS)
        st.text_input(
            tr(
                "common.address_label" if is_address else "common.key_label",
                name=escape_markdown(name),
            ),
            type="default" if is_address else "password",
            placeholder="https://" if is_address else None,
            key=f"{_PREFIX}{name}",
            help=tr("common.key_help", name=escape_markdown(name)),
            persist_state="session",
            autocomplete="off",
        )


def collect_typed_keys() -> dict[str, str]:
    """The keys typed so far, by environment variable name."""
    return {
        str(name).removeprefix(_PREFIX): value.strip()
        for name, value in st.session_state.items()
        if str(name).startswith(_PREFIX) and isinstance(value, str) and value.strip()
    }


def list_missing_keys(names: Sequence[str]) -> list[str]:
    """Those of `names` that have not been typed either."""
    return [name for name in names if name not in collect_typed_keys()]
