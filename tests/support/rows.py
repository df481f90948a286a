"""Many rows in one test, where a row takes less time than pytest takes for a test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest


def each_row(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[..., Any]:
    """`pytest.mark.parametrize` within one test: all rows are checked, and those that fail listed.

    For rows that leave nothing behind: fixtures are made once, for all of them.
    """
    columns = (names,) if isinstance(names, str) else names
    table = [row if len(columns) > 1 else (row,) for row in rows]
    assert table

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(check)
        fixtures = [p for name, p in signature.parameters.items() if name not in columns]

        @wraps(check)
        def check_all(**values: Any) -> None:
            failed = []
            for row in table:
                try:
                    check(**values, **dict(zip(columns, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    failed.append(f"{row!r:.400}: {type(error).__name__} {error}")
            if failed:
                raise AssertionError(f"{len(failed)} of {len(table)}\n" + "\n".join(failed[:20]))

        check_all.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return check_all

    return decorate
