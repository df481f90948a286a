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
from evalcore.targets.reach import Origin, Reach, origin_of

_PORTS = {"http": 80, "https": 443}
_OFF = (None, False, 0, "", "0", "false", "False", "no", "off")
#: Options that would let code of the model's files run.
_CODE = ("trust_remote_code", "allow_pickle")


def check(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    """Raises UsageError for a target that is not allowed, naming the setting that allows it."""
    if not access.is_restricted(settings):
        return
    kind = spec.key.partition(":")[0]
    known = _CHECKS.get(kind)
    if known is None:
        raise UsageError(f"targets of the kind {kind!r} are not allowed on this board")
    known(spec, settings, secrets)


def reach_of(
    spec: TargetSpec, address: str, settings: Settings, *, own: bool = False
) -> Reach | None:
    """How far a target may reach, None for any distance. `own`: the address is the operator's.

    Raises UsageError for an address that is on no list.
    """
    if not access.is_restricted(settings):
        return None
    origin = origin_of(address)
    if own:
        return Reach(origin, public=False)
    if not _listed(origin, settings.allow_endpoints):
        raise UsageError(
            f"{spec.key}: the server {origin.host} is not allowed on this board (allow_endpoints)"
        )
    return Reach(origin)


def endpoint(spec: TargetSpec, settings: Settings, secrets: Secrets) -> Reach | None:
    """How far an `openai:` target may reach; raises UsageError for one that is not allowed.

    The name of an endpoint allows its own address, a host any address there. Only the address of a
    server of the operator's own (`local`) may be in his network.
    """
    if not access.is_restricted(settings):
        return None
    name, known, _ = endpoints.resolve(spec.key, settings)
    given = str(spec.options.get("base_url") or "")
    own = not given or given.rstrip("/") == known.base_url.rstrip("/")
    variable = str(spec.options.get("api_key_env") or "")
    if variable and variable != known.api_key_env and not secrets.is_typed(variable):
        raise UsageError(f"{spec.key}: on this board api_key_env names no variable of the server")
    if spec.options.get("extra_body") not in (None, "", {}):
        raise UsageError(f"{spec.key}: the option extra_body is not allowed on this board")
    if own and name in settings.allow_endpoints:
        return Reach(origin_of(known.base_url), public=not known.local)
    return reach_of(spec, given or known.base_url, settings)


def model(reference: str, settings: Settings) -> None:
    """Raises UsageError unless a model of the Hub is on the list; paths never are."""
    if _is_path(reference) or reference not in settings.allow_models:
        raise UsageError(
            f"the model {reference[:100]!r} is not allowed on this board (allow_models)"
        )


def application(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    """Raises UsageError for a service that is not on the list, a description by its path, or an
    address of a visitor's that is on no list."""
    name = spec.key.partition(":")[2]
    if _is_path(name) or "/" in name or name not in settings.allow_applications:
        raise UsageError(
            f"the service {name[:100]!r} is not allowed on this board (allow_applications)"
        )
    if spec.options.get("base_url"):
        reach_of(spec, str(spec.options["base_url"]), settings)


def _is_path(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return not name or name[0] in "~/\\." or ".." in parts or "\0" in name or ":" in name


def _local(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    for name in _CODE:
        if spec.options.get(name) not in _OFF:
            raise UsageError(f"{spec.key}: the option {name} is not allowed on this board")
    model(spec.key.partition(":")[2], settings)
    if spec.options.get("adapter"):
        model(str(spec.options["adapter"]), settings)


def _listed(origin: Origin, entries: tuple[str, ...]) -> bool:
    """Whether a list holds HOST, for the usual port, or HOST:PORT."""
    names = {f"{origin.host}:{origin.port}"}
    if origin.port == _PORTS.get(origin.scheme):
        names.add(origin.host)
    return not names.isdisjoint(map(str.lower, entries))


def _nothing(spec: TargetSpec, settings: Settings, secrets: Secrets) -> None:
    """A program that comes with the project."""


_CHECKS: dict[str, Callable[[TargetSpec, Settings, Secrets], Any]] = {
    "openai": endpoint,
    "hf": _local,
    "app": application,
    "baseline": _nothing,
    "control": _nothing,
}
