"""Spellings of agents' prompts, of single vendors and of the families that came last."""

from __future__ import annotations

from tests.support.call_writers import (
    Spelling,
    dump,
    each,
    python,
    tags,
    whole,
)

OTHER_SPELLINGS: dict[str, Spelling] = {
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
