"""Whether this host can run programs, said before a benchmark is started that runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from evalcore.catalog import benchmark_cards, localize_text
from evalcore.errors import EvalboardError
from evalcore.i18n import lookup_text
from evalcore.runner import client
from evalcore.runner.client import SandboxAbility
from evalcore.settings import Settings
from pages.components.language import Translate, current_language, localize_note
from pages.components.launch_rules import LaunchProblem
from pages.components.text import escape_markdown

BenchmarkOptions = Mapping[str, Mapping[str, Any]]
#: Benchmarks whose target works with programs under some values of an option: refused without.
_AGENTS = {
    "gaia": ("tool_mode", frozenset({"local", "web"})),
    "swe_bench": ("prompt_style", frozenset({"agent"})),
}
#: Benchmarks that run programs to score, unless an option leaves that to others.
_SCORING = {"swe_bench": "full_eval"}
#: Options of which something is said beside the form, by benchmark.
_REMARKED = (("gaia", "tool_mode"), ("swe_bench", "full_eval"))
_PROBE_TTL = 300  # seconds
_UNSURE = ":material/gpp_maybe:"
_PROTECTIONS = (
    *("network", "files", "environment", "processes", "rights", "system_calls"),
    *("memory", "cpu", "file_size", "process_count"),
)


def draw_sandbox_status(
    benchmarks: Sequence[str], options: BenchmarkOptions, settings: Settings, tr: Translate
) -> None:
    """What is to be known of the chosen options; then what holds here, or what is missing and what
    helps, where programs are run."""
    for key, name in _REMARKED:
        if key in benchmarks:
            code = str(_resolve_option_value(key, name, options)).lower()
            if message := lookup_text(f"launch.remark.{key}.{name}.{code}", current_language()):
                st.caption(f":material/info: {message}")
    running = [key for key in benchmarks if _runs_programs(key, options)]
    if not running:
        return
    with st.spinner(tr("launch.sandbox_busy")):
        ability = _probe_sandbox(settings)
    if isinstance(ability, str):
        st.warning(
            tr("launch.sandbox_unknown", problem=escape_markdown(ability, 400)), icon=_UNSURE
        )
    elif ability.means:
        _draw_protections(ability, tr)
    else:
        message = escape_markdown(localize_note(f"{ability.problem} {ability.fix}"), 600)
        names = ", ".join(
            localize_text(benchmark_cards()[key].title, current_language()) for key in running
        )
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
    titles = [
        localize_text(benchmark_cards()[key].title, current_language()) or key for key in needing
    ]
    return [
        LaunchProblem(key="launch.problem.sandbox", values={"benchmark": name}) for name in titles
    ]


def _draw_protections(ability: SandboxAbility, tr: Translate) -> None:
    st.success(
        tr("launch.sandbox_yes", means=escape_markdown(ability.means)), icon=":material/shield:"
    )
    enforced = [name for name in _PROTECTIONS if name in ability.enforced]
    lacking = [name for name in _PROTECTIONS if name not in ability.enforced]
    st.caption(tr("launch.sandbox_holds", names=_format_protections(enforced)))
    if lacking:
        st.caption(tr("launch.sandbox_lacks", names=_format_protections(lacking)))


def _format_protections(protections: Sequence[str]) -> str:
    return ", ".join(
        lookup_text(f"launch.protection.{name}", current_language()) or name for name in protections
    )


def _needs_sandbox(key: str, options: BenchmarkOptions) -> bool:
    """Whether a benchmark is refused where programs cannot be run."""
    name, values = _AGENTS.get(key, ("", frozenset()))
    return _resolve_option_value(key, name, options) in values


def _runs_programs(key: str, options: BenchmarkOptions) -> bool:
    """Whether programs would be run here, by the target or to score it."""
    scoring = key in _SCORING and not _resolve_option_value(key, _SCORING[key], options)
    return scoring or _needs_sandbox(key, options)


def _resolve_option_value(key: str, name: str, options: BenchmarkOptions) -> Any:
    """The value of an option, its default where it was left there."""
    defaults = {option.name: option.default for option in benchmark_cards()[key].options}
    return options.get(key, {}).get(name, defaults.get(name))


@st.cache_data(ttl=_PROBE_TTL, max_entries=1, show_spinner=False)
def _probe_sandbox(_settings: Settings) -> SandboxAbility | str:
    """What a probe in a process of its own saw, or why there is no answer."""
    try:
        return client.sandbox_ability(_settings)
    except EvalboardError as error:
        return str(error)
