"""The formats in which families of models write calls, one entry each, with its source.

An entry says how a call opens and what reads it from there. A format with a mark of its own is read
wherever it stands in a text; the names of functions need not be offered. Sources are chat templates
and cards of models on the Hugging Face Hub, parsers of vLLM (`vllm/tool_parsers`) and SGLang
(`srt/function_call`) by their names, and published guides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from evalcore.call_formats import markup
from evalcore.call_formats.objects import (
    ACTION,
    ReadCalls,
    read_actions,
    read_arguments,
    read_objects,
)
from evalcore.call_formats.python_source import parse_python_calls
from evalcore.call_formats.values import OfferedTools, ParsedCall, find_closing_bracket

Reader = Callable[[str, re.Match[str], OfferedTools], ReadCalls | None]


class CallFormat(NamedTuple):
    """How a family writes calls. `opener` matches up to where `read` begins; `closer` is what may
    follow the calls and belongs to them; `mark` is in every text that `opener` matches."""

    key: str
    families: str
    source: str
    opener: re.Pattern[str]
    read: Reader
    closer: re.Pattern[str] | None = None
    mark: str = ""


def _read_objects(text: str, opened: re.Match[str], tools: OfferedTools) -> ReadCalls | None:
    return read_objects(text, opened.end(), tools)


def _read_named_arguments(
    text: str, opened: re.Match[str], tools: OfferedTools
) -> ReadCalls | None:
    """The object of arguments of a call whose name the opener has."""
    decoded = read_arguments(text, opened.end())
    return (
        ([ParsedCall(tools.resolve_name(opened["name"]), decoded[0])], decoded[1])
        if decoded
        else None
    )


_PYTHON_END = re.compile(r"</[\w:]{1,40}>|<\|/?\w{1,40}\|>|\[/?[A-Z_]{3,20}\]|```|<<function>>|\Z")
_PYTHON_FENCE = re.compile(r"\s*(?:```(?:python|py)?\s*)?")
_MAX_ENDS = 4


def _read_python(
    text: str, opened: re.Match[str], tools: OfferedTools, *, offered: bool = False
) -> ReadCalls | None:
    """A bracketed list of Python calls, or statements up to a mark that ends them. With `offered`,
    every call has to be one of an offered tool."""
    fence = _PYTHON_FENCE.match(text, opened.end())
    begin = fence.end() if fence else opened.end()
    listed = find_closing_bracket(text, begin) if text.startswith("[", begin) else None
    ends = [listed] if listed else []
    if not listed:
        marks = _PYTHON_END.finditer(text, begin)
        ends = [mark.start() for mark, _ in zip(marks, range(_MAX_ENDS), strict=False)]
    for end in ends:
        calls = parse_python_calls(text[begin:end], tools)
        if calls and not (offered and any(call.name not in tools for call in calls)):
            return calls, end
    return None


def _repeat(read: Callable[[str, int, OfferedTools], tuple[ParsedCall, int] | None]) -> Reader:
    return lambda text, opened, tools: markup.repeat_calls(read, text, opened.end(), tools)


def _read_key_values(text: str, opened: re.Match[str], tools: OfferedTools) -> ReadCalls | None:
    return markup.read_key_values(text, opened.end(), tools)


def _entry(
    key: str,
    families: str,
    source: str,
    opener: str,
    read: Reader,
    closer: str = "",
    mark: str = "",
) -> CallFormat:
    ending = re.compile(closer) if closer else None
    return CallFormat(key, families, source, re.compile(opener), read, ending, mark)


#: The name that stands between marks.
_NAME = r"(?P<name>[A-Za-z_][\w.-]{0,127})"

#: Formats with a mark of their own. Where two begin at the same offset, the earlier entry is tried
#: first.
FORMATS: tuple[CallFormat, ...] = (
    _entry(
        "qwen3_coder",
        "Qwen3-Coder, Qwen3.5, Nemotron 3, Step-3.5, MiMo",
        "Qwen/Qwen3-Coder-30B-A3B-Instruct chat template; vLLM qwen3_coder, SGLang qwen3_coder",
        r"<tool_call>\s*(?=<function=)",
        _repeat(markup.read_function_tag),
        r"\s*</tool_call>",
    ),
    _entry(
        "hermes",
        "Hermes 2 and 3, Qwen2.5, Qwen3, Granite 3.1 and 4, SmolLM2, SmolLM3, ERNIE 4.5, EXAONE",
        "NousResearch/Hermes-2-Pro-Llama-3-8B chat template; vLLM hermes, granite4, ernie45",
        r"<tool_call>",
        _read_objects,
        r"\s*</tool_call>",
    ),
    _entry(
        "glm4_moe",
        "GLM-4.5 to 4.7, Hunyuan V3, Laguna",
        "zai-org/GLM-4.5 chat template; vLLM glm45, glm47, hy_v3, poolside_v1",
        r"<tool_call(?::\w{1,32})?>(?=\s*[A-Za-z_])",
        _read_key_values,
    ),
    _entry(
        "tool_call_xml",
        "models prompted with XML",
        "markup within <tool_call>: elements that bear names, as agents' prompts ask for it",
        r"<(?:tool_call|function_call|tool_use)>\s*(?=<)",
        lambda text, opened, tools: (
            markup.repeat_calls(markup.read_name_element, text, opened.end(), tools)
            or markup.repeat_calls(markup.read_element, text, opened.end(), tools)
        ),
        r"\s*</(?:tool_call|function_call|tool_use)>",
    ),
    _entry(
        "tool_call_python",
        "Llama and Qwen fine-tunes that mix two forms",
        "Python calls within <tool_call>, as small models write them",
        r"<tool_call>(?=\s*\[?\s*[A-Za-z_][\w.]*\s*\()",
        _read_python,
        r"\s*</tool_call>",
    ),
    _entry(
        "seed_oss",
        "Seed-OSS",
        "ByteDance-Seed/Seed-OSS-36B-Instruct chat template; vLLM seed_oss",
        r"<seed:tool_call>",
        _repeat(markup.read_function_tag),
        r"\s*</seed:tool_call>",
    ),
    _entry(
        "function_tag",
        "Llama 3.1 user-defined functions, Functionary 3.1, Qwen3-Coder without its outer tag",
        "Llama 3.1 prompt format; meetkai/functionary-small-v3.1; vLLM qwen3_coder",
        r"(?=<function=)",
        _repeat(markup.read_function_tag),
        r"\s*</tool_call>",
        mark="<function=",
    ),
    _entry(
        "llama_python_tag",
        "Llama 3.1 to 3.3",
        "Llama 3.1 prompt format; vLLM llama3_json, SGLang llama3",
        r"<\|python_tag\|>",
        lambda text, opened, tools: (
            _read_objects(text, opened, tools) or _read_python(text, opened, tools, offered=True)
        ),
        r"\s*<\|eom_id\|>",
    ),
    _entry(
        "llama4",
        "Llama 4",
        "meta-llama/Llama-4-Scout-17B-16E chat template; vLLM llama4_pythonic, llama4_json",
        r"<\|python_start\|>",
        lambda text, opened, tools: (
            _read_objects(text, opened, tools) or _read_python(text, opened, tools)
        ),
        r"\s*<\|python_end\|>",
    ),
    _entry(
        "mistral_v11",
        "Mistral Small 3.1 and later, Devstral, Magistral",
        "mistral-common tokenizers v11 and v13; vLLM mistral",
        rf"\[TOOL_CALLS\]\s*{_NAME}\s*(?:\[CALL_ID\]\w{{1,64}})?\s*(?:\[ARGS\])?\s*(?=\{{)",
        _read_named_arguments,
    ),
    _entry(
        "mistral_v3",
        "Mistral 7B v0.3, Nemo, Mistral Large, Mixtral",
        "mistral-common tokenizers v3 and v7; vLLM mistral",
        r"\[TOOL_CALLS\]",
        lambda text, opened, tools: (
            _read_objects(text, opened, tools) or _read_listed_names(text, opened.end(), tools)
        ),
        r"\s*(?:\[/TOOL_CALLS\]|</s>)",
    ),
    _entry(
        "tool_call_token",
        "Granite 3.0, Phi-4-mini",
        "microsoft/Phi-4-mini-instruct card; ibm-granite/granite-3.0 chat template; vLLM granite",
        r"<\|tool_call\|>",
        _read_objects,
        r"\s*<\|/tool_call\|>",
    ),
    _entry(
        "functools",
        "Phi-4-mini, Firefunction v2",
        "vLLM phi4_mini_json; fireworks-ai/llama-3-firefunction-v2 chat template",
        r"functools(?=\s?\[)",
        _read_objects,
    ),
    _entry(
        "deepseek_v3",
        "DeepSeek V3, V3-0324 and R1",
        "deepseek-ai/DeepSeek-V3-0324 and R1-0528 chat templates; vLLM deepseek_v3",
        rf"<｜tool▁call▁begin｜>\s*\w{{1,20}}\s*<｜tool▁sep｜>\s*{_NAME}\s*(?=```|\{{)",
        _read_named_arguments,
        r"\s*(?:```)?\s*<｜tool▁call▁end｜>",
    ),
    _entry(
        "deepseek_v31",
        "DeepSeek V3.1",
        "deepseek-ai/DeepSeek-V3.1 chat template; vLLM deepseek_v31",
        rf"<｜tool▁call▁begin｜>\s*{_NAME}\s*<｜tool▁sep｜>",
        _read_named_arguments,
        r"\s*<｜tool▁call▁end｜>",
    ),
    _entry(
        "deepseek_v32",
        "DeepSeek V3.2 and V4",
        "SGLang deepseekv32, deepseekv4 (DSML)",
        r"(?=<｜DSML｜invoke\s)",
        _repeat(markup.read_element),
        mark="<｜DSML｜",
    ),
    _entry(
        "step3",
        "Step-3",
        "stepfun-ai/step3 chat template; vLLM step3",
        r"(?:<｜tool_call_begin｜>\s*function\s*<｜tool_sep｜>\s*)?(?=<steptml:invoke\s)",
        _repeat(markup.read_element),
        r"\s*<｜tool_call_end｜>",
        mark="<steptml:",
    ),
    _entry(
        "kimi_k2",
        "Kimi K2",
        "moonshotai/Kimi-K2-Instruct chat template; vLLM kimi_k2",
        rf"<\|tool_call_begin\|>\s*(?:functions\.)?{_NAME}(?::\d{{1,6}})?"
        r"\s*<\|tool_call_argument_begin\|>",
        _read_named_arguments,
        r"\s*<\|tool_call_end\|>",
    ),
    _entry(
        "kimi_k3",
        "Kimi K3",
        "SGLang kimik3 (XTML)",
        r"(?=<\|open\|>call\s)",
        _repeat(markup.read_xtml_call),
        mark="<|open|>call",
    ),
    _entry(
        "harmony",
        "gpt-oss",
        "openai/harmony format guide; vLLM openai, SGLang gpt_oss",
        r"(?:<\|start\|>\s{0,5}assistant\s{0,5})?"
        r"(?:<\|channel\|>\s{0,5}(?:commentary|analysis)\s{0,5})?"
        rf"to=functions\.{_NAME}\s*(?:<\|channel\|>\s*(?:commentary|analysis))?"
        r"\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*(?:<\|message\|>)?\s*(?=\{)",
        _read_named_arguments,
        r"\s*<\|(?:call|end|return)\|>",
        mark="to=functions.",
    ),
    _entry(
        "minimax_m2",
        "MiniMax M2",
        "MiniMaxAI/MiniMax-M2 tool calling guide; vLLM minimax_m2",
        r"<minimax:tool_call>",
        _repeat(markup.read_element),
        r"\s*</minimax:tool_call>",
    ),
    _entry(
        "minimax_m3",
        "MiniMax M3",
        "SGLang minimax_m3, vLLM minimax_m3",
        r"\]<\]minimax\[>\[\s?<tool_call>",
        _repeat(markup.read_minimax_invoke),
        r"\s*\]<\]minimax\[>\[\s?</tool_call>",
    ),
    _entry(
        "functiongemma",
        "FunctionGemma",
        "google/functiongemma-270m-it card; vLLM functiongemma",
        r"<start_function_call>",
        _repeat(markup.read_gemma_call),
        r"\s*<end_function_call>",
    ),
    _entry(
        "gemma4",
        "Gemma 4",
        "vLLM gemma4, SGLang gemma4, transformers' response template of gemma4",
        r"<\|tool_call>",
        _repeat(markup.read_gemma_call),
        r"\s*<tool_call\|>",
    ),
    _entry(
        "gemma3",
        "Gemma 3, Gemini's text form",
        "Gemma function calling guide (tool_code); vLLM tool_chat_template_gemma3_pythonic",
        r"(?:```|<)tool_code>?",
        partial(_read_python, offered=True),
        r"\s*(?:```|</tool_code>)",
    ),
    _entry(
        "lfm2",
        "LFM2, MiniCPM3",
        "LiquidAI/LFM2-1.2B card, openbmb/MiniCPM3-4B chat template; vLLM lfm2",
        r"<\|tool_call_start\|>",
        lambda text, opened, tools: (
            _read_python(text, opened, tools) or _read_objects(text, opened, tools)
        ),
        r"\s*(?:```)?\s*<\|tool_call_end\|>",
    ),
    _entry(
        "nemotron",
        "Nemotron Nano v2, Llama Nemotron Super, upstream's tags of BFCL",
        "nvidia/NVIDIA-Nemotron-Nano-9B-v2 chat template; vLLM nemotron_json",
        r"(?i:<toolcall>)",
        lambda text, opened, tools: (
            _read_objects(text, opened, tools) or _read_python(text, opened, tools)
        ),
        r"(?i:\s*</toolcall>)",
    ),
    _entry(
        "command_a",
        "Command R7B, Command A",
        "CohereLabs/c4ai-command-r7b-12-2024 chat template; vLLM and SGLang cohere_command4",
        r"<\|START_ACTION\|>",
        _read_objects,
        r"\s*<\|END_ACTION\|>",
    ),
    _entry(
        "command_r",
        "Command R, Command R+",
        "CohereForAI/c4ai-command-r-v01 chat template (tool_use)",
        r"Action:\s{0,5}```(?:json)?",
        _read_objects,
        r"\s*```",
    ),
    _entry(
        "tool_calls_tag",
        "MiniMax M1, Hunyuan A13B, Jamba",
        "vLLM minimax, hunyuan_a13b, jamba; ai21labs/AI21-Jamba-1.5-Mini chat template",
        r"<(?:tool_calls|tools?)>",
        lambda text, opened, tools: (
            _read_objects(text, opened, tools) or _read_python(text, opened, tools, offered=True)
        ),
        r"\s*</(?:tool_calls|tools?)>",
    ),
    _entry(
        "olmo3",
        "OLMo 3",
        "allenai/Olmo-3-7B-Instruct chat template; vLLM olmo3",
        r"<function_calls?>",
        lambda text, opened, tools: (
            _read_objects(text, opened, tools) or _read_python(text, opened, tools)
        ),
        r"\s*</function_calls?>",
    ),
    _entry(
        "apertus",
        "Apertus",
        "swiss-ai/Apertus-8B-Instruct-2509 chat template; vLLM apertus",
        r"<\|tools_prefix\|>",
        _read_objects,
        r"\s*<\|tools_suffix\|>",
    ),
    _entry(
        "internlm2",
        "InternLM 2 and 2.5",
        "internlm/internlm2_5-7b-chat chat template; vLLM internlm",
        r"<\|action_start\|>\s{0,5}<\|plugin\|>",
        _read_objects,
        r"\s*<\|action_end\|>",
    ),
    _entry(
        "named_element",
        "MiniCPM 5, models prompted with Anthropic's XML, BFCL's XML forms",
        "vLLM and SGLang minicpm5; Anthropic's XML function calls; BFCL's format sensitivity",
        r"(?=<(?:antml:)?(?:invoke|function|tool)\s)",
        _repeat(markup.read_element),
        mark=" name=",
    ),
    _entry(
        "smolagents_code",
        "SmolLM3 (python_tools), smolagents",
        "HuggingFaceTB/SmolLM3-3B chat template",
        r"<code>",
        partial(_read_python, offered=True),
        r"\s*</code>",
    ),
    _entry(
        "qwen_agent",
        "Qwen 1 to 2.5 by Qwen-Agent",
        "QwenLM/Qwen-Agent function calling prompt",
        rf"✿FUNCTION✿:\s{{0,5}}{_NAME}\s{{0,5}}✿ARGS✿:",
        _read_named_arguments,
        r"\s*✿RESULT✿:?",
    ),
    _entry(
        "longcat",
        "LongCat-Flash",
        "meituan-longcat/LongCat-Flash-Chat chat template; vLLM longcat",
        r"<longcat_tool_call>",
        lambda text, opened, tools: (
            _read_objects(text, opened, tools) or _read_key_values(text, opened, tools)
        ),
        r"\s*</longcat_tool_call>",
    ),
    _entry(
        "gigachat3",
        "GigaChat 3",
        "vLLM gigachat3",
        r"(?:function call<\|role_sep\|>|<\|function_call\|>)",
        _read_objects,
        r"\s*<\|message_sep\|>",
        mark="function",
    ),
    _entry("pangu", "openPangu", "vLLM pangu", r"\[unused11\]", _read_objects, r"\s*\[unused12\]"),
    _entry(
        "functionary",
        "Functionary 3.2",
        "meetkai/functionary-medium-v3.2 chat template",
        rf">>>{_NAME}\s{{0,5}}(?=\{{)",
        _read_named_arguments,
    ),
    _entry(
        "gorilla",
        "Gorilla OpenFunctions v2",
        "gorilla-llm/gorilla-openfunctions-v2 card",
        r"<<function>>",
        _read_python,
    ),
    _entry(
        "hyperclova",
        "HyperCLOVA X SEED Think",
        "vLLM hyperclovax_seed_think",
        r"-> tool/function_call",
        _read_objects,
    ),
    CallFormat(
        "react",
        "agents prompted with ReAct",
        "Yao et al. 2023, arXiv:2210.03629; LangChain's ReAct prompt",
        ACTION,
        read_actions,
        mark="nput",
    ),
    _entry(
        "tool_element",
        "agents prompted with one element per tool",
        "Cline's prompt of tool use: <TOOL><PARAMETER>value</PARAMETER></TOOL>",
        r"(?=<[A-Za-z_][\w.-]{0,127}>\s{0,20}<[A-Za-z_/])",
        _repeat(markup.read_tool_element),
        mark="</",
    ),
)


_LISTED_NAME = re.compile(rf"[\s,;]*{_NAME}\s*(?:\[ARGS\]\s*)?(?=\{{)")


def _read_listed_names(text: str, offset: int, tools: OfferedTools) -> ReadCalls | None:
    """`name{...}, name{...}` after one mark."""
    calls: list[ParsedCall] = []
    while name := _LISTED_NAME.match(text, offset):
        decoded = read_arguments(text, name.end())
        if not decoded:
            break
        calls.append(ParsedCall(tools.resolve_name(name["name"]), decoded[0]))
        offset = decoded[1]
    return (calls, offset) if calls else None
