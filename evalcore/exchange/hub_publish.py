"""What others read on the Hugging Face Hub: data sets as benchmark repositories with `eval.yaml`,
conversations as session traces, and scores as pull requests to model cards.

Everything is written into a folder first, which can be looked at, and goes up only when asked. The
forms: https://huggingface.co/docs/hub/eval-results (`eval.yaml`, `.eval_results/*.yaml`) and
https://huggingface.co/docs/hub/session-traces-format.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from evalcore.catalog import benchmark_cards
from evalcore.errors import UsageError
from evalcore.exchange.hub_datasets import (
    EVAL_FILE,
    FetchedDataset,
    download_hub_files,
    find_fetched_dataset,
    format_fetch,
    install_folder,
    open_scratch_folder,
)
from evalcore.exchange.hub_store.repository import HubRepository
from evalcore.exchange.reports import HubTask, render_eval_results
from evalcore.exchange.trackers.cases import SharedCase, SharedRun, read_moment
from evalcore.i18n import Note
from evalcore.intake.json_text import read_rows
from evalcore.records import Message, ProgressCallback, content_hash, to_json
from evalcore.runner.uploads import find_upload_form, name_configuration
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder, write_atomic
from evalcore.views.datasets import DatasetEntry, list_dataset_entries

#: What runs a benchmark, as `eval.yaml` names it. The Hub keeps the list of such names: a new one
#: is added there before a repository becomes a leaderboard.
FRAMEWORK = "evalboard"
_SPLIT = "test"
_README = "README.md"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_FILES_AT_ONCE = 200  # of a commit, each of which is open meanwhile
_GATED_META = "gated"
_LICENCE = "licensed as stated on the dataset's page"
_TASK = re.compile(r"^- id: (\w+)$", re.MULTILINE)
_MOST_READ = 1 << 16  # characters of an `eval.yaml`
_LICENCES = {"MIT": "mit"}


def write_dataset_repository(
    name: str, settings: Settings, out: Path, repository: str = ""
) -> list[Path]:
    """Write a bundled or an own data set as a repository of the Hub: its files, a card that names a
    configuration per file of cases, and `eval.yaml` with a task for the whole and one per file.
    The card says how one runs it from `repository` ("": not known yet).

    Raises UsageError for a data set that there is none of, one that was fetched from others, one
    with gated cases, and a folder that holds something already.
    """
    entry = _find_shared_entry(name, settings)
    files = sorted(
        path for path in entry.folder.rglob("*") if path.is_file() and not path.is_symlink()
    )
    tables = [path.relative_to(entry.folder) for path in files if path.suffix == ".jsonl"]
    form = find_upload_form(entry.benchmark)
    covers = {form.file.format(part=part) for part in form.parts}.issuperset
    is_in_rows = covers(table.as_posix() for table in tables)
    for table in tables:
        for number, row in read_rows(entry.folder / table):
            meta = row.get("meta")
            if row.get(_GATED_META) or (isinstance(meta, Mapping) and meta.get(_GATED_META)):
                raise UsageError(Note("hub_gated", name=entry.name, file=table, line=number))
            is_in_rows = is_in_rows and not any(row.get(field) for field in form.left_out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(Note("hub_folder_used", path=out))
    try:
        for path in files:
            target = out / path.relative_to(entry.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.name not in (_README, EVAL_FILE) and not path.name.startswith("."):
                shutil.copyfile(path, target)
        is_in_rows = is_in_rows or entry.origin == "own"
        commands = _list_run_commands(entry, repository or "OWNER/NAME", by_rows=is_in_rows)
        write_atomic(out / _README, _render_card(entry, tables, commands).encode())
        write_atomic(out / EVAL_FILE, _dump(_describe_benchmark(entry, tables)).encode())
    except OSError as error:
        raise UsageError(Note("export_no_write", path=out, problem=error.strerror)) from None
    return sorted(path for path in out.rglob("*") if path.is_file())


def fetch_dataset_repository(
    name: str, revision: str, settings: Settings, out: Path | None, progress: ProgressCallback
) -> FetchedDataset:
    """Fetch what `write_dataset_repository` published, with the files that its cases need, at a
    commit. A complete folder is left in place. Raises UsageError for a folder that holds anything
    else, without access and without network."""
    own_folder = "hub-" + _NOT_IN_A_NAME.sub("--", name)
    folder = out or settings.data_dir / "datasets" / own_folder
    existing = find_fetched_dataset(folder, name, revision)
    if existing is not None:
        return existing
    with open_scratch_folder(folder) as scratch:
        files = download_hub_files(scratch, name, revision, lambda path: path[:1] != ".", progress)
        fetched = FetchedDataset(name, revision, files.commit, _LICENCE, files.files)
        return install_folder(files.folder, folder, fetched)


def format_dataset_fetch(fetched: FetchedDataset) -> str:
    """What was fetched, with the command that runs it."""
    path = Path(fetched.folder) / EVAL_FILE
    task = _TASK.search(path.read_text("utf-8", "replace")[:_MOST_READ] if path.is_file() else "")
    benchmark = task[1] if task and task[1] in benchmark_cards() else "BENCHMARK"
    return format_fetch(fetched, f"{fetched.origin}, {fetched.licence}", benchmark)


def _find_shared_entry(name: str, settings: Settings) -> DatasetEntry:
    entries = [entry for entry in list_dataset_entries(settings) if entry.origin != "fetched"]
    entry = next((each for each in entries if name in (each.name, each.key)), None)
    if entry is None:
        known = ", ".join(each.name for each in entries)
        raise UsageError(Note("hub_no_dataset", name=name[:80], known=known))
    return entry


def _render_card(entry: DatasetEntry, tables: list[Path], commands: list[str]) -> str:
    head = {
        "pretty_name": f"Evalboard {entry.name}",
        "license": _LICENCES.get(entry.licence, "other"),
        "tags": ["evalboard", "benchmark", entry.benchmark],
        "configs": [
            {
                "config_name": name_configuration(table),
                "data_files": [{"split": _SPLIT, "path": table.as_posix()}],
            }
            for table in tables
        ],
    }
    card = entry.folder / _README
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {entry.name}\n"
    lines = "".join(f"{command}\n" for command in commands)
    return f"---\n{_dump(head)}---\n\n{text.rstrip()}\n\nRun it:\n\n```\n{lines}```\n"


def _list_run_commands(entry: DatasetEntry, repository: str, *, by_rows: bool) -> list[str]:
    """The commands that run the set from a repository: its rows are added as an own set where they
    are all of it, else it is run from its folder."""
    run = f"evalcore run --target TARGET --benchmarks {entry.benchmark} --dataset"
    if not by_rows:
        fetch = f"evalcore hub fetch {repository} --out FOLDER"
        return [fetch, f"{run} FOLDER"]
    add = f"evalcore datasets add hf://{repository} --benchmark {entry.benchmark} --name NAME"
    return [add, f"{run} NAME"]


def _describe_benchmark(entry: DatasetEntry, tables: list[Path]) -> dict[str, Any]:
    card = benchmark_cards()[entry.benchmark]
    title = card.title.get("en", entry.benchmark)
    about = card.about.get("en", "") or f"Cases of the benchmark {entry.benchmark}."
    return {
        "name": f"{title} ({entry.name})" if entry.name != entry.benchmark else title,
        "description": about,
        "evaluation_framework": FRAMEWORK,
        "tasks": [
            {"id": entry.benchmark},
            *(
                {
                    "id": f"{entry.benchmark}.{name_configuration(table)}",
                    "config": name_configuration(table),
                    "split": _SPLIT,
                }
                for table in tables
            ),
        ],
    }


def _dump(content: Any) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


# Conversations, one file per case and epoch.


def write_traces(run: SharedRun, out: Path) -> list[Path]:
    """Write the conversations of a run as session traces below `out`; cases without one, and gated
    ones, are left out. Raises UsageError for a run without any, and for what cannot be written."""
    files: list[Path] = []
    try:
        for case in run.cases:
            lines = [] if case.gated else list(_iter_trace(run, case))
            if len(lines) < 2:
                continue
            plain = _NOT_IN_A_NAME.sub("-", case.sample.id).strip(".-")[:60]
            mark = content_hash([case.sample.id, case.epoch], 8)
            metric = _NOT_IN_A_NAME.sub("-", case.sample.metric).strip(".-") or "metric"
            file = out / "traces" / case.benchmark / metric / f"{plain}-{mark}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, b"".join(to_json(line, ordered=False) + b"\n" for line in lines))
            files.append(file)
        if not files:
            raise UsageError(Note("hub_no_traces", run=run.spec.run_id))
        head = {"license": "other", "tags": ["agent-traces", "evalboard"]}
        text = f"# Conversations of run {run.spec.run_id}\n\n{len(files)} of `{run.model}`.\n"
        write_atomic(out / _README, f"---\n{_dump(head)}---\n\n{text}".encode())
    except OSError as error:
        raise UsageError(Note("export_no_write", path=out, problem=error.strerror)) from None
    return [out / _README, *files]


def _iter_trace(run: SharedRun, case: SharedCase) -> Iterator[dict[str, Any]]:
    """The header of a session and its messages; the answer where no message holds it."""
    episode, verdict = case.episode, case.verdict
    yield {
        "type": "session",
        "harness": FRAMEWORK,
        "id": content_hash([run.spec.run_id, case.benchmark, case.sample.key, case.epoch], 32),
        "name": f"{case.benchmark}: {case.sample.id}",
        "run": run.spec.run_id,
        "metric": case.sample.metric,
        "epoch": case.epoch,
        "outcome": verdict.outcome if verdict else "missing",
        "score": verdict.score if verdict else None,
    }
    if episode is None:
        return
    moment = int(1000 * read_moment(episode.at))
    if not any(message.role == "user" for message in episode.messages):
        yield _envelope({"role": "user", "content": case.asked})
    for message in episode.messages:
        yield _envelope(_describe_message(message, run.model))
    if episode.answer and not any(
        message.role == "assistant" and message.content == episode.answer
        for message in episode.messages
    ):
        last = {"role": "assistant", "content": episode.answer, "model": run.model}
        yield _envelope(last | ({"timestamp": moment} if moment else {}))


def _envelope(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "message": message}


def _describe_message(message: Message, model: str) -> dict[str, Any]:
    described: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "assistant":
        described["model"] = model
    if message.reasoning:
        described["reasoningContent"] = message.reasoning
    if message.tool_calls:
        described["toolCalls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        described["toolCallId"] = message.tool_call_id
    return described


# Up to the Hub: a commit to a repository of data, or a pull request to a model.


def push_files(folder: Path, files: Sequence[Path], repository: HubRepository, message: str) -> str:
    """Commit files of a folder to a data set repository, which is made where there is none,
    private; returns its address. What else is in the folder stays here. Raises UsageError with what
    to do."""
    head = repository.fetch_head(make=True)
    if head is None:
        raise UsageError(Note("hub_no_repository", name=repository.name))
    named = [(path.relative_to(folder).as_posix(), path) for path in sorted(files)]
    for at in range(0, len(named), _FILES_AT_ONCE):
        head = repository.commit_files(dict(named[at : at + _FILES_AT_ONCE]), head, message)
    return repository.address


def propose_results(
    folder: RunFolder,
    hub_tasks: Mapping[str, HubTask],
    repository: HubRepository,
    source: str = "",
    organization: str = "",
) -> str:
    """Open a pull request that adds the scores of a run to a model's repository; returns its
    address. A benchmark has a file of its own, named after its column, so that no result of others
    is changed. Raises UsageError as `render_eval_results`, and with what to do at the Hub."""
    files: dict[str, bytes] = {}
    summary = folder.read_summary()
    for benchmark, task in hub_tasks.items():
        text = render_eval_results(folder, {benchmark: task}, source, organization)
        score = summary.benchmarks[benchmark] if summary else None
        column = score.column[:8] if score else ""
        files[f".eval_results/evalboard-{benchmark}-{column}.yaml"] = text.encode()
    if not files:
        render_eval_results(folder, hub_tasks, source, organization)  # says what is missing
    names = ", ".join(f"{task.dataset} ({task.task})" for task in hub_tasks.values())
    return repository.propose_files(files, f"Add evaluation results: {names}")
