"""The cards of the kinds of target: their key prefixes and options, for pages and the CLI."""

from __future__ import annotations

from evalcore.catalog import (
    CONTROL_KIND,
    CONTROLS,
    COSMETIC_CONTROLS,
    OptionCard,
    TargetKindCard,
    build_option,
)

SAMPLING: tuple[OptionCard, ...] = (
    build_option("temperature", "0 is greedy", "0 为贪心解码", kind="float"),
    build_option("top_p", kind="float"),
    build_option("max_tokens", "limit per answer", "单次回答上限", kind="int"),
    build_option("seed", kind="int"),
    build_option(
        "reasoning_effort",
        "for reasoning models",
        "用于推理模型",
        choices=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    ),
)

CARDS: tuple[TargetKindCard, ...] = (
    TargetKindCard(
        prefix="openai",
        chooser="server",
        egress="evalcore.targets.endpoints:find_endpoint_egress",
        missing_keys="evalcore.targets.endpoints:list_missing_endpoint_keys",
        key_variables="evalcore.targets.endpoints:list_endpoint_keys",
        list_price="evalcore.targets.pricing:compute_endpoint_price",
        implementation="evalcore.targets.endpoint.target:create_openai_target",
        check="evalcore.targets.endpoints:check_endpoint",
        allow_setting="allow_endpoints",
        form="openai:<model> or openai:<endpoint>/<model>",
        title={"en": "OpenAI-compatible endpoint", "zh": "OpenAI 兼容接口"},
        about={
            "en": "Any server with a chat completions API (a vendor, vLLM, Ollama, llama.cpp), "
            "the Responses API, Anthropic's Messages or Gemini's own API.",
            "zh": "任何支持 chat completions 的服务（云厂商、vLLM、Ollama、llama.cpp 等），"
            "以及 Responses、Anthropic Messages 与 Gemini 原生接口。",
        },
        options=(
            build_option("base_url", "overrides the endpoint's", "优先于预设地址"),
            build_option("api_key_env", "variable that contains the key", "存放密钥的环境变量"),
            *SAMPLING,
            build_option("stop", "ends an answer", "停止序列", kind="list"),
            build_option("timeout", "seconds without a byte", "无数据到达的秒数上限", kind="float"),
            build_option(
                "whole_timeout",
                "seconds of a whole answer; 0: ten times timeout",
                "完整回答的秒数上限；0 为 timeout 的十倍",
                kind="float",
                default=0.0,
            ),
            build_option(
                "stream",
                "whether answers are streamed, where the server can",
                "服务端支持时是否流式接收",
                default=True,
            ),
            build_option(
                "asking",
                "how tools are offered: natively by the server, or in the prompt",
                "请求工具调用的方式：服务端 tools 接口，或写入提示词",
                choices=("auto", "native", "prompt", "json"),
            ),
            build_option(
                "api",
                "which API is spoken; auto: by server and model",
                "所用的接口协议；auto 按服务端与模型自动选择",
                choices=("auto", "chat", "completions", "responses", "anthropic", "gemini"),
            ),
            build_option(
                "client",
                "plain HTTP, or OpenAI's SDK; auto: the SDK for the Responses API",
                "普通 HTTP 或 OpenAI SDK；auto 仅对 Responses 接口使用 SDK",
                choices=("auto", "aiohttp", "openai"),
            ),
            build_option("api_version", "Azure's api-version", "Azure 的 api-version"),
            build_option(
                "auth",
                "header that carries the key; auto: by server",
                "携带密钥的请求头；auto 按服务端自动选择",
                choices=("auto", "bearer", "api-key", "x-api-key", "x-goog-api-key", "sigv4"),
            ),
            build_option(
                "headers",
                "JSON of headers for each request; $NAME is read from that variable",
                "每个请求附带的请求头（JSON）；$NAME 取自同名环境变量",
            ),
            build_option("extra_body", "JSON merged into each request", "并入每个请求的 JSON"),
        ),
        examples=("openai:gpt-5.5", "openai:deepseek/deepseek-chat", "openai:ollama/qwen3:4b"),
    ),
    TargetKindCard(
        prefix="hf",
        chooser="local_model",
        is_free=True,
        runs_models_here=True,
        implementation="evalcore.targets.huggingface.target:create_huggingface_target",
        check="evalcore.targets.registry:check_local_model",
        allow_setting="allow_models",
        form="hf:<folder> or hf:<Hub id>",
        title={"en": "Local model", "zh": "本地模型"},
        about={
            "en": "A checkpoint on this machine or the Hugging Face Hub, run in batches. Needs "
            "the extra `local`.",
            "zh": "本机或 Hugging Face Hub 上的模型权重，批量推理；需安装可选依赖 `local`。",
        },
        options=(
            build_option(
                "device",
                "auto, cpu, cuda, cuda:N or mps",
                "auto、cpu、cuda、cuda:N 或 mps",
                default="auto",
            ),
            build_option(
                "dtype",
                "auto: as stored; int8 and int4 quantize while loading",
                "auto 为权重自身精度；int8、int4 在加载时量化",
                default="auto",
                choices=("auto", "float32", "float16", "bfloat16", "int8", "int4"),
            ),
            build_option(
                "adapter", "a LoRA adapter: folder or Hub id", "LoRA 适配器：目录或 Hub id"
            ),
            build_option("revision", "branch, tag or commit", "分支、标签或提交"),
            build_option(
                "attn_implementation",
                "name used by transformers",
                "transformers 中的注意力实现名称",
            ),
            build_option(
                "batch_size",
                "0: as many as fit; 1: exact mode, one prompt at a time",
                "0 为自动；1 为精确模式，逐条推理",
                default=0,
            ),
            build_option(
                "batch_tokens",
                "most tokens per batch; 0: by device",
                "每批的 token 上限；0 为自动",
                default=0,
            ),
            build_option(
                "context", "tokens; 0: the model's own", "上下文长度；0 为模型自身", default=0
            ),
            build_option("threads", "0: the physical cores", "0 为物理核心数", default=0),
            build_option(
                "sampling",
                "what is not set: greedy, or as the model's generation_config says",
                "未设置的采样参数：贪心，或取模型的 generation_config",
                default="greedy",
                choices=("greedy", "model"),
            ),
            *SAMPLING,
            build_option("top_k", "0: off", "0 为不限", default=0),
            build_option("min_p", "0: off", "0 为不限", default=0.0),
            build_option("repetition_penalty", "1: off", "1 为不启用", default=1.0),
            build_option(
                "chat_template",
                "a file that replaces the model's own template",
                "替代模型自带对话模板的文件",
            ),
            build_option("stop", "ends an answer", "停止序列", kind="list"),
            build_option(
                "asking",
                "how tools are offered: by the chat template, or in the prompt",
                "请求工具调用的方式：对话模板，或写入提示词",
                choices=("auto", "native", "prompt", "json"),
            ),
            build_option(
                "trust_remote_code",
                "runs code that comes with the weights on this machine",
                "允许运行权重附带的代码",
                default=False,
            ),
            build_option(
                "allow_pickle",
                "reads weight files that can contain code",
                "允许读取可能含代码的 pickle 权重",
                default=False,
            ),
            build_option(
                "engine",
                "serves the model; all but transformers are servers started for the run",
                "运行模型的引擎；除 transformers 外均为随运行启动的服务",
                default="transformers",
                choices=("transformers", "vllm", "sglang", "llamacpp"),
            ),
            build_option(
                "engine_version",
                "version that must answer; recorded by the run",
                "要求的引擎版本；由运行记录",
            ),
            build_option(
                "server_args",
                "more arguments of the server's program, as its own documentation lists them",
                "服务程序的其他参数，见其文档",
            ),
            build_option(
                "server_timeout",
                "seconds in which the server must be ready",
                "等待服务就绪的秒数",
                default=1800.0,
            ),
        ),
        examples=("hf:Qwen/Qwen3-0.6B", "hf:/models/my-checkpoint"),
    ),
    TargetKindCard(
        prefix="baseline",
        can_judge=False,
        is_free=True,
        implementation="evalcore.targets.baseline:Baseline",
        reaches_nobody=True,
        form="baseline:<name>",
        title={"en": "Built-in baseline", "zh": "内置基线"},
        about={
            "en": "A program, not a model: needs no key, no network and no GPU.",
            "zh": "不使用模型的程序：无需密钥、网络或 GPU。",
        },
        examples=("baseline:sqlglot",),
    ),
    TargetKindCard(
        prefix=CONTROL_KIND,
        can_judge=False,
        is_free=True,
        implementation="evalcore.targets.base:Control",
        reaches_nobody=True,
        form="control:reference, :null, :noop, :cte, :limit or :tautology",
        title={"en": "Control", "zh": "对照"},
        about={
            "en": "Answers with the reference, with nothing or with its input: ceiling and "
            "floors. cte, limit and tautology disguise the statement to be rewritten.",
            "zh": "以参考答案、空答案或原输入作答：用于上限与下限。cte、limit、tautology "
            "仅对待改写的语句做表面改动。",
        },
        examples=tuple(f"control:{kind}" for kind in (*CONTROLS, *COSMETIC_CONTROLS)),
    ),
    TargetKindCard(
        prefix="app",
        chooser="service",
        can_judge=False,
        egress="evalcore.targets.application:find_service_egress",
        missing_keys="evalcore.targets.application:list_missing_keys",
        key_variables="evalcore.targets.application:list_key_variables",
        named_targets="evalcore.targets.application_card:build_application_cards",
        implementation="evalcore.targets.application:create_application",
        check="evalcore.targets.registry:check_application",
        allow_setting="allow_applications",
        form="app:<name> or app:<description.yaml>",
        title={"en": "Application", "zh": "应用服务"},
        about={
            "en": "A product with an HTTP API, called as described in a file. Its address and "
            "key come from the environment.",
            "zh": "通过 HTTP 接口提供服务的产品，按描述文件调用；地址与密钥取自环境变量。",
        },
        options=(build_option("base_url", "overrides the description's", "优先于描述文件"),),
        examples=("app:sqlflash", "app:sqlshift"),
    ),
)
