"""The visitor of this session: sign-in, what they may do, typed keys, uploads, and notes for the
operator."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from urllib.parse import urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from evalcore import catalog, settings
from evalcore.access import egress, login, policy
from evalcore.access.login import GATE
from evalcore.access.policy import UPLOADS, AccessAction, Visitor
from evalcore.i18n import DEFAULT
from evalcore.settings import Settings
from pages.shared.wording import current_language, escape_markdown, localize_note, tr

# Who uses this session, for the code that allows or refuses; and how they prove it in the sidebar.
# A passcode and a login are remembered in the session alone: neither is in a URL or a file.

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
    """The settings as they hold for this visitor: their mode, and whether they see gated texts."""
    return policy.restrict_settings(settings.load_settings(), current_visitor())


def explain_refusal(action: AccessAction) -> str:
    """Why this visitor may not do that, in their language; "" where they may."""
    return localize_note(policy.explain_denial(settings.load_settings(), current_visitor(), action))


def is_action_allowed(action: AccessAction) -> bool:
    return not policy.explain_denial(settings.load_settings(), current_visitor(), action)


def is_launcher_listed() -> bool:
    """Whether the launcher stands in the navigation: not on a board that nobody can write to."""
    return policy.resolve_access_mode(settings.load_settings(), current_visitor()) != "read-only"


def _is_remote() -> bool:
    """Whether the request came from another machine, or by a name that is not this machine's."""
    headers = st.context.headers
    host = urlsplit(f"//{headers.get('Host') or 'localhost'}").hostname or ""
    near = egress.is_this_machine(host) and not any(name in headers for name in _PASSED_ON)
    address = st.context.ip_address
    return not near or bool(address and not egress.is_this_machine(address))


def find_visitor_network() -> str:
    """The network that this visitor's wrong passcodes are counted for, "" where it is hidden."""
    host = st.context.ip_address or "127.0.0.1"  # Streamlit names no loopback address
    return egress.visitor_network(host, st.context.headers.get("X-Forwarded-For") or "")


def draw_sign_in() -> None:
    """The passcode form or the button of the login, in the sidebar; the entry script calls it."""
    mode = policy.resolve_access_mode(settings.load_settings(), current_visitor())
    with st.sidebar:
        if mode == "passcode":
            _draw_passcode_form()
        elif mode == "oidc":
            _draw_login()


def _draw_passcode_form() -> None:
    if not policy.explain_denial(settings.load_settings(), current_visitor(), "launch"):
        st.caption(f":material/lock_open: {tr('access.inside')}")
        if st.button(tr("access.leave"), key="access.leave", icon=":material/logout:"):
            st.session_state.pop(_PROVED, None)
            st.rerun()
        return
    with st.expander(tr("access.enter"), icon=":material/lock:"):
        if _has_no_passcode():
            st.caption(escape_markdown(explain_refusal("launch"), 300))
        else:
            _draw_passcode_field("sidebar")


def draw_sign_in_here() -> bool:
    """The same on the page that was refused: on a phone the sidebar is folded away. Tells whether
    there is a way in."""
    mode = policy.resolve_access_mode(settings.load_settings(), current_visitor())
    if mode == "passcode" and not _has_no_passcode():
        with st.container(width=360):
            _draw_passcode_field("page")
        return True
    if mode == "oidc" and not login.build_account_id(st.user.to_dict()) and _can_login():
        _offer_login("page")
        return True
    return False


def _has_no_passcode() -> bool:
    """Whether the host set none, so that there is nothing to type."""
    own = settings.load_settings()
    return bool(policy.explain_denial(own, Visitor(proved=True), "launch"))


def _draw_passcode_field(place: str) -> None:
    tries: list[float] = st.session_state.setdefault(_TRIES, [])
    with st.form(f"access.form.{place}", clear_on_submit=True, border=False):
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


def _draw_login() -> None:
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
        _offer_login("sidebar")


def _has_login_failed() -> bool:
    """Whether this session began with a login that did not work; the address says so once."""
    if login.RESULT in st.query_params:
        st.session_state[_FAILED] = st.query_params[login.RESULT] == login.FAILED
        del st.query_params[login.RESULT]
    return bool(st.session_state.get(_FAILED))


def _offer_login(place: str) -> None:
    """The button, and for those who may see the board inside another page the way out of it."""
    framed = bool(st.context.is_embedded)
    pressed = not framed and st.button(
        tr("access.login"), key=f"access.login.{place}", icon=":material/login:", type="primary"
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


# The file uploader of pages: the one widget that lets a session use the server's upload route. A
# page draws it only where the visitor may hand something in; the permit ends when they leave that
# page or may no longer do so. `tests/unit/test_uploads.py` holds that no page draws another one.

_PAGE = "uploader.page"


def enter_upload_page(page: str) -> None:
    """Note the page that is drawn, and end the permit for another one or of another visitor."""
    st.session_state[_PAGE] = f"/{page}"
    UPLOADS.restrict_session(_get_session_id(), f"/{page}" if _may_upload() else "")


def draw_uploader(
    label: str, *, types: Sequence[str], megabytes: int, key: str, explanation: str
) -> UploadedFile | None:
    """Draw the uploader for one file, and permit the session to use it if the visitor may."""
    if _may_upload():
        UPLOADS.permit_session(_get_session_id(), st.session_state.get(_PAGE, "/"))
    file = st.file_uploader(label, type=types, max_upload_size=megabytes, key=key, help=explanation)
    if current_language() != DEFAULT:  # Streamlit's own words are English, and hidden then
        kinds = ", ".join(kind.upper() for kind in types)
        st.caption(tr("common.upload_limit", megabytes=megabytes, kinds=kinds))
    return file


def _may_upload() -> bool:
    return is_action_allowed("upload") or is_action_allowed("edit")


def _get_session_id() -> str:
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""


# Keys typed for this session: asked for where the environment has none, kept in memory only.
# They live in the session's widget state, go to a worker through `evalcore.runner.client` and are
# never written, put into a URL or shown again.

_PREFIX = "typed_key."
NO_LABELS: Mapping[str, str] = MappingProxyType({})
_ADDRESS = ("_URL", "_HOST")  # how the names of variables end that hold an address


def ask_for_keys(names: Sequence[str], labels: Mapping[str, str] = NO_LABELS) -> None:
    """A field for each environment variable that a target needs and nobody has set; what is typed
    is hidden, save for an address. `labels` are what to call some instead of by their names."""
    for name in names:
        is_address = name.upper().endswith(_ADDRESS)
        key = "common.address_label" if is_address else "common.key_label"
        st.text_input(
            escape_markdown(labels.get(name, "")) or tr(key, name=escape_markdown(name)),
            type="default" if is_address else "password",
            placeholder="https://" if is_address else None,
            key=f"{_PREFIX}{name}",
            help=tr("common.key_help", name=escape_markdown(name)),
            persist_state="session",
            autocomplete="off",
        )


def collect_typed_keys() -> dict[str, str]:
    """The keys typed so far, by environment variable name."""
    return {
        str(name).removeprefix(_PREFIX): value.strip()
        for name, value in st.session_state.items()
        if str(name).startswith(_PREFIX) and isinstance(value, str) and value.strip()
    }


def list_missing_keys(names: Sequence[str]) -> list[str]:
    """Those of `names` that have not been typed either."""
    return [name for name in names if name not in collect_typed_keys()]


# For the operator: which plug-ins are installed and left out, and what helps.


def draw_skipped_plugins() -> None:
    """A warning with a line per plug-in; nothing for visitors of a board of somebody else."""
    configured = settings.load_settings()
    if policy.resolve_access_mode(configured, current_visitor()) != "open":
        return
    lines = [*map(str, catalog.list_skipped_plugins())]
    lines += catalog.find_membership_problems(configured.suites)
    if lines:
        items = [f"- {escape_markdown(line)}" for line in lines]
        text = "\n".join([tr("common.plugins_left_out"), "", *items])
        st.warning(text, icon=":material/extension_off:")
