"""SCALE's published formats: its names for benchmarks and metrics, its files and their folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from evalcore.catalog import BenchmarkCard, MetricCard
from evalcore.errors import DatasetError, UsageError
from evalcore.i18n import Note
from evalcore.intake.files import read_bytes
from evalcore.intake.json_text import FILE_LIMIT
from evalcore.records import Record

# The report forms of SCALE's site as records, decoded leniently: what it published is kept.
# models-YYYY-MM.json is {"models": [...]}; a case report is a list of indicators with their
# cases. Facts: the public folder `leaderboard/public/data` of actiontech/sql-llm-benchmark, 2026.

APPLICATION = "Application"  # the `type` of a service
MOST_POINTS = 1000  # of a case or a metric
_UP_TO_1000 = msgspec.Meta(ge=0, le=MOST_POINTS)
Score = Annotated[float, msgspec.Meta(ge=0, le=100)]
Points = Annotated[int, _UP_TO_1000]
Weight = Annotated[int, _UP_TO_1000] | Annotated[float, _UP_TO_1000]
_PASS, _FAIL = "pass", "fail"  # verdicts, letter case aside
_ERROR_TEXT = "ERROR:"


class IndicatorScore(Record, frozen=True):
    indicator_name: str
    indicator_actual_score: Score


class CapabilityScore(Record, frozen=True):
    """Claimed scores, 0 to 100 with one decimal."""

    ability_score: Score
    indicator_score: tuple[IndicatorScore, ...] = ()


class ScaleModel(Record, frozen=True, omit_defaults=False):
    """A row of a monthly board. `display` has its misspelt name in the file; `parameters` is the
    summed size of the case files in bytes, whatever its name says."""

    id: str
    display: str = msgspec.field(default="", name="real_model_namne")
    name: str | None = None
    type: str = ""
    parameters: int | float | None = None
    website: str = ""
    description: str = ""
    organization: str = ""
    releaseDate: str = ""
    new_model: bool | None = None
    scores: dict[str, CapabilityScore] = {}


class MonthBoard(Record, frozen=True):
    models: tuple[ScaleModel, ...]


class ScaleAnswer(Record, frozen=True, omit_defaults=False):
    """One of the answers to a case; `model_answer` is text, or JSON that the text was parsed to."""

    case_evaluation_count: int = 1
    model_answer: Any = None


class ScaleCaseRow(Record, frozen=True, omit_defaults=False):
    """One graded case, or one rule of it. `case_weight` is its difficulty in points."""

    case_id: str
    case_weight: Points
    case_content: str
    case_eval_result: str
    mode_question: str = ""
    model_answers: tuple[ScaleAnswer, ...] = ()
    rule_id: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def passed(self) -> bool:
        return self.case_eval_result.strip().casefold() == _PASS

    @property
    def has_verdict(self) -> bool:
        """Whether the verdict is a word that is understood; any other is no wrong answer."""
        return self.case_eval_result.strip().casefold() in (_PASS, _FAIL)

    @property
    def id(self) -> str:
        """The case, or the case and its rule."""
        ruled = not isinstance(self.rule_id, msgspec.UnsetType)
        return f"{self.case_id}/{self.rule_id}" if ruled else self.case_id

    @property
    def service_error(self) -> bool:
        """Whether an answer is the error of a service or client, which was then graded."""
        return any(_is_error(answer.model_answer) for answer in self.model_answers)

    @property
    def is_empty(self) -> bool:
        return all(answer.model_answer in (None, "", {}, []) for answer in self.model_answers)


class Indicator(Record, frozen=True, omit_defaults=False):
    """One indicator of a case report; `correct_rate` is the plain share of passed cases."""

    indicator_name: str
    indicator_weight: Weight
    evaluation_type: str = ""
    case_pass_count: int = 0
    case_wrong_count: int = 0
    correct_rate: float = 0.0
    case_datas: tuple[ScaleCaseRow, ...] = ()


def _is_error(answer: Any) -> bool:
    if isinstance(answer, str):
        text = answer.strip()
        if text.startswith(_ERROR_TEXT):
            return True
        answer = json_object(text) if text.startswith("{") else None
    return isinstance(answer, dict) and answer.get("status") == "error"


def json_object(text: str) -> dict[str, Any] | None:
    """The object that a text is, None for any other; reports hold JSON within JSON."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# SCALE's words for what we have too: its capabilities are our benchmarks, its indicators metrics.
# Its weights stand here and not in the catalogue: they are facts about what it published,
# whatever ours are today. Source: `evaluator/config/dataset_config.py` of actiontech/sql-llm-
# benchmark, 2026.

#: The weight of each metric, by capability.
WEIGHTS: dict[str, dict[str, float]] = {
    "sql_understanding": {
        "execution_accuracy": 4,
        "sql_identification": 3,
        "explain_detection": 2,
        "syntax_error_detection": 1,
    },
    "dialect_conversion": {
        "logical_equivalence": 4,
        "syntax_error_detection": 2,
        "domestic_database": 3,
        "big_sql_conversion": 4,
    },
    "sql_optimization": {
        "logical_equivalence": 3,
        "syntax_error_detection": 3,
        "optimization_depth": 2,
        "index_advice": 2,
    },
}
CAPABILITIES = tuple(WEIGHTS)
SUFFIX = ".jsonl"
_RENAMED = {"China-made_database": "domestic_database"}
_SCALE = {ours: theirs for theirs, ours in _RENAMED.items()}
#: How an indicator is decided there; what is not listed is left to judges.
_OBJECTIVE = frozenset({"sql_understanding"})
SUBJECTIVE = "optimization_depth"


def metric_of(indicator: str) -> str:
    """Our metric for an indicator, which is named after its file of cases."""
    name = indicator.removesuffix(SUFFIX)
    return _RENAMED.get(name, name)


def indicator_of(metric: str) -> str:
    """The indicator for a metric of ours, without the suffix of its file."""
    return _SCALE.get(metric, metric)


def evaluation_type(capability: str, metric: str) -> str:
    """`objective`, `hybrid` or `subjective`, as its reports call the ways to a verdict."""
    if capability in _OBJECTIVE:
        return "objective"
    return "subjective" if metric == SUBJECTIVE else "hybrid"


def build_scale_card(capability: str) -> BenchmarkCard:
    """What scoring needs to know of a capability of CAPABILITIES."""
    metrics = tuple(MetricCard(key, weight) for key, weight in WEIGHTS[capability].items())
    return BenchmarkCard(key=capability, suite="sql", implementation="", metrics=metrics)


# SCALE's public data folder: which months it has, and where each of its reports lies.
# eval_reports/models-YYYY-MM.json, evaluation_case_reports/eval_run_case_YYYY-
# MM/CAPABILITY/ID.json, evaluation_process_detail_logs/eval_run_logs_YYYY-
# MM/ID/CAPABILITY/INDICATOR.log. The ids of its boards and the names of its files sometimes
# differ in letter case.

BOARDS, CASES, LOGS = ("eval_reports", "evaluation_case_reports", "evaluation_process_detail_logs")
_MONTH = re.compile(r"models-(\d{4}-(?:0[1-9]|1[0-2]))\.json")
T = TypeVar("T")


class CaseReport(Record, frozen=True):
    """A case report with the hash of its file, which tells carried-over ones."""

    digest: str
    indicators: tuple[Indicator, ...]


class ScaleDataFolder:
    """The folder at `root`; raises UsageError where it holds no monthly board."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.months = sorted(
            match[1]
            for path in (root / BOARDS).glob("models-*.json")
            if (match := _MONTH.fullmatch(path.name))
        )
        if not self.months:
            raise UsageError(Note("scale_no_board", path=root, folder=BOARDS))

    def read_models(self, month: str) -> tuple[ScaleModel, ...]:
        """The rows of a monthly board; raises DatasetError for a broken file."""
        path = board_path(self.root, month)
        return _decode_json(path, _read_limited_bytes(path), MonthBoard).models

    def iter_reports(self, month: str) -> Iterator[tuple[str, str, Path]]:
        """(capability, id, path) of every case report of a month."""
        for path in sorted(case_folder(self.root, month).glob("*/*.json")):
            yield path.parent.name, path.stem, path

    def find_report(self, month: str, capability: str, model: str) -> Path | None:
        """The case report behind a score, None where none was published."""
        return _find_ignoring_case(case_folder(self.root, month) / capability, f"{model}.json")

    def find_log(self, month: str, model: str, capability: str, indicator: str) -> Path | None:
        folder = _find_ignoring_case(self.root / LOGS / f"eval_run_logs_{month}", model)
        path = folder / capability / f"{indicator}.log" if folder else None
        return path if path is not None and path.is_file() else None


def board_path(root: Path, month: str) -> Path:
    return root / BOARDS / f"models-{month}.json"


def case_folder(root: Path, month: str) -> Path:
    return root / CASES / f"eval_run_case_{month}"


def log_path(root: Path, month: str, model: str, capability: str, indicator: str) -> Path:
    return root / LOGS / f"eval_run_logs_{month}" / model / capability / f"{indicator}.log"


def read_report(path: Path) -> CaseReport:
    """A case report; raises DatasetError naming the field that does not fit."""
    content = _read_limited_bytes(path)
    return CaseReport(_hash_bytes(content), _decode_json(path, content, tuple[Indicator, ...]))


def digest_of(path: Path) -> str:
    """The hash of a file, 16 hex digits; raises DatasetError where it cannot be read."""
    return _hash_bytes(_read_limited_bytes(path))


def _hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _find_ignoring_case(folder: Path, name: str) -> Path | None:
    """The entry of that name, letter case aside where there is none; a path is no name."""
    if "/" in name or name in (".", ".."):
        return None
    if (folder / name).exists():
        return folder / name
    entries = folder.iterdir() if folder.is_dir() else ()
    return next((path for path in entries if path.name.lower() == name.lower()), None)


def _read_limited_bytes(path: Path) -> bytes:
    try:
        return read_bytes(path, FILE_LIMIT)
    except UsageError as error:
        raise DatasetError(path, None, "", str(error).removeprefix(f"{path}: ")) from None


def _decode_json(path: Path, content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind, strict=False)
    except msgspec.MsgspecError as error:
        problem, _, field = str(error).partition(" - at ")
        raise DatasetError(path, None, field.strip("`$."), problem) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(path, None, "", Note("not_utf8_or_deep", problem=error)) from None
