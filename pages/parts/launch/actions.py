"""The end of the launch form: what the run would be, whether this host can run it, start, test,
estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from evalcore import settings
from evalcore.access import policy
from evalcore.catalog import benchmark_cards, find_benchmark_text, runs_models_here
from evalcore.errors import EvalboardError
from evalcore.records import Record, TargetSpec
from evalcore.runner import client
from evalcore.runner.client import SandboxSupport, Variant
from evalcore.runner.run_request import ConnectionReport, Estimate, RunRequest
from evalcore.settings import Settings
from pages.parts.launch.preflight import LaunchProblem
from pages.parts.launch.target_form import ChosenTarget, SweepChoice
from pages.shared import display_names, page_links, run_facts, visitor, widgets, wording
from pages.shared.wording import (
    current_language,
    escape_markdown,
    format_fact,
    localize,
    localize_note,
    look_up,
    to_plain_line,
    tr,
)

# What came of "test connection" and "estimate", kept while the form still says the same.

R = TypeVar("R", bound=Record)
_SLOT = "launch.result."


def store_launch_result(kind: str, subject: Record, compute: Callable[[], R]) -> None:
    """Ask, with a sign of life, and keep the answer or the error under what it is about."""
    with st.spinner(tr(f"launch.{kind}_busy")):
        try:
            result: R | str = compute()
        except EvalboardError as error:
            result = localize_note(str(error))
    st.session_state[_SLOT + kind] = (subject, result)


def draw_launch_result(kind: str, subject: Record, heading: str = "") -> None:
    """Draw the kept answer, unless the form has changed since; `heading` tells several apart."""
    stored = st.session_state.get(_SLOT + kind)
    if stored is None or stored[0] != subject:
        return
    if heading:
        st.caption(escape_markdown(heading, 120))
    result = stored[1]
    if isinstance(result, str):
        st.error(escape_markdown(result, 600), icon=":material/error:")
    elif isinstance(result, ConnectionReport):
        _draw_connection_report(result)
    elif isinstance(result, Estimate):
        _draw_run_estimate(result)


def _has_connection_failed(request: RunRequest, second: ChosenTarget | None) -> bool:
    """Whether the last test of one of the targets, as the form has them now, failed."""
    first = TargetSpec(key=request.target, options=request.target_options)
    other = TargetSpec(key=second.key, options=second.options) if second else None
    for slot, subject in (("connection", first), ("connection_second", other)):
        tested, result = st.session_state.get(_SLOT + slot) or (None, None)
        if subject and tested == subject and (isinstance(result, str) or not result.ok):
            return True
    return False


def _draw_connection_report(report: ConnectionReport) -> None:
    if not report.ok:
        failure = escape_markdown(localize_note(report.message), 600)
        st.error(failure, icon=":material/link_off:")
        run_facts.draw_capabilities(report)
        return
    message = tr("launch.answers")
    if report.latency is not None:
        message = tr("launch.connected", latency=wording.format_duration(report.latency))
    st.success(message, icon=":material/check_circle:")
    if report.latency is None and report.message:
        st.caption(escape_markdown(localize_note(report.message), 300))
    if report.model:
        st.caption(tr("launch.connected_model", model=escape_markdown(report.model)))
    if report.reply:
        st.code(report.reply[:400], language=None, wrap_lines=True)
    run_facts.draw_capabilities(report)


def _draw_run_estimate(estimate: Estimate) -> None:
    cells = (
        ("launch.estimate.samples", wording.format_count(estimate.samples)),
        ("launch.estimate.requests", wording.format_count(estimate.requests)),
        ("common.input_tokens", wording.format_count(estimate.input_tokens)),
        ("common.output_tokens", wording.format_count(estimate.output_tokens)),
        ("launch.estimate.seconds", wording.format_duration(estimate.seconds)),
        ("launch.estimate.cost", wording.format_money(estimate.cost)),
    )
    columns = st.columns(2)
    for number, (key, value) in enumerate(cells):
        columns[number % 2].metric(tr(key), value)
    for text in estimate.notes:
        st.caption(escape_markdown(localize_note(text), 300))


def draw_sweep_variants(
    request: RunRequest, sweep: SweepChoice, settings: Settings
) -> tuple[Variant, ...]:
    """The variants of a sweep and their names, none where the choice is no sweep yet."""
    try:
        variants = client.list_sweep_variants(
            request, *sweep, settings, visitor=visitor.current_visitor()
        )
    except EvalboardError as error:
        st.warning(escape_markdown(localize_note(str(error)), 400), icon=":material/edit:")
        return ()
    names = escape_markdown(", ".join(variant.label for variant in variants), 600)
    st.caption(tr("launch.sweep_runs", count=len(variants), names=names))
    return variants


def draw_launch_actions(
    request: RunRequest,
    second: ChosenTarget | None,
    settings: Settings,
    *,
    blocked: bool,
    variants: Sequence[Variant] | None = None,
) -> None:
    """Start, test and estimate; a result stays as long as it belongs to what the form says."""
    first = TargetSpec(key=request.target, options=request.target_options)
    other = TargetSpec(key=second.key, options=second.options) if second else None
    if _draw_launch_button("start", blocked, type="primary", icon=":material/play_arrow:"):
        _launch_and_open(request, other, settings, variants)
    is_requested = _draw_launch_button("connection", blocked, icon=":material/network_check:")
    for slot, target in (("connection", first), ("connection_second", other)):
        if target is None:
            continue
        if is_requested:
            store_launch_result(slot, target, partial(_test_target_connection, target, settings))
        draw_launch_result(slot, target, heading=target.identity if other else "")
    if _draw_launch_button("estimate", blocked, icon=":material/calculate:"):
        asks = visitor.current_visitor()
        estimate = partial(client.estimate_run, request, settings, visitor=asks)
        store_launch_result("estimate", request, estimate)
    draw_launch_result("estimate", request)


def _draw_launch_button(name: str, blocked: bool, **button_options: Any) -> bool:
    return st.button(
        tr(f"launch.{name}"),
        key=f"launch.do.{name}",
        disabled=blocked,
        width="stretch",
        **button_options,
    )


def _test_target_connection(target: TargetSpec, settings: Settings) -> ConnectionReport:
    acting_visitor = visitor.current_visitor()
    return client.test_connection(
        target.key, target.options, visitor.collect_typed_keys(), settings, visitor=acting_visitor
    )


def _launch_and_open(
    request: RunRequest,
    second: TargetSpec | None,
    settings: Settings,
    variants: Sequence[Variant] | None,
) -> None:
    """Start the run and go to watch it; an error of the request is shown where it was made."""
    keys, asks = visitor.collect_typed_keys(), visitor.current_visitor()
    with widgets.show_errors(limit=600):
        with st.spinner(tr("launch.start_busy")):
            if variants:
                sweep = client.launch_sweep(request, variants, keys, settings, visitor=asks)
                run = sweep.variants[0].run_id
            elif second is None:
                run = client.launch_run(request, keys, settings, visitor=asks)
            else:
                run, _ = client.launch_pair(request, second, keys, settings, visitor=asks)
        st.switch_page(page_links.RUNS, query_params={"run": run})


# What a run would be, in a few lines, and what stands in its way.


def draw_launch_summary(
    request: RunRequest, second: ChosenTarget | None, problems: Sequence[LaunchProblem]
) -> None:
    """What would happen, or what stands in its way: problems, or a connection that failed."""
    is_ready = not problems and not _has_connection_failed(request, second)
    st.subheader(tr("launch.ready" if is_ready else "launch.not_ready"), anchor=False)
    _draw_request_summary(request, second)
    for problem in problems:
        values = {name: escape_markdown(value, 400) for name, value in problem.values.items()}
        st.warning(tr(problem.key, **values), icon=":material/edit:")


def _draw_request_summary(request: RunRequest, second: ChosenTarget | None) -> None:
    _draw_target_name(request.target, request.target_options)
    if second:
        st.caption(tr("launch.versus"))
        _draw_target_name(second.key, second.options)
        both_local = all(runs_models_here(key) for key in (request.target, second.key))
        st.caption(tr("launch.in_turn" if both_local else "launch.at_once"))
    limit = request.max_samples
    amount = tr("launch.summary_all" if limit is None else "launch.summary_some", count=limit)
    epochs = tr("launch.summary_epochs", count=request.epochs) if request.epochs > 1 else ""
    st.caption(amount + epochs)
    if limit is not None or request.metrics:
        st.caption(tr("launch.subset_note"))


def _draw_target_name(key: str, options: Mapping[str, Any]) -> None:
    """A target with the options that tell it apart; nothing until there is a name."""
    if key.endswith((":", "/")):
        return
    display_name = display_names.resolve_target_name(key, key)
    st.text(to_plain_line(key if display_name == key else f"{display_name} · {key}", 200))
    if options:
        texts = [format_fact(look_up(f"launch.{n}") or n, value) for n, value in options.items()]
        st.caption(escape_markdown(" · ".join(texts), 300))


# Whether this host can run programs, said before a benchmark is started that runs them.

BenchmarkOptions = Mapping[str, Mapping[str, Any]]
_PROBE_TTL = 300  # seconds
_UNSURE = ":material/gpp_maybe:"
_PROTECTIONS = (
    *("network", "files", "environment", "processes", "rights", "system_calls"),
    *("memory", "cpu", "file_size", "process_count"),
)


def draw_sandbox_status(
    benchmarks: Sequence[str], options: BenchmarkOptions, settings: Settings
) -> None:
    """What is to be known of the chosen options; then what holds here, or what is missing and what
    helps, where programs are run."""
    for key in benchmarks:
        for option in benchmark_cards()[key].options:
            code = str(_resolve_option_value(key, option.name, options)).lower()
            name = f"remark.{option.name}.{code}"
            if message := find_benchmark_text(key, name, current_language()):
                st.caption(f":material/info: {message}")
    running = [key for key in benchmarks if _runs_programs(key, options)]
    if not running:
        return
    with st.spinner(tr("launch.sandbox_busy")):
        ability = _probe_sandbox(settings)
    if isinstance(ability, str):
        problem = escape_markdown(ability, 400)
        st.warning(tr("launch.sandbox_unknown", problem=problem), icon=_UNSURE)
    elif ability.means:
        _draw_protections(ability)
    else:
        message = escape_markdown(localize_note(ability.explanation), 600)
        names = ", ".join(localize(benchmark_cards()[key].title) for key in running)
        st.warning(tr("launch.sandbox_no", problem=message), icon=_UNSURE)
        st.caption(tr("launch.sandbox_needed", benchmark=escape_markdown(names)))


def find_sandbox_problems(
    benchmarks: Sequence[str], options: BenchmarkOptions, settings: Settings
) -> list[LaunchProblem]:
    """Benchmarks that would be refused here, because their agent could run nothing."""
    needing = [key for key in benchmarks if _needs_sandbox(key, options)]
    if not needing:
        return []
    ability = _probe_sandbox(settings)
    if isinstance(ability, str) or ability.means:
        return []
    titles = [localize(benchmark_cards()[key].title) or key for key in needing]
    problem = "launch.problem.sandbox"
    return [LaunchProblem(key=problem, values={"benchmark": title}) for title in titles]


def _draw_protections(ability: SandboxSupport) -> None:
    text = tr("launch.sandbox_yes", means=escape_markdown(ability.means))
    st.success(text, icon=":material/shield:")
    for key, enforced in (("launch.sandbox_holds", True), ("launch.sandbox_lacks", False)):
        names = [name for name in _PROTECTIONS if (name in ability.enforced) is enforced]
        words = [look_up(f"launch.protection.{name}") or name for name in names]
        if words or enforced:
            st.caption(tr(key, names=", ".join(words)))


def _needs_sandbox(key: str, options: BenchmarkOptions) -> bool:
    """Whether a benchmark is refused where programs cannot be run."""
    needing = benchmark_cards()[key].agent_options.items()
    return any(_resolve_option_value(key, name, options) in values for name, values in needing)


def _runs_programs(key: str, options: BenchmarkOptions) -> bool:
    """Whether programs would be run here, by the target or to score it."""
    others_execute = benchmark_cards()[key].executes_unless
    scoring = others_execute and not _resolve_option_value(key, others_execute, options)
    return bool(scoring) or _needs_sandbox(key, options)


def _resolve_option_value(key: str, name: str, options: BenchmarkOptions) -> Any:
    """The value of an option, its default where it was left there."""
    defaults = {option.name: option.default for option in benchmark_cards()[key].options}
    return options.get(key, {}).get(name, defaults.get(name))


@st.cache_data(ttl=_PROBE_TTL, max_entries=1, show_spinner=False)
def _probe_sandbox(_settings: Settings) -> SandboxSupport | str:
    """What a probe in a process of its own saw, or why there is no answer."""
    try:
        return client.sandbox_ability(_settings)
    except EvalboardError as error:
        return str(error)


# What the Launch page says to those who may not launch: why, and how it can be had.


def draw_launch_refused(reason: str) -> None:
    """A friendly end of the page, with a way on."""
    mode = policy.resolve_access_mode(settings.load_settings(), visitor.current_visitor())
    with st.container(border=True, gap="small"):
        st.markdown(f"#### :material/lock: {tr('access.closed')}")
        reason_place = st.container()
        if not visitor.draw_sign_in_here():
            reason_place.markdown(escape_markdown(reason[:1].upper() + reason[1:], 400))
        st.caption(tr(f"access.how.{mode}"))
        with st.container(horizontal=True):
            widgets.draw_link(page_links.RANKING, tr("access.board"), "leaderboard")
            widgets.draw_link(page_links.RUNS, tr("common.nav.runs"), "monitoring")
