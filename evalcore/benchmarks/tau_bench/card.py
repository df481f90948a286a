"""The card of `tau_bench`: a metric for each domain, every task of either weighing the same."""

from __future__ import annotations

from evalcore.catalog import (
    BenchmarkCard,
    CommandCard,
    FlagCard,
    OfficialDataset,
    UploadForm,
    build_metric,
    build_option,
    build_protocol_options,
)

_ABOUT = (
    "Serve a user according to a policy, with tools; the database must end in the right "
    "state, and all requested information must be given.",
    "按照政策、通过工具为用户办事；数据库最终状态须正确，且须说出所问的信息。",
)

#: What makes a model play the user, and which one.
USER_OPTIONS = ("use_llm_user", "user_model")
_PAGE = "https://github.com/sierra-research/tau-bench"
#: Options of every benchmark in which an agent talks with a simulated user.
CONVERSATION_OPTIONS = (
    build_option(
        "split",
        "tasks of one split, such as test; empty: all that the user can play",
        "只用一个划分，如 test；留空为用户可扮演的全部任务",
        default="",
    ),
    build_option(
        "use_llm_user",
        "a model plays the user, also in tasks in free prose",
        "由模型扮演用户，可用于自由文本的任务",
        default=False,
    ),
    build_option(
        "user_model",
        "the target that plays the user, such as openai:MODEL?temperature=0",
        "扮演用户的目标，如 openai:MODEL?temperature=0",
        default="",
    ),
    build_option(
        "style",
        "how calls are written if the target is asked in the prompt",
        "以提示词方式提问时的调用写法",
        default="json",
        choices=("json", "react"),
    ),
    build_option(
        "outputs",
        "required information: numbers as numbers, or substring as in tau-bench",
        "应说出的信息：按数值比较，或如 tau-bench 按子串比较",
        default="numbers",
        choices=("numbers", "substring"),
    ),
    build_option(
        "max_turns",
        "most answers of the agent; slm-evals: 15",
        "最多回答数；slm-evals 为 15",
        default=30,
    ),
    build_option(
        "max_tool_errors", "most tool errors; 0: no limit", "工具错误上限；0 为不限", default=10
    ),
    build_option(
        "max_parse_errors", "most unreadable calls; 0: no limit", "无法解析的调用上限", default=5
    ),
    build_option(
        "max_tokens",
        "most tokens read and written; 0: no limit",
        "读写 token 上限；0 为不限",
        default=0,
    ),
    build_option(
        "max_seconds",
        "most seconds of the target; 0: no limit",
        "目标用时上限；0 为不限",
        default=0.0,
    ),
    build_option(
        "max_cost",
        "most USD for the target; 0: no limit",
        "目标费用上限（美元）；0 为不限",
        default=0.0,
    ),
)


CARD = BenchmarkCard(
    key="tau_bench",
    suite="agentic",
    implementation="evalcore.benchmarks.tau_bench.benchmark:TauBench",
    dataset="tau_bench",
    answer_tokens=2048,  # one turn
    upload_form=UploadForm(
        parts=("retail", "airline"),
        file="{part}/tasks_own.jsonl",
        bundled_file="{part}/tasks_bundled.jsonl",
        companion_files=("{part}/*.json", "{part}/policy.md"),
        identity="",
    ),
    cases_are_data=True,
    prompt_version="1",
    scorer_version="1",
    title={"en": "Tools with a user (tau-bench)", "zh": "工具与用户对话 (tau-bench)"},
    about={
        "en": "A conversation with a simulated user about a real database, scored by its final "
        "state, exactly as in tau-bench. The user follows rules unless a model is named; scores "
        "with the rule-based user cannot be compared with published ones. For small models, "
        "start with 10 cases.",
        "zh": "在真实数据库上与模拟用户对话，按最终状态判定，与 tau-bench 完全一致。除非指定模型，"
        "用户由规则扮演：其分数不可与已发表的数字比较。小模型请先用 10 个用例。",
    },
    metrics=(
        build_metric("retail", 1.0, "executed", ("Retail", "零售"), *_ABOUT),
        build_metric("airline", 1.0, "executed", ("Airline", "航空"), *_ABOUT),
    ),
    official_datasets=(
        OfficialDataset("tau-v1", "tau_bench", "v1", "tau-v1", "tau-bench", _PAGE, on_hub=False),
    ),
    fetcher=CommandCard(
        run="evalcore.exchange.tau_bench:run_tau_fetch",
        about="databases, policies, tasks and texts of tau-bench",
        flags=(
            FlagCard("version", "v1: the classic tau-bench", choices=("v1",), default="v1"),
            FlagCard("from", "checkout or archive to use instead of a download", "PATH"),
        ),
    ),
    user_options=USER_OPTIONS,
    official_board="tau-bench",
    official_metrics=("retail", "airline"),
    official_options={
        "protocol": "official",
        "use_llm_user": "True",
        "user_model": "gpt-4o",
        "split": "test",
        "domain": "",
        "style": "",
        "outputs": "",
    },
    options=(
        *build_protocol_options(),
        build_option(
            "domain",
            "domain; slm-evals uses retail by default",
            "哪个领域；slm-evals 默认 retail",
            default="both",
            choices=("both", "retail", "airline"),
        ),
        *CONVERSATION_OPTIONS,
    ),
)
