"""Logs of JavaScript runners but Mocha's: several lines per test, failures only, indented trees."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalcore.benchmarks.swe_bench.log_parsers.result_lines import (
    FAILED,
    PASSED,
    NameJoiner,
    StatusMap,
    SuiteStack,
    UnreadableLog,
    find_line_end,
    iter_prefix_matches,
)

# Several runners name only the tests that failed; their tasks are graded by `fail_only`. Rules:
# swebench 5.0.2, `harness/log_parsers/javascript.py`, each written so that a log is read once.

_ANSI = re.compile(r"\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
_CHROME = re.compile(r"Chrome\s[\d.]+[^\S\n]\(")
_BROWSER_END = re.compile(r"\)[^\S\n]")
_NUMBERED = re.compile(r"\d+\)\s(.*)")
_FILE = re.compile(r"(PASS|FAIL)\s(.*)")
_FILE_STATES = {"PASS": PASSED, "FAIL": FAILED}
#: Durations behind the name of a file, in the order in which they are tried.
_DURATIONS = tuple(re.compile(rf"(.*)\s\([\d.]+{unit}\)") for unit in ("ms", r"\ss", "s"))
_LAST_DURATION = re.compile(r"\s\([\d.]+\s?(?:ms|s)\)$")
_FILE_ANYWHERE = {word: re.compile(rf"^{word}\s(.*)", re.MULTILINE) for word in ("FAIL", "PASS")}
_KARMA = re.compile(r"(\s*)([✔✖])?\s(.*)$")


def parse_chart_js(log: str) -> StatusMap:
    """`Chrome 115.0 (Linux) name FAILED`; only failures are named."""
    return dict.fromkeys(_failed_in_chrome(_ANSI.sub("", log)), FAILED)


def _failed_in_chrome(log: str) -> Iterator[str]:
    """What stands between the browser and the last word of a line that ends with FAILED."""
    taken = seen = 0
    for match in _CHROME.finditer(log):
        name = match.end()
        if match.start() < taken or name <= seen:
            continue  # inside a result, or on a line that was no result from an earlier browser on
        seen = find_line_end(log, name)
        browser = _BROWSER_END.search(log, name + 1, seen)
        if browser and log.startswith(FAILED, seen - 6) and browser.end() <= seen - 6:
            yield log[browser.end() : seen - 6]
            taken = seen


def parse_marked(log: str) -> StatusMap:
    """`1) name` at the start of a line is a failure; nothing else is named."""
    matches = map(_NUMBERED.match, log.split("\n"))
    return {match[1].strip(): FAILED for match in matches if match}


def parse_carbon(log: str) -> StatusMap:
    """Jest's lines for files, `PASS path (1.2 s)`, at the start of a line."""
    states: StatusMap = {}
    for line in log.split("\n"):
        match = _FILE.match(line)
        if match:
            timed_matches = (pattern.match(match[2]) for pattern in _DURATIONS)
            name = next((timed_match[1] for timed_match in timed_matches if timed_match), match[2])
            states[name] = _FILE_STATES[match[1]]
    return states


def parse_grommet(log: str) -> StatusMap:
    """As carbon's, with a duration only at the end; a file that passes once has passed."""
    states: StatusMap = {}
    for word, pattern in _FILE_ANYWHERE.items():
        for match in pattern.finditer(log):
            states[_LAST_DURATION.sub("", match[1].strip())] = _FILE_STATES[word]
    return states


def parse_karma(log: str) -> StatusMap:
    """Karma's tree of suites, from the start of the browser to the summary; names hold the path."""
    states: StatusMap = {}
    suites: list[str] = []
    names = NameJoiner()
    depth, started = -1, False
    for line in log.split("\n"):
        if line.startswith("SUMMARY:"):
            break
        if "Starting browser" in line:
            started = True
            continue
        match = _KARMA.match(line) if started else None
        if match is None:
            continue
        indent, mark, name = match.groups()
        if indent and not mark:
            if len(indent) > depth:
                suites.append(name)
            elif len(indent) < depth:
                if not suites:
                    raise UnreadableLog("the tree of suites goes up further than it went down")
                suites.pop()
            depth = len(indent)
        if mark:
            states[names.join(" > ", (*suites, name))] = PASSED if mark == "✔" else FAILED
    return states


# bpmn-js and OpenLayers, which name the failures only. Rules: swebench 5.0.2, `parse_log_bpmn_js`
# and `parse_log_openlayers`. A blank between two words can be a newline.

_FAILED = re.compile(r"(.*)FAILED\n")
_FAILED_APART = re.compile(r"(.*)\sFAILED\n")

_PHANTOM = re.compile(r"2KPhantomJS\s[\d.]+\s\(Linux\s[\d.]+\)\s")
_PHANTOM_64 = re.compile(r"2KPhantomJS\s[\d.]+\s\(Linux\sx86_64\)\s")
_ANY_HEADLESS = re.compile(r"Chrome\sHeadless\s")
_HEADLESS = re.compile(r"HeadlessChrome\s[\d.]+\s\(Linux\s[\d.]+\)\s")
#: What follows the version of a headless Chrome. It takes up no room, since two can share a blank.
_LINUX_64 = re.compile(r"(?=\s\(Linux\sx86_64\)\s)")
_LINUX_64_LENGTH = len(" (Linux x86_64) ")

_CHROME_HEADLESS = re.compile(r"Chrome\sHeadless\s[\d.]+\s\(Linux\s\S+\)\s")
_CHROME_LINUX = re.compile(r"Chrome\s[\d.]+\s\(Linux\s\S+\)\s")
_NUMBER = re.compile(r"^\s{2}\d+\)", re.MULTILINE)
_ERROR = "Error:"
_MISMATCH = re.compile(r"^case\s(.*):\smismatch", re.MULTILINE)


def parse_bpmn_js(log: str) -> StatusMap:
    """Karma's `HeadlessChrome 92.0 (Linux 0.0) name FAILED`, and those of older browsers."""
    names = [
        *(match.tail[1] for match in iter_prefix_matches(log, _PHANTOM, _FAILED)),
        *(match.tail[1] for match in iter_prefix_matches(log, _PHANTOM_64, _FAILED)),
        *_iter_headless_failures(log),
        *(match.tail[1] for match in iter_prefix_matches(log, _HEADLESS, _FAILED)),
    ]
    return dict.fromkeys(names, FAILED)


def parse_openlayers(log: str) -> StatusMap:
    """Karma's lines, Mocha's numbered failures up to their error, and renderings that differ."""
    names = [
        *(match.tail[1] for match in iter_prefix_matches(log, _CHROME_HEADLESS, _FAILED_APART)),
        *(match.tail[1] for match in iter_prefix_matches(log, _CHROME_LINUX, _FAILED)),
        *_iter_numbered_failures(log),
        *_MISMATCH.findall(log),
    ]
    return {" ".join(name.split()): FAILED for name in names}


def _iter_headless_failures(log: str) -> Iterator[str]:
    """As `iter_prefix_matches` with a version of any text, and the last system behind it that fits.
    The first browser on a line has all the systems that a later one has: no other one is tried."""
    taken = seen = -1
    for match in _ANY_HEADLESS.finditer(log):
        version = match.end()
        if match.start() < taken or version <= seen:
            continue
        seen = find_line_end(log, version)
        systems = _LINUX_64.finditer(log, version, seen + _LINUX_64_LENGTH)
        for system in reversed(list(systems)):
            name = system.start() + _LINUX_64_LENGTH
            end = seen if name <= seen else find_line_end(log, name)
            if name <= end - len(FAILED) and log.startswith(f"{FAILED}\n", end - len(FAILED)):
                yield log[name : end - len(FAILED)]
                taken = end + 1
                break


def _iter_numbered_failures(log: str) -> Iterator[str]:
    """What stands between `  1)` at the start of a line and the next error."""
    at = 0
    while head := _NUMBER.search(log, at):
        error = log.find(_ERROR, head.end())
        if error < 0:
            return
        yield log[head.end() : error]
        at = error + len(_ERROR)


# Calypso, Fusion Next and Lighthouse, which print suites and tests as an indented tree. The latter
# two have changed their runners.
# Rules: swebench 5.0.2, `parse_log_calypso`, `parse_log_next` and `parse_log_lighthouse`.

_JEST = " ./node_modules/.bin/jest "
_JEST_STATES = {"✓": PASSED, "✕": FAILED}
#: The first words of what follows the tree.
_JEST_DONE = ("Test Suites", "  ● ")
_JEST_TEST = re.compile(r"\s+[✓✕]\s(.*)")
_MILLISECONDS = re.compile(r"\(\d+ms\)")
_TIMED = re.compile(r"(.*)\(\d+ms\)$")

_ASSERTION = re.compile(r"AssertionError:\s+#")
_BROWSER = "Starting browser Chrome"
_KARMA_NOISE = ("ERROR", "LOG", "WARN", "Check", "in")
#: In the order in which they are looked for.
_KARMA_STATES = {"✗": FAILED, "✓": PASSED}

_RUNNING = re.compile("Running:")
_RUNNING_SUITE = re.compile(r".*\)\n{3}\s{2}(.*)\n")
#: In the order in which they are read: a test in both has passed.
_RUNNING_TESTS = (
    (re.compile(r"^\s{4}\d+\)\s(.*)", re.MULTILINE), FAILED),
    (re.compile(r"^\s{4}✓\s(.*)\(", re.MULTILINE), PASSED),
)

_FILES = re.compile(r"running\s\d+\stest\sfiles")
_PASSING = re.compile(r"(?<!\d)\d+\spassing")
_MOCHA_TESTS = (
    (re.compile(r"✔\s(.*)\s\(\d+m+s\)"), PASSED),
    (re.compile(r"✔\s(.*)"), PASSED),
    (re.compile(r"\d+\)\s(.*)\s\(\d+m+s\)"), FAILED),
    (re.compile(r"\d+\)\s(.*)"), FAILED),
)

_MOCHA_JSON = "./node_modules/.bin/mocha --reporter json"
#: (start of a list, end of it, state of its tests), in the order in which they are read.
_MOCHA_LISTS = (('"passes": [', "]", PASSED), ('"failures": [', "],", FAILED))
_TITLE = re.compile(r'"fullTitle":\s"')
_TITLE_REST = re.compile(r'(.*)",\n')


def parse_calypso(log: str) -> StatusMap:
    """Jest's tree behind each run of its command, up to its summary or its first failure. Raises
    UnreadableLog for a line with a mark that is no test's, on which upstream fails."""
    states: StatusMap = {}
    suites, names = SuiteStack(), NameJoiner()
    for output in log.split(_JEST)[1:]:
        for line in output.split("\n"):
            if line.startswith(_JEST_DONE):
                break
            state = _JEST_STATES.get(line.lstrip()[:1])
            if state:
                # A test without a suite keeps the dash before its name.
                path = suites.list_open_suites() or [""]
                states[names.join(" - ", (*path, _parse_jest_test(line))).strip()] = state
            else:
                suites.read_suite_line(line)
    return states


def _parse_jest_test(line: str) -> str:
    match = _JEST_TEST.match(line)
    if match and _MILLISECONDS.search(line):
        match = _TIMED.match(match[1])
    if match is None:
        raise UnreadableLog("a line of Jest's has a mark, and is no test")
    return match[1]


def parse_next(log: str) -> StatusMap:
    """Karma's tree behind each start of the browser, up to its total; suites go on between runs."""
    states: StatusMap = {}
    suites, names = SuiteStack(), NameJoiner()
    for output in _strip_assertions(_ANSI.sub("", log)).split(" xvfb-run ")[1:]:
        for line in output.rsplit(_BROWSER, 1)[-1].split("\n"):
            if line.startswith("TOTAL"):
                break
            if line.lstrip().startswith(_KARMA_NOISE):
                continue
            mark = next((mark for mark in _KARMA_STATES if mark in line), "")
            if mark:
                test = line.split(mark, 1)[1].lstrip()
                states[names.join(" - ", (*suites.list_open_suites(), test))] = _KARMA_STATES[mark]
            else:
                suites.read_suite_line(line)
    return states


def _strip_assertions(log: str) -> str:
    """The log without the messages of assertions, each of which an empty line ends."""
    parts = []
    at = 0
    while match := _ASSERTION.search(log, at):
        end = log.find("\n\n", match.end())
        if end < 0:
            break
        parts.append(log[at : match.start()])
        at = end + 2
    return "".join([*parts, log[at:]])


def parse_next_cypress(log: str) -> StatusMap:
    """Cypress names the file and, three lines below, its suite; `suite: test` of what follows."""
    states: StatusMap = {}
    names = NameJoiner()
    headings = list(iter_prefix_matches(log, _RUNNING, _RUNNING_SUITE))
    ends = [*(following.start for following in headings[1:]), len(log)]
    for heading, end in zip(headings, ends, strict=False):
        section = log[heading.tail.end() : end]
        for pattern, state in _RUNNING_TESTS:
            for test in pattern.findall(section):
                states[names.join(": ", (heading.tail[1], test.strip()))] = state
    return states


def parse_lighthouse_mocha(log: str) -> StatusMap:
    """Mocha's tree of each group of files, up to its summary."""
    states: StatusMap = {}
    names = NameJoiner()
    for output in _FILES.split(log)[1:]:
        suites = SuiteStack()
        for line in _PASSING.split(output, 1)[0].strip().split("\n"):
            text = line.strip()
            tests = ((pattern.match(text), state) for pattern, state in _MOCHA_TESTS)
            test, state = next((match_state for match_state in tests if match_state[0]), (None, ""))
            if test:
                states[names.join(" - ", (*suites.list_open_suites(), test[1]))] = state
            else:
                suites.read_suite_line(line)
    return states


def parse_lighthouse_json(log: str) -> StatusMap:
    """Titles in the JSON report behind each run of the command, read by its lines."""
    states: StatusMap = {}
    for output in log.split(_MOCHA_JSON)[1:]:
        for start, end, state in _MOCHA_LISTS:
            tests = output.rsplit(start, 1)[-1].rsplit(end, 1)[0]
            states.update(
                (match.tail[1], state) for match in iter_prefix_matches(tests, _TITLE, _TITLE_REST)
            )
    return states


# Quarto: `[smoke] > name ... ok` in colours. Rules: swebench 5.0.2, `parse_log_quarto_cli`. A
# temporary file in a name differs in each run, so that the files are numbered as they come.

_KINDS = ("[smoke]", "[unit]")
#: A line with one of these begins the part that repeats the failures.
_DONE = ("ERRORS", "failures:")
_TEMPORARY = (re.compile(r"/tmp/\w+\.qmd"), re.compile(r"/tmp/\w+/"))  # noqa: S108 (in a log)
#: The end of a colour's code and the word that it colours.
_WORDS = (("32mok", PASSED), ("31mFAILED", FAILED))
_INFO = "34mINFO"
_SUMMARY = ("passed", "failed", "steps")


def parse_quarto_cli(log: str) -> StatusMap:
    """A test that no line says a state of has failed."""
    states: StatusMap = {}
    numbers: dict[str, int] = {}
    for raw in log.split("\n"):
        if any(word in raw for word in _DONE):
            break
        if not any(kind in raw for kind in _KINDS):
            continue
        line = _number_temp_files(raw, numbers)
        if line.startswith("test result:") or _INFO in line or all(w in line for w in _SUMMARY):
            continue
        name = line.split("...", 1)[0].strip()
        state = next((state for word, state in _WORDS if word in line), None)
        states[name] = state or states.get(name, FAILED)
    return states


def _number_temp_files(line: str, numbers: dict[str, int]) -> str:
    """The line with its temporary files as numbers; all files on a line take the first one's."""
    for pattern in _TEMPORARY:
        match = pattern.search(line)
        if match:
            number = numbers.setdefault(match[0], len(numbers))
            line = pattern.sub(f"/tmp/{number}", line)  # noqa: S108 (text of a log)
    return line
