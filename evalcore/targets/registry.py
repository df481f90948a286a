"""From a target key to its implementation: the server that a key means, who may name it, and
the class that answers, imported only when it is needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import msgspec

from evalcore import plugins
from evalcore.access import policy
from evalcore.access.egress import EgressPolicy, Origin, parse_origin
from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.catalog import TargetKindCard, call_reference, target_kinds
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record, TargetSpec
from evalcore.settings import Endpoint, Settings
from evalcore.targets.base import Target

# `openai:<model>` is a model at OpenAI, `openai:<endpoint>/<model>` one at a preset or configured
# endpoint. What stands before the first slash is an endpoint only if one has that name, so that
# `openai:Qwen/Qwen3-4B` stays a model. An endpoint in the settings replaces a preset of its name.

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
        base_url="https://api.anthropic.com/v1", api_key_env="ANTHROPIC_API_KEY", title="Anthropic"
    ),
    "vllm": Endpoint(
        base_url="http://127.0.0.1:8000/v1",
        api_key_env="VLLM_API_KEY",
        local=True,
        title="vLLM",
        start="vllm serve MODEL",
    ),
    "ollama": Endpoint(
        base_url="http://127.0.0.1:11434/v1", local=True, title="Ollama", start="ollama serve"
    ),
    "llamacpp": Endpoint(
        base_url="http://127.0.0.1:8080/v1",
        api_key_env="LLAMA_API_KEY",
        local=True,
        title="llama.cpp",
        start="llama-server -m MODEL.gguf",
    ),
    "lmstudio": Endpoint(
        base_url="http://127.0.0.1:1234/v1", local=True, title="LM Studio", start="lms server start"
    ),
    "transformers": Endpoint(
        base_url="http://127.0.0.1:8000/v1",
        local=True,
        title="transformers serve",
        start="transformers serve",
    ),
}
_PORTS = {"http": 80, "https": 443}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_IN_QUERY = re.compile(r"(?i)(^|[&;])[^=&;]*(key|token|secret|sig|password|auth)[^=&;]*=")


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
        raise UsageError(
            f"target {model_key!r} names no model; write openai:MODEL or openai:ENDPOINT/MODEL "
            f"with an endpoint of: {', '.join(endpoints)}"
        )
    return name, endpoints[name], model


def resolve_route(
    model_key: str, settings: Settings, base_url: str = "", api_key_env: str = ""
) -> ModelRoute:
    """Where the requests of a target go, once its options are applied. The key of an endpoint is
    sent to that endpoint's host and to this machine, nowhere else: for another `base_url` the
    variable must be named. Raises UsageError for a bad address or name."""
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
    return ModelRoute(name if same else address, endpoint, model, optional)


def check_address(address: str) -> None:
    """Raise UsageError unless `address` is a http(s) address that carries no password or key. The
    address enters the run's spec, so that a key in it would be written down; the message therefore
    does not repeat it."""
    try:
        parts = urlsplit(address)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise UsageError("base_url must look like https://HOST/v1 or http://HOST:PORT/v1")
    if parts.username is not None or _holds_key(address, parts.query + parts.fragment):
        raise UsageError(
            "base_url must not contain a password or key; name a variable with api_key_env"
        )


def _holds_key(address: str, arguments: str) -> bool:
    return bool(_KEY_IN_QUERY.search(arguments)) or scrub_secrets(address) != address


def is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def same_host(address: str, other: str) -> bool:
    return _host_and_port(address) == _host_and_port(other)


def _host_and_port(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme)}"


# Which targets somebody may name who does not run this installation, asked wherever a target is
# created: by the page that plans a run, the test of a connection and the worker, for targets,
# judges and models that play a user. In an open installation nothing is refused. What is allowed is
# a list in the settings, and an empty list allows nothing; baselines and controls reach nobody.

_OFF_VALUES = (None, False, 0, "", "0", "false", "False", "no", "off")
#: Options that would let code of the model's files run.
_CODE_OPTIONS = ("trust_remote_code", "allow_pickle")


def check_target(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    """Raises UsageError for a target that is not allowed, naming the setting that allows it."""
    if not policy.is_restricted(settings):
        return
    kind = spec.key.partition(":")[0]
    card = target_kinds().get(kind)
    if card is None or not (card.check or card.reaches_nobody):
        raise UsageError(Note("access_kind", kind=f"{kind!r}"))
    if card.check:
        call_reference(card.check, card.prefix, spec, settings, secrets)


def check_no_secret_options(card: TargetKindCard | None, options: Mapping[str, object]) -> None:
    """Raises UsageError for a key that was given as an option, which would be written down."""
    for secret in card.secrets if card else ():
        if secret.name in options:
            raise UsageError(
                f"{secret.name} holds a key and is no option; set it in the environment, or type "
                "it on the page Launch"
            )


def resolve_egress(
    spec: TargetSpec, address: str, settings: Settings, *, operator_address: bool = False
) -> EgressPolicy | None:
    """How far a target may reach, None for any distance. `operator_address`: the address is the
    operator's. Raises UsageError for an address that is on no list."""
    if not policy.is_restricted(settings):
        return None
    origin = parse_origin(address)
    if operator_address:
        return EgressPolicy(origin, public=False)
    if not _is_origin_listed(origin, settings.allow_endpoints):
        raise UsageError(Note("access_server", target=spec.key, host=origin.host))
    return EgressPolicy(origin)


def check_endpoint(spec: TargetSpec, settings: Settings, secrets: Secrets) -> EgressPolicy | None:
    """How far an `openai:` target may reach; raises UsageError for one that is not allowed. The
    name of an endpoint allows its own address, a host any address there. Only the address of a
    server of the operator's own (`local`) may be in his network."""
    if not policy.is_restricted(settings):
        return None
    name, named_endpoint, _ = resolve_endpoint(spec.key, settings)
    base_url = str(spec.options.get("base_url") or "")
    own = not base_url or base_url.rstrip("/") == named_endpoint.base_url.rstrip("/")
    variable = str(spec.options.get("api_key_env") or "")
    if variable and variable != named_endpoint.api_key_env and not secrets.is_typed(variable):
        raise UsageError(Note("access_key", target=spec.key))
    if spec.options.get("extra_body") not in (None, "", {}):
        raise UsageError(Note("access_option", target=spec.key, name="extra_body"))
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


def check_hub_model(reference: str, settings: Settings) -> None:
    """Raises UsageError unless a model of the Hub is on the list; paths never are."""
    if _is_path(reference) or reference not in settings.allow_models:
        raise UsageError(Note("access_model", name=f"{reference[:100]!r}"))


def check_application(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    """Raises UsageError for a service that is not on the list, a description by its path, or an
    address of a visitor's that is on no list."""
    name = spec.key.partition(":")[2]
    if _is_path(name) or "/" in name or name not in settings.allow_applications:
        raise UsageError(Note("access_service", name=f"{name[:100]!r}"))
    if spec.options.get("base_url"):
        resolve_egress(spec, str(spec.options["base_url"]), settings)


def _is_path(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return not name or name[0] in "~/\\." or ".." in parts or "\0" in name or ":" in name


def check_local_model(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    for name in _CODE_OPTIONS:
        if spec.options.get(name) not in _OFF_VALUES:
            raise UsageError(Note("access_option", target=spec.key, name=name))
    check_hub_model(spec.key.partition(":")[2], settings)
    if spec.options.get("adapter"):
        check_hub_model(str(spec.options["adapter"]), settings)


def _is_origin_listed(origin: Origin, entries: tuple[str, ...]) -> bool:
    """Whether a list holds HOST, for the usual port, or HOST:PORT."""
    names = {f"{origin.host}:{origin.port}"}
    if origin.port == _PORTS.get(origin.scheme):
        names.add(origin.host)
    return not names.isdisjoint(map(str.lower, entries))


Factory = Callable[[TargetSpec, Settings, Secrets], Target]


def create_target(spec: TargetSpec, settings: Settings, secrets: Secrets) -> Target:
    """The target named by a spec; raises UsageError for an unknown kind, name or option, and for
    one that is not allowed to whom the work is for. Another package adds a kind by a card whose
    `implementation` is a `Factory`, or by an entry point of the group `evalcore.target_factories`
    whose name is the prefix."""
    check_target(spec, settings, secrets)
    prefix = spec.key.partition(":")[0]
    card = target_kinds().get(prefix)
    check_no_secret_options(card, spec.options)
    if card is not None and card.implementation:
        what = f"{prefix}: targets"
        target: Target = call_reference(card.implementation, what, spec, settings, secrets)
        return target
    loaded: Factory | None = plugins.load_factory(plugins.FACTORIES, prefix)
    if loaded is not None:
        return loaded(spec, settings, secrets)
    kinds = ", ".join(f"{name}:..." for name in target_kinds())
    raise UsageError(f"unknown kind of target {spec.key!r}; a target is one of: {kinds}")
