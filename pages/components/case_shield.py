"""What a stricter second look says of a result, and what nothing was run for: near the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from evalcore.i18n import lookup_text
from evalcore.records import Verdict
from pages.components.language import Translate, current
from pages.components.text import escape, plain


def badge(details: Mapping[str, Any], tr: Translate) -> None:
    """A shield in the row of the verdict where the second look does not agree with the first."""
    if _differs(details):
        st.badge(tr("case.shield"), color="orange", icon=":material/gpp_maybe:")


def draw(verdict: Verdict, tr: Translate) -> None:
    """The second look in words; that nothing was run; that a mended form would have passed."""
    details = verdict.details
    flags = _flags(details, tr)
    if _differs(details):
        st.warning(tr("case.shield_differs", flags=flags), icon=":material/gpp_maybe:")
    elif flags:
        st.info(tr("case.shield_remarks", flags=flags), icon=":material/shield:")
    if verdict.views.get("repaired", 0.0) > (verdict.score or 0.0):
        st.info(tr("case.shield_repaired"), icon=":material/build:")
    if "resolved" in details and details["resolved"] is None:
        st.caption(tr("case.not_executed"))


def _differs(details: Mapping[str, Any]) -> bool:
    """Runs of scorer version 1 hold the official result as `resolved`, which decided then."""
    official = details.get("resolved_official", details.get("resolved"))
    return official is True and details.get("resolved_hardened") is False


def _flags(details: Mapping[str, Any], tr: Translate) -> str:
    """The flags as one list in words; those that no catalogue knows as they are."""
    named = [name for name in str(details.get("flags") or "").split(", ") if name]
    told = [lookup_text(f"case.shield.{name}", current()) or escape(plain(name)) for name in named]
    return tr("case.shield_and").join(told)
