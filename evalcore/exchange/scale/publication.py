"""What SCALE published as a publication: its claims with the verdict of every case, and no text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from evalcore.errors import UsageError
from evalcore.exchange.scale.forms import (
    BOARDS,
    CAPABILITIES,
    WEIGHTS,
    CaseReport,
    Indicator,
    ScaleDataFolder,
    ScaleModel,
    digest_of,
    metric_of,
    read_report,
)
from evalcore.exchange.scale.month_scan import parse_indicator_scores
from evalcore.i18n import Note
from evalcore.plain_text import to_single_line
from evalcore.records import ProgressCallback, content_hash
from evalcore.store import published

KEY = "scale"
_FOLDERS = (Path(), Path("data"), Path("public/data"), Path("leaderboard/public/data"))
_TYPES: dict[str, published.EntryType] = {
    "Chat": "chat",
    "Chat(Thinking)": "thinking",
    "Application": "application",
}


_PUBLISHER = published.Publisher(
    format=1,
    key=KEY,
    title="SCALE",
    suite="sql",
    source="https://github.com/actiontech/sql-llm-benchmark",
    revision="",
    licence="MIT",
    date="",
    columns={key: dict(weights) for key, weights in WEIGHTS.items()},
    members=CAPABILITIES,
)


def find_scale_folder(root: Path) -> Path | None:
    """The folder of SCALE's data in a checkout of its repository, or the folder itself."""
    folders = (root / folder for folder in _FOLDERS)
    return next((folder for folder in folders if (folder / BOARDS).is_dir()), None)


def build_publication(
    root: Path, revision: str, date: str, progress: ProgressCallback
) -> published.Publication:
    """Read a checkout. Raises UsageError for what is none and DatasetError, naming file and field,
    for what cannot be understood."""
    folder = find_scale_folder(root)
    if folder is None:
        raise UsageError(Note("scale_no_checkout", path=root, folder=BOARDS))
    tree, lists = ScaleDataFolder(folder), _CaseLists()
    entries: list[published.PublishedEntry] = []
    for month in tree.months:
        progress(Note("reading", name=month))
        seen: set[str] = set()
        for model in tree.read_models(month):
            if model.id.casefold() not in seen:
                seen.add(model.id.casefold())
                entries.append(_build_entry(tree, month, model, lists))
    publisher = msgspec.structs.replace(_PUBLISHER, revision=revision, date=date or tree.months[-1])
    return published.Publication(publisher, tuple(lists.lists), tuple(entries))


class _CaseLists:
    """Every list of cases once, and every report decoded once: most are copies of earlier ones."""

    def __init__(self) -> None:
        self.lists: list[published.CaseList] = []
        self._numbers: dict[str, int] = {}
        self._reports: dict[str, dict[str, published.MetricReport]] = {}

    def read_metrics(self, path: Path) -> Mapping[str, published.MetricReport]:
        digest = digest_of(path)
        if digest not in self._reports:
            self._reports[digest] = self._build_reports(read_report(path))
        return self._reports[digest]

    def _build_reports(self, report: CaseReport) -> dict[str, published.MetricReport]:
        reports: dict[str, published.MetricReport] = {}
        for indicator in report.indicators:
            metric = metric_of(indicator.indicator_name)
            if metric in reports:
                first = reports[metric]
                reports[metric] = msgspec.structs.replace(first, copies=first.copies + 1)
            else:
                reports[metric] = self._build_report(indicator)
        return reports

    def _build_report(self, indicator: Indicator) -> published.MetricReport:
        counted: Counter[str] = Counter()
        ids, verdicts = [], []
        for row in indicator.case_datas:
            counted[row.id] += 1
            ids.append(row.id if counted[row.id] == 1 else f"{row.id}#{counted[row.id]}")
            decided = published.PASSED if row.passed else published.FAILED
            verdicts.append(decided if row.has_verdict else published.UNDECIDED)
        cases = published.CaseList(
            tuple(ids), tuple(float(row.case_weight) for row in indicator.case_datas)
        )
        number = self._numbers.setdefault(content_hash(cases), len(self.lists))
        if number == len(self.lists):
            self.lists.append(cases)
        return published.MetricReport(float(indicator.indicator_weight), number, "".join(verdicts))


def _build_entry(
    tree: ScaleDataFolder, month: str, model: ScaleModel, lists: _CaseLists
) -> published.PublishedEntry:
    scores = {}
    for capability in CAPABILITIES:
        if (claimed := model.scores.get(capability)) is None:
            continue
        report = tree.find_report(month, capability, model.id)
        scores[capability] = published.ClaimedScore(
            score=claimed.ability_score,
            metrics=parse_indicator_scores(claimed),
            reports=dict(lists.read_metrics(report)) if report else {},
        )
    return published.PublishedEntry(
        month=month,
        id=to_single_line(model.id, 120),
        name=to_single_line(model.display or model.name or model.id, 120),
        organization=to_single_line(model.organization, 120),
        type=_TYPES.get(model.type, ""),
        released=published.parse_day(model.releaseDate),
        scores=scores,
    )
