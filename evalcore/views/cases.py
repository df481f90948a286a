"""The cases of a run: pages of them, one in full with its tool calls, and what of gated ones is
shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pandas as pd

from evalcore.access.redaction import mask_spec, mask_votes
from evalcore.errors import RunFolderError, UsageError
from evalcore.i18n import Note, unpack_note
from evalcore.plain_text import format_count
from evalcore.records import Episode, Failure, Record, RunSpec, Sample, Verdict
from evalcore.single_flight import SingleFlightCache
from evalcore.store import case_tables, journal
from evalcore.store.case_tables import EVERY_CASE as EVERY_CASE
from evalcore.store.case_tables import START as START
from evalcore.store.case_tables import CaseFilter as CaseFilter
from evalcore.store.cases import load_run_case, read_run_cases, select_scoring
from evalcore.store.run_folder import RunFolder, StoredSample, find_run
from evalcore.views.boards import is_rescored

# Gated cases: what of them may be shown to anybody. Who is let in to a gated data set (the official
# GAIA) promises to share nothing of it. A sample of such a set says so in its `meta`. Of its case
# everything is left out that holds text: what was asked, expected and answered, the transcript, the
# evidence and the note. What was measured stays.

#: Stands where a text is left out; the catalogues hold it as a note.
HIDDEN = Note("gated")
_MARK = "gated"
#: Details of a verdict that hold no word of question or answer.
_SAFE = frozenset(
    {
        *("extraction", "call_reading", "call_format", "comparison", "file", "needs_web"),
        *("tool_calls", "generation"),
    }
)
_KEY = ["benchmark", "metric", "id"]
_gated: SingleFlightCache[frozenset[tuple[str, str, str]]] = SingleFlightCache(64)


def is_gated(sample: Sample) -> bool:
    return bool(sample.meta.get(_MARK))


def gated_cases(folder: RunFolder) -> frozenset[tuple[str, str, str]]:
    """Benchmark, metric and id of every gated case of a run; other lines are not decoded. Raises
    RunFolderError when the file of samples is broken."""
    path = folder.path / journal.SAMPLES

    def find_gated() -> frozenset[tuple[str, str, str]]:
        lines = journal.read_journal(path, StoredSample, f'"{_MARK}"'.encode())
        return frozenset(
            (line.benchmark, line.sample.metric, line.sample.id)
            for line in lines
            if is_gated(line.sample)
        )

    try:
        status = journal.locate_journal(path).stat()
    except OSError:
        return find_gated()
    state = (str(path), status.st_ino, status.st_mtime_ns, status.st_size)
    return _gated.get(state, find_gated)


def bare_sample(sample: Sample) -> Sample:
    """Which case it is and how hard, without what is asked and expected."""
    return msgspec.structs.replace(sample, input={}, reference={}, meta={_MARK: True})


def bare_episode(episode: Episode) -> Episode:
    """What the answer took and how it ended, without a word of it."""
    failure = episode.failure
    if failure is not None:  # a provider may repeat what it was sent
        failure = Failure(failure.kind, "", failure.status, failure.retry_after, failure.attempts)
    return msgspec.structs.replace(episode, answer="", messages=(), failure=failure, state={})


def bare_verdict(verdict: Verdict) -> Verdict:
    """Outcome, score and views, without what they rest on."""
    details = {name: value for name, value in verdict.details.items() if name in _SAFE}
    return msgspec.structs.replace(
        verdict, note="", note_code="", note_params={}, details=details, evidence=()
    )


def bare_notes(cases: pd.DataFrame, gated: frozenset[tuple[str, str, str]]) -> pd.DataFrame:
    """A table of cases with HIDDEN in place of the notes on gated ones."""
    marked = is_among(cases, gated)
    return cases.assign(
        note=cases["note"].mask(marked & cases["note"].notna(), HIDDEN),
        packed_note=cases["packed_note"].mask(marked),
    )


def read_case_note(case: Mapping[str, Any]) -> str:
    """The note of a row of a table of cases, with its code and values where it has them."""
    if not isinstance(case["packed_note"], str):
        return case["note"] if isinstance(case["note"], str) else ""
    return unpack_note(case["note"], **msgspec.json.decode(case["packed_note"]))


def is_among(cases: pd.DataFrame, gated: frozenset[tuple[str, str, str]]) -> pd.Series[bool]:
    """Which rows of a table of cases are gated."""
    keys = zip(*(cases[name] for name in _KEY), strict=True)
    return pd.Series([key in gated for key in keys], index=cases.index, dtype=bool)


# One case of a run with all that is known of it, and pages of the cases of a run.

#: The outcome of a case that has no verdict yet.
MISSING = "missing"


class Neighbour(Record, frozen=True):
    """The case before or after, within the same filter."""

    metric: str
    id: str
    epoch: int


class CasePosition(Record, frozen=True):
    """Where a case stands among the filtered ones; `number` counts from 1.

    `number` is None where the case itself is not among them. `outcomes` counts what the rest of the
    filter admits, whatever its outcome.
    """

    number: int | None
    total: int
    previous: Neighbour | None
    next: Neighbour | None
    outcomes: dict[str, int] = {}


_NOWHERE = CasePosition(number=None, total=0, previous=None, next=None)


class CaseView(Record, frozen=True):
    """A case as the page shows it; `episode` and `verdict` are None while there is none. `hidden`
    says that the texts of a gated case were left out (see `gated`)."""

    spec: RunSpec
    benchmark: str
    sample: Sample
    episode: Episode | None
    verdict: Verdict | None
    position: CasePosition
    hidden: bool = False

    @property
    def outcome(self) -> str:
        return self.verdict.outcome if self.verdict else MISSING

    @property
    def taken_over(self) -> bool:
        """Whether the verdict is that of a publisher, and nothing was decided here."""
        used = [spec.dataset for spec in self.spec.benchmarks if spec.key == self.benchmark]
        return self.spec.origin == "imported" and not any(map(is_rescored, used))

    @property
    def engine(self) -> str:
        """The engine and version the expected answer comes from, empty where none was used."""
        provenance = self.sample.meta.get("provenance")
        named = provenance.get("engine", "") if isinstance(provenance, dict) else ""
        return str(self.sample.input.get("engine") or named)


def case_view(
    roots: Sequence[Path],
    run: str,
    metric: str,
    case: str,
    *,
    benchmark: str = "",
    epoch: int = 0,
    where: CaseFilter = EVERY_CASE,
    show_gated: bool = False,
) -> CaseView:
    """The view of one case; an empty `benchmark` means whichever of the run has the metric.

    Its neighbours are those of the same benchmark that fit `where`. A gated case comes without its
    texts unless `show_gated`. Raises UsageError when there is no such run or case, RunFolderError
    when a file is broken.
    """
    folder = find_run(run, roots)
    spec = folder.read_spec()
    if not 0 <= epoch < spec.epochs:
        count = format_count(spec.epochs, "epoch")
        raise UsageError(Note("run_no_epoch", run=run, count=count, epoch=epoch))
    names = [benchmark] if benchmark else [benchmark_spec.key for benchmark_spec in spec.benchmarks]
    for name in names:
        try:
            stored, episode, verdict = load_run_case(folder, name, metric, case, epoch)
        except UsageError:
            continue
        closed = frozenset() if show_gated else gated_cases(folder)
        own = Neighbour(metric=metric, id=case, epoch=epoch)
        position = _locate_case(folder, name, own, where, closed)
        verdict = verdict and mask_votes(verdict)
        view = CaseView(mask_spec(spec), name, stored.sample, episode, verdict, position)
        return view if show_gated or not is_gated(view.sample) else _hide_case_text(view)
    raise UsageError(Note("run_no_case", run=run, case=case, metric=metric))


def load_case_views(folder: RunFolder) -> Iterator[CaseView]:
    """Every case of a run in its declared order, epoch by epoch, as `case_view` gives it to those
    who may not see gated ones; its position is left out. Raises RunFolderError when a file is
    broken."""
    spec = mask_spec(folder.read_spec())
    for case in read_run_cases(folder, select_scoring(folder)):
        verdict = case.verdict and mask_votes(case.verdict)
        sample = case.stored.sample
        view = CaseView(spec, case.stored.benchmark, sample, case.episode, verdict, _NOWHERE)
        yield _hide_case_text(view) if is_gated(sample) else view


def case_page(
    roots: Sequence[Path],
    run: str,
    where: CaseFilter,
    *,
    offset: int = 0,
    limit: int = 50,
    after: tuple[int, int] = START,
    show_gated: bool = False,
) -> tuple[pd.DataFrame, int]:
    """A page of the cases of a run and how many match; columns as `samples_table` has them.

    `after` is the (position, epoch) of the last case seen, see `samples_table.page`.
    Notes on gated cases are neither shown nor searched unless `show_gated`. Raises UsageError when
    there is no such run, RunFolderError when a file is broken.
    """
    folder = find_run(run, roots)
    hidden = frozenset() if show_gated else gated_cases(folder)
    cases, count = case_tables.query_case_page(
        folder, where, offset=offset, limit=limit, after=after, hidden_cases=hidden
    )
    return (bare_notes(cases, hidden) if hidden else cases), count


def _hide_case_text(view: CaseView) -> CaseView:
    return msgspec.structs.replace(
        view,
        sample=bare_sample(view.sample),
        episode=view.episode and bare_episode(view.episode),
        verdict=view.verdict and bare_verdict(view.verdict),
        hidden=True,
    )


def _locate_case(
    folder: RunFolder,
    benchmark: str,
    own: Neighbour,
    where: CaseFilter,
    closed: frozenset[case_tables.Case],
) -> CasePosition:
    case = (benchmark, own.metric, own.id)
    position = case_tables.locate_case(folder, case, own.epoch, where, hidden_cases=closed)
    if position is None:
        raise RunFolderError(Note("case_missing", path=folder.path, id=repr(own.id)))
    return CasePosition(
        number=position.before + 1 if position.fits else None,
        total=position.total,
        previous=Neighbour(*position.previous) if position.previous else None,
        next=Neighbour(*position.next) if position.next else None,
        outcomes=position.outcomes,
    )


#: Tables of evidence whose columns are named by us and not by a statement, with those whose cells
#: are words of ours as well: the catalogue `section` has them as `column.*` and `word.*`.
WORDED_COLUMNS: Mapping[str, frozenset[str]] = {
    "turns": frozenset({"by"}),
    "missing_results": frozenset({"by"}),
    "missing_outputs": frozenset(),
    "goals": frozenset({"goal", "progress"}),
    "results": frozenset({"reading", "resolved", "applied"}),
    "tests": frozenset({"group", "status"}),
    "patch_measures": frozenset({"measure", "value"}),
    "works": frozenset({"statement"}),
    "index_works": frozenset(),
    "assertions": frozenset({"holds"}),
    "actions_made": frozenset({"holds"}),
    "user_calls": frozenset(),
    "final_message": frozenset(),
}

# Calls of an answer beside the accepted ones, argument by argument, for the eyes of a reader.
# The verdict itself was reached by the scorer: here its finding is only put at its place. Values
# are held against each other by plain equality, which decides nothing.

ArgumentMark = Literal["accepted", "mismatch", "missing", "extra", "omitted", "differs", "unmarked"]
#: Stands among the accepted values where an argument may be left out.
OMITTED = ""
#: Calls of either side that are looked at: an answer may hold any number.
MAX_CALLS = 40
_NOT_ON_THE_WIRE = re.compile(r"[^A-Za-z0-9_-]")


class ArgumentComparison(Record, frozen=True):
    """One argument. `accepted` are the alternatives, `is_present` whether the answer has the
    argument; `differs` is no fault that was found, only equal to none. `mismatch_path` leads from
    the argument's value to the first mismatch."""

    name: str
    mark: ArgumentMark
    is_present: bool = False
    value: Any = None
    accepted: tuple[Any, ...] = ()
    mismatch_path: tuple[str, ...] = ()


class CallPair(Record, frozen=True):
    """A call of the answer and the accepted one it is held against; a name is empty where there is
    no call on that side."""

    answered: str
    accepted: str
    lines: tuple[ArgumentComparison, ...] = ()

    @property
    def same_name(self) -> bool:
        """Whether both name one function; servers take names without dots."""
        return _to_wire_name(self.answered) == _to_wire_name(self.accepted)


def pair_calls(body: Mapping[str, Any]) -> list[CallPair]:
    """The calls of a `calls` section, the pair that the finding is about first. Raises KeyError,
    TypeError, ValueError or AttributeError for a body of another form."""
    answer, accepted = (list(body[side] or ())[:MAX_CALLS] for side in ("answer", "accepted"))
    index_pairs = _match_calls(answer, accepted, body["output"], body["expected"])
    judged = body["output"] is not None or body["expected"] is not None
    path = tuple(map(str, body["argument"]))
    return [
        _build_call_pair(
            answer[left] if left is not None else None,
            accepted[right] if right is not None else None,
            path if judged and not number else (),
            clean=not judged and len(answer) == len(accepted),
        )
        for number, (left, right) in enumerate(index_pairs)
    ]


def _match_calls(
    answer: Sequence[Any], accepted: Sequence[Any], output: int | None, expected: int | None
) -> list[tuple[int | None, int | None]]:
    """Indices of calls that belong together: those of the finding, then the most alike."""
    left, right = list(range(len(answer))), list(range(len(accepted)))
    index_pairs: list[tuple[int | None, int | None]] = []
    if output in left and expected in right:
        index_pairs.append((output, expected))
    elif len(left) == len(right) == 1:
        index_pairs.append((0, 0))
    for answer_index, accepted_index in index_pairs:
        left = [index for index in left if index != answer_index]
        right = [index for index in right if index != accepted_index]
    alike = sorted(
        (_compute_similarity(answer[a], accepted[b]), -b, -a) for a in left for b in right
    )
    for likeness, b, a in reversed(alike):
        if likeness > (0, 0) and -a in left and -b in right:
            index_pairs.append((-a, -b))
            left.remove(-a)
            right.remove(-b)
    return [*index_pairs, *((None, b) for b in right), *((a, None) for a in left)]


def _compute_similarity(call: Mapping[str, Any], accepted: Mapping[str, Any]) -> tuple[int, int]:
    """Whether they name one function, and how many arguments are as accepted."""
    arguments = call["arguments"]
    right = sum(
        n in arguments and _is_accepted(arguments[n], values)
        for n, values in accepted["arguments"].items()
    )
    return int(_to_wire_name(call["name"]) == _to_wire_name(accepted["name"])), right


def _build_call_pair(
    call: Mapping[str, Any] | None,
    accepted: Mapping[str, Any] | None,
    path: tuple[str, ...],
    *,
    clean: bool,
) -> CallPair:
    answer_arguments = dict(call["arguments"]) if call else {}
    accepted_arguments = dict(accepted["arguments"]) if accepted else {}
    sides, compared = (answer_arguments, accepted_arguments), bool(call and accepted)
    lines = [
        _compare_argument(name, *sides, path, compared=compared, clean=clean)
        for name in {**accepted_arguments, **answer_arguments}
    ]
    return CallPair(
        answered=str(call["name"]) if call else "",
        accepted=str(accepted["name"]) if accepted else "",
        lines=tuple(lines),
    )


def _compare_argument(
    name: str,
    answer_arguments: Mapping[str, Any],
    accepted_arguments: Mapping[str, Any],
    path: tuple[str, ...],
    *,
    compared: bool,
    clean: bool,
) -> ArgumentComparison:
    """`clean`: the scorer found no fault, so that what is given is as accepted."""
    values = (
        tuple(accepted_arguments[name])
        if isinstance(accepted_arguments.get(name), list | tuple)
        else ()
    )
    has_mismatch = path[:1] == (name,)
    mark: ArgumentMark = "unmarked"
    if compared and name not in answer_arguments:
        mark = "omitted" if OMITTED in values and not has_mismatch else "missing"
    elif compared and name not in accepted_arguments:
        mark = "extra"
    elif compared and has_mismatch:
        mark = "mismatch"
    elif compared:
        mark = "accepted" if clean or _is_accepted(answer_arguments[name], values) else "differs"
    return ArgumentComparison(
        name=str(name),
        mark=mark,
        is_present=name in answer_arguments,
        value=answer_arguments.get(name),
        accepted=values,
        mismatch_path=path[1:] if has_mismatch else (),
    )


def _is_accepted(value: Any, alternatives: Any) -> bool:
    return any(_equals_accepted(value, alternative) for alternative in alternatives)


def _equals_accepted(value: Any, accepted: Any) -> bool:
    """Equality, where an accepted object holds the alternatives of each of its keys."""
    if isinstance(value, dict) and isinstance(accepted, dict):
        all_accepted = all(
            key in accepted and _is_accepted(value[key], accepted[key]) for key in value
        )
        return all_accepted and all(key in value or OMITTED in accepted[key] for key in accepted)
    if isinstance(value, list) and isinstance(accepted, list) and len(value) == len(accepted):
        return all(map(_equals_accepted, value, accepted))
    return bool(value == accepted)


def _to_wire_name(name: object) -> str:
    return _NOT_ON_THE_WIRE.sub("_", str(name))
