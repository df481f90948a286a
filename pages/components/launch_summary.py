"""What a run would be, in a few lines, and what stands in its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from evalcore.runner.request import RunRequest
from pages.components import launch_local, names
from pages.components.language import Translate
from pages.components.launch_rules import Problem
from pages.components.launch_target import ChosenTarget
from pages.components.text import escape, plain


def draw(
    request: RunRequest, second: ChosenTarget | None, wrong: Sequence[Problem], tr: Translate
) -> None:
    """What would happen, or what stands in its way."""
    st.subheader(tr("launch.not_ready" if wrong else "launch.ready"), anchor=False)
    _summary(request, second, tr)
    for problem in wrong:
        values = {name: escape(value, 400) for name, value in problem.values.items()}
        st.warning(tr(problem.key, **values), icon=":material/edit:")


def _summary(request: RunRequest, second: ChosenTarget | None, tr: Translate) -> None:
    _name(request.target, request.target_options)
    if second:
        st.caption(tr("launch.versus"))
        _name(second.key, second.options)
        both_local = all(
            key.startswith(launch_local.PREFIX) for key in (request.target, second.key)
        )
        st.caption(tr("launch.in_turn" if both_local else "launch.at_once"))
    most = request.max_samples
    st.caption(
        tr("launch.summary_all" if most is None else "launch.summary_some", count=most)
        + (tr("launch.summary_epochs", count=request.epochs) if request.epochs > 1 else "")
    )
    if most is not None or request.metrics:
        st.caption(tr("launch.subset_note"))


def _name(key: str, options: Mapping[str, Any]) -> None:
    """A target with the options that tell it apart."""
    called = names.of(key, key)
    st.text(plain(key if called == key else f"{called} · {key}", 200))
    if options:
        st.caption(escape(", ".join(f"{name} = {value}" for name, value in options.items()), 300))
