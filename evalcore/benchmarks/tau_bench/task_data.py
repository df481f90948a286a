"""What samples of tau-bench and tau2-bench have in common: data known by its hash, and flags."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from evalcore.benchmarks.tau_bench.environment.reward import NOTHING_TO_DO
from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.i18n import Note
from evalcore.records import Sample
from evalcore.settings import ROOT

D = TypeVar("D")
_MAX_CACHED = 8


class DomainCache(Generic[D]):
    """Domains by the hash of their data, the newest few of them. `bundled` is where the data of a
    sample lies that does not say where."""

    def __init__(
        self, bundled: str, load: Callable[[Path, str], D], compute_hash: Callable[[D], str]
    ) -> None:
        self._bundled, self._load, self._compute_hash = bundled, load, compute_hash
        self._domains: dict[str, D] = {}

    def find_folder(self, sample: Sample) -> Path:
        """The folder of a sample's data."""
        return ROOT / str(sample.meta.get("folder") or self._bundled)

    def add_domain(self, domain: D) -> str:
        """The hash of a domain's data, by which it is held in memory."""
        digest = self._compute_hash(domain)
        while len(self._domains) >= _MAX_CACHED and digest not in self._domains:
            self._domains.pop(next(iter(self._domains)))
        self._domains.setdefault(digest, domain)
        return digest

    def load_domain(self, sample: Sample, digest: str) -> D:
        """The domain of a sample. Raises EnvironmentFailure where its data is gone or was
        changed."""
        if digest not in self._domains:
            folder = self.find_folder(sample)
            try:
                domain = self._load(folder, sample.metric)
            except DatasetError as error:
                raise EnvironmentFailure(
                    Note("tau_data_gone", name=sample.metric, message=error)
                ) from None
            if self.add_domain(domain) != digest:
                raise EnvironmentFailure(
                    Note("tau_data_changed", name=sample.metric, folder=folder)
                )
        return self._domains[digest]


def list_present_domains(names: Iterable[str], check: Callable[[str], object]) -> list[str]:
    """The domains for which `check` raises no DatasetError. Raises the last one where all do."""
    present, problem = [], None
    for name in names:
        try:
            check(name)
            present.append(name)
        except DatasetError as error:
            problem = error
    if not present and problem is not None:
        raise problem
    return present


def list_task_flags(sample: Sample) -> tuple[str, ...]:
    """What a replay of the ground truth found to be odd about a task."""
    return tuple(sample.meta.get("flags", ()))


def noop_passes(sample: Sample) -> bool:
    """Whether doing nothing and saying nothing is rewarded, found by replay when it was loaded."""
    return NOTHING_TO_DO in list_task_flags(sample)
