"""Fetch the official data of tau2-bench out of a checkout or an archive of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.tau2_bench.dataset import ALL, load_tau2_samples
from evalcore.benchmarks.tau2_bench.environment.loaders import CHECKOUT_FOLDER, OFFICIAL_DATABASES
from evalcore.catalog import CommandResult
from evalcore.exchange.tau2_bench_files import OfficialFiles, fetch_checkout
from evalcore.exchange.tau2_bench_texts import TEXT_FILES, write_tau2_texts
from evalcore.records import ProgressCallback
from evalcore.settings import Settings

_DOMAIN_FILES = {
    "retail": ("db.json", "policy.md", "tasks.json", "split_tasks.json"),
    "airline": ("db.json", "policy.md", "tasks.json", "split_tasks.json"),
    "telecom": (
        *("db.toml", "user_db.toml", "main_policy.md", "tech_support_manual.md"),
        *("tasks.json", "split_tasks.json"),
    ),
    "banking_knowledge": (
        *("db.json", "tasks/*", "documents/*", "prompts/classic_rag_bm25.md"),
        "prompts/components/*",
    ),
}
_EXPECTED = tuple(
    f"{CHECKOUT_FOLDER}/{domain}/{name}"
    for domain, names in _DOMAIN_FILES.items()
    for name in names
)
_KEPT = (
    *_EXPECTED,
    f"{CHECKOUT_FOLDER}/telecom/tasks_small.json",
    f"{CHECKOUT_FOLDER}/telecom/*db.json",
    "data/tau2/user_simulator/*.md",
    *TEXT_FILES,
)


def run_tau2_fetch(
    settings: Settings,
    folder: Path | None,
    flags: Mapping[str, str],
    progress: ProgressCallback,
    token: str | None = None,
) -> CommandResult:
    """Copy the official data of tau2-bench out of what `--from` names, and say what was found."""
    official = OfficialFiles(
        "tau2_bench",
        _EXPECTED,
        _KEPT,
        lambda copy: load_tau2_samples(DatasetSource(str(copy)), ALL, ""),
        write_tau2_texts,
        {f"{CHECKOUT_FOLDER}/{name}": digest for name, digest in OFFICIAL_DATABASES.items()},
    )
    return fetch_checkout(official, settings, folder, flags["from"], progress)
