"""Fetch GAIA's gated data set from the Hub, and export answers in the form its leaderboard takes.
Whoever fetches it has promised its authors not to share it; see `TERMS`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from evalcore.access.secrets import scrub_secrets
from evalcore.benchmarks.gaia.dataset import SPLITS, YEAR
from evalcore.benchmarks.gaia.extraction import extract_answer, to_answer_text
from evalcore.benchmarks.official_texts import OfficialTexts, write_official_texts
from evalcore.catalog import CommandResult
from evalcore.errors import IntakeError, UsageError
from evalcore.exchange.hub_datasets import (
    FetchedDataset,
    download_hub_files,
    find_fetched_dataset,
    first_line,
    format_fetch,
    install_folder,
    open_scratch_folder,
)
from evalcore.exchange.reports import iter_sample_episodes, write_json_lines
from evalcore.i18n import Note
from evalcore.intake.python_source import SourceModule
from evalcore.records import Episode, Message, ProgressCallback, Record
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder

# Whoever fetches it has promised its authors not to share it: it goes below the data folder, which
# no version control keeps, with a file that tells git so wherever it is put.

BENCHMARK = "gaia"
DATASET = "gaia-benchmark/GAIA"
#: The commit that made Parquet of it; its questions and answers are those of all later ones.
REVISION = "682dd723ee1e1697e00360edccf2366dc8418dd9"
TERMS = "gated: not to be shared outside of a gated or private place"


def default_folder(settings: Settings, split: str = SPLITS[0]) -> Path:
    """Where a split goes unless told otherwise: below the data folder."""
    return settings.data_dir / "datasets" / f"gaia-{split}"


def fetch_gaia(
    folder: Path,
    progress: ProgressCallback = print,
    token: str | None = None,
    split: str = SPLITS[0],
    revision: str = REVISION,
    prompt: Path | None = None,
) -> FetchedDataset:
    """Fetch a split with its files, laid out as on the Hub; a complete folder is left in place.
    The official system message comes from the file `prompt`, else from the leaderboard's Space.
    Without `token` the Hub's library looks for one (HF_TOKEN, or its login). Raises UsageError for
    a folder that holds anything else, without access and without network."""
    if split not in SPLITS:
        raise UsageError(Note("gaia_no_split", split=split, names=", ".join(SPLITS)))
    existing = find_fetched_dataset(folder, DATASET, split)
    if existing is not None:
        if prompt is not None:
            write_official_texts(read_official_message(prompt), folder)
        return existing
    given = read_official_message(prompt) if prompt is not None else None
    with open_scratch_folder(folder) as scratch:
        ready, start = scratch / "data", f"{YEAR}/{split}/"
        hub_files = download_hub_files(
            scratch, DATASET, revision, lambda name: name.startswith(start), progress, token
        )
        _arrange_split(hub_files.folder, ready, split)
        texts = given or _download_official_message(scratch, progress, token)
        if texts is not None:
            write_official_texts(texts, ready)
        fetched = FetchedDataset(DATASET, split, hub_files.commit, TERMS, hub_files.files)
        fetched = install_folder(ready, folder, fetched)
    return fetched


def _arrange_split(downloaded: Path, ready: Path, split: str) -> None:
    (ready / YEAR).mkdir(parents=True)
    (downloaded / YEAR / split).rename(ready / YEAR / split)
    (ready / ".gitignore").write_text("*\n", encoding="utf-8")


# The system message of GAIA's authors stands on the page of their leaderboard, whose words are in
# the code of its Space. It is found by its template of an answer, and nothing of the code is run.

SPACE = "gaia-benchmark/leaderboard"
_SPACE_FILE = "content.py"
_TEMPLATE = "FINAL ANSWER: [YOUR FINAL ANSWER]"
_BOUNDS = re.compile(r"```[a-z]*|\n[ \t]*\n|\A|\Z")
_MOST_BYTES = 1 << 20


def read_official_message(path: Path) -> OfficialTexts:
    """The message in a file: all of a text, or the block of it that has the template. Raises
    UsageError where it is not there."""
    try:
        source = path.read_bytes()[:_MOST_BYTES].decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(Note("unreadable_file", path=path, problem=error)) from None
    texts = [source]
    if path.suffix == ".py":
        try:
            texts = SourceModule(source, str(path)).list_texts()
        except IntakeError as error:
            raise UsageError(str(error)) from None
    blocks = {_cut_block(text) for text in texts if _TEMPLATE in text}
    if len(blocks) != 1:
        raise UsageError(
            Note("gaia_many_texts", path=path, count=len(blocks), template=repr(_TEMPLATE))
        )
    return OfficialTexts(BENCHMARK, SPACE, {"system": blocks.pop()})


def _cut_block(text: str) -> str:
    """The text between the fences or empty lines around the template."""
    at = text.index(_TEMPLATE)
    bounds = [(match.start(), match.end()) for match in _BOUNDS.finditer(text)]
    start = max(end for begin, end in bounds if end <= at)
    stop = min(begin for begin, end in bounds if begin > at)
    return text[start:stop].strip()


def _download_official_message(
    scratch: Path, progress: ProgressCallback, token: str | None
) -> OfficialTexts | None:
    """The message from the Space, None where it cannot be had, which is reported: the questions
    can be asked without it."""
    from huggingface_hub import hf_hub_download

    try:
        path = hf_hub_download(
            SPACE, _SPACE_FILE, repo_type="space", local_dir=scratch / "space", token=token
        )
        return read_official_message(Path(path))
    except Exception as error:  # whatever the Hub's library raises of its many kinds
        progress(
            Note("gaia_no_prompt", space=SPACE, problem=scrub_secrets(first_line(error), [token]))
        )
        return None


def format_gaia_fetch(fetched: FetchedDataset) -> str:
    """Format the result of a fetch, with the command that runs the dataset."""
    origin = f"{fetched.part}: {fetched.origin}, {fetched.licence}"
    return format_fetch(fetched, origin, f"gaia --option gaia.split={fetched.part}")


# Our answers to GAIA as the file that its leaderboard takes, for the hidden split, too. Columns:
# task_id, model_answer (the bare answer) and reasoning_trace. Every declared sample has its line,
# so that a missing answer is wrong and not left out.


class GaiaExport(Record, frozen=True):
    """How many samples went out, of those without an answer (`missing`) and of those whose
    questions are not to be shared (`gated`)."""

    samples: int
    missing: int
    gated: int


def export_gaia_run(folder: RunFolder, out: Path) -> GaiaExport:
    """Write the first epoch of a run into the file `out`. Raises UsageError for a run without GAIA
    and a file that cannot be written."""
    counts: Counter[str] = Counter()

    def iterate_rows() -> Iterator[dict[str, str]]:
        for sample, episode in iter_sample_episodes(folder, BENCHMARK):
            answer = extract_bare_answer(episode) if episode else ""
            is_gated = bool(sample.meta.get("gated"))
            counts.update(samples=1, missing=not answer.strip(), gated=is_gated)
            yield {
                "task_id": sample.id,
                "model_answer": answer,
                "reasoning_trace": "\n".join(_build_reasoning_trace(episode)) if episode else "",
            }

    write_json_lines(out, iterate_rows())
    return GaiaExport(counts["samples"], counts["missing"], counts["gated"])


def extract_bare_answer(episode: Episode) -> str:
    """The bare answer that is scored, "" where there is none."""
    if "answer" not in episode.state:
        return extract_answer(episode.answer).answer
    value = episode.state["answer"]
    return "" if value is None else to_answer_text(value)


def _build_reasoning_trace(episode: Episode) -> Iterator[str]:
    """What the model thought, said and called; neither the question nor the content of its files. A
    transcript that is not there is replaced by the reply."""
    replies = [message for message in episode.messages if message.role == "assistant"]
    for reply in replies or [Message(role="assistant", content=episode.answer)]:
        yield from filter(None, (reply.reasoning.strip(), reply.content.strip()))
        yield from (f"{call.name}({call.arguments})" for call in reply.tool_calls)


# What `evalcore datasets fetch gaia` and `evalcore export --format gaia` call; see `CommandCard`.


def run_gaia_fetch(
    settings: Settings,
    folder: Path | None,
    flags: Mapping[str, str],
    progress: ProgressCallback,
    token: str | None = None,
) -> CommandResult:
    """Fetch a split and say what was fetched."""
    split, revision = flags["split"], flags["revision"] or REVISION
    folder = folder or default_folder(settings, split)
    prompt = Path(flags["prompt"]) if flags["prompt"] else None
    fetched = fetch_gaia(folder, progress, token, split, revision, prompt)
    return CommandResult(fetched, format_gaia_fetch(fetched))


def run_gaia_export(folder: RunFolder, out: Path, flags: Mapping[str, str]) -> CommandResult:
    """Write the file for the leaderboard and say what is in it."""
    done = export_gaia_run(folder, out)
    remarks = []
    if done.missing:
        remarks.append(Note("export_empty_answers", count=done.missing))
    if done.gated:
        remarks.append(Note("export_gated_answers", count=done.gated, path=out))
    text = Note("export_gaia", path=out, count=done.samples)
    return CommandResult(done, text, tuple(remarks))
