"""From a target key to its implementation, imported only when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from evalcore import plugins
from evalcore.errors import UsageError
from evalcore.records import TargetSpec
from evalcore.secrets import Secrets
from evalcore.settings import Settings
from evalcore.targets import target_policy
from evalcore.targets.base import Target

Factory = Callable[[TargetSpec, Settings, Secrets], Target]
_BUILTIN: dict[str, str] = {
    "openai": "evalcore.targets.openai_compatible:create_openai_target",
    "baseline": "evalcore.targets.baseline:Baseline",
    "control": "evalcore.targets.control:Control",
    "app": "evalcore.targets.application:create_application",
    "hf": "evalcore.targets.huggingface.target:create_huggingface_target",
}
#: Kinds whose factory takes the spec alone.
_SELF_CONTAINED = ("baseline", "control")


def create_target(spec: TargetSpec, settings: Settings, secrets: Secrets) -> Target:
    """The target named by a spec; raises UsageError for an unknown kind, name or option, and
    for one that is not allowed to whom the work is for.

    Another package adds a kind with an entry point of the group `evalcore.target_factories` whose
    name is the prefix and whose object is a `Factory`.
    """
    target_policy.check_target(spec, settings, secrets)
    prefix = spec.key.partition(":")[0]
    if prefix in _BUILTIN:
        module, _, name = _BUILTIN[prefix].partition(":")
        factory: Any = getattr(import_module(module), name)
        arguments = (spec,) if prefix in _SELF_CONTAINED else (spec, settings, secrets)
        target: Target = factory(*arguments)
        return target
    loaded: Factory | None = plugins.load_factory(plugins.FACTORIES, prefix)
    if loaded is not None:
        return loaded(spec, settings, secrets)
    kinds = ", ".join(f"{name}:..." for name in _BUILTIN)
    raise UsageError(f"unknown kind of target {spec.key!r}; a target is one of: {kinds}")
