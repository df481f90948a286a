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
from pages.components.text import escape_markdown, to_plain_line


def draw_reproduction(
    run: str, settings: Settings, tr: Translate, *, benchmark: str = "", metric: str = ""
) -> None:
    """The block of a run, folded; with a benchmark and a metric that of one of its cases."""
    title = (
        tr("reproduce.title_case") if metric else tr("reproduce.title", run=escape_markdown(run))
    )
    with st.expander(title, icon=":material/replay:"):
        try:
            recipe = reproduce.build_recipe(settings, run, benchmark, metric)
        except (EvalboardError, OSError) as error:
            st.warning(tr("reproduce.unreadable", reason=escape_markdown(error, 400)))
            return
        if recipe.imported:
            st.info(tr("reproduce.imported"), icon=":material/publish:")
        else:
            _draw_reproduce_command(recipe, tr, cases=recipe.cases if metric else 0)
        _draw_recipe_downloads(recipe, tr, f"{run}.{benchmark}.{metric}")
        _draw_recipe_columns(recipe, tr)
        _draw_recipe_facts(recipe, tr)


def _draw_reproduce_command(recipe: Recipe, tr: Translate, *, cases: int) -> None:
    """The command with what must be known before it is typed, and the file it may read."""
    by_file = recipe.command == recipe.with_config
    if by_file:
        st.markdown(tr("reproduce.file_only"))
    st.code(recipe.command, language="bash", wrap_lines=True)
    hints = [tr("reproduce.case", count=cases)] if cases else []
    if recipe.keys:
        hints.append(tr("reproduce.keys", names=", ".join(map(escape_markdown, recipe.keys))))
    if recipe.named:
        hints.append(tr("reproduce.names"))
    if hints:
        st.caption(" ".join(hints))
    if not by_file:
        st.markdown(tr("reproduce.file"))
        st.code(recipe.with_config, language="bash", wrap_lines=True)
    st.code(recipe.config, language="yaml", wrap_lines=True)
    for file, text in recipe.prompts.items():
        st.markdown(tr("reproduce.prompt", file=escape_markdown(file)))
        st.code(text, language=None, wrap_lines=True, height=200)


def _draw_recipe_downloads(recipe: Recipe, tr: Translate, key: str) -> None:
    files = {"config": (CONFIG, recipe.config), "spec": ("spec.json", recipe.spec)}
    with st.container(horizontal=True):
        for name, (file, text) in files.items():
            if not text:
                continue
            st.download_button(
                tr(f"reproduce.download.{name}"),
                text,
                file_name=f"{to_plain_line(recipe.run_id)}-{file}",
                mime="text/plain",
                icon=":material/download:",
                key=f"reproduce.{name}.{key}",
                on_click="ignore",
                help=tr("reproduce.download.help"),
            )


def _draw_recipe_columns(recipe: Recipe, tr: Translate) -> None:
    st.markdown(f"**{tr('reproduce.columns')}**")
    st.dataframe(
        pd.DataFrame(
            {
                tr("common.benchmark"): [
                    benchmark_title(column.benchmark) for column in recipe.columns
                ],
                tr("reproduce.dataset"): [
                    to_plain_line(column.dataset) for column in recipe.columns
                ],
                tr("reproduce.hash"): [column.dataset_hash for column in recipe.columns],
                tr("reproduce.cases"): [column.samples for column in recipe.columns],
                tr("reproduce.prompt_version"): [
                    column.prompt_version for column in recipe.columns
                ],
                tr("reproduce.scorer_version"): [
                    column.scorer_version for column in recipe.columns
                ],
                tr("reproduce.column"): [column.key for column in recipe.columns],
                tr("reproduce.options"): [
                    ", ".join(f"{name}={value}" for name, value in column.options.items())
                    for column in recipe.columns
                ],
            }
        ),
        hide_index=True,
        alt=tr("reproduce.columns_alt"),
    )


def _draw_recipe_facts(recipe: Recipe, tr: Translate) -> None:
    """Versions, commit, seed, panel and hardware, as far as the run recorded them."""
    panel = dict.fromkeys(judge for column in recipe.columns for judge in column.judges)
    facts = {
        "versions": " · ".join(f"{name} {value}" for name, value in recipe.versions.items()),
        "commit": _format_commit(recipe.git_commit, tr),
        "seed": str(recipe.seed),
        "epochs": str(recipe.epochs) if recipe.epochs != 1 else "",
        "panel": " · ".join(panel),
        "hardware": _format_hardware(recipe.hardware) if recipe.hardware else "",
    }
    recorded = {name: value for name, value in facts.items() if value}
    word_table.draw_word_table(
        {
            tr("reproduce.made_with"): [tr(f"reproduce.fact.{name}") for name in recorded],
            " ": list(recorded.values()),
        },
        tr("reproduce.made_alt"),
    )


def _format_commit(commit: str, tr: Translate) -> str:
    """A commit, and whether files differed from it."""
    bare = commit.removesuffix("+")
    return tr("reproduce.fact.commit_dirty", commit=bare) if bare != commit else commit


def _format_hardware(card: ModelCard) -> str:
    """Where a local model ran: device, type of number, memory of its weights, threads."""
    threads = f"{card.threads} threads" if card.threads else ""
    return " · ".join(
        filter(
            None, [card.device, card.dtype, numbers.format_byte_size(card.memory_bytes), threads]
        )
    )
