"""The part of the launch form that names the target: kind, server, model, options, and a second
target."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import streamlit as st

from evalcore import catalog
from evalcore.access import policy
from evalcore.catalog import ApplicationCard, OptionCard, TargetKindCard
from evalcore.errors import EvalboardError
from evalcore.runner import client
from evalcore.runner.client import ServedModel
from evalcore.settings import Endpoint, Settings
from pages.parts.launch import preflight
from pages.parts.launch.preflight import LaunchProblem
from pages.shared import display_names, url_state, visitor, wording
from pages.shared.widgets import draw_field
from pages.shared.wording import escape_markdown, localize, localize_note, to_plain_line, tr


def draw_application_choice(kind: TargetKindCard, settings: Settings, slot: str = "launch") -> str:
    """Draw the choice of a described service; returns its target key."""
    name, prefix = f"{slot}.target.{kind.prefix}", f"{kind.prefix}:"
    applications = catalog.load_applications(settings)
    is_restricted = policy.is_restricted(settings)
    if is_restricted:
        allowed_keys = (f"{prefix}{name}" for name in settings.allow_applications)
        applications = {key: applications[key] for key in allowed_keys if key in applications}

    def format_application(key: str) -> str:
        return f"{applications[key].title} ({key})" if key in applications else key

    typed_path = st.session_state.get(name)  # a path that was typed stays among the choices
    typed = draw_field(
        st.selectbox,
        "application",
        list(dict.fromkeys([*applications, typed_path] if typed_path else applications)),
        format_func=format_application,
        accept_new_options=not is_restricted,
        key=name,
        help=tr("launch.application_help", form=kind.form),
    )
    key = prefix + str(typed or "").strip().removeprefix(prefix)
    if key in applications or (key != prefix and not is_restricted):
        _draw_application_facts(catalog.load_application(key, settings))
    return key if key in applications or not is_restricted else prefix


def find_application_problems(
    target: str, metrics: Mapping[str, Sequence[str]], settings: Settings
) -> list[LaunchProblem]:
    """What would stop a run on a service: its description, or cases that it is not made for.
    `metrics` are those chosen, by benchmark. Nothing is wrong with targets of other kinds."""
    if catalog.find_chooser(target) != "service" or target.endswith(":"):
        return []
    card = catalog.load_application(target, settings)
    if card.problem:
        return [LaunchProblem(key="launch.problem.application", values={"problem": card.problem})]
    problems, cards = [], catalog.benchmark_cards()
    for benchmark, chosen in metrics.items():
        unanswerable = [metric for metric in chosen if not card.can_answer(benchmark, metric)]
        if unanswerable:
            title = localize(cards[benchmark].title) or benchmark
            names = [
                localize(cards[benchmark].find_metric(key).title) or key for key in unanswerable
            ]
            values = {"title": card.title, "benchmark": title, "metrics": wording.join_names(names)}
            problems.append(LaunchProblem(key="launch.problem.unanswered", values=values))
    return problems


def _draw_application_facts(card: ApplicationCard) -> None:
    """What the service answers; what is wrong with its description is said beside the form."""
    if card.problem:
        return
    cards = catalog.benchmark_cards()
    served = [
        localize(benchmark_card.title) or key
        for key, benchmark_card in cards.items()
        if any(card.can_answer(key, metric.key) for metric in benchmark_card.metrics)
    ]
    st.caption(escape_markdown(card.about, 300))
    if served:
        st.caption(tr("launch.application_answers", benchmarks=wording.join_names(served)))


# A widget for each option a card declares, and the values that differ from the defaults.


def draw_option_widgets(options: Iterable[OptionCard], prefix: str) -> dict[str, Any]:
    """Draw the options in two columns; returns name to value, without those left at the default."""
    values: dict[str, Any] = {}
    columns: list[Any] = []
    for number, option in enumerate(option for option in options if not option.derived):
        columns = columns if number % 2 else st.columns(2)  # the keyboard goes by rows
        with columns[number % 2]:
            value = _draw_option_widget(option, f"{prefix}.{option.name}")
        if value not in (None, "", [], option.default) and value != _list_default_parts(
            option.default
        ):
            values[option.name] = value
    return values


def _list_default_parts(default: Any) -> list[str] | None:
    """The default of a list as it is typed."""
    return [str(part) for part in default] if isinstance(default, list) else None


def _draw_option_widget(option: OptionCard, key: str) -> Any:
    """The widget that fits the type; an empty one means "leave it to the default"."""
    about, label = localize(option.about) or None, localize(option.label) or option.name
    shared: dict[str, Any] = {"help": about, "key": key, "persist_state": "session"}
    unset = tr("common.default")
    if option.choices:
        choices = [choice for choice in option.choices if choice]  # empty: the default
        index = choices.index(option.default) if option.default in choices else None
        return st.selectbox(label, choices, index=index, placeholder=unset, **shared)
    if option.type == "bool":
        return st.toggle(label, value=bool(option.default), **shared)
    if option.type in ("int", "float"):
        look = {"step": 1 if option.type == "int" else 0.1, "placeholder": unset, **shared}
        return st.number_input(label, value=option.default, **look)
    default = ", ".join(_list_default_parts(option.default) or ()) or option.default or ""
    text = st.text_input(label, value=default, placeholder=unset, **shared)
    if option.type == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    return text.strip()


# The part of the launch form that names the target: kind, server, model, key, sampling.

CUSTOM = "custom"
#: Options with a widget of their own, by how the kind is chosen.
_OWN_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": (),
        "server": ("base_url", "api_key_env"),
        "service": ("base_url",),
        "local_model": preflight.OWN_FIELDS,
    }
)


class ChosenTarget(NamedTuple):
    """The key and options of a target, as the command line takes them."""

    key: str
    options: dict[str, Any]


def draw_target_choice(
    settings: Settings, slot: str = "launch", initial: ChosenTarget | None = None
) -> ChosenTarget:
    """Draw the section; at first a kind is chosen that runs at once anywhere: the baseline.

    `slot` begins the names of the widgets, so that a form may hold two targets; the second begins
    `initial` the first, of which it is a variant more often than not.
    """
    kinds = catalog.target_kinds()
    offered_kinds = _list_offered_kinds(list(kinds), settings)
    anywhere = next(prefix for prefix, card in kinds.items() if card.reaches_nobody)
    default_kind = initial.key.partition(":")[0] if initial else anywhere
    kind = st.segmented_control(
        tr("launch.kind"),
        offered_kinds,
        default=default_kind if default_kind in offered_kinds else offered_kinds[0],
        format_func=url_state.hold_titles(
            list(kinds), lambda name: localize(kinds[name].title) or name
        ),
        required=True,
        key=f"{slot}.kind",
        persist_state="session",
    )
    card = kinds[str(kind)]
    st.caption(localize(card.about))
    if card.chooser == "service":
        key = draw_application_choice(card, settings, slot)
        return ChosenTarget(key, _draw_more_options(card, slot))
    if card.chooser == "server":
        return _draw_endpoint_choice(card, settings, slot)
    if card.chooser == "local_model":
        prefix, _, model = initial.key.partition(":") if initial else ("", "", "")
        first = model if prefix == card.prefix else ""
        key, option_values = preflight.draw_local_model(card, slot, first)
        option_values |= _draw_more_options(card, slot)
        preflight.draw_model_facts(key, option_values)
        return ChosenTarget(key, option_values)
    return _select_named_target(card, slot)


def _list_offered_kinds(kinds: list[str], settings: Settings) -> list[str]:
    """The kinds of which a visitor may name any target: all, in an open installation."""
    cards, is_restricted = catalog.target_kinds(), policy.is_restricted(settings)

    def is_offered(card: TargetKindCard) -> bool:
        return card.reaches_nobody or bool(getattr(settings, card.allow_setting, ()))

    return [kind for kind in kinds if not is_restricted or is_offered(cards[kind])]


def _list_servers(endpoints: Mapping[str, Endpoint], settings: Settings) -> list[str]:
    """The names to choose a server by; an address of one's own where the lists hold any host."""
    if not policy.is_restricted(settings):
        return [*endpoints, CUSTOM]
    allowed = [name for name in endpoints if name in settings.allow_endpoints]
    hosts = [name for name in settings.allow_endpoints if name not in endpoints]
    return allowed + [CUSTOM] * bool(hosts)


def _select_named_target(card: TargetKindCard, slot: str) -> ChosenTarget:
    """Any kind whose targets have plain names: pick an example or type another one."""
    key = draw_field(
        st.selectbox,
        "target",
        card.examples,
        accept_new_options=True,
        format_func=_format_target_option,
        key=f"{slot}.target.{card.prefix}",
        help=tr("launch.target_help", form=card.form),
    )
    chosen = str(key or f"{card.prefix}:")
    if not chosen.startswith(f"{card.prefix}:"):
        chosen = f"{card.prefix}:{chosen}"
    return ChosenTarget(chosen, _draw_more_options(card, slot))


def _format_target_option(key: str) -> str:
    """A target by the name on its card and by its key, or by its key alone."""
    name = display_names.resolve_target_name(key, key)
    return to_plain_line(key if name == key else f"{name} · {key}", 120)


def _draw_endpoint_choice(card: TargetKindCard, settings: Settings, slot: str) -> ChosenTarget:
    """A server that speaks chat completions: a preset or an address of one's own."""
    endpoints = catalog.load_endpoints(settings)
    names, servers = [*endpoints, CUSTOM], _list_servers(endpoints, settings)

    def format_server(name: str) -> str:
        if name not in endpoints:
            return tr("launch.custom_server")
        return endpoints[name].title or name

    left, right = st.columns(2)
    with left:
        look = {"format_func": url_state.hold_titles(names, format_server), "help": None}
        server = str(draw_field(st.selectbox, "server", servers, key=f"{slot}.server", **look))
    with right:
        look = {"placeholder": tr("launch.model_placeholder"), "help": None}
        model = draw_field(st.text_input, "model", key=f"{slot}.model", **look).strip()
    option_values: dict[str, Any] = {}
    is_restricted = policy.is_restricted(settings)
    address = ""
    if not is_restricted or server not in endpoints:
        address = _draw_address_field(server, endpoints, settings if is_restricted else None, slot)
    if address or server not in endpoints:
        option_values["base_url"] = address  # empty is then said to be missing
    if server not in endpoints:
        look = {"placeholder": "MY_SERVER_API_KEY", "key": f"{slot}.api_key_env"}
        variable = draw_field(st.text_input, "api_key_env", **look).strip()
        option_values |= {"api_key_env": variable} if variable else {}
    key = _build_endpoint_key(card.prefix, server, model, endpoints)
    _draw_model_list(server, option_values, settings, slot)
    return ChosenTarget(key, option_values | _draw_more_options(card, slot))


def _draw_model_list(
    server: str, options: Mapping[str, Any], settings: Settings, slot: str
) -> None:
    """A button that asks the server for its models, and their choice, which fills the field of the
    model; a list stays as long as it is of the chosen server."""
    endpoint = str(options.get("base_url") or server)
    subject, held = (endpoint, dict(options)), f"{slot}.model_list"
    look: dict[str, Any] = {"icon": ":material/list:", "disabled": endpoint == CUSTOM}
    if st.button(tr("launch.list_models"), key=f"{slot}.list_models", **look):
        st.session_state[held] = (subject, _ask_for_models(endpoint, options, settings))
    kept = st.session_state.get(held)
    if kept is None or kept[0] != subject:
        return
    if isinstance(kept[1], str):
        st.error(escape_markdown(kept[1], 600), icon=":material/error:")
        return
    names = {model.id: to_plain_line(model.id, 200) for model in kept[1]}
    chosen = f"{slot}.served_model"

    def fill_model_field() -> None:
        st.session_state[f"{slot}.model"] = st.session_state[chosen] or ""

    st.selectbox(
        tr("launch.served_model", count=len(names)),
        list(names),
        index=None,
        format_func=lambda name: names.get(name, name),
        key=chosen,
        on_change=fill_model_field,
    )


def _ask_for_models(
    endpoint: str, options: Mapping[str, Any], settings: Settings
) -> list[ServedModel] | str:
    """The models of a server, or why there is no list."""
    with st.spinner(tr("launch.list_models_busy")):
        try:
            return client.list_models(
                endpoint,
                options,
                visitor.collect_typed_keys(),
                settings,
                visitor=visitor.current_visitor(),
            )
        except EvalboardError as error:
            return localize_note(str(error))


def _draw_address_field(
    server: str, endpoints: Mapping[str, Endpoint], restricting: Settings | None, slot: str
) -> str:
    """The address of a server; `restricting` are the settings that list the allowed ones, if any
    do."""
    about = tr("launch.base_url_help")
    if restricting:
        hosts = [name for name in restricting.allow_endpoints if name not in endpoints]
        about = tr("access.listed_hosts", hosts=escape_markdown(", ".join(hosts), 400))
    example = endpoints[server].base_url if server in endpoints else "http://localhost:8000/v1"
    key = f"{slot}.base_url.{server}"
    return draw_field(st.text_input, "base_url", key=key, placeholder=example, help=about).strip()


def _build_endpoint_key(prefix: str, server: str, model: str, endpoints: Collection[str]) -> str:
    """The endpoint is named wherever the model's own name could be taken for one: by the first,
    which is meant where none is named."""
    if server not in endpoints:
        server = next(iter(endpoints)) if model.partition("/")[0] in endpoints else ""
    return f"{prefix}:{server}/{model}" if server else f"{prefix}:{model}"


def _draw_more_options(card: TargetKindCard, slot: str) -> dict[str, Any]:
    """The fields of the kind's own card: those to be shown, then the others, folded away."""
    name = f"{slot}.option.{card.prefix}"
    own_fields = _OWN_FIELDS[card.chooser]
    options = [o for o in card.options if not o.secret and o.name not in own_fields]
    shown = [option for option in options if option.shown]
    folded = [option for option in options if not option.shown]
    values = draw_option_widgets(shown, name) if shown else {}
    if folded:
        with st.expander(tr("launch.sampling"), icon=":material/tune:"):
            values |= draw_option_widgets(folded, name)
    return values


# The part of the launch form that turns a local model into a sweep over its variants.


class SweepChoice(NamedTuple):
    """Further targets, adapters and precisions, of which the first two may be patterns."""

    targets: tuple[str, ...]
    adapters: tuple[str, ...]
    dtypes: tuple[str, ...]


def draw_sweep_choice(target: ChosenTarget, settings: Settings) -> SweepChoice | None:
    """Draw the switch of a sweep and, where it is on, its fields; None where it is off, and for
    other kinds than local models."""
    card = catalog.find_target_kind(target.key)
    if card is None or not card.runs_models_here or policy.is_restricted(settings):
        return None
    if not draw_field(st.toggle, "sweep"):
        return None
    with st.container(border=True):
        look: dict[str, Any] = {"height": 90}
        targets = draw_field(
            st.text_area, "sweep_targets", placeholder=f"{card.prefix}:out/checkpoint-*", **look
        )
        adapters = draw_field(st.text_area, "sweep_adapters", placeholder="out/lora-*", **look)
        choices = next(option.choices for option in card.options if option.name == "dtype")
        dtypes = draw_field(st.multiselect, "sweep_dtypes", list(choices))
    return SweepChoice(_split_lines(targets), _split_lines(adapters), tuple(dtypes))


def _split_lines(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.splitlines())))


# The part of the launch form that names a second target, to be run on the same cases.

SLOT = "launch.second"


def draw_second_target(first: ChosenTarget, settings: Settings) -> ChosenTarget | None:
    """Draw the switch and, where it is on, the second target; None where it is off."""
    if not draw_field(st.toggle, "second", key=SLOT):
        return None
    with st.container(border=True):
        return draw_target_choice(settings, SLOT, first)
