"""`evalcore run`: from flags and a configuration file to a run, worked on in this process."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.access.secrets import scrub_secrets
from evalcore.errors import UsageError

if TYPE_CHECKING:
    from evalcore.results import RunSummary
    from evalcore.runner.plan import Plan
    from evalcore.runner.run_request import RunRequest
    from evalcore.settings import Settings

Verb = Callable[[argparse.Namespace], int]
DONE, INCOMPLETE = 0, 3
_TARGET_HELP = (
    "target to evaluate, for example baseline:sqlglot, openai:MODEL, hf:PATH (a local model), "
    "app:sqlflash or app:SERVICE.yaml (an HTTP service described by a file); "
    "`evalcore list targets` lists the kinds"
)


def add_run_verb(verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "run benchmarks on a target"
    sub = verbs.add_parser("run", help=about, description=about)
    sub.add_argument("--target", metavar="T", help=_TARGET_HELP)
    add_run_flags(sub)
    add_common(sub, _run_benchmarks)


def add_run_flags(sub: argparse.ArgumentParser) -> None:
    """Add the flags that say what is asked of a target, and how much."""
    sub.add_argument(
        "--benchmarks",
        nargs="+",
        metavar="B",
        help="benchmarks to run; `evalcore list benchmarks` lists them; all: the four of slm-evals",
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


def add_cluster_flags(sub: argparse.ArgumentParser) -> None:
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
    sub.add_argument(
        "--ray-workers",
        type=int,
        metavar="N",
        help="workers on the cluster (default: one per node, or per GPU for a local model)",
    )
    sub.add_argument(
        "--node-concurrency",
        type=int,
        metavar="N",
        help="at most N concurrent requests per node (default: 0, only --concurrency limits)",
    )
    sub.add_argument(
        "--node-requests-per-minute",
        type=float,
        metavar="N",
        help="at most N requests per minute and node (default: 0, no limit of its own)",
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
            raise UsageError(f"{name} must be between 0 and a million, got {value}")
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
    from evalcore.access.secrets import Secrets
    from evalcore.runner.in_process import plan_checked_run

    def say(line: str) -> None:
        print(f"evalcore: {line}", file=sys.stderr)

    def say_begun(line: str) -> None:
        if sys.stderr.isatty():
            say(line)

    return plan_checked_run(request, settings, Secrets(), warn=say, progress=say_begun)


def print_estimate(request: RunRequest, args: argparse.Namespace, settings: Settings) -> None:
    """Print what a run would take."""
    from evalcore.access.secrets import Secrets
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
        "metrics": tuple(args.metrics),
        "dataset": args.dataset,
        "seed": args.seed,
        "epochs": args.epochs,
        "options": _benchmark_options(args.option),
        "concurrency": args.concurrency,
        "budget": args.budget,
        "executor": "ray" if getattr(args, "executor", None) == "ray" else None,
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
    options = dict(parse_key_value(text, "--target-option") for text in texts)
    return options | ({"batch_size": batch_size} if batch_size else {})


def parse_key_value(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{flag} must have the form KEY=VALUE, got {scrub_secrets(text)!r}")
    return name, value


def _benchmark_options(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    options: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, value = parse_key_value(text, "--option")
        benchmark, dot, key = name.partition(".")
        if not dot or not key:
            raise UsageError(f"--option {text!r} must have the form BENCHMARK.KEY=VALUE")
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
    return DONE if summary.is_complete else INCOMPLETE


def work_on(args: argparse.Namespace, run_id: str, *, generate: bool = True) -> RunSummary:
    """Work on a run in this process; show progress if stderr is a terminal."""
    from evalcore.access.secrets import Secrets
    from evalcore.exchange.progress_bar import draw_run_progress
    from evalcore.runner.in_process import work_on_run_here

    settings = load_operator_settings(args)
    is_watched = not args.json and sys.stderr.isatty()
    with draw_run_progress(run_id) if is_watched else nullcontext() as watch:
        return work_on_run_here(
            run_id,
            settings,
            Secrets(),
            generate=generate,
            executor=getattr(args, "executor", None) or "",
            on_tick=watch,
        )


def print_summary(summary: RunSummary, as_json: bool) -> None:
    from evalcore.exchange import report_data

    if as_json:
        print(json.dumps(report_data.summary_to_dict(summary), ensure_ascii=False))
    else:
        print(report_data.format_run_summary(summary))
