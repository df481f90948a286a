"""What agents send is answered whatever it is, and what they left behind is rewarded."""

from __future__ import annotations

import json
import random

import pytest

from evalcore.benchmarks.tau_bench.environment import (
    Action,
    DatabaseDifference,
    Environment,
    Task,
    compute_reward,
    replay_ground_truth,
)
from evalcore.benchmarks.tau_bench.environment.reward import (
    NOTHING_TO_DO,
    TRUTH_ERRS,
    find_missing_outputs,
    flag_task,
)
from evalcore.benchmarks.tau_bench.environment.tools import MAX_CHARACTERS
from tests.support.hangs import stop_hang
from tests.support.tau import airline, retail

CANCEL = Action("cancel_pending_order", {"order_id": "#W1", "reason": "ordered by mistake"})
OTHER = Action("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})
LOOK = Action("get_order_details", {"order_id": "#W1"})
TRANSFER = Action("transfer_to_human_agents", {"summary": "x"})


def task(*actions: Action, outputs: tuple[str, ...] = ()) -> Task:
    return Task("retail/test/0", "retail", "user_1", "Cancel it.", actions, outputs)


def rewarded(expected: Task, *actions: Action, text: tuple[str, ...] = ()):
    domain = retail()
    environment = Environment(domain)
    for action in actions:
        environment.call(action.name, action.kwargs)
    return compute_reward(domain, expected, environment, text)


def test_the_same_state_is_rewarded_whatever_way_led_there():
    got = rewarded(task(LOOK, CANCEL), CANCEL, LOOK, CANCEL)
    assert (got.value, got.actions_ok, got.outputs_ok) == (1.0, True, True)
    assert got.db_hash == got.gt_hash
    assert got.difference is None


def test_another_state_is_not_and_the_first_difference_is_told():
    got = rewarded(task(CANCEL), OTHER)
    assert (got.value, got.actions_ok) == (0.0, False)
    assert got.db_hash != got.gt_hash
    expected = ("ordered by mistake", "no longer needed")
    assert got.difference == DatabaseDifference("orders", "#W1", ("cancel_reason",), *expected)


def test_what_had_to_be_said_counts_too():
    expected = task(CANCEL, outputs=("13.6", "10"))
    got = rewarded(expected, CANCEL, text=("It is $13.60", "for 1093 days"))
    assert (got.value, got.actions_ok, got.outputs_ok) == (0.0, True, False)
    assert got.missing_outputs == ("10",)
    assert rewarded(expected, CANCEL, text=("13.6", "10.")).value == 1.0


def test_the_ground_truth_does_not_hand_over():
    environment = replay_ground_truth(retail(), task(TRANSFER, CANCEL))
    assert not environment.terminated
    assert [write.tool for write in environment.writes] == [CANCEL.name]


@pytest.mark.parametrize(
    ("expected", "flags"),
    [
        (task(CANCEL), ()),
        (task(CANCEL, CANCEL), (TRUTH_ERRS,)),
        (task(Action("get_user_details", {"user_id": "x"}), CANCEL), ()),
        (task(LOOK, TRANSFER), (NOTHING_TO_DO,)),
        (task(LOOK, outputs=("10",)), ()),
        (task(Action("cancel_pending_order", {"order_id": "x"})), (TRUTH_ERRS, NOTHING_TO_DO)),
        (task(Action("respond", {"content": "x"}), CANCEL), ()),
    ],
)
def test_degenerate_tasks_are_flagged(expected, flags):
    assert flag_task(retail(), expected).flags == flags


@pytest.mark.parametrize(
    ("output", "text", "as_number", "as_text"),
    [
        ("10", "there are 10 of them", True, True),
        ("10", "1093.34", False, True),
        ("10", "a10", False, True),
        ("10", "10th", False, True),
        ("10", "10.5", False, True),
        ("10", "10.00", True, True),
        ("10", "10, 11", True, True),
        ("10", "It is 10.", True, True),
        ("10", "5-10", True, True),
        ("10", "共10件", True, True),
        ("1093.34", "$1,093.34!", True, True),
        ("1093.34", "1093.340", True, True),
        ("1786", "1,7869", False, True),
        ("625.60", "625.6", True, False),
        ("60621", "1 Long Street, 60621", True, True),
        ("0100", "100", False, False),
        ("1", "1.2.3", False, True),
        ("20 hours", "20 Hours", True, True),
        ("Drive, 9", "drive 9", False, False),
        ("camera", "Cameras", True, True),
        ("4", "", False, False),
    ],
)
def test_an_expected_text_is_found(output, text, as_number, as_text):
    assert find_missing_outputs([output], ["hello", text], substring=False) == (
        () if as_number else (output,)
    )
    assert find_missing_outputs([output], ["hello", text], substring=True) == (
        () if as_text else (output,)
    )


def test_many_digits_are_searched_in_little_time():
    with stop_hang():
        find_missing_outputs(
            ["10"], ["1" * 300_000, "1," * 150_000, "1,111" * 60_000], substring=False
        )


NAMES = "GetUserDetails.invoke()"
MISTAKES = [
    ("no_such_tool", {}, "Unknown action no_such_tool"),
    (None, {}, "Unknown action "),
    (["x"], {}, "Unknown action "),
    ("\ud800" + "x" * 500, {}, "Unknown action ?" + "x" * 199),
    ("get_user_details", None, "Error: the arguments must be an object of names and values"),
    ("get_user_details", [], "Error: the arguments must be an object of names and values"),
    ("get_user_details", {1: 2}, "Error: the names in an object must be texts"),
    ("get_user_details", {}, f"Error: {NAMES} missing 1 required positional argument: 'user_id'"),
    ("get_user_details", {"a": 1}, f"Error: {NAMES} got an unexpected keyword argument 'a'"),
    (
        "cancel_pending_order",
        {},
        "Error: CancelPendingOrder.invoke() missing 2 required positional arguments: 'order_id' "
        "and 'reason'",
    ),
    (
        "return_delivered_order_items",
        {},
        "Error: ReturnDeliveredOrderItems.invoke() missing 3 required positional arguments: "
        "'order_id', 'item_ids', and 'payment_method_id'",
    ),
    ("get_user_details", {"user_id": 5}, "Error: user not found"),
    ("get_user_details", {"user_id": []}, "Error: unhashable type: 'list'"),
    ("find_user_id_by_email", {"email": 5}, "Error: 'int' object has no attribute 'lower'"),
    ("think", {"thought": 5}, "Error: thought must be of type string"),
    ("think", {"thought": True}, "Error: thought must be of type string"),
]


@pytest.mark.parametrize(("name", "kwargs", "text"), MISTAKES)
def test_mistaken_calls_are_told_what_is_wrong(name, kwargs, text):
    assert Environment(retail()).call(name, kwargs) == text


ADDRESS = dict.fromkeys(("address1", "address2", "city", "state", "country", "zip"), "x")
PERSON = {"first_name": "A", "last_name": "F", "dob": "x"}


@pytest.mark.parametrize(
    ("domain", "name", "kwargs", "text"),
    [
        (
            retail,
            "modify_user_address",
            {"user_id": "user_1", **ADDRESS, "zip": 5},
            "zip must be of type string",
        ),
        (
            airline,
            "send_certificate",
            {"user_id": "user_1", "amount": "5"},
            "amount must be of type number",
        ),
        (
            airline,
            "update_reservation_baggages",
            {
                "reservation_id": "R1",
                "total_baggages": 1.5,
                "nonfree_baggages": 0,
                "payment_id": "card_1",
            },
            "total_baggages must be of type integer",
        ),
        (
            airline,
            "update_reservation_passengers",
            {"reservation_id": "R1", "passengers": [PERSON, {"first_name": "A"}]},
            "passengers[1] needs 'last_name'",
        ),
        (
            airline,
            "update_reservation_passengers",
            {"reservation_id": "R1", "passengers": [PERSON, {**PERSON, "dob": 1}]},
            "passengers[1].dob must be of type string",
        ),
    ],
)
def test_a_value_that_the_tool_would_have_written_is_refused_by_its_schema(
    domain, name, kwargs, text
):
    environment = Environment(domain())
    assert environment.call(name, kwargs) == f"Error: {text}"
    assert environment.database.list_changed_entities() == {}


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


HOSTILE = [
    float("nan"),
    float("inf"),
    10**5000,
    -(10**16),
    nested(5_000),
    ["x"] * 1_000_000,
    {str(number): number for number in range(100_000)},
    "x" * (MAX_CHARACTERS + 1),
    object(),
    {1: 2},
    "\ud800",
    {"\udfff": 1},
    b"bytes",
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", ["think", "send_certificate"])
def test_too_much_is_refused_in_little_time(name, value):
    environment = Environment(airline())
    kwargs = {"thought": value} if name == "think" else {"user_id": "user_1", "amount": value}
    with stop_hang():
        assert environment.call(name, kwargs).startswith("Error: ")
    assert environment.database.list_changed_entities() == {}


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
def test_values_of_any_type_end_nothing(value):
    environment = Environment(airline(), checks_types=False)
    with stop_hang():
        environment.call("send_certificate", {"user_id": "user_1", "amount": value})


@pytest.mark.parametrize("amount", [10**16, 10**30, -1e300, float("inf"), float("nan")])
def test_a_number_beyond_the_bound_is_written_where_types_are_upstreams(amount):
    environment = Environment(airline(), checks_types=False)
    answer = environment.call("send_certificate", {"user_id": "user_1", "amount": amount})
    assert not answer.startswith("Error: ")
    assert environment.database.list_changed_entities() != {}


def test_many_items_are_checked_in_little_time():
    items = ["l1", "c1"] + [f"x{number}" for number in range(4000)]
    environment = Environment(retail(status="delivered"))
    with stop_hang():
        environment.call(
            "return_delivered_order_items",
            {"order_id": "#W1", "item_ids": items, "payment_method_id": "card_1"},
        )


VALUES = [
    *(
        "#W1",
        "user_1",
        "card_1",
        "R1",
        "l1",
        "economy",
        "2024-05-20",
        "9**9**9",
        "",
        "\ud800",
        "yes",
    ),
    *(0, -1, 2.5, 10**12, 10**400, float("nan"), True, None),
    *([], ["l1"], ["l1", 5, None], {}, {"a": {"b": []}}, nested(40)),
    [{"flight_number": "AF3", "date": "2024-05-21"}],
    [{"flight_number": "AF3", "date": "2024-05-21"}] * 500,
    [{"payment_id": "certificate_1", "amount": 50}] * 2,
    [{"first_name": "A", "last_name": "F", "dob": "1990-01-01"}],
]


FITTING = {
    "order_id": "#W1",
    "user_id": "user_1",
    "reservation_id": "R1",
    "payment_method_id": "gift_card_1",
    "payment_id": "gift_card_1",
    "item_ids": ["l1"],
    "new_item_ids": ["l2"],
    "reason": "no longer needed",
    "cabin": "basic_economy",
    "amount": 5,
    "total_baggages": 1,
    "nonfree_baggages": 1,
    "flights": [{"flight_number": "AF3", "date": "2024-05-21"}],
}


def arguments(chance, tool):
    kwargs = {
        name: FITTING.get(name, "x") if chance.random() < 0.8 else chance.choice(VALUES)
        for name in tool.parameters["properties"]
    }
    if chance.random() < 0.1 and kwargs:
        kwargs.pop(next(iter(kwargs)))
    if chance.random() < 0.1:
        kwargs["more"] = chance.choice(VALUES)
    return kwargs if chance.random() < 0.97 else chance.choice(VALUES)


def test_two_thousand_hostile_episodes_raise_nothing():
    chance, expected, wrote = random.Random(7), task(CANCEL), 0
    domains = [retail(), retail(status="delivered"), airline()]
    for _ in range(2000):
        domain = chance.choice(domains)
        environment = Environment(domain)
        for _ in range(12):
            tool = chance.choice(domain.tools)
            name = tool.name if chance.random() < 0.95 else chance.choice(["x", None, 5, {}])
            reply = environment.call(name, arguments(chance, tool))
            assert reply.encode() == reply.encode(errors="replace")
        wrote += len(environment.writes)
        assert isinstance(json.dumps([write.kwargs for write in environment.writes]), str)
        reward = compute_reward(domain, expected, environment, ["x"])
        assert reward.value in (0.0, 1.0)
    assert wrote > 1000
    assert domains[0].database.list_changed_entities() == {}
