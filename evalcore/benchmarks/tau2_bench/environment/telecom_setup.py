"""What a task may do to the user's phone before an episode, and ask of it afterwards."""

from __future__ import annotations

from evalcore.benchmarks.tau2_bench.environment.shapes import ShapeError
from evalcore.benchmarks.tau2_bench.environment.telecom_device import VPN_PERFORMANCE, connect_vpn
from evalcore.benchmarks.tau2_bench.environment.telecom_phone import (
    edit_device,
    edit_surroundings,
    flip_airplane_mode,
    flip_and_search,
    has_mobile_data,
    is_mms_ready,
    measure_speed,
    read_device,
    read_surroundings,
    search_network,
)
from evalcore.benchmarks.tau2_bench.environment.world import Function, State

# What a task may do to a phone before an episode.


def set_user_info(world: State, name: str, phone_number: str) -> None:
    edit_surroundings(world).update(name=name, phone_number=phone_number)


def set_user_location(world: State, abroad: bool) -> None:
    edit_surroundings(world)["is_abroad"] = abroad


def _turn(world: State, setting: str, *, on: bool) -> None:
    """Bring a setting to a value as upstream does: by switching it once, or twice."""
    if flip_and_search(world, setting) != on:
        flip_and_search(world, setting)


def turn_airplane_mode_on(world: State) -> None:
    if not flip_airplane_mode(world):
        flip_airplane_mode(world)


def turn_airplane_mode_off(world: State) -> None:
    if flip_airplane_mode(world):
        flip_airplane_mode(world)


def unseat_sim_card(world: State) -> None:
    edit_device(world)["sim_card_missing"] = True
    search_network(world)


def lock_sim_card(world: State, mode: str) -> None:
    if mode in ("pin", "puk"):
        edit_device(world)["sim_card_status"] = f"locked_{mode}"
    search_network(world)


def turn_data_on(world: State) -> None:
    edit_device(world)["data_enabled"] = True


def turn_data_off(world: State) -> None:
    _turn(world, "data_enabled", on=False)


def turn_roaming_on(world: State) -> None:
    _turn(world, "roaming_enabled", on=True)


def turn_roaming_off(world: State) -> None:
    _turn(world, "roaming_enabled", on=False)


def turn_data_saver_mode_on(world: State) -> None:
    edit_device(world)["data_saver_mode"] = True


def turn_data_saver_mode_off(world: State) -> None:
    edit_device(world)["data_saver_mode"] = False


def break_apn_settings(world: State) -> None:
    edit_device(world)["active_apn_settings"]["apn_name"] = "broken"
    search_network(world)


def break_apn_mms_setting(world: State) -> None:
    edit_device(world)["active_apn_settings"]["mmsc_url"] = None


def set_wifi_calling(world: State, enabled: bool, mms_over_wifi: bool | None = None) -> None:
    device = edit_device(world)
    if device["wifi_calling_enabled"] != enabled:
        device["wifi_calling_enabled"] = not device["wifi_calling_enabled"]
    if mms_over_wifi is not None:
        device["wifi_calling_mms_over_wifi"] = mms_over_wifi


def break_vpn(world: State) -> None:
    connect_vpn(world)
    edit_device(world)["vpn_details"]["server_performance"] = "poor"
    world.notes[VPN_PERFORMANCE] = "poor"


def remove_app_permission(world: State, app_name: str, permission: str) -> None:
    app = read_device(world)["app_statuses"].get(app_name)
    if app is not None and permission.lower() in app["permissions"]:
        permissions = edit_device(world)["app_statuses"][app_name]["permissions"]
        permissions[permission.lower()] = False


# What a task may ask of a phone after an episode.


def assert_airplane_mode_status(world: State, expected_status: bool) -> bool:
    return bool(read_device(world)["airplane_mode"] == expected_status)


def assert_service_status(world: State, expected_status: str) -> bool:
    if expected_status not in ("connected", "searching", "no_service", "emergency_only"):
        raise ShapeError(f"{expected_status!r} is no status of a network"[:200])
    return bool(read_device(world)["network_connection_status"] == expected_status)


def assert_mobile_data_status(world: State, expected_status: bool) -> bool:
    return has_mobile_data(world) == expected_status


def assert_mobile_roaming_status(world: State, expected_status: bool) -> bool:
    return bool(read_device(world)["roaming_enabled"] == expected_status)


def assert_mobile_data_saver_mode_status(world: State, expected_status: bool) -> bool:
    return bool(read_device(world)["data_saver_mode"] == expected_status)


def assert_internet_speed(
    world: State, expected_speed: float, expected_desc: str | None = None
) -> bool:
    speed, quality = measure_speed(world)
    fits = expected_desc is None or quality.lower() == expected_desc.lower()
    return (speed or 0.0) >= expected_speed and fits


def assert_internet_not_excellent(world: State) -> bool:
    return measure_speed(world)[1] != "Excellent"


def assert_can_send_mms(world: State, expected_status: bool) -> bool:
    return is_mms_ready(world) == expected_status


def assert_mobile_data_usage_exceeded(world: State, expected_status: bool) -> bool:
    return bool(read_surroundings(world)["mobile_data_usage_exceeded"] == expected_status)


FUNCTIONS: dict[str, Function] = {"simulate_network_search": search_network} | {
    function.__name__: function
    for function in (
        *(set_user_info, set_user_location, turn_airplane_mode_on, turn_airplane_mode_off),
        *(unseat_sim_card, lock_sim_card, turn_data_on, turn_data_off, turn_roaming_on),
        *(turn_roaming_off, turn_data_saver_mode_on, turn_data_saver_mode_off),
        *(break_apn_settings, break_apn_mms_setting, set_wifi_calling, break_vpn),
        *(remove_app_permission, assert_airplane_mode_status, assert_service_status),
        *(assert_mobile_data_status, assert_mobile_roaming_status),
        *(assert_mobile_data_saver_mode_status, assert_internet_speed),
        *(assert_internet_not_excellent, assert_can_send_mms, assert_mobile_data_usage_exceeded),
    )
}
