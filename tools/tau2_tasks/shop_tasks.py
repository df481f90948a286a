"""The tasks of the shop: users who want several things changed, one after the other.

The shop, its users and their goals are built as for tau_bench, from another seed; only the goals
are combined differently, so that most tasks need three writes or more.
"""

from __future__ import annotations

from collections.abc import Callable

from tools.tau_tasks import retail_goals as goals
from tools.tau_tasks.plan import (
    PlannedGoal,
    TaskPlan,
    hide_order_id,
    plan_fallback,
    plan_refusal,
)
from tools.tau_tasks.retail_fixtures import Row, Shop, add_order, add_user, find_payment_method

_PlannedGoals = tuple[PlannedGoal, ...]
Template = Callable[[Shop, str], _PlannedGoals]


def build_shop_plans(shop: Shop) -> list[TaskPlan]:
    """Build the plans of all tasks, each with a user of its own."""
    plans = []
    for topic, difficulty, count, template in TEMPLATES:
        for _ in range(count):
            user_id = add_user(shop, round(900 + shop.rng.random() * 300, 2))
            plans.append(TaskPlan(user_id, topic, difficulty, template(shop, user_id)))
    return plans


def _add_orders(shop: Shop, user: str, *statuses: str) -> list[Row]:
    """Orders of these statuses in turn, paid by credit card; no two hold the same product."""
    return [add_order(shop, user, status) for status in statuses]


def _clear_out(shop: Shop, user: str) -> _PlannedGoals:
    pending, delivered, other = _add_orders(shop, user, "pending", "delivered", "delivered")
    return (
        goals.plan_order_cancellation(shop, pending),
        goals.plan_return(delivered, 1),
        goals.plan_return(other, 2, find_payment_method(shop, user, "gift_card")),
    )


def _move_house(shop: Shop, user: str) -> _PlannedGoals:
    first, second, _ = _add_orders(shop, user, "pending", "pending", "processed")
    moved = goals.plan_profile_address(shop, user)
    redirected = (
        goals.plan_address_change(shop, order, to=moved.goal.address) for order in (first, second)
    )
    return (moved, *redirected)


def _swap_pay_cancel(shop: Shop, user: str) -> _PlannedGoals:
    delivered, pending, other = _add_orders(shop, user, "delivered", "pending", "pending")
    return (
        goals.plan_item_swap(shop, goals.EXCHANGE, delivered, (goals.pick_dearer_rank(shop),)),
        goals.plan_payment_change(pending, find_payment_method(shop, user, "paypal")),
        goals.plan_order_cancellation(shop, other),
    )


def _hidden_orders(shop: Shop, user: str) -> _PlannedGoals:
    delivered, pending, _ = _add_orders(shop, user, "delivered", "pending", "processed")
    return (
        hide_order_id(goals.plan_return(delivered, 1)),
        hide_order_id(goals.plan_address_change(shop, pending, named=True)),
        goals.plan_profile_address(shop, user),
    )


def _change_one_order(shop: Shop, user: str) -> _PlannedGoals:
    pending, delivered = _add_orders(shop, user, "pending", "delivered")
    return (
        goals.plan_address_change(shop, pending),
        goals.plan_item_swap(shop, goals.MODIFY, pending, (goals.pick_cheaper_rank(shop),)),
        goals.plan_return(delivered, 1),
    )


def _two_changes(shop: Shop, user: str) -> _PlannedGoals:
    first, second, third = _add_orders(shop, user, "pending", "pending", "pending")
    return (
        goals.plan_item_swap(shop, goals.MODIFY, first, (goals.pick_dearer_rank(shop),)),
        goals.plan_item_swap(shop, goals.MODIFY, second, (goals.pick_cheaper_rank(shop),)),
        goals.plan_payment_change(third, find_payment_method(shop, user, "gift_card")),
    )


def _ask_first(shop: Shop, user: str) -> _PlannedGoals:
    delivered, pending, other = _add_orders(shop, user, "delivered", "pending", "pending")
    return (
        goals.ask_paid(delivered),
        goals.plan_return(delivered, 1),
        goals.plan_order_cancellation(shop, pending),
        goals.plan_payment_change(other, find_payment_method(shop, user, "paypal")),
    )


def _refused_first(shop: Shop, user: str) -> _PlannedGoals:
    pending, delivered, other = _add_orders(shop, user, "pending", "delivered", "pending")
    return (
        plan_refusal(goals.plan_address_change(shop, pending, country="Canada")),
        goals.plan_payment_change(pending, find_payment_method(shop, user, "paypal")),
        goals.plan_item_swap(shop, goals.EXCHANGE, delivered, (goals.pick_cheaper_rank(shop),)),
        goals.plan_order_cancellation(shop, other),
    )


def _fallback_among(shop: Shop, user: str) -> _PlannedGoals:
    delivered, pending, other = _add_orders(shop, user, "delivered", "pending", "pending")
    exchange = goals.plan_item_swap(
        shop, goals.EXCHANGE, delivered, (goals.pick_sold_out_rank(shop),)
    )
    return (
        plan_fallback(exchange, goals.plan_return(delivered, 1)),
        goals.plan_address_change(shop, pending),
        goals.plan_order_cancellation(shop, other),
    )


def _four_goals(shop: Shop, user: str) -> _PlannedGoals:
    delivered, pending, other, third = _add_orders(
        shop, user, "delivered", "pending", "pending", "delivered"
    )
    return (
        goals.plan_return(delivered, 1),
        goals.plan_payment_change(pending, find_payment_method(shop, user, "paypal")),
        goals.plan_order_cancellation(shop, other),
        goals.plan_item_swap(shop, goals.EXCHANGE, third, (goals.pick_dearer_rank(shop),)),
    )


#: Topic, difficulty, number of tasks, template.
TEMPLATES: tuple[tuple[str, int, int, Template], ...] = (
    ("cancel and two returns", 2, 4, _clear_out),
    ("a move with two orders", 2, 4, _move_house),
    ("exchange, payment, cancel", 2, 4, _swap_pay_cancel),
    ("orders without ids", 3, 4, _hidden_orders),
    ("address and items of one order", 3, 4, _change_one_order),
    ("items of two orders", 2, 4, _two_changes),
    ("a question, then three changes", 3, 4, _ask_first),
    ("a refusal, then three changes", 3, 4, _refused_first),
    ("a fallback among others", 3, 4, _fallback_among),
    ("four goals", 3, 4, _four_goals),
)
