"""What a run would be, in a few lines, and what stands in its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from evalcore.runner.request import RunRequest
from pages.components import launch_local, names
from pages.components.language import Translate
from pages.components.launch_rules import LaunchProblem
from pages.components.launch_target import ChosenTarget
from pages.components.text import escape_markdown, to_plain_line


def draw_launch_summary(
    request: RunRequest,
    second: ChosenTarget | None,
    problems: Sequence[LaunchProblem],
    tr: Translate,
) -> None:
    """What would happen, or what stands in its way."""
    st.subheader(tr("launch.not_ready" if problems else "launch.ready"), anchor=False)
    _draw_request_summary(request, second, tr)
    for problem in problems:
        values = {name: escape_markdown(value, 400) for name, value in problem.values.items()}
        st.warning(tr(problem.key, **values), icon=":material/edit:")


def _draw_request_summary(request: RunRequest, second: ChosenTarget | None, tr: Translate) -> None:
    _draw_target_name(request.target, request.target_options)
    if second:
        st.caption(tr("launch.versus"))
        _draw_target_name(second.key, second.options)
        both_local = all(
            key.startswith(launch_local.PREFIX) for key in (request.target, second.key)
        )
        st.caption(tr("launch.in_turn" if both_local else "launch.at_once"))
    max_samples = request.max_samples
    st.caption(
        tr(
            "launch.summary_all" if max_samples is None else "launch.summary_some",
            count=max_samples,
        )
        + (tr("launch.summary_epochs", count=request.epochs) if request.epochs > 1 else "")
    )
    if max_samples is not None or request.metrics:
        st.caption(tr("launch.subset_note"))


def _draw_target_name(key: str, options: Mapping[str, Any]) -> None:
    """A target with the options that tell it apart."""
    display_name = names.resolve_target_name(key, key)
    st.text(to_plain_line(key if display_name == key else f"{display_name} · {key}", 200))
    if options:
        st.caption(
            escape_markdown(", ".join(f"{name} = {value}" for name, value in options.items()), 300)
        )
