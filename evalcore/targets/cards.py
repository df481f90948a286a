"""The cards of the kinds of target: their key prefixes and options, for pages and the CLI."""

from __future__ import annotations

from evalcore.catalog import CONTROL_KIND, CONTROLS, COSMETIC_CONTROLS, OptionCard, TargetKindCard

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
        egress="evalcore.targets.registry:find_endpoint_egress",
        missing_keys="evalcore.targets.registry:list_missing_endpoint_keys",
        key_variables="evalcore.targets.registry:list_endpoint_keys",
        list_price="evalcore.targets.pricing:compute_endpoint_price",
        implementation="evalcore.targets.openai_compatible:create_openai_target",
        check="evalcore.targets.registry:check_endpoint",
        allow_setting="allow_endpoints",
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
        prefix="hf",
        is_free=True,
        runs_models_here=True,
        implementation="evalcore.targets.huggingface.target:create_huggingface_target",
        check="evalcore.targets.registry:check_local_model",
        allow_setting="allow_models",
        form="hf:<folder> or hf:<Hub id>",
        title={"en": "Local model", "zh": "本地模型"},
        about={
            "en": "A checkpoint on this machine or of the Hugging Face Hub, asked in batches. "
            "Needs the extra `local`.",
            "zh": "本机或 Hugging Face Hub 上的模型权重，批量推理；需安装可选依赖 `local`。",
        },
        options=(
            OptionCard(
                name="device",
                default="auto",
                about={"en": "auto, cpu, cuda or cuda:N", "zh": "auto、cpu、cuda 或 cuda:N"},
            ),
            OptionCard(
                name="dtype",
                default="auto",
                choices=("auto", "float32", "float16", "bfloat16", "int8", "int4"),
                about={
                    "en": "auto: as stored; int8 and int4 quantise while loading",
                    "zh": "auto 为权重自身精度；int8、int4 在加载时量化",
                },
            ),
            OptionCard(
                name="adapter",
                about={
                    "en": "a LoRA adapter: folder or Hub id",
                    "zh": "LoRA 适配器：目录或 Hub id",
                },
            ),
            OptionCard(
                name="revision", about={"en": "branch, tag or commit", "zh": "分支、标签或提交"}
            ),
            OptionCard(
                name="attn_implementation",
                about={"en": "as transformers names it", "zh": "transformers 中的注意力实现名称"},
            ),
            OptionCard(
                name="batch_size",
                type="int",
                default=0,
                about={
                    "en": "0: as many as fit; 1: exact mode, one prompt at a time",
                    "zh": "0 为自动；1 为精确模式，逐条推理",
                },
            ),
            OptionCard(
                name="batch_tokens",
                type="int",
                default=0,
                about={
                    "en": "places of a batch; 0: by device",
                    "zh": "每批的 token 上限；0 为自动",
                },
            ),
            OptionCard(
                name="context",
                type="int",
                default=0,
                about={"en": "tokens; 0: the model's own", "zh": "上下文长度；0 为模型自身"},
            ),
            OptionCard(
                name="threads",
                type="int",
                default=0,
                about={"en": "0: the physical cores", "zh": "0 为物理核心数"},
            ),
            *(card for card in SAMPLING if card.name != "reasoning_effort"),
            OptionCard(name="stop", type="list", about={"en": "ends an answer", "zh": "停止序列"}),
            OptionCard(
                name="asking",
                choices=("auto", "native", "prompt", "json"),
                about={
                    "en": "how tools are offered: by the chat template, or in the prompt",
                    "zh": "请求工具调用的方式：对话模板，或写入提示词",
                },
            ),
            OptionCard(
                name="trust_remote_code",
                type="bool",
                default=False,
                about={
                    "en": "lets code beside the weights run on this machine",
                    "zh": "允许运行权重附带的代码",
                },
            ),
            OptionCard(
                name="allow_pickle",
                type="bool",
                default=False,
                about={
                    "en": "reads weights that can hold code",
                    "zh": "允许读取可能含代码的 pickle 权重",
                },
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
            "en": "A program, no model: needs no key, no network and no GPU.",
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
            "en": "Answers with the reference, with nothing or with its input: ceiling and floors. "
            "cte, limit and tautology disguise a statement that is to be rewritten.",
            "zh": "以参考答案、空答案或原输入作答：用于上限与下限。cte、limit、tautology "
            "仅对待改写的语句做表面改动。",
        },
        examples=tuple(f"control:{kind}" for kind in (*CONTROLS, *COSMETIC_CONTROLS)),
    ),
    TargetKindCard(
        prefix="app",
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
