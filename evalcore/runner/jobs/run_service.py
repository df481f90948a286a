"""The tasks about runs: plan, estimate, test a connection; no page may import what they need."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec

from evalcore.access.secrets import Secrets
from evalcore.benchmarks.base import Benchmark
from evalcore.errors import TargetFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import GenerationRequest, Message, Sampling, TargetSpec, Usage
from evalcore.runner import local_models, preflight, request_policy
from evalcore.runner.gold import INTERACTIVE_TIMEOUT, require_gold
from evalcore.runner.jobs import TaskContext
from evalcore.runner.plan import Plan, check_targets, create_benchmark, create_folder, plan_run
from evalcore.runner.run_request import ConnectionReport, Estimate, RunRequest
from evalcore.sandbox.program import SandboxSupport, detect_sandbox
from evalcore.settings import Settings
from evalcore.store.headers import parse_comparison_note
from evalcore.store.index import load_headers
from evalcore.targets import pricing, registry
from evalcore.targets.application import Application
from evalcore.targets.base import ServedModel, Target
from evalcore.targets.endpoint.models import list_served_models

_POLL_TIMEOUT = 60.0  # seconds that a connection test waits for a task of a service
_GREEDY = ("0", "0.0")
_WITHOUT_TOKENS = ("baseline", "control", "application")


def make_plan(context: TaskContext, request: RunRequest) -> str:
    """Create the run folder; returns the run id. The target's name and options are checked too."""
    settings, secrets = context.settings, context.secrets
    request_policy.verify_request(request, settings, secrets)
    run_plan = plan_run(request, settings)
    check_targets(run_plan, settings, secrets)
    lines = require_gold(run_plan.gold, run_plan.samples, settings, INTERACTIVE_TIMEOUT)
    # the note of a pair is read by machines
    if lines and parse_comparison_note(run_plan.spec.note) is None:
        note = "\n".join(filter(None, [run_plan.spec.note, *lines]))
        run_plan = msgspec.structs.replace(
            run_plan, spec=msgspec.structs.replace(run_plan.spec, note=note)
        )
    return create_folder(run_plan, settings).run_id


def estimate_run(context: TaskContext, request: RunRequest) -> Estimate:
    """What a run would take, from its prompts and from earlier runs of the same columns."""
    settings, secrets = context.settings, context.secrets
    request_policy.check_request(request, settings, secrets)
    return estimate_plan(plan_run(request, settings), settings, secrets)


def estimate_plan(run_plan: Plan, settings: Settings, secrets: Secrets) -> Estimate:
    """As `estimate_run`, of a run that is planned."""
    run = run_plan.spec
    target = registry.create_target(run.target, settings, secrets)
    requests = characters = 0
    for spec in run_plan.spec.benchmarks:
        benchmark = create_benchmark(spec.key, spec.options)
        shares = type(benchmark).generation_key is not Benchmark.generation_key
        seen: set[str] = set()
        for sample in run_plan.samples[spec.key]:
            if shares:
                if (key := benchmark.generation_key(sample)) in seen:
                    continue
                seen.add(key)
            requests += run.epochs
            characters += sum(len(message.content) for message in benchmark.messages(sample))
    notes = _describe_votes(run_plan, run.epochs)
    tokens_in = characters // 4 * run.epochs
    tokens_out, seconds, basis = _scale_from_history(run_plan.spec.target, requests, settings)
    notes.append(basis)
    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    if target.info.kind in _WITHOUT_TOKENS:
        usage = Usage(input_tokens=0, output_tokens=0)
    else:
        notes.append(Note("estimate_input"))
        if run.epochs > 1 and str(run.target.options.get("temperature")) in _GREEDY:
            notes.append(Note("estimate_greedy"))
    price = pricing.build_target_pricer(target.info, settings)
    cost = price(usage).amount
    least = price(msgspec.structs.replace(usage, output_tokens=usage.output_tokens or 0)).amount
    if cost is None and least:
        notes.append(Note("estimate_least", amount=f"{least:.2g}"))
    if run.budget and (least or 0.0) > run.budget:
        notes.append(Note("estimate_over_budget", amount=f"{run.budget:g}"))
    return Estimate(
        samples=sum(len(group) for group in run_plan.samples.values()),
        requests=requests,
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens,
        seconds=seconds,
        cost=cost,
        notes=tuple(notes),
    )


def _describe_votes(run_plan: Plan, epochs: int) -> list[str]:
    """How often a panel may be asked, or how many cases stay open without one."""
    open_cases = votes = 0
    for spec in run_plan.spec.benchmarks:
        benchmark = create_benchmark(spec.key, spec.options)
        judgeable = sum(map(benchmark.may_be_judged, run_plan.samples[spec.key]))
        open_cases += judgeable
        votes += judgeable * len(spec.judges)
    if not open_cases:
        return []
    if votes:
        return [Note("estimate_votes", count=votes * epochs)]
    return [Note("estimate_no_panel", count=open_cases)]


def _scale_from_history(
    spec: TargetSpec, requests: int, settings: Settings
) -> tuple[int | None, float | None, str]:
    """Output tokens and seconds, scaled from the newest run of the same target."""
    for header in load_headers(settings):
        totals = header.totals
        if header.identity != spec.identity or not totals.requests or header.state != "done":
            continue
        share = requests / totals.requests
        tokens = None if totals.output_tokens is None else round(totals.output_tokens * share)
        return tokens, totals.wall * share or None, Note("estimate_scaled", run=header.run_id)
    return None, None, Note("estimate_unknown")


def test_connection(context: TaskContext, request: RunRequest) -> ConnectionReport:
    """Probe an endpoint, or send one tiny request to another target; a local model is looked at
    without being loaded."""
    settings, secrets = context.settings, context.secrets
    request_policy.verify_request(request, settings, secrets)
    spec = TargetSpec(key=request.target, options=request.target_options)
    target = registry.create_target(spec, settings, secrets)
    if target.info.kind == "control":
        return ConnectionReport(ok=True, message=Note("control_connection"))
    if target.info.kind == "baseline":
        return ConnectionReport(ok=True, message=Note("baseline_connection"))
    if target.info.kind == "local":  # loading takes minutes and the memory of a run at work
        return local_models.report_local_model(request.target, request.target_options)
    if target.info.kind == "endpoint":
        report = asyncio.run(_probe_endpoint(target, spec, settings))
        preflight.store_preflight(report, settings)
        return report
    example: dict[str, Any] = {}
    if isinstance(target, Application):
        target.poll_limit, example = _POLL_TIMEOUT, target.build_example_input()
    probe = GenerationRequest(
        messages=(Message(role="user", content="Answer with the single word: ready"),),
        sampling=Sampling(max_tokens=64),
        input=example,
    )
    return asyncio.run(_test_target(target, probe))


def list_models(context: TaskContext, request: RunRequest) -> list[ServedModel]:
    """The models that the server of an endpoint lists; the target's own may be any."""
    settings, secrets = context.settings, context.secrets
    request_policy.verify_request(request, settings, secrets)
    spec = TargetSpec(key=request.target, options=request.target_options)
    try:
        return list(asyncio.run(list_served_models(spec, settings, secrets)))
    except TargetFailure as error:
        raise UsageError(error.failure.localizable_message) from None


async def _probe_endpoint(target: Target, spec: TargetSpec, settings: Settings) -> ConnectionReport:
    try:
        await target.open(lambda line: None)
        return await preflight.probe_target(target, spec, settings)
    finally:
        await target.close()


async def _test_target(target: Target, probe: GenerationRequest) -> ConnectionReport:
    try:
        await target.open(lambda line: None)
        started = time.monotonic()
        done = await target.generate(probe)
        latency = time.monotonic() - started
    except TargetFailure as error:
        if error.failure.kind == "timeout":  # of a task that a service has taken
            return ConnectionReport(ok=True, message=Note("connection_working"))
        return ConnectionReport(ok=False, message=error.failure.localizable_message)
    finally:
        await target.close()
    return ConnectionReport(
        ok=True,
        message=Note("connection_answered"),
        latency=done.latency or latency,
        model=done.model,
        reply=done.text[:200],
    )


def probe_sandbox(context: TaskContext) -> SandboxSupport:
    """Whether programs can be run here."""
    return detect_sandbox()
