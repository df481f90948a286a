"""The cards of the kinds of target: their key prefixes and options, for pages and the CLI."""

from __future__ import annotations

from evalcore.catalog import OptionCard, TargetKindCard

SAMPLING: tuple[OptionCard, ...] = (
    OptionCard(name="temperature", type="float", about={"en": "0 is greedy", "zh": "0 为贪心解码"}),
    OptionCard(name="top_p", type="float"),
    OptionCard(
        name="max_tokens", type="int", about={"en": "limit of one answer", "zh": "单次回答上限"}
    ),
    OptionCard(name="seed", type="int"),
    OptionCard(
        name="reasoning_effort",
        choices=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
        about={"en": "for reasoning models", "zh": "用于推理模型"},
    ),
)

CARDS: tuple[TargetKindCard, ...] = (
    TargetKindCard(
        prefix="openai",
        form="openai:<model> or openai:<endpoint>/<model>",
        title={"en": "OpenAI-compatible endpoint", "zh": "OpenAI 兼容接口"},
        about={
            "en": "Any server that speaks chat completions: a vendor, vLLM, Ollama, llama.cpp.",
            "zh": "任何支持 chat completions 的服务：云厂商、vLLM、Ollama、llama.cpp 等。",
        },
        options=(
            OptionCard(
                name="base_url", about={"en": "wins over the endpoint's", "zh": "优先于预设地址"}
            ),
            OptionCard(
                name="api_key_env",
                about={"en": "variable that holds the key", "zh": "存放密钥的环境变量"},
            ),
            *SAMPLING,
            OptionCard(name="stop", type="list", about={"en": "ends an answer", "zh": "停止序列"}),
            OptionCard(
                name="timeout",
                type="float",
                about={"en": "seconds for one request", "zh": "单次请求的秒数上限"},
            ),
            OptionCard(
                name="asking",
                choices=("auto", "native", "prompt", "json"),
                about={
                    "en": "how tools are offered: by the server's own means, or in the prompt",
                    "zh": "请求工具调用的方式：服务端 tools 接口，或写入提示词",
                },
            ),
            OptionCard(
                name="extra_body",
                about={"en": "JSON merged into each request", "zh": "并入每个请求的 JSON"},
            ),
        ),
        examples=("openai:gpt-5.5", "openai:deepseek/deepseek-chat", "openai:ollama/qwen3:4b"),
    ),
    TargetKindCard(
        prefix="baseline",
        form="baseline:<name>",
        title={"en": "Built-in baseline", "zh": "内置基线"},
        about={
            "en": "A program, no model: needs no key, no network and no GPU.",
            "zh": "不使用模型的程序：无需密钥、网络或 GPU。",
        },
        examples=("baseline:sqlglot",),
    ),
    TargetKindCard(
        prefix="control",
        form="control:reference, control:null or control:noop",
        title={"en": "Control", "zh": "对照"},
        about={
            "en": "Answers with the reference, with nothing or with its input: ceiling and floors.",
            "zh": "以参考答案、空答案或原输入作答：用于上限与下限。",
        },
        examples=("control:reference", "control:null", "control:noop"),
    ),
    TargetKindCard(
        prefix="app",
        form="app:<name> or app:<description.yaml>",
        title={"en": "Application", "zh": "应用服务"},
        about={
            "en": "A product with an HTTP interface, asked as a description file says. Its address "
            "and key come from the environment.",
            "zh": "通过 HTTP 接口提供服务的产品，按描述文件调用；地址与密钥取自环境变量。",
        },
        options=(
            OptionCard(
                name="base_url", about={"en": "wins over the description's", "zh": "优先于描述文件"}
            ),
        ),
        examples=("app:sqlflash", "app:sqlshift"),
    ),
)
