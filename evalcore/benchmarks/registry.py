"""From a benchmark key to its implementation, imported only here and only when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from evalcore.benchmarks.base import Benchmark, check_options
from evalcore.catalog import benchmark_card


def create(key: str, options: Mapping[str, Any] | None = None) -> Benchmark:
    """The benchmark with its options checked; raises UsageError for an unknown key or option."""
    card = benchmark_card(key)
    module, _, name = card.implementation.partition(":")
    implementation: type[Benchmark] = getattr(import_module(module), name)
    return implementation(check_options(card, options or {}))
