"""The part of the launch form that names the target: kind, server, model, key, sampling."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import streamlit as st

from evalcore import catalog
from evalcore.catalog import TargetKindCard, local
from evalcore.settings import Settings
from pages.components import launch_application, options
from pages.components.language import Translate, current

CUSTOM = "custom"
_OWN_FIELDS = ("base_url", "api_key_env")


class ChosenTarget(NamedTuple):
    """The key and options of a target, as the command line takes them."""

    key: str
    options: dict[str, Any]


def draw(settings: Settings, tr: Translate) -> ChosenTarget:
    """Draw the section; the baseline is chosen at first, because it runs at once anywhere."""
    kinds, language = catalog.target_kinds(), current()
    names = list(kinds)
    kind = st.segmented_control(
        tr("launch.kind"),
        names,
        default="baseline" if "baseline" in names else names[0],
        format_func=lambda name: local(kinds[name].title, language) or name,
        required=True,
        key="launch.kind",
        persist_state="session",
    )
    card = kinds[str(kind)]
    st.caption(local(card.about, language))
    if card.prefix == "app":
        return ChosenTarget(launch_application.draw(card, settings, tr), _more(card, tr))
    return _endpoint(card, settings, tr) if card.prefix == "openai" else _named(card, tr)


def _named(card: TargetKindCard, tr: Translate) -> ChosenTarget:
    """Any kind whose targets have plain names: pick an example or type another one."""
    key = st.selectbox(
        tr("launch.target"),
        card.examples,
        accept_new_options=True,
        key=f"launch.target.{card.prefix}",
        help=tr("launch.target_help", form=card.form),
        persist_state="session",
    )
    chosen = str(key or f"{card.prefix}:")
    if not chosen.startswith(f"{card.prefix}:"):
        chosen = f"{card.prefix}:{chosen}"
    return ChosenTarget(chosen, _more(card, tr))


def _endpoint(card: TargetKindCard, settings: Settings, tr: Translate) -> ChosenTarget:
    """A server that speaks chat completions: a preset or an address of one's own."""
    known = catalog.endpoints(settings)
    left, right = st.columns(2)
    with left:
        server = str(
            st.selectbox(
                tr("launch.server"),
                [*known, CUSTOM],
                format_func=lambda name: (
                    known[name].title or name if name in known else tr("launch.custom_server")
                ),
                key="launch.server",
                persist_state="session",
            )
        )
    with right:
        model = st.text_input(
            tr("launch.model"),
            key="launch.model",
            placeholder=tr("launch.model_placeholder"),
            persist_state="session",
        ).strip()
    given: dict[str, Any] = {}
    address = st.text_input(
        tr("launch.base_url"),
        key=f"launch.base_url.{server}",
        placeholder=known[server].base_url if server in known else "http://localhost:8000/v1",
        help=tr("launch.base_url_help"),
        persist_state="session",
    ).strip()
    if address or server not in known:
        given["base_url"] = address  # empty is then said to be missing
    if server not in known:
        variable = st.text_input(
            tr("launch.api_key_env"),
            key="launch.api_key_env",
            placeholder="MY_SERVER_API_KEY",
            help=tr("launch.api_key_env_help"),
            persist_state="session",
        ).strip()
        given |= {"api_key_env": variable} if variable else {}
    return ChosenTarget(_key(server, model, known), given | _more(card, tr))


def _key(server: str, model: str, known: Collection[str]) -> str:
    """The endpoint is named wherever the model's own name could be taken for one."""
    if server not in known:
        server = "openai" if model.partition("/")[0] in known else ""
    return f"openai:{server}/{model}" if server else f"openai:{model}"


def _more(card: TargetKindCard, tr: Translate) -> dict[str, Any]:
    """The other options of the kind, folded away."""
    others = [option for option in card.options if option.name not in _OWN_FIELDS]
    if not others:
        return {}
    with st.expander(tr("launch.sampling"), icon=":material/tune:"):
        return options.draw(others, f"launch.option.{card.prefix}", tr)
