"""The part of the launch form that names the target: kind, server, model, key, sampling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import streamlit as st

from evalcore import access, catalog
from evalcore.catalog import TargetKindCard, localize_text
from evalcore.settings import Endpoint, Settings
from pages.components import launch_application, launch_local, names, options
from pages.components.language import Translate, current
from pages.components.text import escape, plain

CUSTOM = "custom"
_OWN_FIELDS = ("base_url", "api_key_env")


class ChosenTarget(NamedTuple):
    """The key and options of a target, as the command line takes them."""

    key: str
    options: dict[str, Any]


def draw(
    settings: Settings, tr: Translate, slot: str = "launch", like: ChosenTarget | None = None
) -> ChosenTarget:
    """Draw the section; the baseline is chosen at first, because it runs at once anywhere.

    `slot` begins the names of the widgets, so that a form may hold two targets; the second begins
    `like` the first, of which it is a variant more often than not.
    """
    kinds, language = catalog.target_kinds(), current()
    names = _offered(list(kinds), settings)
    usual = like.key.partition(":")[0] if like else "baseline"
    kind = st.segmented_control(
        tr("launch.kind"),
        names,
        default=usual if usual in names else names[0],
        format_func=lambda name: localize_text(kinds[name].title, language) or name,
        required=True,
        key=f"{slot}.kind",
        persist_state="session",
    )
    card = kinds[str(kind)]
    st.caption(localize_text(card.about, language))
    if card.prefix == "app":
        key = launch_application.draw(card, settings, tr, slot)
        return ChosenTarget(key, _more(card, tr, slot))
    if card.prefix == "openai":
        return _endpoint(card, settings, tr, slot)
    if card.prefix == "hf":
        first = like.key if like and like.key.startswith(launch_local.PREFIX) else ""
        key, given = launch_local.draw(card, tr, slot, first)
        given |= _more(card, tr, slot)
        launch_local.tell(key, given, tr)
        return ChosenTarget(key, given)
    return _named(card, tr, slot)


def _offered(kinds: list[str], settings: Settings) -> list[str]:
    """The kinds of which a visitor may name any target: all, in an open installation."""
    lists = {
        "openai": settings.allow_endpoints,
        "app": settings.allow_applications,
        "hf": settings.allow_models,
        "baseline": ("all",),
        "control": ("all",),
    }
    return [kind for kind in kinds if not access.is_restricted(settings) or lists.get(kind)]


def _servers(known: Mapping[str, Endpoint], settings: Settings) -> list[str]:
    """The names to choose a server by; an address of one's own where the lists hold any host."""
    if not access.is_restricted(settings):
        return [*known, CUSTOM]
    listed = [name for name in known if name in settings.allow_endpoints]
    hosts = [name for name in settings.allow_endpoints if name not in known]
    return listed + [CUSTOM] * bool(hosts)


def _named(card: TargetKindCard, tr: Translate, slot: str) -> ChosenTarget:
    """Any kind whose targets have plain names: pick an example or type another one."""
    key = st.selectbox(
        tr("launch.target"),
        card.examples,
        accept_new_options=True,
        format_func=_called,
        key=f"{slot}.target.{card.prefix}",
        help=tr("launch.target_help", form=card.form),
        persist_state="session",
    )
    chosen = str(key or f"{card.prefix}:")
    if not chosen.startswith(f"{card.prefix}:"):
        chosen = f"{card.prefix}:{chosen}"
    return ChosenTarget(chosen, _more(card, tr, slot))


def _called(key: str) -> str:
    """A target by the name on its card and by its key, or by its key alone."""
    name = names.of(key, key)
    return plain(key if name == key else f"{name} · {key}", 120)


def _endpoint(card: TargetKindCard, settings: Settings, tr: Translate, slot: str) -> ChosenTarget:
    """A server that speaks chat completions: a preset or an address of one's own."""
    known = catalog.load_endpoints(settings)
    left, right = st.columns(2)
    with left:
        server = str(
            st.selectbox(
                tr("launch.server"),
                _servers(known, settings),
                format_func=lambda name: (
                    known[name].title or name if name in known else tr("launch.custom_server")
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
    given: dict[str, Any] = {}
    guarded = access.is_restricted(settings)
    address = ""
    if not guarded or server not in known:
        address = _address(server, known, settings if guarded else None, tr, slot)
    if address or server not in known:
        given["base_url"] = address  # empty is then said to be missing
    if server not in known:
        variable = st.text_input(
            tr("launch.api_key_env"),
            key=f"{slot}.api_key_env",
            placeholder="MY_SERVER_API_KEY",
            help=tr("launch.api_key_env_help"),
            persist_state="session",
        ).strip()
        given |= {"api_key_env": variable} if variable else {}
    return ChosenTarget(_key(server, model, known), given | _more(card, tr, slot))


def _address(
    server: str, known: Mapping[str, Endpoint], bound: Settings | None, tr: Translate, slot: str
) -> str:
    """The address of a server; `bound` are the settings that list the allowed ones, if any do."""
    about = tr("launch.base_url_help")
    if bound:
        hosts = [name for name in bound.allow_endpoints if name not in known]
        about = tr("access.listed_hosts", hosts=escape(", ".join(hosts), 400))
    return st.text_input(
        tr("launch.base_url"),
        key=f"{slot}.base_url.{server}",
        placeholder=known[server].base_url if server in known else "http://localhost:8000/v1",
        help=about,
        persist_state="session",
    ).strip()


def _key(server: str, model: str, known: Collection[str]) -> str:
    """The endpoint is named wherever the model's own name could be taken for one."""
    if server not in known:
        server = "openai" if model.partition("/")[0] in known else ""
    return f"openai:{server}/{model}" if server else f"openai:{model}"


def _more(card: TargetKindCard, tr: Translate, slot: str) -> dict[str, Any]:
    """The other options of the kind, folded away."""
    own = (*_OWN_FIELDS, *(launch_local.OWN_FIELDS if card.prefix == "hf" else ()))
    others = [option for option in card.options if option.name not in own]
    if not others:
        return {}
    with st.expander(tr("launch.sampling"), icon=":material/tune:"):
        return options.draw(others, f"{slot}.option.{card.prefix}", tr)
