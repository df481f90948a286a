"""The card of `tau2_bench`: a metric for each domain, every task of any weighing the same."""

from __future__ import annotations

from evalcore.benchmarks.tau_bench.card import CONVERSATION_OPTIONS, USER_OPTIONS
from evalcore.catalog import (
    OTHER_DATA_OPTION,
    BenchmarkCard,
    CommandCard,
    FlagCard,
    UploadForm,
    build_metric,
    build_option,
    build_protocol_options,
)

BANK = "banking_knowledge"
DOMAINS = ("retail", "airline", "telecom", BANK)
#: The domains of the official score. Upstream asks the bank with a vendor's embeddings and a shell,
#: so that it can be asked officially, but by its own name and with another way to its documents.
OFFICIAL_DOMAINS = ("retail", "airline", "telecom")
#: Upstream's ways to the documents that need neither: the search tools of each.
RETRIEVALS = {
    "bm25": ("KB_search",),
    "bm25_grep": ("KB_search", "grep"),
    "grep_only": ("grep",),
    "full_kb": (),
    "golden_retrieval": (),
    "no_knowledge": (),
}

_TITLES = {
    "retail": ("Retail", "零售"),
    "airline": ("Airline", "航空"),
    "telecom": ("Telecom", "电信"),
    "banking_knowledge": ("Banking with documents", "银行与知识库"),
}
_ABOUTS = {
    "retail": (
        "Serve the customers of a shop according to a policy; the database must end in the right "
        "state, and all requested information must be given.",
        "按照政策为商店顾客办事；数据库最终状态须正确，且须说出所问的信息。",
    ),
    "airline": (
        "Serve the passengers of an airline according to a policy; the database must end in the "
        "right state, and all requested information must be given.",
        "按照政策为航空公司旅客办事；数据库最终状态须正确，且须说出所问的信息。",
    ),
    "telecom": (
        "Guide users whose phone does not work; they change its settings themselves, and the phone "
        "and the line must work in the end.",
        "指导手机出故障的用户：设置由用户自己操作，最终手机与线路须恢复正常。",
    ),
    "banking_knowledge": (
        "Find the bank's rules and tools in its documents and act on them; the database must end "
        "in the right state.",
        "在银行文档中查找规则与工具并照办；数据库最终状态须正确。",
    ),
}

CARD = BenchmarkCard(
    key="tau2_bench",
    suite="agentic",
    implementation="evalcore.benchmarks.tau2_bench.benchmark:Tau2Bench",
    dataset="tau2_bench",
    answer_tokens=2048,  # one turn
    upload_form=UploadForm(
        parts=DOMAINS,
        file="{part}/tasks_own.jsonl",
        bundled_file="{part}/tasks_bundled.jsonl",
        companion_files=("{part}/*.json", "{part}/policy.md", "{part}/documents.jsonl"),
        identity="id",
    ),
    cases_are_data=True,
    fetcher=CommandCard(
        run="evalcore.exchange.tau2_bench:run_tau2_fetch",
        about="tasks and databases of tau2-bench, from a checkout or an archive of it",
        flags=(FlagCard("from", "the checkout or archive, of .zip or .tar.gz", "PATH"),),
    ),
    prompt_version="1",
    scorer_version="1",
    title={"en": "Tools with a user who acts (tau2-bench)", "zh": "双方操作的对话 (tau2-bench)"},
    about={
        "en": "A conversation with a simulated user who may act too, scored by tau2-bench's rules: "
        "final databases, assertions, calls and what was said. The user follows rules unless a "
        "model is named; scores with the rule-based user cannot be compared with published ones.",
        "zh": "与也能自己操作的模拟用户对话，按 tau2-bench 的规则判定：数据库最终状态、断言、调用与"
        "所说的信息。除非指定模型，用户由规则扮演：其分数不可与已发表的数字比较。",
    },
    metrics=tuple(
        build_metric(domain, 1.0, "executed", _TITLES[domain], *_ABOUTS[domain])
        for domain in DOMAINS
    ),
    user_options=USER_OPTIONS,
    official_board="tau2-bench",
    official_metrics=OFFICIAL_DOMAINS,
    official_options={
        "protocol": "official",
        "use_llm_user": "True",
        "user_model": "gpt-4.1-2025-04-14",
        "split": "base",
        "domain": "",
        "style": "",
        "outputs": "",
    },
    options=(
        *build_protocol_options(),
        build_option(
            "domain",
            "which domain; all: every one that the data has",
            "哪个领域；all 为数据中的全部领域",
            default="all",
            choices=("all", *DOMAINS),
        ),
        build_option(
            "retrieval",
            "banking_knowledge under protocol=official: how the agent reaches the documents",
            "protocol=official 的 banking_knowledge：智能体如何查阅文档",
            default="",
            choices=("", *RETRIEVALS),
        ),
        build_option(
            OTHER_DATA_OPTION,
            "domains whose databases are not upstream's; set by the run itself",
            "数据库并非官方原件的领域；由运行自动填写",
            default="",
            derived=True,
        ),
        *CONVERSATION_OPTIONS,
    ),
)
