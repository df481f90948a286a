"""The error types of upstream in fourteen groups that a reader can tell apart."""

from __future__ import annotations

from typing import Literal

Group = Literal[
    "name",
    "missing",
    "extra",
    "type",
    "value",
    "list",
    "dict",
    "count",
    "decode",
    "relevance",
    "state",
    "response",
    "ended",
    "checker",
]

_BY_TYPE: dict[str, Group] = {
    "simple_function_checker:wrong_func_name": "name",
    "simple_function_checker:missing_required": "missing",
    "simple_function_checker:missing_optional": "missing",
    "simple_function_checker:unexpected_param": "extra",
    "type_error:simple": "type",
    "type_error:nested": "type",
    "type_error:java": "type",
    "type_error:js": "type",
    "value_error:string": "value",
    "value_error:others": "value",
    "value_error:list/tuple": "list",
    "value_error:list_dict_count": "list",
    "list_dict_checker:unclear": "list",
    "value_error:dict_key": "dict",
    "value_error:dict_value": "dict",
    "dict_checker:unclear": "dict",
    "simple_function_checker:wrong_count": "count",
    "multiple_function_checker:wrong_count": "count",
    "parallel_function_checker_no_order:wrong_count": "count",
    "ast_decoder:decoder_failed": "decode",
    "ast_decoder:decoder_wrong_output_format": "decode",
    "irrelevance_error:decoder_success": "relevance",
    "relevance_error:decoder_failed": "relevance",
    "multi_turn:instance_state_mismatch": "state",
    "multi_turn:execution_response_mismatch": "response",
    "multi_turn:empty_turn_model_response": "response",
    "multi_turn:force_terminated": "ended",
    "multi_turn:inference_error": "ended",
    "execution_timeout": "ended",
    "execution_lost": "ended",
}

#: Every group, in the order in which a chart shows them.
GROUPS: tuple[Group, ...] = (
    "decode",
    "relevance",
    "count",
    "name",
    "missing",
    "extra",
    "type",
    "value",
    "list",
    "dict",
    "state",
    "response",
    "ended",
    "checker",
)


def classify_call_error(error_type: str, cause: str = "") -> Group | None:
    """The group of an error type; None for a valid answer.

    Where no call of a parallel answer matched, the group is that of the nearest call. Types
    outside upstream's list (its own crashes on such an answer) are of the group `checker`.
    """
    if not error_type:
        return None
    return _BY_TYPE.get(cause) or _BY_TYPE.get(error_type, "checker")
