"""From a test log to the state of each test: one parser per form of log, by its official name.

The names are those of the data sets' column `log_parser`, and all that swebench 5.0.2 has. Some
stand for several forms, since their projects changed their runners: the columns `instance_id` and
`version` of a task's row say which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from evalcore.benchmarks.swe_bench.log_parsers import javascript, mocha, result_lines, runners
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import LINE_FORMATS, Parser, parse_lines
from evalcore.errors import UsageError
from evalcore.i18n import Note

_JEKYLL: dict[str, Parser] = {
    **dict.fromkeys(("9141", "8047", "8167"), result_lines.parse_minitest),
    **dict.fromkeys(("8761", "8771"), partial(parse_lines, name="parse_log_cucumber")),
}
_IMMUTABLE: dict[str, Parser] = {
    "2006": partial(parse_lines, name="parse_log_jest"),
    "2005": partial(parse_lines, name="parse_log_jest_json"),
}
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
            Note("swe_log_form", name=repr(name), project=project, names=", ".join(forms))
        )
    return form


def _select_next_parser(row: Mapping[str, Any]) -> Parser:
    is_cypress = row.get("version") == "1.27"
    return javascript.parse_next_cypress if is_cypress else javascript.parse_next


def _select_lighthouse_parser(row: Mapping[str, Any]) -> Parser:
    version = row.get("version")
    if version in _LIGHTHOUSE_WITH_MOCHA:
        return javascript.parse_lighthouse_mocha
    try:
        has_jest = float(str(version)) >= _LIGHTHOUSE_WITH_JEST
    except ValueError as error:
        raise UsageError(
            Note("swe_lighthouse", instance=row.get("instance_id", "?"), version=repr(version))
        ) from error
    return javascript.parse_carbon if has_jest else javascript.parse_lighthouse_json


#: From a task's row to the parser of its log, by the official name of the parser.
PARSERS_BY_ROW: dict[str, Callable[[Mapping[str, Any]], Parser]] = {
    "parse_log_jekyll": partial(_select_by_number, "jekyll", 1, _JEKYLL),
    "parse_log_immutable_js": partial(_select_by_number, "immutable-js", -1, _IMMUTABLE),
    "parse_log_next": _select_next_parser,
    "parse_log_lighthouse": _select_lighthouse_parser,
}
_PYTEST = ("pytest", "astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray")
_OPTIONS = ("pytest_options", "pydicom", "requests", "pylint")
_VERSION_2 = ("pytest_v2", "astropy", "scikit", "sphinx")

#: The parsers that need no more than the log, by official name.
PARSERS: MappingProxyType[str, Parser] = MappingProxyType(
    {
        **{f"parse_log_{name}": runners.parse_pytest for name in _PYTEST},
        **{f"parse_log_{name}": runners.parse_pytest_options for name in _OPTIONS},
        **{f"parse_log_{name}": runners.parse_pytest_v2 for name in _VERSION_2},
        "parse_log_django": runners.parse_django,
        "parse_log_matplotlib": runners.parse_matplotlib,
        "parse_log_seaborn": runners.parse_seaborn,
        "parse_log_sympy": runners.parse_sympy,
        **{name: partial(parse_lines, name=name) for name in LINE_FORMATS},
        "parse_log_bpmn_js": javascript.parse_bpmn_js,
        "parse_log_calypso": javascript.parse_calypso,
        **{f"parse_log_{name}": javascript.parse_carbon for name in ("carbon", "react_pdf")},
        "parse_log_chart_js": javascript.parse_chart_js,
        "parse_log_doctest": runners.parse_doctest,
        "parse_log_eslint": mocha.parse_eslint,
        "parse_log_grommet": javascript.parse_grommet,
        "parse_log_highlightjs": mocha.parse_highlightjs,
        "parse_log_karma": javascript.parse_karma,
        "parse_log_marked": javascript.parse_marked,
        "parse_log_gradle_custom": runners.parse_gradle,
        "parse_log_maven": runners.parse_maven,
        "parse_log_googletest": result_lines.parse_googletest,
        "parse_log_minitest": result_lines.parse_minitest,
        "parse_log_openlayers": javascript.parse_openlayers,
        "parse_log_p5js": mocha.parse_p5js,
        "parse_log_phpunit": result_lines.parse_phpunit,
        "parse_log_prismjs": mocha.parse_prismjs,
        "parse_log_quarto_cli": javascript.parse_quarto_cli,
    }
)
_NO_ROW: Mapping[str, Any] = MappingProxyType({})


def select_log_parser(name: str, row: Mapping[str, Any] = _NO_ROW) -> Parser:
    """The parser of that name for the task of that row (columns `instance_id` and `version`). A
    parser raises UnreadableLog for a log that is not in its form. Raises UsageError for a parser
    that is not known here, and for a row that does not say which form its log has."""
    select_by_row = PARSERS_BY_ROW.get(name)
    log_parser = select_by_row(row) if select_by_row else PARSERS.get(name)
    if log_parser is None:
        raise UsageError(Note("swe_log_parser", name=name))
    return log_parser
