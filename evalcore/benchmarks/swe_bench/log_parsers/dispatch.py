"""Projects that changed their runners: the row of the task says which form its log has.

Rules: swebench 5.0.2, by the columns `instance_id` and `version`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evalcore.benchmarks.swe_bench.log_parsers.extra_line_formats import parse_minitest
from evalcore.benchmarks.swe_bench.log_parsers.javascript import parse_carbon
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import parse_lines
from evalcore.benchmarks.swe_bench.log_parsers.status import Parser
from evalcore.benchmarks.swe_bench.log_parsers.trees import (
    parse_lighthouse_json,
    parse_lighthouse_mocha,
    parse_next,
    parse_next_cypress,
)
from evalcore.errors import UsageError

_CUCUMBER = partial(parse_lines, name="parse_log_cucumber")
_JEKYLL: dict[str, Parser] = {
    **dict.fromkeys(("9141", "8047", "8167"), parse_minitest),
    **dict.fromkeys(("8761", "8771"), _CUCUMBER),
}
_IMMUTABLE: dict[str, Parser] = {
    "2006": partial(parse_lines, name="parse_log_jest"),
    "2005": partial(parse_lines, name="parse_log_jest_json"),
}
_NEXT_WITH_CYPRESS = ("1.27",)
_LIGHTHOUSE_WITH_MOCHA = ("9.5", "10.0", "10.2")
#: The first version of Lighthouse with Jest, up to those with Mocha again.
_LIGHTHOUSE_WITH_JEST = 3


def _select_by_number(
    project: str, part_index: int, forms: Mapping[str, Parser], row: Mapping[str, Any]
) -> Parser:
    """By the number in the instance's id: its part at that place between dashes."""
    name = str(row.get("instance_id", ""))
    form = forms.get("".join(name.split("-")[part_index:][:1]))
    if form is None:
        raise UsageError(
            f"no form of log is known for instance {name!r} of {project}: its instance_id must end"
            f" with one of {', '.join(forms)}"
        )
    return form


def _select_next_parser(row: Mapping[str, Any]) -> Parser:
    return parse_next_cypress if row.get("version") in _NEXT_WITH_CYPRESS else parse_next


def _select_lighthouse_parser(row: Mapping[str, Any]) -> Parser:
    version = row.get("version")
    if version in _LIGHTHOUSE_WITH_MOCHA:
        return parse_lighthouse_mocha
    try:
        number = float(str(version))
    except ValueError as error:
        raise UsageError(
            f"SWE-bench instance {row.get('instance_id', 'without an id')!s}: a log of Lighthouse"
            f" is read by the column version, which must be a number and is {version!r}"
        ) from error
    return parse_carbon if number >= _LIGHTHOUSE_WITH_JEST else parse_lighthouse_json


#: From a task's row to the parser of its log, by the official name of the parser.
PARSERS_BY_ROW: dict[str, Callable[[Mapping[str, Any]], Parser]] = {
    "parse_log_jekyll": partial(_select_by_number, "jekyll", 1, _JEKYLL),
    "parse_log_immutable_js": partial(_select_by_number, "immutable-js", -1, _IMMUTABLE),
    "parse_log_next": _select_next_parser,
    "parse_log_lighthouse": _select_lighthouse_parser,
}
