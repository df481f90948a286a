"""What a run was made with: the local model and what it takes, and the block that tells how to
repeat it."""

from __future__ import annotations

import streamlit as st

from evalcore.catalog import runs_models_here
from evalcore.errors import EvalboardError
from evalcore.plain_text import DASH
from evalcore.runner.run_request import ConnectionReport
from evalcore.settings import Settings
from evalcore.views import reproduce
from evalcore.views.boards import Row
from evalcore.views.reproduce import CONFIG, ModelCard, Recipe, model_card
from pages.shared import tables, widgets, wording
from pages.shared.board_view import benchmark_title
from pages.shared.wording import escape_markdown, localize_note, to_plain_line, tr

# What a local model is and takes: as it works on the Runs page, and afterwards on a target's.


def draw_live_model(card: ModelCard, *, is_active: bool) -> None:
    """Speed, memory and batch, while the model is at work; and what it is."""
    if is_active:
        process = wording.format_byte_size(card.process_bytes or card.memory_bytes)
        rate = f"{card.tokens_per_second:,.0f}"
        cells = [
            ("runs.model.speed", tr("runs.model.speed_value", rate=rate)),
            ("runs.model.process", process),
            ("runs.model.batch", wording.format_count(card.batch)),
            ("runs.model.waiting", wording.format_count(card.waiting)),
        ]
        widgets.draw_figures((tr(key), value) for key, value in cells)
    st.caption(f":material/memory: {escape_markdown(_format_model_line(card), 400)}")
    if card.halved:
        st.caption(tr("runs.model.halved", count=card.halved, budget=f"{card.budget_tokens:,}"))


def draw_row_model(row: Row, settings: Settings) -> None:
    """The model of a target's newest run; nothing for other kinds of target, or without a card."""
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    if not runs_models_here(newest.target_key):
        return
    card = model_card(settings.run_roots, newest.run_id)
    if card is None:
        return
    with st.container(border=True):
        st.markdown(f"**{tr('target.model')}**")
        cells = [
            ("target.model_parameters", wording.format_compact_count(card.parameters)),
            ("target.model_dtype", card.dtype or DASH),
            ("target.model_device", card.device or DASH),
            ("target.model_memory", wording.format_byte_size(card.memory_bytes)),
            ("target.model_load", wording.format_duration(card.load_seconds)),
            ("target.model_context", f"{card.context:,}"),
        ]
        widgets.draw_figures((tr(key), escape_markdown(value)) for key, value in cells)
        facts = [card.architecture, card.revision[:12], card.adapter]
        st.caption(escape_markdown(" · ".join(filter(None, facts)), 200))
        for remark in card.notes[:5]:
            st.caption(escape_markdown(localize_note(remark), 300))


def _format_model_line(card: ModelCard) -> str:
    """The model in one line: architecture, size, precision, device, time to load."""
    parts = [
        card.architecture,
        tr("runs.model.parameters", count=wording.format_compact_count(card.parameters)),
        tr("runs.model.weights", size=wording.format_byte_size(card.memory_bytes)),
        tr("runs.model.runs_in", dtype=card.dtype, device=card.device),
        tr("runs.model.loaded", time=wording.format_duration(card.load_seconds)),
    ]
    return " · ".join(filter(None, parts))


# What an endpoint could do before a run, as it was probed.

_CAPABILITY_ICONS = {
    "yes": ":material/check:",
    "no": ":material/close:",
    "unknown": ":material/question_mark:",
}


def draw_capabilities(report: ConnectionReport) -> None:
    """The capability card: a line for each thing that was probed, with what the server says;
    nothing where it was not reached."""
    if all(capability.state == "unknown" for capability in report.capabilities):
        return
    st.caption(tr("launch.capability", requests=report.requests))
    for capability in report.capabilities:
        words = (
            f"**{tr(f'launch.capability.{capability.name}')}**",
            tr(f"launch.capability_{capability.state}"),
            escape_markdown(localize_note(capability.detail), 200),
        )
        st.markdown(f"{_CAPABILITY_ICONS[capability.state]} {' · '.join(filter(None, words))}")


# The block that tells how to repeat a run: command, file, versions and hashes, ready to paste.


def draw_reproduction(
    run: str, settings: Settings, *, benchmark: str = "", metric: str = ""
) -> None:
    """The block of a run, folded; with a benchmark and a metric that of one of its cases."""
    title = tr("reproduce.title", run=escape_markdown(run))
    title = tr("reproduce.title_case") if metric else title
    with st.expander(title, icon=":material/replay:"):
        try:
            recipe = reproduce.build_recipe(settings, run, benchmark, metric)
        except (EvalboardError, OSError) as error:
            st.warning(tr("reproduce.unreadable", reason=escape_markdown(error, 400)))
            return
        if recipe.imported:
            st.info(tr("reproduce.imported"), icon=":material/publish:")
        else:
            _draw_reproduce_command(recipe, cases=recipe.cases if metric else 0)
        _draw_recipe_downloads(recipe, f"{run}.{benchmark}.{metric}")
        _draw_recipe_columns(recipe)
        _draw_recipe_facts(recipe)


def _draw_reproduce_command(recipe: Recipe, *, cases: int) -> None:
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


def _draw_recipe_downloads(recipe: Recipe, key: str) -> None:
    files = {"config": (CONFIG, recipe.config), "spec": ("spec.json", recipe.spec)}
    with st.container(horizontal=True):
        for name, (file, text) in files.items():
            if text:
                widgets.draw_download(
                    tr(f"reproduce.download.{name}"),
                    text,
                    f"{to_plain_line(recipe.run_id)}-{file}",
                    "text/plain",
                    key=f"reproduce.{name}.{key}",
                    help=tr("reproduce.download.help"),
                )


def _draw_recipe_columns(recipe: Recipe) -> None:
    st.markdown(f"**{tr('reproduce.columns')}**")
    columns = recipe.columns
    options = [[f"{name}={value}" for name, value in own.options.items()] for own in columns]
    table = {
        tr("common.benchmark"): [benchmark_title(column.benchmark) for column in columns],
        tr("reproduce.dataset"): [to_plain_line(column.dataset) for column in columns],
        tr("reproduce.hash"): [column.dataset_hash for column in columns],
        tr("reproduce.cases"): [column.samples for column in columns],
        tr("reproduce.prompt_version"): [column.prompt_version for column in columns],
        tr("reproduce.scorer_version"): [column.scorer_version for column in columns],
        tr("reproduce.column"): [column.key for column in columns],
        tr("reproduce.options"): list(map(", ".join, options)),
    }
    tables.draw_grid(table, {}, tr("reproduce.columns_alt"))


def _draw_recipe_facts(recipe: Recipe) -> None:
    """Versions, commit, seed, panel and hardware, as far as the run recorded them."""
    panel = dict.fromkeys(judge for column in recipe.columns for judge in column.judges)
    facts = {
        "versions": " · ".join(f"{name} {value}" for name, value in recipe.versions.items()),
        "commit": _format_commit(recipe.git_commit),
        "seed": str(recipe.seed),
        "epochs": str(recipe.epochs) if recipe.epochs != 1 else "",
        "panel": " · ".join(panel),
        "hardware": _format_hardware(recipe.hardware) if recipe.hardware else "",
    }
    tables.draw_word_table(
        [tr("reproduce.made_with"), " "],
        [(tr(f"reproduce.fact.{name}"), value) for name, value in facts.items() if value],
        tr("reproduce.made_alt"),
    )


def _format_commit(commit: str) -> str:
    """A commit, and whether files differed from it."""
    bare = commit.removesuffix("+")
    return tr("reproduce.fact.commit_dirty", commit=bare) if bare != commit else commit


def _format_hardware(card: ModelCard) -> str:
    """Where a local model ran: device, type of number, memory of its weights, threads."""
    threads = f"{card.threads} threads" if card.threads else ""
    size = wording.format_byte_size(card.memory_bytes)
    return " · ".join(filter(None, [card.device, card.dtype, size, threads]))
