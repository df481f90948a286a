"""Exchange with SWE-bench: fetching its data sets, exporting patches as predictions."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from evalcore.access.redaction import mask_target
from evalcore.benchmarks.case_file import read_table_rows
from evalcore.benchmarks.official_texts import OfficialTexts, write_official_texts
from evalcore.benchmarks.swe_bench.dataset import to_swe_task
from evalcore.benchmarks.swe_bench.evaluate_patch import extract_answer, repair_answer
from evalcore.benchmarks.swe_bench.prompts import SweTexts
from evalcore.catalog import CommandResult
from evalcore.errors import DatasetError, IntakeError, UsageError
from evalcore.exchange.hub_datasets import (
    FetchedDataset,
    download_hub_files,
    find_fetched_dataset,
    format_fetch,
    install_folder,
    open_scratch_folder,
)
from evalcore.exchange.reports import iter_sample_episodes, write_json_lines
from evalcore.exchange.source_trees import (
    SourceTree,
    download_commit,
    open_source_tree,
    read_source_text,
)
from evalcore.i18n import Note
from evalcore.intake.python_source import SLOT, SourceModule
from evalcore.records import Episode, ProgressCallback, Record, Sample, to_plain
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder

VERIFIED = "SWE-bench/SWE-bench_Verified"
#: Short names of data sets, as the official harness has them where it has any.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "verified": VERIFIED,
        "lite": "SWE-bench/SWE-bench_Lite",
        "full": "SWE-bench/SWE-bench",
        "multilingual": "SWE-bench/SWE-bench_Multilingual",
        "mini": "MariusHobbhahn/swe-bench-verified-mini",
        "oracle": "princeton-nlp/SWE-bench_oracle",
    }
)
TASKS = "tasks.jsonl"
TERMS = "licensed as stated on the dataset's page"
_FOLDERS = (".", "data", "default")


def default_folder(settings: Settings, name: str = VERIFIED) -> Path:
    """Where a data set goes unless told otherwise: below the data folder."""
    full = NAMES.get(name, name)
    return settings.data_dir / "datasets" / f"swe_bench-{full.rpartition('/')[2].lower()}"


def fetch_swe_bench(
    folder: Path,
    name: str = VERIFIED,
    progress: ProgressCallback = print,
    token: str | None = None,
    split: str = "test",
    revision: str = "main",
) -> FetchedDataset:
    """Fetch a split of a data set, by its name on the Hub or one of `NAMES`, into `tasks.jsonl`.

    A complete folder is left in place. Raises UsageError for a folder that holds anything else,
    without network, and for a data set that has no rows of SWE-bench.
    """
    dataset = NAMES.get(name, name)
    existing = find_fetched_dataset(folder, dataset, split)
    if existing is not None:
        return existing
    with open_scratch_folder(folder) as scratch:
        hub_files = download_hub_files(
            scratch, dataset, revision, lambda path: _is_split_file(path, split), progress, token
        )
        ready = scratch / "data"
        ready.mkdir()
        paths = [hub_files.folder / path for path in sorted(hub_files.files)]
        count = _write_task_rows(ready / TASKS, paths)
        with (ready / TASKS).open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        fetched = FetchedDataset(dataset, split, hub_files.commit, TERMS, {TASKS: digest})
        fetched = install_folder(ready, folder, fetched)
    progress(Note("fetch_tasks", count=count))
    return fetched


# What upstream asks with: the words of its prompt `style-3` and the sampling of its runner, parsed.

REPOSITORY = "SWE-bench/SWE-bench"
COMMIT = "7a21e05772954cc81471ae19d56f436cecf43c54"
TEXTS_FOLDER = "swe_bench-official"
_PROMPT_MODULE = "swebench/inference/make_datasets/create_instance.py"
_RUNNER_MODULE = "swebench/inference/run_api.py"
_SLOTS = {"problem_statement": "issue", "readmes_text": "readmes", "code_text": "code"}


def fetch_swe_texts(
    settings: Settings, source: Path | None = None, progress: ProgressCallback = print
) -> OfficialTexts:
    """Fetch the official prompt from a checkout, an archive or a download, into a folder of its
    own. Raises UsageError where it cannot be had or has another form."""
    folder = settings.data_dir / "datasets" / TEXTS_FOLDER
    with open_scratch_folder(folder) as scratch:
        path = source or download_commit(REPOSITORY, COMMIT, scratch, progress)
        with open_source_tree(path) as tree:
            texts = read_swe_texts(tree, str(path))
    official = OfficialTexts("swe_bench", REPOSITORY, to_plain(texts))
    folder.mkdir(parents=True, exist_ok=True)
    write_official_texts(official, folder)
    progress(Note("fetch_prompt", folder=folder, repository=REPOSITORY))
    return official


def read_swe_texts(tree: SourceTree, origin: str) -> SweTexts:
    """What upstream's code asks with. Raises UsageError where it has another form."""
    names = {name: f"{SLOT}{slot}{SLOT}" for name, slot in _SLOTS.items()}
    try:
        prompt, runner = (
            SourceModule(read_source_text(tree, name, origin), name)
            for name in (_PROMPT_MODULE, _RUNNER_MODULE)
        )
        parts = prompt.evaluate_assignment("prompt_style_3", "final_text", names)
        template = "\n".join(parts)
        if template.count(SLOT) != 2 * len(_SLOTS):
            raise IntakeError(Note("prompt_part", path=prompt.path))
        endings = [
            text for text in runner.list_texts("openai_inference") if re.fullmatch(r"\x00\n+", text)
        ]
        return SweTexts(
            template=template,
            ending=endings[0].removeprefix(SLOT) if endings else "",
            temperature=float(runner.get_fallback("temperature")),
            top_p=float(runner.get_fallback("top_p")),
        )
    except (IntakeError, TypeError) as error:
        raise UsageError(
            Note("prompt_unread", origin=origin, problem=error, commit=COMMIT[:12])
        ) from None


def format_swe_bench_fetch(fetched: FetchedDataset) -> str:
    """What a person is told at the end."""
    origin = f"{fetched.part}: {fetched.origin}, {fetched.licence}"
    return format_fetch(fetched, origin, "swe_bench")


def _is_split_file(path: str, split: str) -> bool:
    """Whether a file holds rows of a split, as `data/test-00000-of-00001.parquet` does."""
    file = PurePosixPath(path)
    return (
        str(file.parent) in _FOLDERS
        and file.suffix in (".parquet", ".jsonl")
        and file.stem.split("-")[0] == split
    )


def _write_task_rows(out: Path, paths: list[Path]) -> int:
    """All rows as JSON lines; their number."""
    count = 0
    with out.open("w", encoding="utf-8") as lines:
        for path in paths:
            for number, row in _iter_hub_rows(path):
                if not isinstance(row.get("instance_id"), str):
                    raise DatasetError(path.name, number, "instance_id", Note("upload_missing"))
                lines.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
                count += 1
    if not count:
        raise UsageError(Note("no_rows", name=paths[0].name))
    return count


def _iter_hub_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a fetched file with their numbers, from 1. Parquet is read by the Hub's own
    library, which knows its types of columns; none is decoded, since that would open the files
    and addresses that a column names."""
    if path.suffix != ".parquet":
        yield from read_table_rows(path)
        return
    from datasets.exceptions import DatasetsError

    from datasets import load_dataset

    try:
        rows = load_dataset(
            "parquet",
            data_files=str(path),
            split="train",
            streaming=True,
            cache_dir=str(path.parent / "cache"),
        )
        yield from enumerate(rows.decode(False), 1)
    except (OSError, ValueError, DatasetsError) as error:
        problem = Note("log_parquet", detail=" ".join(str(error).split())[:200])
        raise DatasetError(path, None, "", problem) from None


# Our patches as predictions, with the columns instance_id, model_name_or_path and model_patch. The
# patch is what the official extraction finds in the reply, or the same reply put into a form that
# applies; which of the two does not depend on how it was judged here.

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
        raise UsageError(Note("cli_swe_patch_form", patch=patch, names=", ".join(_FORMS)))
    if patch == REPAIRED:
        _check_repositories(folder)
    key = mask_target(folder.read_spec().target.key)
    model = key.partition(":")[2] or key
    counts: Counter[str] = Counter()

    def iterate_rows() -> Iterator[dict[str, str]]:
        for sample, episode in iter_sample_episodes(folder, BENCHMARK):
            text = _FORMS[patch](sample, episode) if episode else ""
            repaired = episode is not None and text != extract_answer(episode).patch
            counts.update(samples=1, missing=not text.strip(), repaired=repaired)
            yield {"instance_id": sample.id, "model_name_or_path": model, "model_patch": text}

    write_json_lines(out, iterate_rows())
    return SweBenchExport(model, counts["samples"], counts["missing"], counts["repaired"])


def _check_repositories(folder: RunFolder) -> None:
    samples = lacking = 0
    for sample, _ in iter_sample_episodes(folder, BENCHMARK):
        samples += 1
        lacking += not to_swe_task(sample).repository
    if lacking:
        raise UsageError(
            Note("cli_swe_no_repositories", lacking=lacking, count=samples, form=OFFICIAL)
        )


def _extract_repaired_patch(sample: Sample, episode: Episode) -> str:
    """The repaired patch; the official one where the reply was a patch or defies repair."""
    answer = extract_answer(episode)
    repaired = repair_answer(to_swe_task(sample), answer)
    return repaired.patch or answer.patch if repaired else answer.patch


_FORMS: Mapping[str, Callable[[Sample, Episode], str]] = MappingProxyType(
    {OFFICIAL: lambda _, episode: extract_answer(episode).patch, REPAIRED: _extract_repaired_patch}
)


# What `evalcore datasets fetch swe_bench` and `evalcore export --format swe_bench` call; see
# `CommandCard`.


def run_swe_bench_fetch(
    settings: Settings,
    folder: Path | None,
    flags: Mapping[str, str],
    progress: ProgressCallback,
    token: str | None = None,
) -> CommandResult:
    """Fetch a data set and say what was fetched."""
    name, split, revision = flags["name"], flags["split"], flags["revision"] or "main"
    folder = folder or default_folder(settings, name)
    source = Path(flags["texts"]) if flags["texts"] else None
    if source is not None:  # of this machine, so that it needs no network
        fetch_swe_texts(settings, source, progress)
    fetched = fetch_swe_bench(folder, name, progress, token, split, revision)
    if source is None and not (settings.data_dir / "datasets" / TEXTS_FOLDER).is_dir():
        try:
            fetch_swe_texts(settings, None, progress)
        except UsageError as error:  # the tasks can be asked without it
            progress(Note("fetch_no_prompt", problem=error))
    return CommandResult(fetched, format_swe_bench_fetch(fetched))


def run_swe_bench_export(folder: RunFolder, out: Path, flags: Mapping[str, str]) -> CommandResult:
    """Write the predictions and say what is in them."""
    done = export_swe_bench_run(folder, out, flags["patch"] or OFFICIAL)
    remarks = []
    if done.missing:
        remarks.append(Note("export_empty_patches", count=done.missing))
    if done.repaired:
        remarks.append(Note("export_other_patches", count=done.repaired))
    text = Note("export_predictions", path=out, count=done.samples, model=done.model)
    return CommandResult(done, text, tuple(remarks))
