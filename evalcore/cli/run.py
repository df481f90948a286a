"""`evalcore run`: from flags and a configuration file to a run, worked on in this process."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.access.secrets import Secrets, scrub_secrets
from evalcore.cli.parser import AddCommon, CommandParser, ListAction
from evalcore.cli.terminal import get_amount, get_language, say, say_always, tr, tr_note
from evalcore.errors import UsageError
from evalcore.i18n import Note

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import FrameType

    from evalcore.results import RunSummary
    from evalcore.runner.plan import Plan
    from evalcore.runner.run_request import RunConfig, RunRequest
    from evalcore.runner.summary import Tracker
    from evalcore.settings import Settings

DONE, INCOMPLETE = 0, 3
_TARGET_HELP = (
    "target to evaluate, for example baseline:sqlglot, openai:MODEL, hf:PATH (a local model), "
    "app:sqlflash or app:SERVICE.yaml (an HTTP service described by a file); "
    "`evalcore list targets` lists the kinds"
)


def add_run_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    sub = verbs.add_parser("run", help="run benchmarks on a target")
    sub.add_argument("--target", metavar="T", help=_TARGET_HELP)
    add_run_flags(sub)
    add_common(sub, _run_benchmarks)


def add_run_flags(sub: CommandParser) -> None:
    """Add the flags that say what is asked of a target, and how much."""
    sub.add_argument(
        "--benchmarks",
        nargs="+",
        action=ListAction,
        metavar="B",
        help="benchmarks to run, separated by spaces or commas; `evalcore list benchmarks` lists "
        "them; all: the four of slm-evals",
    )
    sub.add_argument(
        "--metrics",
        nargs="+",
        action=ListAction,
        metavar="M",
        help="run only these metrics, separated by spaces or commas (default: all)",
    )
    sub.add_argument(
        "--dataset", metavar="PATH|NAME", help="dataset to use (default: the bundled cases)"
    )
    sub.add_argument(
        *("--max-samples", "--limit"), type=int, metavar="N", help="at most N cases per benchmark"
    )
    sub.add_number("--seed", "S", "seed that draws the cases of --max-samples (default: 0)")
    sub.add_number("--epochs", "K", "ask every case K times (default: 1)")
    sub.add_repeatable(
        "--option",
        "BENCHMARK.KEY=VALUE",
        "set a benchmark option; also BENCHMARK.weights.METRIC=N, BENCHMARK.difficulty.N=W "
        "(the weight of a case of difficulty N), BENCHMARK.prompt=FILE and "
        "BENCHMARK.data_path=PATH; repeatable",
    )
    sub.add_repeatable(
        "--target-option", "KEY=VALUE", "set a target option, for example temperature=0; repeatable"
    )
    sub.add_argument(
        "--judge",
        action="append",
        metavar="T[?KEY=VALUE&...]",
        help="add a judge to the panel, which votes only if nothing can be executed; repeatable",
    )
    sub.add_path("--config", "FILE.yaml", "run configuration; flags override it")
    sub.add_number("--concurrency", "N", "concurrent requests (default: 0, automatic)")
    sub.add_number(
        "--budget",
        "USD",
        "stop before the run costs more; `evalcore resume RUN --budget USD` continues it",
        float,
    )
    add_cluster_flags(sub)
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


def add_cluster_flags(sub: CommandParser) -> None:
    """Add the flags that say where a run is worked on; docs/cluster.md describes the cluster."""
    sub.add_argument(
        "--executor",
        choices=("process", "ray"),
        help="work on the run in this process, or on the nodes of a Ray cluster (default: process, "
        "or as the run began)",
    )
    sub.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="the cluster, `auto` on a node of it, or `local` to start one on this machine "
        "(default: EVALBOARD_RAY_ADDRESS)",
    )
    sub.add_number(
        "--ray-workers",
        "N",
        "workers on the cluster (default: one per node, or per GPU for a local model)",
    )
    sub.add_number(
        "--node-concurrency",
        "N",
        "at most N concurrent requests per node (default: 0, only --concurrency limits)",
    )
    sub.add_number(
        "--node-requests-per-minute",
        "N",
        "at most N requests per minute and node (default: 0, no limit of its own)",
        float,
    )


#: By flag of `add_cluster_flags` the setting that it takes the place of.
_CLUSTER_SETTINGS = {
    "ray_address": "ray_address",
    "ray_workers": "ray_workers",
    "node_concurrency": "ray_node_concurrency",
    "node_requests_per_minute": "ray_node_requests_per_minute",
}


def load_operator_settings(args: argparse.Namespace) -> Settings:
    """Load the settings, which the flags of a cluster override, with the permissions of someone
    who has a shell on this machine."""
    import msgspec

    from evalcore import settings
    from evalcore.access import policy

    values = {setting: getattr(args, flag, None) for flag, setting in _CLUSTER_SETTINGS.items()}
    typed = {name: value for name, value in values.items() if value is not None}
    for name, value in typed.items():
        if not isinstance(value, str) and not 0 <= value < 10**6:
            raise UsageError(Note("cli_up_to_million", name=name, value=value))
    loaded = msgspec.structs.replace(settings.load_settings(args.data), **typed)
    return policy.restrict_settings(loaded, policy.OPERATOR)


def _run_benchmarks(args: argparse.Namespace) -> int:
    from evalcore.runner import plan

    request, slm_evals_path = build_run_request(args)
    settings = load_operator_settings(args)
    if args.estimate:
        print_estimate(request, args, settings)
        return DONE
    folder = plan.create_folder(plan_run(request, settings), settings)
    return execute_run(args, folder.run_id, slm_evals_path=slm_evals_path)


def plan_run(request: RunRequest, settings: Settings) -> Plan:
    """`plan_checked_run` with its remarks on stderr. Raises UsageError."""
    from evalcore.runner.in_process import plan_checked_run

    def say_begun(line: str) -> None:
        if sys.stderr.isatty() or get_amount() == "verbose":
            say(line)

    return plan_checked_run(request, settings, Secrets(), warn=say, progress=say_begun)


def print_estimate(request: RunRequest, args: argparse.Namespace, settings: Settings) -> None:
    """Print what a run would take."""
    from evalcore.records import to_plain
    from evalcore.runner import plan
    from evalcore.runner.jobs import run_service

    run_plan = plan.plan_run(request, settings)
    plan.check_targets(run_plan, settings, Secrets())
    estimate = run_service.estimate_plan(run_plan, settings, Secrets())
    if args.json:
        print(json.dumps(to_plain(estimate), ensure_ascii=False))
        return
    figures = {
        "cli.estimate.cases": estimate.samples,
        "cli.estimate.requests": estimate.requests,
        "cli.estimate.input_tokens": estimate.input_tokens,
        "cli.estimate.output_tokens": estimate.output_tokens,
        "cli.estimate.seconds": None if estimate.seconds is None else round(estimate.seconds),
        "cli.estimate.cost": None if estimate.cost is None else f"{estimate.cost:.4g}",
    }
    for key, figure in figures.items():
        print(f"{tr(key):<14}{tr('common.unknown') if figure is None else figure}")
    for note in estimate.notes:
        print(tr_note(note))


def build_run_request(args: argparse.Namespace) -> tuple[RunRequest, Path | None]:
    """Build the request of a `run` command; also return the folder that its config file names for
    slm-evals' files. Flags that override the file are reported on stderr."""
    from evalcore.runner import config_fields, run_request
    from evalcore.runner.run_request import RunRequest

    target, benchmarks, judges = args.target, args.benchmarks, args.judge
    if benchmarks == [config_fields.ALL]:
        benchmarks = config_fields.list_slm_benchmarks()
    flag_values = {
        "target": target,
        "benchmarks": None if benchmarks is None else tuple(benchmarks),
        "judges": None if judges is None else tuple(judges),
        "max_samples": args.max_samples,
        "target_options": _target_options(args.target_option, args.batch_size),
        "metrics": None if args.metrics is None else tuple(args.metrics),
        "dataset": args.dataset,
        "seed": args.seed,
        "epochs": args.epochs,
        "options": _benchmark_options(args.option),
        "concurrency": args.concurrency,
        "budget": args.budget,
        "executor": getattr(args, "executor", None),
    }
    flags = {name: value for name, value in flag_values.items() if value is not None}
    slm_evals_path = None
    if args.config:
        file, fields = _read_config(args)
        request, overridden = run_request.apply_flags(file, fields, flags)
        for line in overridden:
            say(f"{args.config}: {scrub_secrets(line)}")
        slm_evals_path = run_request.find_output_folder(file, fields)
    else:
        if flags.get("executor") == "process":  # the default of a request
            del flags["executor"]
        request = RunRequest(**{"target": "", "benchmarks": (), **flags})
    if not request.target:
        raise UsageError(Note("cli_no_target"))
    return request, slm_evals_path


def fill_from_config(args: argparse.Namespace) -> None:
    """Take from the file of --config how the command works where no flag says it. Raises
    UsageError."""
    from evalcore.runner.run_request import COMMAND_FIELDS

    if getattr(args, "config", None) is None:
        return
    file, fields = _read_config(args)
    amounts = {"quiet", "verbose"} if args.quiet or args.verbose else set()
    for name in set(COMMAND_FIELDS) - amounts:
        if name in fields and not getattr(args, name, None):
            setattr(args, name, getattr(file, name))


def _read_config(args: argparse.Namespace) -> tuple[RunConfig, frozenset[str]]:
    """The file of --config, read once."""
    from evalcore.runner import run_request

    if not hasattr(args, "config_content"):
        args.config_content = run_request.read_run_config(args.config)
    content: tuple[RunConfig, frozenset[str]] = args.config_content
    return content


def _target_options(texts: Sequence[str], batch_size: str | None) -> dict[str, Any]:
    options = dict(parse_key_value(text, "--target-option") for text in texts)
    return options | ({"batch_size": batch_size} if batch_size else {})


def parse_key_value(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(Note("cli_key_value", flag=flag, value=repr(scrub_secrets(text))))
    return name, value


def _benchmark_options(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    options: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, value = parse_key_value(text, "--option")
        benchmark, dot, key = name.partition(".")
        if not dot or not key:
            raise UsageError(Note("cli_option_form", value=text))
        options.setdefault(benchmark, {})[key] = value
    return options


def execute_run(
    args: argparse.Namespace,
    run_id: str,
    *,
    generate: bool = True,
    slm_evals_path: Path | None = None,
) -> int:
    """Work on a run in this process and print its result."""
    summary = work_on(args, run_id, generate=generate)
    if slm_evals_path is not None:
        from evalcore.exchange import reports
        from evalcore.store import run_folder

        settings = load_operator_settings(args)
        folder = run_folder.find_run(run_id, [settings.runs_dir])
        reports.write_slm_reports(folder, slm_evals_path, show_gated=settings.show_gated)
    print_summary(summary, args.json)
    if summary.is_complete:
        return DONE
    say(tr("cli.run.incomplete", command=format_resume_command(args, run_id, generate=generate)))
    return INCOMPLETE


class Interrupted(KeyboardInterrupt):
    """Somebody stopped a run by a signal; `command` continues it."""

    def __init__(self, command: str, signal: int) -> None:
        super().__init__(command)
        self.command, self.signal = command, signal


def format_resume_command(args: argparse.Namespace, run_id: str, *, generate: bool = True) -> str:
    """The command that continues a run, to be copied."""
    return format_command(args, "resume" if generate else "rescore", run_id)


def format_command(args: argparse.Namespace, *words: str) -> str:
    """A command on the same data folder, to be copied."""
    words = ("evalcore", *words)
    if args.data is not None:
        words += ("--data", str(args.data))
    return shlex.join(words)


def work_on(args: argparse.Namespace, run_id: str, *, generate: bool = True) -> RunSummary:
    """Work on a run in this process and show its progress. Raises Interrupted where SIGINT or
    SIGTERM stops it."""
    from evalcore.runner.client import find_own_run
    from evalcore.runner.in_process import work_on_run_here

    settings = load_operator_settings(args)
    find_own_run(run_id, settings)
    sent = [signal.SIGINT]
    try:
        with _treat_term_as_interrupt(sent), _show_progress(args, run_id) as watch:
            return work_on_run_here(
                run_id,
                settings,
                Secrets(),
                generate=generate,
                executor=getattr(args, "executor", None) or "",
                on_tick=watch,
            )
    except KeyboardInterrupt:
        command = format_resume_command(args, run_id, generate=generate)
        raise Interrupted(command, sent[0]) from None


def _show_progress(
    args: argparse.Namespace, run_id: str
) -> AbstractContextManager[Callable[[Tracker], None] | None]:
    """A bar where stderr is a terminal, lines where it is not; nothing with --quiet, and with
    --json only what --verbose asks for."""
    from evalcore.exchange import progress_bar

    if get_amount() == "quiet" or (args.json and get_amount() != "verbose"):
        return nullcontext()
    if sys.stderr.isatty() and get_amount() != "verbose":
        return progress_bar.draw_run_progress(run_id, get_language())
    return progress_bar.print_run_progress(run_id, say_always, get_language())


@contextmanager
def _treat_term_as_interrupt(sent: list[signal.Signals]) -> Iterator[None]:
    """SIGTERM ends the block as SIGINT does, so that a run stops the same way under both; `sent`
    then names it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_: int, frame: FrameType | None) -> None:
        sent[0] = signal.SIGTERM
        handler = signal.getsignal(signal.SIGINT)  # asyncio's, which lets the run end in order
        if not callable(handler):
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    before = signal.signal(signal.SIGTERM, interrupt)
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN  # a shell began this in background
    if ignored:  # SIGINT stays without effect, and asyncio has its handler
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def print_summary(summary: RunSummary, as_json: bool) -> None:
    from evalcore.exchange import report_data

    if as_json:
        print(json.dumps(report_data.summary_to_dict(summary), ensure_ascii=False))
    else:
        print(report_data.format_run_summary(summary, get_language()))
