"""`evalcore parity`: whether a target answers as a reference does, such as a served model as the
own engine: the same cases, greedy, answer by answer and verdict by verdict."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from evalcore.cli import run
from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import say_always, tr, tr_count
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.plain_text import align_columns, to_single_line
from evalcore.records import MEASURED, Record, to_json

if TYPE_CHECKING:
    from evalcore.records import Episode, TargetSpec
    from evalcore.runner.plan import Plan
    from evalcore.runner.run_request import RunRequest
    from evalcore.runner.summary import EpisodeKey, VerdictKey
    from evalcore.settings import Settings

_SHOWN = 10  # differences
_SHOWN_CHARACTERS = 160


class AnswerDifference(Record, frozen=True):
    """A case that the two answered differently. `position` is the first character that differs in
    the text, None where calls of tools alone do."""

    benchmark: str
    id: str
    reference: str
    candidate: str
    position: int | None


class ParityReport(Record, frozen=True):
    """How the answers and verdicts of a candidate compare with those of the reference. `unanswered`
    are cases that either gave no answer to; `better` and `worse` cases are the candidate's, `p` is
    of the paired test."""

    reference: str
    candidate: str
    runs: tuple[str, str]
    answers: int
    equal: int
    unanswered: int
    verdicts: int
    better: int
    worse: int
    p: float
    differences: tuple[AnswerDifference, ...] = ()


def add_parity_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = (
        "ask two targets the same cases without randomness and say how many answers are equal, "
        "which differ, and whether their verdicts do"
    )
    sub = verbs.add_parser(
        "parity",
        help="check whether a served model answers as the reference does",
        description=about,
    )
    sub.add_argument(
        "reference", metavar="REFERENCE", help="target to compare with, for example hf:./model"
    )
    sub.add_argument(
        "candidate",
        metavar="CANDIDATE",
        help="target to check; options may follow: 'hf:./model?engine=vllm'",
    )
    run.add_run_flags(sub)
    add_common(sub, _check_parity)


def _check_parity(args: argparse.Namespace) -> int:
    from evalcore.runner import plan

    settings = run.load_operator_settings(args)
    args.target = args.reference
    requests = _build_requests(args)
    if args.estimate:
        for each in requests:
            run.print_estimate(each, args, settings)
        return run.DONE
    plans: list[Plan] = [run.plan_run(each, settings) for each in requests]
    folders = [plan.create_folder(each, settings).run_id for each in plans]
    summaries = []
    for each, run_id in zip(requests, folders, strict=True):
        say_always(tr("cli.sweep.run", label=each.target, run=run_id))
        summaries.append(run.work_on(args, run_id))
    report = compare_runs((folders[0], folders[1]), settings)
    print(to_json(report).decode() if args.json else format_parity(report))
    complete = all(summary.is_complete for summary in summaries) and not report.unanswered
    return run.DONE if complete else run.INCOMPLETE


def _build_requests(args: argparse.Namespace) -> list[RunRequest]:
    """The request for the reference and that for the candidate, of the same cases. Raises
    UsageError for two that are the same, and for randomness."""
    import msgspec

    from evalcore.runner import sweep

    request, _ = run.build_run_request(args)
    if request.epochs != 1:
        raise UsageError(Note("cli_parity_epochs"))
    specs = [
        _choose_greedy(sweep.read_target(text, request.target_options))
        for text in (args.reference, args.candidate)
    ]
    if specs[0] == specs[1]:
        raise UsageError(Note("cli_parity_same"))
    return [
        msgspec.structs.replace(request, target=spec.key, target_options=spec.options)
        for spec in specs
    ]


def _choose_greedy(spec: TargetSpec) -> TargetSpec:
    """The target without randomness. Raises UsageError where some was asked for."""
    import msgspec

    from evalcore.catalog import find_target_kind

    card = find_target_kind(spec.key)
    if card is None or not any(option.name == "temperature" for option in card.options):
        return spec
    if str(spec.options.get("temperature", "0")).strip("0.") != "":
        raise UsageError(Note("cli_parity_greedy", target=spec.key))
    return msgspec.structs.replace(spec, options={**spec.options, "temperature": "0"})


def compare_runs(run_ids: tuple[str, str], settings: Settings) -> ParityReport:
    """Compare the second run with the first, on the cases of both."""
    from evalcore.scoring.intervals import compare_paired

    (name, reference, base), (candidate_name, candidate, scores) = (
        _read_run(run_id, settings) for run_id in run_ids
    )
    keys = [key for key in reference if key in candidate]
    answered = [k for k in keys if not (reference[k].failure or candidate[k].failure)]
    differences = [
        difference
        for key in answered
        if (difference := _compare_answers(key, reference[key], candidate[key])) is not None
    ]
    paired = compare_paired(scores, base, dict.fromkeys(base, 1.0))
    return ParityReport(
        reference=name,
        candidate=candidate_name,
        runs=run_ids,
        answers=len(answered),
        equal=len(answered) - len(differences),
        unanswered=len(reference.keys() | candidate.keys()) - len(answered),
        verdicts=paired.common,
        better=paired.wins,
        worse=paired.losses,
        p=paired.p,
        differences=tuple(differences),
    )


def _read_run(
    run_id: str, settings: Settings
) -> tuple[str, dict[EpisodeKey, Episode], dict[VerdictKey, float]]:
    """Identity of the target, episodes, and the scores of what was measured."""
    from evalcore.runner import summary
    from evalcore.store import run_folder

    folder = run_folder.find_run(run_id, [settings.runs_dir])
    spec = folder.read_spec()
    verdicts = summary.latest_verdicts(folder.read_verdicts(summary.scoring_id(spec)))
    measured = {key: v.score for key, v in verdicts.items() if v.outcome in MEASURED}
    scores = {key: score for key, score in measured.items() if score is not None}
    return spec.target.identity, summary.latest_episodes(folder), scores


def _compare_answers(
    key: EpisodeKey, reference: Episode, candidate: Episode
) -> AnswerDifference | None:
    """How two episodes of a case differ, None where text and calls are the same in every turn."""
    turns = [_list_turns(episode) for episode in (reference, candidate)]
    if turns[0] == turns[1]:
        return None
    width = min(map(len, turns))
    at = next((n for n in range(width) if turns[0][n] != turns[1][n]), width)
    shown = [each[at] if at < len(each) else ("", ()) for each in turns]
    texts = [text for text, _ in shown]
    position = None
    if texts[0] != texts[1]:
        shortest = min(map(len, texts))
        pairs = zip(*texts, strict=False)
        position = next((n for n, (a, b) in enumerate(pairs) if a != b), shortest)
    answers = [
        " ".join([text, *(f"{name}({arguments})" for name, arguments in calls)]).strip()
        for text, calls in shown
    ]
    return AnswerDifference(key[0], key[1], answers[0], answers[1], position)


def _list_turns(episode: Episode) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Text and calls of every turn of the model; ids of calls are drawn anew each time."""
    turns = [
        (message.content, tuple((call.name, call.arguments) for call in message.tool_calls))
        for message in episode.messages
        if message.role == "assistant"
    ]
    return [*turns, (episode.answer, ())]


def format_parity(report: ParityReport) -> str:
    """The report as text for a terminal."""
    share = f" ({100 * report.equal / report.answers:.1f}%)" if report.answers else ""
    sides = (tr("cli.parity.reference"), tr("cli.parity.candidate"))
    named = zip(sides, (report.reference, report.candidate), report.runs, strict=True)
    lines = [align_columns([(side, f"{target} ({run_id})") for side, target, run_id in named])]
    lines.append(tr("cli.parity.equal", count=report.equal, all=report.answers, share=share))
    if report.unanswered:
        lines.append(tr_count("cli.parity.unanswered", report.unanswered))
    figures = {"better": report.better, "worse": report.worse, "p": f"{report.p:.3g}"}
    lines.append(tr_count("cli.parity.verdicts", report.verdicts, **figures))
    if report.differences:
        lines.append(align_columns(_list_difference_rows(report)))
    if len(report.differences) > _SHOWN:
        lines.append(tr("cli.parity.more", count=len(report.differences) - _SHOWN))
    return "\n".join(lines)


def _list_difference_rows(report: ParityReport) -> list[tuple[str, str, str]]:
    """Two rows a difference, from shortly before the first character that differs."""
    rows = []
    for difference in report.differences[:_SHOWN]:
        start = max((difference.position or 0) - 40, 0)
        for who in ("reference", "candidate"):
            text = to_single_line(getattr(difference, who)[start:], _SHOWN_CHARACTERS)
            first = who == "reference"
            where = f"{difference.benchmark} {difference.id}" if first else ""
            rows.append((where, tr(f"cli.parity.{who}"), ("…" if start else "") + text))
    return rows
