"""Small things that many pages draw: errors, figures in a row, links, files to save, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.runner.jobs import Job
from pages.shared.wording import escape_markdown, localize_note, tr

_ERROR = ":material/error:"


@contextmanager
def show_errors(
    key: str = "", limit: int = 400, icon: str | None = _ERROR, draw: Callable[..., Any] = st.error
) -> Iterator[None]:
    """Draw an error of ours, and go on after the block; `key` is a text with a `reason`."""
    try:
        yield
    except EvalboardError as error:
        reason = escape_markdown(localize_note(str(error)), limit)
        draw(tr(key, reason=reason) if key else reason, icon=icon)


def draw_refusal(reason: str) -> None:
    """Why the visitor may not do what this part of the Datasets page is for."""
    text = tr("datasets.refused", reason=escape_markdown(reason, 300))
    st.info(text, icon=":material/lock:")


def draw_unconfirmed(count: int, reason: str) -> None:
    """How many expected answers no engine has confirmed, and why."""
    reason = escape_markdown(localize_note(reason), 300)
    st.warning(tr("datasets.unconfirmed", count=count, reason=reason), icon=":material/rule:")


def draw_figures(figures: Iterable[tuple[str, str]], gap: str = "medium") -> None:
    """Titles and values in a row."""
    with st.container(horizontal=True, gap=gap):
        for title, value in figures:
            st.metric(title, value, width="content")


def draw_link(page: str, label: str, icon: str, **query: str) -> None:
    """A link to another page, with the query parameters of its URL."""
    st.page_link(page, label=label, icon=f":material/{icon}:", query_params=query or None)


def draw_alike_run(page: str, alike: str, **query: str) -> None:
    """Below the words that a run is unknown: the run that may be meant, where one is alike."""
    if alike:
        draw_link(page, tr("runs.alike", run=escape_markdown(alike)), "arrow_forward", **query)


def draw_field(
    widget: Callable[..., Any], name: str, *values: Any, key: str = "", **look: Any
) -> Any:
    """A field of the launch form with the texts `launch.NAME` and, unless `look` has a `help` of
    its own, `launch.NAME_help`; what it holds stays as long as the session."""
    if "help" not in look:
        look["help"] = tr(f"launch.{name}_help")
    key = key or f"launch.{name}"
    return widget(tr(f"launch.{name}"), *values, key=key, persist_state="session", **look)


def draw_download(
    label: str,
    content: str | Callable[[], bytes | str],
    file_name: str,
    mime: str = "text/csv",
    **look: Any,
) -> None:
    """A button that saves a file, which a function makes when it is pressed; draws nothing anew."""
    look = {"icon": ":material/download:", **look}
    st.download_button(label, content, file_name=file_name, mime=mime, on_click="ignore", **look)


def draw_job_bar(job: Job, text: str) -> None:
    """The progress of a job; without a known total it stands at its beginning."""
    st.progress(min(job.done / job.total, 1.0) if job.total else 0.0, text=text)


def draw_centred_note(title: str, text: str) -> Any:
    """A framed note in the middle of a page that has nothing to show; returns its container."""
    note = st.container(border=True, horizontal_alignment="center", gap="small")
    note.markdown(f"#### {title}", width="content")
    note.markdown(text, width="content", text_alignment="center")
    return note


OUTCOME_COLOURS: dict[str, Any] = {
    "passed": "green",
    "failed": "red",
    "not_executed": "gray",
    "not_applicable": "gray",
    "target_error": "orange",
    "judge_error": "orange",
    "environment_error": "orange",
    "missing": "gray",
}
