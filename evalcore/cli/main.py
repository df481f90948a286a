"""The command line `evalcore`: the same verbs as the app.

Exit status: 0 done, 1 a gate failed, 2 bad arguments or data, 3 run or installation incomplete,
4 a gate is inconclusive, 130 and 143 stopped by SIGINT and by SIGTERM. Imports are inside the
verbs, so that help and lists are quick.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evalcore import __version__
from evalcore.cli import (
    boards,
    bucket,
    datasets,
    decide,
    doctor,
    equivalent,
    exchange,
    gate,
    parity,
    plugin_templates,
    preflight,
    prepare,
    published,
    run,
    seal,
    serve,
    show,
    sweep,
)
from evalcore.cli.parser import AddCommon, CommandParser, add_examples
from evalcore.cli.run import (
    Interrupted,
    execute_run,
    fill_from_config,
    load_operator_settings,
    parse_key_value,
)
from evalcore.cli.terminal import (
    Amount,
    find_language,
    get_amount,
    get_language,
    say_always,
    tr,
    tr_count,
    tr_note,
    use_amount,
    use_language,
)
from evalcore.errors import EvalboardError
from evalcore.i18n import DEFAULT, LANGUAGES, name_code
from evalcore.plain_text import to_terminal_text
from evalcore.settings import explain_disk_error, load_settings, override_data_folder

DONE, BAD = 0, 2
SIGNALLED = 128  # and the number of the signal, as shells have it
_RUN_HELP = "id of the run; `evalcore list runs` lists them"


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()  # closed
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack characters
    with use_language(find_language(words)):
        words = exchange.insert_import_origin(words)
        args = build_parser(words[0] if words else "").parse_args(words)
        try:
            fill_from_config(args)
        except EvalboardError as error:
            say_always(error)
            return BAD
        amount: Amount = "quiet" if getattr(args, "quiet", False) else "normal"
        amount = "verbose" if getattr(args, "verbose", False) else amount
        spoken = getattr(args, "lang", None) or find_language(words)
        with use_language(spoken), use_amount(amount):
            return _call_verb(args)


def _call_verb(args: argparse.Namespace) -> int:
    verb: Callable[[argparse.Namespace], int] = args.verb
    try:
        with override_data_folder(getattr(args, "data", None)):
            status = verb(args)
        sys.stdout.flush()
        return status
    except EvalboardError as error:
        if get_amount() == "verbose":
            print(to_terminal_text(traceback.format_exc()), end="", file=sys.stderr)
        say_always(error)
        return BAD
    except BrokenPipeError:  # the reader of our output has gone, for example `| head`
        sys.stdout = io.StringIO()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where what is left goes at the end
        return DONE
    except OSError as error:  # a folder that cannot be written, a full disk
        say_always(explain_disk_error(error, load_settings(getattr(args, "data", None)).data))
        return BAD
    except Interrupted as stop:
        say_always(tr("cli.run.interrupted", command=stop.command))
        return SIGNALLED + stop.signal
    except KeyboardInterrupt:
        say_always(tr("cli.interrupted"))
        return SIGNALLED + signal.SIGINT


def build_parser(only: str = "") -> CommandParser:
    """The parser of every verb, with examples; of the verb alone where one is named."""
    parser = CommandParser(
        prog="evalcore", description="Evaluate language models and rank them with evidence."
    )
    about = "language of help and messages (default: --config, EVALBOARD_LANG, the terminal's)"
    parser.add_argument("--lang", choices=tuple(LANGUAGES), help=about)
    parser.add_argument("--version", action="version", version=f"evalcore {__version__}")
    verbs: Any = parser.add_subparsers(required=True, metavar="VERB")
    verbs.only = only
    _add_list(verbs)
    run.add_run_verb(verbs, _add_common_flags)
    for name, verb, about in (
        ("resume", _resume_run, "continue an incomplete run"),
        ("rescore", _rescore_run, "score the recorded answers again with the current scorers"),
        ("cancel", _cancel_run, "stop a run"),
    ):
        sub = verbs.add_parser(name, help=about)
        sub.add_argument("run", metavar="RUN", help=_RUN_HELP)
        if name == "resume":
            sub.add_number("--budget", "USD", "a new budget of the run; 0 removes it", float)
        if name in ("resume", "rescore"):
            run.add_cluster_flags(sub)
        _add_common_flags(sub, verb)
    for add_verb in _LATER_VERBS:
        add_verb(verbs, _add_common_flags)
    if not verbs.is_built:  # no such verb: the message names all of them
        return build_parser()
    add_examples(parser)
    return parser


def _add_completion(verbs: Any, _: AddCommon) -> None:
    sub = verbs.add_parser("completion", help="print a shell completion script for evalcore")
    sub.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="shell to complete for")
    sub.set_defaults(verb=_print_completion)


def _print_completion(args: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(build_parser(), args.shell))
    return DONE


def _add_common_flags(sub: CommandParser, verb: Callable[[argparse.Namespace], int]) -> None:
    about = "data folder (default: EVALBOARD_DATA, data/ of a checkout, or the user's data folder)"
    sub.add_argument("--data", metavar="DIR", help=about)
    sub.add_argument("--json", action="store_true", help="print JSON")
    about = "language of help and messages (default: --config, EVALBOARD_LANG, the terminal's)"
    sub.add_argument("--lang", choices=tuple(LANGUAGES), default=argparse.SUPPRESS, help=about)
    amount = sub.add_mutually_exclusive_group()
    about = "print results and errors alone: no progress, no notices"
    amount.add_argument("-q", "--quiet", action="store_true", help=about)
    about = "also print what happens on the way: failed requests, retries, tracebacks of errors"
    amount.add_argument("-v", "--verbose", action="store_true", help=about)
    sub.set_defaults(verb=verb)


def _add_list(verbs: Any) -> None:
    sub = verbs.add_parser("list", help="list benchmarks, targets, engines, datasets or runs")
    kinds = ("benchmarks", "targets", "engines", "datasets", "runs")
    sub.add_argument("what", choices=kinds, help="what to list")
    _add_common_flags(sub, _print_listing)


def _add_score(verbs: Any, add_common: AddCommon) -> None:
    sub = verbs.add_parser("score", help="score existing predictions without asking a target")
    sub.add_argument("benchmark", metavar="BENCHMARK", help="key of the benchmark")
    about = "predictions to score, one JSON object per line"
    sub.add_argument("--predictions", type=Path, required=True, metavar="FILE.jsonl", help=about)
    sub.add_text("--dataset", "PATH", "dataset with the cases (default: the bundled cases)")
    sub.add_text("--metric", "M", "metric of all predictions (default: as each line says)")
    sub.add_repeatable("--option", "KEY=VALUE", "set a benchmark option; repeatable")
    about = "file to write, one verdict per line"
    sub.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl", help=about)
    sub.add_argument("--evidence", action="store_true", help="also write the evidence sections")
    add_common(sub, _score_predictions)


def _add_index(verbs: Any, add_common: AddCommon) -> None:
    sub = verbs.add_parser("index", help="rebuild the index from the run folders")
    sub.add_argument("action", choices=("rebuild",), help="the only action")
    sub.add_argument(
        "--repair",
        action="store_true",
        help="first set unreadable journal lines aside, so that their runs can be resumed",
    )
    add_common(sub, _index_rebuild)


#: What adds the verbs that follow those of a run, in the order of the help.
_LATER_VERBS: tuple[Callable[[Any, AddCommon], None], ...] = (
    *(show.add_show_verb, show.add_diff_verb, sweep.add_sweep_verb, parity.add_parity_verb),
    *(_add_score, boards.add_board_verb, boards.add_card_verb, boards.add_compare_verb),
    *(decide.add_decide_verb, gate.add_gate_verb, exchange.add_exchange_verbs),
    *(seal.add_seal_verb, datasets.add_datasets_verb, prepare.add_prepare_verbs),
    *(prepare.add_list_verbs, equivalent.add_equivalent_verb, exchange.add_hub_verb),
    *(bucket.add_bucket_verb, boards.add_site_verb, published.add_published_verb),
    *(preflight.add_preflight_verb, preflight.add_models_verb, serve.add_serve_verb),
    *(_add_index, doctor.add_doctor_verb, plugin_templates.add_new_verb, _add_completion),
)


def _print_listing(args: argparse.Namespace) -> int:
    from evalcore.views import payloads

    settings = load_operator_settings(args)
    language = DEFAULT if args.json else get_language()
    if args.what == "datasets":
        datasets.load_dataset_entries(settings)
    rows = payloads.build_listing(args.what, settings, language)
    text = payloads.as_text(rows, language)
    print(json.dumps(rows, ensure_ascii=False) if args.json else text)
    for problem in payloads.find_listing_problems(args.what, settings):
        print(tr_note(problem), file=sys.stderr if args.json else sys.stdout)
    return DONE


def _resume_run(args: argparse.Namespace) -> int:
    if args.budget is not None:
        from evalcore.runner import client

        client.raise_budget(args.run, args.budget, load_operator_settings(args))
    return execute_run(args, args.run)


def _rescore_run(args: argparse.Namespace) -> int:
    return execute_run(args, args.run, generate=False)


def _cancel_run(args: argparse.Namespace) -> int:
    from evalcore.access.policy import OPERATOR
    from evalcore.runner import client

    client.cancel_run(args.run, load_operator_settings(args), visitor=OPERATOR)
    cancelled = {"run_id": args.run, "cancelled": True}
    exchange.print_result(args, cancelled, tr("cli.cancel.asked", run=args.run))
    return DONE


def _score_predictions(args: argparse.Namespace) -> int:
    from evalcore.runner import predictions

    options = dict(parse_key_value(text, "--option") for text in args.option)
    counts = predictions.score_file(
        predictions.ScoreRequest(
            benchmark=args.benchmark,
            predictions=str(args.predictions),
            dataset=args.dataset,
            metric=args.metric,
            options=options,
            evidence=args.evidence,
        ),
        args.out,
        load_operator_settings(args),
    )
    outcomes = (f"{name_code(name, get_language(), 'outcome')} {n}" for name, n in counts.items())
    print(json.dumps(counts) if args.json else f"{args.out}: {', '.join(outcomes)}")
    return DONE


def _index_rebuild(args: argparse.Namespace) -> int:
    from evalcore.records import to_plain
    from evalcore.store.index import open_index
    from evalcore.store.repair import QuarantinedLine, repair_runs
    from evalcore.views import runs

    settings = load_operator_settings(args)
    repairs = list(repair_runs([settings.runs_dir])) if args.repair else []
    set_aside = [repair for repair in repairs if isinstance(repair, QuarantinedLine)]
    count = open_index(settings).rebuild()
    damaged = {
        row.run_id: row.problem
        for row in runs.all_rows([settings.runs_dir])
        if row.state == "broken"
    }
    if args.json:
        report = {
            "runs": count,
            "damaged": damaged,
            "set_aside": [to_plain(line) for line in set_aside],
            "not_repaired": [repair for repair in repairs if isinstance(repair, str)],
        }
        print(json.dumps(report, ensure_ascii=False))
        return DONE
    for repair in repairs:
        print(
            tr("cli.index.set_aside", **to_plain(repair) | {"problem": tr_note(repair.problem)})
            if isinstance(repair, QuarantinedLine)
            else tr("cli.index.not_repaired", problem=tr_note(repair))
        )
    for run_id in sorted({line.run_id for line in set_aside if line.resumable}):
        print(tr("cli.index.repeats", run=run_id))
    for run_id, problem in damaged.items():
        print(tr("cli.index.skipped", run=run_id, problem=tr_note(problem)))
    print(tr("cli.index.runs", runs=tr_count("cli.count_run", count)))
    return DONE


if __name__ == "__main__":
    sys.exit(main())
