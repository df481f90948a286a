"""The report forms of SCALE's site as records, decoded leniently: what it published is kept.

models-YYYY-MM.json is {"models": [...]}; a case report is a list of indicators with their cases.
Facts: the public folder `leaderboard/public/data` of actiontech/sql-llm-benchmark, 2026.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from evalcore.records import Record

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
