"""Our patches as the predictions that the official harness of SWE-bench reads.

Columns: instance_id, model_name_or_path and model_patch. The patch is what the official extraction
finds in the reply, or the same reply put into a form that applies; which of the two does not depend
on how it was judged here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from evalcore.benchmarks.swe_bench.dataset import to_swe_task
from evalcore.benchmarks.swe_bench.evaluate_patch import extract_answer
from evalcore.benchmarks.swe_bench.execution.checkout import checkout_task
from evalcore.benchmarks.swe_bench.patches.patch_repair import repair_patch
from evalcore.benchmarks.swe_bench.patches.tree import FolderTree
from evalcore.errors import UsageError
from evalcore.exchange.submission import SampleEpisode, iter_sample_episodes, write_json_lines
from evalcore.privacy import mask_target
from evalcore.records import Episode, Record, Sample
from evalcore.sandbox.folder import remove_tree
from evalcore.store.run_folder import RunFolder

BENCHMARK = "swe_bench"
OFFICIAL, REPAIRED = "official", "repaired"


class SweBenchExport(Record, frozen=True):
    """How many samples went out, of those without a patch (`missing`) and of those whose patch is
    not the officially extracted one (`repaired`)."""

    model: str
    samples: int
    missing: int
    repaired: int


def export_swe_bench_run(folder: RunFolder, out: Path, patch: str = OFFICIAL) -> SweBenchExport:
    """Write the first epoch of a run into the file `out`.

    Raises UsageError for a run without SWE-bench, a form of patch that is none, tasks without the
    repository that a repair needs, and a file that cannot be written; EnvironmentFailure for a
    repository that is gone or broken.
    """
    if patch not in _FORMS:
        raise UsageError(f"--patch {patch!r} is none of: {', '.join(_FORMS)}")
    pairs = list(iter_sample_episodes(folder, BENCHMARK))
    if patch == REPAIRED:
        _check_repositories(pairs)
    key = mask_target(folder.read_spec().target.key)
    model = key.partition(":")[2] or key
    patches = [_FORMS[patch](sample, episode) if episode else "" for sample, episode in pairs]
    write_json_lines(
        out,
        (
            {"instance_id": sample.id, "model_name_or_path": model, "model_patch": text}
            for (sample, _), text in zip(pairs, patches, strict=True)
        ),
    )
    return SweBenchExport(
        model=model,
        samples=len(patches),
        missing=sum(not text.strip() for text in patches),
        repaired=sum(
            episode is not None and text != extract_answer(episode).patch
            for (_, episode), text in zip(pairs, patches, strict=True)
        ),
    )


def _check_repositories(pairs: list[SampleEpisode]) -> None:
    lacking = sum(not to_swe_task(sample).repository for sample, _ in pairs)
    if lacking:
        raise UsageError(
            f"{lacking} of {len(pairs)} tasks had no repository in this run, without which no "
            f"patch can be repaired; give --patch {OFFICIAL}, or set swe_repositories and run again"
        )


def _extract_official_patch(sample: Sample, episode: Episode) -> str:
    return extract_answer(episode).patch


def _extract_repaired_patch(sample: Sample, episode: Episode) -> str:
    """The repaired patch; the official one where the reply was a patch or defies repair."""
    answer = extract_answer(episode)
    if answer.is_patch or not answer.text.strip():
        return answer.patch
    folder = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
    try:
        tree = FolderTree(checkout_task(to_swe_task(sample), folder / "tree"))
        return repair_patch(answer.text, tree, answer.cut).patch or answer.patch
    finally:
        remove_tree(folder)


_FORMS: Mapping[str, Callable[[Sample, Episode], str]] = MappingProxyType(
    {OFFICIAL: _extract_official_patch, REPAIRED: _extract_repaired_patch}
)
