"""Hostile variants of real documents, for tests of whatever reads them.

EVALBOARD_FUZZ is the number of examples of each reader; the usual one is small, and always the same
examples.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import hypothesis
import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from evalcore.intake.json_text import is_deeper
from evalcore.records import to_json

FUZZ = settings(
    max_examples=int(os.environ.get("EVALBOARD_FUZZ", "40")),
    derandomize="EVALBOARD_FUZZ" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def fuzz(
    *strategies: st.SearchStrategy[Any],
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run a test on many examples of the strategies."""
    return lambda test: FUZZ(hypothesis.given(*strategies)(test))


# -- what comes ------------------------------------------------------------------------------------

#: JSON texts of values; most of them no reader expects at its place, some no JSON at all.
LEAVES = st.sampled_from(
    [
        *("null", "true", "0", "-1", "1.5", "-0.0", "12.0", '""', '"x"', '"1e999"', '"NaN"', "[]"),
        *("{}", "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e308", "5e-324"),
        *(str(10**30), str(-(10**30)), str(2**53), str(2**63), str(2**64), "9" * 400, "9" * 5000),
        *(
            '"\\ud800"',
            '"\\udc00x"',
            '"\\ud83d\\ude00"',
            '"\\u0000"',
            '"\u2028"',
            '"' + "y" * 3000 + '"',
        ),
        *("[" * 99 + "]" * 99, "[" * 150 + "]" * 150, '{"a":' * 150 + "1" + "}" * 150),
        *("[" * 3000 + "]" * 3000, '{"a":1,"a":2}', "[[1,2],[NaN]]", '{"\\ud800":1}', "tru", '"'),
    ]
)
BYTES = st.sampled_from(
    [
        *(b"", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b'"'),
        *(
            b"\\",
            b"[",
            b"{",
            b"}",
            b"]",
            b",",
            b":",
            b"9" * 50,
            b"[" * 500,
            b"- " * 500,
            b"? " * 200,
        ),
        *(b"&a ", b"*a", b"!!", b"\xf0\x9f\x98\x80", b"#", b"'", b'"""', b"a.b.", b" \t ", b"<<: "),
        *(b"..", b"PK"),
    ]
)


def leaves_of(value: Any, steps: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values within plain data."""
    listed = value if isinstance(value, list) else []
    inner = list(value.items()) if isinstance(value, dict) else list(enumerate(listed))
    return [steps] + [leaf for name, child in inner for leaf in leaves_of(child, (*steps, name))]


@st.composite
def distorted(draw: st.DrawFn, documents: Any) -> bytes:
    """JSON of one of the documents, with values replaced by hostile ones, and then bytes."""
    document = draw(st.sampled_from(documents))
    document = json.loads(json.dumps(document))
    marks: dict[str, str] = {}
    for number in range(draw(st.integers(0, 3))):
        drawn = draw(st.sampled_from(leaves_of(document)))
        marks[f'"@{number}@"'] = draw(LEAVES)
        document = replaced(document, drawn, f"@{number}@")
    text = json.dumps(document, ensure_ascii=draw(st.booleans()))
    for mark, leaf in marks.items():
        text = text.replace(mark, leaf)
    return draw(mangled(text.encode("utf-8", "surrogatepass")))


def replaced(document: Any, steps: tuple[Any, ...], value: Any) -> Any:
    if not steps:
        return value
    holder = document
    for name in steps[:-1]:
        holder = holder[name]
    holder[steps[-1]] = value
    return document


@st.composite
def mangled(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes cut, exchanged or put in, in up to three places."""
    for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 0, 1, 5, 100])))
        content = content[:start] + draw(BYTES) + content[end:]
    return content


@st.composite
def lines(draw: st.DrawFn, documents: Any) -> bytes:
    """JSON lines, most of them whole."""
    parts = draw(st.lists(distorted(documents), max_size=4))
    return draw(st.sampled_from([b"\n", b"\r\n", b"\n\n", b""])).join(parts) + draw(
        st.sampled_from([b"\n", b""])
    )


def refusal(error: type[Exception], read: Callable[[], Any]) -> str:
    """What a reader says against its text, "" where it takes it; any other error is a fault."""
    try:
        written(read())
    except error as problem:
        return str(problem) or type(problem).__name__
    return ""


def written(value: Any) -> None:
    """What a reader gave can be written and read again, and holds no number that is none."""
    again = msgspec.json.decode(to_json(value))
    msgspec.json.encode(again)
    assert not is_deeper(again, 1000)
