"""The card of `swe_bench`: a metric a difficulty; the official score is the share of all tasks."""

from __future__ import annotations

from evalcore.benchmarks.swe_bench.prompts import STYLES
from evalcore.catalog import (
    BenchmarkCard,
    CommandCard,
    FlagCard,
    MetricCard,
    OfficialDataset,
    UploadForm,
    build_option,
    build_protocol_options,
)

_DIFFICULTIES = (
    ("under_15_min", "Under 15 minutes", "15 分钟以内"),
    ("up_to_1_hour", "15 minutes to 1 hour", "15 分钟至 1 小时"),
    ("up_to_4_hours", "1 to 4 hours", "1 至 4 小时"),
    ("over_4_hours", "Over 4 hours", "4 小时以上"),
    ("unrated", "Not rated", "未评级"),
)

_PAGE = "https://huggingface.co/datasets/SWE-bench/SWE-bench"
#: The official data sets: the part that its fetcher takes, the end of its name, its cases.
_OFFICIAL_SETS = (
    ("verified", "_Verified", 500),
    ("lite", "_Lite", 300),
    ("full", "", 2294),
    ("multilingual", "_Multilingual", 300),
)


def _build_official_dataset(part: str, suffix: str, cases: int) -> OfficialDataset:
    name = f"swe_bench-swe-bench{suffix.lower()}"
    return OfficialDataset(
        name=name,
        benchmark="swe_bench",
        part=part,
        folder=name,
        title=f"SWE-bench{suffix.replace('_', ' ')}",
        page=f"{_PAGE}{suffix}",
        cases=cases,
    )


CARD = BenchmarkCard(
    key="swe_bench",
    suite="agentic",
    implementation="evalcore.benchmarks.swe_bench.benchmark:SweBench",
    dataset="swe_bench",
    answer_tokens=8192,  # expected patches have up to 17,000 characters
    scorer_version="3",
    title={"en": "SWE-bench", "zh": "SWE-bench"},
    about={
        "en": "Patches for real issues: each is applied and the tests of its task are run, twice "
        "if they pass, to detect forged results. What was not executed never counts as "
        "resolved.",
        "zh": "为真实问题编写补丁：逐一应用并运行任务的测试；通过者复查一次，以识别伪造结果。"
        "未执行的绝不算已解决。",
    },
    metrics=tuple(
        MetricCard(
            key=key,
            weight=1,
            evidence="executed",
            title={"en": en, "zh": zh},
            about={
                "en": "Issues that a developer was estimated to resolve in this time.",
                "zh": "估计开发者可在此时间内解决的问题。",
            }
            if key != "unrated"
            else {"en": "Issues without a difficulty rating.", "zh": "无人评估难度的问题。"},
        )
        for key, en, zh in _DIFFICULTIES
    ),
    upload_form=UploadForm(
        parts=("tasks",), identity="instance_id", left_out=("bundle", "variants", "counterexamples")
    ),
    submission="patch",
    groups_title="Patch format and localization (not executed)",
    resolves=True,
    agent_options={"prompt_style": ("agent",)},
    executes_unless="full_eval",
    rules=("weights", "official", "repaired", "hardened", "unusable", "not_executed"),
    official_datasets=tuple(
        _build_official_dataset(part, suffix, cases) for part, suffix, cases in _OFFICIAL_SETS
    ),
    fetcher=CommandCard(
        run="evalcore.exchange.swe_bench:run_swe_bench_fetch",
        about="tasks of a SWE-bench dataset, without their repositories and images",
        flags=(
            FlagCard(
                "name",
                "Hub dataset, or one of verified (default), lite, full, multilingual, mini, oracle",
                "OWNER/NAME",
                default="verified",
            ),
            FlagCard("split", "split (default: test)", "S", default="test"),
            FlagCard("revision", "commit or tag (default: main)", "R"),
            FlagCard(
                "texts",
                "checkout or archive of SWE-bench to read the official prompt from (default: a "
                "download)",
                "PATH",
            ),
        ),
    ),
    exporter=CommandCard(
        run="evalcore.exchange.swe_bench:run_swe_bench_export",
        about="patches as predictions for the official harness",
        flags=(
            FlagCard(
                "patch",
                "official: as extracted (default); repaired: in a form that applies",
                choices=("official", "repaired"),
            ),
        ),
    ),
    official_board="SWE-bench",
    official_options={"protocol": "official", "full_eval": "True", "prompt_style": ""},
    preparer=CommandCard(
        run="evalcore.exchange.swe_bench_prepare:run_swe_prepare",
        about="prepare repositories and environments, and find out which tasks can be judged here",
        path_about="verified, lite, multilingual or another fetched dataset, or a file of tasks",
        flags=(
            FlagCard("folder", "folder to prepare (default: in the data folder)", "DIR"),
            FlagCard("specs", "specifications of environments: JSON or upstream's wheel", "FILE"),
            FlagCard("jobs", "how much to do at a time (default: 2)", "N", default="2"),
            FlagCard("only", "ids of tasks, with commas between them", "IDS"),
            FlagCard("mirrors", "address or folder that repositories are cloned from", "URL"),
            FlagCard("estimate", "only say what is to be made", choices=("yes", "no")),
            FlagCard("offline", "use only what is cached", choices=("yes", "no")),
            FlagCard("again", "try again what could not be judged", choices=("yes", "no")),
        ),
    ),
    options=(
        *build_protocol_options(),
        build_option(
            "full_eval",
            "run the official harness with Docker (swebench 5): slow and heavy, for final "
            "validation, without the stricter check; otherwise tests run in a sandbox here",
            "用官方工具和 Docker（swebench 5）：慢而重，用于最终验证，不含更严格的复查；"
            "否则在本机沙箱中运行测试",
            default=False,
        ),
        build_option(
            "context_lines",
            "lines of code shown around the locations to change; 0: whole files",
            "在待改处前后各显示的代码行数；0 为整个文件",
            default=80,
        ),
        build_option(
            "prompt_style",
            "files: shows the locations to change; issue_only: no code; text: the prompt of the "
            "dataset; agent: tools on a checkout; auto: files if repositories are available",
            "files：给出待改位置；issue_only：不给代码；text：数据集自带提示词；"
            "agent：在检出的代码上使用工具；auto：有仓库时用 files",
            default="auto",
            choices=STYLES,
        ),
        build_option(
            "difficulties",
            "only these, such as under_15_min,up_to_1_hour; empty: all",
            "只用这些难度，如 under_15_min,up_to_1_hour；留空为全部",
            default=[],
        ),
        build_option("max_steps", "most answers of an agent", "智能体最多回答次数", default=30),
    ),
)
