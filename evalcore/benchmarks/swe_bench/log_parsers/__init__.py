"""From a test log to the state of each test: one parser per form of log, by its official name.

The names are those of the data sets' column `log_parser` (swebench 5.0.2). All parsers of Python
projects are here, and those of other languages whose runner prints one line per test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType

from evalcore.benchmarks.swe_bench.log_parsers.django import parse_django
from evalcore.benchmarks.swe_bench.log_parsers.java import parse_gradle, parse_maven
from evalcore.benchmarks.swe_bench.log_parsers.javascript import (
    parse_carbon,
    parse_chart_js,
    parse_grommet,
    parse_karma,
    parse_marked,
)
from evalcore.benchmarks.swe_bench.log_parsers.more_lines import (
    parse_googletest,
    parse_minitest,
    parse_phpunit,
)
from evalcore.benchmarks.swe_bench.log_parsers.pytest_output import (
    parse_matplotlib,
    parse_pytest,
    parse_pytest_options,
    parse_pytest_v2,
)
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import FORMS, parse_lines
from evalcore.benchmarks.swe_bench.log_parsers.seaborn import parse_seaborn
from evalcore.benchmarks.swe_bench.log_parsers.status import StatusMap
from evalcore.benchmarks.swe_bench.log_parsers.sympy import parse_sympy
from evalcore.errors import UsageError

Parser = Callable[[str], StatusMap]

_PYTEST = ("pytest", "astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray")
_OPTIONS = ("pytest_options", "pydicom", "requests", "pylint")
_VERSION_2 = ("pytest_v2", "astropy", "scikit", "sphinx")

#: Every parser that is known here, by its official name.
PARSERS: MappingProxyType[str, Parser] = MappingProxyType(
    {
        **{f"parse_log_{name}": parse_pytest for name in _PYTEST},
        **{f"parse_log_{name}": parse_pytest_options for name in _OPTIONS},
        **{f"parse_log_{name}": parse_pytest_v2 for name in _VERSION_2},
        "parse_log_django": parse_django,
        "parse_log_matplotlib": parse_matplotlib,
        "parse_log_seaborn": parse_seaborn,
        "parse_log_sympy": parse_sympy,
        **{name: partial(parse_lines, name=name) for name in FORMS},
        **{f"parse_log_{name}": parse_carbon for name in ("carbon", "react_pdf")},
        "parse_log_chart_js": parse_chart_js,
        "parse_log_grommet": parse_grommet,
        "parse_log_karma": parse_karma,
        "parse_log_marked": parse_marked,
        "parse_log_gradle_custom": parse_gradle,
        "parse_log_maven": parse_maven,
        "parse_log_googletest": parse_googletest,
        "parse_log_minitest": parse_minitest,
        "parse_log_phpunit": parse_phpunit,
    }
)


def parser(name: str) -> Parser:
    """The parser of that name; raises UsageError for one that is not known here."""
    found = PARSERS.get(name)
    if found is None:
        raise UsageError(
            f"log parser {name!r} is not known here; full_eval (the official harness) knows it"
        )
    return found
