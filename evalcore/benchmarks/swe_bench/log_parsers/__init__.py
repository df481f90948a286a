"""From a test log to the state of each test: one parser per form of log, by its official name.

The names are those of the data sets' column `log_parser`, and all that swebench 5.0.2 has. Some of
them stand for several forms, of which a task's row says the one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from evalcore.benchmarks.swe_bench.log_parsers.browsers import parse_bpmn_js, parse_openlayers
from evalcore.benchmarks.swe_bench.log_parsers.dispatch import PARSERS_BY_ROW
from evalcore.benchmarks.swe_bench.log_parsers.django import parse_django
from evalcore.benchmarks.swe_bench.log_parsers.doctest_xml import parse_doctest
from evalcore.benchmarks.swe_bench.log_parsers.extra_line_formats import (
    parse_googletest,
    parse_minitest,
    parse_phpunit,
)
from evalcore.benchmarks.swe_bench.log_parsers.java import parse_gradle, parse_maven
from evalcore.benchmarks.swe_bench.log_parsers.javascript import (
    parse_carbon,
    parse_chart_js,
    parse_grommet,
    parse_karma,
    parse_marked,
)
from evalcore.benchmarks.swe_bench.log_parsers.mocha import (
    parse_eslint,
    parse_highlightjs,
    parse_prismjs,
)
from evalcore.benchmarks.swe_bench.log_parsers.p5js import parse_p5js
from evalcore.benchmarks.swe_bench.log_parsers.pytest_output import (
    parse_matplotlib,
    parse_pytest,
    parse_pytest_options,
    parse_pytest_v2,
)
from evalcore.benchmarks.swe_bench.log_parsers.quarto import parse_quarto_cli
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import LINE_FORMATS, parse_lines
from evalcore.benchmarks.swe_bench.log_parsers.seaborn import parse_seaborn
from evalcore.benchmarks.swe_bench.log_parsers.status import Parser
from evalcore.benchmarks.swe_bench.log_parsers.sympy import parse_sympy
from evalcore.benchmarks.swe_bench.log_parsers.trees import parse_calypso
from evalcore.errors import UsageError

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
