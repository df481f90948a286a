"""The block that tells how to repeat a run: command, file, versions and hashes, ready to paste."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.queries import reproduce
from evalcore.queries.model_cards import ModelCard
from evalcore.queries.reproduce import CONFIG, Recipe
from evalcore.settings import Settings
from pages.components import numbers, word_table
from pages.components.board import benchmark_title
from pages.components.language import Translate
from pages.components.text import escape, plain


def draw(
    run: str, settings: Settings, tr: Translate, *, benchmark: str = "", metric: str = ""
) -> None:
    """The block of a run, folded; with a benchmark and a metric that of one of its cases."""
    title = tr("reproduce.title_case") if metric else tr("reproduce.title", run=escape(run))
    with st.expander(title, icon=":material/replay:"):
        try:
            found = reproduce.build_recipe(settings, run, benchmark, metric)
        except (EvalboardError, OSError) as error:
            st.warning(tr("reproduce.unreadable", reason=escape(error, 400)))
            return
        if found.imported:
            st.info(tr("reproduce.imported"), icon=":material/publish:")
        else:
            _command(found, tr, cases=found.cases if metric else 0)
        _downloads(found, tr, f"{run}.{benchmark}.{metric}")
        _columns(found, tr)
        _facts(found, tr)


def _command(found: Recipe, tr: Translate, *, cases: int) -> None:
    """The command with what must be known before it is typed, and the file it may read."""
    by_file = found.command == found.with_config
    if by_file:
        st.markdown(tr("reproduce.file_only"))
    st.code(found.command, language="bash", wrap_lines=True)
    said = [tr("reproduce.case", count=cases)] if cases else []
    if found.keys:
        said.append(tr("reproduce.keys", names=", ".join(map(escape, found.keys))))
    if found.named:
        said.append(tr("reproduce.names"))
    if said:
        st.caption(" ".join(said))
    if not by_file:
        st.markdown(tr("reproduce.file"))
        st.code(found.with_config, language="bash", wrap_lines=True)
    st.code(found.config, language="yaml", wrap_lines=True)
    for file, text in found.prompts.items():
        st.markdown(tr("reproduce.prompt", file=escape(file)))
        st.code(text, language=None, wrap_lines=True, height=200)


def _downloads(found: Recipe, tr: Translate, key: str) -> None:
    files = {"config": (CONFIG, found.config), "spec": ("spec.json", found.spec)}
    with st.container(horizontal=True):
        for name, (file, text) in files.items():
            if not text:
                continue
            st.download_button(
                tr(f"reproduce.download.{name}"),
                text,
                file_name=f"{plain(found.run_id)}-{file}",
                mime="text/plain",
                icon=":material/download:",
                key=f"reproduce.{name}.{key}",
                on_click="ignore",
                help=tr("reproduce.download.help"),
            )


def _columns(found: Recipe, tr: Translate) -> None:
    st.markdown(f"**{tr('reproduce.columns')}**")
    st.dataframe(
        pd.DataFrame(
            {
                tr("common.benchmark"): [benchmark_title(one.benchmark) for one in found.columns],
                tr("reproduce.dataset"): [plain(one.dataset) for one in found.columns],
                tr("reproduce.hash"): [one.dataset_hash for one in found.columns],
                tr("reproduce.cases"): [one.samples for one in found.columns],
                tr("reproduce.prompt_version"): [one.prompt_version for one in found.columns],
                tr("reproduce.scorer_version"): [one.scorer_version for one in found.columns],
                tr("reproduce.column"): [one.key for one in found.columns],
                tr("reproduce.options"): [
                    ", ".join(f"{name}={value}" for name, value in one.options.items())
                    for one in found.columns
                ],
            }
        ),
        hide_index=True,
        alt=tr("reproduce.columns_alt"),
    )


def _facts(found: Recipe, tr: Translate) -> None:
    """Versions, commit, seed, panel and hardware, as far as the run recorded them."""
    panel = dict.fromkeys(judge for one in found.columns for judge in one.judges)
    facts = {
        "versions": " · ".join(f"{name} {value}" for name, value in found.versions.items()),
        "commit": _commit(found.git_commit, tr),
        "seed": str(found.seed),
        "epochs": str(found.epochs) if found.epochs != 1 else "",
        "panel": " · ".join(panel),
        "hardware": _hardware(found.hardware) if found.hardware else "",
    }
    known = {name: value for name, value in facts.items() if value}
    word_table.draw(
        {
            tr("reproduce.made_with"): [tr(f"reproduce.fact.{name}") for name in known],
            " ": list(known.values()),
        },
        tr("reproduce.made_alt"),
    )


def _commit(commit: str, tr: Translate) -> str:
    """A commit, and whether files differed from it."""
    bare = commit.removesuffix("+")
    return tr("reproduce.fact.commit_dirty", commit=bare) if bare != commit else commit


def _hardware(card: ModelCard) -> str:
    """Where a local model ran: device, type of number, memory of its weights, threads."""
    threads = f"{card.threads} threads" if card.threads else ""
    return " · ".join(
        filter(None, [card.device, card.dtype, numbers.size(card.memory_bytes), threads])
    )
