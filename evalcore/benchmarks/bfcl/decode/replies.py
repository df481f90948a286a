"""The reply that slm-evals asks for: one JSON object `{"name", "arguments"}`, or a list of them."""

from __future__ import annotations

import json
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import (
    PARSING_ERRORS,
    require_answer_text,
    to_decode_error,
)


def name_arguments_calls(answer: Any) -> Any:
    """The calls of a reply that is nothing else than JSON.

    Raises DecodeError for other text and for objects without the two keys.
    """
    try:
        decoded = json.loads(require_answer_text(answer))
        items = decoded if isinstance(decoded, list) else [decoded]
        return [{item["name"]: item["arguments"]} for item in items]
    except PARSING_ERRORS as error:
        raise to_decode_error(f"{type(error).__name__}: {error}") from None
