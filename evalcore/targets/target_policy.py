"""Which targets somebody may name who does not run this installation.

Everything here is asked where a target is created, whoever wants it: the page that plans a run, the
test of a connection, the worker, for the target as for judges and models that play a user. In an
open installation nothing is refused. What is allowed is a list in the settings, and an empty list
allows nothing; baselines and controls reach nobody and need no list.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from evalcore import access
from evalcore.errors import UsageError
from evalcore.records import TargetSpec
from evalcore.secrets import Secrets
from evalcore.settings import Settings
from evalcore.targets import endpoints
from evalcore.targets.egress import EgressPolicy, Origin, parse_origin

_PORTS = {"http": 80, "https": 443}
_OFF_VALUES = (None, False, 0, "", "0", "false", "False", "no", "off")
#: Options that would let code of the model's files run.
_CODE_OPTIONS = ("trust_remote_code", "allow_pickle")


def check_target(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    """Raises UsageError for a target that is not allowed, naming the setting that allows it."""
    if not access.is_restricted(settings):
        return
    kind = spec.key.partition(":")[0]
    checker = _CHECKS.get(kind)
    if checker is None:
        raise UsageError(f"targets of the kind {kind!r} are not allowed on this board")
    checker(spec, settings, secrets)


def resolve_egress(
    spec: TargetSpec, address: str, settings: Settings, *, operator_address: bool = False
) -> EgressPolicy | None:
    """How far a target may reach, None for any distance. `operator_address`: the address is the
    operator's.

    Raises UsageError for an address that is on no list.
    """
    if not access.is_restricted(settings):
        return None
    origin = parse_origin(address)
    if operator_address:
        return EgressPolicy(origin, public=False)
    if not _is_origin_listed(origin, settings.allow_endpoints):
        raise UsageError(
            f"{spec.key}: the server {origin.host} is not allowed on this board (allow_endpoints)"
        )
    return EgressPolicy(origin)


def check_endpoint(spec: TargetSpec, settings: Settings, secrets: Secrets) -> EgressPolicy | None:
    """How far an `openai:` target may reach; raises UsageError for one that is not allowed.

    The name of an endpoint allows its own address, a host any address there. Only the address of a
    server of the operator's own (`local`) may be in his network.
    """
    if not access.is_restricted(settings):
        return None
    name, named_endpoint, _ = endpoints.resolve_endpoint(spec.key, settings)
    base_url = str(spec.options.get("base_url") or "")
    own = not base_url or base_url.rstrip("/") == named_endpoint.base_url.rstrip("/")
    variable = str(spec.options.get("api_key_env") or "")
    if variable and variable != named_endpoint.api_key_env and not secrets.is_typed(variable):
        raise UsageError(f"{spec.key}: on this board api_key_env names no variable of the server")
    if spec.options.get("extra_body") not in (None, "", {}):
        raise UsageError(f"{spec.key}: the option extra_body is not allowed on this board")
    if own and name in settings.allow_endpoints:
        return EgressPolicy(parse_origin(named_endpoint.base_url), public=not named_endpoint.local)
    return resolve_egress(spec, base_url or named_endpoint.base_url, settings)


def check_hub_model(reference: str, settings: Settings) -> None:
    """Raises UsageError unless a model of the Hub is on the list; paths never are."""
    if _is_path(reference) or reference not in settings.allow_models:
        raise UsageError(
            f"the model {reference[:100]!r} is not allowed on this board (allow_models)"
        )


def check_application(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    """Raises UsageError for a service that is not on the list, a description by its path, or an
    address of a visitor's that is on no list."""
    name = spec.key.partition(":")[2]
    if _is_path(name) or "/" in name or name not in settings.allow_applications:
        raise UsageError(
            f"the service {name[:100]!r} is not allowed on this board (allow_applications)"
        )
    if spec.options.get("base_url"):
        resolve_egress(spec, str(spec.options["base_url"]), settings)


def _is_path(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return not name or name[0] in "~/\\." or ".." in parts or "\0" in name or ":" in name


def _check_local_model(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    for name in _CODE_OPTIONS:
        if spec.options.get(name) not in _OFF_VALUES:
            raise UsageError(f"{spec.key}: the option {name} is not allowed on this board")
    check_hub_model(spec.key.partition(":")[2], settings)
    if spec.options.get("adapter"):
        check_hub_model(str(spec.options["adapter"]), settings)


def _is_origin_listed(origin: Origin, entries: tuple[str, ...]) -> bool:
    """Whether a list holds HOST, for the usual port, or HOST:PORT."""
    names = {f"{origin.host}:{origin.port}"}
    if origin.port == _PORTS.get(origin.scheme):
        names.add(origin.host)
    return not names.isdisjoint(map(str.lower, entries))


def _allow_builtin(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    """A program that comes with the project."""


_CHECKS: dict[str, Callable[[TargetSpec, Settings, Secrets], Any]] = {
    "openai": check_endpoint,
    "hf": _check_local_model,
    "app": check_application,
    "baseline": _allow_builtin,
    "control": _allow_builtin,
}
