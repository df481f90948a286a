"""A first pass over all months: what was carried over, and which cases and prompts are current.

Three quarters of the published files are copies of earlier ones. A report is decoded once and only
its outline stays in memory, so that the whole folder (hundreds of megabytes) has proved readable
before anything is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalcore.exchange.scale.capabilities import CAPABILITIES, SUFFIX, metric_of
from evalcore.exchange.scale.forms import APPLICATION
from evalcore.exchange.scale.outline import IndicatorOutline, Outline, outline
from evalcore.exchange.scale.tree import Tree, digest_of, read_report
from evalcore.intake.json_text import read_rows
from evalcore.records import content_hash

_PLACES = ("datasets", "dataset")  # where the case files lie beside the public folder
_ABOVE = 4
Key = tuple[str, str, str]  # capability, metric, case; or month, capability, metric


@dataclass
class Survey:
    """What all reports say together.

    `reports` holds the outline of every case report; `since` the first month of a report's hash
    per capability and model, and of an indicator's with its metric; `prompts` the first month of
    each wording of a case, `usage` how many of a month's reports have it; `points` the cases of a
    month per capability and metric, `holders` the reports that hold each; `reporting` how many of a
    month's reports have a metric, and with the metric "" how many there are of a capability;
    `cases` the hash of each case as it is today.
    """

    reports: dict[Path, Outline] = field(default_factory=dict)
    since: dict[tuple[str, ...], str] = field(default_factory=dict)
    prompts: dict[Key, dict[str, str]] = field(default_factory=dict)
    usage: dict[tuple[str, Key], Counter[str]] = field(default_factory=dict)
    points: dict[Key, dict[str, int]] = field(default_factory=dict)
    holders: dict[Key, dict[str, list[Path]]] = field(default_factory=dict)
    reporting: Counter[Key] = field(default_factory=Counter)
    cases: Mapping[Key, str] = field(default_factory=dict)

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

    def current_prompt(self, month: str, key: Key) -> str:
        """The wording of a case that came into use last, up to `month`; of one age the commonest,
        and none where that does not decide."""
        known = self.prompts.get(key, {})
        usage = self.usage.get((month, key), Counter())
        ranked = sorted(
            ((known[text], usage[text]), text) for text in known if known[text] <= month
        )
        decided = len(ranked) == 1 or (ranked and ranked[-1][0] > ranked[-2][0])
        return ranked[-1][1] if decided else ""


def survey(tree: Tree, until: str, cases: Path | None) -> Survey:
    """Look at every case report up to the month `until`; `cases` is the folder of SCALE's current
    case files, None where it is not to be had. Raises DatasetError for what cannot be read."""
    found = Survey(cases=read_cases(cases) if cases else {})
    outlines: dict[str, Outline] = {}
    for month in tree.months:
        if month <= until:
            services = {m.id.lower() for m in tree.models(month) if m.type == APPLICATION}
            for capability, model, path in tree.reports(month):
                digest = digest_of(path)
                if digest not in outlines:
                    outlines[digest] = outline(read_report(path))
                found.reports[path] = outlines[digest]
                prompted = model.lower() not in services
                _note(found, month, capability, model.lower(), outlines[digest], prompted=prompted)
                _count_cases(found, month, capability, path)
    return found


def _note(
    found: Survey, month: str, capability: str, model: str, report: Outline, *, prompted: bool
) -> None:
    """`prompted` is False for a service, which is sent the statement and no prompt."""
    found.since.setdefault((capability, model, report.digest), month)
    for indicator in report.indicators:
        found.since.setdefault((capability, model, indicator.metric, indicator.digest), month)
        points = found.points.setdefault((month, capability, indicator.metric), {})
        for row in indicator.rows:
            points.setdefault(row.id, row.points)
            if prompted:
                key = (capability, indicator.metric, row.case)
                found.prompts.setdefault(key, {}).setdefault(row.prompt, month)
                found.usage.setdefault((month, key), Counter())[row.prompt] += 1


def _count_cases(found: Survey, month: str, capability: str, path: Path) -> None:
    """Enter a report as a holder of its cases, by the first indicator of each metric."""
    found.reporting[month, capability, ""] += 1
    first = {each.metric: each for each in reversed(found.reports[path].indicators)}
    for metric, indicator in first.items():
        found.reporting[month, capability, metric] += 1
        holders = found.holders.setdefault((month, capability, metric), {})
        for case in dict.fromkeys(row.id for row in indicator.rows):
            holders.setdefault(case, []).append(path)


def find_cases(root: Path) -> Path | None:
    """The folder of SCALE's case files near its public folder, as its repository has it."""
    for folder in [root, *root.resolve().parents][:_ABOVE]:
        for name in _PLACES:
            if (folder / name / CAPABILITIES[0]).is_dir():
                return folder / name
    return None


def read_cases(folder: Path) -> dict[Key, str]:
    """The hash of the content of every current case; raises DatasetError naming a bad line."""
    found = {}
    for capability in CAPABILITIES:
        for path in sorted((folder / capability).glob(f"*{SUFFIX}")):
            for _, row in read_rows(path):
                key = (capability, metric_of(path.name), str(row.get("case_id", "")))
                found[key] = content_hash(row)
    return found


def outdated_cases(found: Survey, capability: str, indicator: IndicatorOutline) -> set[str]:
    """The cases of an indicator whose content is another one today, or that are gone."""
    if not any(key[:2] == (capability, indicator.metric) for key in found.cases):
        return set()
    return {
        row.case
        for row in indicator.rows
        if found.cases.get((capability, indicator.metric, row.case)) != row.content
    }
