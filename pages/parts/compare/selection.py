"""The compared runs: the field that chooses them, what is read of them, and files to take away."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from functools import partial

import streamlit as st

from evalcore.catalog import suite_cards
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.views import comparison_report, comparison_runs
from evalcore.views.comparison import (
    BenchmarkDetail,
    compare_with_base,
    find_comparable_runs,
    load_lineup_scores,
)
from evalcore.views.comparison_runs import MAX_COMPARED, ComparedRun, Lineup, suggest_runs
from evalcore.views.stored_boards import Headers, memoize_on_headers
from evalcore.views.user_calibration import UserCalibration, calibrate_users
from pages.shared import display_names, page_links, url_state, visitor, widgets
from pages.shared.board_view import benchmark_title, suite_title
from pages.shared.wording import current_language, join_names, to_plain_line, tr

# Which runs are compared: a field that searches all finished runs, and something to begin with.

_LISTED = 1_000  # runs in the field, the newest; a longer list would be sent to every visitor
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


def select_compared_runs(headers: Headers) -> list[str]:
    """The chosen runs, in the order of the URL; one that does not exist may be among them."""
    requested = _read_requested_runs()
    newest = memoize_on_headers(
        headers, "listed", lambda: {header.run_id for header in headers[:_LISTED]}
    )
    missing = set(requested) - newest
    older = [header for header in headers[_LISTED:] if header.run_id in missing] if missing else []
    listed = [*headers[:_LISTED], *older]
    if older:
        titles = _build_run_titles(listed)
    else:
        key = ("titles", display_names.compute_names_version())
        titles = memoize_on_headers(headers, key, lambda: _build_run_titles(listed))
    options = list(dict.fromkeys([*titles, *requested]))
    chosen = url_state.draw_multiselect(
        tr("compare.runs"),
        options,
        key="compare.runs",
        title=lambda run: titles.get(run, run),
        max_selections=MAX_COMPARED,
        placeholder=tr("compare.runs_hint"),
    )
    if len(headers) > len(listed):
        st.caption(tr("compare.older", count=len(headers) - len(listed)))
    return chosen


def _build_run_titles(listed: Headers) -> dict[str, str]:
    """Each run in one line: target, day, benchmarks, id."""
    target_names = display_names.resolve_target_names(
        {header.identity: header.target_key for header in listed}
    )
    measured = {  # a few, each read by many runs
        keys: join_names(_describe_measured(keys))
        for keys in {tuple(header.benchmarks) for header in listed}
    }
    titles = {}
    for header in listed:
        name, day = to_plain_line(target_names[header.identity], 60), header.created_at[:10]
        parts = (name, day, measured[tuple(header.benchmarks)], header.run_id)
        titles[header.run_id] = " · ".join(parts)
    return titles


def _describe_measured(benchmarks: Collection[str]) -> list[str]:
    """What a run measured: a suite by its title where all of it was run, else its benchmarks."""
    whole = {
        suite: members
        for suite, card in suite_cards().items()
        for members in card.memberships[-1:]
        if set(members) <= set(benchmarks)
    }
    rest = [key for key in benchmarks if not any(key in members for members in whole.values())]
    return [*sorted(map(suite_title, whole)), *map(benchmark_title, rest)]


def draw_run_suggestion(headers: Headers, chosen: Sequence[str]) -> None:
    """What to do while there is too little to compare, with a button that does it."""
    text = tr("compare.choose_one" if chosen else "compare.choose")
    with widgets.draw_centred_note(tr("compare.choose_title"), text):
        suggestion = suggest_runs(headers, chosen)
        if suggestion:
            st.button(
                tr("compare.suggest", count=len(suggestion)),
                icon=":material/compare_arrows:",
                on_click=page_links.set_query_param,
                args=("runs", ",".join(suggestion)),
            )
        elif visitor.is_launcher_listed():
            widgets.draw_link(page_links.LAUNCH, tr("runs.new"), "add")


def _read_requested_runs() -> list[str]:
    """The runs of the URL, each once and not too many; the URL is made to say the same."""
    text = st.query_params.get("runs", "")
    run_ids = list(dict.fromkeys(run for run in text.split(",") if _RUN.fullmatch(run)))
    if len(run_ids) > MAX_COMPARED:
        text = tr("compare.too_many", most=MAX_COMPARED, count=len(run_ids))
        st.warning(text, icon=":material/filter_8:")
    page_links.set_query_param("runs", ",".join(run_ids[:MAX_COMPARED]))
    return run_ids[:MAX_COMPARED]


# What the Compare page reads, kept ready as long as the folders of the runs stay as they are.
# All sessions share what is kept: nobody may change it.

_lineups: SingleFlightCache[Lineup] = SingleFlightCache(32)
_details: SingleFlightCache[BenchmarkDetail] = SingleFlightCache(32)
_calibrations: SingleFlightCache[tuple[UserCalibration, ...]] = SingleFlightCache(32)


def load_comparison(settings: Settings, runs: Sequence[str]) -> Lineup:
    """The runs that take part, and those that cannot."""
    key = (tuple(runs), comparison_runs.compute_lineup_signature(settings.run_roots, runs))
    return _lineups.get(key, lambda: comparison_runs.load_lineup(settings.run_roots, tuple(runs)))


def load_comparison_detail(
    settings: Settings, runs: Sequence[str], base: str, benchmark: str, metric: str
) -> BenchmarkDetail:
    """A benchmark on which the base can be measured against someone."""
    signature = comparison_runs.compute_lineup_signature(settings.run_roots, runs)
    return _details.get(
        (tuple(runs), base, benchmark, metric, signature),
        lambda: _compare_benchmark(settings, runs, base, benchmark, metric),
    )


def load_calibrations(
    settings: Settings, runs: Sequence[str], lineup: Lineup, base: ComparedRun
) -> tuple[UserCalibration, ...]:
    """The runs that differ from the base in the simulated user alone."""
    signature = comparison_runs.compute_lineup_signature(settings.run_roots, runs)
    return _calibrations.get(
        (tuple(runs), base.run_id, signature),
        lambda: calibrate_users(settings.run_roots, lineup, base),
    )


def build_comparison_file(
    settings: Settings, runs: Sequence[str], base: str, file_format: str
) -> str:
    """The whole comparison as a file, in a form of `comparison_report`."""
    lineup = load_comparison(settings, runs)
    report = comparison_report.build_comparison_report(settings.run_roots, lineup, base)
    return comparison_report.FORMATS[file_format](report, current_language())


def _compare_benchmark(
    settings: Settings, runs: Sequence[str], base: str, benchmark: str, metric: str
) -> BenchmarkDetail:
    comparison = load_comparison(settings, runs)
    sides = find_comparable_runs(comparison, comparison.find_compared_run(base))
    scores = load_lineup_scores(settings.run_roots, comparison)
    return compare_with_base(scores, benchmark, sides[benchmark], metric)


# What of a comparison can be taken away: files, and the command that says the same.

_FORMS = {"csv": ("text/csv", ":material/csv:"), "md": ("text/markdown", ":material/markdown:")}


def draw_comparison_files(
    settings: Settings, runs: Sequence[str], base: ComparedRun, benchmark: str, metric: str
) -> None:
    """Buttons whose files are made when they are pressed."""
    st.markdown(f"**{tr('compare.export')}**")
    with st.container(horizontal=True):
        for form, (mime, icon) in _FORMS.items():
            make = partial(build_comparison_file, settings, runs, base.run_id, form)
            label = tr(f"compare.file.{form}")
            widgets.draw_download(label, make, f"comparison.{form}", mime, icon=icon)
        widgets.draw_download(
            tr("compare.file.cases"),
            lambda: comparison_report.cases_csv(
                load_comparison_detail(settings, runs, base.run_id, benchmark, metric)
            ),
            f"differing-{benchmark}.csv",
            icon=":material/difference:",
        )
    command = ["evalcore", "compare", *runs, "--base", base.run_id]
    command += ["--benchmark", benchmark] + (["--metric", metric] if metric else [])
    st.code(shlex.join(command), language="bash", wrap_lines=True)
