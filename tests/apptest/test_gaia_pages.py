"""Questions for an assistant on the pages: the answer, the tools, gated texts, the form."""

from __future__ import annotations

import pytest

from evalcore.runner import client
from evalcore.sandbox.program import SandboxSupport
from evalcore.views import cases
from pages.parts.launch import actions
from tests.support import agentic_runs
from tests.support.agentic_runs import GAIA_CASES, GAIA_RUN, GATED, SECRETS, TARGET
from tests.support.pages import open_page, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")
VIEWS = ("cases", "failures", "history", "outcomes")


def open_case(store, name, language="en"):
    agentic_runs.gaia(store, name)
    metric = "level_2" if name == GATED else "level_1"
    return open_page("case", language, run=GAIA_RUN, benchmark="gaia", metric=metric, id=name)


def everything(app):
    """All texts of a page: Markdown, code, JSON, cells and labels."""
    parts = [words(app), *(expander.label for expander in app.expander)]
    parts += [str(item.value) for kind in ("text", "code", "json") for item in getattr(app, kind)]
    parts += [item.value.to_csv() for item in (*app.dataframe, *app.table)]
    return "\n".join(parts)


def plain(app):
    return words(app).replace("\\", "")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(GAIA_CASES))
def test_every_case_is_drawn_and_hostile_text_stays_text(store, name, language):
    app = open_case(store, name, language)
    text = words(app) + "".join(expander.label for expander in app.expander)
    for harmful in ("![x](http", ":red[**boo", "[go](http"):
        assert harmful not in text


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["Level: 1", "File: prices.xlsx", "Compared as: number. Found in the form asked"]),
        ("zh", ["级别：1", "文件：prices.xlsx", "比较方式：数字。提取自：按要求的形式。"]),
    ],
)
def test_question_level_file_and_comparison_are_shown(store, language, texts):
    app = open_case(store, "right", language)
    for text in texts:
        assert text in plain(app)
    assert any(block.value.startswith("What is it, then?") for block in app.code)


def test_the_note_is_told_in_chinese_with_the_answers_part(store):
    app = open_case(store, "list", "zh")
    assert any(text.value.startswith("列表的第 2 个元素不同：") for text in app.text)


def test_calls_of_tools_are_folded_with_their_results(store):
    app = open_case(store, "worked")
    labels = [expander.label.replace("\\", "") for expander in app.expander]
    tools = ["list_files", "read_file · error", "python", "final_answer"]
    calls = [label for label in labels if label.startswith("Tool call: ")]
    assert [f"Tool call: {name}" for name in tools] == calls
    assert labels.index("How the answer is derived") < labels.index(calls[0])
    last = next(expander for expander in app.expander if "final" in expander.label)
    assert "This call ended the work." in [caption.value for caption in last.caption]
    assert "Final answer" in [caption.value for caption in app.main.caption]
    assert any(block.value == "42" for block in app.code)
    assert "Tool calls: 3" in plain(app)
    assert "Needs the web" in plain(app)


def test_the_derivation_is_folded_and_its_program_is_a_program(store):
    app = open_case(store, "worked")
    [steps] = [
        expander for expander in app.expander if expander.label == "How the answer is derived"
    ]
    assert not steps.proto.expanded
    assert [(code.language, code.value) for code in steps.code] == [("python", "print(6 * 7)")]


@pytest.mark.parametrize(
    ("language", "end"), [("en", "Step limit reached"), ("zh", "达到步数上限")]
)
def test_the_limit_that_ended_the_work_is_said(store, language, end):
    assert end in plain(open_case(store, "endless", language))


def test_a_hidden_answer_is_not_decided(store):
    app = open_case(store, "test_split")
    assert "Answer is not public" in plain(app)
    assert not any("green" in str(markdown.value) for markdown in app.main.markdown)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_gated_case_shows_no_word_of_it(store, language):
    app = open_case(store, GATED, language)
    text = everything(app).lower()
    assert [word for word in SECRETS if word in text] == []
    fields = {"en": "must not be shown publicly", "zh": "不得公开显示"}
    assert fields[language] in app.info[0].value
    assert "0 / 100" in [metric.value for metric in app.main.metric]
    assert "2.5" in "".join(metric.value for metric in app.main.metric)


def test_a_setting_shows_it(store, monkeypatch):
    monkeypatch.setenv("EVALBOARD_SHOW_GATED", "true")
    text = everything(open_case(store, GATED)).lower()
    assert [word for word in SECRETS if word not in text] == []


@pytest.mark.parametrize(
    ("page", "query"),
    [
        *(("target", {"key": TARGET, "view": view}) for view in VIEWS),
        ("methodology", {"suite": "agentic", "prompt": "gaia/level_2"}),
        ("runs", {"run": GAIA_RUN}),
        ("ranking", {"suite": "agentic"}),
    ],
)
def test_no_other_page_shows_a_word_of_it(store, page, query):
    agentic_runs.gaia(store, "right", GATED)
    app = open_page(page, **query)
    text = everything(app).lower()
    assert [word for word in SECRETS if word in text] == []
    if page == "methodology":
        assert any("not be shown" in info.value for info in app.info)


def test_the_list_of_cases_says_that_the_note_is_hidden(store):
    agentic_runs.gaia(store, "right", GATED)
    notes = list(table(open_page("target", key=TARGET), "note")["note"])
    assert notes[1].startswith(cases.HIDDEN[:60])


@pytest.mark.parametrize(
    ("language", "rows"), [("en", ["Strict", "Lenient"]), ("zh", ["严格", "宽松"])]
)
def test_strict_and_lenient_stand_beside_each_other(store, language, rows):
    agentic_runs.gaia(store, "right", "loose")
    app = open_page("target", language, key=TARGET, view="outcomes")
    [result] = [element.value for element in app.table if list(element.value.iloc[:, 0]) == rows]
    assert [cell.replace("\\", "") for cell in result.iloc[:, 1]] == ["50.0", "100.0"]


@pytest.mark.parametrize(
    ("language", "title", "rules"),
    [
        ("en", "How GAIA decides", ["**Number.**", "**List.**", "**Text.**", "**Modes.**"]),
        ("zh", "GAIA 的判定规则", ["**数字.**", "**列表.**", "**文本.**", "**模式.**"]),
    ],
)
def test_the_methodology_tells_the_rules(store, language, title, rules):
    agentic_runs.gaia(store)
    app = open_page("methodology", language, suite="agentic")
    assert title in [subheader.value for subheader in app.subheader]
    value = next(markdown.value for markdown in app.markdown if rules[0] in markdown.value)
    assert all(rule in value for rule in rules)


def gaia_form(monkeypatch, language="en", means="bubblewrap"):
    actions._probe_sandbox.clear()
    support = SandboxSupport(
        means=means, problem="" if means else "No.", fix="" if means else "Do."
    )
    monkeypatch.setattr(client, "sandbox_ability", lambda settings: support)
    app = open_page("launch", language)
    app.multiselect(key="launch.benchmarks").set_value(["gaia"]).run()
    return app


@pytest.mark.parametrize(("language", "text"), [("en", "not executed"), ("zh", "不执行任何程序")])
def test_describe_executes_nothing_and_needs_no_sandbox(store, monkeypatch, language, text):
    app = gaia_form(monkeypatch, language)
    assert text in plain(app)
    assert not app.main.success
    app.selectbox(key="launch.option.gaia.tool_mode").set_value("local").run()
    assert len(app.main.success) == 1


def test_tools_cannot_start_where_nothing_can_be_run(store, monkeypatch):
    app = gaia_form(monkeypatch, means="")
    assert not app.button(key="launch.do.start").disabled
    app.selectbox(key="launch.option.gaia.tool_mode").set_value("local").run()
    assert app.button(key="launch.do.start").disabled
    assert any("With tools, GAIA runs" in warning.value for warning in app.main.warning)


@pytest.mark.parametrize(
    ("typed", "sent"),
    [("1, 2", None), ("1,2", None), ("", None), ("3", ["3"]), (" 1 ,, 3 ", ["1", "3"])],
)
def test_levels_can_be_set_and_the_default_is_not_sent(store, monkeypatch, typed, sent):
    asked = []
    monkeypatch.setattr(client, "launch_run", lambda *args, visitor: asked.append(args) or "run")
    app = gaia_form(monkeypatch)
    levels = app.text_input(key="launch.option.gaia.levels")
    assert levels.value == "1, 2"
    levels.set_value(typed).run()
    app.button(key="launch.do.start").click().run()
    [(request, *_)] = asked
    assert request.options == ({"gaia": {"levels": sent}} if sent else {})
