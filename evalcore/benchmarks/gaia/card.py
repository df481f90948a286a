"""The card of `gaia`: a metric a level; the official score is the share of all questions."""

from __future__ import annotations

from evalcore.catalog import (
    BenchmarkCard,
    CommandCard,
    FlagCard,
    OfficialDataset,
    OptionCard,
    UploadForm,
    build_metric,
    build_option,
    build_protocol_options,
)

MODES = ("describe", "none", "local", "web")
STYLES = ("final_answer", "bare")

_LEVELS = (
    ("level_1", "Level 1", "一级", "Few steps, at most one tool.", "步骤少，至多用一种工具。"),
    ("level_2", "Level 2", "二级", "More steps and several tools.", "步骤较多，需用多种工具。"),
    ("level_3", "Level 3", "三级", "Long chains of steps and tools.", "长链条的步骤与工具。"),
    ("unlevelled", "No level", "无级别", "Questions without a level.", "未标级别的问题。"),
)

_PAGE = "https://huggingface.co/datasets/gaia-benchmark/GAIA"

CARD = BenchmarkCard(
    key="gaia",
    suite="agentic",
    implementation="evalcore.benchmarks.gaia.benchmark:Gaia",
    dataset="gaia",
    answer_tokens=4096,  # one turn, which may be a program
    prompt_version="2",
    title={"en": "GAIA", "zh": "GAIA"},
    about={
        "en": "Questions for an assistant, many with files. Answers are compared by the official "
        "rules; with tools, the target really computes and reads files.",
        "zh": "面向助手的问题，许多附带文件。答案按官方规则比较；"
        "启用工具时真正执行计算与读取文件。",
    },
    metrics=tuple(
        build_metric(key, 1, "checked", (en, zh), about_en, about_zh)
        for key, en, zh, about_en, about_zh in _LEVELS
    ),
    upload_form=UploadForm(
        parts=("validation",),
        identity="task_id",
        left_out=("file_name", "file_path"),
        unsuitable_with="file_name",
    ),
    submission="answer",
    cases_are_data=True,
    agent_options={"tool_mode": ("local", "web")},
    fetched_option="split",
    key_variables=("TAVILY_API_KEY", "SERPER_API_KEY", "BRAVE_API_KEY"),
    rules=("weights", "number", "list", "string", "extraction", "modes", "hidden"),
    official_datasets=tuple(
        OfficialDataset(
            name=f"gaia-{split}",
            benchmark="gaia",
            part=split,
            folder=f"gaia-{split}",
            title=f"GAIA {split}",
            page=_PAGE,
            cases=cases,
            gated=True,
        )
        for split, cases in (("validation", 165), ("test", 301))
    ),
    fetcher=CommandCard(
        run="evalcore.exchange.gaia:run_gaia_fetch",
        about="questions of GAIA with their files (gated: needs HF_TOKEN, do not share)",
        flags=(
            FlagCard("split", "validation (default) or test", "S", default="validation"),
            FlagCard("revision", "commit or tag (default: the pinned commit)", "R"),
            FlagCard(
                "prompt",
                "file with the official system message, such as the leaderboard's content.py "
                "(default: downloaded with the questions)",
                "FILE",
            ),
        ),
    ),
    exporter=CommandCard(
        run="evalcore.exchange.gaia:run_gaia_export",
        about="answers in the format of the leaderboard",
    ),
    system_prompt=True,
    official_board="GAIA",
    official_options={
        "protocol": "official",
        "levels": "[1, 2, 3]",
        "tool_mode": "",
        "split": "",
        "provider": "",
        "images": "",
        "max_steps": "",
    },
    options=(
        *build_protocol_options(),
        build_option(
            "split",
            "test has hidden answers: predictions can be exported but are never scored",
            "test 的答案不公开：只作答导出，不计分",
            default="validation",
            choices=("validation", "test"),
        ),
        build_option("levels", "1 to 3", "1 至 3", default=[1, 2]),
        build_option(
            "tool_mode",
            "describe and none: one answer, nothing executed; local: tools on the files, no "
            "network; web: local plus search",
            "describe 与 none：只答一次，不执行；local：对文件使用工具，不联网；"
            "web：在 local 之上加搜索",
            default="describe",
            choices=MODES,
        ),
        build_option(
            "provider",
            "search service of mode web; empty: the first with a key",
            "web 模式的搜索服务；留空为首个已有密钥者",
            default="",
            choices=("", "tavily", "serper", "brave"),
        ),
        OptionCard(
            "prompt_style",
            default="final_answer",
            choices=STYLES,
            about={
                "en": "final_answer asks for FINAL ANSWER; bare asks for the answer alone",
                "zh": "final_answer 要求 FINAL ANSWER；bare 只要求答案本身",
            },
            former_choices=("official",),  # the name of final_answer before prompt_version 2
        ),
        build_option(
            "images",
            "send images to the model; only for models that accept them",
            "把图像发给模型；仅用于支持图像的模型",
            default=False,
        ),
        build_option("max_steps", "most answers of an agent", "智能体最多回答次数", default=20),
    ),
)
