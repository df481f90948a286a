"""The card of `academic`: the bundled tasks as metrics, others as a run chooses them."""

from __future__ import annotations

from evalcore.benchmarks.academic.profiles import BUNDLED, load_profiles
from evalcore.catalog import (
    BenchmarkCard,
    CommandCard,
    FlagCard,
    OptionCard,
    build_metric,
    build_option,
)
from evalcore.records import EvidenceKind

KEY = "academic"
#: How a task that is written for continuation is asked.
AS_TEXT, AS_CHAT = "text", "chat"

_TASKS: dict[str, tuple[EvidenceKind, str, str, str, str]] = {
    "evalboard_arithmetic": (
        "checked",
        "Word problems",
        "应用题",
        "Short word problems; the number after `Answer:` must be exact.",
        "简短的应用题；`Answer:` 之后的数字须完全一致。",
    ),
    "evalboard_choices": (
        "checked",
        "Multiple choice by likelihood",
        "按似然的选择题",
        "Everyday facts; the choice that the model finds likeliest counts.",
        "生活常识；以模型认为最可能的选项为准。",
    ),
    "evalboard_choices_text": (
        "checked",
        "Multiple choice by letter",
        "按字母的选择题",
        "The same questions; the letter that is written counts.",
        "同样的题目；以写出的字母为准。",
    ),
    "evalboard_instructions": (
        "checked",
        "Instructions",
        "遵循指令",
        "Instructions on form that a program checks; all of a case must be followed.",
        "由程序检验的形式要求；每题的要求须全部满足。",
    ),
    "evalboard_code": (
        "executed",
        "Small functions",
        "小函数",
        "Python functions, run with their tests in the sandbox.",
        "Python 函数，连同测试在沙箱中运行。",
    ),
}

CARD = BenchmarkCard(
    key=KEY,
    suite="academic",
    implementation="evalcore.benchmarks.academic.benchmark:Academic",
    dataset="academic",
    open_metrics=True,
    library="lm_eval",
    extra="academic",
    library_variable="EVALBOARD_LM_EVAL_PYTHON",
    config_reader="evalcore.benchmarks.academic.config_file:read_profile_file",
    config_fields=("tasks", "profile", "num_fewshot", "study"),
    lister=CommandCard(
        run="evalcore.benchmarks.academic.listing:list_tasks",
        about="list the profiles of academic tasks, or the tasks of one",
        path_about="a profile; left out: all of them",
        flags=(FlagCard("search", "search lm-eval's own tasks for these words", "WORDS"),),
    ),
    title={"en": "Academic tasks (lm-eval)", "zh": "学术任务 (lm-eval)"},
    about={
        "en": "Tasks of lm-evaluation-harness, prompted and scored by it, each a metric here. "
        "Needs the extra `academic`. Code runs in the sandbox only.",
        "zh": "lm-evaluation-harness 的任务，由其构造提示并评分，每个任务为一项指标；"
        "需安装可选依赖 `academic`。代码只在沙箱中运行。",
    },
    metrics=tuple(
        build_metric(key, 1.0, evidence, (english, chinese), about, about_chinese)
        for key, (evidence, english, chinese, about, about_chinese) in _TASKS.items()
    ),
    options=(
        build_option(
            "profile",
            "which tasks, by the name of a list",
            "任务列表的名称",
            default=BUNDLED,
            choices=tuple(load_profiles().profiles),
        ),
        OptionCard(
            "tasks",
            "list",
            default=(),
            about={
                "en": "tasks, groups or tags of lm-eval in place of those of the profile, parted "
                "by commas",
                "zh": "代替列表中任务的 lm-eval 任务、组或标签，以逗号分隔",
            },
            operator_only=True,
        ),
        build_option(
            "fewshot",
            "worked examples before a question; -1: as profile and task say",
            "题前示例数；-1 按列表与任务的设定",
            default=-1,
        ),
        build_option(
            "limit",
            "the first questions of each task; 0: all, -1: as the profile says",
            "每个任务取前几题；0 为全部，-1 按列表的设定",
            default=-1,
        ),
        build_option(
            "form",
            "text: a prompt to go on with, as lm-eval's default; chat: turns for a chat template. "
            "Likelihoods are always of text",
            "text：按 lm-eval 默认，续写文本；chat：使用对话模板。似然一律按文本计算",
            default=AS_TEXT,
            choices=(AS_TEXT, AS_CHAT),
        ),
        OptionCard(
            "folder",
            default="",
            about={
                "en": "a folder with tasks of your own in lm-eval's form; files named by "
                "`!function` are run",
                "zh": "自备任务的目录（lm-eval 格式）；其中 `!function` 指定的代码会被执行",
            },
            operator_only=True,
            names_code=True,
        ),
        OptionCard(
            "harness",
            default="",
            about={
                "en": "versions of lm-eval and of the tasks; set by the run itself",
                "zh": "lm-eval 与各任务的版本；由运行自动填写",
            },
            derived=True,
        ),
    ),
)
