"""Tool calls with the small damage of real life are read, and texts without one stay text."""

from __future__ import annotations

import pytest

from evalcore.call_formats import read_calls, split_marked_thought
from evalcore.targets.endpoint.dialect import split_thought
from tests.support import damaged_spellings, damaged_spellings_later
from tests.support.call_writers import TOOLS
from tests.support.rows import each_row

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")

DAMAGED = damaged_spellings.DAMAGED | damaged_spellings_later.DAMAGED_LATER
NO_CALLS = damaged_spellings.NO_CALLS + damaged_spellings_later.NO_CALLS_LATER
#: Read with good will only: what stands before the call says nothing of a form.
LENIENT_ONLY = {"json: a header before", "json: labeled", "json in prose", "python positional"}
LENIENT_ONLY |= {"call in bold", "numbered"}


def read(text: str, *, lenient: bool) -> list[tuple]:
    answer = split_marked_thought(split_thought(text)[1])[1]
    return [tuple(call) for call in read_calls(answer, TOOLS, lenient=lenient).calls]


@each_row("name", DAMAGED)
def test_a_damaged_call_is_read(name):
    text, calls = DAMAGED[name]
    assert read(text, lenient=True) == calls
    assert read(text, lenient=False) == ([] if name in LENIENT_ONLY else calls)


@each_row("lenient", [False, True])
@each_row("text", NO_CALLS)
def test_a_text_without_a_call_stays_text(text, lenient):
    assert read(text, lenient=lenient) == []


def test_there_are_many_of_both():
    assert len(DAMAGED) >= 170
    assert len(NO_CALLS) >= 70
