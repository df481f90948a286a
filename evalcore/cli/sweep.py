"""`evalcore sweep`: variants of a model on the same cases, in one command, as one table and one
picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.cli import run
from evalcore.cli.parser import AddCommon, ListAction, ListChoices
from evalcore.cli.terminal import get_language, say_always, tr, tr_note
from evalcore.errors import EvalboardError, UsageError
from evalcore.i18n import Note

if TYPE_CHECKING:
    from evalcore.runner.run_request import RunRequest
    from evalcore.settings import Settings
    from evalcore.store.sweeps import Sweep, Variant

_FORMS = (".svg", ".png")
ASKING_WAYS = ("native", "prompt", "text", "json")


def add_sweep_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = (
        "run variants of a model (checkpoints, adapters, precisions, ways of asking for calls) on "
        "the same cases and draw them in one picture: scores with intervals, the best by paired "
        "tests, what quantization and the format of calls cost"
    )
    sub = verbs.add_parser(
        "sweep", help="compare variants of a model in one command", description=about
    )
    sub.add_argument(
        "--target",
        nargs="+",
        action="extend",
        metavar="T",
        help="targets to compare; a pattern such as 'hf:out/checkpoint-*' names folders, "
        "and options may follow: 'hf:base?dtype=int8'",
    )
    sub.add_argument(
        "--adapters",
        nargs="+",
        action="extend",
        default=[],
        metavar="A",
        help="LoRA adapters to add to each target, which also runs without; patterns name folders",
    )
    sub.add_argument(
        "--dtypes",
        nargs="+",
        action=ListAction,
        default=[],
        metavar="D",
        help="precisions to run each target in, for example auto int8 int4",
    )
    sub.add_argument(
        "--asking",
        nargs="+",
        action=ListAction,
        default=[],
        choices=ListChoices(ASKING_WAYS),
        help="ways of asking each target for calls: native (the server's tools), prompt (calls as "
        "code), text (calls as JSON in the text); the table says what the format cost",
    )
    sub.add_path(
        "--picture",
        "FILE",
        "where to draw the result, .svg or .png (default: sweeps/ID.svg of the data folder)",
    )
    sub.add_argument(
        "--show", metavar="ID", help="run nothing: print and draw a sweep that ran before"
    )
    sub.add_argument(
        "--resume", metavar="ID", help="continue the runs of a sweep that was interrupted"
    )
    run.add_run_flags(sub)
    add_common(sub, _run_sweep)


def _run_sweep(args: argparse.Namespace) -> int:
    from evalcore.runner import sweep
    from evalcore.store import sweeps

    if args.picture is not None and args.picture.suffix.lower() not in _FORMS:
        raise UsageError(Note("cli_picture"))
    settings = run.load_operator_settings(args)
    if args.show:
        return _report_sweep(sweeps.load_sweep(args.show, settings), args, settings)
    if args.resume:
        return _work_on_sweep(sweeps.load_sweep(args.resume, settings), args, settings)
    if not args.target:
        raise UsageError(Note("cli_no_variants"))
    chosen, args.target = args.target, args.target[0]
    request, _ = run.build_run_request(args)
    variants = sweep.list_variants(
        chosen, request.target_options, args.adapters, args.dtypes, args.asking
    )
    if args.estimate:
        for variant, each in zip(variants, _list_requests(variants, request), strict=True):
            print(f"{variant.label}:", file=sys.stderr)
            run.print_estimate(each, args, settings)
        return run.DONE
    return _work_on_sweep(_plan_sweep(variants, request, settings), args, settings)


def _work_on_sweep(planned: Sweep, args: argparse.Namespace, settings: Settings) -> int:
    """Begin or continue each run; one that is done costs nothing."""
    for variant in planned.variants:
        say_always(tr("cli.sweep.run", label=variant.label, run=variant.run_id))
        try:
            run.work_on(args, variant.run_id)
        except run.Interrupted as stop:
            command = run.format_command(args, "sweep", "--resume", planned.id)
            raise run.Interrupted(command, stop.signal) from None
        except EvalboardError as error:  # the others can be compared without it
            say_always(f"{variant.label}: {tr_note(str(error))}")
    return _report_sweep(planned, args, settings)


def _list_requests(variants: tuple[Variant, ...], request: RunRequest) -> list[RunRequest]:
    """The request of each variant, which differs from the others in its target alone."""
    import msgspec

    return [
        msgspec.structs.replace(
            request, target=variant.target.key, target_options=variant.target.options
        )
        for variant in variants
    ]


def _plan_sweep(variants: tuple[Variant, ...], request: RunRequest, settings: Settings) -> Sweep:
    """Plan a run for every variant, so that nothing starts where one of them cannot."""
    from evalcore.records import utc_now
    from evalcore.runner import plan, sweep
    from evalcore.store import run_folder, sweeps

    plans = [run.plan_run(each, settings) for each in _list_requests(variants, request)]
    runs = [plan.create_folder(each, settings).run_id for each in plans]
    planned = sweeps.Sweep(
        id=run_folder.new_run_id(), created_at=utc_now(), variants=sweep.assign_runs(variants, runs)
    )
    sweeps.save_sweep(planned, settings)
    return planned


def _report_sweep(planned: Sweep, args: argparse.Namespace, settings: Settings) -> int:
    from evalcore.charts.sweeps import draw_sweep
    from evalcore.records import to_json
    from evalcore.views import sweeps

    report = sweeps.build_sweep_report(planned, settings)
    path: Path = args.picture or settings.data_dir / "sweeps" / f"{planned.id}.svg"
    if args.json:
        print(to_json(report).decode())
    else:
        print(sweeps.format_sweep_report(report, get_language()))
        print(tr("cli.sweep.again", id=planned.id))
    if report.rows:
        try:
            picture = draw_sweep(report, path.suffix[1:].lower())
        except UsageError as error:  # the package that draws is optional
            if args.picture:
                raise
            say_always(error)
        else:
            path.write_bytes(picture)
            say_always(tr("cli.sweep.picture", path=path))
    complete = len(report.rows) > 0 and all(row.complete for row in report.rows)
    return run.DONE if complete and not report.problems else run.INCOMPLETE
