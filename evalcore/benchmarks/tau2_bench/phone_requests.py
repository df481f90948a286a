"""What an agent asks the user of a phone to do, read from its words.

A request names a tool of the phone, or says in plain words what to look at or to change. Parts that
say what not to do, or what the agent does itself, ask for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalcore.benchmarks.tau2_bench.environment import telecom_device
from evalcore.benchmarks.tau2_bench.environment.telecom_phone import NETWORK_MODES, PERMISSIONS
from evalcore.records import Record

#: The most requests of one message that are carried out.
MAX_REQUESTS = 8
#: What is read of a message, of its parts and of a part: an agent may write without end.
MAX_TEXT, _MAX_CLAUSES, _MAX_CLAUSE = 20_000, 200, 400


class PhoneRequest(Record, frozen=True):
    """A tool of the phone with its arguments. `wanted` is the state that a switch is to be in,
    None where it is just to be switched."""

    tool: str
    kwargs: dict[str, Any] = {}
    wanted: bool | None = None


class _Switch(Record, frozen=True):
    """A setting that is on or off: the words for it, the tool that switches it, the tool that shows
    it, and the field of the device that holds it."""

    words: str
    switch: str
    check: str
    field: str


SWITCHES = (
    _Switch(r"air ?plane mode|aeroplane mode|flight mode", "toggle_airplane_mode",
            "check_network_status", "airplane_mode"),
    _Switch(r"data[- ]sav(?:er|ing)", "toggle_data_saver_mode",
            "check_data_restriction_status", "data_saver_mode"),
    _Switch(r"roaming", "toggle_roaming", "check_network_status", "roaming_enabled"),
    _Switch(r"wi-?fi[- ]calling|calls? over wi-?fi", "toggle_wifi_calling",
            "check_wifi_calling_status", "wifi_calling_enabled"),
    _Switch(r"(?:mobile|cellular) data", "toggle_data", "check_network_status", "data_enabled"),
    _Switch(r"\bwi-?fi\b", "toggle_wifi", "check_wifi_status", "wifi_enabled"),
)  # fmt: skip
_SWITCH_BY_TOOL = {switch.switch: switch for switch in SWITCHES}

_TOOL_NAMES = tuple(sorted((tool.name for tool in telecom_device.TOOLS), key=len, reverse=True))
_VERBATIM = re.compile(rf"(?<![\w])(?:{'|'.join(_TOOL_NAMES)})(?![\w])")
_CLAUSES = re.compile(r"[.;!?\n]+(?=\s|$)|,? (?:and )?then |, and (?=\w+ )|(?<=\))[,.]? and ", re.I)
_NEGATED = re.compile(
    r"\b(?:do not|don'?t|never|avoid|without|no need to|instead of|rather than|not to|must not"
    r"|should not|shouldn'?t|before you|after you)\b",
    re.I,
)
_AGENT_ACTS = re.compile(
    r"\b(?:i|we)(?:'ll|'ve|'m| will| have| am| are| can| could| just| shall| should| need to)\b",
    re.I,
)
_USER_ACTS = re.compile(r"\byou(?! (?:are|have|can|will))\b", re.I)
_ON = re.compile(r"\b(?:turn|switch|put|set)\b[^,]*\bon\b|\b(?:enable|activate)\b", re.I)
_OFF = re.compile(r"\b(?:turn|switch|put|set)\b[^,]*\boff\b|\b(?:disable|deactivate)\b", re.I)
_TOGGLE = re.compile(r"\b(?:toggle|flip|switch|change)\b", re.I)
_CHECK = re.compile(
    r"\b(?:check|look|see|tell|verify|confirm|show|report|whether|what|which|is|are|does|do)\b",
    re.I,
)
_SET = re.compile(r"\b(?:set|change|switch|select|choose|put|use|prefer)\b", re.I)
_GRANT = re.compile(r"\b(?:grant|allow|give|enable|turn on|switch on)\b", re.I)
_MODES: tuple[tuple[str, str], ...] = (
    (r"4g_5g_preferred|4g\s*(?:/|and|or|&|,)\s*5g|5g\s*(?:/|and|or|&|,)\s*4g", "4g_5g_preferred"),
    (r"4g_only|4g only|only 4g", "4g_only"),
    (r"3g_only|3g only|only 3g", "3g_only"),
    (r"2g_only|2g only|only 2g", "2g_only"),
)
#: Words for what has no switch, and its tool; the first that fits counts.
_PLAIN: tuple[tuple[str, str], ...] = (
    (r"re-?seat|re-?insert|(?:remove|take out|pull out).*\bsim\b", "reseat_sim_card"),
    (r"\b(?:reset|restore)\b.*\bapn\b|\bapn\b.*\breset\b", "reset_apn_settings"),
    (r"\b(?:reboot|restart)\b|power cycle|turn (?:it|the phone|your phone) off and on",
     "reboot_device"),
    (r"\b(?:disconnect|turn off|switch off|disable)\b.*\bvpn\b|\bvpn\b.*\boff\b", "disconnect_vpn"),
    (r"\b(?:connect|turn on|switch on|enable)\b.*\bvpn\b", "connect_vpn"),
    (r"speed ?test|test (?:the|your) (?:internet )?speed|internet speed|how fast",
     "run_speed_test"),
    (r"status bar", "check_status_bar"),
    (r"\bvpn\b", "check_vpn_status"),
    (r"\bapn\b", "check_apn_settings"),
    (r"\bsim\b", "check_sim_status"),
    (r"installed apps|which apps|list (?:of )?(?:your )?apps", "check_installed_apps"),
    (r"\bmms\b|picture messages?|multimedia messages?", "can_send_mms"),
    (r"(?:check|see|look).*payment request|payment request.*\?", "check_payment_request"),
    (r"\b(?:make|complete|accept|approve)\b.*\bpayment\b|\bpay\b", "make_payment"),
    (r"network status|connection status|network settings|signal strength|\bsignal\b|\bservice\b",
     "check_network_status"),
)  # fmt: skip


def parse_requests(text: str, apps: Sequence[str]) -> tuple[PhoneRequest, ...]:
    """The requests of a message in order, each once; `apps` are those of the phone."""
    requests: list[PhoneRequest] = []
    for clause in _CLAUSES.split(text[:MAX_TEXT])[:_MAX_CLAUSES]:
        shortened = clause[:_MAX_CLAUSE]
        if shortened and not _NEGATED.search(shortened):
            requests += _parse_clause(shortened, apps)
    distinct = [each for at, each in enumerate(requests) if each not in requests[:at]]
    return tuple(distinct[:MAX_REQUESTS])


def _parse_clause(clause: str, apps: Sequence[str]) -> list[PhoneRequest]:
    names = [match.group() for match in _VERBATIM.finditer(clause)]
    if names:
        requests = (_read_arguments(name, clause, apps) for name in names)
        return [request for request in requests if request is not None]
    if _AGENT_ACTS.search(clause) and not _USER_ACTS.search(clause):
        return []
    return _parse_plain_words(clause, apps)


def _read_arguments(name: str, clause: str, apps: Sequence[str]) -> PhoneRequest | None:
    """A named tool with what the clause says of its arguments; None where one is missing."""
    if name in _SWITCH_BY_TOOL:
        return PhoneRequest(name, wanted=_read_wanted(clause.replace(name, "")))
    if name == "set_network_mode_preference":
        mode = _find_mode(clause)
        return PhoneRequest(name, {"mode": mode}) if mode else None
    if name in ("check_app_status", "check_app_permissions"):
        return PhoneRequest(name, {"app_name": _find_app(clause, apps)})
    if name == "grant_app_permission":
        permissions = _find_permissions(clause.replace("permission", ""))
        app = _find_app(clause, apps)
        return (
            PhoneRequest(name, {"app_name": app, "permission": permissions[0]})
            if permissions
            else None
        )
    if name == "set_apn_settings":  # nobody knows the settings of an access point by heart
        return None
    return PhoneRequest(name)


def _parse_plain_words(clause: str, apps: Sequence[str]) -> list[PhoneRequest]:
    lowered = clause.lower()
    if "permission" in lowered or re.search(r"\ballow\b.*\b(?:storage|sms)\b", lowered):
        app, permissions = _find_app(clause, apps), _find_permissions(lowered)
        if permissions and _GRANT.search(clause):
            return [
                PhoneRequest("grant_app_permission", {"app_name": app, "permission": permission})
                for permission in permissions
            ]
        return [PhoneRequest("check_app_permissions", {"app_name": app})]
    mode = _find_mode(clause)
    if mode and _SET.search(clause):
        return [PhoneRequest("set_network_mode_preference", {"mode": mode})]
    if re.search(r"network (?:mode|preference)|preferred network", lowered):
        return [PhoneRequest("check_network_mode_preference")]
    for switch in SWITCHES:
        if re.search(switch.words, lowered):
            wanted = _read_wanted(clause)
            if wanted is not None:
                return [PhoneRequest(switch.switch, wanted=wanted)]
            if _TOGGLE.search(clause):
                return [PhoneRequest(switch.switch)]
            return [PhoneRequest(switch.check)] if _CHECK.search(clause) else []
    for words, tool in _PLAIN:
        if re.search(words, lowered):
            return [PhoneRequest(tool)]
    return []


def _read_wanted(clause: str) -> bool | None:
    """The state that a clause wants a switch in; None where it wants another one than it has."""
    if _OFF.search(clause):
        return False
    return True if _ON.search(clause) else None


def find_switched_field(tool: str) -> str:
    """The field of the device that a tool switches, empty for any other tool."""
    return _SWITCH_BY_TOOL[tool].field if tool in _SWITCH_BY_TOOL else ""


def _find_mode(clause: str) -> str:
    for words, mode in _MODES:
        if re.search(words, clause, re.I):
            return mode
    return next((mode for mode in NETWORK_MODES if mode in clause.lower()), "")


def _find_app(clause: str, apps: Sequence[str]) -> str:
    """The app that a clause names; messages are sent by the first one."""
    lowered = clause.lower()
    named = next((app for app in apps if app.lower() in lowered), "")
    return named or (apps[0] if apps else "messaging")


def _find_permissions(clause: str) -> list[str]:
    positions = [(clause.lower().find(name), name) for name in PERMISSIONS]
    return [name for position, name in sorted(positions) if position >= 0]


def describe_switch(tool: str, device: Mapping[str, Any]) -> str:
    """That a switch is already as it is wanted."""
    return f"That is already {'on' if device[find_switched_field(tool)] else 'off'}."
