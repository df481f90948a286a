"""Whether engines confirm the expected answers of a data set, asked wherever one enters.

The answers are run by the task `gold`, in a process that ends when its time is up, and
what was confirmed is remembered in the data folder by content, so that it is paid for once. What an
engine contradicts, and what does not run, is refused; what nothing here can run is unconfirmed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from evalcore.errors import DatasetError, EvalboardError, UsageError
from evalcore.i18n import Note, cut_note
from evalcore.records import (
    ProgressCallback,
    Record,
    Sample,
    content_hash,
    from_json_with_notes,
    to_json_with_notes,
)
from evalcore.runner import jobs
from evalcore.runner.uploads import DatasetLocation
from evalcore.settings import Settings
from evalcore.store.run_folder import write_atomic

MAX_PROBLEMS = 200
#: Seconds for the answers of an upload or of a run that a page starts, and of a run of a shell.
INTERACTIVE_TIMEOUT, SHELL_TIMEOUT = 90.0, 1800.0
#: Seconds for all data sets of one bundle, and of one pull from the Hub.
IMPORT_TIMEOUT = 600.0
_SLACK = 20.0  # seconds for the last group, after which the process is killed
#: Bumped when the rules of confirming change, so that nothing older is recalled.
_RULES = 1


class GoldProblem(Record, frozen=True):
    """What is wrong with a `field` of a sample; `source` is file:line, "" where unknown."""

    sample: str
    source: str
    field: str
    problem: str


class GoldReport(Record, frozen=True):
    """What engines say of `samples` expected answers: up to MOST_PROBLEMS that they contradict, how
    many stay `unconfirmed` and the first reason why. `complete` is False where time ran out."""

    samples: int = 0
    engines: dict[str, str] = {}
    contradicted: tuple[GoldProblem, ...] = ()
    unconfirmed: int = 0
    reason: str = ""
    complete: bool = True


def confirm_gold(
    location: DatasetLocation,
    settings: Settings,
    keys: Sequence[str] = (),
    seconds: float = INTERACTIVE_TIMEOUT,
    samples: Sequence[Sample] = (),
) -> GoldReport:
    """Ask a process of its own; where it fails or exceeds its time, all is unconfirmed."""
    arguments = {"location": location, "keys": keys, "seconds": seconds, "samples": samples}
    try:
        return jobs.call_task("gold", arguments, settings, GoldReport, seconds=seconds + _SLACK)
    except UsageError as error:
        unconfirmed = len(keys) or len(samples) or 1
        return GoldReport(unconfirmed=unconfirmed, reason=cut_note(str(error), 300), complete=False)


def require_gold(
    locations: Mapping[str, DatasetLocation],
    samples: Mapping[str, Sequence[Sample]],
    settings: Settings,
    seconds: float = SHELL_TIMEOUT,
    progress: ProgressCallback = jobs.ignore_progress,
) -> list[str]:
    """Confirm the expected answers of a run, by benchmark; returns a line for each benchmark of
    which some stay unconfirmed. `progress` hears what begins.

    Raises DatasetError for answers that do not run or that an engine contradicts.
    """
    lines = []
    for key, location in locations.items():
        chosen = samples[key]
        report = load_gold_report(settings, compute_gold_key(location, chosen))
        if report is None:
            progress(Note("confirming_cases", count=len(chosen), benchmark=key))
            report = confirm_gold(location, settings, [sample.key for sample in chosen], seconds)
        if report.contradicted:
            raise _build_gold_error(location, report.contradicted)
        if report.unconfirmed:
            lines.append(
                f"{key}: {report.unconfirmed} of {len(chosen)} expected answers are not confirmed: "
                f"{report.reason}"
            )
    return lines


def _build_gold_error(location: DatasetLocation, problems: Sequence[GoldProblem]) -> DatasetError:
    first, path = problems[0], Path(location.path)
    file, _, line = first.source.rpartition(":")
    more = f" (and {len(problems) - 1} more; `evalcore datasets check` lists them)"
    rule = (
        f"; fix it, or keep the published rule with --option {location.benchmark}.mode=scale"
        if "mode" in location.options
        else "; fix it"
    )
    return DatasetError(
        path / file if path.is_dir() else path,
        int(line) if line.isdecimal() else None,
        first.field,
        f"{first.sample}: {first.problem}{more if len(problems) > 1 else ''}{rule}",
    )


def compute_gold_key(location: DatasetLocation, samples: Sequence[Sample]) -> str:
    """The name of what is remembered: cases, claims about wrong answers, options and engines."""
    cases = sorted(
        content_hash(
            [sample.key, sample.case_hash, *map(sample.meta.get, ("variants", "counterexamples"))]
        )
        for sample in samples
    )
    return content_hash(
        [_RULES, location.benchmark, location.options, _list_present_engines(), cases], 24
    )


def _list_present_engines() -> list[str]:
    """The engines whose program or server is here; none is started for that."""
    from evalcore.sqlkit.engines import registry

    present = []
    for name in registry.list_engine_names():
        try:
            registry.open_engine(name).close()
        except EvalboardError:
            continue
        present.append(name)
    return present


def load_gold_report(settings: Settings, key: str) -> GoldReport | None:
    """What was confirmed before; None where nothing is remembered, or nothing that can be read."""
    try:
        return from_json_with_notes(GoldReport, _gold_report_path(settings, key).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None


def save_gold_report(settings: Settings, key: str, report: GoldReport, *, by_engines: bool) -> None:
    """Keep a complete report without contradictions, unless what is missing for the rest is not
    part of its `key`, which names engines alone; a folder that takes nothing costs the next run the
    same work."""
    if report.contradicted or not report.complete or (report.unconfirmed and not by_engines):
        return
    path = _gold_report_path(settings, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, to_json_with_notes(report))
    except OSError:
        return


def _gold_report_path(settings: Settings, key: str) -> Path:
    return settings.data_dir / "gold" / f"{key}.json"
