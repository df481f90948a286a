"""What the harness of SWE-bench writes: `MODEL.RUN.json`, the report of a run, and
`logs/run_evaluation/RUN/MODEL/INSTANCE/report.json` with the predictions. Either is enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from evalcore.errors import DatasetError
from evalcore.exchange.logs.files import find_file, read_head, read_json_file
from evalcore.exchange.logs.records import (
    FieldReader,
    FrameworkLog,
    LoggedSample,
    LoggedTask,
    clean_model_name,
    convert_text,
    convert_time,
)
from evalcore.i18n import Note
from evalcore.intake.json_text import read_rows
from evalcore.store.run_folder import Flag

FRAMEWORK = "swebench"
_TASK = "swe-bench"
_METRIC = "resolved"
_REPORT = "report.json"
_METADATA = "run.json"  # of a run: its data set and when it began
_NOT_APPLIED = "Patch Apply Failed"
_TIMED_OUT = "Test timed out after"
_EVALUATIONS = "run_evaluation"
_LOG_LIMIT = 4 << 20  # bytes at the end of a log that are searched
_NAMES_LIMIT = 40  # tests that an explanation names
#: Lists of a report of a run, in the order in which they decide; "" is for all others.
_LISTS = ("resolved_ids", "empty_patch_ids", "unresolved_ids", "error_ids", "incomplete_ids")


def is_swebench_report(path: Path, head: bytes) -> bool:
    """Whether a file is a report of a run or of an instance, by its name and first bytes."""
    if path.name == _REPORT:
        return b'"patch_successfully_applied"' in head and b'"resolved"' in head
    return path.suffix == ".json" and b'"resolved_instances"' in head


def locate_swebench_run(path: Path) -> Path:
    """The report of the run that a report is of; without one the folder of its model."""
    if path.name != _REPORT:
        return path
    model = path.parent.parent
    run = model.parent
    root = run.parent.parent.parent if run.parent.name == _EVALUATIONS else model
    summary = root / f"{model.name}.{run.name}.json"
    return summary if summary.is_file() else model


def read_swebench_run(path: Path) -> FrameworkLog:
    """Read the report of a run with what lies beside it, or the folder of a model below
    `run_evaluation`. Raises DatasetError naming file, line and field."""
    run = _Run(path)
    metadata = run.metadata
    return FrameworkLog(
        framework=FRAMEWORK,
        version="",
        model=clean_model_name(run.model),
        created_at=convert_time(metadata.get("created_at")),
        tasks=(run.build_task(),),
        facts={name: convert_text(metadata.get(name)) for name in ("dataset", "split")},
    )


class _Run:
    """The files of one run of one model."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.summary = FieldReader(path, read_json_file(path)) if path.is_file() else None
        self.folder = self._find_folder()

    def _find_folder(self) -> Path | None:
        """The folder with the instances' reports."""
        if self.summary is None:
            return self.path
        name = self.path.name.removesuffix(".json")
        root = self.path.parent / "logs" / _EVALUATIONS
        for run in sorted(root.iterdir()) if root.is_dir() else ():
            model = name.removesuffix(f".{run.name}")
            if model != name and (run / model).is_dir():
                return run / model
        return None

    @cached_property
    def model(self) -> str:
        """As the predictions call it, else as files are named after it."""
        if self.predictions:
            named = next(iter(self.predictions.values())).values.get("model_name_or_path")
            return convert_text(named)
        if self.folder is None:
            return self.path.name.removesuffix(".json").rpartition(".")[0].replace("__", "/")
        folder = self.folder.parent if self.folder.name == "logs" else self.folder
        return folder.name.replace("__", "/")

    @property
    def metadata(self) -> Mapping[str, Any]:
        file = None if self.folder is None else find_file(self.folder.parent, _METADATA)
        return {} if file is None else FieldReader(file, read_json_file(file)).values

    @cached_property
    def predictions(self) -> dict[str, FieldReader]:
        """By instance what was predicted, where a file near the report holds it."""
        if self.folder is None:
            name, root = self.path.name.removesuffix(".json"), self.path.parent
        else:
            name = self.folder.name
            ancestors = self.folder.parents
            has_run = len(ancestors) > 3 and ancestors[1].name == _EVALUATIONS
            root = ancestors[3] if has_run else ancestors[0]
        for file in sorted((*root.glob("*.jsonl"), *root.glob("*.json"))):
            if file in (self.path, root / _METADATA) or file.is_symlink():
                continue
            if b'"model_patch"' in read_head(file):
                rows = {row.read_text("instance_id"): row for row in _iter_predictions(file)}
                first = next(iter(rows.values()), None)
                if first is None:
                    continue
                model = convert_text(first.values.get("model_name_or_path")).replace("/", "__")
                if name in (model, "logs") or name.startswith(f"{model}."):
                    return rows
        return {}

    def build_task(self) -> LoggedTask:
        """The instances of the run with what became of each."""
        outcomes = self._list_outcomes()
        samples = [self._build_sample(name, outcomes[name]) for name in sorted(outcomes)]
        flags = [Flag("log_no_version"), Flag("log_no_questions"), Flag("log_no_times")]
        claimed: dict[str, float] = {}
        if self.summary is None:
            flags += [Flag("log_no_declared")]
        else:
            total = _read_count(self.summary, "total_instances")
            resolved = _read_count(self.summary, "resolved_instances")
            if not total or resolved > total:
                raise self.summary.fail("total_instances", Note("log_number", low=1, high="∞"))
            claimed[_METRIC] = resolved / total
            if total != len(samples):
                detail = Note("log_counts", stated=total, counted=len(samples))
                flags.append(Flag("counts_differ", detail=detail))
        dataset = convert_text(self.metadata.get("dataset"))
        return LoggedTask(
            name=_TASK,
            metric=_METRIC,
            claimed=claimed,
            samples=tuple(samples),
            options={"dataset": dataset} if dataset else {},
            full=self.summary is not None,
            flags=tuple(flags),
        )

    def _list_outcomes(self) -> dict[str, str]:
        """By instance the list of the run's report that it is in; "" without such a report."""
        if self.summary is None:
            reports = sorted(self.path.glob(f"*/{_REPORT}"))
            return {report.parent.name: "" for report in reports} | dict.fromkeys(
                self.predictions, ""
            )
        listed: dict[str, str] = {}
        for field in _LISTS:
            seen: set[str] = set()
            for number, name in enumerate(self.summary.find_list(field)):
                if not isinstance(name, str) or not name:
                    problem = Note("log_field_kind", kind="text")
                    raise self.summary.fail(f"{field}[{number}]", problem)
                if name in seen:
                    problem = Note("log_name_twice", name=name[:80])
                    raise self.summary.fail(f"{field}[{number}]", problem)
                seen.add(name)
                listed.setdefault(name, field)
        return listed

    def _build_sample(self, name: str, listed: str) -> LoggedSample:
        """An instance; errors of the harness leave it without a score, and what the model's own
        patch is to blame for counts 0."""
        patch = self._find_patch(name)
        report = self._read_report(name)
        score, error, explanation = _judge_instance(report, listed, self._read_log(name), patch)
        if self.summary is not None:
            reasons = self.summary.find_object("failure_reasons")
            explanation = "\n".join(filter(None, [explanation, convert_text(reasons.get(name))]))
        return LoggedSample(
            id=name,
            input={"instance_id": name},
            answer=patch or "",
            scores={} if score is None else {_METRIC: score},
            error=error,
            explanation=explanation,
        )

    def _find_patch(self, name: str) -> str | None:
        if name in self.predictions:
            return convert_text(self.predictions[name].values.get("model_patch"))
        folder = self._find_instance(name)
        file = None if folder is None else find_file(folder, "patch.diff")
        if file is None:
            return None
        with file.open("rb") as content:
            return content.read(_LOG_LIMIT).decode("utf-8", "replace")

    def _find_instance(self, name: str) -> Path | None:
        if self.folder is None or name in (".", "..") or {"/", "\\", "\0"} & set(name):
            return None
        folder = self.folder / name
        try:
            return None if folder.is_symlink() else folder
        except OSError:  # a name longer than a file's may be
            return None

    def _read_report(self, name: str) -> Mapping[str, Any] | None:
        folder = self._find_instance(name)
        file = None if folder is None else find_file(folder, _REPORT)
        if file is None or not file.stat().st_size:  # the harness was ended while it wrote
            return None
        return FieldReader(file, read_json_file(file)).read_object(name).values

    def _read_log(self, name: str) -> str:
        folder = self._find_instance(name)
        file = None if folder is None else find_file(folder, "run_instance.log")
        if file is None:
            return ""
        with file.open("rb") as log:
            log.seek(max(0, file.stat().st_size - _LOG_LIMIT))
            return log.read(_LOG_LIMIT).decode("utf-8", "replace")


def _read_count(report: FieldReader, field: str) -> int:
    count = report.find_count(field)
    if count is None or count < 0:
        raise report.fail(field, Note("log_field_kind", kind="number"))
    return count


def _judge_instance(
    report: Mapping[str, Any] | None, listed: str, log: str, patch: str | None
) -> tuple[float | None, str, str]:
    """Score, error and explanation of an instance."""
    if listed == "resolved_ids":
        return 1.0, "", _explain_tests(report)
    if listed == "empty_patch_ids" or (not listed and report is None and patch == ""):
        return 0.0, "", "the patch is empty"
    if report is not None and report.get("infra_failure") is True:
        return None, convert_text(report.get("infra_failure_reason")) or "infrastructure", ""
    if report is not None and isinstance(report.get("resolved"), bool):
        return float(report["resolved"]), "", _explain_tests(report)
    if listed == "unresolved_ids":
        return 0.0, "", ""
    if listed == "incomplete_ids":
        return None, "", ""
    reasons = (words for words in (_NOT_APPLIED, _TIMED_OUT) if words in log)
    reason = next(reasons, "")
    return (0.0, "", reason) if reason else (None, "the run has no report of it", "")


def _explain_tests(report: Mapping[str, Any] | None) -> str:
    """The tests that had to pass and did not, by kind."""
    status = report.get("tests_status") if report else None
    lines = []
    for kind, tests in status.items() if isinstance(status, Mapping) else ():
        failed = tests.get("failure") if isinstance(tests, Mapping) else None
        if isinstance(failed, list) and failed and not str(kind).endswith("TO_FAIL"):
            lines.append(f"{kind}: " + ", ".join(map(convert_text, failed[:_NAMES_LIMIT])))
    return "\n".join(lines)


def _iter_predictions(file: Path) -> Iterator[FieldReader]:
    """The rows of a file of predictions; raises DatasetError for an instance that has two."""
    if file.suffix == ".jsonl":
        numbered = [(number, row) for number, row in read_rows(file, drop=True)]
    else:
        content = read_json_file(file)
        rows = content.values() if isinstance(content, Mapping) else content
        if not isinstance(rows, list) and not isinstance(content, Mapping):
            raise DatasetError(file, None, "", Note("log_field_kind", kind="list"))
        numbered = list(enumerate(rows, 1))
    seen: dict[str, int] = {}
    for number, values in numbered:
        row = FieldReader(file, values, number)
        name = row.read_text("instance_id")
        if seen.setdefault(name, number) != number:
            raise row.fail("instance_id", Note("log_twice", name=name[:80], line=seen[name]))
        yield row
