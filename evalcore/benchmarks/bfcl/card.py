"""The card of `bfcl`: a metric for every category, weighted as the official v4 score weighs it."""

from __future__ import annotations

from evalcore.benchmarks.bfcl.categories import (
    GROUPS,
    MULTI_TURN,
    OVERALL_WEIGHTS,
    SINGLE_TURN_WEIGHTS,
)
from evalcore.catalog import (
    BenchmarkCard,
    CommandCard,
    FlagCard,
    GroupCard,
    MetricCard,
    OfficialDataset,
    UploadForm,
    build_option,
    build_protocol_options,
)

_CALL = {
    "en": "The call must name the function and give every argument an accepted value.",
    "zh": "调用须给出正确的函数名，且每个参数的值都在可接受的范围内。",
}
_SEVERAL = {
    "en": "Several calls are needed, in any order; each must match an expected call.",
    "zh": "需要多个调用，顺序不限；每个都要与期望的调用一一对应。",
}
_NONE = {
    "en": "No offered function fits; the correct answer calls none.",
    "zh": "提供的函数都不适用；正确的回答是不调用任何函数。",
}
_SOME = {
    "en": "A function fits; any call is correct. Reported but not scored, as officially.",
    "zh": "有适用的函数，任意调用即算正确。与官方一致：只报告，不计分。",
}
_MEMORY = {
    "en": "The target speaks with a person over several conversations and keeps what matters in a "
    "memory; then it answers a question from that memory alone.",
    "zh": "模型与用户进行多次对话，把重要信息存入记忆；之后只凭记忆回答问题。",
}
_WEB = {
    "en": "The answer takes several searches and pages; the final message must mention it.",
    "zh": "回答需要多次搜索并查看网页；最终消息须包含答案。",
}
_TURNS = {
    "en": "A conversation with simulated services: after each turn, their state must be as "
    "expected and no expected result may be missing.",
    "zh": "与模拟服务的多轮对话：每轮之后服务状态须符合预期，且不得缺少应有的结果。",
}

#: By category: percentage points of the official v4 score (live ones are pooled by count, see
#: `weights`), the titles and what is asked.
_CATEGORIES: tuple[tuple[str, float | None, str, str, dict[str, str]], ...] = (
    ("simple_python", 10 / 12, "Simple, Python", "单一调用 Python", _CALL),
    ("simple_java", 10 / 12, "Simple, Java", "单一调用 Java", _CALL),
    ("simple_javascript", 10 / 12, "Simple, JavaScript", "单一调用 JavaScript", _CALL),
    ("multiple", 2.5, "Multiple functions", "多个函数", _CALL),
    ("parallel", 2.5, "Parallel calls", "并行调用", _SEVERAL),
    ("parallel_multiple", 2.5, "Parallel, multiple", "并行多函数", _SEVERAL),
    ("irrelevance", 5.0, "Irrelevance", "无关请求", _NONE),
    ("live_simple", 2.5, "Live simple", "真实·单一", _CALL),
    ("live_multiple", 2.5, "Live multiple", "真实·多函数", _CALL),
    ("live_parallel", 2.5, "Live parallel", "真实·并行", _SEVERAL),
    ("live_parallel_multiple", 2.5, "Live parallel, multiple", "真实·并行多函数", _SEVERAL),
    ("live_irrelevance", 5.0, "Live irrelevance", "真实·无关", _NONE),
    ("live_relevance", None, "Live relevance", "真实·相关", _SOME),
    ("multi_turn_base", 7.5, "Multi-turn", "多轮", _TURNS),
    ("multi_turn_miss_func", 7.5, "Multi-turn, missing function", "多轮·缺函数", _TURNS),
    ("multi_turn_miss_param", 7.5, "Multi-turn, missing value", "多轮·缺参数", _TURNS),
    ("multi_turn_long_context", 7.5, "Multi-turn, long context", "多轮·长上下文", _TURNS),
    ("memory_kv", 20 / 3, "Memory, by key", "记忆·键值", _MEMORY),
    ("memory_vector", 20 / 3, "Memory, by likeness", "记忆·向量", _MEMORY),
    ("memory_rec_sum", 20 / 3, "Memory, summary", "记忆·递归摘要", _MEMORY),
    ("web_search_base", 10.0, "Web search", "网页搜索", _WEB),
    ("web_search_no_snippet", 10.0, "Web search, no excerpts", "网页搜索·无摘要", _WEB),
)


#: The official groups that tables list, in their order.
_LISTED_GROUPS = (
    *("overall", "single_turn", "non_live", "live", "hallucination"),
    *("multi_turn", "agentic", "web_search", "memory"),
)
_GROUP_MEMBERS = {
    "overall": tuple(OVERALL_WEIGHTS),
    "single_turn": tuple(SINGLE_TURN_WEIGHTS),
    **{name: group.members for name, group in GROUPS.items()},
}
_PAGE = "https://github.com/ShishirPatil/gorilla/tree/main/berkeley-function-call-leaderboard"

#: The option that says how an official run finds the texts of a memory: `official` or `stand-in`.
SIMILARITY = "similarity"

CARD = BenchmarkCard(
    key="bfcl",
    suite="agentic",
    implementation="evalcore.benchmarks.bfcl.benchmark:Bfcl",
    dataset="bfcl",
    answer_tokens=4096,  # as upstream asks local models
    prompt_version="1",
    scorer_version="4",
    title={"en": "Function calling (BFCL)", "zh": "函数调用 (BFCL)"},
    about={
        "en": "Call the right function with the right arguments, or none if none fits; checked "
        "exactly as on the Berkeley leaderboard v4.",
        "zh": "以正确的参数调用正确的函数，或在不适用时不调用；判定与伯克利榜单 v4 完全一致。",
    },
    metrics=tuple(
        MetricCard(
            key=category,
            weight=points,
            evidence="executed" if category in MULTI_TURN else "checked",
            title={"en": english, "zh": chinese},
            about=about,
        )
        for category, points, english, chinese, about in _CATEGORIES
    ),
    groups=tuple(
        GroupCard(
            key=name,
            weight=OVERALL_WEIGHTS.get(name),
            members=_GROUP_MEMBERS.get(name, ()),
            listed=name in _LISTED_GROUPS,
        )
        for name in dict.fromkeys([*_LISTED_GROUPS, *_GROUP_MEMBERS])
    ),
    upload_form=UploadForm(
        parts=tuple(category for category, *_ in _CATEGORIES),
        companion_files=(
            *("multi_turn_func_doc/*", "memory_prereq_conversation/*", "web_pages.jsonl"),
        ),
        identity="id",
    ),
    cases_are_data=True,
    key_variables=("SERPAPI_API_KEY",),
    baselines={"keywords": "evalcore.benchmarks.bfcl.baseline:answer_by_keywords"},
    official_datasets=(
        OfficialDataset("bfcl-v4", "bfcl", "wheel", "bfcl-v4", "BFCL v4", _PAGE, on_hub=False),
        OfficialDataset("bfcl-v3", "bfcl", "hub", "bfcl-v3", "BFCL v3", _PAGE, on_hub=False),
    ),
    fetcher=CommandCard(
        run="evalcore.exchange.bfcl.fetch:run_bfcl_fetch",
        about="questions and answers of BFCL v4 or v3",
        flags=(
            FlagCard("source", "wheel: v4 (default); hub: v3", choices=("wheel", "hub")),
            FlagCard("from", "wheel to use instead of downloading one", "FILE.whl"),
        ),
    ),
    exporter=CommandCard(
        run="evalcore.exchange.bfcl.exporter:run_bfcl_export",
        about="answers in the format of the official evaluation",
        output="folder",
    ),
    importer=CommandCard(
        run="evalcore.exchange.bfcl.importer:run_bfcl_import",
        about="import official BFCL result files and score their answers here",
        flags=(
            FlagCard("dataset", "the official data (default: the fetched data)", "D"),
            FlagCard(
                "mode",
                "how the answers were requested (default: from their format)",
                choices=("fc", "prompt"),
            ),
            FlagCard("month", "month of the answers (default: from the folder or file)", "YYYY-MM"),
        ),
        publisher="BFCL",
        path_about="the folder result/, its parent or a folder in it",
    ),
    official_board="Berkeley Function Calling Leaderboard v4",
    official_options={"protocol": "official", SIMILARITY: ""},
    options=(
        *build_protocol_options(),
        build_option(
            SIMILARITY,
            "protocol=official: whether upstream's network or a stand-in finds the texts of "
            "memory_vector; set by the run itself",
            "protocol=official：memory_vector 由官方模型还是替代方法检索文本；由运行自动填写",
            default="",
            derived=True,
        ),
        build_option(
            "categories", "v4 or v3 names; empty: all", "v4 或 v3 名称；留空为全部", default=[]
        ),
        build_option(
            "strict",
            "slm-evals' rules instead of the official ones: true requires every argument "
            "exactly, false compares leniently",
            "以 slm-evals 规则代替官方规则：true 要求参数完全一致，false 宽松比较",
            default="",
            choices=("", "true", "false"),
        ),
        build_option(
            "exclude_flagged",
            "leave out official entries that no correct answer can pass (separate board)",
            "排除正确答案也无法通过的官方题目：另成一榜",
            default=False,
        ),
        build_option(
            "format_sensitivity",
            "ask the entries that upstream varies by each of its 26 forms of the prompt, 5,200 "
            "requests for the official data; needs protocol=official; no part of the overall score",
            "以官方的 26 种提示形式提问其变换的题目（官方数据共 5200 次请求）；"
            "需 protocol=official；不计入总分",
            default=False,
        ),
    ),
)
