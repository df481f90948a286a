"""A second round of damaged calls and of texts without one, as blind as the first."""

from __future__ import annotations

from tests.support.damaged_spellings import (
    J_OSLO,
    MAIL,
    N_OSLO,
    N_ROME,
    OSLO,
    ROME,
    ROOMS,
    Call,
)

DAMAGED_LATER: dict[str, tuple[str, list[Call]]] = {
    "chatglm3": ("get_weather\n```python\ntool_call(city='Oslo', days=3)\n```", [OSLO]),
    "glm-4 old": ("get_weather\n{'city': 'Oslo', 'days': 3}", [OSLO]),
    "qwen agent": (
        '✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo", "days": 3}\n✿RESULT✿',
        [OSLO],
    ),
    "llama builtin": ('<|python_tag|>get_weather.call(city="Oslo", days=3)', [OSLO]),
    "hermes params": (
        '<tool_call>{"name": "get_weather", "parameters": {"city": "Oslo", "days": 3}}</tool_call>',
        [OSLO],
    ),
    "hermes args first": (
        '<tool_call>{"arguments": {"city": "Oslo", "days": 3}, "name": "get_weather"}</tool_call>',
        [OSLO],
    ),
    "hermes scratch": (
        f"<scratch_pad>\nGoal: weather\n</scratch_pad>\n<tool_call>\n{N_OSLO}\n</tool_call>",
        [OSLO],
    ),
    "granite 20b": (f"<function_call> {N_OSLO}", [OSLO]),
    "granite 20b two": (f"<function_call> {N_OSLO} <function_call> {N_ROME}", [OSLO, ROME]),
    "deepseek v3.2": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter '
        'name="city" string="true">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name="days" '
        'string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
        [OSLO],
    ),
    "toolace": (
        "[get_weather(city='Oslo', days=3), get_weather(city='Rome', days=1)]",
        [OSLO, ROME],
    ),
    "toolace no quotes": ('[get_weather(city="Oslo",days=3)]</s>', [OSLO]),
    "gorilla": ('<<function>>get_weather(city="Oslo", days=3)', [OSLO]),
    "raven": ("Call: get_weather(city='Oslo', days=3)<bot_end> \nThought: x", [OSLO]),
    "command r7b": (
        '<|START_THINKING|>I will.<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": '
        '"0", "tool_name": "get_weather", "parameters": {"city": "Oslo", "days": 3}},\n '
        '{"tool_call_id": "1", "tool_name": "list_rooms", "parameters": {}}\n]'
        "<|END_ACTION|><|END_OF_TURN_TOKEN|>",
        [OSLO, ROOMS],
    ),
    "harmony code": (
        f"<|channel|>commentary to=functions.get_weather code<|message|>{J_OSLO}<|call|>",
        [OSLO],
    ),
    "harmony analysis call": (
        f"<|channel|>analysis to=functions.get_weather <|constrain|>json<|message|>{J_OSLO}"
        "<|call|>",
        [OSLO],
    ),
    "harmony two": (
        "<|start|>assistant<|channel|>commentary to=functions.get_weather "
        f"<|constrain|>json<|message|>{J_OSLO}<|call|><|start|>assistant"
        f"<|channel|>commentary to=functions.list_rooms <|constrain|>json<|message|>{{}}"
        "<|call|>",
        [OSLO, ROOMS],
    ),
    "harmony preamble": (
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"
        "<|channel|>commentary to=functions.get_weather<|constrain|>json"
        f"<|message|>{J_OSLO}<|call|>",
        [OSLO],
    ),
    "json function key": (
        '{"function": "get_weather", "arguments": {"city": "Oslo", "days": 3}}',
        [OSLO],
    ),
    "json tool key": ('{"tool": "get_weather", "args": {"city": "Oslo", "days": 3}}', [OSLO]),
    "json action": (
        '```json\n{"action": "get_weather", "action_input": {"city": "Oslo", "days": 3}}\n```',
        [OSLO],
    ),
    "json tool_input": (
        '{"tool": "get_weather", "tool_input": {"city": "Oslo", "days": 3}}',
        [OSLO],
    ),
    "json thought": (
        '{"thought": "hm", "tool_name": "get_weather", "tool_args": {"city": "Oslo", "days": 3}}',
        [OSLO],
    ),
    "json nested function": (
        '{"type": "function", "function": {"name": "get_weather", "arguments": {"city": '
        '"Oslo", "days": 3}}}',
        [OSLO],
    ),
    "json name as key": ('{"get_weather": {"city": "Oslo", "days": 3}}', [OSLO]),
    "json lines": (f"{N_OSLO}\n{N_ROME}", [OSLO, ROME]),
    "json commas": (f"{N_OSLO},\n{N_ROME}", [OSLO, ROME]),
    "json in prose": (f"I'll check the weather now.\n\n{N_OSLO}\n\nPlease wait.", [OSLO]),
    "two fences": (f"```json\n{N_OSLO}\n```\n```json\n{N_ROME}\n```", [OSLO, ROME]),
    "python fence": ("```python\nget_weather(city='Oslo', days=3)\n```", [OSLO]),
    "python await": ("```python\nresult = await get_weather(city='Oslo', days=3)\n```", [OSLO]),
    "python positional": ("get_weather('Oslo', 3)", [OSLO]),
    "react no space": (
        'Thought:hm\nAction:get_weather\nAction Input:{"city": "Oslo", "days": 3}',
        [OSLO],
    ),
    "react final made-up": (
        'Action: get_weather\nAction Input: {"city": "Oslo", "days": 3}\nObservation: '
        '{"t": 3}\nFinal Answer: 3',
        [OSLO],
    ),
    "react parens": ('Action: get_weather()\nAction Input: {"city": "Oslo", "days": 3}', [OSLO]),
    "react quotes": ('Action: "get_weather"\nAction Input: {"city": "Oslo", "days": 3}', [OSLO]),
    "react backticks": (
        'Action: `get_weather`\nAction Input: `{"city": "Oslo", "days": 3}`',
        [OSLO],
    ),
    "xml function call attr": (
        '<function_call name="get_weather"><param name="city">Oslo</param><param '
        'name="days">3</param></function_call>',
        [OSLO],
    ),
    "xml cdata": (
        '<invoke name="send_mail"><parameter name="to">["a@b.c"]</parameter><parameter '
        'name="body"><![CDATA[Hi]]></parameter><parameter name="urgent">true</parameter>'
        '<parameter name="parent">null</parameter></invoke>',
        [MAIL],
    ),
    "anthropic block": (
        '{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": '
        '"Oslo", "days": 3}}',
        [OSLO],
    ),
    "gemini function call": (
        '{"functionCall": {"name": "get_weather", "args": {"city": "Oslo", "days": 3}}}',
        [OSLO],
    ),
    "tool_uses": (
        '{"tool_uses": [{"recipient_name": "functions.get_weather", "parameters": {"city": '
        '"Oslo", "days": 3}}]}',
        [OSLO],
    ),
    "internlm plugin old": (
        '<|action_start|><|plugin|>{"name": "get_weather", "parameters": {"city": "Oslo", '
        '"days": 3}}<|action_end|>\n',
        [OSLO],
    ),
    "llama4 functions": (
        '<|python_start|>{"name": "get_weather", "parameters": {"city": "Oslo", "days": '
        "3}}<|python_end|><|eom|>",
        [OSLO],
    ),
    "llama function quotes": (
        '<function="get_weather">{"city": "Oslo", "days": 3}</function>',
        [OSLO],
    ),
    "llama function paren": (
        '<function=get_weather({"city": "Oslo", "days": 3})</function>',
        [OSLO],
    ),
    "llama function close gt": (
        '<function=get_weather{"city": "Oslo", "days": 3}</function>',
        [OSLO],
    ),
    "qwen3 coder quoted": (
        '<tool_call>\n<function="get_weather">\n<parameter="city">Oslo</parameter>\n<parameter="days">3</parameter>\n</function>\n</tool_call>',
        [OSLO],
    ),
    "tool code tag": ("<tool_code>\nprint(get_weather(city='Oslo', days=3))\n</tool_code>", [OSLO]),
    "mistral fence": (f"[TOOL_CALLS]\n```json\n[{N_OSLO}]\n```", [OSLO]),
    "mistral space name": (f"[TOOL_CALLS] get_weather {J_OSLO}", [OSLO]),
    "nemotron toolcall tag": (f"<TOOLCALL>{N_OSLO}</TOOLCALL>", [OSLO]),
    "nemotron 3": (
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        [OSLO],
    ),
    "hunyuan a13b": (f"<tool_calls>[{N_OSLO}]</tool_calls>", [OSLO]),
    "ernie 5 think": (
        f"thinking about it\n</think>\n\n\n<tool_call>\n{N_OSLO}\n</tool_call>",
        [OSLO],
    ),
    "trailing period": (f"<tool_call>{N_OSLO}</tool_call>.", [OSLO]),
    "numbers as words": (
        '<tool_call>{"name":"get_weather","arguments":{"city":"Oslo","days":3.0}}</tool_call>',
        [("get_weather", {"city": "Oslo", "days": 3.0})],
    ),
    "escaped underscore": (
        '<tool_call>{"name": "get\\_weather", "arguments": {"city": "Oslo", "days": 3}}'
        "</tool_call>",
        [OSLO],
    ),
    "html escaped": (
        "<tool_call>{&quot;name&quot;: &quot;get_weather&quot;, &quot;arguments&quot;: "
        "{&quot;city&quot;: &quot;Oslo&quot;, &quot;days&quot;: 3}}</tool_call>",
        [OSLO],
    ),
    "python dict mixed": (
        """<tool_call>{"name": "send_mail", "arguments": {'to': ['a@b.c'], "body": 'Hi', """
        """"urgent": True, "parent": null}}</tool_call>""",
        [MAIL],
    ),
    "single quote apostrophe": (
        "<tool_call>{'name': 'send_mail', 'arguments': {'to': [], 'body': \"it's\"}}</tool_call>",
        [("send_mail", {"to": [], "body": "it's"})],
    ),
    "unquoted keys": ('{name: "get_weather", arguments: {city: "Oslo", days: 3}}', [OSLO]),
    "function tag then json list": (
        '<tools>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}]</tools>',
        [OSLO],
    ),
    "call in bold": ("**get_weather(city='Oslo', days=3)**", [OSLO]),
    "numbered": ("1. get_weather(city='Oslo', days=3)\n2. list_rooms()", [OSLO, ROOMS]),
}
NO_CALLS_LATER: tuple[str, ...] = (
    "The call <tool_call> marks a call.",
    "Use `[TOOL_CALLS]` to call a tool.",
    "Example: get_weather(city=...)",
    "You should call get_weather(city='Oslo') in your code.",
    "get_weather(",
    "get_weather()?",
    "I have called get_weather(city='Oslo', days=3) and it was sunny.",
    "The function get_weather(city='Oslo', days=3) returned sunny.",
    '{"answer": {"name": "Oslo"}}',
    '{"name": "John", "arguments": "none"}',
    "<tool_call>none</tool_call>",
    "<tool_call>{}</tool_call>",
    "<tool_call>[]</tool_call>",
    "<function_calls></function_calls>",
    "[TOOL_CALLS][]",
    "functools[]",
    "Action: finish\nAction Input: sunny",
    "<think>maybe <tool_call>" + N_OSLO + "</tool_call> would work</think>It is sunny.",
    "<think>I could call get_weather(city='Oslo', days=3)",
    '<tool_call>{"name": "get_weather"',
    '```json\n{"name": "get_weather", "arguments": {"city": "Os',
    "print(get_weather)",
    "{'city': 'Oslo'}",
    "get_weather: sunny",
    "list_rooms: 3 rooms",
    "- list_rooms\n- get_weather",
    "Rooms: [list_rooms]",
    "SELECT get_weather('Oslo', 3);",
    "<code>SELECT 1</code>",
    'The JSON schema is {"type": "object", "properties": {"city": {"type": "string"}}}.',
    "import weather\nweather.get('Oslo')",
    'Sorry, I cannot call `get_weather` without a city. For example: get_weather(city="Oslo").',
    '<tool_response>{"name": "get_weather", "content": "sunny"}</tool_response>',
)
