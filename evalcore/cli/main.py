"""The command line `evalcore`: the same verbs as the app.

Exit status: 0 done, 2 bad arguments or data, 3 run or installation incomplete. Imports are inside
the verbs, so that help and lists are quick.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore import __version__
from evalcore.access.secrets import scrub_secrets
from evalcore.cli import (
    boards,
    datasets,
    doctor,
    equivalent,
    exchange,
    plugin_templates,
    preflight,
)
from evalcore.errors import EvalboardError, UsageError
from evalcore.plain_text import format_count
from evalcore.settings import override_data_folder

if TYPE_CHECKING:
    from evalcore.results import RunSummary
    from evalcore.runner.run_request import Estimate, RunRequest
    from evalcore.runner.summary import Tracker
    from evalcore.settings import Settings

DONE, BAD, INCOMPLETE = 0, 2, 3
_RUN_HELP = "id of the run; `evalcore list runs` lists them"
_TARGET_HELP = (
    "target to evaluate, for example baseline:sqlglot, openai:MODEL, hf:PATH (a local model), "
    "app:sqlflash or app:SERVICE.yaml (an HTTP service described by a file); "
    "`evalcore list targets` lists the kinds"
)


def main(arguments: Sequence[str] | None = None) -> int:
    args = _build_parser().parse_args(arguments)
    verb: Callable[[argparse.Namespace], int] = args.verb
    try:
        with override_data_folder(getattr(args, "data", None)):
            return verb(args)
    except EvalboardError as error:
        print(f"evalcore: {error}", file=sys.stderr)
        return BAD
    except BrokenPipeError:  # the reader of our output has gone, for example `| head`
        sys.stderr.close()
        return DONE
    except OSError as error:  # a folder that cannot be written, a full disk
        prefix = f"{error.filename}: " if error.filename else ""
        print(f"evalcore: {prefix}{error.strerror or error}", file=sys.stderr)
        return BAD
    except KeyboardInterrupt:
        print("evalcore: interrupted; continue the run with `evalcore resume RUN`", file=sys.stderr)
        return INCOMPLETE


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evalcore", description="Evaluate language models and rank them with evidence."
    )
    parser.add_argument("--version", action="version", version=f"evalcore {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _add_list(verbs)
    _add_run(verbs)
    for name, verb, about in (
        ("resume", _resume_run, "continue an incomplete run"),
        ("rescore", _rescore_run, "score the recorded answers again with the current scorers"),
        ("cancel", _cancel_run, "stop a run"),
        ("show", _show_run, "print the result of a run"),
    ):
        sub = verbs.add_parser(name, help=about, description=about)
        sub.add_argument("run", metavar="RUN", help=_RUN_HELP)
        if name == "resume":
            about = "a new budget of the run; 0 removes it"
            sub.add_argument("--budget", type=float, metavar="USD", help=about)
        _add_common_flags(sub, verb)
    _add_score(verbs)
    boards.add_board_verb(verbs, _add_common_flags)
    boards.add_card_verb(verbs, _add_common_flags)
    boards.add_compare_verb(verbs, _add_common_flags)
    exchange.add_exchange_verbs(verbs, _add_common_flags)
    datasets.add_datasets_verb(verbs, _add_common_flags)
    equivalent.add_equivalent_verb(verbs, _add_common_flags)
    exchange.add_hub_verb(verbs, _add_common_flags)
    boards.add_site_verb(verbs, _add_common_flags)
    preflight.add_preflight_verb(verbs, _add_common_flags)
    _add_index(verbs)
    doctor.add_doctor_verb(verbs, _add_common_flags)
    plugin_templates.add_new_verb(verbs, _add_common_flags)
    _add_completion(verbs)
    return parser


def _add_completion(verbs: Any) -> None:
    about = "print a shell completion script for evalcore"
    sub = verbs.add_parser("completion", help=about, description=about)
    sub.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="shell to complete for")
    sub.set_defaults(verb=_print_completion)


def _print_completion(args: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(_build_parser(), args.shell))
    return DONE


def _add_common_flags(
    sub: argparse.ArgumentParser, verb: Callable[[argparse.Namespace], int]
) -> None:
    sub.add_argument("--data", metavar="DIR", help="data folder (default: EVALBOARD_DATA or data/)")
    sub.add_argument("--json", action="store_true", help="print JSON")
    sub.set_defaults(verb=verb)


def _add_list(verbs: Any) -> None:
    about = "list benchmarks, targets, engines, datasets or runs"
    sub = verbs.add_parser("list", help=about, description=about)
    kinds = ("benchmarks", "targets", "engines", "datasets", "runs")
    sub.add_argument("what", choices=kinds, help="what to list")
    _add_common_flags(sub, _print_listing)


def _add_run(verbs: Any) -> None:
    about = "run benchmarks on a target"
    sub = verbs.add_parser("run", help=about, description=about)
    sub.add_argument("--target", metavar="T", help=_TARGET_HELP)
    sub.add_argument(
        "--benchmarks",
        nargs="+",
        metavar="B",
        help="benchmarks to run; `evalcore list benchmarks` lists them",
    )
    sub.add_argument(
        "--metrics",
        nargs="+",
        default=[],
        metavar="M",
        help="run only these metrics (default: all)",
    )
    sub.add_argument(
        "--dataset",
        default="",
        metavar="PATH|NAME",
        help="dataset to use (default: the bundled cases)",
    )
    sub.add_argument("--max-samples", type=int, metavar="N", help="at most N cases per benchmark")
    sub.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="seed that draws the cases of --max-samples (default: 0)",
    )
    sub.add_argument(
        "--epochs", type=int, default=1, metavar="K", help="ask every case K times (default: 1)"
    )
    sub.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="BENCHMARK.KEY=VALUE",
        help="set a benchmark option; also BENCHMARK.weights.METRIC=N, BENCHMARK.difficulty.N=W "
        "(the weight of a case of difficulty N), BENCHMARK.prompt=FILE and "
        "BENCHMARK.data_path=PATH; repeatable",
    )
    sub.add_argument(
        "--target-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a target option, for example temperature=0; repeatable",
    )
    sub.add_argument(
        "--judge",
        action="append",
        metavar="T[?KEY=VALUE&...]",
        help="add a judge to the panel, which votes only if nothing can be executed; repeatable",
    )
    sub.add_argument(
        "--config", type=Path, metavar="FILE.yaml", help="run configuration; flags override it"
    )
    sub.add_argument(
        "--concurrency",
        type=int,
        default=0,
        metavar="N",
        help="concurrent requests (default: 0, automatic)",
    )
    sub.add_argument(
        "--budget",
        type=float,
        metavar="USD",
        help="stop before the run costs more; `evalcore resume RUN --budget USD` continues it",
    )
    sub.add_argument(
        "--estimate",
        action="store_true",
        help="print requests, tokens, time and cost of the run, and start nothing",
    )
    sub.add_argument(
        "--batch-size",
        metavar="N",
        help="batch size of a local model (default: automatic; 1: exact, one at a time)",
    )
    _add_common_flags(sub, _run_benchmarks)


def _add_score(verbs: Any) -> None:
    about = "score existing predictions without asking a target"
    sub = verbs.add_parser("score", help=about, description=about)
    sub.add_argument("benchmark", metavar="BENCHMARK", help="key of the benchmark")
    about = "predictions to score, one JSON object per line"
    sub.add_argument("--predictions", type=Path, required=True, metavar="FILE.jsonl", help=about)
    about = "dataset with the cases (default: the bundled cases)"
    sub.add_argument("--dataset", default="", metavar="PATH", help=about)
    about = "metric of all predictions (default: as each line says)"
    sub.add_argument("--metric", default="", metavar="M", help=about)
    about = "set a benchmark option; repeatable"
    sub.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help=about)
    about = "file to write, one verdict per line"
    sub.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl", help=about)
    sub.add_argument("--evidence", action="store_true", help="also write the evidence sections")
    _add_common_flags(sub, _score_predictions)


def _add_index(verbs: Any) -> None:
    about = "rebuild the index from the run folders"
    sub = verbs.add_parser("index", help=about, description=about)
    sub.add_argument("action", choices=("rebuild",), help="the only action")
    sub.add_argument(
        "--repair",
        action="store_true",
        help="first set unreadable journal lines aside, so that their runs can be resumed",
    )
    _add_common_flags(sub, _index_rebuild)


def _load_operator_settings(args: argparse.Namespace) -> Settings:
    """Load the settings with the permissions of someone who has a shell on this machine."""
    from evalcore import settings
    from evalcore.access import policy

    return policy.restrict_settings(settings.load_settings(args.data), policy.OPERATOR)


def _print_listing(args: argparse.Namespace) -> int:
    from evalcore.views import payloads

    settings = _load_operator_settings(args)
    rows = payloads.build_listing(args.what, settings)
    print(json.dumps(rows, ensure_ascii=False) if args.json else payloads.as_text(rows))
    for problem in payloads.find_listing_problems(args.what, settings):
        print(problem, file=sys.stderr if args.json else sys.stdout)
    return DONE


def _run_benchmarks(args: argparse.Namespace) -> int:
    from evalcore.access.secrets import Secrets
    from evalcore.runner import client, gold, plan, run_request
    from evalcore.runner.jobs import run_service

    request, slm_evals_path = _build_run_request(args)
    settings, secrets = _load_operator_settings(args), Secrets()
    run_plan = plan.plan_run(request, settings)
    plan.check_targets(run_plan.spec, settings, secrets)
    if args.estimate:
        _print_estimate(run_service.estimate_plan(run_plan, settings, secrets), args.json)
        return DONE
    missing = client.missing_keys(request.target, request.target_options, settings)
    missing += client.missing_judge_keys(run_request.list_judge_specs(run_plan.spec), settings)
    if missing:
        raise UsageError(f"keys are missing; set {', '.join(dict.fromkeys(missing))}")

    def say(line: str) -> None:
        print(f"evalcore: {line}", file=sys.stderr)

    def say_begun(line: str) -> None:
        if sys.stderr.isatty():
            say(line)

    for line in gold.require_gold(run_plan.gold, run_plan.samples, settings, progress=say_begun):
        say(line)
    folder = plan.create_folder(run_plan, settings)
    return _execute_run(args, folder.run_id, slm_evals_path=slm_evals_path)


def _print_estimate(estimate: Estimate, as_json: bool) -> None:
    from evalcore.records import to_plain

    if as_json:
        print(json.dumps(to_plain(estimate), ensure_ascii=False))
        return
    figures = {
        "cases": estimate.samples,
        "requests": estimate.requests,
        "input tokens": estimate.input_tokens,
        "output tokens": estimate.output_tokens,
        "seconds": None if estimate.seconds is None else round(estimate.seconds),
        "USD": None if estimate.cost is None else f"{estimate.cost:.4g}",
    }
    for name, figure in figures.items():
        print(f"{name:<14}{'unknown' if figure is None else figure}")
    for note in estimate.notes:
        print(note)


def _build_run_request(args: argparse.Namespace) -> tuple[RunRequest, Path | None]:
    """Build the request of a `run` command; also return the folder that its config file names for
    slm-evals' files. Flags that override the file are reported on stderr."""
    from evalcore.runner import run_request
    from evalcore.runner.run_request import RunRequest

    target, benchmarks, judges = args.target, args.benchmarks, args.judge
    flag_values = {
        "target": target,
        "benchmarks": None if benchmarks is None else tuple(benchmarks),
        "judges": None if judges is None else tuple(judges),
        "max_samples": args.max_samples,
        "target_options": _target_options(args.target_option, args.batch_size),
        "metrics": tuple(args.metrics),
        "dataset": args.dataset,
        "seed": args.seed,
        "epochs": args.epochs,
        "options": _benchmark_options(args.option),
        "concurrency": args.concurrency,
        "budget": args.budget,
    }
    flags = {name: value for name, value in flag_values.items() if value is not None}
    slm_evals_path = None
    if args.config:
        file, fields = run_request.read_run_config(args.config)
        request, overridden = run_request.apply_flags(file, fields, flags)
        for line in overridden:
            print(f"evalcore: {args.config}: {scrub_secrets(line)}", file=sys.stderr)
        slm_evals_path = run_request.find_output_folder(file, fields)
    else:
        request = RunRequest(**{"target": "", "benchmarks": (), **flags})
    if not request.target:
        raise UsageError("--target is missing; `evalcore list targets` lists the kinds")
    return request, slm_evals_path


def _target_options(texts: Sequence[str], batch_size: str | None) -> dict[str, Any]:
    options = dict(_parse_key_value(text, "--target-option") for text in texts)
    return options | ({"batch_size": batch_size} if batch_size else {})


def _parse_key_value(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{flag} must have the form KEY=VALUE, got {scrub_secrets(text)!r}")
    return name, value


def _benchmark_options(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    options: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, value = _parse_key_value(text, "--option")
        benchmark, dot, key = name.partition(".")
        if not dot or not key:
            raise UsageError(f"--option {text!r} must have the form BENCHMARK.KEY=VALUE")
        options.setdefault(benchmark, {})[key] = value
    return options


def _execute_run(
    args: argparse.Namespace,
    run_id: str,
    *,
    generate: bool = True,
    slm_evals_path: Path | None = None,
) -> int:
    """Work on a run in this process; show progress if stderr is a terminal."""
    from evalcore.access.secrets import Secrets
    from evalcore.runner.worker import work_on_run
    from evalcore.store import run_folder

    settings = _load_operator_settings(args)
    folder = run_folder.find_run(run_id, [settings.runs_dir])
    if not folder.has_live_worker():  # a cancel left by a worker that was killed before it saw it
        folder.cancel_path.unlink(missing_ok=True)
    is_watched = not args.json and sys.stderr.isatty()
    with _draw_run_progress(run_id) if is_watched else nullcontext() as watch:
        summary = work_on_run(folder, settings, Secrets(), generate=generate, on_tick=watch)
    if slm_evals_path is not None:
        from evalcore.exchange import reports

        reports.write_slm_reports(folder, slm_evals_path, show_gated=settings.show_gated)
    _print_summary(summary, args.json)
    return DONE if summary.is_complete else INCOMPLETE


@contextmanager
def _draw_run_progress(run_id: str) -> Iterator[Callable[[Tracker], None]]:
    """Draw a bar on standard error for as long as the block lasts; yields what moves it on."""
    from evalcore.exchange.report_data import format_progress

    # The worker ticks twice a second; no thread of the bar's own.
    with exchange.build_progress_bar("{task.fields[counts]}", auto_refresh=False) as bar:
        task = bar.add_task(run_id, total=None, counts="")

        def move_bar(tracker: Tracker) -> None:
            bar.update(
                task,
                total=tracker.total,
                completed=tracker.outcomes.total(),
                counts=format_progress(tracker.outcomes, bar.tasks[task].speed, tracker.cost),
                refresh=True,
            )

        yield move_bar


def _print_summary(summary: RunSummary, as_json: bool) -> None:
    from evalcore.exchange import report_data

    if as_json:
        print(json.dumps(report_data.summary_to_dict(summary), ensure_ascii=False))
    else:
        print(report_data.format_run_summary(summary))


def _resume_run(args: argparse.Namespace) -> int:
    if args.budget is not None:
        from evalcore.runner import client

        client.raise_budget(args.run, args.budget, _load_operator_settings(args))
    return _execute_run(args, args.run)


def _rescore_run(args: argparse.Namespace) -> int:
    return _execute_run(args, args.run, generate=False)


def _cancel_run(args: argparse.Namespace) -> int:
    from evalcore.access.policy import OPERATOR
    from evalcore.runner import client

    client.cancel_run(args.run, _load_operator_settings(args), visitor=OPERATOR)
    print(
        json.dumps({"run_id": args.run, "cancelled": True})
        if args.json
        else f"run {args.run} was asked to stop"
    )
    return DONE


def _show_run(args: argparse.Namespace) -> int:
    from evalcore.store import run_folder

    folder = run_folder.find_run(args.run, _load_operator_settings(args).run_roots)
    summary = folder.read_summary()
    if summary is None:
        raise UsageError(f"run {args.run} has no result yet; it is {folder.current_state()}")
    _print_summary(summary, args.json)
    return DONE if summary.is_complete else INCOMPLETE


def _score_predictions(args: argparse.Namespace) -> int:
    from evalcore.runner import predictions

    options = dict(_parse_key_value(text, "--option") for text in args.option)
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
        _load_operator_settings(args),
    )
    print(json.dumps(counts) if args.json else f"{args.out}: {counts}")
    return DONE


def _index_rebuild(args: argparse.Namespace) -> int:
    from evalcore.records import to_plain
    from evalcore.store.index import open_index
    from evalcore.store.repair import QuarantinedLine, repair_runs
    from evalcore.views import runs

    settings = _load_operator_settings(args)
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
            repair.as_text() if isinstance(repair, QuarantinedLine) else f"not repaired: {repair}"
        )
    for run_id in sorted({line.run_id for line in set_aside if line.resumable}):
        print(f"`evalcore resume {run_id}` repeats what was set aside")
    for run_id, problem in damaged.items():
        print(f"skipped and left unchanged: {run_id}: {problem}")
    print(f"{format_count(count, 'run')} in the index")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
