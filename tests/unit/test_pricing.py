"""Prices: the user's table, then the package; unknown is None and only local servers are free."""

from __future__ import annotations

import genai_prices
import pytest

from evalcore.records import Usage
from evalcore.settings import Endpoint, Price, Settings
from evalcore.targets import pricing

USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000)
SETTINGS = Settings(
    prices={"my-model": Price(input=2.0, output=8.0), "gpt-5": Price(input=1.0, output=0.0)},
    endpoints={"house": Endpoint(base_url="https://llm.example.org/v1", api_key_env="HOUSE_KEY")},
)


def test_the_users_table_comes_first():
    assert pricing.cost("my-model", "house", USAGE, SETTINGS) == pytest.approx(2.8)
    assert pricing.cost("gpt-5", "openai", USAGE, SETTINGS) == pytest.approx(1.0)


def test_the_users_table_also_holds_for_a_local_server():
    assert pricing.cost("my-model", "ollama", USAGE, SETTINGS) == pytest.approx(2.8)


def test_the_package_knows_vendors_by_their_address():
    plain = Settings()
    by_name = pricing.cost("gpt-5", "openai", USAGE, plain)
    by_address = pricing.cost("gpt-5", "https://api.openai.com/v1", USAGE, plain)
    assert by_name is not None
    assert by_name > 0
    assert by_name == by_address


def test_cached_tokens_cost_less_and_are_never_more_than_the_input():
    plain = Settings()
    full = pricing.cost("gpt-5", "openai", USAGE, plain)
    cached = pricing.cost(
        "gpt-5",
        "openai",
        Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=900_000),
        plain,
    )
    odd = pricing.cost(
        "gpt-5", "openai", Usage(input_tokens=10, output_tokens=1, cached_tokens=50), plain
    )
    assert full is not None
    assert cached is not None
    assert odd is not None
    assert 0 < odd < cached < full


@pytest.mark.parametrize(
    ("model", "endpoint"),
    [
        ("qwen-max", "qwen"),
        ("no-such-model", "openai"),
        ("gpt-5", "http://127.0.0.1:8000/v1"),
        ("gpt-5", "https://gateway.example.org/v1"),
        ("gpt-5", "house"),
    ],
)
def test_an_unknown_price_is_none(model, endpoint):
    assert pricing.cost(model, endpoint, USAGE, Settings(endpoints=SETTINGS.endpoints)) is None


@pytest.mark.parametrize("endpoint", ["vllm", "ollama", "llamacpp", "lmstudio", "transformers"])
def test_local_servers_are_free_even_without_usage(endpoint):
    assert pricing.cost("any", endpoint, Usage(), Settings()) == 0.0


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=5), Usage(output_tokens=5)])
def test_a_known_price_without_tokens_is_unknown(usage):
    assert pricing.cost("my-model", "house", usage, SETTINGS) is None
    assert pricing.cost("gpt-5", "openai", usage, Settings()) is None


def test_zero_tokens_cost_nothing():
    assert pricing.cost("my-model", "house", Usage(input_tokens=0, output_tokens=0), SETTINGS) == 0


@pytest.mark.parametrize(("model", "lookups"), [("no-such-model", 0), ("gpt-5", 20)])
def test_a_repeated_miss_asks_the_package_no_more_and_a_price_once(monkeypatch, model, lookups):
    pricing.cost(model, "openai", USAGE, Settings())
    calls, calculate = [], genai_prices.calc_price
    monkeypatch.setattr(
        genai_prices, "calc_price", lambda *a, **k: calls.append(a) or calculate(*a, **k)
    )
    for _ in range(20):
        pricing.cost(model, "openai", USAGE, Settings())
    assert len(calls) == lookups
