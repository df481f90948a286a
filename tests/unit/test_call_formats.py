"""The one reader of tool calls: every spelling of every family, and text that must stay text."""

from __future__ import annotations

import random

import pytest

from evalcore.call_formats import load_formats, read_calls, split_marked_thought
from tests.support.call_spellings import SPELLINGS
from tests.support.call_writers import EMPTY, ONE, TOOLS, TWO, dump, objects, python
from tests.support.hangs import stop_hang
from tests.support.rows import each_row

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")


def read(text, **options):
    return [tuple(call) for call in read_calls(text, TOOLS, **options).calls]


@each_row("lenient", [False, True])
@each_row("calls", [ONE, TWO, EMPTY])
@each_row("name", SPELLINGS)
def test_every_spelling_is_read(name, calls, lenient):
    spelling = SPELLINGS[name]
    if len(calls) > 1 and not spelling.several:
        calls = calls[1:]
    reading = read_calls(split_marked_thought(spelling.write(calls))[1], TOOLS, lenient=lenient)
    assert [tuple(call) for call in reading.calls] == list(calls)
    assert reading.format


def test_the_spellings_differ_and_are_sixty_or_more():
    assert len({spelling.write(ONE) for spelling in SPELLINGS.values()}) >= 60
    several = [spelling for spelling in SPELLINGS.values() if spelling.several]
    assert len({spelling.write(TWO) for spelling in several}) >= 60


def test_every_format_has_a_source_and_reads_a_spelling():
    keys = {
        read_calls(split_marked_thought(spelling.write(calls))[1], TOOLS).format
        for spelling in SPELLINGS.values()
        for calls in (ONE, EMPTY)
    }
    prompted = {"tool_call_xml", "tool_call_python", "tool_element"}
    prompted |= {"react_source", "functionary_v2", "inkling", "dots", "chatglm3"}
    assert {form.key for form in load_formats()} - keys == prompted
    assert all(form.source and form.families for form in load_formats())
    assert len({form.key for form in load_formats()}) == len(load_formats())


@each_row(
    "text",
    [
        "<tool_call><name>get_weather</name><arguments>"
        '{"city": "Oslo", "days": 3}</arguments></tool_call>',
        "<function_call>\n<name>get_weather</name>\n<parameters>"
        "<city>Oslo</city><days>3</days></parameters></function_call>",
        '<tool_call>get_weather(city="Oslo", days=3)</tool_call>',
        "<get_weather>\n<city>Oslo</city>\n<days>3</days>\n</get_weather>",
        '<tool name="get_weather"><argument name="city" value="Oslo"/>'
        '<argument name="days" type="integer">3</argument></tool>',
        '<invoke name="get_weather">{"city": "Oslo", "days": 3}</invoke>',
        '<function_call name="get_weather">{"city": "Oslo", "days": 3}</function_call>',
        "<function_calls><invoke><tool_name>get_weather</tool_name><parameters>"
        "<city>Oslo</city><days>3</days></parameters></invoke></function_calls>",
        '<tool_call>get_weather\n{"city": "Oslo", "days": 3}</tool_call>',
        '<tool_call>{{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}}'
        "</tool_call>",
        "<|tool_call_begin|>function<|tool_sep|>get_weather"
        '\n```json\n{"city": "Oslo", "days": 3}\n```',
        '<|channel|>commentary to=get_weather<|message|>{"city": "Oslo", "days": 3}<|call|>',
        '<|recipient|>get_weather<|content|>{"city": "Oslo", "days": 3}',
        '<dots_function_call>\n<invoke name="get_weather"><parameter name="city">Oslo</parameter>'
        '<parameter name="days">3</parameter></invoke>\n</dots_function_call>',
        'get_weather: {"city": "Oslo", "days": 3}',
        'Thought: hm\nAction: get_weather(city="Oslo", days=3)\nObservation: rain',
        'Call: get_weather(city="Oslo", days=3)<bot_end>\nThought: done',
        'Action: {"action": "get_weather", "action_input": {"city": "Oslo", "days": 3}}',
        '{"functionCall": {"name": "get_weather", "args": {"city": "Oslo", "days": 3}}}',
        '{"type": "tool_use", "name": "get_weather", "input": {"city": "Oslo", "days": 3}}',
        '```python\nresult = get_weather(city="Oslo", days=3)\nprint(result)\n```',
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}\n'
        "</tool_call>",
        "<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Oslo', 'days': 3}}</tool_call>",
        '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}}',
        '{"name": "functions.get_weather", "arguments": "{\\"city\\": \\"Oslo\\", \\"days\\": 3}"}',
        'commentary to=functions.get_weather json{"city": "Oslo", "days": 3}',
        'Action: get_weather\nAction Input: {"city": "Oslo", "days": 3}\nObservation: rain\n'
        'Action: get_weather\nAction Input: {"city": "Rome", "days": 3}',
        'I look.\n```json\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}\n```',
    ],
)
def test_other_dresses(text):
    assert read(text) == list(ONE)


# What was cut is never completed.

CUT = [name for name, spelling in SPELLINGS.items() if spelling.several]


def check_cuts(name, step):
    text = split_marked_thought(SPELLINGS[name].write(TWO))[1]
    whole = [[], [TWO[0]], list(TWO)]
    for end in range(len(name) % step, len(text), step):
        assert read(text[:end], lenient=True) in whole, text[:end]


@each_row("name", CUT)
def test_a_cut_answer_holds_only_whole_calls(name):
    check_cuts(name, 41)


@pytest.mark.full
@pytest.mark.parametrize("name", CUT)
def test_an_answer_cut_anywhere_holds_only_whole_calls(name):
    check_cuts(name, 1)


# Prose that quotes a call.

OSLO, ROME = (dump({"name": "get_weather", "arguments": {"city": c}}) for c in ("Oslo", "Rome"))


@pytest.mark.parametrize(
    "text",
    [
        f"For example you could call `{OSLO}`. I now call\n{ROME}",
        f"For example:\n```json\n{OSLO}\n```\nBut here it is:\n```json\n{ROME}\n```",
        f"You could call <tool_call>{OSLO}</tool_call> for that.\n<tool_call>{ROME}</tool_call>",
        f'You could use get_weather(city="Oslo"), or so.\n\n<tool_call>\n{ROME}\n</tool_call>',
        f"A call such as {OSLO} would be wrong. The call:\n\n{ROME}\n",
        f"例如可以调用 {OSLO}\n\n{ROME}",
    ],
)
def test_a_quoted_call_is_none_where_a_real_one_follows(text):
    assert read(text, lenient=True) == [("get_weather", {"city": "Rome"})]


@pytest.mark.parametrize(
    "text",
    [
        f"I would write {OSLO} here.",
        "get_weather",
        "[get_weather(days=-1e999)]",
        '{"name": "get_weather", "arguments": {"days": 1e999}}',
        'Action: ```json\n[{"tool_name": "directly-answer", "parameters": {}}]\n```',
        "Try it:\n```python\nget_weather(city='Oslo')\n```\nIt prints the weather.",
        "The tool get_weather(city) takes a city.",
        "```python\nimport os\nos.remove('x')\n```",
        '```json\n{"name": "Lamp", "price": 3}\n```',
        '{"name": "unknown", "arguments": {}}',
        "<b>bold</b> <code>x = 1</code>",
        "<|python_tag|>print(1 + 1)",
        "Action: think about it\n",
        "[1, 2]",
        "[]",
        "",
    ],
)
def test_plain_text_stays_text(text):
    assert read_calls(text, TOOLS)[:2] == ((), text)


# Mixtures.


def test_two_formats_are_both_read_in_order():
    text = f"[TOOL_CALLS]list_rooms{{}}\n<tool_call>{ROME}</tool_call>"
    assert read(text) == [("list_rooms", {}), ("get_weather", {"city": "Rome"})]


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("tools", [TOOLS, [{"type": "function", "function": t} for t in TOOLS]])
def test_definitions_of_tools_that_a_model_repeats_are_no_calls(tools, lenient):
    for text in (dump(tools), dump(tools[0]), f"The tools:\n```json\n{dump(tools)}\n```"):
        assert read(text, lenient=lenient) == []
        assert read(f"<tool_call>{text}</tool_call>", lenient=lenient) == []
    text = f"<tools>{dump(tools)}</tools>\n<tool_call>{ROME}</tool_call>"
    assert read(text, lenient=lenient) == [("get_weather", {"city": "Rome"})]


def test_a_schema_is_an_argument_where_a_tool_takes_one():
    tool = {"name": "check", "parameters": {"properties": {"type": {}, "properties": {}}}}
    arguments = {"type": "object", "properties": {"a": {}}}
    text = dump({"name": "check", "arguments": arguments})
    assert [tuple(call) for call in read_calls(text, [tool]).calls] == [("check", arguments)]


@pytest.mark.parametrize("key", ["result", "content", "output", "response", "error"])
def test_results_that_a_model_makes_up_are_no_calls(key):
    text = dump({"name": "list_rooms", key: {"rooms": 3}})
    for made_up in (text, f"<tool_response>\n{text}\n</tool_response>", f"So: {text}"):
        assert read(made_up, lenient=True) == []
    assert read(dump({"name": "list_rooms", "id": "c"})) == [("list_rooms", {})]


@each_row("name", SPELLINGS)
def test_line_breaks_of_windows_are_line_breaks(name):
    for calls in (ONE, EMPTY):
        text = split_marked_thought(SPELLINGS[name].write(calls).replace("\n", "\r\n"))[1]
        assert [called for called, _ in read(text)] == [called for called, _ in calls]


def test_a_name_on_its_own_line_is_read_among_prose_with_good_will():
    text = f"I look it up.\n\n{SPELLINGS['glm-4'].write(ONE)}\nThen I tell you."
    assert read(text, lenient=True) == list(ONE)
    assert read(text.replace("get_weather", "weather"), lenient=True) == []


def test_a_call_repeated_in_a_second_format_counts_once():
    text = f"<tool_call>{ROME}</tool_call><|python_tag|>{ROME}"
    assert read(text) == [("get_weather", {"city": "Rome"})]


def test_equal_calls_of_one_format_are_kept():
    assert len(read(f"<tool_call>{ROME}</tool_call>" * 2)) == 2


def test_marks_within_arguments_are_text():
    body = "<tool_call>[TOOL_CALLS]</tool_call> <function=list_rooms></function> ```"
    call = ("send_mail", {"to": [], "body": body})
    assert read(f"<tool_call>{dump(objects([call])[0])}</tool_call>") == [call]
    assert read(f"<|tool_call_start|>[{python([call])}]<|tool_call_end|>") == [call]


MARKED = "[TOOL_CALLS]list_rooms{} <tool_call>{'name': 'list_rooms'}</tool_call>"


@each_row("name", SPELLINGS)
def test_marks_of_other_formats_within_arguments_are_text(name):
    call = ("send_mail", {"to": [], "body": MARKED})
    text = split_marked_thought(SPELLINGS[name].write([call]))[1]
    assert read(text, lenient=True) == [call]
    for end in range(3, len(text), 7):
        assert read(text[:end], lenient=True) in ([], [call]), text[:end]


#: Spellings without a thought, which is cut away wherever it stands.
QUOTED = [name for name, s in SPELLINGS.items() if not split_marked_thought(s.write(ONE))[0]]
#: Formats that cannot escape their own end: a call quoted in an argument ends it.
UNESCAPED = {(name, name) for name in ("kimi k3", "functiongemma", "gemma 4", "minicpm 5")}
UNESCAPED |= {("solar open 2", "solar open 2")}
UNESCAPED |= {("python code", "gemma 3 pythonic")}


def check_quoted_calls(name, quoted_names):
    for quoted in quoted_names:
        if (name, quoted) in UNESCAPED:
            continue
        body = f"see {SPELLINGS[quoted].write(ONE)} ok"
        call = ("send_mail", {"to": ["x"], "body": body})
        text = split_marked_thought(SPELLINGS[name].write([call]))[1]
        assert read(text, lenient=True) == [call], quoted
        assert read(text[: len(text) * 93 // 100], lenient=True) in ([], [call]), quoted


@each_row("name", SPELLINGS)
def test_a_call_quoted_in_an_argument_is_text(name):
    check_quoted_calls(name, QUOTED[list(SPELLINGS).index(name) % 9 :: 9])


@pytest.mark.full
@pytest.mark.parametrize("name", SPELLINGS)
def test_any_call_quoted_in_an_argument_is_text(name):
    check_quoted_calls(name, QUOTED)


def test_objects_within_a_cut_call_are_no_calls():
    inner = {"name": "list_rooms", "arguments": {}}
    text = dump({"name": "send_mail", "arguments": {"options": inner, "to": []}})
    for end in range(1, len(text) - 2):
        assert read(text[:end], lenient=True) == []


def test_what_is_left_is_the_text_around_the_calls():
    reading = read_calls(f"Well.\n<tool_call>{ROME}</tool_call>\nDone.", TOOLS)
    assert reading.rest == "Well.\n\nDone."
    assert reading.format == "hermes"


def test_values_between_tags_follow_the_schema():
    text = SPELLINGS["qwen3 coder"].write([("get_weather", {"city": 7, "days": "three"})])
    assert read(text) == [("get_weather", {"city": "7", "days": "three"})]


def test_a_thought_in_a_familys_tokens_is_no_text():
    text = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi"
    thought, answer = split_marked_thought(text)
    assert thought == "hm"
    assert answer == "Hi"
    assert split_marked_thought("An answer with [THINK] in it")[0] == ""
    assert split_marked_thought("<|START_THINKING|>never closed") == ("never closed", "")


# Hostile text.

PIECES = [
    *("{", "[", "(", '"', "'", "`", "```", "\n", " ", "<", ">", "a", "中", "\\", "\ud800", "1,"),
    *('{"a":', "{'a':", "f(a=", "[f(", "<tool_call>", "</tool_call>", "<function=f>", "<think>"),
    *("<parameter=a>", "<arg_key>a</arg_key><arg_value>", '<invoke name="f">', "call:f{a:", "[["),
    *('<parameter name="a">', "[TOOL_CALLS]", "f[ARGS]{", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>"),
    *("<|tool_call>call:f{a:[", "]<]minimax[>[<a>", "]<]minimax[>[<tool_call>", "Action: f\n"),
    *("Action Input:", "to=functions.f{", '<|open|>call tool="f"<|sep|>', "functools[", "<a>"),
    *(
        "<get_weather>",
        "<|python_tag|>",
        '{"name": "f", "arguments": {',
        "for example ",
        "```json\n",
    ),
    *('<tool_call>{"name":"f","arguments":{}}</tool_call>', "[TOOL_CALLS]f{}", "f(a=1)\n"),
    *('{"name":"f","arguments":{}}\n', '```\n{"name":"f","arguments":{}}\n```', "<f><a>1</a></f>"),
    *("<start_function_call>call:f{a:<escape>", "<<function>>", ">>>f\n{", "- f(a=1)\n", "[1,"),
]


@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_one_piece_over_and_over_ends_soon(piece):
    text = piece * (200_000 // len(piece))
    with stop_hang():
        read_calls(text, TOOLS, lenient=True)
        split_marked_thought(text)


@pytest.mark.full
@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_a_megabyte_ends_soon(piece):
    with stop_hang():
        read_calls((piece * (1_000_000 // len(piece) + 1))[:1_000_000], TOOLS, lenient=True)


def test_random_mixtures_never_raise():
    chance = random.Random(18)
    texts = [spelling.write(ONE) for spelling in SPELLINGS.values()]
    for _ in range(400):
        parts = [chance.choice(PIECES) for _ in range(chance.randrange(1, 12))]
        text = chance.choice(texts)
        at = chance.randrange(len(text) + 1)
        parts.insert(
            chance.randrange(len(parts) + 1), text[:at] + chance.choice(PIECES) + text[at:]
        )
        for call in read_calls("".join(parts), TOOLS, lenient=True).calls:
            assert call.name
