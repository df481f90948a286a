"""A report as strangers may read it: no key, no place of this machine, nobody who started it."""

from __future__ import annotations

import msgspec

from evalcore.exchange.report_data import ERRORS, BenchmarkReport, ReportCase, RunReport
from evalcore.privacy import Redactor, redact_spec, redact_summary


def redact_report(report: RunReport, censored: Redactor) -> RunReport:
    """The report, with what a bundle leaves out of the same run left out here too."""
    spec = redact_spec(report.spec, censored)
    summary = redact_summary(report.summary, spec)
    specs = {benchmark.key: benchmark for benchmark in spec.benchmarks}
    return RunReport(
        spec=spec,
        summary=summary,
        benchmarks=tuple(
            BenchmarkReport(
                spec=specs[benchmark.spec.key],
                score=summary.benchmarks[benchmark.spec.key],
                cases=tuple(_redact_case(case, censored) for case in benchmark.cases),
            )
            for benchmark in report.benchmarks
        ),
    )


def _redact_case(case: ReportCase, censored: Redactor) -> ReportCase:
    """Where no answer was scored, the note repeats what programs said, which may name anything."""
    note = censored.redact_text if case.outcome in ERRORS else censored.redact_line
    return msgspec.structs.replace(
        case, note=note(case.note), prediction=censored.redact_line(case.prediction)
    )
