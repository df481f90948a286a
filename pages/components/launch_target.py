"""The part of the launch form that names the target: kind, server, model, key, sampling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import streamlit as st

from evalcore import access, catalog
from evalcore.catalog import TargetKindCard, localize_text
from evalcore.settings import Endpoint, Settings
from pages.components import launch_application, launch_local, names, options
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line

CUSTOM = "custom"
_OWN_FIELDS = ("base_url", "api_key_env")


class ChosenTarget(NamedTuple):
    """The key and options of a target, as the command line takes them."""

    key: str
    options: dict[str, Any]


def draw_target_choice(
    settings: Settings, tr: Translate, slot: str = "launch", initial: ChosenTarget | None = None
) -> ChosenTarget:
    """Draw the section; the baseline is chosen at first, because it runs at once anywhere.

    `slot` begins the names of the widgets, so that a form may hold two targets; the second begins
    `initial` the first, of which it is a variant more often than not.
    """
    kinds, language = catalog.target_kinds(), current_language()
    offered_kinds = _list_offered_kinds(list(kinds), settings)
    default_kind = initial.key.partition(":")[0] if initial else "baseline"
    kind = st.segmented_control(
        tr("launch.kind"),
        offered_kinds,
        default=default_kind if default_kind in offered_kinds else offered_kinds[0],
        format_func=lambda name: localize_text(kinds[name].title, language) or name,
        required=True,
        key=f"{slot}.kind",
        persist_state="session",
    )
    card = kinds[str(kind)]
    st.caption(localize_text(card.about, language))
    if card.prefix == "app":
        key = launch_application.draw_application_choice(card, settings, tr, slot)
        return ChosenTarget(key, _draw_more_options(card, tr, slot))
    if card.prefix == "openai":
        return _draw_endpoint_choice(card, settings, tr, slot)
    if card.prefix == "hf":
        first = initial.key if initial and initial.key.startswith(launch_local.PREFIX) else ""
        key, option_values = launch_local.draw_local_model(card, tr, slot, first)
        option_values |= _draw_more_options(card, tr, slot)
        launch_local.draw_model_facts(key, option_values, tr)
        return ChosenTarget(key, option_values)
    return _select_named_target(card, tr, slot)


def _list_offered_kinds(kinds: list[str], settings: Settings) -> list[str]:
    """The kinds of which a visitor may name any target: all, in an open installation."""
    lists = {
        "openai": settings.allow_endpoints,
        "app": settings.allow_applications,
        "hf": settings.allow_models,
        "baseline": ("all",),
        "control": ("all",),
    }
    return [kind for kind in kinds if not access.is_restricted(settings) or lists.get(kind)]


def _list_servers(endpoints: Mapping[str, Endpoint], settings: Settings) -> list[str]:
    """The names to choose a server by; an address of one's own where the lists hold any host."""
    if not access.is_restricted(settings):
        return [*endpoints, CUSTOM]
    allowed = [name for name in endpoints if name in settings.allow_endpoints]
    hosts = [name for name in settings.allow_endpoints if name not in endpoints]
    return allowed + [CUSTOM] * bool(hosts)


def _select_named_target(card: TargetKindCard, tr: Translate, slot: str) -> ChosenTarget:
    """Any kind whose targets have plain names: pick an example or type another one."""
    key = st.selectbox(
        tr("launch.target"),
        card.examples,
        accept_new_options=True,
        format_func=_format_target_option,
        key=f"{slot}.target.{card.prefix}",
        help=tr("launch.target_help", form=card.form),
        persist_state="session",
    )
    chosen = str(key or f"{card.prefix}:")
    if not chosen.startswith(f"{card.prefix}:"):
        chosen = f"{card.prefix}:{chosen}"
    return ChosenTarget(chosen, _draw_more_options(card, tr, slot))


def _format_target_option(key: str) -> str:
    """A target by the name on its card and by its key, or by its key alone."""
    name = names.resolve_target_name(key, key)
    return to_plain_line(key if name == key else f"{name} · {key}", 120)


def _draw_endpoint_choice(
    card: TargetKindCard, settings: Settings, tr: Translate, slot: str
) -> ChosenTarget:
    """A server that speaks chat completions: a preset or an address of one's own."""
    endpoints = catalog.load_endpoints(settings)
    left, right = st.columns(2)
    with left:
        server = str(
            st.selectbox(
                tr("launch.server"),
                _list_servers(endpoints, settings),
                format_func=lambda name: (
                    endpoints[name].title or name
                    if name in endpoints
                    else tr("launch.custom_server")
                ),
                key=f"{slot}.server",
                persist_state="session",
            )
        )
    with right:
        model = st.text_input(
            tr("launch.model"),
            key=f"{slot}.model",
            placeholder=tr("launch.model_placeholder"),
            persist_state="session",
        ).strip()
    option_values: dict[str, Any] = {}
    is_restricted = access.is_restricted(settings)
    address = ""
    if not is_restricted or server not in endpoints:
        address = _draw_address_field(
            server, endpoints, settings if is_restricted else None, tr, slot
        )
    if address or server not in endpoints:
        option_values["base_url"] = address  # empty is then said to be missing
    if server not in endpoints:
        variable = st.text_input(
            tr("launch.api_key_env"),
            key=f"{slot}.api_key_env",
            placeholder="MY_SERVER_API_KEY",
            help=tr("launch.api_key_env_help"),
            persist_state="session",
        ).strip()
        option_values |= {"api_key_env": variable} if variable else {}
    return ChosenTarget(
        _build_endpoint_key(server, model, endpoints),
        option_values | _draw_more_options(card, tr, slot),
    )


def _draw_address_field(
    server: str,
    endpoints: Mapping[str, Endpoint],
    restricting: Settings | None,
    tr: Translate,
    slot: str,
) -> str:
    """The address of a server; `restricting` are the settings that list the allowed ones, if any
    do."""
    about = tr("launch.base_url_help")
    if restricting:
        hosts = [name for name in restricting.allow_endpoints if name not in endpoints]
        about = tr("access.listed_hosts", hosts=escape_markdown(", ".join(hosts), 400))
    return st.text_input(
        tr("launch.base_url"),
        key=f"{slot}.base_url.{server}",
        placeholder=endpoints[server].base_url
        if server in endpoints
        else "http://localhost:8000/v1",
        help=about,
        persist_state="session",
    ).strip()


def _build_endpoint_key(server: str, model: str, endpoints: Collection[str]) -> str:
    """The endpoint is named wherever the model's own name could be taken for one."""
    if server not in endpoints:
        server = "openai" if model.partition("/")[0] in endpoints else ""
    return f"openai:{server}/{model}" if server else f"openai:{model}"


def _draw_more_options(card: TargetKindCard, tr: Translate, slot: str) -> dict[str, Any]:
    """The other options of the kind, folded away."""
    own_fields = (*_OWN_FIELDS, *(launch_local.OWN_FIELDS if card.prefix == "hf" else ()))
    others = [option for option in card.options if option.name not in own_fields]
    if not others:
        return {}
    with st.expander(tr("launch.sampling"), icon=":material/tune:"):
        return options.draw_option_widgets(others, f"{slot}.option.{card.prefix}", tr)
