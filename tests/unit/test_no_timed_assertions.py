"""No assertion on elapsed time stays in the tests: on a busy machine it fails for no reason.

What is to be fast is measured by a script in perf/; what is to be bounded is counted here, and what
may hang runs under `tests.support.hangs.stop_hang`. What is waited for gets a minute: only a test
that fails waits so long.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CLOCKS = frozenset(
    f"{name}{unit}"
    for name in ("perf_counter", "monotonic", "process_time", "thread_time", "time")
    for unit in ("", "_ns")
) | {"timeit", "now", "utcnow"}
#: Where results of the code under test say how long something took.
DURATIONS = frozenset({"seconds", "elapsed"})
#: The shortest time after which a test may give up waiting, in seconds.
PATIENCE = 30
#: Calls that wait, and which of their arguments says how long, where it is not named `timeout`.
WAITS = {"wait_for": 1, "timeout": 0, "join": 0, "wait": 9, "communicate": 9, "urlopen": 9}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def timed_assertions(source: str, timers: frozenset[str] = frozenset()) -> list[int]:
    """List the lines that fail a test for a difference of clock readings or what rests on it.

    `timers` names functions of other modules that return such a difference.
    """
    tree = ast.parse(source)
    timers |= timer_functions(tree)
    lines = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert) and _bounds_duration(node.test)
    }
    for function in _functions(tree, timers):
        spans = _span_names(function, timers)
        clocks = _clock_names(function)
        for test in _requirements(function):
            if not _is_least(test) and _holds_span(test, spans, clocks, timers):
                lines.add(test.lineno)
    return sorted(lines)


def timer_functions(tree: ast.AST) -> frozenset[str]:
    """Name the functions that return a difference of clock readings."""
    return frozenset(
        function.name
        for function in _functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Return | ast.Yield)
        and node.value is not None
        and _holds_span(
            node.value,
            _span_names(function, frozenset()),
            _clock_names(function),
            frozenset(),
        )
    )


def impatient_waits(source: str) -> list[int]:
    """List the lines that give up waiting sooner than PATIENCE, with a number of their own."""
    tree = ast.parse(source)
    expected = {
        id(node) for block in ast.walk(tree) if _expects_timeout(block) for node in ast.walk(block)
    }
    return sorted(
        node.lineno
        for node in ast.walk(tree)
        if id(node) not in expected
        if isinstance(limit := _time_limit(node), ast.Constant)
        if isinstance(limit.value, int | float) and limit.value < PATIENCE
    )


def _expects_timeout(node: ast.AST) -> bool:
    return isinstance(node, ast.With | ast.AsyncWith) and any(
        "TimeoutError" in ast.unparse(item.context_expr) for item in node.items
    )


def _time_limit(node: ast.AST) -> ast.expr | None:
    """The time after which a call gives up waiting, or that a deadline adds to the clock."""
    if isinstance(node, ast.Call) and _name(node.func) in WAITS:
        limits = [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
        if isinstance(node.func, ast.Attribute):
            limits += node.args[WAITS[_name(node.func)] :]
        return limits[0] if limits else None
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        deadline = node.value
        if isinstance(deadline.op, ast.Add) and _reads_clock(deadline.left, set()):
            return None if "process_time" in ast.unparse(deadline.left) else deadline.right
    return None


def _functions(tree: ast.AST, timers: frozenset[str] = frozenset()) -> Iterator[Function]:
    """Yield the functions that call a clock or a timer."""
    for function in ast.walk(tree):
        if isinstance(function, Function) and any(
            isinstance(node, ast.Call) and _name(node.func) in CLOCKS | timers
            for node in ast.walk(function)
        ):
            yield function


def _requirements(function: Function) -> Iterator[ast.expr]:
    """Yield what must hold: what is asserted, and the contrary of what makes the test fail."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            yield node.test
        elif isinstance(node, ast.If) and any(map(_fails, node.body)):
            yield ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node)


def _fails(step: ast.stmt) -> bool:
    return isinstance(step, ast.Raise) or (
        isinstance(step, ast.Expr)
        and isinstance(step.value, ast.Call)
        and _name(step.value.func) == "fail"
    )


def _bounds_duration(test: ast.expr) -> bool:
    """Whether it compares a measured duration with anything that it may exceed."""
    return any(
        isinstance(part, ast.Attribute) and part.attr in DURATIONS
        for node in ast.walk(test)
        if isinstance(node, ast.Compare) and not _is_least(node)
        if any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)
        for part in (node.left, *node.comparators)
    )


def _is_least(test: ast.expr) -> bool:
    """Whether it asks for so much time at least, which a busy machine always takes."""
    return (
        isinstance(test, ast.Compare)
        and not isinstance(test.left, ast.Constant)
        and all(isinstance(op, ast.Gt | ast.GtE) for op in test.ops)
        and all(isinstance(node, ast.Constant | ast.Name) for node in test.comparators)
    )


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _reads_clock(node: ast.AST, clocks: set[str]) -> bool:
    if isinstance(node, ast.Call):
        return _name(node.func) in CLOCKS
    return isinstance(node, ast.Name | ast.Attribute) and _name(node) in clocks


def _assignments(function: Function) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each assigned target with its value, those of tuples one by one."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if (
                    isinstance(target, ast.Tuple)
                    and isinstance(node.value, ast.Tuple)
                    and len(target.elts) == len(node.value.elts)
                ):
                    yield from zip(target.elts, node.value.elts, strict=True)
                else:
                    yield target, node.value
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value:
            yield node.target, node.value
        elif isinstance(node, ast.Call) and _name(node.func) in ("append", "add"):
            yield from ((node.func.value, value) for value in node.args)  # type: ignore[attr-defined]


def _clock_names(function: Function) -> set[str]:
    """Name what holds a reading of a clock."""
    return {
        _name(target) for target, value in _assignments(function) if _reads_clock(value, set())
    } - {""}


def _span_names(function: Function, timers: frozenset[str]) -> set[str]:
    """Name what holds a difference of readings, or is computed from one."""
    clocks, spans, before = _clock_names(function), set[str](), -1
    while len(spans) > before:
        before = len(spans)
        for target, value in _assignments(function):
            if _holds_span(value, spans, clocks, timers):
                base = target.value if isinstance(target, ast.Subscript) else target
                names = base.elts if isinstance(base, ast.Tuple) else [base]
                spans |= {_name(name) for name in names} - {""}
    return spans


def _holds_span(tree: ast.AST, spans: set[str], clocks: set[str], timers: frozenset[str]) -> bool:
    """Whether it subtracts readings of a clock, or uses such a difference."""
    return any(
        (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Sub)
            and _reads_clock(node.left, clocks)
            and (_reads_clock(node.right, clocks) or isinstance(node.left, ast.Call))
        )
        or (isinstance(node, ast.Name | ast.Attribute) and _name(node) in spans)
        or (isinstance(node, ast.Call) and _name(node.func) in timers)
        for node in ast.walk(tree)
    )


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("    assert time.perf_counter() - start < 2", 1),
        ("    assert time.monotonic_ns() - start < 2", 1),
        ("    assert 0.1 <= asyncio.get_running_loop().time() - began < 0.3", 1),
        ("    assert loop.time() - began >= 0.1", 0),
        ("    assert 2 > loop.time() - began", 1),
        ("    took = time.monotonic() - start\n    assert took < 1", 1),
        ("    spent.append(time.process_time() - start)\n    assert min(spent) < 1", 1),
        ("    spent[0] = time.process_time() - start\n    assert min(spent) < 1", 1),
        ("    assert end - start < 2", 0),
        ("    start = time.time()\n    end = time.time()\n    assert end - start < 2", 1),
        ("    start, x = time.time(), 1\n    end = time.time()\n    assert end - start < 2", 1),
        ("    a = perf_counter() - x\n    ratio = a / 3\n    assert ratio < 2", 1),
        ("    assert timed(run) < timed(other)", 1),
        ("    assert timed(run) > timed(other)", 1),
        ("    if time.time() - start > 2:\n        pytest.fail('slow')", 1),
        ("    if time.time() - start > 2:\n        raise AssertionError", 1),
        ("    assert done.seconds < 3", 1),
        ("    assert 0 < done.elapsed < 3", 1),
        ("    assert done.elapsed > 0", 0),
        ("    assert limits.seconds == 3", 0),
        ("    assert timeit.timeit(run) < 2", 0),
        ("    assert time.monotonic() < until, 'nothing came'", 0),
    ],
)
def test_what_is_an_assertion_on_time(body, count):
    assert len(timed_assertions(f"def test():\n{body}\n", frozenset({"timed"}))) == count


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("await asyncio.wait_for(task, 5)", 1),
        ("await asyncio.wait_for(task, timeout=5)", 1),
        ("await asyncio.wait_for(task, 60)", 0),
        ("async with asyncio.timeout(0.5): pass", 1),
        ("until = time.monotonic() + 10", 1),
        ("until = time.monotonic() + 60", 0),
        ("until = time.monotonic() + PATIENCE", 0),
        ("thread.join(10)", 1),
        ("', '.join(words)", 0),
        ("urlopen(address, timeout=5)", 1),
        ("pull(store, timeout=5)", 0),
        ("until = time.process_time() + 0.3", 0),
        ("with pytest.raises(TimeoutError): await asyncio.wait_for(task, 0.1)", 0),
        ("with pytest.raises(KeyError): await asyncio.wait_for(task, 0.1)", 1),
    ],
)
def test_what_is_waited_for_too_short(line, count):
    assert len(impatient_waits(f"async def test():\n    {line}\n")) == count


def test_a_function_that_measures_is_a_timer():
    source = "def f(run):\n    start = time.time()\n    run()\n    return time.time() - start\n"
    assert timer_functions(ast.parse(source)) == {"f"}
    assert timed_assertions(f"{source}def test():\n    assert f(run) < 1\n") == [6]


def test_no_assertion_on_elapsed_time():
    sources = {path: path.read_text("utf-8") for path in sorted(TESTS.rglob("*.py"))}
    clocks = re.compile(rf"\b({'|'.join(CLOCKS)})\(")
    timers = frozenset[str]().union(
        *(timer_functions(ast.parse(text)) for text in sources.values() if clocks.search(text))
    )
    durations = re.compile(rf"\b({'|'.join(CLOCKS | timers)})\(|\.({'|'.join(DURATIONS)})\b")
    lines = {
        path.relative_to(TESTS).as_posix(): lines
        for path, source in sources.items()
        if durations.search(source) and (lines := timed_assertions(source, timers))
    }
    assert not lines, "count the work instead, or measure it in perf/"


def test_nothing_is_waited_for_too_short():
    waits = re.compile(rf"\b({'|'.join(WAITS)})\(|\b({'|'.join(CLOCKS)})\(\) \+ ")
    sources = {path: path.read_text("utf-8") for path in sorted(TESTS.rglob("*.py"))}
    lines = {
        path.relative_to(TESTS).as_posix(): lines
        for path, source in sources.items()
        if waits.search(source) and (lines := impatient_waits(source))
    }
    assert not lines, "a busy machine needs longer; wait a minute"
