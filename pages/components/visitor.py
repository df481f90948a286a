"""Who uses this session, for the code that allows or refuses; and how he proves it in the sidebar.

A passcode and a login are remembered in the session alone: neither is in a URL or a file.
"""

from __future__ import annotations

import math
import os
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

import streamlit as st

from evalcore import access, addresses, login, settings
from evalcore.access import AccessAction, Visitor
from evalcore.passcode import GATE
from evalcore.settings import Settings
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown

_PROVED, _TRIES, _FAILED = "access.proved", "access.tries", "access.failed"
#: Headers that only something between the visitor and this server adds.
_PASSED_ON = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")
#: The ending of hosts whose boards are shown inside a page of their own site.
_FRAMED = ".hf.space"


def current_visitor() -> Visitor:
    """The visitor of this session."""
    configured = settings.load_settings()
    mode = configured.access
    if mode == "passcode":
        return Visitor(proved=bool(st.session_state.get(_PROVED)), remote=_is_remote())
    if mode == "oidc":
        claims = st.user.to_dict()
        name = login.build_account_id(claims)
        return Visitor(name=name, proved=login.is_admitted(configured, claims), remote=_is_remote())
    return Visitor(remote=_is_remote())


def load_visitor_settings() -> Settings:
    """The settings as they hold for this visitor: his mode, and whether he sees gated texts."""
    return access.restrict_settings(settings.load_settings(), current_visitor())


def explain_refusal(action: AccessAction) -> str:
    """Why this visitor may not do that, in his language; "" where he may."""
    return localize_note(access.explain_denial(settings.load_settings(), current_visitor(), action))


def is_action_allowed(action: AccessAction) -> bool:
    return not access.explain_denial(settings.load_settings(), current_visitor(), action)


def is_launcher_listed() -> bool:
    """Whether the launcher stands in the navigation: not on a board that nobody can write to."""
    return access.resolve_access_mode(settings.load_settings(), current_visitor()) != "read-only"


def _is_remote() -> bool:
    """Whether the request came from another machine, or by a name that is not this machine's."""
    headers = st.context.headers
    host = urlsplit(f"//{headers.get('Host') or 'localhost'}").hostname or ""
    near = addresses.is_this_machine(host) and not any(name in headers for name in _PASSED_ON)
    address = st.context.ip_address
    return not near or bool(address and not addresses.is_this_machine(address))


def find_visitor_network() -> str:
    """The network that this visitor's wrong passcodes are counted for, "" where it is hidden."""
    host = st.context.ip_address or "127.0.0.1"  # Streamlit names no loopback address
    return addresses.visitor_network(host, st.context.headers.get("X-Forwarded-For") or "")


def draw_sign_in(tr: Translate) -> None:
    """The passcode form or the button of the login, in the sidebar; the entry script calls it."""
    mode = access.resolve_access_mode(settings.load_settings(), current_visitor())
    with st.sidebar:
        if mode == "passcode":
            _draw_passcode_form(tr)
        elif mode == "oidc":
            _draw_login(tr)


def _draw_passcode_form(tr: Translate) -> None:
    if not access.explain_denial(settings.load_settings(), current_visitor(), "launch"):
        st.caption(f":material/lock_open: {tr('access.inside')}")
        if st.button(tr("access.leave"), key="access.leave", icon=":material/logout:"):
            st.session_state.pop(_PROVED, None)
            st.rerun()
        return
    tries: list[float] = st.session_state.setdefault(_TRIES, [])
    with st.expander(tr("access.enter"), icon=":material/lock:"):
        if access.explain_denial(settings.load_settings(), Visitor(proved=True), "launch"):
            st.caption(escape_markdown(explain_refusal("launch"), 300))
            return
        with st.form("access.form", clear_on_submit=True, border=False):
            typed = st.text_input(
                tr("access.passcode"), type="password", max_chars=1024, autocomplete="off"
            )
            is_submitted = st.form_submit_button(tr("access.submit"), width="stretch")
        if is_submitted and typed and GATE.try_passcode(typed, tries, find_visitor_network()):
            st.session_state[_PROVED] = True
            st.rerun()
        minutes = math.ceil(GATE.compute_wait(tries, find_visitor_network()) / 60)
        if minutes:
            st.error(tr("access.wait", minutes=minutes), icon=":material/hourglass_top:")
        elif is_submitted:
            st.error(tr("access.wrong"), icon=":material/error:")


def _draw_login(tr: Translate) -> None:
    claims, failed = st.user.to_dict(), _has_login_failed()
    if login.build_account_id(claims):
        name = str(claims.get("name") or claims.get("email") or "")
        st.caption(f":material/person: {escape_markdown(name, 60)}")
        if not is_action_allowed("launch"):
            st.caption(escape_markdown(explain_refusal("launch"), 300))
        if st.button(tr("access.logout"), key="access.logout", icon=":material/logout:"):
            st.logout()
    elif not _can_login():
        st.caption(f":material/lock: {tr('access.no_provider')}")
    else:
        if failed:
            st.error(tr("access.failed"), icon=":material/error:")
        _offer_login(tr)


def _has_login_failed() -> bool:
    """Whether this session began with a login that did not work; the address says so once."""
    if login.RESULT in st.query_params:
        st.session_state[_FAILED] = st.query_params[login.RESULT] == login.FAILED
        del st.query_params[login.RESULT]
    return bool(st.session_state.get(_FAILED))


def _offer_login(tr: Translate) -> None:
    """The button, and for those who may see the board inside another page the way out of it."""
    framed = bool(st.context.is_embedded)
    pressed = not framed and st.button(
        tr("access.login"), key="access.login", icon=":material/login:", type="primary"
    )
    if pressed:
        st.login()
    if address := _own_address():
        st.caption(tr("access.embedded"))
        st.link_button(tr("access.direct"), address, icon=":material/open_in_new:")


def _own_address() -> str:
    """Where the board is no part of another page, for those who may see it in one: a Space is
    mostly seen inside its host's page, and a frame does not say so."""
    host = os.environ.get(login.HOST, "").strip()
    if host and (st.context.is_embedded or host.endswith(_FRAMED)):
        return login.build_board_url(host)
    return st.context.url or "/" if st.context.is_embedded else ""


def _can_login() -> bool:
    """Whether a provider is configured, and the library there that speaks to it."""
    try:
        version("Authlib")
    except PackageNotFoundError:
        return False
    try:
        return bool(st.secrets.get("auth"))
    except FileNotFoundError:
        return False
