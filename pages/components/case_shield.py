"""What a stricter second look says of a result, and what nothing was run for: near the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from evalcore.i18n import lookup_text
from evalcore.records import Verdict
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line


def draw_shield_badge(details: Mapping[str, Any], tr: Translate) -> None:
    """A shield in the row of the verdict where the second look does not agree with the first."""
    if _has_shield_mismatch(details):
        st.badge(tr("case.shield"), color="orange", icon=":material/gpp_maybe:")


def draw_shield_details(verdict: Verdict, tr: Translate) -> None:
    """The second look in words; that nothing was run; that a mended form would have passed."""
    details = verdict.details
    flags = _format_shield_flags(details, tr)
    if _has_shield_mismatch(details):
        st.warning(tr("case.shield_differs", flags=flags), icon=":material/gpp_maybe:")
    elif flags:
        st.info(tr("case.shield_remarks", flags=flags), icon=":material/shield:")
    if verdict.views.get("repaired", 0.0) > (verdict.score or 0.0):
        st.info(tr("case.shield_repaired"), icon=":material/build:")
    if "resolved" in details and details["resolved"] is None:
        st.caption(tr("case.not_executed"))


def _has_shield_mismatch(details: Mapping[str, Any]) -> bool:
    """Runs of scorer version 1 hold the official result as `resolved`, which decided then."""
    official = details.get("resolved_official", details.get("resolved"))
    return official is True and details.get("resolved_hardened") is False


def _format_shield_flags(details: Mapping[str, Any], tr: Translate) -> str:
    """The flags as one list in words; those that no catalogue knows as they are."""
    names = [name for name in str(details.get("flags") or "").split(", ") if name]
    labels = [
        lookup_text(f"case.shield.{name}", current_language())
        or escape_markdown(to_plain_line(name))
        for name in names
    ]
    return tr("case.shield_and").join(labels)
