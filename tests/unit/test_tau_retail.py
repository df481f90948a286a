"""The retail tools: each refusal in upstream's words, each effect on the records."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.tau_bench.environment import Environment
from tests.support.tau import ADDRESS, retail

ELSEWHERE = {**ADDRESS, "city": "Elsewhere"}
DELIVERED = {"status": "delivered"}
BY_GIFT = {
    "payment_history": [
        {"transaction_type": "payment", "amount": 13.6, "payment_method_id": "gift_card_2"}
    ]
}


def items(old, new, method="card_1", order="#W1"):
    return {"order_id": order, "item_ids": old, "new_item_ids": new, "payment_method_id": method}


def returned(old, method="card_1"):
    return {"order_id": "#W1", "item_ids": old, "payment_method_id": method}


def paid(method):
    return {"order_id": "#W1", "payment_method_id": method}


def cancelled(reason="no longer needed", order="#W1"):
    return {"order_id": order, "reason": reason}


MODIFY, EXCHANGE = "modify_pending_order_items", "exchange_delivered_order_items"
RETURN, PAYMENT = "return_delivered_order_items", "modify_pending_order_payment"
MOVE, CANCEL = "modify_pending_order_address", "cancel_pending_order"
SHORT = "insufficient gift card balance to pay for the"
COUNT = "the number of items to be exchanged should match"
NEITHER = "payment method should be either the original payment method or a gift card"
SINGLE_PAYMENT = "there should be exactly one payment for a pending order"
NO_ORDER, NO_METHOD = "order not found", "payment method not found"
GONE = "new item {} not found or available"

REFUSALS = [
    ({}, "get_order_details", {"order_id": "W1"}, NO_ORDER),
    ({}, "get_user_details", {"user_id": "nobody"}, "user not found"),
    ({}, "get_product_details", {"product_id": "l1"}, "product not found"),
    ({}, "find_user_id_by_email", {"email": "x"}, "user not found"),
    ({}, CANCEL, cancelled(order="#W2"), NO_ORDER),
    (DELIVERED, CANCEL, cancelled(), "non-pending order cannot be cancelled"),
    ({}, CANCEL, cancelled("bored"), "invalid reason"),
    ({}, MOVE, {"order_id": "#W2", **ELSEWHERE}, NO_ORDER),
    (DELIVERED, MOVE, {"order_id": "#W1", **ELSEWHERE}, "non-pending order cannot be modified"),
    ({}, "modify_user_address", {"user_id": "nobody", **ELSEWHERE}, "user not found"),
    (DELIVERED, PAYMENT, paid("paypal_1"), "non-pending order cannot be modified"),
    ({}, PAYMENT, paid("paypal_2"), NO_METHOD),
    (
        {},
        PAYMENT,
        paid("card_1"),
        "the new payment method should be different from the current one",
    ),
    ({}, PAYMENT, paid("gift_card_2"), f"{SHORT} order"),
    ({"payment_history": BY_GIFT["payment_history"] * 2}, PAYMENT, paid("card_1"), SINGLE_PAYMENT),
    (DELIVERED, MODIFY, items(["l1"], ["l2"]), "non-pending order cannot be modified"),
    ({}, MODIFY, items(["l1", "l1"], ["l2", "l2"]), "l1 not found"),
    ({}, MODIFY, items(["l1"], ["l2", "c2"]), COUNT),
    ({}, MODIFY, items(["l1"], ["l3"]), GONE.format("l3")),
    ({}, MODIFY, items(["l1"], ["c2"]), GONE.format("c2")),
    ({}, MODIFY, items(["l1"], ["l2"], "paypal_2"), NO_METHOD),
    ({}, MODIFY, items(["l1"], ["l2"], "gift_card_2"), f"{SHORT} new item"),
    ({}, EXCHANGE, items(["l1"], ["l2"]), "non-delivered order cannot be exchanged"),
    (DELIVERED, EXCHANGE, items(["x"], ["l2"]), "x not found"),
    (DELIVERED, EXCHANGE, items(["l1"], []), COUNT),
    (DELIVERED, EXCHANGE, items(["l1"], ["x"]), GONE.format("x")),
    (DELIVERED, EXCHANGE, items(["l1"], ["l2"], "x"), NO_METHOD),
    (DELIVERED, EXCHANGE, items(["l1"], ["l2"], "gift_card_2"), f"{SHORT} price difference"),
    ({}, RETURN, returned(["l1"]), "non-delivered order cannot be returned"),
    (DELIVERED, RETURN, returned(["l1"], "x"), NO_METHOD),
    (DELIVERED, RETURN, returned(["l1"], "paypal_1"), NEITHER),
    (DELIVERED, RETURN, returned(["l1", "l1"]), "some item not found"),
]


@pytest.mark.parametrize(("order", "name", "kwargs", "refusal"), REFUSALS)
def test_a_refused_call_says_why_and_changes_nothing(order, name, kwargs, refusal):
    environment = Environment(retail(**order))
    assert environment.call(name, kwargs) == f"Error: {refusal}"
    assert environment.database.list_changed_entities() == {}
    assert environment.writes == []


def played(name, kwargs, **order):
    """The order and the user's balances after a call that has to work; it answers the record."""
    environment = Environment(retail(**order))
    reply = environment.call(name, kwargs)
    user = environment.database.get("users", "user_1")
    record = user if name == "modify_user_address" else environment.database.get("orders", "#W1")
    assert json.loads(reply) == record
    assert [write.tool for write in environment.writes] == [name]
    assert set(environment.database.list_changed_entities()) <= set(environment.writes[0].changed)
    methods = user["payment_methods"]
    return record, (methods["gift_card_1"]["balance"], methods["gift_card_2"]["balance"])


def entry(kind, amount, method):
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method}


def test_cancelling_refunds_gift_cards_at_once():
    order, balances = played(CANCEL, cancelled(), **BY_GIFT)
    assert (order["status"], order["cancel_reason"]) == ("cancelled", "no longer needed")
    assert order["payment_history"][1] == entry("refund", 13.6, "gift_card_2")
    assert balances == (15, 15.1)
    assert played(CANCEL, cancelled())[1] == (15, 1.5)


def test_addresses_are_replaced():
    assert played(MOVE, {"order_id": "#W1", **ELSEWHERE})[0]["address"] == ELSEWHERE
    assert (
        played("modify_user_address", {"user_id": "user_1", **ELSEWHERE})[0]["address"] == ELSEWHERE
    )


def test_paying_otherwise_moves_the_amount():
    order, balances = played(PAYMENT, paid("gift_card_1"), **BY_GIFT)
    assert order["payment_history"][1:] == [
        entry("payment", 13.6, "gift_card_1"),
        entry("refund", 13.6, "gift_card_2"),
    ]
    assert balances == (1.4, 15.1)
    assert order["status"] == "pending"


def test_each_modified_item_gets_its_own_variant():
    order, balances = played(MODIFY, items(["c1", "l1"], ["c2", "l2"], "gift_card_1"))
    assert [(item["item_id"], item["price"]) for item in order["items"]] == [
        ("l2", 20.6),
        ("c2", 2.0),
    ]
    assert [item["options"] for item in order["items"]] == [{"kind": "l2"}, {"kind": "c2"}]
    difference = 0 + (2.0 - 3.1) + (20.6 - 10.5)  # not rounded, as upstream leaves it
    assert order["payment_history"][1] == entry("payment", difference, "gift_card_1")
    assert order["status"] == "pending (item modified)"
    assert balances[0] == 6.0


def test_cheaper_items_are_refunded():
    order, _ = played(MODIFY, items(["c1"], ["c2"]))
    assert order["payment_history"][1] == entry("refund", abs(2.0 - 3.1), "card_1")


def test_items_can_be_modified_once():
    environment = Environment(retail())
    environment.call(MODIFY, items(["c1"], ["c2"]))
    again = environment.call(MODIFY, items(["l1"], ["l2"]))
    assert again == "Error: non-pending order cannot be modified"


def test_an_exchange_is_noted_and_not_yet_paid():
    order, balances = played(
        EXCHANGE, items(["l1", "c1"], ["l2", "c2"], "gift_card_1"), status="delivered"
    )
    assert order["status"] == "exchange requested"
    assert (order["exchange_items"], order["exchange_new_items"]) == (["c1", "l1"], ["c2", "l2"])
    assert order["exchange_price_difference"] == 9.0
    assert order["exchange_payment_method_id"] == "gift_card_1"
    assert balances == (15, 1.5)


@pytest.mark.parametrize("method", ["card_1", "gift_card_2"])
def test_a_return_goes_to_the_original_payment_or_a_gift_card(method):
    order, _ = played(RETURN, returned(["l1", "c1"], method), status="delivered")
    assert order["status"] == "return requested"
    assert order["return_items"] == ["c1", "l1"]
    assert order["return_payment_method_id"] == method


def test_users_are_found_whatever_the_case():
    environment = Environment(retail())
    by_email = environment.call("find_user_id_by_email", {"email": "USER.one@EXAMPLE.com"})
    name = {"first_name": "GIVEN", "last_name": "family", "zip": "10001"}
    assert by_email == environment.call("find_user_id_by_name_zip", name) == "user_1"
    environment.call("modify_user_address", {"user_id": "user_1", **ELSEWHERE, "zip": "2"})
    assert environment.call("find_user_id_by_name_zip", name) == "Error: user not found"


def test_products_are_listed_by_name():
    reply = Environment(retail()).call("list_all_product_types", {})
    assert reply == '{"cup": "p_cup", "lamp": "p_lamp"}'


CALCULATIONS = [
    ("2 * (3 + 4.5)", "15.0"),
    ("10 / 4", "2.5"),
    ("7 // 2", "3.0"),
    (" -2 ** 2", "-4.0"),
    ("1 / 3", "0.33"),
    ("1 / 0", "Error: division by zero"),
    ("__import__", "Error: invalid characters in expression"),
    ("2 +", "Error: invalid syntax (<string>, line 1)"),
    ("", "Error: invalid syntax (<string>, line 0)"),
    ("()", "Error: float() argument must be a string or a real number, not 'tuple'"),
    ("5(3)", "Error: 'int' object is not callable"),
    ("(0-8) ** .5", "Error: float() argument must be a string or a real number, not 'complex'"),
    ("9.0 ** 999", "Error: (34, 'Numerical result out of range')"),
    ("2 ** 1024", "Error: int too large to convert to float"),
    ("9**9**9", "Error: a number in the expression is too large"),
    ("9**9**9**9", "Error: a number in the expression is too large"),
    ("(9**9999)" * 2, "Error: a number in the expression is too large"),
    ("1+" * 2000 + "1", "Error: the expression is too long"),
]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(("expression", "text"), CALCULATIONS)
def test_calculating(expression, text):
    assert Environment(retail()).call("calculate", {"expression": expression}) == text


@pytest.mark.parametrize("expression", ["(" * 1999, "-" * 1999 + "1", "(" * 999 + ")" * 999])
def test_deep_expressions_are_answered(expression):
    reply = Environment(retail()).call("calculate", {"expression": expression})
    assert reply.startswith("Error: ")


def test_handing_over_ends_the_conversation_and_later_calls_do_nothing():
    environment = Environment(retail())
    assert environment.call("think", {"thought": "hm"}) == ""
    assert not environment.terminated
    reply = environment.call("transfer_to_human_agents", {"summary": "x"})
    assert (reply, environment.terminated) == ("Transfer successful", True)
    assert environment.call(CANCEL, cancelled()) == "Error: the conversation has ended"
    assert environment.database.list_changed_entities() == {}


def test_handing_over_with_wrong_arguments_ends_it_too():
    environment = Environment(retail())
    assert environment.call("transfer_to_human_agents", {}).startswith("Error: ")
    assert environment.terminated
