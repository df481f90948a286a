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
from pages.components.language import Translate, current, note
from pages.components.launch_rules import Problem
from pages.components.text import escape

Options = Mapping[str, Mapping[str, Any]]
#: Benchmarks whose target works with programs under some values of an option: refused without.
_AGENTS = {
    "gaia": ("tool_mode", frozenset({"local", "web"})),
    "swe_bench": ("prompt_style", frozenset({"agent"})),
}
#: Benchmarks that run programs to score, unless an option leaves that to others.
_SCORING = {"swe_bench": "full_eval"}
#: Options of which something is said beside the form, by benchmark.
_REMARKED = (("gaia", "tool_mode"), ("swe_bench", "full_eval"))
_KEPT = 300  # seconds
_UNSURE = ":material/gpp_maybe:"
_PROTECTIONS = (
    *("network", "files", "environment", "processes", "rights", "system_calls"),
    *("memory", "cpu", "file_size", "process_count"),
)


def draw(benchmarks: Sequence[str], options: Options, settings: Settings, tr: Translate) -> None:
    """What is to be known of the chosen options; then what holds here, or what is missing and what
    helps, where programs are run."""
    for key, name in _REMARKED:
        if key in benchmarks:
            code = str(_value(key, name, options)).lower()
            if told := lookup_text(f"launch.remark.{key}.{name}.{code}", current()):
                st.caption(f":material/info: {told}")
    running = [key for key in benchmarks if _runs(key, options)]
    if not running:
        return
    with st.spinner(tr("launch.sandbox_busy")):
        found = _look(settings)
    if isinstance(found, str):
        st.warning(tr("launch.sandbox_unknown", problem=escape(found, 400)), icon=_UNSURE)
    elif found.means:
        _can(found, tr)
    else:
        told = escape(note(f"{found.problem} {found.fix}"), 600)
        names = ", ".join(localize_text(benchmark_cards()[key].title, current()) for key in running)
        st.warning(tr("launch.sandbox_no", problem=told), icon=_UNSURE)
        st.caption(tr("launch.sandbox_needed", benchmark=escape(names)))


def problems(benchmarks: Sequence[str], options: Options, settings: Settings) -> list[Problem]:
    """Benchmarks that would be refused here, because their agent could run nothing."""
    needing = [key for key in benchmarks if _needs(key, options)]
    if not needing:
        return []
    found = _look(settings)
    if isinstance(found, str) or found.means:
        return []
    titles = [localize_text(benchmark_cards()[key].title, current()) or key for key in needing]
    return [Problem(key="launch.problem.sandbox", values={"benchmark": name}) for name in titles]


def _can(found: SandboxAbility, tr: Translate) -> None:
    st.success(tr("launch.sandbox_yes", means=escape(found.means)), icon=":material/shield:")
    held = [name for name in _PROTECTIONS if name in found.enforced]
    lacking = [name for name in _PROTECTIONS if name not in found.enforced]
    st.caption(tr("launch.sandbox_holds", names=_named(held)))
    if lacking:
        st.caption(tr("launch.sandbox_lacks", names=_named(lacking)))


def _named(protections: Sequence[str]) -> str:
    return ", ".join(
        lookup_text(f"launch.protection.{name}", current()) or name for name in protections
    )


def _needs(key: str, options: Options) -> bool:
    """Whether a benchmark is refused where programs cannot be run."""
    name, values = _AGENTS.get(key, ("", frozenset()))
    return _value(key, name, options) in values


def _runs(key: str, options: Options) -> bool:
    """Whether programs would be run here, by the target or to score it."""
    scoring = key in _SCORING and not _value(key, _SCORING[key], options)
    return scoring or _needs(key, options)


def _value(key: str, name: str, options: Options) -> Any:
    """The value of an option, its default where it was left there."""
    usual = {option.name: option.default for option in benchmark_cards()[key].options}
    return options.get(key, {}).get(name, usual.get(name))


@st.cache_data(ttl=_KEPT, max_entries=1, show_spinner=False)
def _look(_settings: Settings) -> SandboxAbility | str:
    """What a probe in a process of its own saw, or why there is no answer."""
    try:
        return client.sandbox_ability(_settings)
    except EvalboardError as error:
        return str(error)
