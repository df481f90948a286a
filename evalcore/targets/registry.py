"""From a target key to its implementation: who may name a target, which addresses it may reach, and
the factory that creates it, imported only when it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from evalcore import plugins
from evalcore.access import policy
from evalcore.access.egress import EgressPolicy, Origin, parse_origin
from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.catalog import TargetKindCard, call_reference, target_kinds
from evalcore.errors import UsageError, suggest_name
from evalcore.i18n import Note
from evalcore.records import TargetSpec
from evalcore.settings import Settings
from evalcore.targets import functions
from evalcore.targets.base import Target

_PORTS = {"http": 80, "https": 443}
_KEY_IN_QUERY = re.compile(r"(?i)(^|[&;])[^=&;]*(key|token|secret|sig|password|auth)[^=&;]*=")


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
        raise UsageError(Note("base_url_form"))
    if parts.username is not None or _holds_key(address, parts.query + parts.fragment):
        raise UsageError(Note("base_url_key"))


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
_OWN_ENGINE = "transformers"
#: Options that would let code of the model's files run, or start a program of the operator's.
_CODE_OPTIONS = ("trust_remote_code", "allow_pickle", "engine", "server_args")


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
            raise UsageError(Note("option_secret", name=secret.name))


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
        if spec.options.get(name) not in (*_OFF_VALUES, _OWN_ENGINE):
            raise UsageError(Note("access_option", target=spec.key, name=name))
    check_hub_model(spec.key.partition(":")[2], settings)
    if spec.options.get("chat_template"):  # a file of this machine, and code of a template
        raise UsageError(Note("access_option", target=spec.key, name="chat_template"))
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
    if prefix == functions.PREFIX:
        return functions.create_function_target(spec, settings, secrets)
    loaded: Factory | None = plugins.load_factory(plugins.FACTORIES, prefix)
    if loaded is not None:
        return loaded(spec, settings, secrets)
    kinds = ", ".join(f"{name}:..." for name in target_kinds())
    problem = Note("target_kind", target=spec.key, names=kinds)
    raise UsageError(suggest_name(problem, prefix, target_kinds()))
