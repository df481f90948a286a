"""The user's phone of the telephone company: its records, what it measures, and how it finds its
network.

Whether the user's line is active, may roam and has data left is carried over from the agent's side
by `synchronize`, and so are requests for payment; payments are carried back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalcore.benchmarks.tau2_bench.environment import telecom
from evalcore.benchmarks.tau2_bench.environment.shapes import (
    Shape,
    choice_of,
    map_of,
    optional,
    to_flag,
    to_number,
    to_text,
    to_whole,
)
from evalcore.benchmarks.tau2_bench.environment.world import State
from evalcore.benchmarks.tau_bench.environment.database import Entity

SIGNALS = ("none", "poor", "fair", "good", "excellent")
TECHNOLOGIES = ("none", "2G", "3G", "4G", "5G")
#: The technology of each preference, None for the best that has a signal.
NETWORK_MODES: Mapping[str, str | None] = {
    "4g_5g_preferred": None,
    "4g_only": "4G",
    "3g_only": "3G",
    "2g_only": "2G",
}
PERMISSIONS = ("sms", "storage", "phone", "network")

APN = Shape(
    {
        "apn_name": choice_of("internet", "broken"),
        "reset_at_reboot": to_flag,
        "mms_apn": optional(to_text),
        "mmsc_url": optional(to_text),
        "mms_proxy": optional(to_text),
        "mms_port": optional(to_whole),
    },
    {
        "apn_name": "internet",
        "reset_at_reboot": False,
        "mms_apn": "mms",
        "mmsc_url": "http://mms.carrier.com/mms/wapenc",
        "mms_proxy": None,
        "mms_port": None,
    },
    closed=True,
)
_VPN = Shape(
    {
        "server_address": optional(to_text),
        "protocol": optional(to_text),
        "server_performance": choice_of("unknown", "poor", "fair", "good", "excellent"),
    },
    {"server_address": None, "protocol": None, "server_performance": "unknown"},
    closed=True,
)
_PERMISSIONS = Shape(
    dict.fromkeys(PERMISSIONS, to_flag), dict.fromkeys(PERMISSIONS, False), closed=True
)
_APP = Shape(
    {"app_name": to_text, "permissions": _PERMISSIONS},
    {"permissions": lambda: _PERMISSIONS({})},
    closed=True,
)


def _default_apps() -> dict[str, Entity]:
    messaging, browser = ("sms", "storage", "phone"), ("network", "storage")
    allowed = {"messaging": messaging, "browser": browser}
    return {
        app: _APP({"app_name": app, "permissions": dict.fromkeys(names, True)})
        for app, names in allowed.items()
    }


_DEVICE_FIELDS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sim_card_status": (choice_of("active", "missing", "locked_pin", "locked_puk"), "active"),
    "sim_card_missing": (to_flag, False),
    "airplane_mode": (to_flag, False),
    "network_signal_strength": (choice_of(*SIGNALS), "good"),
    "network_technology_connected": (choice_of(*TECHNOLOGIES), "5G"),
    "network_connection_status": (
        choice_of("connected", "searching", "no_service", "emergency_only"),
        "connected",
    ),
    "battery_level": (to_whole, 80),
    "data_enabled": (to_flag, True),
    "roaming_enabled": (to_flag, False),
    "network_mode_preference": (choice_of(*NETWORK_MODES), "4g_5g_preferred"),
    "active_apn_settings": (APN, lambda: APN({})),
    "wifi_enabled": (to_flag, False),
    "wifi_connected": (to_flag, False),
    "wifi_ssid": (optional(to_text), None),
    "wifi_signal_strength": (choice_of(*SIGNALS), "none"),
    "wifi_calling_enabled": (to_flag, False),
    "wifi_calling_mms_over_wifi": (to_flag, False),
    "data_saver_mode": (to_flag, False),
    "vpn_enabled_setting": (to_flag, False),
    "vpn_connected": (to_flag, False),
    "vpn_details": (optional(_VPN), None),
    "app_statuses": (map_of(_APP), _default_apps),
}
DEVICE = Shape(
    {name: convert for name, (convert, _) in _DEVICE_FIELDS.items()},
    {name: default for name, (_, default) in _DEVICE_FIELDS.items()},
    closed=True,
)
_PAYMENT_REQUEST = Shape(
    {"bill_id": to_text, "amount_due": to_number, "paid": to_flag}, {"paid": False}, closed=True
)
_SURROUNDINGS_DEFAULTS: dict[str, Any] = {
    "name": None,
    "phone_number": None,
    "is_abroad": False,
    "roaming_allowed": False,
    "signal_strength": lambda: {"2G": "poor", "3G": "fair", "4G": "good", "5G": "excellent"},
    "mobile_data_usage_exceeded": False,
    "line_active": True,
    "payment_request": None,
}
SURROUNDINGS = Shape(
    {
        "name": optional(to_text),
        "phone_number": optional(to_text),
        "is_abroad": to_flag,
        "roaming_allowed": to_flag,
        "signal_strength": map_of(choice_of(*SIGNALS), choice_of(*TECHNOLOGIES)),
        "mobile_data_usage_exceeded": to_flag,
        "line_active": to_flag,
        "payment_request": optional(_PAYMENT_REQUEST),
    },
    _SURROUNDINGS_DEFAULTS,
    closed=True,
)
#: Tables of the user's side; each holds one row of its own name.
TABLES = {"device": DEVICE, "surroundings": SURROUNDINGS}


def edit_device(world: State) -> Entity:
    return world.user.edit("device", "device")


def edit_surroundings(world: State) -> Entity:
    return world.user.edit("surroundings", "surroundings")


def read_device(world: State) -> Entity:
    return world.user.require_row("device", "device", "the user has no phone")


def read_surroundings(world: State) -> Entity:
    return world.user.require_row("surroundings", "surroundings", "the user is nowhere")


def synchronize(world: State) -> None:
    """Carry the state of the user's line and bills over to their phone, and payments back."""
    number = read_surroundings(world)["phone_number"]
    if number is None:
        return
    line = telecom.find_line_by_phone(world, number)
    plan = telecom.find_row(world, "plans", line["plan_id"])
    has_no_data = line["data_used_gb"] >= plan["data_limit_gb"] + line["data_refueling_gb"]
    _set_surroundings(
        world,
        line_active=line["status"] == "Active",
        roaming_allowed=bool(line["roaming_enabled"]),
        mobile_data_usage_exceeded=bool(has_no_data),
    )
    request = read_surroundings(world)["payment_request"]
    if request is not None and request["paid"]:
        telecom.find_row(world, "bills", request["bill_id"])
        world.agent.edit("bills", request["bill_id"])["status"] = "Paid"
        _set_surroundings(world, payment_request=None)
        request = None
    if request is None:
        customer = telecom.get_customer_by_phone(world, number)
        bills = telecom.list_awaiting_bills(world, customer)
        if bills:
            row = {"bill_id": bills[0]["bill_id"], "amount_due": bills[0]["total_due"]}
            _set_surroundings(world, payment_request=_PAYMENT_REQUEST(row))


def _set_surroundings(world: State, **values: Any) -> None:
    """Set what differs, so that an unchanged row stays untouched."""
    now = read_surroundings(world)
    changed = {name: value for name, value in values.items() if now[name] != value}
    if changed:
        edit_surroundings(world).update(changed)


#: Slowest and fastest Mbps of each technology, and what share of it a signal leaves.
_SPEEDS = {"2G": (0.1, 0.4), "3G": (1.0, 5.0), "4G": (10.0, 100.0), "5G": (50.0, 500.0)}
_SIGNAL_SHARES = {"poor": 0.2, "fair": 0.5, "good": 0.8, "excellent": 1.0}
_QUALITIES = ((1, "Very Poor"), (5, "Poor"), (25, "Fair"), (100, "Good"))


def measure_speed(world: State) -> tuple[float | None, str]:
    """Mbps and what they are called; None where there is no connection."""
    if not has_mobile_data(world):
        return None, "No Connection"
    device = read_device(world)
    vpn = device["vpn_details"]
    slow_vpn = device["vpn_connected"] and vpn and vpn["server_performance"] == "poor"
    share = 0.1 if slow_vpn else 1.0
    share *= 0.2 if device["data_saver_mode"] else 1
    slowest, fastest = _SPEEDS.get(device["network_technology_connected"], (0.0, 0.0))
    signal = _SIGNAL_SHARES.get(device["network_signal_strength"], 0.0)
    speed = round((slowest + fastest) / 2.0 * signal * share, 2)
    return speed, next((name for limit, name in _QUALITIES if speed < limit), "Excellent")


def has_mobile_data(world: State) -> bool:
    device, around = read_device(world), read_surroundings(world)
    if device["airplane_mode"] or device["network_signal_strength"] == "none":
        return False
    if device["network_connection_status"] == "no_service":
        return False
    can_roam = device["roaming_enabled"] and around["roaming_allowed"]
    if around["is_abroad"] and not can_roam:
        return False
    return bool(device["data_enabled"]) and not around["mobile_data_usage_exceeded"]


def find_sim_status(device: Entity) -> str:
    return "missing" if device["sim_card_missing"] else str(device["sim_card_status"])


def read_apn_setting(device: Entity, name: str) -> Any:
    """A setting of the access point. Raises AttributeError, as upstream, where a call has put
    something else in the place of its settings."""
    settings = device["active_apn_settings"]
    if not isinstance(settings, Mapping):
        raise AttributeError(f"{type(settings).__name__!r} object has no attribute {name!r}")
    return settings.get(name)


def is_mms_ready(world: State) -> bool:
    device = read_device(world)
    if not has_mobile_data(world) or device["network_technology_connected"] == "2G":
        return False
    if device["wifi_calling_enabled"] and device["wifi_calling_mms_over_wifi"]:
        return False
    messaging = device["app_statuses"].get("messaging")
    if read_apn_setting(device, "mmsc_url") is None or messaging is None:
        return False
    return bool(messaging["permissions"]["storage"] and messaging["permissions"]["sms"])


def search_network(world: State) -> None:
    """Connect the phone to what its SIM card, its settings and its line let it have."""
    device, around = edit_device(world), read_surroundings(world)
    preference = device["network_mode_preference"]
    technology = NETWORK_MODES[preference] if isinstance(preference, str) else "4G"
    if technology is None:
        has_fast = around["signal_strength"].get("5G", "none") != "none"
        technology = "5G" if has_fast else "4G"
    if find_sim_status(device) == "active":
        signal = around["signal_strength"].get(technology, "none")
        _set_network(device, "connected", technology, signal)
    else:
        _set_network(device, "no_service", "none", "none")
    if device["airplane_mode"]:
        _set_network(device, "no_service", "none", "none")
    is_broken = read_apn_setting(device, "apn_name") == "broken"
    if is_broken or not around["line_active"]:
        _set_network(device, "no_service", "none", "none")


def _set_network(device: Entity, status: str, technology: str, signal: str) -> None:
    device["network_connection_status"] = status
    device["network_technology_connected"] = technology
    device["network_signal_strength"] = signal


def flip_setting(world: State, setting: str) -> bool:
    """Turn a setting of the phone to its other value, which is given."""
    device = edit_device(world)
    device[setting] = not device[setting]
    return bool(device[setting])


def flip_airplane_mode(world: State) -> bool:
    turned_on = flip_setting(world, "airplane_mode")
    device = edit_device(world)
    if turned_on or device["wifi_enabled"]:
        device.update(wifi_connected=False, wifi_ssid=None, wifi_signal_strength="none")
    if turned_on and device["vpn_connected"]:
        device.update(vpn_connected=False, vpn_details=None)
    search_network(world)
    return turned_on


def flip_and_search(world: State, setting: str) -> bool:
    turned_on = flip_setting(world, setting)
    search_network(world)
    return turned_on
