"""The user's tools of the telephone company: looking at their phone and changing it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.tau2_bench.environment.telecom_phone import (
    APN,
    NETWORK_MODES,
    PERMISSIONS,
    edit_device,
    edit_surroundings,
    find_sim_status,
    flip_airplane_mode,
    flip_and_search,
    flip_setting,
    is_mms_ready,
    measure_speed,
    read_apn_setting,
    read_device,
    read_surroundings,
    search_network,
)
from evalcore.benchmarks.tau2_bench.environment.world import State, build_tool
from evalcore.benchmarks.tau_bench.environment.database import Entity
from evalcore.benchmarks.tau_bench.environment.tools import text_schema

# What the user can look at.


def check_status_bar(world: State) -> str:
    return f"Status Bar: {format_status_bar(read_device(world))}"


_BARS = {
    "none": "📵 No Signal",
    "poor": "📶¹ Poor",
    "fair": "📶² Fair",
    "good": "📶³ Good",
    "excellent": "📶⁴ Excellent",
}


def format_status_bar(device: Entity) -> str:
    technology = device["network_technology_connected"]
    parts = []
    if device["airplane_mode"]:
        parts.append("✈️ Airplane Mode")
    else:
        parts.append(_BARS[device["network_signal_strength"]])
        has_network = technology != "none"
        parts += [technology] if has_network else []
        if device["data_enabled"] and has_network:
            parts.append("📱 Data Enabled")
            parts += ["🔽 Data Saver"] if device["data_saver_mode"] else []
        else:
            parts.append("📵 Data Disabled")
    if device["wifi_enabled"] and device["wifi_connected"]:
        ssid = device["wifi_ssid"]
        parts.append(f"📡 Connected to {ssid}" if ssid else "📡 Enabled")
    parts += ["🔒 VPN Connected"] if device["vpn_connected"] else []
    return " | ".join([*parts, f"🔋 {device['battery_level']}%"])


def _on_off(value: Any) -> str:
    return "ON" if value else "OFF"


def _yes_no(value: Any) -> str:
    return "Yes" if value else "No"


def check_network_status(world: State) -> str:
    device = read_device(world)
    lines = [
        f"Airplane Mode: {_on_off(device['airplane_mode'])}",
        f"SIM Card Status: {find_sim_status(device)}",
        f"Cellular Connection: {device['network_connection_status']}",
        f"Cellular Signal: {device['network_signal_strength']}",
        f"Cellular Network Type: {device['network_technology_connected']}",
        f"Mobile Data Enabled: {_yes_no(device['data_enabled'])}",
        f"Data Roaming Enabled: {_yes_no(device['roaming_enabled'])}",
        f"Wi-Fi Radio: {_on_off(device['wifi_enabled'])}",
        f"Wi-Fi Connected: {_yes_no(device['wifi_connected'])}",
    ]
    if device["wifi_connected"]:
        lines.append(f"Connected Wi-Fi Network: {device['wifi_ssid']}")
    return "\n".join(lines)


def check_network_mode_preference(world: State) -> str:
    mode = read_device(world)["network_mode_preference"]
    if not isinstance(mode, str):
        raise AttributeError(f"{type(mode).__name__!r} object has no attribute 'value'")
    return f"Network Mode Preference: {mode}"


def run_speed_test(world: State) -> str:
    speed, quality = measure_speed(world)
    if speed is None:
        return f"Speed test failed: {quality}."
    return f"Speed Test Result: {speed:.2f} Mbps ({quality})."


_SIM_TEXTS = {
    "active": "Your SIM card is active and working.",
    "missing": "No SIM card detected in the phone.",
    "locked_pin": "The SIM card is locked with a PIN code.",
    "locked_puk": "The SIM card is locked with a PUK code.",
}


def check_sim_status(world: State) -> str:
    return _SIM_TEXTS[find_sim_status(read_device(world))]


def check_data_restriction_status(world: State) -> str:
    if read_device(world)["data_saver_mode"]:
        return "Data Saver mode is ON (limits data usage)."
    return "Data Saver mode is OFF."


def check_apn_settings(world: State) -> str:
    apn = read_device(world)["active_apn_settings"]
    if not isinstance(apn, Mapping):
        raise AttributeError(f"{type(apn).__name__!r} object has no attribute 'model_copy'")
    return (
        f"Current APN Name: {apn['apn_name']}\n"
        f"MMSC URL (for picture messages): {apn['mmsc_url'] or 'Not Set'}"
    )


def check_wifi_status(world: State) -> str:
    device = read_device(world)
    if not device["wifi_enabled"]:
        return "Wi-Fi is turned OFF."
    if not device["wifi_connected"]:
        return "Wi-Fi is ON but not connected to any network."
    signal = device["wifi_signal_strength"]
    return f"Wi-Fi is ON and connected to '{device['wifi_ssid']}'. Signal strength: {signal}."


def check_wifi_calling_status(world: State) -> str:
    state = _on_off(read_device(world)["wifi_calling_enabled"])
    return f"Wi-Fi Calling is currently turned {state}."


def check_vpn_status(world: State) -> str:
    device = read_device(world)
    if device["vpn_connected"]:
        if device["vpn_details"]:
            return f"VPN is ON and connected. Details: {device['vpn_details']}"
        return "VPN is ON and connected (no specific details available)."
    if device["vpn_enabled_setting"]:
        return "VPN is turned ON in settings, but currently not connected."
    return "VPN is turned OFF."


def check_installed_apps(world: State) -> str:
    names = ", ".join(read_device(world)["app_statuses"])
    return f"The following apps are installed on the phone: {names}"


def check_app_status(world: State, app_name: str) -> str:
    app = read_device(world)["app_statuses"].get(app_name)
    if app is None:
        return f"App '{app_name}' not found on this phone."
    granted = [f"   - {name}" for name, allowed in app["permissions"].items() if allowed]
    first = " - Permissions Granted:" if granted else " - Permissions: None granted."
    return "\n".join([f"Status for App: {app_name}", first, *granted])


def check_app_permissions(world: State, app_name: str) -> str:
    app = read_device(world)["app_statuses"].get(app_name)
    if app is None:
        return f"App '{app_name}' not found on this phone."
    granted = [name for name, allowed in app["permissions"].items() if allowed]
    if not granted:
        return f"App '{app_name}' currently has no permissions granted."
    return f"App '{app_name}' has permission for: {', '.join(granted)}."


def can_send_mms(world: State) -> str:
    word = "can" if is_mms_ready(world) else "cannot"
    return f"Your messaging app {word} send MMS messages."


def check_payment_request(world: State) -> str:
    request = read_surroundings(world)["payment_request"]
    if request is None:
        return "No payment request has been made."
    return (
        f"You have a payment request for bill {request['bill_id']} of {request['amount_due']} USD."
    )


# What the user can change.


def _with_status_bar(world: State, text: str) -> str:
    return f"{text}\nStatus Bar: {format_status_bar(read_device(world))}"


def set_network_mode_preference(world: State, mode: str) -> str:
    if isinstance(mode, str) and mode not in NETWORK_MODES:
        options = ", ".join(NETWORK_MODES)
        text = f"Failed to set network mode: '{mode}' is not a valid option. Please use one of: "
        return _with_status_bar(world, text + options)
    edit_device(world)["network_mode_preference"] = mode
    search_network(world)
    if not isinstance(mode, str):  # upstream sets it, too, before it fails
        raise AttributeError(f"{type(mode).__name__!r} object has no attribute 'value'")
    return _with_status_bar(world, f"Preferred Network Mode set to: {mode}")


def toggle_airplane_mode(world: State) -> str:
    state = _on_off(flip_airplane_mode(world))
    return _with_status_bar(world, f"Airplane Mode is now {state}.")


def reseat_sim_card(world: State) -> str:
    edit_device(world)["sim_card_missing"] = False
    search_network(world)
    if find_sim_status(read_device(world)) == "missing":
        raise ValueError("")
    return _with_status_bar(world, "SIM card re-seated successfully.")


def toggle_data(world: State) -> str:
    state = _on_off(flip_and_search(world, "data_enabled"))
    return _with_status_bar(world, f"Mobile Data is now {state}.")


def toggle_roaming(world: State) -> str:
    state = _on_off(flip_and_search(world, "roaming_enabled"))
    return _with_status_bar(world, f"Data Roaming is now {state}.")


def toggle_data_saver_mode(world: State) -> str:
    state = _on_off(flip_setting(world, "data_saver_mode"))
    return _with_status_bar(world, f"Data Saver Mode is now {state}.")


def set_apn_settings(world: State, apn_settings: Mapping[str, Any]) -> str:
    settings = APN(apn_settings) if isinstance(apn_settings, Mapping) else apn_settings
    edit_device(world)["active_apn_settings"] = settings
    text = f"APN settings set to: {read_apn_setting(read_device(world), 'apn_name')}"
    search_network(world)
    return _with_status_bar(world, text)


def reset_apn_settings(world: State) -> str:
    read_apn_setting(read_device(world), "reset_at_reboot")
    edit_device(world)["active_apn_settings"]["reset_at_reboot"] = True
    search_network(world)
    return _with_status_bar(world, "APN settings will reset at reboot.")


def toggle_wifi(world: State) -> str:
    if read_device(world)["airplane_mode"]:
        text = "Cannot change Wi-Fi settings while Airplane Mode is ON."
        return _with_status_bar(world, text)
    turned_on = flip_setting(world, "wifi_enabled")
    if not turned_on:
        edit_device(world).update(wifi_connected=False, wifi_ssid=None, wifi_signal_strength="none")
    return _with_status_bar(world, f"Wi-Fi is now {_on_off(turned_on)}.")


def toggle_wifi_calling(world: State) -> str:
    state = _on_off(flip_setting(world, "wifi_calling_enabled"))
    return _with_status_bar(world, f"Wi-Fi Calling is now {state}.")


_OWN_VPN = {"server_address": "192.168.1.1", "protocol": "OpenVPN"}
#: The note on how well the VPN works that a task has broken: as upstream, for the whole episode.
VPN_PERFORMANCE = "vpn_performance"


def connect_vpn(world: State) -> str:
    if read_device(world)["vpn_connected"]:
        return "VPN already connected."
    performance = world.notes.get(VPN_PERFORMANCE, "excellent")
    details = {**_OWN_VPN, "server_performance": performance}
    edit_device(world).update(vpn_connected=True, vpn_details=details)
    return _with_status_bar(world, "VPN connected successfully.")


def disconnect_vpn(world: State) -> str:
    if not read_device(world)["vpn_connected"]:
        return _with_status_bar(world, "No active VPN connection to disconnect.")
    edit_device(world).update(vpn_connected=False, vpn_details=None)
    return _with_status_bar(world, "VPN disconnected successfully.")


def grant_app_permission(world: State, app_name: str, permission: str) -> str:
    device = read_device(world)
    is_installed = app_name in device["app_statuses"]
    permission = permission.lower()
    if not is_installed:
        text = f"Error. App '{app_name}' not found. Cannot grant permission."
    elif permission not in PERMISSIONS:
        text = f"Error. Permission '{permission}' not tracked for app '{app_name}', "
        text += f"available permissions: {list(PERMISSIONS)}"
    else:
        edit_device(world)["app_statuses"][app_name]["permissions"][permission] = True
        text = f"Success. Permission '{permission}' granted to app '{app_name}'."
    return _with_status_bar(world, text)


def reboot_device(world: State) -> str:
    lines = ["Restarting network services..."]
    device = edit_device(world)
    if read_apn_setting(device, "reset_at_reboot"):
        lines.insert(0, "Resetting APN settings...")
        device["active_apn_settings"] = APN({})
    search_network(world)
    return _with_status_bar(world, "\n".join(lines))


def make_payment(world: State) -> str:
    request = read_surroundings(world)["payment_request"]
    if request is None:
        return "You do not have a payment request."
    edit_surroundings(world)["payment_request"]["paid"] = True
    return f"Payment of {request['amount_due']} USD has been made for bill {request['bill_id']}."


_SCHEMAS: dict[str, Schema] = {
    "mode": text_schema("The preferred network.", *NETWORK_MODES),
    "apn_settings": {"type": "object", "description": "The settings of the access point."},
    "app_name": text_schema("The name of an app, such as 'messaging'."),
    "permission": text_schema("The permission.", *PERMISSIONS),
}


_build_write = partial(build_tool, schemas=_SCHEMAS, mutates=True)
_build_read = partial(build_tool, schemas=_SCHEMAS)
TOOLS = (
    _build_read(check_status_bar, "What the phone's status bar shows."),
    _build_read(check_network_status, "The phone's connection, SIM card and network settings."),
    _build_read(check_network_mode_preference, "Which networks the phone prefers."),
    _build_write(set_network_mode_preference, "Choose which networks the phone prefers."),
    _build_read(run_speed_test, "How fast mobile data is."),
    _build_write(toggle_airplane_mode, "Turn airplane mode on or off."),
    _build_read(check_sim_status, "Whether the SIM card works."),
    _build_write(reseat_sim_card, "Take the SIM card out and put it back."),
    _build_write(toggle_data, "Turn mobile data on or off."),
    _build_write(toggle_roaming, "Turn data roaming on or off."),
    _build_read(check_data_restriction_status, "Whether data saver limits the use of data."),
    _build_write(toggle_data_saver_mode, "Turn data saver on or off."),
    _build_read(check_apn_settings, "The settings of the access point."),
    _build_write(set_apn_settings, "Write settings of the access point."),
    _build_write(reset_apn_settings, "Have the access point's settings reset at the next reboot."),
    _build_read(check_wifi_status, "Whether Wi-Fi is on and connected."),
    _build_write(toggle_wifi, "Turn Wi-Fi on or off."),
    _build_read(check_wifi_calling_status, "Whether calls go over Wi-Fi."),
    _build_write(toggle_wifi_calling, "Turn calls over Wi-Fi on or off."),
    _build_read(check_vpn_status, "Whether a VPN is connected."),
    _build_write(connect_vpn, "Connect the VPN."),
    _build_write(disconnect_vpn, "Disconnect the VPN."),
    _build_read(check_installed_apps, "Which apps are installed."),
    _build_read(check_app_status, "The permissions of an app, one a line."),
    _build_read(check_app_permissions, "The permissions of an app."),
    _build_write(grant_app_permission, "Give an app a permission."),
    _build_read(can_send_mms, "Whether picture messages can be sent."),
    _build_write(reboot_device, "Restart the phone."),
    _build_read(check_payment_request, "Whether a bill waits to be paid."),
    _build_write(make_payment, "Pay the bill that waits."),
)
