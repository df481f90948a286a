"""The tasks of the telephone company: several faults at once, of the phone, the line or the bill.

A fault is what a task does to the world, and what makes it good again: calls of the agent and steps
of the user. The steps of all faults of a task are its ground truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evalcore.records import Record
from tools.tau2_tasks.phone_fixtures import PhoneCompany, Row, add_customer

_REFUEL_GB = 2.0


class Step(Record, frozen=True):
    """A call, of the agent or of the user."""

    name: str
    arguments: dict[str, Any] = {}
    requestor: str = "user"


class Subject(Record, frozen=True):
    """Whose phone a task is about; `plan` is that of the line."""

    customer: Row
    line: Row
    plan: Row

    @property
    def of_line(self) -> dict[str, str]:
        return {"customer_id": self.customer["customer_id"], "line_id": self.line["line_id"]}


class Fault(Record, frozen=True):
    """What goes wrong and how it is mended, given whose phone it is. `abroad`: only there it is a
    fault. `refuels` and `pays` name what the user has to agree to."""

    name: str
    breaks: Callable[[Subject], Sequence[tuple[str, str, dict[str, Any]]]]
    mends: Callable[[Subject], Sequence[Step]]
    abroad: bool = False
    refuels: bool = False
    pays: bool = False


def _user(*calls: tuple[str, dict[str, Any]]) -> Callable[[Subject], Any]:
    return lambda subject: [("user", name, arguments) for name, arguments in calls]


def _steps(*names: str, **arguments: Any) -> Callable[[Subject], Any]:
    return lambda subject: [Step(name, arguments) for name in names]


def _overdue(subject: Subject) -> list[tuple[str, str, dict[str, Any]]]:
    arguments = {**subject.of_line, "new_bill_id": _overdue_bill(subject), "contract_ended": False}
    return [("assistant", "suspend_line_for_overdue_bill", arguments)]


def _overdue_bill(subject: Subject) -> str:
    return f"B9{subject.customer['customer_id'][1:]}"


def _settle(subject: Subject) -> list[Step]:
    request = {"customer_id": subject.customer["customer_id"], "bill_id": _overdue_bill(subject)}
    return [
        Step("send_payment_request", request, "assistant"),
        Step("make_payment"),
        Step("resume_line", subject.of_line, "assistant"),
        Step("reboot_device"),
    ]


def _use_up(subject: Subject) -> list[tuple[str, str, dict[str, Any]]]:
    arguments = {**subject.of_line, "data_used_gb": subject.plan["data_limit_gb"] + 0.5}
    return [("assistant", "set_data_usage", arguments)]


def _refuel(subject: Subject) -> list[Step]:
    return [Step("refuel_data", {**subject.of_line, "gb_amount": _REFUEL_GB}, "assistant")]


def _allow_roaming(subject: Subject) -> list[Step]:
    return [Step("enable_roaming", subject.of_line, "assistant")]


def _forbid_roaming(subject: Subject) -> list[tuple[str, str, dict[str, Any]]]:
    return [("assistant", "disable_roaming", subject.of_line)]


AIRPLANE = Fault(
    "airplane mode", _user(("turn_airplane_mode_on", {})), _steps("toggle_airplane_mode")
)
SIM = Fault("SIM card", _user(("unseat_sim_card", {})), _steps("reseat_sim_card"))
APN = Fault(
    "access point",
    _user(("break_apn_settings", {})),
    _steps("reset_apn_settings", "reboot_device"),
)
OVERDUE = Fault("overdue bill", _overdue, _settle, pays=True)
DATA_OFF = Fault("mobile data off", _user(("turn_data_off", {})), _steps("toggle_data"))
SAVER = Fault(
    "data saver", _user(("turn_data_saver_mode_on", {})), _steps("toggle_data_saver_mode")
)
SLOW_MODE = Fault(
    "network mode",
    _user(("set_network_mode_preference", {"mode": "3g_only"})),
    _steps("set_network_mode_preference", mode="4g_5g_preferred"),
)
OLD_MODE = Fault(
    "network mode",
    _user(("set_network_mode_preference", {"mode": "2g_only"})),
    _steps("set_network_mode_preference", mode="4g_5g_preferred"),
)
VPN = Fault("slow VPN", _user(("break_vpn", {})), _steps("disconnect_vpn"))
ROAMING = Fault(
    "roaming of the phone", _user(("turn_roaming_off", {})), _steps("toggle_roaming"), abroad=True
)
LINE_ROAMING = Fault("roaming of the line", _forbid_roaming, _allow_roaming, abroad=True)
USED_UP = Fault("data used up", _use_up, _refuel, refuels=True)
MMS_APN = Fault(
    "access point of messages",
    _user(("break_apn_mms_setting", {})),
    _steps("reset_apn_settings", "reboot_device"),
)
SMS = Fault(
    "permission of messages",
    _user(("remove_app_permission", {"app_name": "messaging", "permission": "sms"})),
    _steps("grant_app_permission", app_name="messaging", permission="sms"),
)
STORAGE = Fault(
    "permission of files",
    _user(("remove_app_permission", {"app_name": "messaging", "permission": "storage"})),
    _steps("grant_app_permission", app_name="messaging", permission="storage"),
)
WIFI_CALLING = Fault(
    "calls over Wi-Fi",
    _user(("set_wifi_calling", {"enabled": True, "mms_over_wifi": True})),
    _steps("toggle_wifi_calling"),
)


class Problem(Record, frozen=True):
    """What the user complains about, what they look at, and what has to hold in the end."""

    kind: str
    complaint: str
    check: str
    goal: tuple[tuple[str, dict[str, Any]], ...]


NO_SERVICE = Problem(
    "no service",
    "My phone has no service at all, I can neither call nor be called.",
    "check_status_bar",
    (("assert_service_status", {"expected_status": "connected"}),),
)
NO_DATA = Problem(
    "mobile data",
    "Mobile data does not work properly. I want it to be as fast as it can be.",
    "run_speed_test",
    (
        ("assert_mobile_data_status", {"expected_status": True}),
        ("assert_internet_speed", {"expected_speed": 200, "expected_desc": "excellent"}),
    ),
)
NO_MMS = Problem(
    "picture messages",
    "I cannot send picture messages any more.",
    "can_send_mms",
    (("assert_can_send_mms", {"expected_status": True}),),
)

#: Problem, difficulty, faults; each is a task.
COMBINATIONS: tuple[tuple[Problem, int, tuple[Fault, ...]], ...] = (
    (NO_SERVICE, 2, (AIRPLANE, SIM, APN)),
    (NO_SERVICE, 2, (OVERDUE,)),
    (NO_SERVICE, 3, (AIRPLANE, OVERDUE)),
    (NO_SERVICE, 3, (SIM, OVERDUE)),
    (NO_SERVICE, 3, (APN, OVERDUE)),
    (NO_SERVICE, 2, (SIM, APN)),
    (NO_SERVICE, 2, (AIRPLANE, APN)),
    (NO_SERVICE, 3, (AIRPLANE, SIM, OVERDUE)),
    (NO_DATA, 2, (DATA_OFF, SAVER, SLOW_MODE)),
    (NO_DATA, 2, (ROAMING, LINE_ROAMING, DATA_OFF)),
    (NO_DATA, 3, (ROAMING, LINE_ROAMING, USED_UP)),
    (NO_DATA, 3, (VPN, SAVER, USED_UP)),
    (NO_DATA, 2, (AIRPLANE, SAVER, SLOW_MODE)),
    (NO_DATA, 3, (SIM, DATA_OFF, LINE_ROAMING, ROAMING)),
    (NO_DATA, 3, (VPN, SLOW_MODE, DATA_OFF, SAVER)),
    (NO_DATA, 3, (APN, VPN, USED_UP)),
    (NO_DATA, 2, (SLOW_MODE, USED_UP, DATA_OFF)),
    (NO_DATA, 3, (OVERDUE, SAVER)),
    (NO_DATA, 3, (AIRPLANE, ROAMING, LINE_ROAMING, SAVER)),
    (NO_DATA, 2, (VPN, ROAMING, DATA_OFF)),
    (NO_DATA, 2, (SAVER, SLOW_MODE, VPN)),
    (NO_DATA, 3, (LINE_ROAMING, USED_UP, SLOW_MODE, SAVER)),
    (NO_MMS, 2, (SMS, STORAGE, WIFI_CALLING)),
    (NO_MMS, 2, (MMS_APN, SMS)),
    (NO_MMS, 2, (MMS_APN, WIFI_CALLING)),
    (NO_MMS, 3, (OLD_MODE, DATA_OFF, STORAGE)),
    (NO_MMS, 3, (OLD_MODE, SMS, STORAGE, WIFI_CALLING)),
    (NO_MMS, 3, (USED_UP, MMS_APN, STORAGE)),
    (NO_MMS, 3, (AIRPLANE, MMS_APN, WIFI_CALLING)),
    (NO_MMS, 3, (ROAMING, LINE_ROAMING, SMS)),
    (NO_MMS, 3, (SIM, WIFI_CALLING, STORAGE)),
    (NO_MMS, 3, (OVERDUE, SMS)),
)
#: How many of the combinations come a second time, with a question at the end.
_ASKED = (8, 12, 14, 20, 22, 25, 28, 30)


def build_phone_tasks(company: PhoneCompany) -> list[Row]:
    """The rows of all tasks, each with a customer of its own."""
    rows = [_build_repair(company, *each, asks=False) for each in COMBINATIONS]
    rows += [_build_repair(company, *COMBINATIONS[number], asks=True) for number in _ASKED]
    rows += [_build_hand_over(company, locked=locked) for locked in (False, True)]
    return [{"id": f"telecom_{number:02}", **row} for number, row in enumerate(rows)]


def _build_repair(
    company: PhoneCompany, problem: Problem, difficulty: int, faults: Sequence[Fault], *, asks: bool
) -> Row:
    subject = _add_subject(company)
    steps = [step for fault in faults for step in fault.mends(subject)]
    refuels = any(fault.refuels for fault in faults)
    expected = _REFUEL_GB if refuels else 0.0
    unchanged = _list_unchanged_settings(abroad=any(fault.abroad for fault in faults))
    goal = [*problem.goal, *(each for each in unchanged if each not in problem.goal)]
    assertions = [_build_assertion("user", *each) for each in goal]
    for name, value in (
        ("assert_data_refueling_amount", {"expected_amount": expected}),
        ("assert_line_status", {"expected_status": "Active"}),
    ):
        assertions.append(_build_assertion("assistant", name, {**subject.of_line, **value}))
    for fault in faults:
        if fault.pays:
            bill = {"overdue_bill_id": _overdue_bill(subject)}
            assertions.append(_build_assertion("assistant", "assert_no_overdue_bill", bill))
    criteria: Row = {
        "actions": [_build_action(step) for step in steps],
        "env_assertions": assertions,
        "reward_basis": ["ENV_ASSERTION"],
    }
    slots = _build_slots(subject, problem, faults, refuels=refuels)
    if asks:
        slots["questions"] = ["One more thing: how many GB of data does my plan have a month?"]
        criteria["communicate_info"] = [f"{subject.plan['data_limit_gb']:g}"]
        criteria["reward_basis"].append("COMMUNICATE")
    return {
        "user_scenario": {"instructions": _describe(subject, problem, slots)},
        "initial_state": {"initialization_actions": _build_start(subject, faults)},
        "evaluation_criteria": criteria,
        "slots": slots,
        "topic": f"{problem.kind}: {', '.join(fault.name for fault in faults)}",
        "difficulty_level": difficulty,
    }


def _list_unchanged_settings(*, abroad: bool) -> list[tuple[str, dict[str, Any]]]:
    """What has to hold beside the user's goal, so that nothing that was right is left changed."""
    statuses = {"mobile_data": True, "mobile_data_saver_mode": False, "mobile_roaming": abroad}
    return [
        (f"assert_{name}_status", {"expected_status": status}) for name, status in statuses.items()
    ]


def _build_hand_over(company: PhoneCompany, *, locked: bool) -> Row:
    """A fault that nobody may mend here: a SIM card that is locked, or a contract that is over."""
    subject = _add_subject(company)
    status = "Active" if locked else "Suspended"
    if locked:
        broken = [("user", "lock_sim_card", {"mode": "pin"})]
    else:
        arguments = {**_overdue(subject)[0][2], "contract_ended": True}
        broken = [("assistant", "suspend_line_for_overdue_bill", arguments)]
    hand_over = Step("transfer_to_human_agents", {"summary": ""}, "assistant")
    slots = _build_slots(subject, NO_SERVICE, (), refuels=False)
    start = [*_build_start(subject, ()), *(_build_call(*each) for each in broken)]
    start.append(_build_call("user", "simulate_network_search", {}))
    line_status = {**subject.of_line, "expected_status": status}
    return {
        "user_scenario": {"instructions": _describe(subject, NO_SERVICE, slots)},
        "initial_state": {"initialization_actions": start},
        "evaluation_criteria": {
            "actions": [{**_build_action(hand_over), "compare_args": []}],
            "env_assertions": [_build_assertion("assistant", "assert_line_status", line_status)],
            "reward_basis": ["ENV_ASSERTION", "ACTION"],
        },
        "slots": slots,
        "topic": "no service: a locked SIM card" if locked else "no service: the contract is over",
        "difficulty_level": 2,
    }


def _build_start(subject: Subject, faults: Sequence[Fault]) -> list[Row]:
    who = {"name": subject.customer["full_name"], "phone_number": subject.line["phone_number"]}
    abroad = any(fault.abroad for fault in faults)
    calls: list[tuple[str, str, dict[str, Any]]] = [("user", "set_user_info", who)]
    calls.append(("user", "set_user_location", {"abroad": abroad}))
    if abroad:
        calls.append(("user", "turn_roaming_on", {}))
    calls += [call for fault in faults for call in fault.breaks(subject)]
    calls.append(("user", "simulate_network_search", {}))
    return [_build_call(*call) for call in calls]


def _build_slots(
    subject: Subject, problem: Problem, faults: Sequence[Fault], *, refuels: bool
) -> Row:
    customer = subject.customer
    slots: Row = {
        "identity": {
            "name": f"My name is {customer['full_name']}.",
            "phone": f"My number is {subject.line['phone_number']}.",
            "dob": f"I was born on {customer['date_of_birth']}.",
        },
        "complaint": problem.complaint,
        "goal": [
            {"func_name": name, "arguments": arguments, "env_type": "user"}
            for name, arguments in problem.goal
        ],
        "check": problem.check,
    }
    if any(fault.abroad for fault in faults):
        slots["place"] = "I am travelling abroad."
    if refuels:
        slots["refuel_gb"] = _REFUEL_GB
    return slots


def _describe(subject: Subject, problem: Problem, slots: Row) -> str:
    """The scenario in prose, for a user who is played by a model."""
    who = " ".join(slots["identity"].values())
    data = (
        f"You would pay for {slots['refuel_gb']:g} GB of further data, not for more or less."
        if "refuel_gb" in slots
        else "You do not want to pay for further data."
    )
    where = slots.get("place", "I am at home.")
    return (
        f"{who} {where} {problem.complaint} Your phone is one of your tools: use it when the agent "
        f"asks you to, and look at {problem.check} to see whether it works. {data} You keep your "
        "plan. You pay an overdue bill when you are asked to on your phone."
    )


def _add_subject(company: PhoneCompany) -> Subject:
    customer, line = add_customer(company)
    plan = next(plan for plan in company.plans if plan["plan_id"] == line["plan_id"])
    return Subject(customer, line, plan)


def _build_call(side: str, name: str, arguments: dict[str, Any]) -> Row:
    return {"env_type": side, "func_name": name, "arguments": arguments}


def _build_assertion(side: str, name: str, arguments: dict[str, Any]) -> Row:
    return {**_build_call(side, name, arguments), "assert_value": True}


def _build_action(step: Step) -> Row:
    return {"name": step.name, "arguments": step.arguments, "requestor": step.requestor}
