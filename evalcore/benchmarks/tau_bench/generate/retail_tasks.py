"""The tasks of the shop: templates that combine deeds, and how often each is used."""

from __future__ import annotations

from collections.abc import Callable

from evalcore.benchmarks.tau_bench.generate import retail_deeds as do
from evalcore.benchmarks.tau_bench.generate.plan import (
    Deed,
    Plan,
    dearer,
    instead,
    refused,
    unknown_id,
)
from evalcore.benchmarks.tau_bench.generate.retail_world import (
    HYGIENE,
    PRODUCTS,
    Row,
    Shop,
    add_order,
    add_user,
    method,
)

#: What a template makes of a shop and a user with a well-filled gift card.
_Made = tuple[Deed, ...]
Template = Callable[[Shop, str], _Made]


def retail_plans(shop: Shop) -> list[Plan]:
    """All tasks, each with a user of its own."""
    plans = []
    for topic, difficulty, count, template in TEMPLATES:
        for _ in range(count):
            user_id = add_user(shop, round(900 + shop.rng.random() * 300, 2))
            plans.append(Plan(user_id, topic, difficulty, template(shop, user_id)))
    return plans


def _pending(shop: Shop, user_id: str) -> Row:
    return do.order_of(shop, user_id, "pending", shop.rng.choice(("credit_card", "paypal")))


def _delivered(shop: Shop, user_id: str) -> Row:
    return do.order_of(shop, user_id, "delivered", shop.rng.choice(("credit_card", "paypal")))


def _cancel(shop: Shop, user: str) -> _Made:
    return (do.cancel(shop, do.order_of(shop, user, "pending", "gift_card")),)


def _cancel_hidden(shop: Shop, user: str) -> _Made:
    return (unknown_id(do.cancel(shop, _pending(shop, user), named=True)),)


def _cancel_reason(shop: Shop, user: str) -> _Made:
    order = _pending(shop, user)
    return (refused(do.cancel(shop, order, reason="a better price elsewhere")),)


def _cancel_processed(shop: Shop, user: str) -> _Made:
    order = do.order_of(shop, user, "processed")
    return (refused(do.cancel(shop, order)),)


def _cancel_foreign(shop: Shop, user: str) -> _Made:
    _pending(shop, user)
    other = add_user(shop)
    return (refused(do.cancel(shop, _pending(shop, other))),)


def _cancel_or_return(shop: Shop, user: str) -> _Made:
    order = _delivered(shop, user)
    return (instead(do.cancel(shop, order), do.give_back(order, len(order["items"]))),)


def _return(shop: Shop, user: str) -> _Made:
    return (do.give_back(_delivered(shop, user), shop.rng.randrange(1, 3)),)


def _return_to_gift(shop: Shop, user: str) -> _Made:
    gift = method(shop, user, "gift_card")
    return (unknown_id(do.give_back(_delivered(shop, user), 1, gift)),)


def _return_hygiene(shop: Shop, user: str) -> _Made:
    return (refused(do.give_back(_hygiene(shop, user), 1)),)


def _return_hygiene_or_swap(shop: Shop, user: str) -> _Made:
    order = _hygiene(shop, user)
    return (instead(do.give_back(order, 1), do.swap(shop, do.EXCHANGE, order, (1,))),)


def _hygiene(shop: Shop, user: str) -> Row:
    """A delivered order of something that cannot be returned, and of something that can."""
    _pending(shop, user)
    used = shop.used[user].union(HYGIENE)
    other = shop.rng.choice([name for name in PRODUCTS if name not in used])
    return add_order(shop, user, "delivered", only=(shop.rng.choice(HYGIENE), other))


def _exchange(shop: Shop, user: str) -> _Made:
    ranks = (do.dearest(shop), do.cheaper(shop))[: shop.rng.randrange(1, 3)]
    return (do.swap(shop, do.EXCHANGE, _delivered(shop, user), ranks),)


def _exchange_hidden(shop: Shop, user: str) -> _Made:
    return (unknown_id(do.swap(shop, do.EXCHANGE, _delivered(shop, user), (do.dearest(shop),))),)


def _exchange_or_return(shop: Shop, user: str) -> _Made:
    order = _delivered(shop, user)
    wanted = do.swap(shop, do.EXCHANGE, order, (do.sold_out(shop),))
    return (instead(wanted, do.give_back(order, 1)),)


def _swap_within(shop: Shop, user: str) -> _Made:
    """Too dear, then a cheaper one, which brings money back."""
    pending = shop.rng.random() < 0.5
    order = _pending(shop, user) if pending else _delivered(shop, user)
    tool = do.MODIFY if pending else do.EXCHANGE
    limit = int(do.surcharge(shop, order, 7) * 0.6)
    first, second = (do.swap(shop, tool, order, (rank,)) for rank in (7, do.cheaper(shop)))
    return (dearer(first, limit, second),)


def _swap_below(shop: Shop, user: str) -> _Made:
    """Not too dear, whichever of its prices an agent names: the fallback must not be used."""
    order = _pending(shop, user)
    limit = int(order["payment_history"][0]["amount"] + do.surcharge(shop, order, 6)) + 20
    first, second = (do.swap(shop, do.MODIFY, order, (rank,)) for rank in (6, 0))
    return (Deed(dearer(first, limit, second).goal, first.actions),)


def _modify(shop: Shop, user: str) -> _Made:
    ranks = (do.cheaper(shop), do.dearest(shop))[: shop.rng.randrange(1, 3)]
    paypal = method(shop, user, "paypal")
    return (do.swap(shop, do.MODIFY, _pending(shop, user), ranks, paypal),)


def _modify_small_gift(shop: Shop, user: str) -> _Made:
    order, gift = _pending(shop, user), method(shop, user, "gift_card")
    _shrink(shop, user, do.surcharge(shop, order, 7) / 2)
    first = do.swap(shop, do.MODIFY, order, (7,), gift)
    return (instead(first, do.swap(shop, do.MODIFY, order, (7,), method(shop, user, "paypal"))),)


def _pay(shop: Shop, user: str) -> _Made:
    order = do.order_of(shop, user, "pending")
    return (do.pay_by(order, method(shop, user, shop.rng.choice(("paypal", "gift_card")))),)


def _pay_small_gift(shop: Shop, user: str) -> _Made:
    order = do.order_of(shop, user, "pending")
    _shrink(shop, user, order["payment_history"][0]["amount"] / 2)
    gift, paypal = (method(shop, user, source) for source in ("gift_card", "paypal"))
    return (instead(do.pay_by(order, gift), do.pay_by(order, paypal)),)


def _shrink(shop: Shop, user: str, balance: float) -> None:
    card = shop.users[user]["payment_methods"][method(shop, user, "gift_card")]
    card["balance"] = round(balance, 2)


def _redirect(shop: Shop, user: str) -> _Made:
    return (do.redirect(shop, _pending(shop, user)),)


def _redirect_hidden(shop: Shop, user: str) -> _Made:
    return (unknown_id(do.redirect(shop, _pending(shop, user), named=True)),)


def _redirect_abroad(shop: Shop, user: str) -> _Made:
    return (refused(do.redirect(shop, _pending(shop, user), country="Canada")),)


def _abroad_then_pay(shop: Shop, user: str) -> _Made:
    order = do.order_of(shop, user, "pending")
    abroad = refused(do.redirect(shop, order, country="Mexico"))
    return (abroad, do.pay_by(order, method(shop, user, "paypal")))


def _move(shop: Shop, user: str) -> _Made:
    _pending(shop, user)
    return (do.move(shop, user),)


def _move_and_redirect(shop: Shop, user: str) -> _Made:
    order, moved = _pending(shop, user), do.move(shop, user)
    return (moved, do.redirect(shop, order, to=moved.goal.address))


def _redirect_and_modify(shop: Shop, user: str) -> _Made:
    order = _pending(shop, user)
    return (do.redirect(shop, order), do.swap(shop, do.MODIFY, order, (do.cheaper(shop),)))


def _return_and_cancel(shop: Shop, user: str) -> _Made:
    back = do.give_back(_delivered(shop, user), 1)
    return (back, do.cancel(shop, _one_more(shop, user, "pending")))


def _exchange_pay_move(shop: Shop, user: str) -> _Made:
    swapped = do.swap(shop, do.EXCHANGE, _delivered(shop, user), (do.dearest(shop),))
    paid = do.pay_by(_one_more(shop, user, "pending"), method(shop, user, "paypal"))
    return (swapped, paid, do.move(shop, user))


def _one_more(shop: Shop, user: str, status: str) -> Row:
    return add_order(shop, user, status)


def _ask_paid(shop: Shop, user: str) -> _Made:
    return (do.ask_paid(_delivered(shop, user)),)


def _ask_balance(shop: Shop, user: str) -> _Made:
    _pending(shop, user)
    return (do.ask_balance(shop, user),)


def _ask_stock(shop: Shop, user: str) -> _Made:
    _pending(shop, user)
    name = shop.rng.choice(tuple(PRODUCTS))
    return (do.ask_cheapest(shop, name), do.ask_available(shop, name))


def _ask_and_cancel(shop: Shop, user: str) -> _Made:
    order = _pending(shop, user)
    _one_more(shop, user, "pending")
    return (do.ask_pending(shop, user), do.cancel(shop, order))


#: Topic, difficulty, number of tasks, template.
TEMPLATES: tuple[tuple[str, int, int, Template], ...] = (
    ("cancel", 1, 3, _cancel),
    ("cancel, id unknown", 2, 3, _cancel_hidden),
    ("refusal: reason", 2, 2, _cancel_reason),
    ("refusal: status", 1, 1, _cancel_processed),
    ("refusal: another user's order", 2, 2, _cancel_foreign),
    ("refusal: hygiene", 2, 1, _return_hygiene),
    ("refusal: abroad", 2, 1, _redirect_abroad),
    ("cancel, else return", 2, 2, _cancel_or_return),
    ("return", 1, 3, _return),
    ("return to a gift card, id unknown", 2, 2, _return_to_gift),
    ("return, else exchange", 3, 2, _return_hygiene_or_swap),
    ("exchange", 1, 3, _exchange),
    ("exchange, id unknown", 2, 2, _exchange_hidden),
    ("exchange, else return", 3, 2, _exchange_or_return),
    ("price limit", 3, 4, _swap_within),
    ("price limit kept", 3, 2, _swap_below),
    ("modify items", 1, 3, _modify),
    ("modify items, gift card too small", 3, 2, _modify_small_gift),
    ("payment", 1, 2, _pay),
    ("payment, gift card too small", 2, 2, _pay_small_gift),
    ("address", 1, 2, _redirect),
    ("address, id unknown", 2, 2, _redirect_hidden),
    ("refusal, then payment", 3, 2, _abroad_then_pay),
    ("profile address", 1, 2, _move),
    ("profile and order address", 2, 2, _move_and_redirect),
    ("address, then items", 3, 2, _redirect_and_modify),
    ("return and cancel", 3, 2, _return_and_cancel),
    ("three goals", 3, 2, _exchange_pay_move),
    ("question: paid", 1, 2, _ask_paid),
    ("question: gift card", 1, 1, _ask_balance),
    ("questions: stock", 2, 2, _ask_stock),
    ("question, then cancel", 3, 2, _ask_and_cancel),
)
