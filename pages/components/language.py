"""The language of this session: its switch in the sidebar, `lang` in the URL, and translating.

Order of precedence: the switch, the URL's `lang`, the browser's locale. The URL carries `lang`
exactly while the language differs from the browser's own, so that plain links stay short. The
widget's `bind` is not used: it would write the label (`lang=中文`) instead of the code.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from evalcore.i18n import LANGUAGES, language_for_locale, t, translate_note
from pages.components import state

KEY = "lang"
Translate = Callable[..., str]


def current_language() -> str:
    """The code of the language in use, such as `en`."""
    for chosen in (st.session_state.get(KEY), st.query_params.get(KEY)):
        if chosen in LANGUAGES:
            return str(chosen)
    return language_for_locale(st.context.locale)


def build_translator() -> Translate:
    """`tr("launch.title", count=3)`: the texts of the session's language."""
    language = current_language()

    def translate_key(key: str, **values: object) -> str:
        return t(key, language, **values)

    return translate_key


def localize_note(text: str) -> str:
    """What a scorer or the runner said, in the session's language."""
    return translate_note(text, current_language())


def draw_language_switch() -> None:
    """Draw the switch in the sidebar; the entry script calls it once, before the page runs."""
    st.session_state.setdefault(KEY, current_language())
    st.sidebar.segmented_control(
        t("common.language", current_language()),
        list(LANGUAGES),
        format_func=lambda code: LANGUAGES[code],
        required=True,
        key=KEY,
        label_visibility="collapsed",
    )


def write_language_to_url() -> None:
    """Write the language into the URL, or take it out.

    To be called once the page has been drawn: the browser learns later than its query which page is
    shown, and would keep the one that was left, under this query, as a place that Back leads to.
    """
    differs = current_language() != language_for_locale(st.context.locale)
    state.set_query_param(KEY, current_language() if differs else None)
