"""Spellings of tool calls as model families emit them, each with the source it was written from.

A spelling writes a list of calls into the text of an answer. The texts follow published chat
templates (Hugging Face model repositories), the parsers of vLLM 0.2x (`vllm/tool_parsers`) and
SGLang (`srt/function_call`), and llama.cpp's `models/templates`.
"""

from __future__ import annotations

import json

from tests.support.call_writers import (
    DS_BEGIN,
    DS_CALL,
    DS_DONE,
    DS_END,
    DS_SEP,
    Spelling,
    cohere,
    dump,
    each,
    gemma_calls,
    kimi_k3,
    minimax_m3,
    objects,
    python,
    tags,
    whole,
)
from tests.support.other_call_spellings import OTHER_SPELLINGS

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
}
SPELLINGS |= OTHER_SPELLINGS
