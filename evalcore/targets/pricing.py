"""What an answer costs in USD, and who says so; None where nobody does, which is not the same as 0.

What the provider itself says that the request cost (`Usage.cost`) comes first, then the user's
table (`[prices."MODEL"]` in the settings), then the `genai-prices` package, by the endpoint's
address and the model's name; it knows tiers, cached tokens and times of day. Only what asks no
money by declaration is free: an endpoint marked as local.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from evalcore.errors import UsageError
from evalcore.records import CostSource, TargetSpec, Usage
from evalcore.settings import Price, Settings
from evalcore.targets.base import TargetInfo
from evalcore.targets.endpoints import list_endpoints, resolve_route
from evalcore.targets.registry import is_loopback

#: A million tokens as prices are usually averaged: three of the question to one of the answer.
_MILLION = Usage(input_tokens=750_000, output_tokens=250_000)
_FREE_KINDS = frozenset({"baseline", "control", "local"})


class Quote(NamedTuple):
    """The cost of an answer in USD; `source` is "" for what is free by declaration."""

    amount: float | None
    source: CostSource | Literal[""]


def compute_cost(model: str, endpoint: str, usage: Usage, settings: Settings) -> float | None:
    return quote_cost(model, endpoint, usage, settings).amount


def quote_cost(model: str, endpoint: str, usage: Usage, settings: Settings) -> Quote:
    """The cost of one answer of `model` at `endpoint`, a known endpoint's name or an address.
    Unknown where the price is, or the tokens are that a known price would need."""
    return ModelRates.find(model, endpoint, settings).quote(usage)


@dataclass(frozen=True)
class ModelRates:
    """What is known of a model's price before any answer: the user's own `price`, whether it
    `is_free` by declaration, and the `address` under which the list of prices may know it."""

    model: str
    price: Price | None
    is_free: bool
    address: str

    @classmethod
    def find(cls, model: str, endpoint: str, settings: Settings) -> ModelRates:
        """The rates of `model` at `endpoint`, a known endpoint's name or an address."""
        price = settings.prices.get(model)
        configured = list_endpoints(settings).get(endpoint)
        address = configured.base_url if configured else endpoint
        is_free = price is None and configured is not None and configured.local
        if is_loopback(address):  # no list knows it, and reading the list takes a while
            address = ""
        return cls(model, price, is_free, address)

    def quote(self, usage: Usage) -> Quote:
        """The cost of one answer."""
        if usage.cost is not None:
            return Quote(usage.cost, "provider")
        if self.is_free:
            return Quote(0.0, "")
        if usage.input_tokens is None or usage.output_tokens is None:
            return Quote(None, "unknown")
        if self.price is not None:
            amount = cost_by_table(self.price, usage.input_tokens, usage.output_tokens)
            return Quote(amount, "user_table")
        if not self.address or not _is_priced(self.model, self.address):
            return Quote(None, "unknown")
        cost = _cost_by_package(self.model, self.address, usage)
        return Quote(cost, "unknown" if cost is None else "price_list")


def build_target_pricer(info: TargetInfo, settings: Settings) -> Callable[[Usage], Quote]:
    """The price of one answer of a target, as a function of its usage; programs are free."""
    if info.kind in _FREE_KINDS:
        return lambda usage: Quote(0.0, "")
    model, endpoint = str(info.card.get("model", "")), str(info.card.get("endpoint", ""))
    return ModelRates.find(model, endpoint, settings).quote


def cost_by_table(price: Price, input_tokens: int, output_tokens: int) -> float:
    """USD at a price per million tokens; cached tokens count as any other."""
    return (input_tokens * price.input + output_tokens * price.output) / 1_000_000


@lru_cache(maxsize=256)
def _is_priced(model: str, base_url: str) -> bool:
    """Whether the package knows the model at that address; a miss is slow there, so kept here."""
    return _cost_by_package(model, base_url, Usage(input_tokens=1, output_tokens=1)) is not None


def _cost_by_package(model: str, base_url: str, usage: Usage) -> float | None:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    counts: dict[str, Any] = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.cached_tokens:
        counts["cache_read_tokens"] = min(usage.cached_tokens, usage.input_tokens or 0)
    try:
        return float(calc_price(Tokens(**counts), model, provider_api_url=base_url).total_price)
    except LookupError:
        return None


def compute_endpoint_price(spec: TargetSpec, settings: Settings) -> float | None:
    """USD for a million tokens of a model at an endpoint, None where the list does not know it."""
    try:
        route = resolve_route(spec.key, settings, str(spec.options.get("base_url", "")))
    except UsageError:
        return None
    return compute_cost(route.model, route.name, _MILLION, settings)
