"""The tasks of the shop: templates that combine goals, and how often each is used."""

from __future__ import annotations

from collections.abc import Callable

from tools.tau_tasks import retail_goals as goals
from tools.tau_tasks.plan import (
    PlannedGoal,
    TaskPlan,
    hide_order_id,
    plan_fallback,
    plan_price_limit,
    plan_refusal,
)
from tools.tau_tasks.retail_fixtures import (
    HYGIENE,
    PRODUCTS,
    Row,
    Shop,
    add_order,
    add_user,
    find_payment_method,
)

#: What a template makes of a shop and a user with a well-filled gift card.
_PlannedGoals = tuple[PlannedGoal, ...]
Template = Callable[[Shop, str], _PlannedGoals]


def build_retail_plans(shop: Shop) -> list[TaskPlan]:
    """Build the plans of all tasks, each with a user of its own."""
    plans = []
    for topic, difficulty, count, template in TEMPLATES:
        for _ in range(count):
            user_id = add_user(shop, round(900 + shop.rng.random() * 300, 2))
            plans.append(TaskPlan(user_id, topic, difficulty, template(shop, user_id)))
    return plans


def _add_pending_order(shop: Shop, user_id: str) -> Row:
    return goals.add_target_order(
        shop, user_id, "pending", shop.rng.choice(("credit_card", "paypal"))
    )


def _add_delivered_order(shop: Shop, user_id: str) -> Row:
    return goals.add_target_order(
        shop, user_id, "delivered", shop.rng.choice(("credit_card", "paypal"))
    )


def _cancel_order(shop: Shop, user: str) -> _PlannedGoals:
    return (
        goals.plan_order_cancellation(
            shop, goals.add_target_order(shop, user, "pending", "gift_card")
        ),
    )


def _cancel_hidden(shop: Shop, user: str) -> _PlannedGoals:
    return (
        hide_order_id(
            goals.plan_order_cancellation(shop, _add_pending_order(shop, user), named=True)
        ),
    )


def _cancel_reason(shop: Shop, user: str) -> _PlannedGoals:
    order = _add_pending_order(shop, user)
    return (
        plan_refusal(goals.plan_order_cancellation(shop, order, reason="a better price elsewhere")),
    )


def _cancel_processed(shop: Shop, user: str) -> _PlannedGoals:
    order = goals.add_target_order(shop, user, "processed")
    return (plan_refusal(goals.plan_order_cancellation(shop, order)),)


def _cancel_foreign(shop: Shop, user: str) -> _PlannedGoals:
    _add_pending_order(shop, user)
    other = add_user(shop)
    return (plan_refusal(goals.plan_order_cancellation(shop, _add_pending_order(shop, other))),)


def _cancel_or_return(shop: Shop, user: str) -> _PlannedGoals:
    order = _add_delivered_order(shop, user)
    return (
        plan_fallback(
            goals.plan_order_cancellation(shop, order),
            goals.plan_return(order, len(order["items"])),
        ),
    )


def _return_items(shop: Shop, user: str) -> _PlannedGoals:
    return (goals.plan_return(_add_delivered_order(shop, user), shop.rng.randrange(1, 3)),)


def _return_to_gift(shop: Shop, user: str) -> _PlannedGoals:
    gift = find_payment_method(shop, user, "gift_card")
    return (hide_order_id(goals.plan_return(_add_delivered_order(shop, user), 1, gift)),)


def _return_hygiene(shop: Shop, user: str) -> _PlannedGoals:
    return (plan_refusal(goals.plan_return(_add_hygiene_order(shop, user), 1)),)


def _return_hygiene_or_swap(shop: Shop, user: str) -> _PlannedGoals:
    order = _add_hygiene_order(shop, user)
    return (
        plan_fallback(
            goals.plan_return(order, 1), goals.plan_item_swap(shop, goals.EXCHANGE, order, (1,))
        ),
    )


def _add_hygiene_order(shop: Shop, user: str) -> Row:
    """A delivered order of something that cannot be returned, and of something that can."""
    _add_pending_order(shop, user)
    used = shop.used[user].union(HYGIENE)
    other = shop.rng.choice([name for name in PRODUCTS if name not in used])
    return add_order(shop, user, "delivered", only=(shop.rng.choice(HYGIENE), other))


def _exchange_items(shop: Shop, user: str) -> _PlannedGoals:
    ranks = (goals.pick_dearer_rank(shop), goals.pick_cheaper_rank(shop))[
        : shop.rng.randrange(1, 3)
    ]
    return (goals.plan_item_swap(shop, goals.EXCHANGE, _add_delivered_order(shop, user), ranks),)


def _exchange_hidden(shop: Shop, user: str) -> _PlannedGoals:
    return (
        hide_order_id(
            goals.plan_item_swap(
                shop,
                goals.EXCHANGE,
                _add_delivered_order(shop, user),
                (goals.pick_dearer_rank(shop),),
            )
        ),
    )


def _exchange_or_return(shop: Shop, user: str) -> _PlannedGoals:
    order = _add_delivered_order(shop, user)
    exchange = goals.plan_item_swap(shop, goals.EXCHANGE, order, (goals.pick_sold_out_rank(shop),))
    return (plan_fallback(exchange, goals.plan_return(order, 1)),)


def _swap_within(shop: Shop, user: str) -> _PlannedGoals:
    """Too dear, then a cheaper one, which brings money back."""
    pending = shop.rng.random() < 0.5
    order = _add_pending_order(shop, user) if pending else _add_delivered_order(shop, user)
    tool = goals.MODIFY if pending else goals.EXCHANGE
    limit = int(goals.compute_surcharge(shop, order, 7) * 0.6)
    first, second = (
        goals.plan_item_swap(shop, tool, order, (rank,))
        for rank in (7, goals.pick_cheaper_rank(shop))
    )
    return (plan_price_limit(first, limit, second),)


def _swap_below(shop: Shop, user: str) -> _PlannedGoals:
    """Not too dear, whichever of its prices an agent names: the fallback must not be used."""
    order = _add_pending_order(shop, user)
    limit = (
        int(order["payment_history"][0]["amount"] + goals.compute_surcharge(shop, order, 6)) + 20
    )
    first, second = (goals.plan_item_swap(shop, goals.MODIFY, order, (rank,)) for rank in (6, 0))
    return (PlannedGoal(plan_price_limit(first, limit, second).goal, first.actions),)


def _modify_items(shop: Shop, user: str) -> _PlannedGoals:
    ranks = (goals.pick_cheaper_rank(shop), goals.pick_dearer_rank(shop))[
        : shop.rng.randrange(1, 3)
    ]
    paypal = find_payment_method(shop, user, "paypal")
    return (
        goals.plan_item_swap(shop, goals.MODIFY, _add_pending_order(shop, user), ranks, paypal),
    )


def _modify_small_gift(shop: Shop, user: str) -> _PlannedGoals:
    order, gift = _add_pending_order(shop, user), find_payment_method(shop, user, "gift_card")
    _set_gift_balance(shop, user, goals.compute_surcharge(shop, order, 7) / 2)
    first = goals.plan_item_swap(shop, goals.MODIFY, order, (7,), gift)
    return (
        plan_fallback(
            first,
            goals.plan_item_swap(
                shop, goals.MODIFY, order, (7,), find_payment_method(shop, user, "paypal")
            ),
        ),
    )


def _change_payment(shop: Shop, user: str) -> _PlannedGoals:
    order = goals.add_target_order(shop, user, "pending")
    return (
        goals.plan_payment_change(
            order, find_payment_method(shop, user, shop.rng.choice(("paypal", "gift_card")))
        ),
    )


def _pay_small_gift(shop: Shop, user: str) -> _PlannedGoals:
    order = goals.add_target_order(shop, user, "pending")
    _set_gift_balance(shop, user, order["payment_history"][0]["amount"] / 2)
    gift, paypal = (find_payment_method(shop, user, source) for source in ("gift_card", "paypal"))
    return (
        plan_fallback(
            goals.plan_payment_change(order, gift), goals.plan_payment_change(order, paypal)
        ),
    )


def _set_gift_balance(shop: Shop, user: str, balance: float) -> None:
    card = shop.users[user]["payment_methods"][find_payment_method(shop, user, "gift_card")]
    card["balance"] = round(balance, 2)


def _change_address(shop: Shop, user: str) -> _PlannedGoals:
    return (goals.plan_address_change(shop, _add_pending_order(shop, user)),)


def _redirect_hidden(shop: Shop, user: str) -> _PlannedGoals:
    return (
        hide_order_id(goals.plan_address_change(shop, _add_pending_order(shop, user), named=True)),
    )


def _redirect_abroad(shop: Shop, user: str) -> _PlannedGoals:
    return (
        plan_refusal(
            goals.plan_address_change(shop, _add_pending_order(shop, user), country="Canada")
        ),
    )


def _abroad_then_pay(shop: Shop, user: str) -> _PlannedGoals:
    order = goals.add_target_order(shop, user, "pending")
    abroad = plan_refusal(goals.plan_address_change(shop, order, country="Mexico"))
    return (abroad, goals.plan_payment_change(order, find_payment_method(shop, user, "paypal")))


def _change_profile_address(shop: Shop, user: str) -> _PlannedGoals:
    _add_pending_order(shop, user)
    return (goals.plan_profile_address(shop, user),)


def _move_and_redirect(shop: Shop, user: str) -> _PlannedGoals:
    order, moved = _add_pending_order(shop, user), goals.plan_profile_address(shop, user)
    return (moved, goals.plan_address_change(shop, order, to=moved.goal.address))


def _redirect_and_modify(shop: Shop, user: str) -> _PlannedGoals:
    order = _add_pending_order(shop, user)
    return (
        goals.plan_address_change(shop, order),
        goals.plan_item_swap(shop, goals.MODIFY, order, (goals.pick_cheaper_rank(shop),)),
    )


def _return_and_cancel(shop: Shop, user: str) -> _PlannedGoals:
    back = goals.plan_return(_add_delivered_order(shop, user), 1)
    return (back, goals.plan_order_cancellation(shop, _add_extra_order(shop, user, "pending")))


def _exchange_pay_move(shop: Shop, user: str) -> _PlannedGoals:
    swapped = goals.plan_item_swap(
        shop, goals.EXCHANGE, _add_delivered_order(shop, user), (goals.pick_dearer_rank(shop),)
    )
    paid = goals.plan_payment_change(
        _add_extra_order(shop, user, "pending"), find_payment_method(shop, user, "paypal")
    )
    return (swapped, paid, goals.plan_profile_address(shop, user))


def _add_extra_order(shop: Shop, user: str, status: str) -> Row:
    return add_order(shop, user, status)


def _ask_paid(shop: Shop, user: str) -> _PlannedGoals:
    return (goals.ask_paid(_add_delivered_order(shop, user)),)


def _ask_balance(shop: Shop, user: str) -> _PlannedGoals:
    _add_pending_order(shop, user)
    return (goals.ask_balance(shop, user),)


def _ask_stock(shop: Shop, user: str) -> _PlannedGoals:
    _add_pending_order(shop, user)
    name = shop.rng.choice(tuple(PRODUCTS))
    return (goals.ask_cheapest(shop, name), goals.ask_available(shop, name))


def _ask_and_cancel(shop: Shop, user: str) -> _PlannedGoals:
    order = _add_pending_order(shop, user)
    _add_extra_order(shop, user, "pending")
    return (goals.ask_pending(shop, user), goals.plan_order_cancellation(shop, order))


#: Topic, difficulty, number of tasks, template.
TEMPLATES: tuple[tuple[str, int, int, Template], ...] = (
    ("cancel", 1, 3, _cancel_order),
    ("cancel, id unknown", 2, 3, _cancel_hidden),
    ("refusal: reason", 2, 2, _cancel_reason),
    ("refusal: status", 1, 1, _cancel_processed),
    ("refusal: another user's order", 2, 2, _cancel_foreign),
    ("refusal: hygiene", 2, 1, _return_hygiene),
    ("refusal: abroad", 2, 1, _redirect_abroad),
    ("cancel, else return", 2, 2, _cancel_or_return),
    ("return", 1, 3, _return_items),
    ("return to a gift card, id unknown", 2, 2, _return_to_gift),
    ("return, else exchange", 3, 2, _return_hygiene_or_swap),
    ("exchange", 1, 3, _exchange_items),
    ("exchange, id unknown", 2, 2, _exchange_hidden),
    ("exchange, else return", 3, 2, _exchange_or_return),
    ("price limit", 3, 4, _swap_within),
    ("price limit kept", 3, 2, _swap_below),
    ("modify items", 1, 3, _modify_items),
    ("modify items, gift card too small", 3, 2, _modify_small_gift),
    ("payment", 1, 2, _change_payment),
    ("payment, gift card too small", 2, 2, _pay_small_gift),
    ("address", 1, 2, _change_address),
    ("address, id unknown", 2, 2, _redirect_hidden),
    ("refusal, then payment", 3, 2, _abroad_then_pay),
    ("profile address", 1, 2, _change_profile_address),
    ("profile and order address", 2, 2, _move_and_redirect),
    ("address, then items", 3, 2, _redirect_and_modify),
    ("return and cancel", 3, 2, _return_and_cancel),
    ("three goals", 3, 2, _exchange_pay_move),
    ("question: paid", 1, 2, _ask_paid),
    ("question: gift card", 1, 1, _ask_balance),
    ("questions: stock", 2, 2, _ask_stock),
    ("question, then cancel", 3, 2, _ask_and_cancel),
)
