"""From a test log to the state of each test: one parser per form of log, by its official name
or by the row of a task whose project changed its runner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from evalcore.benchmarks.swe_bench.log_parsers.javascript import (
    parse_bpmn_js,
    parse_calypso,
    parse_carbon,
    parse_chart_js,
    parse_grommet,
    parse_karma,
    parse_lighthouse_json,
    parse_lighthouse_mocha,
    parse_marked,
    parse_next,
    parse_next_cypress,
    parse_openlayers,
    parse_quarto_cli,
)
from evalcore.benchmarks.swe_bench.log_parsers.mocha import (
    parse_eslint,
    parse_highlightjs,
    parse_p5js,
    parse_prismjs,
)
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import (
    LINE_FORMATS,
    Parser,
    parse_googletest,
    parse_lines,
    parse_minitest,
    parse_phpunit,
)
from evalcore.benchmarks.swe_bench.log_parsers.runners import (
    parse_django,
    parse_doctest,
    parse_gradle,
    parse_matplotlib,
    parse_maven,
    parse_pytest,
    parse_pytest_options,
    parse_pytest_v2,
    parse_seaborn,
    parse_sympy,
)
from evalcore.errors import UsageError

# Projects that changed their runners: the row of the task says which form its log has.
# Rules: swebench 5.0.2, by the columns `instance_id` and `version`.

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


# From a test log to the state of each test: one parser per form of log, by its official name.
# The names are those of the data sets' column `log_parser`, and all that swebench 5.0.2 has. Some
# of them stand for several forms, of which a task's row says the one.

_PYTEST = ("pytest", "astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray")
_OPTIONS = ("pytest_options", "pydicom", "requests", "pylint")
_VERSION_2 = ("pytest_v2", "astropy", "scikit", "sphinx")

#: The parsers that need no more than the log, by official name; BY_ROW has the others.
PARSERS: MappingProxyType[str, Parser] = MappingProxyType(
    {
        **{f"parse_log_{name}": parse_pytest for name in _PYTEST},
        **{f"parse_log_{name}": parse_pytest_options for name in _OPTIONS},
        **{f"parse_log_{name}": parse_pytest_v2 for name in _VERSION_2},
        "parse_log_django": parse_django,
        "parse_log_matplotlib": parse_matplotlib,
        "parse_log_seaborn": parse_seaborn,
        "parse_log_sympy": parse_sympy,
        **{name: partial(parse_lines, name=name) for name in LINE_FORMATS},
        "parse_log_bpmn_js": parse_bpmn_js,
        "parse_log_calypso": parse_calypso,
        **{f"parse_log_{name}": parse_carbon for name in ("carbon", "react_pdf")},
        "parse_log_chart_js": parse_chart_js,
        "parse_log_doctest": parse_doctest,
        "parse_log_eslint": parse_eslint,
        "parse_log_grommet": parse_grommet,
        "parse_log_highlightjs": parse_highlightjs,
        "parse_log_karma": parse_karma,
        "parse_log_marked": parse_marked,
        "parse_log_gradle_custom": parse_gradle,
        "parse_log_maven": parse_maven,
        "parse_log_googletest": parse_googletest,
        "parse_log_minitest": parse_minitest,
        "parse_log_openlayers": parse_openlayers,
        "parse_log_p5js": parse_p5js,
        "parse_log_phpunit": parse_phpunit,
        "parse_log_prismjs": parse_prismjs,
        "parse_log_quarto_cli": parse_quarto_cli,
    }
)


_NO_ROW: Mapping[str, Any] = MappingProxyType({})


def select_log_parser(name: str, row: Mapping[str, Any] = _NO_ROW) -> Parser:
    """The parser of that name for the task of that row (columns `instance_id` and `version`).

    A parser raises UnreadableLog for a log that is not in its form. Raises UsageError for a parser
    that is not known here, and for a row that does not say which form its log has.
    """
    select_by_row = PARSERS_BY_ROW.get(name)
    log_parser = select_by_row(row) if select_by_row else PARSERS.get(name)
    if log_parser is None:
        raise UsageError(
            f"log parser {name!r} is not known here; full_eval (the official harness) knows it"
        )
    return log_parser
