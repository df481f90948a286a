"""The endpoints behind `openai:` targets: presets and configured servers, where the requests of a
target go, with which key, and who may name them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from evalcore.access import policy
from evalcore.access.egress import EgressPolicy, parse_origin
from evalcore.access.secrets import Secrets
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record, TargetSpec
from evalcore.settings import AuthStyle, Endpoint, Settings
from evalcore.targets.registry import check_address, is_loopback, resolve_egress, same_host

# `openai:<model>` is a model at OpenAI, `openai:<endpoint>/<model>` one at a preset or configured
# endpoint. What stands before the first slash is an endpoint only if one has that name, so that
# `openai:Qwen/Qwen3-4B` stays a model. An endpoint in the settings replaces a preset of its name.

DEFAULT = "openai"


def _preset(title: str, base_url: str, api_key_env: str = "", **fields: Any) -> Endpoint:
    return Endpoint(base_url, api_key_env, title=title, **fields)


#: Addresses as the vendors and projects document them; local ones are the servers' default ports.
PRESETS = {
    "openai": _preset(
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        token_field="max_completion_tokens",  # noqa: S106 (tokens of text)
    ),
    "deepseek": _preset(
        "DeepSeek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", send_reasoning=True
    ),
    "qwen": _preset(
        "Qwen (DashScope)", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"
    ),
    "dashscope": _preset(
        "DashScope (international)",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
    ),
    "gemini": _preset(
        "Gemini", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY", api="gemini"
    ),
    "anthropic": _preset(
        "Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", api="anthropic"
    ),
    "openrouter": _preset("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": _preset("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "together": _preset("Together AI", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "mistral": _preset("Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "huggingface": _preset(
        "Hugging Face Inference Providers", "https://router.huggingface.co/v1", "HF_TOKEN"
    ),
    "fireworks": _preset(
        "Fireworks AI", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"
    ),
    "xai": _preset("xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
    "zhipu": _preset(
        "Zhipu AI", "https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY", send_reasoning=True
    ),
    "zai": _preset(
        "Z.ai (Zhipu, international)",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        send_reasoning=True,
    ),
    "moonshot": _preset(
        "Moonshot AI", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", send_reasoning=True
    ),
    "moonshot-cn": _preset(
        "Moonshot AI (China)", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", send_reasoning=True
    ),
    "vllm": _preset(
        "vLLM", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", local=True, start="vllm serve MODEL"
    ),
    "ollama": _preset("Ollama", "http://127.0.0.1:11434/v1", local=True, start="ollama serve"),
    "llamacpp": _preset(
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        "LLAMA_API_KEY",
        local=True,
        start="llama-server -m MODEL.gguf",
    ),
    "lmstudio": _preset(
        "LM Studio", "http://127.0.0.1:1234/v1", local=True, start="lms server start"
    ),
    "transformers": _preset(
        "transformers serve", "http://127.0.0.1:8000/v1", local=True, start="transformers serve"
    ),
}
#: Options that say what goes out beside the question, or with whose credentials.
_OPERATOR_OPTIONS = ("extra_body", "headers", "auth")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ModelRoute(Record, frozen=True):
    """Where a target's requests go. `key_optional`: the server may want none. `name` is that of the
    endpoint whose prices hold there, else the address itself."""

    name: str
    endpoint: Endpoint
    model: str
    key_optional: bool


def list_endpoints(settings: Settings) -> dict[str, Endpoint]:
    """Every endpoint by name: the configured ones, and the presets they do not replace."""
    return PRESETS | settings.endpoints


def resolve_endpoint(model_key: str, settings: Settings) -> tuple[str, Endpoint, str]:
    """Name, endpoint and model of a key, with or without its `openai:`. Raises UsageError where no
    model is named."""
    reference = model_key.removeprefix("openai:")
    endpoints = list_endpoints(settings)
    name, slash, model = reference.partition("/")
    if not slash or name not in endpoints:
        name, model = DEFAULT, reference
    if not model.strip():
        raise UsageError(Note("endpoint_no_model", target=model_key, names=", ".join(endpoints)))
    return name, endpoints[name], model


def name_any_model(endpoint: str, options: Mapping[str, Any], settings: Settings) -> TargetSpec:
    """A target at an endpoint, named as in the settings or by its address, for questions that are
    about no model. Raises UsageError for a name that is none."""
    if "://" in endpoint:
        return TargetSpec("openai:any", {**options, "base_url": endpoint})
    endpoints = list_endpoints(settings)
    if endpoint not in endpoints:
        raise UsageError(
            Note("endpoint_unknown", endpoint=endpoint[:100], names=", ".join(endpoints))
        )
    return TargetSpec(f"openai:{endpoint}/any", dict(options))


def resolve_route(
    model_key: str,
    settings: Settings,
    base_url: str = "",
    api_key_env: str = "",
    api_version: str = "",
    auth: AuthStyle = "auto",
) -> ModelRoute:
    """Where the requests of a target go, once its options are applied. The key of an endpoint is
    sent to that endpoint's host and to this machine, nowhere else: for another `base_url` the
    variable must be named. Raises UsageError for a bad address or name."""
    if api_key_env and not _VARIABLE.fullmatch(api_key_env):
        raise UsageError(Note("option_key_env"))
    name, endpoint, model = resolve_endpoint(model_key, settings)
    version = api_version or ("" if base_url else endpoint.api_version)
    address = _add_api_version((base_url or endpoint.base_url).rstrip("/"), version)
    check_address(address)
    here, moved = is_loopback(address), not same_host(address, endpoint.base_url)
    inherited = "" if moved and not here else endpoint.api_key_env
    endpoint = msgspec.structs.replace(
        endpoint,
        base_url=address,
        api_key_env=api_key_env or inherited,
        token_field="max_tokens" if moved else endpoint.token_field,
        api="auto" if moved else endpoint.api,
        auth=auth if auth != "auto" or (moved and not here) else endpoint.auth,
        headers={} if moved and not here else endpoint.headers,
        api_key_command=() if moved or api_key_env else endpoint.api_key_command,
        requests_per_minute=None if moved else endpoint.requests_per_minute,
        tokens_per_minute=None if moved else endpoint.tokens_per_minute,
    )
    optional = not api_key_env and (endpoint.local or here or not inherited)
    same = not moved or endpoint.local
    return ModelRoute(name if same else address, endpoint, model, optional)


def _add_api_version(address: str, version: str) -> str:
    """The address with Azure's `api-version` in its query, unless it has one."""
    if not version or "api-version=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode({'api-version': version})}"


def check_endpoint(spec: TargetSpec, settings: Settings, secrets: Secrets) -> EgressPolicy | None:
    """How far an `openai:` target may reach; raises UsageError for one that is not allowed. The
    name of an endpoint allows its own address, a host any address there. Only the address of a
    server of the operator's own (`local`) may be in their network."""
    if not policy.is_restricted(settings):
        return None
    name, named_endpoint, _ = resolve_endpoint(spec.key, settings)
    base_url = str(spec.options.get("base_url") or "")
    own = not base_url or base_url.rstrip("/") == named_endpoint.base_url.rstrip("/")
    variable = str(spec.options.get("api_key_env") or "")
    if variable and variable != named_endpoint.api_key_env and not secrets.is_typed(variable):
        raise UsageError(Note("access_key", target=spec.key))
    for option in _OPERATOR_OPTIONS:
        if spec.options.get(option) not in (None, "", {}, "auto"):
            raise UsageError(Note("access_option", target=spec.key, name=option))
    if own and name in settings.allow_endpoints:
        return EgressPolicy(parse_origin(named_endpoint.base_url), public=not named_endpoint.local)
    return resolve_egress(spec, base_url or named_endpoint.base_url, settings)


def find_endpoint_egress(
    spec: TargetSpec, settings: Settings, secrets: Secrets
) -> EgressPolicy | None:
    """As `check_endpoint`; raises UsageError for an address that is none, too."""
    check_address(str(spec.options.get("base_url") or "https://none"))
    return check_endpoint(spec, settings, secrets)


def list_endpoint_keys(spec: TargetSpec, settings: Settings) -> tuple[str, ...]:
    """The variable with the key of an endpoint, none where it needs none."""
    address, variable = (str(spec.options.get(name, "")) for name in ("base_url", "api_key_env"))
    route = resolve_route(spec.key, settings, address, variable)
    needed = route.endpoint.api_key_env
    return () if not needed or route.key_optional else (needed,)


def list_missing_endpoint_keys(spec: TargetSpec, settings: Settings) -> tuple[str, ...]:
    """The variable with the key of an endpoint where it is not set; a visitor's own variable counts
    as none, so that they type the key themselves."""
    variable = str(spec.options.get("api_key_env", ""))
    own = not variable or variable == resolve_endpoint(spec.key, settings)[1].api_key_env
    is_visible = own or not policy.is_restricted(settings)
    needed = list_endpoint_keys(spec, settings)
    return tuple(name for name in needed if not (os.environ.get(name) and is_visible))
