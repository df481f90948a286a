"""The case reports of a month at a glance: what was carried over, which cases and prompts are
current."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path

from evalcore.exchange.scale import forms
from evalcore.intake.json_text import read_rows
from evalcore.records import Record, content_hash
from evalcore.scoring.claims import Claim, ClaimSum

# What a case report gives, and what is claimed of it.


def sum_indicator(indicator: forms.Indicator) -> ClaimSum:
    return ClaimSum(
        metric=forms.metric_of(indicator.indicator_name),
        weight=indicator.indicator_weight,
        won=fsum(row.case_weight for row in indicator.case_datas if row.passed),
        total=fsum(row.case_weight for row in indicator.case_datas),
    )


def parse_claim(claimed: forms.CapabilityScore) -> Claim:
    """A published score, its indicators by metric."""
    return Claim(claimed.ability_score, parse_indicator_scores(claimed))


def parse_indicator_scores(claimed: forms.CapabilityScore) -> dict[str, float]:
    """The published indicator scores by metric."""
    return {
        forms.metric_of(o.indicator_name): o.indicator_actual_score for o in claimed.indicator_score
    }


# A case report without its texts: what flags and scores need of it, small enough to keep all.


class RowIndex(Record, frozen=True):
    """A graded row; `prompt` and `content` are hashes of what was asked and of the case."""

    id: str
    case: str
    points: int
    passed: bool
    prompt: str
    content: str
    service_error: bool
    empty: bool
    decided: bool = True


class IndicatorIndex(Record, frozen=True):
    """An indicator; `stated` are its own counts of passed and failed cases. `digest` is of its rows
    alone: its stated weight was sometimes changed and nothing else."""

    sums: ClaimSum
    stated: tuple[int, int]
    digest: str
    rows: tuple[RowIndex, ...]

    @property
    def metric(self) -> str:
        return self.sums.metric


class ReportIndex(Record, frozen=True):
    """A case report; `digest` is of its file."""

    digest: str
    indicators: tuple[IndicatorIndex, ...]

    @property
    def parts(self) -> tuple[ClaimSum, ...]:
        return tuple(indicator.sums for indicator in self.indicators)


def index_report(report: forms.CaseReport) -> ReportIndex:
    outlines = (
        IndicatorIndex(
            sums=sum_indicator(indicator),
            stated=(indicator.case_pass_count, indicator.case_wrong_count),
            digest=content_hash(indicator.case_datas),
            rows=tuple(map(_index_row, indicator.case_datas)),
        )
        for indicator in report.indicators
    )
    return ReportIndex(report.digest, tuple(outlines))


def _index_row(row: forms.ScaleCaseRow) -> RowIndex:
    case = forms.json_object(row.case_content) or {}
    return RowIndex(
        id=row.id,
        case=row.case_id,
        points=row.case_weight,
        passed=row.passed,
        prompt=content_hash(row.mode_question),
        # comparable with the hash of a line of the case files; a client's own notes are left out
        content=content_hash({name: case[name] for name in case if not name.startswith("_")}),
        service_error=row.service_error,
        empty=row.is_empty,
        decided=row.has_verdict,
    )


# A first pass over all months: what was carried over, and which cases and prompts are current.
# Three quarters of the published files are copies of earlier ones. A report is decoded once and
# only its outline stays in memory, so that the whole folder (hundreds of megabytes) has proved
# readable before anything is written.

_PLACES = ("datasets", "dataset")  # where the case files lie beside the public folder
_ABOVE = 4
CaseKey = tuple[str, str, str]  # capability, metric, case; or month, capability, metric


@dataclass
class MonthScan:
    """What all reports say together.

    `reports` holds the outline of every case report; `since` the first month of a report's hash
    per capability and model, and of an indicator's with its metric; `prompts` the first month of
    each wording of a case, `usage` how many of a month's reports have it; `points` the cases of a
    month per capability and metric, `holders` the reports that hold each; `reporting` how many of a
    month's reports have a metric, and with the metric "" how many there are of a capability;
    `cases` the hash of each case as it is today.
    """

    reports: dict[Path, ReportIndex] = field(default_factory=dict)
    since: dict[tuple[str, ...], str] = field(default_factory=dict)
    prompts: dict[CaseKey, dict[str, str]] = field(default_factory=dict)
    usage: dict[tuple[str, CaseKey], Counter[str]] = field(default_factory=dict)
    points: dict[CaseKey, dict[str, int]] = field(default_factory=dict)
    holders: dict[CaseKey, dict[str, list[Path]]] = field(default_factory=dict)
    reporting: Counter[CaseKey] = field(default_factory=Counter)
    cases: Mapping[CaseKey, str] = field(default_factory=dict)

    def is_common(self, month: str, capability: str, metric: str) -> bool:
        """Whether more than half of a month's reports have the metric, so that it can be part of a
        score by which all of them are ranked."""
        return 2 * self.reporting[month, capability, metric] > self.reporting[month, capability, ""]

    def declared_cases(self, month: str, capability: str, metric: str) -> dict[str, Path]:
        """The cases that a metric consists of in a month, each with a report that holds it: those
        that at least half of the reports of the metric hold. What one report has alone is no reason
        to call all others incomplete."""
        reports = self.reporting[month, capability, metric]
        holders = self.holders.get((month, capability, metric), {})
        return {case: paths[0] for case, paths in holders.items() if 2 * len(paths) >= reports}

    def find_current_prompt(self, month: str, key: CaseKey) -> str:
        """The wording of a case that came into use last, up to `month`; of one age the commonest,
        and none where that does not decide."""
        first_months = self.prompts.get(key, {})
        usage = self.usage.get((month, key), Counter())
        ranked = sorted(
            ((first_months[text], usage[text]), text)
            for text in first_months
            if first_months[text] <= month
        )
        decided = len(ranked) == 1 or (ranked and ranked[-1][0] > ranked[-2][0])
        return ranked[-1][1] if decided else ""


def scan_months(tree: forms.ScaleDataFolder, until: str, cases: Path | None) -> MonthScan:
    """Look at every case report up to the month `until`; `cases` is the folder of SCALE's current
    case files, None where it is not to be had. Raises DatasetError for what cannot be read."""
    scan = MonthScan(cases=read_current_cases(cases) if cases else {})
    outlines: dict[str, ReportIndex] = {}
    for month in tree.months:
        if month <= until:
            services = {
                m.id.lower() for m in tree.read_models(month) if m.type == forms.APPLICATION
            }
            for capability, model, path in tree.iter_reports(month):
                digest = forms.digest_of(path)
                if digest not in outlines:
                    outlines[digest] = index_report(forms.read_report(path))
                scan.reports[path] = outlines[digest]
                name, outline = model.lower(), outlines[digest]
                prompted = name not in services
                _record_report(scan, month, capability, name, outline, prompted=prompted)
                _count_cases(scan, month, capability, path)
    return scan


def _record_report(
    scan: MonthScan, month: str, capability: str, model: str, report: ReportIndex, *, prompted: bool
) -> None:
    """`prompted` is False for a service, which is sent the statement and no prompt."""
    scan.since.setdefault((capability, model, report.digest), month)
    for indicator in report.indicators:
        scan.since.setdefault((capability, model, indicator.metric, indicator.digest), month)
        points = scan.points.setdefault((month, capability, indicator.metric), {})
        for row in indicator.rows:
            points.setdefault(row.id, row.points)
            if prompted:
                key = (capability, indicator.metric, row.case)
                scan.prompts.setdefault(key, {}).setdefault(row.prompt, month)
                scan.usage.setdefault((month, key), Counter())[row.prompt] += 1


def _count_cases(scan: MonthScan, month: str, capability: str, path: Path) -> None:
    """Enter a report as a holder of its cases, by the first indicator of each metric."""
    scan.reporting[month, capability, ""] += 1
    first = {each.metric: each for each in reversed(scan.reports[path].indicators)}
    for metric, indicator in first.items():
        scan.reporting[month, capability, metric] += 1
        holders = scan.holders.setdefault((month, capability, metric), {})
        for case in dict.fromkeys(row.id for row in indicator.rows):
            holders.setdefault(case, []).append(path)


def find_cases_folder(root: Path) -> Path | None:
    """The folder of SCALE's case files near its public folder, as its repository has it."""
    for folder in [root, *root.resolve().parents][:_ABOVE]:
        for name in _PLACES:
            if (folder / name / forms.CAPABILITIES[0]).is_dir():
                return folder / name
    return None


def read_current_cases(folder: Path) -> dict[CaseKey, str]:
    """The hash of the content of every current case; raises DatasetError naming a bad line."""
    case_hashes = {}
    for capability in forms.CAPABILITIES:
        for path in sorted((folder / capability).glob(f"*{forms.SUFFIX}")):
            for _, row in read_rows(path):
                key = (capability, forms.metric_of(path.name), str(row.get("case_id", "")))
                case_hashes[key] = content_hash(row)
    return case_hashes


def find_outdated_cases(scan: MonthScan, capability: str, indicator: IndicatorIndex) -> set[str]:
    """The cases of an indicator whose content is another one today, or that are gone."""
    if not any(key[:2] == (capability, indicator.metric) for key in scan.cases):
        return set()
    return {
        row.case
        for row in indicator.rows
        if scan.cases.get((capability, indicator.metric, row.case)) != row.content
    }
