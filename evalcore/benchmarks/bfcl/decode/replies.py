"""The reply that slm-evals asks for: one JSON object `{"name", "arguments"}`, or a list of them."""

from __future__ import annotations

import json
from typing import Any

from evalcore.benchmarks.bfcl.decode.call import PARSING_ERRORS, failed, text_of


def name_arguments_calls(answer: Any) -> Any:
    """The calls of a reply that is nothing else than JSON.

    Raises DecodeError for other text and for objects without the two keys.
    """
    try:
        found = json.loads(text_of(answer))
        items = found if isinstance(found, list) else [found]
        return [{item["name"]: item["arguments"]} for item in items]
    except PARSING_ERRORS as error:
        raise failed(f"{type(error).__name__}: {error}") from None
