"""Spellings of tool calls as model families emit them, each with the source it was written from.

A spelling writes a list of calls into the text of an answer. The texts follow published chat
templates (Hugging Face model repositories), the parsers of vLLM 0.2x (`vllm/tool_parsers`) and
SGLang (`srt/function_call`), and llama.cpp's `models/templates`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Call = tuple[str, dict[str, Any]]
Calls = Sequence[Call]

TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
    {
        "name": "send_mail",
        "description": "Send a mail.",
        "parameters": {
            "type": "object",
            "properties": {
                "to": {"type": "array", "items": {"type": "string"}},
                "body": {"type": "string"},
                "options": {"type": "object"},
                "weight": {"type": "number"},
                "urgent": {"type": "boolean"},
                "parent": {"type": ["string", "null"]},
            },
            "required": ["to", "body"],
        },
    },
    {"name": "list_rooms", "description": "All rooms.", "parameters": {"type": "object"}},
]

ONE: Calls = (("get_weather", {"city": "Oslo", "days": 3}),)
EMPTY: Calls = (("list_rooms", {}),)
#: Nested arguments, unicode, both quotes, line breaks within a string, numbers, booleans and null.
MAIL: Call = (
    "send_mail",
    {
        "to": ["zoë@example.org", "李雷"],
        "body": 'Dear "Zoë",\nit\'s 5 < 6 & done {ok} [1].\n\tBye',
        "options": {"tags": ["a", "b c"], "deep": {"n": [1, 2.5, -3], "none": None, "yes": True}},
        "weight": -0.5,
        "urgent": False,
        "parent": None,
    },
)
TWO: Calls = (("get_weather", {"city": "São Paulo", "days": 12}), MAIL)


class Spelling(NamedTuple):
    """How a family writes calls. `several` says whether one answer can hold more than one call."""

    source: str
    write: Callable[[Calls], str]
    several: bool = True


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def objects(calls: Calls, arguments: str = "arguments", name: str = "name") -> list[dict[str, Any]]:
    return [{name: called, arguments: values} for called, values in calls]


def python(calls: Calls) -> str:
    written = (
        f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"
        for name, values in calls
    )
    return ", ".join(written)


def plain(value: Any) -> str:
    """A value between tags: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else dump(value)


def each(form: str, join: str = "", arguments: str = "arguments") -> Callable[[Calls], str]:
    """One text per call, with its name, its arguments and the object of both in JSON."""
    return lambda calls: join.join(
        form.replace("@name", name)
        .replace("@args", dump(values))
        .replace("@call", dump({"name": name, arguments: values}))
        .replace("@number", str(number))
        for number, (name, values) in enumerate(calls)
    )


def whole(before: str, after: str, arguments: str = "arguments") -> Callable[[Calls], str]:
    """A list of the objects of all calls between two texts."""
    return lambda calls: before + dump(objects(calls, arguments)) + after


def tags(before: str, argument: str, after: str, start: str = "", end: str = "", join: str = "\n"):
    """One element per call, with one per argument; @name, @key, @value, @type, @text are set."""

    def write(calls: Calls) -> str:
        texts = []
        for name, values in calls:
            inner = "".join(
                argument.replace("@key", key)
                .replace("@text", "true" if isinstance(value, str) else "false")
                .replace("@type", TYPES[type(value)])
                .replace("@value", plain(value))
                for key, value in values.items()
            )
            texts.append(before.replace("@name", name) + inner + after)
        return start + join.join(texts) + end

    return write


TYPES = {
    **{str: "string", int: "integer", float: "number", bool: "boolean", list: "array"},
    **{dict: "object", type(None): "null"},
}


def gemma(quote: str) -> Callable[[Any], str]:
    """Gemma's notation of values: keys without quotes, texts between tokens."""

    def write(value: Any) -> str:
        if isinstance(value, str):
            return f"{quote}{value}{quote}"
        if isinstance(value, dict):
            return "{" + ",".join(f"{key}:{write(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        return dump(value)

    return write


def gemma_calls(before: str, after: str, quote: str) -> Callable[[Calls], str]:
    return lambda calls: "".join(
        f"{before}call:{name}{gemma(quote)(values)}{after}" for name, values in calls
    )


def cohere(calls: Calls) -> str:
    listed = [
        {"tool_call_id": str(number), "tool_name": name, "parameters": values}
        for number, (name, values) in enumerate(calls)
    ]
    thought = "<|START_THINKING|>I will look.<|END_THINKING|>"
    return f"{thought}<|START_ACTION|>{dump(listed)}<|END_ACTION|>"


def minimax_m3(calls: Calls) -> str:
    mark = "]<]minimax[>["

    def element(key: str, value: Any) -> str:
        if isinstance(value, dict):
            inner = "".join(element(name, item) for name, item in value.items())
        elif isinstance(value, list):
            inner = "".join(element("item", item) for item in value)
        else:
            inner = plain(value)
            return f"{mark}<{key}>{inner}{mark}</{key}>"
        return f"{mark}<{key}>{inner}{mark}</{key}>"

    invokes = "".join(
        f'{mark}<invoke name="{name}">'
        + "".join(element(key, value) for key, value in values.items())
        + f"{mark}</invoke>"
        for name, values in calls
    )
    return f"{mark}<tool_call>\n{invokes}\n{mark}</tool_call>"


def kimi_k3(calls: Calls) -> str:
    texts = [
        f'<|open|>call tool="{name}" index="{number}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{key}" type="{TYPES[type(value)]}"<|sep|>{plain(value)}'
            "<|close|>argument<|sep|>"
            for key, value in values.items()
        )
        + "<|close|>call<|sep|>"
        for number, (name, values) in enumerate(calls, 1)
    ]
    body = "".join(texts)
    return f"<|open|>tools<|sep|>{body}<|close|>tools<|sep|><|close|>message<|sep|>"


DS_BEGIN, DS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
DS_CALL, DS_SEP, DS_DONE = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"

SPELLINGS: dict[str, Spelling] = {
    "hermes": Spelling(
        "NousResearch/Hermes-2-Pro and Qwen2.5/Qwen3 chat templates; vLLM `hermes`",
        each("<tool_call>\n@call\n</tool_call>", "\n"),
    ),
    "hermes after thinking": Spelling(
        "Qwen3 chat template with thinking", each("<tool_call>\n@call\n</tool_call>", "\n")
    ),
    "hermes unclosed": Spelling(
        "vLLM `hermes` (end of text in place of the end tag)",
        lambda calls: "\n".join(f"<tool_call>\n{dump(c)}\n" for c in objects(calls)),
    ),
    "hermes list": Spelling(
        "SmolLM2 chat template: a list between the tags", whole("<tool_call>", "</tool_call>")
    ),
    "smollm3 xml": Spelling(
        "HuggingFaceTB/SmolLM3-3B chat template, xml_tools",
        each("<tool_call>@call</tool_call>", "\n"),
    ),
    "smollm3 code": Spelling(
        "HuggingFaceTB/SmolLM3-3B chat template, python_tools",
        lambda calls: f"<code>\n{chr(10).join(python([c]) for c in calls)}\n</code>",
    ),
    "qwen3 coder": Spelling(
        "Qwen3-Coder chat template; vLLM `qwen3_coder`",
        tags(
            "<tool_call>\n<function=@name>\n",
            "<parameter=@key>\n@value\n</parameter>\n",
            "</function>\n</tool_call>",
        ),
    ),
    "qwen3 coder without tool_call": Spelling(
        "vLLM `qwen3_coder` back-off: the outer tag is left out",
        tags("<function=@name>\n", "<parameter=@key>\n@value\n</parameter>\n", "</function>"),
    ),
    "nemotron 3": Spelling(
        "nvidia/NVIDIA-Nemotron-3-Nano chat template (Qwen coder form, outer tag closed once)",
        tags(
            "<tool_call>\n<function=@name>\n",
            "<parameter=@key>\n@value\n</parameter>\n",
            "</function>\n</tool_call>",
        ),
    ),
    "llama 3.1 json": Spelling(
        "meta-llama/Llama-3.1 chat template; vLLM `llama3_json`",
        each("@call", "; ", "parameters"),
    ),
    "llama 3.1 python tag": Spelling(
        "meta-llama/Llama-3.1 prompt format: <|python_tag|>",
        lambda calls: "<|python_tag|>" + each("@call", "; ", "parameters")(calls) + "<|eom_id|>",
    ),
    "llama 3.1 function tag": Spelling(
        "meta-llama/Llama-3.1 prompt format: user-defined functions",
        each("<function=@name>@args</function>"),
    ),
    "llama 3.1 builtin": Spelling(
        "meta-llama/Llama-3.1 prompt format: built-in tools",
        lambda calls: (
            "<|python_tag|>" + "; ".join(python([c]).replace("(", ".call(", 1) for c in calls)
        ),
    ),
    "llama 3.2 pythonic": Spelling(
        "meta-llama/Llama-3.2 prompt format; vLLM `pythonic`", lambda calls: f"[{python(calls)}]"
    ),
    "llama 4 pythonic": Spelling(
        "meta-llama/Llama-4 chat template; vLLM `llama4_pythonic`",
        lambda calls: f"<|python_start|>[{python(calls)}]<|python_end|>",
    ),
    "llama 4 json": Spelling(
        "meta-llama/Llama-4 chat template; vLLM `llama4_json`",
        lambda calls: (
            "<|python_start|>" + each("@call", "; ", "parameters")(calls) + "<|python_end|>"
        ),
    ),
    "mistral v3": Spelling(
        "mistral-common tokenizer v3, Mistral-7B-Instruct-v0.3 template",
        lambda calls: "[TOOL_CALLS] " + dump([{**c, "id": "a1b2c3d4e"} for c in objects(calls)]),
    ),
    "mistral v7": Spelling("mistral-common tokenizer v7", whole("[TOOL_CALLS]", "</s>")),
    "mistral v11": Spelling("mistral-common tokenizer v11", each("[TOOL_CALLS]@name[ARGS]@args")),
    "mistral v13": Spelling(
        "mistral-common tokenizer v13 (Devstral, Magistral)",
        each("[TOOL_CALLS]@name[CALL_ID]a1b2c3d4e[ARGS]@args"),
    ),
    "mistral v11 without args token": Spelling(
        "vLLM `mistral`, special tokens skipped", each("[TOOL_CALLS]@name@args")
    ),
    "granite 3.0": Spelling("vLLM `granite`, granite 3.0", whole("<|tool_call|>", "")),
    "granite 3.1": Spelling("vLLM `granite`, granite 3.1 and later", whole("<tool_call>", "")),
    "granite 20b": Spelling("vLLM `granite-20b-fc`", each("<function_call> @call", " ")),
    "granite 4": Spelling(
        "ibm-granite/granite-4.0 chat template; vLLM `granite4`",
        each("<tool_call>\n@call\n</tool_call>", "\n"),
    ),
    "phi-4-mini": Spelling("vLLM `phi4_mini_json`", whole("functools", "")),
    "phi-4-mini tokens": Spelling(
        "microsoft/Phi-4-mini-instruct model card", whole("<|tool_call|>", "<|/tool_call|>")
    ),
    "deepseek v3": Spelling(
        "deepseek-ai/DeepSeek-V3-0324 template; vLLM `deepseek_v3`",
        lambda calls: (
            DS_BEGIN
            + each(f"{DS_CALL}function{DS_SEP}@name\n```json\n@args\n```{DS_DONE}", "\n")(calls)
            + DS_END
        ),
    ),
    "deepseek r1": Spelling(
        "deepseek-ai/DeepSeek-R1-0528 template (text and calls)",
        lambda calls: (
            "I look it up."
            + DS_BEGIN
            + each(f"{DS_CALL}function{DS_SEP}@name\n```json\n@args\n```{DS_DONE}", "\n")(calls)
            + DS_END
            + "<｜end▁of▁sentence｜>"
        ),
    ),
    "deepseek v3.1": Spelling(
        "deepseek-ai/DeepSeek-V3.1 template; vLLM `deepseek_v31`",
        lambda calls: DS_BEGIN + each(f"{DS_CALL}@name{DS_SEP}@args{DS_DONE}")(calls) + DS_END,
    ),
    "deepseek v3.2": Spelling(
        "SGLang `deepseekv32` (DSML)",
        tags(
            '<｜DSML｜invoke name="@name">\n',
            '<｜DSML｜parameter name="@key" string="@text">@value</｜DSML｜parameter>\n',
            "</｜DSML｜invoke>",
            "<｜DSML｜function_calls>\n",
            "\n</｜DSML｜function_calls>",
        ),
    ),
    "deepseek v4": Spelling(
        "SGLang `deepseekv4` (DSML, tool_calls)",
        tags(
            '<｜DSML｜invoke name="@name">\n',
            '<｜DSML｜parameter name="@key" string="@text">@value</｜DSML｜parameter>\n',
            "</｜DSML｜invoke>",
            "<｜DSML｜tool_calls>\n",
            "\n</｜DSML｜tool_calls>",
        ),
    ),
    "glm-4": Spelling(
        "THUDM/GLM-4-0414 template: name, line break, JSON", each("@name\n@args"), False
    ),
    "glm-4.5": Spelling(
        "zai-org/GLM-4.5 template; vLLM `glm45`",
        tags(
            "<tool_call>@name\n",
            "<arg_key>@key</arg_key>\n<arg_value>@value</arg_value>\n",
            "</tool_call>",
        ),
    ),
    "glm-4.7": Spelling(
        "zai-org/GLM-4.7 template; vLLM `glm47`",
        tags(
            "<tool_call>@name",
            "<arg_key>@key</arg_key><arg_value>@value</arg_value>",
            "</tool_call>",
            join="",
        ),
    ),
    "kimi k2": Spelling(
        "moonshotai/Kimi-K2 template; vLLM `kimi_k2`",
        lambda calls: (
            "<|tool_calls_section_begin|>"
            + each(
                "<|tool_call_begin|>functions.@name:@number"
                "<|tool_call_argument_begin|>@args<|tool_call_end|>"
            )(calls)
            + "<|tool_calls_section_end|>"
        ),
    ),
    "kimi k3": Spelling("SGLang `kimik3` (XTML)", kimi_k3),
    "gpt-oss": Spelling(
        "openai/harmony format guide; vLLM `openai`",
        lambda calls: (
            "<|channel|>analysis<|message|>I need it.<|end|>"
            + each(
                "<|start|>assistant<|channel|>commentary to=functions.@name "
                "<|constrain|>json<|message|>@args<|call|>"
            )(calls)
        ),
    ),
    "gpt-oss recipient in role": Spelling(
        "openai/harmony format guide: recipient in the role",
        lambda calls: (
            "<|channel|>analysis<|message|>I need it.<|end|>"
            + each(
                "<|start|>assistant to=functions.@name<|channel|>commentary json"
                "<|message|>@args<|call|>"
            )(calls)
        ),
    ),
    "minimax m1": Spelling(
        "MiniMaxAI/MiniMax-M1 function calling guide; vLLM `minimax`",
        lambda calls: "<tool_calls>\n" + each("@call", "\n")(calls) + "\n</tool_calls>",
    ),
    "minimax m2": Spelling(
        "MiniMaxAI/MiniMax-M2 guide; vLLM `minimax_m2`",
        tags(
            '<invoke name="@name">\n',
            '<parameter name="@key">@value</parameter>\n',
            "</invoke>",
            "<minimax:tool_call>\n",
            "\n</minimax:tool_call>",
        ),
    ),
    "minimax m3": Spelling("SGLang `minimax_m3`", minimax_m3),
    "seed-oss": Spelling(
        "ByteDance-Seed/Seed-OSS template; vLLM `seed_oss`",
        tags(
            "<seed:tool_call>\n<function=@name>\n",
            "<parameter=@key>@value</parameter>\n",
            "</function>\n</seed:tool_call>",
        ),
    ),
    "functiongemma": Spelling(
        "google/functiongemma-270m-it card; vLLM `functiongemma`",
        gemma_calls("<start_function_call>", "<end_function_call>", "<escape>"),
    ),
    "gemma 4": Spelling(
        "vLLM and SGLang `gemma4`, transformers' response template",
        gemma_calls("<|tool_call>", "<tool_call|>", '<|"|>'),
    ),
    "gemma 3 tool_code": Spelling(
        "Gemma 3 function calling guide: tool_code fence",
        lambda calls: f"```tool_code\n{chr(10).join(python([c]) for c in calls)}\n```",
    ),
    "gemma 3 pythonic": Spelling(
        "vLLM tool_chat_template_gemma3_pythonic",
        lambda calls: f"```tool_code\nprint([{python(calls)}])\n```",
    ),
    "lfm2": Spelling(
        "LiquidAI/LFM2 card; vLLM `lfm2`",
        lambda calls: f"<|tool_call_start|>[{python(calls)}]<|tool_call_end|>Checking.",
    ),
    "lfm2 json": Spelling(
        "LiquidAI/LFM2 card, JSON on request", whole("<|tool_call_start|>", "<|tool_call_end|>")
    ),
    "nemotron nano v2": Spelling(
        "nvidia/NVIDIA-Nemotron-Nano-9B-v2 template", whole("<TOOLCALL>", "</TOOLCALL>")
    ),
    "command r": Spelling(
        "CohereForAI/c4ai-command-r-v01 tool use template",
        lambda calls: (
            "Action: ```json\n"
            + json.dumps(objects(calls, "parameters", "tool_name"), indent=4, ensure_ascii=False)
            + "\n```"
        ),
    ),
    "command a": Spelling(
        "CohereLabs Command R7B and A templates; SGLang `cohere_command4`", cohere
    ),
    "hunyuan a13b": Spelling("vLLM `hunyuan_a13b`", whole("<tool_calls>", "</tool_calls>")),
    "hunyuan dense": Spelling(
        "tencent/Hunyuan-7B-Instruct template",
        lambda calls: (
            "<tool_calls>\n"
            + each("<tool_call>@name\n```json\n@args\n```\n</tool_call>")(calls)
            + "\n</tool_calls>"
        ),
    ),
    "solar open": Spelling(
        "upstage/Solar-Open-100B template",
        each(
            "<|tool_call:begin|>c@number<|tool_call:name|>@name<|tool_call:args|>@args<|tool_call:end|>"
        ),
    ),
    "hunyuan v3": Spelling(
        "vLLM `hy_v3`",
        tags(
            "<tool_call>@name<tool_sep>",
            "<arg_key>@key</arg_key>\n<arg_value>@value</arg_value>\n",
            "</tool_call>",
            "<tool_calls>\n",
            "\n</tool_calls>",
        ),
    ),
    "olmo 3": Spelling(
        "allenai/Olmo-3 template; vLLM `olmo3`",
        lambda calls: (
            f"<function_calls>\n{chr(10).join(python([c]) for c in calls)}\n</function_calls>"
        ),
    ),
    "apertus": Spelling(
        "swiss-ai/Apertus template; vLLM `apertus`",
        lambda calls: (
            "<|tools_prefix|>"
            + dump([{name: values} for name, values in calls])
            + "<|tools_suffix|>"
        ),
    ),
    "internlm 2": Spelling(
        "internlm/internlm2_5 template; vLLM `internlm`",
        each("<|action_start|><|plugin|>\n@call<|action_end|>", "", "parameters"),
    ),
    "jamba": Spelling(
        "ai21labs/AI21-Jamba template; vLLM `jamba`",
        lambda calls: f"<tool_calls>[\n{each('@call', ',' + chr(10))(calls)}\n]</tool_calls>",
    ),
    "ernie 4.5": Spelling(
        "baidu/ERNIE-4.5 template; vLLM `ernie45`",
        each("\n<tool_call>\n@call\n</tool_call>\n"),
    ),
    "minicpm 3": Spelling(
        "openbmb/MiniCPM3-4B template",
        lambda calls: (
            "<|thought_start|>\nI look.\n<|thought_end|>\n<|tool_call_start|>\n```python\n"
            + "\n".join(python([c]) for c in calls)
            + "\n```\n<|tool_call_end|>"
        ),
    ),
    "minicpm 5": Spelling(
        "vLLM `minicpm5`, SGLang `minicpm5`",
        tags(
            '<function name="@name">',
            '<param name="@key"><![CDATA[@value]]></param>',
            "</function>",
        ),
    ),
    "xlam": Spelling("Salesforce/xLAM-2 card; vLLM `xlam`", whole("", "")),
    "xlam 1": Spelling(
        "Salesforce/xLAM-1b-fc-r card",
        lambda calls: dump({"thought": "", "tool_calls": objects(calls)}),
    ),
    "xlam fence": Spelling("vLLM `xlam`: code block", whole("```json\n", "\n```")),
    "react": Spelling(
        "ReAct prompts (LangChain, Qwen 1)",
        lambda calls: (
            "Thought: I need it.\n"
            + each("Action: @name\nAction Input: @args", "\nObservation: \n")(calls)
        ),
        False,
    ),
    "qwen agent": Spelling(
        "Qwen-Agent function calling prompt", each("✿FUNCTION✿: @name\n✿ARGS✿: @args", "\n")
    ),
    "anthropic xml": Spelling(
        "Anthropic's XML function calls",
        tags(
            '<invoke name="@name">\n',
            '<parameter name="@key">@value</parameter>\n',
            "</invoke>",
            "<function_calls>\n",
            "\n</function_calls>",
        ),
    ),
    "step 3": Spelling(
        "stepfun-ai/step3 template; vLLM `step3`",
        tags(
            '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="@name">',
            '<steptml:parameter name="@key">@value</steptml:parameter>',
            "</steptml:invoke><｜tool_call_end｜>",
            "<｜tool_calls_begin｜>",
            "<｜tool_calls_end｜>",
            "",
        ),
    ),
    "longcat": Spelling(
        "meituan-longcat/LongCat-Flash template; vLLM `longcat`",
        each("<longcat_tool_call>@call</longcat_tool_call>", "\n"),
    ),
    "gigachat 3": Spelling("vLLM `gigachat3`", each("function call<|role_sep|>\n@call"), False),
    "pangu": Spelling("vLLM `pangu`", whole("[unused11]", "[unused12]")),
    "functionary 3.2": Spelling("meetkai/functionary-v3.2 template", each(">>>@name\n@args", "\n")),
    "gorilla": Spelling(
        "gorilla-llm/gorilla-openfunctions-v2 card",
        lambda calls: "".join(f"<<function>>{python([c])}" for c in calls),
    ),
    "hyperclova": Spelling(
        "naver-hyperclovax/HyperCLOVAX-SEED-Think template", whole("-> tool/function_call\n", "")
    ),
    "openai json": Spelling(
        "OpenAI's message as JSON",
        lambda calls: dump(
            {
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": n, "arguments": dump(a)}}
                    for n, a in calls
                ]
            }
        ),
    ),
    "python code": Spelling(
        "code agents (smolagents): a python fence",
        lambda calls: f"```py\n{chr(10).join(python([c]) for c in calls)}\n```<end_code>",
    ),
    "python lines": Spelling(
        "ToolACE and small models: one call per line",
        lambda calls: "\n".join(python([c]) for c in calls),
    ),
    "gemini tool_code": Spelling(
        "Gemini's leaked tool_code: print(default_api.f(...))",
        lambda calls: (
            "<tool_code>\n"
            + "\n".join(f"print(default_api.{python([c])})" for c in calls)
            + "\n</tool_code>"
        ),
    ),
    "gigachat 3.5": Spelling(
        "vLLM `gigachat35` (GCML)",
        tags(
            '<｜GCML｜invoke name="@name">\n',
            '<｜GCML｜parameter name="@key" string="@text">@value</｜GCML｜parameter>\n',
            "</｜GCML｜invoke>",
            "<｜GCML｜tool_calls>\n",
            "\n</｜GCML｜tool_calls></s>",
        ),
    ),
    "deepseek v4.1": Spelling(
        "SGLang `deepseekv41` (DSML with a blank)",
        tags(
            '<｜DSML｜ invoke name="@name">\n',
            '<｜DSML｜ parameter name="@key" string="@text">@value</｜DSML｜ parameter>\n',
            "</｜DSML｜ invoke>\n",
            "\n\n<｜DSML｜ calls>\n",
            "</｜DSML｜ calls>",
            join="",
        ),
    ),
    "deepseek v4.1 json": Spelling(
        "SGLang `deepseekv41` (its grammar of required calls)",
        lambda calls: (
            "\n\n<｜DSML｜ calls>\n"
            + each('<｜DSML｜ invoke name="@name">@args</｜DSML｜ invoke>\n')(calls)
            + "</｜DSML｜ calls>"
        ),
    ),
    "muse": Spelling(
        "SGLang `muse_glimmer` (ATEM)",
        tags(
            '<atem:invoke name="@name">\n',
            '<atem:parameter name="@key">@value</atem:parameter>\n',
            "</atem:invoke>",
            "<atem:function_calls>\n",
            "\n</atem:function_calls>",
        ),
    ),
    "k2 horizon": Spelling(
        "vLLM `k2_horizon` (xml)",
        tags(
            "<ifm|tool_call>@name\n",
            "<ifm|arg_key>@key</ifm|arg_key>\n<ifm|arg_value>@value</ifm|arg_value>\n",
            "</ifm|tool_call>",
            "<ifm|think>hm</ifm|think>\n<ifm|tool_calls>\n",
            "\n</ifm|tool_calls>",
        ),
    ),
    "k2 horizon typed": Spelling(
        "vLLM `k2_horizon` (xml_typed)",
        tags(
            "<ifm|tool_call>@name\n",
            "<ifm|arg_key>@key</ifm|arg_key>\n<ifm|arg_type>@type</ifm|arg_type>\n"
            "<ifm|arg_value>@value</ifm|arg_value>\n",
            "</ifm|tool_call>",
            "<ifm|tool_calls>",
            "</ifm|tool_calls>",
        ),
    ),
    "k2 horizon json": Spelling(
        "vLLM `k2_horizon` (json)",
        each("<ifm|tool_call>\n@call\n</ifm|tool_call>", "\n"),
    ),
    "iquest q1": Spelling(
        "SGLang `iquest_q1`",
        tags(
            "<iquest_tool_call>@name",
            "<arg_key>@key</arg_key><arg_value>@value</arg_value>",
            "</iquest_tool_call>",
        ),
    ),
    "hunyuan v4": Spelling(
        "vLLM `hy_v4`",
        tags(
            "<tool_call:6124c78e>@name",
            "<arg_key:6124c78e>@key</arg_key:6124c78e>"
            "<arg_value:6124c78e>@value</arg_value:6124c78e>",
            "</tool_call:6124c78e>",
            "<tool_calls:6124c78e>",
            "</tool_calls:6124c78e>",
        ),
    ),
    "ling 3": Spelling(
        "vLLM `ling3`: a line break that is written out",
        tags(
            "<tool_call>@name\\n",
            "<arg_key>@key</arg_key>\n<arg_value>@value</arg_value>\n",
            "</tool_call>",
        ),
    ),
    "glm 5 flash": Spelling(
        "SGLang `glm53_flash`", each("<tool_call>@name>@args</tool_call>", "\n")
    ),
    "step audio 2": Spelling(
        "vLLM `step_audio_2`", each("<tool_call>function\n@name\n@args</tool_call>")
    ),
    "solar open 2": Spelling(
        "vLLM `solar_open2`",
        tags(
            "<|tool_call:start|>@name\n",
            "<|tool_arg:start|>@key<|tool_arg:value|>@value<|tool_arg:end|>\n",
            "<|tool_call:end|>",
        ),
    ),
    "plamo 3": Spelling(
        "vLLM and SGLang `plamo3`",
        lambda calls: (
            "<|plamo:begin_tool_requests:plamo|>"
            + each(
                "<|plamo:begin_tool_request:plamo|>"
                "<|plamo:begin_tool_name:plamo|>@name<|plamo:end_tool_name:plamo|>"
                "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>@args"
                "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"
            )(calls)
            + "<|plamo:end_tool_requests:plamo|>"
        ),
    ),
    "openpangu 2": Spelling(
        "vLLM `openpangu_v2`", whole("<|tool_call_start|>", "<|tool_call_end|>")
    ),
    "rwkv": Spelling("vLLM `rwkv`", each("**Tool Call:**\n```json\n@call\n```", "\n")),
    "glaive": Spelling(
        "glaiveai/glaive-function-calling-v2: arguments in single quotes",
        lambda calls: "\n".join(
            f'<functioncall> {{"name": "{name}", "arguments": {dump(dump(values))}}} <|endoftext|>'
            for name, values in calls
        ),
    ),
}
