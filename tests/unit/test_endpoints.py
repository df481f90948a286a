"""Which server a target key means, and what its options may change."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.settings import Endpoint, Settings
from evalcore.targets.endpoints import PRESETS, list_endpoints, resolve_endpoint, resolve_route
from evalcore.targets.registry import check_address, is_loopback

SETTINGS = Settings(
    endpoints={
        "house": Endpoint(base_url="https://llm.example.org/v1", api_key_env="HOUSE_KEY"),
        "ollama": Endpoint(base_url="http://10.0.0.5:11434/v1", local=True),
    }
)


@pytest.mark.parametrize(
    ("key", "name", "model"),
    [
        ("openai:gpt-5.5", "openai", "gpt-5.5"),
        ("gpt-5.5", "openai", "gpt-5.5"),
        ("openai:deepseek/deepseek-chat", "deepseek", "deepseek-chat"),
        ("openai:Qwen/Qwen3-4B", "openai", "Qwen/Qwen3-4B"),
        ("openai:vllm/Qwen/Qwen3-4B", "vllm", "Qwen/Qwen3-4B"),
        ("openai:ollama/qwen3:4b", "ollama", "qwen3:4b"),
        ("openai:house/any/model", "house", "any/model"),
    ],
)
def test_resolve(key, name, model):
    endpoint = resolve_endpoint(key, SETTINGS)
    assert (endpoint[0], endpoint[2]) == (name, model)
    assert endpoint[1] == list_endpoints(SETTINGS)[name]


def test_a_configured_endpoint_replaces_the_preset_of_its_name():
    assert resolve_endpoint("openai:ollama/x", SETTINGS)[1].base_url == "http://10.0.0.5:11434/v1"
    assert resolve_endpoint("openai:ollama/x", Settings())[1] == PRESETS["ollama"]


@pytest.mark.parametrize("key", ["openai:", "openai:deepseek/", "openai: "])
def test_a_key_without_a_model_names_the_endpoints(key):
    with pytest.raises(UsageError, match=r"names no model.*deepseek"):
        resolve_endpoint(key, SETTINGS)


def test_every_preset_can_be_reached_and_remote_ones_name_their_key():
    for name, endpoint in PRESETS.items():
        check_address(endpoint.base_url)
        assert endpoint.local == is_loopback(endpoint.base_url), name
        assert endpoint.local or endpoint.api_key_env.endswith(("_API_KEY", "_TOKEN")), name


def test_a_remote_preset_requires_its_key_and_a_local_one_does_not():
    assert not resolve_route("openai:gpt-5.5", SETTINGS).key_optional
    assert resolve_route("openai:vllm/x", SETTINGS).key_optional
    assert not resolve_route("openai:vllm/x", SETTINGS, api_key_env="MY_KEY").key_optional


def test_an_endpoints_key_is_not_sent_to_another_host():
    moved = resolve_route("openai:gpt-5.5", SETTINGS, base_url="https://other.example.net/v1")
    assert moved.endpoint.api_key_env == ""
    assert moved.key_optional
    assert moved.name == "https://other.example.net/v1"
    assert moved.endpoint.token_field == "max_tokens"
    named = resolve_route("openai:x", SETTINGS, "https://other.example.net/v1", "OTHER_KEY")
    assert named.endpoint.api_key_env == "OTHER_KEY"
    assert not named.key_optional


def test_an_endpoints_key_may_be_sent_to_this_machine_and_to_its_own_host():
    here = resolve_route("openai:gpt-5.5", SETTINGS, base_url="http://127.0.0.1:9/v1/")
    assert here.endpoint.api_key_env == "OPENAI_API_KEY"
    assert here.endpoint.base_url == "http://127.0.0.1:9/v1"
    assert here.key_optional
    same = resolve_route("openai:gpt-5.5", SETTINGS, base_url="https://api.openai.com:443/v2")
    assert same.endpoint.api_key_env == "OPENAI_API_KEY"
    assert same.name == "openai"
    assert not same.key_optional


def test_a_local_endpoint_stays_local_when_it_is_moved():
    moved = resolve_route("openai:vllm/x", SETTINGS, base_url="http://gpu-box:8000/v1")
    assert moved.endpoint.local
    assert moved.name == "vllm"
    assert moved.endpoint.api_key_env == ""


@pytest.mark.parametrize(
    "address", ["", "ftp://host/v1", "host/v1", "https://", "http://host:port/v1", "http://[::1/v1"]
)
def test_bad_addresses(address):
    with pytest.raises(UsageError, match="https://HOST/v1"):
        check_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://user:hunter2hunter2@host/v1",
        "https://host/v1?api_key=hunter2",
        "https://h/?sig=hunter2",
        "https://h/?auth=hunter2",
        "https://h/v1?a=1;key=hunter2",
        "https://h/v1#token=hunter2",
        "https://h/sk-hunter2hunter2/v1",
    ],
)
def test_an_address_that_holds_a_secret_is_refused_without_repeating_it(address):
    with pytest.raises(UsageError) as caught:
        resolve_route("openai:x", SETTINGS, base_url=address)
    assert "hunter2" not in str(caught.value)


def test_a_key_in_place_of_a_variables_name_is_refused_without_repeating_it():
    with pytest.raises(UsageError, match="name of an environment variable") as caught:
        resolve_route("openai:x", SETTINGS, api_key_env="sk-hunter2hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://127.8.8.8/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://localhost:8000/v1", True),
        ("http://10.0.0.1/v1", False),
        ("https://localhost.example.org/v1", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_is_loopback(address, here):
    assert is_loopback(address) is here
