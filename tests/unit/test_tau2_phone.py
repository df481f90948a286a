"""The telephone company: the phone as its user sees it, and what an agent's words ask for."""

import asyncio
from pathlib import Path

import pytest

from evalcore.benchmarks.tau2_bench.environment.loaders import load_tasks, load_world
from evalcore.benchmarks.tau2_bench.environment.reward import start_environment
from evalcore.benchmarks.tau2_bench.environment.world import Environment
from evalcore.benchmarks.tau2_bench.phone_requests import MAX_REQUESTS, parse_requests
from evalcore.benchmarks.tau2_bench.user_simulators import build_rule_user

DATA = Path(__file__).parents[2] / "datasets" / "tau2_bench"
APPS = ["messaging", "browser"]


@pytest.fixture(scope="module")
def world():
    return load_world(DATA, "telecom")


@pytest.fixture(scope="module")
def tasks(world):
    return {task.id: task for task in load_tasks(DATA, world, "bundled")}


def do(environment, *names):
    return [environment.call(name, {}, "user") for name in names][-1]


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("Please turn off airplane mode.", ["toggle_airplane_mode"]),
        ("Is airplane mode on? Could you check?", ["check_network_status"]),
        ("Please run `toggle_roaming` and then `run_speed_test`.",
         ["toggle_roaming", "run_speed_test"]),
        ("1. Reset your APN settings.\n2. Reboot your phone.",
         ["reset_apn_settings", "reboot_device"]),
        ("Do not turn on Wi-Fi calling. Please turn it off: toggle_wifi_calling",
         ["toggle_wifi_calling"]),
        ("I will enable roaming for your line.", []),
        ("I have resumed your line. Please restart your phone.", ["reboot_device"]),
        ("What does your status bar show?", ["check_status_bar"]),
        ("Please take out the SIM card and put it back in.", ["reseat_sim_card"]),
        ("Disconnect from the VPN, please.", ["disconnect_vpn"]),
        ("How can I help you today?", []),
        ("What is your phone number?", []),
        ("", []),
    ],
)  # fmt: skip
def test_words_become_requests(text, tools):
    assert [request.tool for request in parse_requests(text, APPS)] == tools


@pytest.mark.parametrize(
    ("text", "kwargs"),
    [
        ("Set the network mode to 4G/5G preferred.", {"mode": "4g_5g_preferred"}),
        ("set_network_mode_preference(mode=\"3g_only\")", {"mode": "3g_only"}),
        ("Please grant the messaging app the storage permission.",
         {"app_name": "messaging", "permission": "storage"}),
        ("grant_app_permission(app_name=\"browser\", permission=\"sms\")",
         {"app_name": "browser", "permission": "sms"}),
        ("Which permissions does the messaging app have?", {"app_name": "messaging"}),
    ],
)  # fmt: skip
def test_words_become_arguments(text, kwargs):
    assert parse_requests(text, APPS)[0].kwargs == kwargs


def test_a_message_is_bounded():
    assert len(parse_requests("Turn on roaming. " * 2, APPS)) == 1
    names = " ".join(f"Run {name}." for name in ("check_status_bar", "toggle_data") * 500)
    assert len(parse_requests(names * 20, APPS)) <= MAX_REQUESTS
    assert parse_requests("reset " * 100_000 + "apn", APPS) == ()
    assert parse_requests("turn " * 100_000, APPS) == ()


def test_a_phone_loses_and_finds_its_network(world):
    environment = Environment(world)
    assert "Airplane Mode is now ON" in do(environment, "toggle_airplane_mode")
    assert "No Connection" in do(environment, "run_speed_test")
    assert "5G" in do(environment, "toggle_airplane_mode")
    assert do(environment, "run_speed_test").startswith("Speed Test Result: 275.00 Mbps")


def test_a_broken_vpn_stays_slow_for_the_episode(world):
    environment = Environment(world)
    environment.call_function("user", "simulate_network_search", {})
    environment.call_function("user", "break_vpn", {})
    assert "27.50" in do(environment, "run_speed_test")
    do(environment, "disconnect_vpn", "connect_vpn")
    assert "27.50" in do(environment, "run_speed_test")
    assert Environment(world).state.notes == {}


def test_a_bill_is_paid_by_the_user_and_the_line_resumed_by_the_agent(world, tasks):
    task = tasks["telecom_01"]
    environment = start_environment(world, task)
    request = next(action for action in task.actions if action.name == "send_payment_request")
    resume = next(action for action in task.actions if action.name == "resume_line")
    assert do(environment, "make_payment") == "You do not have a payment request."
    assert "sent" in environment.call(request.name, request.arguments)
    assert "already awaiting" in environment.call(request.name, request.arguments)
    assert "has been made" in do(environment, "make_payment")
    bill = environment.state.agent.get("bills", request.arguments["bill_id"])
    assert bill["status"] == "Paid"
    assert "No Signal" in do(environment, "reboot_device")
    environment.call(resume.name, resume.arguments)
    assert "Excellent" in do(environment, "reboot_device")


@pytest.mark.parametrize("kwargs", [None, [], "x", {"mode": []}, {"mode": 3}, {"nope": 1}, {}])
def test_no_argument_raises(world, kwargs):
    environment = Environment(world)
    answer = environment.call("set_network_mode_preference", kwargs, "user")
    assert answer.startswith("Error")


def test_neither_side_has_the_tools_of_the_other(world):
    environment = Environment(world)
    assert environment.call("toggle_data", {}).startswith("Error: Tool")
    assert environment.call("enable_roaming", {}, "user").startswith("Error: Tool")


def converse(world, task, *lines):
    """What the rule user answers to an agent's lines, and whether the last one ended it."""
    environment = start_environment(world, task)
    user = build_rule_user(task, environment, 0)
    answers = [asyncio.run(user.open())]
    done = False
    for line in lines:
        answer, done = asyncio.run(user.reply(line, environment.writes))
        answers.append(answer)
    return environment, answers, done


def test_the_user_does_nothing_on_their_own_and_gives_up(world, tasks):
    environment, answers, done = converse(world, tasks["telecom_08"], *["All is fixed now."] * 5)
    assert environment.writes == []
    assert "still" in answers[1]
    assert done


def test_the_user_tells_what_is_asked_and_no_more(world, tasks):
    _, answers, done = converse(
        world, tasks["telecom_08"], "May I have your phone number?", "And your customer id?"
    )
    assert "555-" not in answers[0]
    assert "555-" in answers[1]
    assert answers[2] == "I do not know that."
    assert not done


def test_the_user_agrees_to_the_data_they_want_alone(world, tasks):
    offer = "Shall I add {} GB of data for $5?"
    _, answers, _ = converse(world, tasks["telecom_10"], offer.format(5), offer.format(2))
    assert answers[1:] == ["No, only 2 GB.", "Yes, please."]
    _, answers, _ = converse(world, tasks["telecom_08"], offer.format(2))
    assert answers[1].startswith("No")


def test_the_user_is_content_when_the_phone_works(world, tasks):
    steps = [f"Please run {action.name}." for action in tasks["telecom_00"].actions]
    environment, answers, done = converse(world, tasks["telecom_00"], *steps, "Anything else?")
    assert len(environment.writes) == len(steps)
    assert "ork" in answers[len(steps)]
    assert done
    assert "STOP" in answers[-1]


@pytest.mark.parametrize(
    "steps",
    [
        [
            ("toggle_airplane_mode", "Status Bar: ✈️ Airplane Mode | 🔋"),
            ("check_network_status", "Cellular Connection: no_service"),
            ("toggle_wifi", "Cannot change Wi-Fi"),
            ("can_send_mms", "cannot send MMS"),
            ("run_speed_test", "failed: No Connection"),
            ("toggle_airplane_mode", "| 5G | 📱 Data Enabled |"),
            ("can_send_mms", "app can send MMS"),
        ],
        [
            ("toggle_data", "📵 Data Disabled"),
            ("run_speed_test", "failed: No Connection"),
            ("toggle_data", "📱 Data Enabled"),
            ("toggle_data_saver_mode", "🔽 Data Saver"),
            ("check_data_restriction_status", "is ON"),
            ("run_speed_test", "55.00 Mbps (Good)"),
        ],
        [
            ("connect_vpn", "🔒 VPN Connected"),
            ("connect_vpn", "already connected"),
            ("check_vpn_status", "'server_performance': 'excellent'"),
            ("disconnect_vpn", "disconnected successfully"),
            ("disconnect_vpn", "No active VPN"),
            ("check_vpn_status", "VPN is turned OFF."),
        ],
        [
            ("toggle_wifi", "Wi-Fi is now ON"),
            ("check_wifi_status", "not connected to any network"),
            ("toggle_wifi", "Wi-Fi is now OFF"),
            ("check_wifi_status", "turned OFF"),
            ("toggle_wifi_calling", "now ON"),
            ("check_wifi_calling_status", "turned ON"),
        ],
        [
            (("set_network_mode_preference", {"mode": "5g_only"}), "not a valid option"),
            (("set_network_mode_preference", {"mode": "2g_only"}), "📶¹ Poor | 2G"),
            ("check_network_mode_preference", "2g_only"),
            (("set_network_mode_preference", {"mode": 3}), "Error: "),
            (("set_network_mode_preference", {"mode": "4g_5g_preferred"}), "| 5G |"),
        ],
        [
            (("set_apn_settings", {"apn_settings": {"apn_name": "x"}}), "Error: apn_name"),
            (("set_apn_settings", {"apn_settings": {"junk": 1}}), "Error: the field 'junk'"),
            ("check_apn_settings", "Current APN Name: internet"),
            (("set_apn_settings", {"apn_settings": {"apn_name": "broken"}}), "broken"),
            ("run_speed_test", "No Connection"),
            ("reset_apn_settings", "reset at reboot"),
            ("check_apn_settings", "Current APN Name: broken"),
            ("reboot_device", "Resetting APN settings"),
            ("check_apn_settings", "Current APN Name: internet"),
        ],
        [
            (
                ("grant_app_permission", {"app_name": "messaging", "permission": "fly"}),
                "not tracked",
            ),
            (("grant_app_permission", {"app_name": "maps", "permission": "sms"}), "not found"),
            (("check_app_permissions", {"app_name": "messaging"}), "sms, storage, phone."),
            (
                ("grant_app_permission", {"app_name": "messaging", "permission": "Network"}),
                "Success. Permission 'network'",
            ),
            (("check_app_status", {"app_name": "messaging"}), "   - network"),
            (("check_app_status", {"app_name": []}), "Error: "),
            (("check_app_status", {"app_name": "maps"}), "not found"),
            ("check_installed_apps", "messaging, browser"),
        ],
    ],
)
def test_what_the_user_sets_is_what_the_phone_then_shows(world, steps):
    environment = Environment(world)
    for step, answer in steps:
        name, arguments = (step, {}) if isinstance(step, str) else step
        assert answer in environment.call(name, arguments, "user")
