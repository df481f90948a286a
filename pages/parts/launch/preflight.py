"""What is known before a run is started: problems of the request, and what a local model needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from evalcore import catalog
from evalcore.access import policy
from evalcore.access.policy import Visitor
from evalcore.catalog import TargetKindCard
from evalcore.errors import UsageError
from evalcore.i18n import t
from evalcore.records import Record
from evalcore.runner import client
from evalcore.runner.local_models import ModelInspection
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from pages.shared import url_state, visitor, wording
from pages.shared.widgets import draw_field
from pages.shared.wording import current_language, escape_markdown, look_up, to_plain_line, tr


class LaunchProblem(Record, frozen=True):
    """A text of the catalogue and its values."""

    key: str
    values: dict[str, str] = {}


def find_request_problems(
    request: RunRequest,
    missing_keys: Sequence[str],
    metrics: Mapping[str, Sequence[str]],
    datasets: Path,
    *,
    own_dataset: bool = False,
    added_names: Sequence[str] = (),
) -> list[LaunchProblem]:
    """Everything that would stop the run.

    `metrics` are those chosen, by benchmark; `datasets` is the folder whose entries are datasets by
    name, `added_names` the names of those that were added here; `own_dataset` says that the bundled
    cases are not wanted.
    """
    problems = find_target_problems(request.target, request.target_options)
    if not request.benchmarks:
        problems.append(LaunchProblem(key="launch.problem.benchmark"))
    problems += [
        LaunchProblem(key="launch.problem.metric", values={"benchmark": key})
        for key in request.benchmarks
        if not metrics.get(key)
    ]
    problems += _find_judge_problems(request)
    name = request.dataset
    if own_dataset and not name:
        problems.append(LaunchProblem(key="launch.problem.dataset_empty"))
    elif name and name not in added_names and not _has_dataset(name, datasets):
        problems.append(LaunchProblem(key="launch.problem.dataset", values={"path": name}))
    missing = "launch.problem.key"
    return problems + [LaunchProblem(key=missing, values={"name": key}) for key in missing_keys]


def find_target_problems(target: str, options: Mapping[str, Any]) -> list[LaunchProblem]:
    """What is wrong with the name and the address of a target."""
    name, chooser = target.partition(":")[2], catalog.find_chooser(target)
    problems = []
    if not name.strip() or (name.endswith("/") and chooser != "local_model"):
        noun = "model" if chooser in ("server", "local_model") else "target"
        problems.append(LaunchProblem(key=f"launch.problem.{noun}"))
    if "base_url" in options and not _is_http_url(str(options["base_url"])):
        # not repeated: a key may stand in it
        problems.append(LaunchProblem(key="launch.problem.address"))
    return problems


def _find_judge_problems(request: RunRequest) -> list[LaunchProblem]:
    try:
        client.check_judges(request.judges)
    except UsageError as error:
        return [LaunchProblem(key="launch.problem.judge", values={"problem": str(error)})]
    return []


def _is_http_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _has_dataset(name: str, datasets: Path) -> bool:
    try:
        return Path(name).exists() or (datasets / name).exists()
    except (OSError, ValueError):  # too long, or with a null in it
        return False


# The part of the launch form that names a model of this machine, and what is known of it before
# it is loaded. Nothing heavy: only JSON and headers of weights are read, by the runner's client.

#: Options with a widget of their own.
OWN_FIELDS = ("device", "dtype", "adapter", "batch_size", "trust_remote_code", "allow_pickle")
_TIGHT = 0.85  # of the free memory: more than that leaves little for long prompts


def draw_local_model(
    card: TargetKindCard, slot: str, first: str = ""
) -> tuple[str, dict[str, Any]]:
    """Draw model, adapter, precision, device and trust; returns the key and the options given.
    `first` is the model to begin with, empty for none."""
    machine, visitor_settings = client.local_machine(), visitor.load_visitor_settings()
    adapter, trust = "", {}
    if policy.is_restricted(visitor_settings):
        look = {"key": f"{slot}.target.{card.prefix}.listed", "help": tr("access.listed_models")}
        models = visitor_settings.allow_models
        reference = str(draw_field(st.selectbox, "local.model", models, **look) or "")
    else:
        reference = _select_local_model(card, machine.models, slot, first)
        look = {"placeholder": tr("launch.local.adapter_placeholder")}
        key = f"{slot}.local.adapter"
        adapter = draw_field(st.text_input, "local.adapter", key=key, **look).strip()
        trust = _draw_trust_toggles(slot)
    columns = st.columns(3)
    with columns[0]:
        dtype = _select_local_option("dtype", machine.dtypes, slot)
    with columns[1]:
        device = _select_local_option("device", machine.devices, slot)
    with columns[2]:
        key, look = f"{slot}.local.batch_size", {"min_value": 0, "value": 0}
        batch = draw_field(st.number_input, "local.batch_size", key=key, **look)
    option_values: dict[str, Any] = {"adapter": adapter, "batch_size": batch, **trust}
    option_values |= {"dtype": dtype, "device": device}
    return f"{card.prefix}:{reference}", {
        name: value for name, value in option_values.items() if value not in ("", 0, False, "auto")
    }


def _select_local_model(
    card: TargetKindCard, cached: Mapping[str, int], slot: str, first: str
) -> str:
    """A model of the local cache, or a folder or id that is typed."""
    name = f"{slot}.target.{card.prefix}"
    previous = str(st.session_state.get(name) or "")  # what was typed stays among the choices
    choices = list(dict.fromkeys(filter(None, [first, previous.strip(), *cached])))

    def format_model_option(reference: str) -> str:
        size = cached.get(reference)
        name = to_plain_line(reference, 120)
        return name if size is None else f"{name} · {wording.format_byte_size(size)}"

    typed = draw_field(
        st.selectbox,
        "local.model",
        choices,
        index=0 if first else None,
        format_func=format_model_option,
        accept_new_options=True,
        placeholder=tr("launch.local.model_placeholder"),
        key=name,
        help=tr("launch.local.model_help", form=card.form),
    )
    if not cached and not typed:
        st.caption(tr("launch.local.no_cache"))
    return str(typed or "").strip().removeprefix(f"{card.prefix}:")


def _select_local_option(name: str, values: tuple[str, ...], slot: str) -> str:
    titles = url_state.hold_titles(["auto"], lambda value: tr("launch.local.auto"))
    key = f"{slot}.local.{name}"
    return str(draw_field(st.selectbox, f"local.{name}", values, key=key, format_func=titles))


def _draw_trust_toggles(slot: str) -> dict[str, bool]:
    """What lets a model's files run code, each off and said to be dangerous."""
    with st.expander(tr("launch.local.trust"), icon=":material/shield:"):
        st.caption(tr("launch.local.trust_about"))
        trusted = {
            name: draw_field(st.toggle, f"local.{name}", key=f"{slot}.local.{name}", help=None)
            for name in ("trust_remote_code", "allow_pickle")
        }
        if any(trusted.values()):
            st.warning(tr("launch.local.trusted"), icon=":material/gpp_maybe:")
    return trusted


def _inspect_for_visitor(target: str, options: Mapping[str, Any]) -> ModelInspection:
    visitor_settings, acting_visitor = visitor.load_visitor_settings(), visitor.current_visitor()
    return _load_cached_inspection(
        target, options, visitor_settings.access, visitor_settings, acting_visitor
    )


@st.cache_data(ttl=2, max_entries=32, show_spinner=False)
def _load_cached_inspection(
    target: str, options: Mapping[str, Any], mode: str, _settings: Settings, _visitor: Visitor
) -> ModelInspection:
    """Once for the several who ask while the page is drawn: a large model has many headers."""
    return client.inspect_model(target, options, _settings, visitor=_visitor)


def draw_model_facts(target: str, options: Mapping[str, Any]) -> None:
    """What the folder says of the model and whether it fits; a problem is said beside the form."""
    if target.endswith(":"):
        return
    inspection = _inspect_for_visitor(target, options)
    if inspection.where == "download":
        st.info(tr("launch.local.download"), icon=":material/download:")
    if inspection.about is None:
        return
    with st.container(border=True, gap="small"):
        st.caption(escape_markdown(_format_model_facts(inspection), 400))
        _draw_memory_fit(inspection, str(options.get("dtype", "auto")))
        for text_key, icon in _list_model_remarks(inspection, options):
            st.caption(f"{icon} {tr(text_key, base=escape_markdown(inspection.adapter_base, 120))}")


def _format_model_facts(inspection: ModelInspection) -> str:
    """Architecture, size, precision and context in one line."""
    about = inspection.about
    assert about is not None  # noqa: S101 - the caller looked
    parts = [about.architecture or about.model_type]
    if about.parameters:
        parameters = wording.format_compact_count(about.parameters)
        parts.append(tr("launch.local.parameters", count=parameters))
    dtype, size = about.quantised or about.dtype or "?", wording.format_byte_size(about.size)
    parts.append(tr("launch.local.stored", dtype=dtype, size=size))
    if inspection.context:
        parts.append(tr("launch.local.context", count=f"{inspection.context:,}"))
    return " · ".join(filter(None, parts))


def _draw_memory_fit(inspection: ModelInspection, dtype: str) -> None:
    """Needed against free memory, in words and as a bar."""
    if inspection.available is None:
        return
    values = {
        "needed": wording.format_byte_size(inspection.needed),
        "free": wording.format_byte_size(inspection.available),
        "device": escape_markdown(inspection.device),
    }
    share = inspection.needed / inspection.available if inspection.available else 2.0
    fit = "no" if share > 1 else "tight" if share > _TIGHT else "yes"
    verdict = tr(f"launch.local.fits.{fit}")
    st.progress(min(1.0, share), text=tr("launch.local.memory", **values))
    if fit == "yes":
        st.caption(f":material/check: {verdict}")
    else:
        st.warning(verdict, icon=":material/memory:")
    if dtype in ("int8", "int4"):
        st.caption(tr("launch.local.quantising"))


def _list_model_remarks(
    inspection: ModelInspection, options: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Text keys with their icons: chat template, tools, tokenizer, code beside the weights."""
    remarks = []
    if not inspection.tokenizer:
        remarks.append(("launch.local.no_tokenizer", ":material/warning:"))
    if inspection.tools:
        remarks.append(("launch.local.tools", ":material/build:"))
    elif inspection.template:
        remarks.append(("launch.local.no_tools", ":material/chat:"))
    else:
        remarks.append(("launch.local.no_template", ":material/warning:"))
    if inspection.own_code and not options.get("trust_remote_code"):
        remarks.append(("launch.local.own_code", ":material/code:"))
    if inspection.adapter_base:
        remarks.append(("launch.local.adapter_base", ":material/extension:"))
    return remarks


def find_model_problems(target: str, options: Mapping[str, Any]) -> list[LaunchProblem]:
    """What would stop a run on a local model; nothing for targets of other kinds. The cause is said
    in the reader's language, then in the words of the loader, which name files."""
    if catalog.find_chooser(target) != "local_model" or target.endswith(":"):
        return []
    inspection = _inspect_for_visitor(target, options)
    if not inspection.problem:
        return []
    language = current_language()
    title = look_up(f"launch.local.problem.{inspection.kind}")
    values = {"title": title or t("launch.local.problem", language), "problem": inspection.problem}
    return [LaunchProblem(key="launch.problem.local", values=values)]
