"""Prices: the user's table, then the package; unknown is None and only local servers are free."""

from __future__ import annotations

import genai_prices
import msgspec
import pytest

from evalcore.access.secrets import Secrets
from evalcore.exchange.page_jobs import build_export_file
from evalcore.records import Usage
from evalcore.runner.execute import execute_run
from evalcore.runner.jobs import TaskContext
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Endpoint, Price, Settings
from evalcore.targets import pricing
from evalcore.targets.endpoint import chat
from evalcore.views.runs import build_run_row
from tests.support.loopback_server import serve

USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000)
SETTINGS = Settings(
    prices={"my-model": Price(input=2.0, output=8.0), "gpt-5": Price(input=1.0, output=0.0)},
    endpoints={"house": Endpoint(base_url="https://llm.example.org/v1", api_key_env="HOUSE_KEY")},
)


def test_the_users_table_comes_first():
    assert pricing.compute_cost("my-model", "house", USAGE, SETTINGS) == pytest.approx(2.8)
    assert pricing.compute_cost("gpt-5", "openai", USAGE, SETTINGS) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("model", "endpoint", "usage", "source"),
    [
        ("my-model", "house", USAGE, "user_table"),
        ("gpt-5-mini", "https://api.openai.com/v1", USAGE, "price_list"),
        ("no-such-model", "openai", USAGE, "unknown"),
        ("my-model", "house", Usage(input_tokens=1), "unknown"),
        ("any", "ollama", Usage(), ""),
    ],
)
def test_what_the_provider_states_is_preferred_and_who_says_it_is_named(
    model, endpoint, usage, source
):
    assert pricing.quote_cost(model, endpoint, usage, SETTINGS).source == source
    for stated in (0.0, 0.25):
        text = msgspec.structs.replace(usage, cost=stated)
        assert pricing.quote_cost(model, endpoint, text, SETTINGS) == (stated, "provider")


def test_the_users_table_also_holds_for_a_local_server():
    assert pricing.compute_cost("my-model", "ollama", USAGE, SETTINGS) == pytest.approx(2.8)


def test_the_package_knows_vendors_by_their_address():
    plain = Settings()
    by_name = pricing.compute_cost("gpt-5", "openai", USAGE, plain)
    by_address = pricing.compute_cost("gpt-5", "https://api.openai.com/v1", USAGE, plain)
    assert by_name is not None
    assert by_name > 0
    assert by_name == by_address


def test_cached_tokens_cost_less_and_are_never_more_than_the_input():
    plain = Settings()
    full = pricing.compute_cost("gpt-5", "openai", USAGE, plain)
    cached = pricing.compute_cost(
        "gpt-5",
        "openai",
        Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=900_000),
        plain,
    )
    odd = pricing.compute_cost(
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
    assert (
        pricing.compute_cost(model, endpoint, USAGE, Settings(endpoints=SETTINGS.endpoints)) is None
    )


@pytest.mark.parametrize("endpoint", ["vllm", "ollama", "llamacpp", "lmstudio", "transformers"])
def test_local_servers_are_free_even_without_usage(endpoint):
    assert pricing.compute_cost("any", endpoint, Usage(), Settings()) == 0.0


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=5), Usage(output_tokens=5)])
def test_a_known_price_without_tokens_is_unknown(usage):
    assert pricing.compute_cost("my-model", "house", usage, SETTINGS) is None
    assert pricing.compute_cost("gpt-5", "openai", usage, Settings()) is None


def test_zero_tokens_cost_nothing():
    assert (
        pricing.compute_cost("my-model", "house", Usage(input_tokens=0, output_tokens=0), SETTINGS)
        == 0
    )


@pytest.mark.parametrize(("model", "lookups"), [("no-such-model", 0), ("gpt-5", 20)])
def test_a_repeated_miss_asks_the_package_no_more_and_a_price_once(monkeypatch, model, lookups):
    pricing.compute_cost(model, "openai", USAGE, Settings())
    calls, calculate = [], genai_prices.calc_price
    monkeypatch.setattr(
        genai_prices, "calc_price", lambda *a, **k: calls.append(a) or calculate(*a, **k)
    )
    for _ in range(20):
        pricing.compute_cost(model, "openai", USAGE, Settings())
    assert len(calls) == lookups


@pytest.mark.parametrize("stated", [None, 0.01])
def test_a_run_says_what_it_cost_and_according_to_whom(stated, tmp_path, monkeypatch):
    monkeypatch.setattr(chat, "_parse_reported_cost", lambda usage: stated)
    prices = {"test": Price(input=1000.0, output=1000.0)}
    settings = Settings(data=str(tmp_path), shipped=str(tmp_path / "none"), prices=prices)
    with serve() as server:
        request = RunRequest(
            target="openai:test",
            benchmarks=("sql_understanding",),
            target_options={"base_url": server.base_url},
            max_samples=3,
        )
        folder = create_folder(plan_run(request, settings), settings)
        summary = execute_run(folder, settings, Secrets({"OPENAI_API_KEY": "sk-0123456789abcdef"}))
    source = "user_table" if stated is None else "provider"
    episodes = [stored.episode for stored in folder.read_episodes()]
    assert {episode.cost_sources for episode in episodes} == {(source,)}
    assert summary.totals.cost_sources == build_run_row(folder).cost_sources == (source,)
    assert (summary.totals.cost == pytest.approx(0.01 * len(episodes))) == (stated is not None)
    assert (
        source.replace("_", " ")
        in build_export_file(TaskContext(settings), folder.run_id, "md").decode()
    )
