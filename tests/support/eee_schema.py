"""What a record of Every Eval Ever, schema 0.3.0, must hold, in our own words: fields and kinds
that the schema requires, and the names that it allows. The schema itself is no part of this
project."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Source(msgspec.Struct):
    source_type: Literal["documentation", "evaluation_run"]
    source_organization_name: str
    evaluator_relationship: Literal["first_party", "third_party", "collaborative", "other"]
    additional_details: dict[str, str] = {}


class _Library(msgspec.Struct):
    name: str
    version: str


class _ModelDetails(msgspec.Struct):
    deployment_type: Literal["self_deployed", "externally_managed", "unknown"]
    model_availability: Literal["open_weights", "closed_weights", "unknown"]


class _Model(msgspec.Struct):
    name: str
    id: str
    additional_details: _ModelDetails


class _Data(msgspec.Struct):
    dataset_name: str
    source_type: Literal["other"]
    additional_details: dict[str, str] = {}


class _Metric(msgspec.Struct):
    lower_is_better: bool
    score_type: Literal["continuous"]
    min_score: float
    max_score: float


class _Bounds(msgspec.Struct):
    lower: float
    upper: float
    confidence_level: float
    method: str


class _Uncertainty(msgspec.Struct):
    num_samples: int
    confidence_interval: _Bounds | msgspec.UnsetType = msgspec.UNSET


class _Score(msgspec.Struct):
    score: float
    details: dict[str, str] = {}
    uncertainty: _Uncertainty | msgspec.UnsetType = msgspec.UNSET


class _Arguments(_Strict):
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 0


class _Generation(msgspec.Struct):
    generation_args: _Arguments


class _Result(msgspec.Struct):
    evaluation_result_id: str
    evaluation_name: str
    source_data: _Data
    metric_config: _Metric
    score_details: _Score
    generation_config: _Generation | msgspec.UnsetType = msgspec.UNSET


class _Detailed(msgspec.Struct):
    format: Literal["jsonl"]
    file_path: str
    hash_algorithm: Literal["sha256", "md5"]
    checksum: str
    total_rows: int


class _Aggregate(_Strict):
    schema_version: str
    evaluation_id: str
    evaluation_timestamp: str
    retrieved_timestamp: str
    source_metadata: _Source
    eval_library: _Library
    model_info: _Model
    evaluation_results: list[_Result]
    detailed_evaluation_results: _Detailed | msgspec.UnsetType = msgspec.UNSET


class _Input(msgspec.Struct):
    raw: str
    reference: list[str]


class _Output(msgspec.Struct):
    raw: list[str]


class _Call(msgspec.Struct):
    id: str
    name: str
    arguments: dict[str, str]


class _Turn(msgspec.Struct):
    turn_idx: int
    role: str
    content: str | None
    tool_calls: list[_Call] = []
    tool_call_id: list[str] = []


class _Attribution(msgspec.Struct):
    turn_idx: int
    source: str
    extracted_value: str
    extraction_method: str
    is_terminal: bool


class _Evaluation(msgspec.Struct):
    score: float
    is_correct: bool
    num_turns: int
    tool_calls_count: int


class _Tokens(msgspec.Struct):
    input_tokens: int
    output_tokens: int
    total_tokens: int


class _Row(_Strict):
    schema_version: str
    evaluation_id: str
    model_id: str
    evaluation_name: str
    evaluation_result_id: str
    sample_id: str
    sample_hash: str
    interaction_type: Literal["single_turn", "multi_turn", "agentic"]
    input: _Input
    answer_attribution: list[_Attribution]
    evaluation: _Evaluation
    metadata: dict[str, Any]
    output: _Output | msgspec.UnsetType = msgspec.UNSET
    messages: list[_Turn] | msgspec.UnsetType = msgspec.UNSET
    token_usage: _Tokens | msgspec.UnsetType = msgspec.UNSET
    performance: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


_PATH = re.compile(
    r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    r"_samples\.jsonl"
)


def check_aggregate(content: Any) -> None:
    """Raises msgspec.ValidationError or AssertionError for an aggregate that is not allowed."""
    record = msgspec.convert(content, _Aggregate)
    assert record.schema_version == "0.3.0"
    assert record.retrieved_timestamp.isdecimal()
    if record.detailed_evaluation_results is not msgspec.UNSET:
        assert _PATH.fullmatch(record.detailed_evaluation_results.file_path)


def check_row(content: Any) -> None:
    """Raises msgspec.ValidationError or AssertionError for a row that is not allowed."""
    row = msgspec.convert(content, _Row)
    single = row.interaction_type == "single_turn"
    assert (row.output is not msgspec.UNSET) is single
    assert (row.messages is msgspec.UNSET) is single
