"""Named OpenAI-compatible servers, and which of them a target key means.

`openai:<model>` is a model at OpenAI, `openai:<endpoint>/<model>` one at a preset or configured
endpoint. What stands before the first slash is an endpoint only if one has that name, so that
`openai:Qwen/Qwen3-4B` stays a model. An endpoint in the settings replaces a preset of its name.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.secrets import scrub_secrets
from evalcore.settings import Endpoint, Settings

DEFAULT = "openai"
#: Addresses as the vendors and projects document them; local ones are the servers' default ports.
PRESETS: dict[str, Endpoint] = {
    "openai": Endpoint(
        base_url="https://api.openai.com/v1",
        api_key_env="OPENAI_API_KEY",
        token_field="max_completion_tokens",  # noqa: S106 (tokens of text)
        title="OpenAI",
    ),
    "deepseek": Endpoint(
        base_url="https://api.deepseek.com",
        api_key_env="DEEPSEEK_API_KEY",
        send_reasoning=True,
        title="DeepSeek",
    ),
    "qwen": Endpoint(
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        api_key_env="DASHSCOPE_API_KEY",
        title="Qwen (DashScope)",
    ),
    "gemini": Endpoint(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        api_key_env="GEMINI_API_KEY",
        title="Gemini",
    ),
    "anthropic": Endpoint(
        base_url="https://api.anthropic.com/v1",
        api_key_env="ANTHROPIC_API_KEY",
        title="Anthropic",
    ),
    "vllm": Endpoint(
        base_url="http://127.0.0.1:8000/v1", api_key_env="VLLM_API_KEY", local=True, title="vLLM"
    ),
    "ollama": Endpoint(base_url="http://127.0.0.1:11434/v1", local=True, title="Ollama"),
    "llamacpp": Endpoint(
        base_url="http://127.0.0.1:8080/v1",
        api_key_env="LLAMA_API_KEY",
        local=True,
        title="llama.cpp",
    ),
    "lmstudio": Endpoint(base_url="http://127.0.0.1:1234/v1", local=True, title="LM Studio"),
    "transformers": Endpoint(
        base_url="http://127.0.0.1:8000/v1", local=True, title="transformers serve"
    ),
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_IN_QUERY = re.compile(r"(?i)(^|[&;])[^=&;]*(key|token|secret|sig|password|auth)[^=&;]*=")


class ModelRoute(Record, frozen=True):
    """Where a target's requests go. `key_optional`: the server may want none.

    `name` is that of the endpoint whose prices hold there, else the address itself.
    """

    name: str
    endpoint: Endpoint
    model: str
    key_optional: bool


def list_endpoints(settings: Settings) -> dict[str, Endpoint]:
    """Every endpoint by name: the configured ones, and the presets they do not replace."""
    return PRESETS | settings.endpoints


def resolve_endpoint(model_key: str, settings: Settings) -> tuple[str, Endpoint, str]:
    """Name, endpoint and model of a key, with or without its `openai:`.

    Raises UsageError where no model is named.
    """
    reference = model_key.removeprefix("openai:")
    endpoints = list_endpoints(settings)
    name, slash, model = reference.partition("/")
    if not slash or name not in endpoints:
        name, model = DEFAULT, reference
    if not model.strip():
        raise UsageError(
            f"target {model_key!r} names no model; write openai:MODEL or openai:ENDPOINT/MODEL "
            f"with an endpoint of: {', '.join(endpoints)}"
        )
    return name, endpoints[name], model


def resolve_route(
    model_key: str, settings: Settings, base_url: str = "", api_key_env: str = ""
) -> ModelRoute:
    """Where the requests of a target go, once its options are applied.

    The key of an endpoint is sent to that endpoint's host and to this machine, nowhere else: for
    another `base_url` the variable must be named. Raises UsageError for a bad address or name.
    """
    if api_key_env and not _VARIABLE.fullmatch(api_key_env):
        raise UsageError(
            "option api_key_env takes the name of an environment variable, not a key itself"
        )
    name, endpoint, model = resolve_endpoint(model_key, settings)
    address = (base_url or endpoint.base_url).rstrip("/")
    check_address(address)
    host, here = _host_and_port(address), is_loopback(address)
    moved = host != _host_and_port(endpoint.base_url)
    inherited = "" if moved and not here else endpoint.api_key_env
    endpoint = msgspec.structs.replace(
        endpoint,
        base_url=address,
        api_key_env=api_key_env or inherited,
        token_field="max_tokens" if moved else endpoint.token_field,
        requests_per_minute=None if moved else endpoint.requests_per_minute,
        tokens_per_minute=None if moved else endpoint.tokens_per_minute,
    )
    optional = not api_key_env and (endpoint.local or here or not inherited)
    same = not moved or endpoint.local
    return ModelRoute(
        name=name if same else address, endpoint=endpoint, model=model, key_optional=optional
    )


def check_address(address: str) -> None:
    """Raise UsageError unless `address` is a http(s) address that carries no password or key.

    The address enters the run's spec, so that a key in it would be written down; the message
    therefore does not repeat it.
    """
    try:
        parts = urlsplit(address)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise UsageError("base_url must look like https://HOST/v1 or http://HOST:PORT/v1")
    if parts.username is not None or _holds_key(address, parts.query + parts.fragment):
        raise UsageError("base_url must hold no password or key; name a variable by api_key_env")


def _holds_key(address: str, arguments: str) -> bool:
    return bool(_KEY_IN_QUERY.search(arguments)) or scrub_secrets(address) != address


def is_loopback(address: str) -> bool:
    """Whether an address means this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def same_host(address: str, other: str) -> bool:
    """Whether two addresses mean the same host and port."""
    return _host_and_port(address) == _host_and_port(other)


def _host_and_port(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.hostname}:{parts.port or {'http': 80, 'https': 443}.get(parts.scheme)}"
