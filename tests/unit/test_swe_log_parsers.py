"""Each log parser on lines in its form, and all of them on hostile logs."""

from __future__ import annotations

from contextlib import suppress

import pytest

from evalcore.benchmarks.swe_bench.log_parsers import PARSERS, select_log_parser
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import UnreadableLog
from evalcore.errors import UsageError
from tests.support.hangs import stop_hang
from tests.support.rows import each_row

#: (parsers, log, the states of its tests)
CASES = [
    (
        "pytest",
        "PASSED t.py::a\nFAILED t.py::b - assert 1\n",
        {"t.py::a": "PASSED", "t.py::b": "FAILED"},
    ),
    ("pytest", "FAILED t.py::a - b - c", {"t.py::a": "FAILED"}),
    (
        "pytest",
        "XFAIL t.py::a\nERROR t.py\nSKIPPED [2] t.py:3: no",
        {"t.py::a": "XFAIL", "t.py": "ERROR"},
    ),
    ("pytest", "SKIPPED t.py::a", {"t.py::a": "SKIPPED"}),
    ("pytest", "PASSED [100%]", {"[100%]": "PASSED"}),
    ("pytest", "PASSED t.py::p[a b]", {"t.py::p[a": "PASSED"}),
    ("pytest", "ERRORS t.py", {"t.py": "ERRORS"}),
    ("pytest", " PASSED t.py::a\nPASSED\npassed t.py::b", {}),
    ("pytest", "PASSED t.py::a\nFAILED t.py::a", {"t.py::a": "FAILED"}),
    ("pytest_options", "PASSED t.py::a[/home/x/y.ini]", {"t.py::a[/y.ini]": "PASSED"}),
    ("pytest_options", "PASSED t.py::a[//x/y]", {"t.py::a[//x/y]": "PASSED"}),
    ("pytest_options", "PASSED t.py::a[/x/*.py]", {"t.py::a[/x/*.py]": "PASSED"}),
    ("pytest_options", "PASSED t.py::a[x]tail", {"t.py::a[x]": "PASSED"}),
    ("pytest_options", "PASSED t.py::a[x", {"t.py::a[x": "PASSED"}),
    ("pytest_options", "PASSED ]a[", {"]a[": "PASSED"}),
    ("pytest_v2", "PASSED t.py::p[a b]", {"t.py::p[a b]": "PASSED"}),
    ("pytest_v2", "\x1b[32mPASSED\x1b[0m t.py::a", {"t.py::a": "PASSED"}),
    ("pytest_v2", "t.py::a PASSED", {"t.py::a": "PASSED"}),
    ("pytest_v2", "FAILED t.py::a - one - two", {"t.py::a": "FAILED"}),
    ("pytest_v2", "FAILED t.py::p[a - b]", {"t.py::p[a": "FAILED"}),
    ("pytest_v2", "SKIPPED [1] t.py:3: no", {}),
    (
        "matplotlib",
        "PASSED t.py::a[MouseButton.LEFT-MouseButton.RIGHT]",
        {"t.py::a[1-3]": "PASSED"},
    ),
    (
        "seaborn",
        "t.py::a PASSED [ 50%]\nFAILED t.py::b\nPASSED t.py::c",
        {"t.py::a": "PASSED", "t.py::b": "FAILED", "t.py::c": "PASSED"},
    ),
    ("seaborn", "t.py::a FAILED [ 50%]\nx y PASSED z", {}),
    (
        "sympy",
        "test_a ok\ntest_b F\ntest_c E\ntest_d f",
        {"test_a": "PASSED", "test_b": "FAILED", "test_c": "ERROR"},
    ),
    ("sympy", "____ sympy/x.py:test_e ____", {"sympy/x.py:test_e": "FAILED"}),
    ("sympy", "____ x.py:test_a ____\ntest_a ok", {"x.py:test_a": "FAILED", "test_a": "PASSED"}),
    ("sympy", "____x.py:test_a", {}),
    (
        "django",
        "test_a (m.T) ... ok\ntest_b (m.T) ... FAIL",
        {"test_a (m.T)": "PASSED", "test_b (m.T)": "FAILED"},
    ),
    (
        "django",
        "test_a (m.T) ... skipped 'why'\ntest_b (m.T) ... ERROR",
        {"test_a (m.T)": "SKIPPED", "test_b (m.T)": "ERROR"},
    ),
    (
        "django",
        "FAIL: test_a (m.T)\nERROR: test_b (m.T)\nFAIL:",
        {"test_a": "FAILED", "test_b": "ERROR"},
    ),
    ("django", "test_a (m.T) ... noise\nok", {"test_a (m.T)": "PASSED"}),
    (
        "django",
        "--version is equivalent to version ... ",
        {"--version is equivalent to version": "PASSED"},
    ),
    (
        "django",
        "Applying sites.0002_alter_domain_unique...test_no_migrations (m.T) ... ok",
        {"test_no_migrations (m.T)": "PASSED"},
    ),
    (
        "django",
        "a ... Testing against Django installed in '/x' with 4\nlines silenced).\nok",
        {"a": "PASSED"},
    ),
    ("django", "a ... Internal Server Error: /x/\nok", {"a": "PASSED"}),
    ("django", "a ... System check identified no issues (0 silenced)\nok", {"a": "PASSED"}),
    (
        "gotest",
        "--- PASS: A (0.1s)\n    --- FAIL: A/b (0.1s)\n--- SKIP: C (0s)",
        {"A": "PASSED", "A/b": "FAILED", "C": "SKIPPED"},
    ),
    (
        "cargo",
        "test a::b ... ok\ntest c ... FAILED\ntest d ... ignored",
        {"a::b": "PASSED", "c": "FAILED"},
    ),
    ("ant", "[junit] [PASS] a\n  [junit] [ERR] b", {"a": "PASSED", "b": "FAILED"}),
    ("tap", "ok 1 a b\nnot ok 2 c", {"a b": "PASSED", "c": "FAILED"}),
    (
        "jest",
        "  ✓ adds (3 ms)\n✕ breaks\n○ later",
        {"adds": "PASSED", "breaks": "FAILED", "later": "SKIPPED"},
    ),
    ("jest_json", "[PASSED] a\n[FAILED] b", {"a": "PASSED", "b": "FAILED"}),
    ("vitest", "✓ a 5ms\n× b\n↓ c [skipped]", {"a": "PASSED", "b": "FAILED", "c": "SKIPPED"}),
    ("jq", "PASS: a\nFAIL: b", {"a": "PASSED", "b": "FAILED"}),
    ("micropython_test", "pass a\nFAIL b\nskip c", {"a": "PASSED", "b": "FAILED", "c": "SKIPPED"}),
    (
        "redis",
        "[ok]: a (12 ms)\n[err]: b in tests/x.tcl\n[ignore]: c",
        {"a": "PASSED", "b": "FAILED", "c": "SKIPPED"},
    ),
    ("ruby_unit", "test: a: .\nb: F\nc: O", {"a": "PASSED", "b": "FAILED", "c": "SKIPPED"}),
    ("rspec_transformed_json", "a - b - passed\nc - failed", {"a - b": "PASSED", "c": "FAILED"}),
    ("cucumber", "a ....\nb ...F", {"a": "PASSED", "b": "FAILED"}),
    ("minitest", "T#a. = 0.01 s = .\nT#b. = 0.01 s = F", {"T#a": "PASSED", "T#b": "FAILED"}),
    (
        "googletest",
        "[       OK ] A.b (0 ms)\n[  FAILED  ] A.c (1 ms)",
        {"A.b": "PASSED", "A.c": "FAILED"},
    ),
    (
        "phpunit",
        "Suite (App\\Suite)\n ✔ works\n ✘ breaks",
        {"Suite > works": "PASSED", "Suite > breaks": "FAILED"},
    ),
    (
        "maven",
        "+ mvn -Dtest=A#b x\n[INFO] BUILD SUCCESS\nBUILD FAILURE\nmvn -Dtest=C",
        {"A#b": "PASSED", "C": "FAILED"},
    ),
    (
        "gradle_custom",
        "a.B > c PASSED\na.B > d\nwarning\nFAILED",
        {"a.B > c": "PASSED", "a.B > d": "FAILED"},
    ),
    ("chart_js", "Chrome 115.0 (Linux x86) a b FAILED\nChrome 1 (x) c", {"a b ": "FAILED"}),
    ("marked", "1) a\n2 b", {"a": "FAILED"}),
    (
        "carbon",
        "PASS a.js (1.5 s)\nFAIL b.js (12ms) x\nPASS c.js",
        {"a.js": "PASSED", "b.js": "FAILED", "c.js": "PASSED"},
    ),
    (
        "grommet",
        "FAIL a.js (1.5 s)\nPASS a.js\nPASS b.js (2s)",
        {"a.js": "PASSED", "b.js": "PASSED"},
    ),
    (
        "karma",
        "✔ before\nStarting browser\n  top\n    inner\n      ✔ a\n      ✖ b\nSUMMARY:\n      ✔ c",
        {"top > inner > a": "PASSED", "top > inner > b": "FAILED"},
    ),
    (
        "bpmn_js",
        "\x1b[2KPhantomJS 2.1 (Linux 0.0) a b FAILED\nHeadlessChrome 9 (Linux 0) c FAILED\n"
        "Chrome Headless 117 (Linux x86_64) d FAILED\nChrome Headless 117 (Linux x86_64) e\n",
        {"a b ": "FAILED", "d ": "FAILED", "c ": "FAILED"},
    ),
    ("bpmn_js", "Chrome Headless 1 (Linux x86_64) (Linux x86_64) a FAILED\n", {"a ": "FAILED"}),
    (
        "openlayers",
        "Chrome 9 (Linux x86_64) a  b FAILED\n\n  1) c\n   d:\n  TypeError: x\ncase e: mismatch\n",
        {"a b": "FAILED", "c d: Type": "FAILED", "e": "FAILED"},
    ),
    ("openlayers", "Chrome Headless 9 (Linux x) a\nFAILED\n", {"a": "FAILED"}),
    (
        "quarto_cli",
        "[smoke] > a /tmp/x.qmd ... \x1b[32mok\n"
        "[unit] > b /tmp/d/c ... \x1b[31mFAILED\n[unit] c ...\n"
        "[smoke] > d /tmp/x.qmd ... 32mok\n[unit] 34mINFO\n ERRORS\n[unit] e ... 32mok\n",
        {
            "[smoke] > a /tmp/0": "PASSED",
            "[unit] > b /tmp/1c": "FAILED",
            "[unit] c": "FAILED",
            "[smoke] > d /tmp/0": "PASSED",
        },
    ),
    (
        "doctest",
        "x<doctest><TestCase name='a &amp; b'><SubCase name='c'><Expression success='true'/>"
        "<SubCase name='d'><Expression success='false'/></SubCase></SubCase><SubCase name='e'/>"
        "</TestCase></doctest>y",
        {"a & b > c": "FAILED", "a & b > d": "FAILED", "a & b > e": "PASSED"},
    ),
    (
        "highlightjs",
        "  hljs\n    inner\n      ✓ a (12ms)\n  1) b\n\n  2 passing\n  1) c\n",
        {"inner.a": "PASSED", "inner.b": "FAILED"},
    ),
    (
        "eslint",
        "  1) rules\n      no-x:\n\n      AssertionError: Error\n  2)a Error b\n  3) c",
        {"rules no-x:": "FAILED", "a": "FAILED"},
    ),
    (
        "prismjs",
        "+ ./node_modules/.bin/mocha tests/run.js --reporter json\n"
        '{"failures": [{"fullTitle": "a"}], "passes": [{"fullTitle": "b"}]}\n',
        {"a": "FAILED", "b": "PASSED"},
    ),
    (
        "calypso",
        "+ ./node_modules/.bin/jest x\n  ✓ top\n  suite\n    ✓ a (3ms)\n    ✕ b\n"
        "  ● suite › b\n  ✓ c",
        {"- top": "PASSED", "suite - a": "PASSED", "suite - b": "FAILED"},
    ),
    (
        "p5js",
        "  1) Core\n       loads:\n  2) a\n b:\n{\n 3) c:\n}\n<p>\n 4) d:\n</p>\n\n 5) \x1b[31me:",
        {"Core:loads": "FAILED", "e": "FAILED"},
    ),
]

#: Pieces of which a long run has no newline, or no end for what it begins.
HOSTILE = (
    "_",
    " ",
    "[",
    "]",
    "[1",
    "1",
    "\x1b[",
    "(",
    " (",
    ". =",
    "=F",
    ":   ",
    "PASSED ",
    "a.py:b ",
    "\n ... Testing against Django installed in x",
    " ... Internal Server Error: /",
    "test_a ... ok\n",
    "PASSED t.py::a[x\n",
    "Chrome 1 (",
    "Chrome 1 (x) ",
    "-Dtest=A ",
    "[ OK ] ",
    "--- PASS: a (",
    "✓ 1",
    "[ok]: 1 (1 ",
    " in x",
    "- passed",
    "    x\n",
    "<a>",
    "</a>",
    "\n  1)",
    "2KPhantomJS 1 (Linux 1) ",
    "Chrome Headless 1 (Linux x86_64) ",
    "[smoke]/tmp/a",
    "<doctest><TestCase>",
)


@each_row(("name", "log", "states"), CASES)
def test_a_log_has_these_states(name, log, states):
    assert select_log_parser(f"parse_log_{name}")(log) == states


def test_every_parser_has_a_case():
    shared = {
        "astroid",
        "flask",
        "marshmallow",
        "pvlib",
        "pyvista",
        "sqlfluff",
        "xarray",
        "pydicom",
        "requests",
        "pylint",
        "astropy",
        "scikit",
        "sphinx",
        "react_pdf",
    }
    assert {f"parse_log_{name}" for name in shared | {case[0] for case in CASES}} == set(PARSERS)


@pytest.mark.parametrize(
    ("name", "same"),
    [("xarray", "pytest"), ("requests", "pytest_options"), ("sphinx", "pytest_v2")],
)
def test_projects_share_the_parser_of_their_form(name, same):
    assert select_log_parser(f"parse_log_{name}") is select_log_parser(f"parse_log_{same}")


@pytest.mark.parametrize("name", ["parse_log_cypress", "parse_log_unheard_of", ""])
def test_a_parser_that_is_not_known_is_named(name):
    with pytest.raises(UsageError, match="not known here; full_eval"):
        select_log_parser(name)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", sorted(PARSERS))
def test_no_log_takes_long_or_fails(name):
    parse = PARSERS[name]
    with stop_hang():
        for piece in HOSTILE:
            with suppress(UnreadableLog):
                parse(piece * (200_000 // len(piece)))


@each_row("name", sorted(PARSERS))
@each_row("log", ["", "\n", "\x00", "\ud800", "FAIL:", "ERROR:\n\n"])
def test_a_log_without_tests_has_no_states(name, log):
    assert PARSERS[name](log) == {}
