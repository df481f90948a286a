"""Result folders of `bfcl-eval`: `result/MODEL/**/BFCL_v4_CATEGORY_result.json` with the answers,
and `score/MODEL/**/BFCL_v4_CATEGORY_score.json` with the counts and the wrong answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalcore.exchange.bfcl.results import (
    NAME_PATTERN,
    Mode,
    has_native_calls,
    parse_prediction,
    parse_results_version,
)
from evalcore.exchange.logs.records import (
    FieldReader,
    FrameworkLog,
    LoggedSample,
    LoggedTask,
    clean_model_name,
    convert_text,
)
from evalcore.i18n import Note
from evalcore.intake.json_text import read_rows
from evalcore.records import Usage
from evalcore.store.run_folder import Flag

FRAMEWORK = "bfcl_eval"
_METRIC = "accuracy"
_RESULTS, _SCORES = "result", "score"


def is_bfcl_file(path: Path, head: bytes) -> bool:
    """Whether a file has the answers or scores of a category, by its name."""
    return NAME_PATTERN.fullmatch(path.name) is not None


def locate_bfcl_model(path: Path) -> Path:
    """The folder of the model that a file is of, that with the answers where there is one."""
    for folder in path.parents:
        if folder.parent.name == _RESULTS:
            return folder
        if folder.parent.name == _SCORES:
            answers = folder.parent.with_name(_RESULTS) / folder.name
            return answers if answers.is_dir() else folder
    return path.parent


def read_bfcl_model(folder: Path) -> FrameworkLog:
    """Read a model's answers with the verdicts of the score files. Raises DatasetError naming file,
    line and field."""
    answers = {} if folder.parent.name == _SCORES else _find_files(folder, _RESULTS)
    root = (
        folder if folder.parent.name == _SCORES else folder.parent.with_name(_SCORES) / folder.name
    )
    scores = _find_files(root, _SCORES) if root.is_dir() else {}
    files = [*answers.values(), *scores.values()]
    mode: Mode = "fc" if any(map(has_native_calls, answers.values())) else "prompt"
    tasks = [
        _read_category(category, answers.get(category), scores.get(category), mode)
        for category in dict.fromkeys((*answers, *scores))
    ]
    return FrameworkLog(
        framework=FRAMEWORK,
        version=max(map(parse_results_version, files), default=""),
        model=clean_model_name(folder.name),
        created_at="",
        tasks=tuple(tasks),
        facts={"mode": mode},
    )


def _find_files(folder: Path, kind: str) -> dict[str, Path]:
    """The files of a kind by category. Raises DatasetError where a category has two."""
    files: dict[str, Path] = {}
    for file in sorted(folder.rglob(f"BFCL_v*_{kind}.json")):
        match = NAME_PATTERN.fullmatch(file.name)
        if match is None or match["kind"] != kind:
            continue
        if match["category"] in files:
            problem = Note("log_same_category", path=files[match["category"]])
            raise FieldReader(file, {}).fail("", problem)
        files[match["category"]] = file
    return files


def _read_category(
    category: str, answers: Path | None, scores: Path | None, mode: Mode
) -> LoggedTask:
    claimed, wrong = ({}, {}) if scores is None else _read_scores(scores)
    samples = [] if answers is None else list(_iter_samples(answers, category, mode, wrong, scores))
    flags = []
    if samples:
        flags += [Flag("log_no_questions"), Flag("not_rescored")]
    if samples and scores is not None:
        stated = _read_total(scores)
        if stated != len(samples):
            detail = Note("log_counts", stated=stated, counted=len(samples))
            flags.append(Flag("counts_differ", detail=detail))
    known = {sample.id for sample in samples}
    for name, row in wrong.items() if samples else ():
        if name not in known:
            raise row.fail("id", Note("log_no_answer", name=name[:80]))
    return LoggedTask(
        name=category,
        metric=_METRIC if claimed else "",
        claimed=claimed,
        samples=tuple(samples) if claimed else (),
        options={"mode": mode} if samples else {},
        left_out=() if claimed else (f"no BFCL_*_{category}_score.json",),
        flags=tuple(flags),
    )


def _read_header(file: Path) -> FieldReader:
    line, header = next(read_rows(file, drop=True), (1, {}))
    return FieldReader(file, header, line)


def _read_total(file: Path) -> int:
    header = _read_header(file)
    right, total = header.find_count("correct_count"), header.find_count("total_count")
    if right is None or right < 0:
        raise header.fail("correct_count", Note("log_field_kind", kind="number"))
    if not total or total < right:
        raise header.fail("total_count", Note("log_number", low=max(1, right), high="∞"))
    return total


def _read_scores(file: Path) -> tuple[dict[str, float], dict[str, FieldReader]]:
    """The share of right answers, and the wrong ones by id."""
    total, header = _read_total(file), _read_header(file)
    wrong: dict[str, FieldReader] = {}
    rows = read_rows(file, drop=True)
    next(rows)
    for number, values in rows:
        row = FieldReader(file, values, number)
        name = row.read_text("id")
        if name in wrong:
            raise row.fail("id", Note("log_name_twice", name=name[:80]))
        wrong[name] = row
    return {_METRIC: (header.find_count("correct_count") or 0) / total}, wrong


def _iter_samples(
    file: Path, category: str, mode: Mode, wrong: Mapping[str, FieldReader], scores: Path | None
) -> Iterator[LoggedSample]:
    """Every answer; upstream lists the wrong ones, so that each other one was right."""
    seen: dict[str, int] = {}
    for number, values in read_rows(file, drop=True):
        answer = parse_prediction(file, number, values, category, mode)
        if seen.setdefault(answer.id, number) != number:
            problem = Note("log_twice", name=answer.id[:80], line=seen[answer.id])
            raise FieldReader(file, values, number).fail("id", problem)
        failed = bool(answer.error)
        scored = scores is not None and not failed
        yield LoggedSample(
            id=answer.id,
            input={"category": category, "entry": answer.id},
            answer=answer.answer_text,
            scores={_METRIC: float(answer.id not in wrong)} if scored else {},
            error=answer.error,
            explanation=_explain(wrong[answer.id].values) if answer.id in wrong else "",
            usage=Usage(input_tokens=answer.input_tokens, output_tokens=answer.output_tokens),
            latency=answer.latency,
        )


def _explain(row: Mapping[str, Any]) -> str:
    """Why upstream's checker calls an answer wrong, and what it accepts."""
    errors = row.get("error")
    lines = [convert_text(row.get("error_type"))]
    lines += map(convert_text, errors if isinstance(errors, list) else [errors])
    accepted = row.get("possible_answer")
    lines += [f"possible answer: {convert_text(accepted)}"] if accepted else []
    return "\n".join(filter(None, lines))
