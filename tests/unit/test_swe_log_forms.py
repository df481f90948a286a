"""Log parsers that ask for the task's row, logs that cannot be read, and what parsers share."""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress

import pytest

from evalcore.benchmarks.swe_bench.log_parsers import PARSERS, PARSERS_BY_ROW, select_log_parser
from evalcore.benchmarks.swe_bench.log_parsers.mocha import strip_elements
from evalcore.benchmarks.swe_bench.log_parsers.result_lines import (
    NameJoiner,
    UnreadableLog,
    iter_prefix_matches,
)
from evalcore.errors import UsageError
from tests.support.hangs import stop_hang

pytestmark = pytest.mark.slow

JEST = " ./node_modules/.bin/jest x\n"
PRISM = "./node_modules/.bin/mocha tests/run.js --reporter json\n"
MOCHA = "./node_modules/.bin/mocha --reporter json\n"
LIGHTHOUSE = MOCHA + json.dumps(
    {"failures": [{"fullTitle": "b"}, {"fullTitle": 'c ", d'}], "passes": [{"fullTitle": "a"}]},
    indent=2,
).replace('"\n', '",\n')
KARMA = (
    "+ xvfb-run x\nStarting browser Chrome\n  Affix\n    api\n      ✓ a\n"
    "      \x1b[31m✗ b\x1b[39m\nAssertionError: #x\n      ✗ gone\n\n"
    "  LOG: ✓ no\n  Button\n    ✓ c\n"
    "TOTAL: 3 SUCCESS\n  ✓ after\n+ xvfb-run y\n    ✓ d\n"
)
CYPRESS = (
    "  Running:  a.js   (1 of 2)\n\n\n  Affix\n    ✓ a (b) (12ms)\n    1) c\n"
    "  Running:  b.js   (2 of 2)\n\n\n  Button\n    2) d\n    ✓ d (1ms)\n"
)
MOCHA_TREE = (
    "x\n  ✔ before\nrunning 2 test files from x\n  Suite\n    inner\n      ✔ a (12ms)\n      1) b\n"
    "    other\n      ✔ c\n\n  12 passing (1s)\n  ✔ after\n"
)

#: (parser, row, log, the states of its tests)
CASES = [
    ("jekyll", {"instance_id": "jekyll__jekyll-9141"}, "A#b. = 0.1 s = .", {"A#b": "PASSED"}),
    ("jekyll", {"instance_id": "jekyll__jekyll-8761"}, "a.feature ..F", {"a.feature": "FAILED"}),
    ("immutable_js", {"instance_id": "i-js__i-js-2006"}, "✕ a (3 ms)", {"a": "FAILED"}),
    ("immutable_js", {"instance_id": "i-js__i-js-2005"}, "[PASSED] a > b", {"a > b": "PASSED"}),
    (
        "next",
        {"version": "1.26"},
        KARMA,
        {
            "Affix - api - a": "PASSED",
            "Affix - api - b": "FAILED",
            "Button - c": "PASSED",
            "Button - d": "PASSED",
        },
    ),
    (
        "next",
        {"version": "1.27"},
        CYPRESS,
        {"Affix: c": "FAILED", "Affix: a (b)": "PASSED", "Button: d": "PASSED"},
    ),
    (
        "lighthouse",
        {"version": "9.5"},
        MOCHA_TREE,
        {
            "Suite - inner - a": "PASSED",
            "Suite - inner - b": "FAILED",
            "Suite - other - c": "PASSED",
        },
    ),
    ("lighthouse", {"version": "5.2"}, "PASS a.js (1.2 s)", {"a.js": "PASSED"}),
    (
        "lighthouse",
        {"version": "2.9"},
        LIGHTHOUSE,
        {"a": "PASSED", "b": "FAILED", 'c \\", d': "FAILED"},
    ),
    # The end of one title's head begins another one.
    ("lighthouse", {"version": "1"}, MOCHA + '"fullTitle": "fullTitle":\n"z",\n]', {"z": "FAILED"}),
]

UNREADABLE = [
    ("doctest", "<doctest>"),
    ("doctest", "<doctest><TestCase></doctest>"),
    ("doctest", "<doctest>&undeclared;</doctest>"),
    ("doctest", "<doctest><!DOCTYPE x [<!ENTITY a 'b'>]></doctest>"),
    ("doctest", "<doctest>\ud800</doctest>"),
    ("doctest", "<doctest>" + "<x>" * 100 + "</x>" * 100 + "</doctest>"),
    ("prismjs", PRISM),
    ("prismjs", PRISM + '{"failures": [], "passes": ['),
    ("prismjs", PRISM + '{"failures": []}'),
    ("prismjs", PRISM + '{"failures": [{"fullTitle": 1}], "passes": []}'),
    ("prismjs", PRISM + '{"failures": [1], "passes": []}'),
    ("prismjs", PRISM + '{"a": ' + "[" * 100_000 + "}"),
    ("calypso", JEST + "✓ not indented"),
    ("calypso", JEST + "  ✓ a (1ms) b"),
    ("karma", "Starting browser\n      a\n    b\n  c\n"),
    ("calypso", JEST + "  " + "s" * 100_000 + "\n" + "    ✓ a\n" * 1000),
    ("highlightjs", "  " + "s" * 100_000 + "\n" + "1) a\n" * 1000),
    ("phpunit", "S" * 100_000 + " (x)\n" + " ✔ a\n" * 1000),
    ("karma", "Starting browser\n  " + "s" * 100_000 + "\n" + "  ✔ a\n" * 1000),
    (
        "doctest",
        f"<doctest><TestCase name='{'s' * 100_000}'>{'<SubCase/>' * 1000}</TestCase></doctest>",
    ),
]

#: (parser, row, start, pieces of which a long run follows)
HOSTILE = [
    (
        "next",
        {"version": "1.27"},
        "Running: )\n\n\n  s\n",
        ("Running:", "    ✓ (", "\n    1) ", ")"),
    ),
    ("next", {}, "+ xvfb-run ", ("AssertionError: #", "AssertionError: ", "  ✗ a\n", "✓")),
    ("lighthouse", {"version": "9.5"}, "running 1 test files", ("✔ a (1m", " (1", "1", "  ✔ a\n")),
    ("lighthouse", {"version": "1"}, MOCHA, ('"fullTitle": "', '"fullTitle": "",\n', "],")),
    ("calypso", {}, JEST, ("  ✓ (1ms", "(1ms)", "  ✓ a\n", "  s\n")),
    ("prismjs", {}, PRISM, ("{", "[", '{"a":', PRISM)),
    ("quarto_cli", {}, "[smoke]", ("/tmp/a", "/tmp/a/", "/tmp/a.qm", "\n[unit] ...")),
    ("highlightjs", {}, "  s\n", ("✓ (1ms)", "(1ms)", "\n1", "1) (1m")),
    ("eslint", {}, "", ("  1)", "  1) Error", " Error", "  1) x\n Error\n", "  1")),
    ("openlayers", {}, "", ("Chrome 9 (Linux x) ", "case x: mismatch", "\n  1) Error:", "\n \n")),
    ("bpmn_js", {}, "", ("Chrome Headless ", " (Linux x86_64)", "HeadlessChrome 1 (Linux 1) ")),
    (
        "p5js",
        {},
        "<b></b>",
        ("<a>", "<a", "<", "</", "<a><b>", "\n1)", "\n", "<a></b>", "<<a></a>"),
    ),
    ("doctest", {}, "<doctest><TestCase>", ("<SubCase/>", "<x a='", "&amp;", "<SubCase>")),
]


@pytest.mark.parametrize(("name", "row", "log", "states"), CASES)
def test_a_log_in_the_form_that_the_row_says(name, row, log, states):
    assert select_log_parser(f"parse_log_{name}", row)(log) == states


def test_every_official_parser_is_known():
    assert not PARSERS.keys() & PARSERS_BY_ROW.keys()
    assert len(PARSERS) + len(PARSERS_BY_ROW) == 57
    assert {f"parse_log_{case[0]}" for case in CASES} == PARSERS_BY_ROW.keys()


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("jekyll", {}, "instance '' of jekyll"),
        ("jekyll", {"instance_id": "jekyll"}, "end with one of 9141"),
        ("jekyll", {"instance_id": "jekyll__jekyll-1"}, "instance 'jekyll__jekyll-1'"),
        ("immutable_js", {"instance_id": "i-js__i-js-2007"}, "2006, 2005"),
        ("lighthouse", {"instance_id": "a__b-1"}, "a__b-1.*must be a number and is None"),
        ("lighthouse", {"version": "1.2.3"}, "is '1.2.3'"),
        ("lighthouse", {"version": ["5"]}, "must be a number"),
    ],
)
def test_a_row_that_does_not_say_the_form(name, row, message):
    with pytest.raises(UsageError, match=message):
        select_log_parser(f"parse_log_{name}", row)


@pytest.mark.parametrize(("name", "log"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_log_that_is_not_in_its_form_has_no_states(name, log):
    with pytest.raises(UnreadableLog):
        select_log_parser(f"parse_log_{name}")(log)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "row", "start", "pieces"), HOSTILE)
def test_no_log_takes_long(name, row, start, pieces):
    parse = select_log_parser(f"parse_log_{name}", row)
    with stop_hang():
        for piece in pieces:
            with suppress(UnreadableLog):
                parse(start + piece * (200_000 // len(piece)))
            with suppress(UnreadableLog):
                parse(start + piece * (200_000 // len(piece)) + "</a></doctest>\n")


def test_elements_go_as_by_the_loop_that_reads_the_log_anew():
    element = re.compile(r"<(\w+)>[\s\S]*?</\1>")

    def loop(log: str) -> str:
        while match := element.search(log):
            more = match[0].count(f"<{match[1]}>") - 1
            log = log[: match.start()] + f"<{match[1]}>" * more + log[match.end() :]
        return log

    generator = random.Random(7)
    changed = 0
    for pieces in (
        "<>/a",
        "<>/ab ",
        ["<a>", "</a>", "<", "</", "a>", ">", "<b>", "</b>", "b"],
    ) * 800:
        log = "".join(generator.choices(pieces, k=generator.randrange(40)))
        assert strip_elements(log) == loop(log), log
        changed += loop(log) != log
    assert changed > 300


def test_results_are_those_of_one_pattern():
    head, tail = r"h\s+t\s", r".*\sE\n"
    whole = re.compile(f"{head}({tail})")
    generator = random.Random(7)
    some = 0
    for _ in range(3000):
        log = "".join(generator.choices(["h t ", "h\n", "t ", " E\n", "E", "\n", " ", "x"], k=25))
        result = [
            (prefix_match.start, prefix_match.tail[0])
            for prefix_match in iter_prefix_matches(log, re.compile(head), re.compile(tail))
        ]
        assert result == [(match.start(), match[1]) for match in whole.finditer(log)], log
        some += len(result)
    assert some > 300


def test_names_have_a_bound():
    names = NameJoiner()
    assert names.join(" > ", ("a", "b")) == "a > b"
    with pytest.raises(UnreadableLog, match="too long"):
        for _ in range(100):
            names.join(".", ("a" * 1_000_000, "b"))
