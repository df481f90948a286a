"""Tool calls as families write them, with the small damage of real life, labeled before any code
read them; and texts that hold no call, however much they look like one.

The forms are those of the families' chat templates; the damage is what issues of vLLM, SGLang,
llama.cpp and Ollama report: a missing end, prose around it, Python's constants, texts within texts.
"""

from __future__ import annotations

from typing import Any

Call = tuple[str, dict[str, Any]]

OSLO: Call = ("get_weather", {"city": "Oslo", "days": 3})
ROME: Call = ("get_weather", {"city": "Rome", "days": 1})
ROOMS: Call = ("list_rooms", {})
BERLIN: Call = ("get_weather", {"city": "Zürich 東京", "days": 2})
MAIL: Call = ("send_mail", {"to": ["a@b.c"], "body": "Hi", "urgent": True, "parent": None})
QUOTED: Call = ("send_mail", {"to": ["a@b.c"], "body": '{"name": "x", "arguments": {"y": "z"}}'})
LINES: Call = ("send_mail", {"to": [], "body": "one\ntwo\n\nthree"})

J_OSLO = '{"city": "Oslo", "days": 3}'
J_ROME = '{"city": "Rome", "days": 1}'
N_OSLO = '{"name": "get_weather", "arguments": ' + J_OSLO + "}"
N_ROME = '{"name": "get_weather", "arguments": ' + J_ROME + "}"
P_OSLO = '{"name": "get_weather", "parameters": ' + J_OSLO + "}"
J_QUOTED = '{"to": ["a@b.c"], "body": "{\\"name\\": \\"x\\", \\"arguments\\": {\\"y\\": \\"z\\"}}"}'

#: The text and the calls that it holds.
DAMAGED: dict[str, tuple[str, list[Call]]] = {
    "hermes: no end tag": (f"<tool_call>\n{N_OSLO}", [OSLO]),
    "hermes: prose after": (f"<tool_call>\n{N_OSLO}\n</tool_call>\nI will tell you soon.", [OSLO]),
    "hermes: two in one element": (f"<tool_call>\n{N_OSLO}\n{N_ROME}\n</tool_call>", [OSLO, ROME]),
    "hermes: a list in one element": (f"<tool_call>[{N_OSLO}, {N_ROME}]</tool_call>", [OSLO, ROME]),
    "hermes: first end missing": (
        f"<tool_call>\n{N_OSLO}\n<tool_call>\n{N_ROME}\n</tool_call>",
        [OSLO, ROME],
    ),
    "hermes: arguments as a text": (
        '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\", '
        '\\"days\\": 3}"}</tool_call>',
        [OSLO],
    ),
    "hermes: python": (
        "<tool_call>{'name': 'send_mail', 'arguments': {'to': ['a@b.c'], 'body': 'Hi', "
        "'urgent': True, 'parent': None}}</tool_call>",
        [MAIL],
    ),
    "hermes: trailing comma": (
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3,},}'
        "</tool_call>",
        [OSLO],
    ),
    "hermes: brace too much": (f"<tool_call>{N_OSLO}}}</tool_call>", [OSLO]),
    "hermes: brace too few": (f"<tool_call>{N_OSLO[:-1]}</tool_call>", [OSLO]),
    "hermes: fenced within": (f"<tool_call>\n```json\n{N_OSLO}\n```\n</tool_call>", [OSLO]),
    "hermes: fenced around": (f"```xml\n<tool_call>\n{N_OSLO}\n</tool_call>\n```", [OSLO]),
    "hermes: end tag opens": (f"<tool_call>{N_OSLO}<tool_call>", [OSLO]),
    "hermes: unicode escaped": (
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Z\\u00fcrich '
        '\\u6771\\u4eac", "days": 2}}</tool_call>',
        [BERLIN],
    ),
    "hermes: after a thought": (
        f"<think>\nI need weather.\n</think>\n\n<tool_call>\n{N_OSLO}\n</tool_call><|im_end|>",
        [OSLO],
    ),
    "hermes: raw line breaks": (
        '<tool_call>{"name": "send_mail", "arguments": {"to": [], "body": "one\ntwo\n\n'
        'three"}}</tool_call>',
        [LINES],
    ),
    "hermes: capital tag": (f"<TOOL_CALL>{N_OSLO}</TOOL_CALL>", [OSLO]),
    "hermes: JSON in a text argument": (
        '<tool_call>{"name": "send_mail", "arguments": ' + J_QUOTED + "}</tool_call>",
        [QUOTED],
    ),
    "hermes: no arguments": ('<tool_call>{"name": "list_rooms"}</tool_call>', [ROOMS]),
    "hermes: arguments null": (
        '<tool_call>{"name": "list_rooms", "arguments": null}</tool_call>',
        [ROOMS],
    ),
    "qwen3 coder: no outer end": (
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>",
        [OSLO],
    ),
    "qwen3 coder: no outer start": (
        "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        [OSLO],
    ),
    "qwen3 coder: a parameter left open": (
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        [OSLO],
    ),
    "qwen3 coder: two and prose": (
        "Let me look.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n"
        "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n"
        "<tool_call>\n<function=list_rooms>\n</function>\n</tool_call>",
        [OSLO, ROOMS],
    ),
    "qwen3 coder: lines": (
        "<tool_call>\n<function=send_mail>\n<parameter=to>\n[]\n</parameter>\n<parameter=body>\none\ntwo\n\nthree\n</parameter>\n</function>\n</tool_call>",
        [LINES],
    ),
    "llama 3: after a header": (
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{P_OSLO}<|eot_id|>",
        [OSLO],
    ),
    "llama 3: two by semicolon": (
        f'{P_OSLO}; {{"name": "list_rooms", "parameters": {{}}}}',
        [OSLO, ROOMS],
    ),
    "llama 3: with a type": (
        '{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo", "days": "3"}}',
        [("get_weather", {"city": "Oslo", "days": "3"})],
    ),
    "llama 3: python tag, no end": (f"<|python_tag|>{P_OSLO}", [OSLO]),
    "llama 3: pythonic": (
        "[get_weather(city='Oslo', days=3), list_rooms()]<|eot_id|>",
        [OSLO, ROOMS],
    ),
    "llama 3: pythonic with a header": (
        '<|header_start|>assistant<|header_end|>\n\n[get_weather(city="Oslo", days=3)]<|eom|>',
        [OSLO],
    ),
    "llama 3: function element": (f"<function=get_weather>{J_OSLO}</function><|eom_id|>", [OSLO]),
    "llama 3: function element without its end": (f"<function=get_weather>{J_OSLO}", [OSLO]),
    "llama 4: python start": (
        '<|python_start|>[get_weather(city="Zürich 東京", days=2)]<|python_end|>',
        [BERLIN],
    ),
    "llama 4: python start, no end": (
        "<|python_start|>[send_mail(to=['a@b.c'], body='Hi', urgent=True, parent=None)]",
        [MAIL],
    ),
    "mistral v3": (f"[TOOL_CALLS] [{N_OSLO}, {N_ROME}]</s>", [OSLO, ROME]),
    "mistral v3: one object": (f"[TOOL_CALLS]{N_OSLO}</s>", [OSLO]),
    "mistral v3: no last bracket": (f"[TOOL_CALLS][{N_OSLO}", [OSLO]),
    "mistral v7: with ids": (
        '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}, '
        '"id": "abcdefghi"}]',
        [OSLO],
    ),
    "mistral v11": (
        f"Sure.[TOOL_CALLS]get_weather[ARGS]{J_OSLO}[TOOL_CALLS]list_rooms[ARGS]{{}}</s>",
        [OSLO, ROOMS],
    ),
    "mistral v11: no mark of arguments": (f"[TOOL_CALLS]get_weather{J_OSLO}", [OSLO]),
    "mistral v13: thoughts before": (
        f"[THINK]Let me see.[/THINK][TOOL_CALLS]get_weather[ARGS]{J_OSLO}",
        [OSLO],
    ),
    "granite 3": (f"<|tool_call|>[{N_OSLO}]<|end_of_text|>", [OSLO]),
    "granite 3: plain tag": (f"<tool_call>[{N_OSLO}]", [OSLO]),
    "granite 4: two": (
        f"<tool_call>\n{N_OSLO}\n</tool_call>\n<tool_call>\n{N_ROME}\n</tool_call><|end_of_text|>",
        [OSLO, ROME],
    ),
    "phi 4 mini": (f"<|tool_call|>[{N_OSLO}]<|/tool_call|><|end|>", [OSLO]),
    "phi 4 mini: functools": (f"functools[{N_OSLO}]", [OSLO]),
    "phi 4 mini: functools with prose": (
        f"functools[{N_OSLO}]\n\nI asked for the weather.",
        [OSLO],
    ),
    "deepseek v3: no ends": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{J_OSLO}\n```",
        [OSLO],
    ),
    "deepseek v3: two": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{J_OSLO}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{J_ROME}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        [OSLO, ROME],
    ),
    "deepseek v3.1": (
        f"Checking.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{J_OSLO}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        [OSLO],
    ),
    "deepseek v3.1: no last end": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{J_OSLO}",
        [OSLO],
    ),
    "deepseek r1: plain bars": (
        f"<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>get_weather\n```json\n{J_OSLO}\n```<|tool_call_end|>",
        [OSLO],
    ),
    "glm 4: prose after": (f"get_weather\n{J_OSLO}<|observation|>", [OSLO]),
    "glm 4.5": (
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
        [OSLO],
    ),
    "glm 4.5: no line breaks": (
        "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Zürich 東京</arg_value>"
        "<arg_key>days</arg_key><arg_value>2</arg_value></tool_call><|observation|>",
        [BERLIN],
    ),
    "glm 4.5: no last end": (
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n<|observation|>",
        [OSLO],
    ),
    "kimi k2": (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{J_OSLO}<|tool_call_end|><|tool_calls_section_end|>",
        [OSLO],
    ),
    "kimi k2: no section": (
        f"<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{J_OSLO}<|tool_call_end|><|tool_call_begin|>functions.list_rooms:1<|tool_call_argument_begin|>{{}}",
        [OSLO, ROOMS],
    ),
    "kimi k2: id without a name space": (
        f"<|tool_call_begin|>get_weather:12<|tool_call_argument_begin|>{J_OSLO}<|tool_call_end|>",
        [OSLO],
    ),
    "harmony": (
        "<|channel|>analysis<|message|>Need it.<|end|><|start|>assistant"
        "<|channel|>commentary to=functions.get_weather <|constrain|>json"
        f"<|message|>{J_OSLO}<|call|>",
        [OSLO],
    ),
    "harmony: recipient first": (
        "<|start|>assistant to=functions.get_weather<|channel|>commentary json"
        f"<|message|>{J_OSLO}<|call|>",
        [OSLO],
    ),
    "harmony: no call token": (
        f"<|channel|>commentary to=functions.get_weather<|message|>{J_OSLO}",
        [OSLO],
    ),
    "minimax m1": (f"<tool_calls>\n{N_OSLO}\n</tool_calls>", [OSLO]),
    "minimax m1: two lines": (f"<tool_calls>\n{N_OSLO}\n{N_ROME}\n</tool_calls>", [OSLO, ROME]),
    "minimax m2": (
        '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo'
        '</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n'
        "</minimax:tool_call>",
        [OSLO],
    ),
    "minimax m2: no last end": (
        '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo'
        '</parameter>\n<parameter name="days">3</parameter>\n</invoke>',
        [OSLO],
    ),
    "seed-oss": (
        "<seed:think>hm</seed:think><seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n<parameter=days>3</parameter>\n</function>\n</seed:tool_call>",
        [OSLO],
    ),
    "functiongemma": (
        "<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:3}<end_function_call>",
        [OSLO],
    ),
    "functiongemma: no end": (
        "<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:3}",
        [OSLO],
    ),
    "gemma 3: tool code": ("```tool_code\nget_weather(city='Oslo', days=3)\n```", [OSLO]),
    "gemma 3: tool code printed": (
        "```tool_code\nprint(get_weather(city='Oslo', days=3))\n```\nI wait for the result.",
        [OSLO],
    ),
    "gemma 3: list": ("[get_weather(city='Oslo', days=3)]<end_of_turn>", [OSLO]),
    "gemma 4": ('<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>', [OSLO]),
    "gemma 4: two": (
        '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|><|tool_call>call:list_rooms{}<tool_call|>',
        [OSLO, ROOMS],
    ),
    "lfm2": (
        '<|tool_call_start|>[get_weather(city="Oslo", days=3)]<|tool_call_end|>Checking.',
        [OSLO],
    ),
    "lfm2: JSON": (f"<|tool_call_start|>[{N_OSLO}]<|tool_call_end|>", [OSLO]),
    "nemotron": (f"<TOOLCALL>[{N_OSLO}]</TOOLCALL>", [OSLO]),
    "nemotron: no end": (f"<think></think>\n<TOOLCALL>[{N_OSLO}, {N_ROME}]", [OSLO, ROME]),
    "command r": (
        'Action: ```json\n[\n    {\n        "tool_name": "get_weather",\n        '
        '"parameters": {"city": "Oslo", "days": 3}\n    }\n]```',
        [OSLO],
    ),
    "command a": (
        '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", '
        '"parameters": {"city": "Oslo", "days": 3}}\n]<|END_ACTION|>',
        [OSLO],
    ),
    "command a: thoughts, no end": (
        '<|START_THINKING|>I look.<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", '
        '"tool_name": "get_weather", "parameters": {"city": "Oslo", "days": 3}}]',
        [OSLO],
    ),
    "hunyuan": (
        f"<tool_calls>\n<tool_call>get_weather\n```json\n{J_OSLO}\n```\n</tool_call>\n</tool_calls>",
        [OSLO],
    ),
    "olmo 3": (
        '<function_calls>\nget_weather(city="Oslo", days=3)\nlist_rooms()\n</function_calls>',
        [OSLO, ROOMS],
    ),
    "olmo 3: no end": ('<function_calls>get_weather(city="Oslo", days=3)', [OSLO]),
    "apertus": (f'<|tools_prefix|>[{{"get_weather": {J_OSLO}}}]<|tools_suffix|>', [OSLO]),
    "internlm": (f"Let me see.<|action_start|><|plugin|>\n{P_OSLO}<|action_end|>", [OSLO]),
    "jamba": (f"<tool_calls>[\n{N_OSLO}\n]</tool_calls>", [OSLO]),
    "ernie": (
        f"<tool_call>\n{N_OSLO}\n</tool_call>\n\n<tool_call>\n{N_ROME}\n</tool_call>\n",
        [OSLO, ROME],
    ),
    "smollm 3": (f"<think>\n\n</think>\n<tool_call>{N_OSLO}</tool_call>", [OSLO]),
    "smollm 3: code": ('<code>get_weather(city="Oslo", days=3)</code>', [OSLO]),
    "minicpm 3": (
        "<|thought_start|>\nhm\n<|thought_end|>\n<|tool_call_start|>\n```python\n"
        'get_weather(city="Oslo", days=3)\n```\n<|tool_call_end|>',
        [OSLO],
    ),
    "xlam": (f"[{N_OSLO}]", [OSLO]),
    "xlam: tool_calls": (f'{{"tool_calls": [{N_OSLO}]}}', [OSLO]),
    "xlam: fenced": (f"```json\n[{N_OSLO}, {N_ROME}]\n```", [OSLO, ROME]),
    "react": (f"Thought: I need it.\nAction: get_weather\nAction Input: {J_OSLO}", [OSLO]),
    "react: python": (
        "Thought: hm\nAction: get_weather\nAction Input: {'city': 'Oslo', 'days': 3}\n"
        "Observation: sunny\nThought: done\nFinal Answer: sunny",
        [OSLO],
    ),
    "react: bold": (
        f"**Thought:** hm\n**Action:** get_weather\n**Action Input:** {J_OSLO}",
        [OSLO],
    ),
    "react: fenced": (f"Action: get_weather\nAction Input:\n```json\n{J_OSLO}\n```", [OSLO]),
    "claude's older form": (
        '<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Oslo'
        '</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n</function_calls>',
        [OSLO],
    ),
    "xml: tool use": (
        "<tool_use>\n<name>get_weather</name>\n<arguments>\n<city>Oslo</city>\n<days>3</days>\n</arguments>\n</tool_use>",
        [OSLO],
    ),
    "openai in text": (
        '{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": '
        '"get_weather", "arguments": "{\\"city\\": \\"Oslo\\", \\"days\\": 3}"}}]}',
        [OSLO],
    ),
    "openai with content": (
        '{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": '
        '"function", "function": {"name": "get_weather", "arguments": "{\\"city\\": '
        '\\"Oslo\\", \\"days\\": 3}"}}]}',
        [OSLO],
    ),
    "json: comments": (
        '{"name": "get_weather", "arguments": {"city": "Oslo", // the capital\n "days": 3}}',
        [OSLO],
    ),
    "json: curly quotes": (
        "{“name”: “get_weather”, “arguments”: {“city”: “Oslo”, “days”: 3}}",
        [OSLO],
    ),
    "json: a header before": (f"assistant\n{N_OSLO}", [OSLO]),
    "json: labeled": (f"Tool call: {N_OSLO}", [OSLO]),
    "json: twice the same": (f"{N_OSLO}\n{N_OSLO}", [OSLO, OSLO]),
    "python: two lines": ("get_weather(city='Oslo', days=3)\nlist_rooms()", [OSLO, ROOMS]),
    "python: dotted name": ("functions.get_weather(city='Oslo', days=3)", [OSLO]),
    "python: triple quotes": ('[send_mail(to=[], body="""one\ntwo\n\nthree""")]', [LINES]),
    "python: JSON constants": (
        "[send_mail(to=['a@b.c'], body='Hi', urgent=true, parent=null)]",
        [MAIL],
    ),
}

_TAG = "<tool_call>"
#: Texts without a call, for every reader.
NO_CALLS: tuple[str, ...] = (
    "The weather in Oslo will be fine for 3 days.",
    "I would call get_weather for that, but I have no city.",
    "Which city do you mean: Oslo or Rome?",
    "You can use get_weather(city, days) for forecasts.",
    "`get_weather` takes a city and a number of days.",
    "The arguments are city and days.",
    "I cannot help with that.",
    '{"city": "Oslo", "days": 3}',
    '```json\n{"temperature": 21, "unit": "C"}\n```',
    '{"result": "sunny", "city": "Oslo"}',
    '<tool_response>\n{"temperature": 21}\n</tool_response>',
    f"{_TAG}",
    f"{_TAG}\n</tool_call>",
    f'{_TAG}\n{{"name": "get_weather", "arguments": {{"city": "Os',
    f"{_TAG}get_weather",
    "[TOOL_CALLS]",
    "[TOOL_CALLS]get_weather[ARGS]",
    '[TOOL_CALLS]get_weather[ARGS]{"city": "Os',
    "<function=get_weather>",
    "<function=get_weather><parameter=city>Os",
    "<|python_tag|>",
    "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>",
    "Action: get_weather",
    "Action: None\nFinal Answer: It is sunny.",
    "Thought: I know it.\nFinal Answer: sunny",
    "SELECT name FROM rooms WHERE days = 3;",
    "```sql\nSELECT COUNT(*) FROM rooms;\n```",
    "def get_weather(city, days):\n    return 'sunny'",
    "```python\ndef get_weather(city, days=3):\n    return fetch(city, days)\n```",
    "1. list_rooms\n2. get_weather",
    '{"name": "Oslo Hotel", "rooms": 12}',
    '[{"name": "Oslo", "days": 3}, {"name": "Rome", "days": 1}]',
    '{"name": "get_weather", "description": "The weather", "parameters": {"type": '
    '"object", "properties": {}}}',
    "<answer>list_rooms</answer>",
    "print('hello')",
    "No tool is needed here: 2 + 2 = 4.",
    "<|channel|>final<|message|>It is sunny in Oslo.<|return|>",
    "天气很好，不需要调用 get_weather。",
    "",
    "{}",
    "[]",
    "null",
)
