"""Which of the states of a table `make test` takes; `make test-full` takes all of them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def in_languages(names: Iterable[str], every_time: Container[str]) -> list[Any]:
    """A name and a language, for both languages: in `make test` those named, in English alone."""
    return [
        pytest.param(
            name,
            language,
            id=f"{name}-{language}",
            marks=[] if language == "en" and name in every_time else [pytest.mark.full],
        )
        for language in ("en", "zh")
        for name in names
    ]
