"""Compare: 2 to 8 runs side by side, all of them measured against one, down to single cases."""

from __future__ import annotations

import streamlit as st

from evalcore import settings
from evalcore.settings import Settings
from evalcore.views import comparison, comparison_runs
from evalcore.views.comparison_runs import ComparedRun, Lineup
from pages.parts.compare import differences, published, selection
from pages.shared import board_view, page_links, published_source, url_state, widgets
from pages.shared.board_view import benchmark_title, metric_title
from pages.shared.published_source import PUBLISHED
from pages.shared.wording import escape_markdown, tr

_LOADING = 180  # pixels, of the table that comes


def draw_compare_page() -> None:
    """Choose the runs, then show what may be said of them together."""
    current = settings.load_settings()
    st.title(tr("compare.title"), anchor=False)
    finished = board_view.require_finished_headers(current)
    controls = published_source.open_controls("compare")
    with controls:
        is_published = published_source.select_source(current, finished, "compare") == PUBLISHED
    if is_published:
        published.draw_published_comparison(current, controls)
        return
    headers = board_view.require_scored_headers(current, "compare.empty")
    st.caption(tr("compare.about"))
    runs = selection.select_compared_runs(headers)
    with st.skeleton(height=_LOADING):
        compared_runs = selection.load_comparison(current, runs)
    for run in compared_runs.excluded:
        message = tr(
            f"compare.absent.{run.kind}",
            run=escape_markdown(run.run_id),
            reason=escape_markdown(run.reason),
        )
        st.warning(message, icon=":material/report:")
        if run.kind == "missing":
            alike = comparison_runs.find_alike_run(run.run_id, current.run_roots)
            renamed = [alike if name == run.run_id else name for name in runs]
            query = page_links.build_compare_query(renamed)
            widgets.draw_alike_run(page_links.COMPARE, alike, **query)
    if len(compared_runs.compared) < comparison_runs.MIN_COMPARED:
        selection.draw_run_suggestion(headers, [run.run_id for run in compared_runs.compared])
        return
    differences.draw_score_table(compared_runs)
    _draw_against_base(current, runs, compared_runs)


def _draw_against_base(current: Settings, runs: list[str], compared_runs: Lineup) -> None:
    """Everything that needs a run to measure the others against."""
    runs_by_id = {compared_run.run_id: compared_run for compared_run in compared_runs.compared}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        base_id = url_state.draw_select(
            tr("compare.base"),
            list(runs_by_id),
            key="compare.base",
            title=lambda run: differences.format_run_label(runs_by_id[run]),
            help=tr("compare.base_help"),
            width=300,
        )
        base = runs_by_id[base_id]
        sides = comparison.find_comparable_runs(compared_runs, base)
        if sides:
            benchmark, metric = _pick_compared_metric(compared_runs, list(sides))
    calibrations = selection.load_calibrations(current, runs, compared_runs, base)
    differences.draw_incompatibilities(compared_runs, base, calibrations)
    differences.draw_calibrations(calibrations)
    if not sides:
        if not calibrations:
            st.warning(tr("compare.nothing", base=base.letter), icon=":material/rule:")
        return
    _draw_pair_detail(current, runs, base, sides[benchmark], benchmark, metric)
    selection.draw_comparison_files(current, runs, base, benchmark, metric)


def _draw_pair_detail(
    current: Settings,
    runs: list[str],
    base: ComparedRun,
    sides: list[ComparedRun],
    benchmark: str,
    metric: str,
) -> None:
    with st.skeleton(height=_LOADING):
        detail = selection.load_comparison_detail(current, runs, base.run_id, benchmark, metric)
    title = metric_title(benchmark, metric) if metric else benchmark_title(benchmark)
    text = tr("compare.against", title=escape_markdown(title), base=base.letter)
    st.subheader(text, anchor=False)
    differences.draw_pair_table(detail, base, sides)
    shown = sorted(sides, key=lambda side: side.letter)
    differences.draw_compared_metrics(benchmark, shown)
    differences.draw_differing_cases(detail, shown)


def _pick_compared_metric(compared_runs: Lineup, benchmarks: list[str]) -> tuple[str, str]:
    """A benchmark and one of its metrics, "" for all of them."""
    benchmark = board_view.select_benchmark(benchmarks, "compare.benchmark", width=240)
    metrics = ["", *comparison.list_lineup_metrics(compared_runs, benchmark)]
    return benchmark, board_view.select_metric(benchmark, metrics, "compare.metric", width=240)


draw_compare_page()
