"""What of a comparison can be taken away: files, and the command that says the same."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial

import streamlit as st

from evalcore.queries import comparison_report
from evalcore.queries.comparison_runs import ComparedRun
from evalcore.settings import Settings
from pages.components import compare_data
from pages.components.language import Translate

_FORMS = {"csv": ("text/csv", ":material/csv:"), "md": ("text/markdown", ":material/markdown:")}


def draw_comparison_files(
    settings: Settings,
    runs: Sequence[str],
    base: ComparedRun,
    benchmark: str,
    metric: str,
    tr: Translate,
) -> None:
    """Buttons whose files are made when they are pressed."""
    st.markdown(f"**{tr('compare.export')}**")
    with st.container(horizontal=True):
        for form, (mime, icon) in _FORMS.items():
            st.download_button(
                tr(f"compare.file.{form}"),
                partial(compare_data.build_comparison_file, settings, runs, base.run_id, form),
                file_name=f"comparison.{form}",
                mime=mime,
                icon=icon,
                on_click="ignore",
            )
        st.download_button(
            tr("compare.file.cases"),
            lambda: comparison_report.cases_csv(
                compare_data.load_comparison_detail(settings, runs, base.run_id, benchmark, metric)
            ),
            file_name=f"differing-{benchmark}.csv",
            mime="text/csv",
            icon=":material/difference:",
            on_click="ignore",
        )
    command = ["evalcore", "compare", *runs, "--base", base.run_id]
    command += ["--benchmark", benchmark] + (["--metric", metric] if metric else [])
    st.code(shlex.join(command), language="bash", wrap_lines=True)
