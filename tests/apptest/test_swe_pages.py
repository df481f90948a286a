"""Patches on the pages: the diff, the tests, the shield, what was not run, measures, the form."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.runner import client
from evalcore.sandbox.program import _DIAGNOSES, SandboxSupport
from pages.parts.launch import actions
from tests.support import agentic_runs
from tests.support.agentic_runs import SWE_CASES, SWE_RUN, TARGET
from tests.support.pages import open_page, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")
METRIC = "under_15_min"


def open_case(store, name, language="en"):
    agentic_runs.swe(store, name)
    query = {"run": SWE_RUN, "benchmark": "swe_bench", "metric": METRIC, "id": name}
    return open_page("case", language, **query)


def plain(app):
    return words(app).replace("\\", "")


def badges(app):
    """Text and colour of the badges, which are Markdown."""
    return [str(markdown.value).replace("\\", "") for markdown in app.main.markdown]


def expander(app, label):
    return next(element for element in app.expander if element.label == label)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(SWE_CASES))
def test_every_case_is_drawn_and_hostile_text_stays_text(store, name, language):
    app = open_case(store, name, language)
    text = words(app) + "".join(element.label for element in app.expander)
    for harmful in ("![x](http", ":red[**boo", "[go](http"):
        assert harmful not in text
    shown = [cell for element in app.table for cell in element.value.astype(str).to_numpy().ravel()]
    assert not any("![x](http" in cell for cell in shown), "cells of a table are Markdown"


def test_the_question_is_the_issue_with_repository_and_commit(store):
    app = open_case(store, "resolved")
    assert "Repository: authors/box" in plain(app)
    assert f"Commit: {'a' * 40}" in plain(app)
    assert any("add(1, 2) gives -1." in block.value for block in app.code)


def test_patches_are_diffs_and_the_reference_is_folded(store):
    app = open_case(store, "resolved")
    diffs = [block for block in app.code if block.language == "diff"]
    assert len(diffs) >= 2
    folded = expander(app, "Reference patch")
    assert not folded.proto.expanded
    assert folded.code[0].language == "diff"
    expected = expander(app, "Expected answer")
    assert not expected.proto.expanded
    assert [caption.value for caption in expected.caption].count("Reference patch") == 0, (
        "shown once"
    )
    assert "bash" in {block.language for block in expected.code}


@pytest.mark.parametrize(
    ("language", "text", "first"),
    [
        ("en", "Failing tests: 2 of 4.", ["✕ failed", "✕ not run"]),
        ("zh", "未通过的测试：2 / 4。", ["✕ 失败", "✕ 未运行"]),
    ],
)
def test_tests_that_fail_come_first_and_are_counted(store, language, text, first):
    app = open_case(store, "failing", language)
    assert text in plain(app)
    frame = next(dataframe for dataframe in app.dataframe if len(dataframe.value) == 4)
    assert list(frame.value.iloc[:, 0])[:2] == first
    assert all(cell.startswith("✓") for cell in list(frame.value.iloc[:, 0])[2:])
    assert "background-color" in frame.proto.arrow_data.styler.styles


def test_the_log_is_folded_and_drawn_as_code(store):
    folded = expander(open_case(store, "resolved"), "Test output")
    assert not folded.proto.expanded
    assert "PASSED tests/test_core.py::test_add" in folded.code[0].value


@pytest.mark.parametrize(
    ("language", "text", "flag"),
    [
        (
            "en",
            "Resolved by the official rules, but not by the stricter check: ",
            "tests that were inverted so that they must fail still pass",
        ),
        ("zh", "按官方规则已解决，但未通过更严格的复查：", "被反转为必须失败的测试仍然通过"),
    ],
)
def test_a_shield_tells_where_the_hardened_run_differs(store, language, text, flag):
    app = open_case(store, "forged", language)
    [warning] = app.main.warning
    assert warning.value.startswith(text)
    assert flag in warning.value
    assert warning.icon == ":material/gpp_maybe:"
    assert any("gpp_maybe" in badge and "orange" in badge for badge in badges(app))
    order = [element.type for element in app.main if element.type in ("warning", "subheader")]
    assert order[0] == "warning", "it stands with the verdict, above the question"


def test_no_shield_where_both_agree(store):
    assert not open_case(store, "resolved").main.warning


def test_a_remark_of_the_second_look_is_told_without_a_warning(store):
    app = open_case(store, "remarked")
    assert not app.main.warning
    assert "no test of this task could be inverted" in app.info[0].value


def test_a_repaired_form_that_passes_is_told_and_ranks_nothing(store):
    app = open_case(store, "failing")
    assert "would have resolved the task. This reading does not affect the ranking." in plain(app)
    assert "0 / 100" in [metric.value for metric in app.main.metric]


def test_a_patch_that_does_not_apply_says_why(store):
    app = open_case(store, "unapplied")
    assert "Patch does not apply" in plain(app)
    assert any("error: patch does not apply" in block.value for block in app.code)
    assert "Test output" not in [element.label for element in app.expander], "there is no log"


@pytest.mark.parametrize(
    ("name", "language", "reason"),
    [
        ("unexecuted", "en", "Not executed: no repository available"),
        ("unexecuted", "zh", "未执行：没有代码仓库"),
        ("unusable", "en", "Task cannot be used here"),
        ("unusable", "zh", "任务在此不可用"),
    ],
)
def test_what_was_not_executed_is_never_green_and_claims_no_evidence(store, name, language, reason):
    app = open_case(store, name, language)
    assert any(reason in badge for badge in badges(app))
    assert not any("green" in badge or "violet" in badge for badge in badges(app))
    assert not app.main.success
    fields = {"en": "The tests did not run with this patch", "zh": "测试没有用该补丁运行"}
    assert fields[language] in plain(app)
    assert "–" in [metric.value for metric in app.main.metric], "no score"


def test_the_work_of_an_agent_is_shown_step_by_step(store):
    app = open_case(store, "by_agent")
    assert "Agent steps" in [subheader.value for subheader in app.subheader]
    assert expander(app, "Tool call: run").code[-1].value.startswith("box")
    assert "Patch left in the checkout" in plain(app)
    assert "User (simulated)" not in plain(app)


@pytest.mark.parametrize(
    ("language", "heading", "about", "rows"),
    [
        (
            "en",
            "Patch format and localization (not executed)",
            "These measures do not affect the rank",
            ["Official", "Hardened", "Repaired"],
        ),
        ("zh", "补丁格式与定位（未执行）", "这些度量不参与排名", ["官方", "加固", "修复"]),
    ],
)
def test_measures_stand_apart_and_readings_beside_each_other(store, language, heading, about, rows):
    agentic_runs.swe(store)
    app = open_page("target", language, key=TARGET, view="outcomes")
    assert heading in [subheader.value for subheader in app.subheader]
    assert about in plain(app)
    cells = [list(element.value.iloc[:, 0]) for element in app.table]
    assert rows in cells
    assert [len(cell) for cell in cells] == [3, 4], "no table of official groups"
    fields = {"en": "does not resolve them here: 1.", "zh": "搁置的任务：1。"}
    assert fields[language] in plain(app)


def test_equal_readings_are_shown_all_the_same(store):
    agentic_runs.swe(store, "resolved")
    app = open_page("target", key=TARGET, view="outcomes")
    assert ["Official", "Hardened", "Repaired"] in [
        list(element.value.iloc[:, 0]) for element in app.table
    ]
    assert not app.main.warning


def test_the_page_of_the_target_warns_where_the_hardened_reading_is_lower(store):
    agentic_runs.swe(store, "resolved", "forged")
    app = open_page("target", key=TARGET)
    [warning] = app.main.warning
    about = "scores 100.0 by the official rules and 50.0 in the hardened reading"
    assert about in warning.value.replace("\\", "")


@pytest.mark.parametrize(("language", "size"), [("en", "1 unusable"), ("zh", "1 个不可用")])
def test_a_board_names_the_tasks_that_were_set_aside(store, language, size):
    agentic_runs.swe(store)
    app = open_page("target", language, key=TARGET, view="history")
    named = [
        cell
        for dataframe in app.dataframe
        for cell in dataframe.value.astype(str).to_numpy().ravel()
    ]
    assert any(size in cell and "samples" not in cell for cell in named)


@pytest.mark.parametrize(
    ("language", "title", "rules"),
    [
        ("en", "How SWE-bench decides", ["Hardened.", "Unusable tasks.", "Not executed."]),
        ("zh", "SWE-bench 的判定规则", ["加固", "不可用的任务", "未执行"]),
    ],
)
def test_the_methodology_tells_the_rules(store, language, title, rules):
    agentic_runs.swe(store)
    app = open_page("methodology", language, suite="agentic")
    assert title in [subheader.value for subheader in app.subheader]
    value = next(markdown.value for markdown in app.markdown if f"**{rules[0]}" in markdown.value)
    assert all(rule in value for rule in rules)


class TestLaunch:
    """Whether this host can run programs is said before anything is started."""

    @pytest.fixture(autouse=True)
    def fresh(self, store):
        actions._probe_sandbox.clear()
        yield
        actions._probe_sandbox.clear()

    def form(self, monkeypatch, result, language="en", benchmark="swe_bench", **options):
        looks = []

        def look(settings):
            looks.append(settings)
            if isinstance(result, Exception):
                raise result
            return result

        monkeypatch.setattr(client, "sandbox_ability", look)
        app = open_page("launch", language)
        assert looks == [], "SQL runs no programs"
        app.multiselect(key="launch.benchmarks").set_value([benchmark]).run()
        for name, value in options.items():
            widget = app.toggle if isinstance(value, bool) else app.selectbox
            widget(key=f"launch.option.{benchmark}.{name}").set_value(value).run()
        assert not app.exception
        assert len(looks) <= 1, "it is remembered for some minutes"
        return app

    @pytest.mark.parametrize(
        ("language", "text", "holds"),
        [
            ("en", "in a sandbox (bubblewrap)", "no network, memory limit"),
            ("zh", "本机可用 bubblewrap", "无网络, 内存上限"),
        ],
    )
    def test_what_holds_is_said(self, monkeypatch, language, text, holds):
        support = SandboxSupport(means="bubblewrap", enforced=("memory", "network"))
        app = self.form(monkeypatch, support, language)
        [success] = app.main.success
        assert text in success.value
        assert holds in plain(app)

    @pytest.mark.parametrize(
        ("language", "message"),
        [("en", "User namespaces are switched off"), ("zh", "命名空间已关闭")],
    )
    def test_why_not_and_what_helps_is_said(self, monkeypatch, language, message):
        support = SandboxSupport(problem=_DIAGNOSES[1].problem, fix=_DIAGNOSES[1].fix)
        app = self.form(monkeypatch, support, language)
        text = "".join(warning.value for warning in app.main.warning).replace("\\", "")
        assert message in text
        assert "sysctl -w user.max_user_namespaces=15000" in text
        assert not app.button(key="launch.do.start").disabled, "what is not run is not resolved"

    def test_an_agent_cannot_start_where_it_could_run_nothing(self, monkeypatch):
        support = SandboxSupport(problem="No.", fix="Do.")
        app = self.form(monkeypatch, support, prompt_style="agent")
        assert any("runs the target's programs" in warning.value for warning in app.main.warning)
        assert app.button(key="launch.do.start").disabled

    def test_a_probe_that_fails_stops_nothing(self, monkeypatch):
        app = self.form(monkeypatch, UsageError("no answer within 120 s"))
        assert "no answer within 120 s" in app.main.warning[0].value.replace("\\", "")
        assert not app.button(key="launch.do.start").disabled

    @pytest.mark.parametrize(
        ("full", "text"),
        [(True, "slow and heavy and needs Docker"), (False, "never count as resolved")],
    )
    def test_what_the_full_evaluation_takes_is_said(self, monkeypatch, full, text):
        support = SandboxSupport(means="namespaces")
        app = self.form(monkeypatch, support, full_eval=full)
        assert text in plain(app)
        assert bool(app.main.success) is not full, "the harness runs nothing in our sandbox"

    def test_the_real_probe_answers(self, store):
        sandbox_ability = client.sandbox_ability(store)
        assert bool(sandbox_ability.means) != bool(sandbox_ability.problem)
        assert bool(sandbox_ability.fix) == bool(sandbox_ability.problem)


def test_the_table_of_readings_names_the_flags(store):
    rows = [
        list(row)
        for element in open_case(store, "forged").table
        for row in element.value.to_numpy()
    ]
    [hardened] = [row for row in rows if row[0] == "hardened"]
    assert hardened[1] == "no"
    assert "passes inverted tests" in hardened[2]


def test_the_cases_name_the_reason_where_there_is_no_note(store):
    agentic_runs.swe(store, "unexecuted", "resolved")
    app = open_page("target", "zh", key=TARGET)
    assert any("本机没有该任务的代码仓库" in cell for cell in table(app, "note")["note"])
