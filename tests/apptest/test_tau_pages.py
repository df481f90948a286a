"""Conversations with a simulated user on the pages: the chat, pass^k, the prompt, the form."""

from __future__ import annotations

import json

import pytest

from evalcore.records import Episode, Message, ToolCall
from evalcore.runner import client
from pages.parts.case import answers
from tests.support import tau_data, tau_server
from tests.support.page_stores import CANARY
from tests.support.pages import open_page, store, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")
FIRST = "retail/test/0"
LOOK = {"name": "get_order_details", "kwargs": {"order_id": "#W1"}}


def as_json(action):
    return json.dumps({"name": action["name"], "arguments": action["kwargs"]})


@pytest.fixture
def folder(tmp_path):
    return tau_data.write(tmp_path / "tasks")


def play(tmp_path, folder, script, asking="native", **options):
    """The id of a run in which a server answers by a script."""
    with tau_server.serve(script) as server:
        fields = {"base_url": server.base_url, "asking": asking}
        args = {"split": "test", "domain": "airline", **options}
        _, made = tau_data.run(tmp_path, folder, "openai:m", args, target_options=fields)
    return made.path.name


def control(tmp_path, folder, name, **more):
    _, made = tau_data.run(tmp_path, folder, f"control:{name}", **more)
    return made.path.name


def open_case(run, language="en", sample="airline/test/0"):
    metric = sample.split("/")[0]
    return open_page("case", language, run=run, benchmark="tau_bench", metric=metric, id=sample)


def plain(app):
    return words(app).replace("\\", "")


def cells(app):
    """The rows of all tables whose cells wrap, without their escapes."""
    rows = [row for table in app.table for row in table.value.to_numpy()]
    return [[str(cell).replace("\\", "") for cell in row] for row in rows]


@pytest.mark.parametrize(
    ("language", "heading", "user", "ended"),
    [
        ("en", "Conversation", "User (simulated)", "End: The user ended the conversation"),
        ("zh", "对话", "用户（模拟）", "结束：用户结束了对话"),
    ],
)
def test_a_case_is_a_chat_with_its_calls_folded(
    tmp_path, store, folder, language, heading, user, ended
):
    app = open_case(control(tmp_path, folder, "reference"), language, FIRST)
    assert heading in [subheader.value for subheader in app.subheader]
    for text in (user, ended):
        assert text in plain(app)
    [call] = [expander for expander in app.expander if "cancel" in expander.label]
    assert not call.proto.expanded
    assert any('"#W1"' in block.value for block in call.code), "arguments and result"
    assert len(app.chat_message) >= 3


def test_what_the_agent_is_told_is_folded_and_holds_nothing_of_the_task(tmp_path, store, folder):
    run = play(tmp_path, folder, ("Hello.", "Hello."), asking="prompt")
    app = open_case(run)
    [message] = [
        expander
        for expander in app.expander
        if expander.label.startswith("The agent's initial instructions")
    ]
    assert not message.proto.expanded
    assert "You want what you want." not in "".join(block.value for block in message.code)
    assert "# Tools" in message.code[0].value
    [answer] = [expander for expander in app.expander if expander.label == "Expected answer"]
    assert not answer.proto.expanded, "the user's wishes stand there"


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "en",
            ["Answer limit reached", "Turns not recognized by the user: 2", "What the user"],
        ),
        ("zh", ["达到回答数上限", "用户未识别的轮次：2", "用户的目标"]),
    ],
)
def test_the_end_what_was_not_understood_and_the_goals_are_said(
    tmp_path, store, folder, language, texts
):
    app = open_case(play(tmp_path, folder, ("Tea is nice.",), max_turns=2), language)
    for text in texts:
        assert text in plain(app)
    assert {"en": "cancel", "zh": "取消"}[language] in {
        cell for frame in app.dataframe for cell in frame.value.astype(str).to_numpy().ravel()
    }


def test_the_difference_of_the_databases_is_shown(tmp_path, store, folder):
    app = open_case(control(tmp_path, folder, "null"), sample=FIRST)
    assert "First difference between the databases" in plain(app)
    shown = next(
        dataframe.value for dataframe in app.dataframe if "Field" in dataframe.value.columns
    )
    assert shown["Field"][0].startswith("orders.#W1")


def test_a_task_that_needs_nothing_is_said_to_be_one(tmp_path, store, folder):
    app = open_case(control(tmp_path, folder, "reference"), sample="retail/test/2")
    assert "counts toward p0" in app.info[0].value
    assert "Flagged task" in plain(app)
    assert "official entry" not in plain(app)


def test_hostile_text_stays_text(tmp_path, store, folder):
    script = (CANARY, {"name": CANARY, "kwargs": {"x": CANARY}}, CANARY)
    app = open_case(play(tmp_path, folder, script, max_turns=4))
    text = words(app) + "".join(expander.label for expander in app.expander)
    for harmful in ("![x](http", ":red[**boo", "[go](http", "<b>x</b>"):
        assert harmful not in text
    assert any(CANARY in block.value for block in app.code)


def test_calls_in_the_prompt_are_told_from_words(tmp_path, store, folder):
    spoken = {"name": "respond", "kwargs": {"content": "Which one?"}}
    script = (as_json(LOOK), "TOOL_CALL: {", f"Thought: ask.\nAction: {as_json(spoken)}")
    run = play(tmp_path, folder, script, asking="prompt", style="react", max_turns=3)
    app = open_case(run)
    labels = [expander.label.replace("\\", "") for expander in app.expander]
    assert "Tool call: get_order_details · error" in labels
    assert "Unreadable call" in labels
    assert "Which one?" in [text.value for text in app.text]
    assert "As the target wrote it" in labels
    assert "Asked for thought and action" in plain(app)


def episode(*messages, **state):
    return Episode(key="k", epoch=0, messages=messages, state={"user": {}, **state})


def test_several_calls_at_once_keep_their_results():
    calls = (ToolCall("1", "look", "{}"), ToolCall("2", "act", "{}"))
    results = (Message("tool", "a", tool_call_id="1"), Message("tool", "b", tool_call_id="2"))
    native = episode(Message("user", "Hi."), Message("assistant", tool_calls=calls), *results)
    message = Message("user", "API output: a\nAPI output: b\nand more")
    text = episode(
        Message("user", "Hi."),
        Message("assistant", "look and act"),
        message,
        actions=[{"name": "look", "kwargs": "{}"}, {"name": "act", "kwargs": "{}"}],
    )
    for item, last in ((native, "b"), (text, "b\nand more")):
        user, made = answers.iterate_chat_steps(item)
        assert user.kind == "user"
        assert (made.kind, made.tools, made.results) == ("calls", ("look", "act"), ("a", last))


def test_a_greeting_takes_no_line_of_the_agent_and_the_stop_sign_is_not_shown():
    messages = [
        Message("assistant", "Hello!"),
        Message("user", "Cancel it."),
        Message("assistant", "Thought: done\nUser: It is done."),
        Message("user", "Thanks. ###STOP###"),
    ]
    for greeting in ((), ("Hello!",)):  # upstream's protocol counts it among the lines
        steps = answers.iterate_chat_steps(episode(*messages, says=(*greeting, "It is done.")))
        spoken = [step.spoken_text for step in steps]
        assert spoken == ["Hello!", "Cancel it.", "It is done.", "Thanks."]


@pytest.mark.parametrize(
    ("language", "heading", "about"),
    [
        ("en", "pass^k: all of k tries succeed", "p0 is the score of doing and saying nothing"),
        ("zh", "pass^k：k 次尝试全部成功", "p0 是什么都不做"),
    ],
)
def test_pass_k_stands_beside_p0_and_the_adjusted_value(
    tmp_path, store, folder, language, heading, about
):
    control(tmp_path, folder, "null", epochs=2)
    app = open_page("target", language, key="control:null")
    assert heading in [subheader.value for subheader in app.subheader]
    assert about in plain(app)
    rows = {row[0]: row[1:] for row in cells(app) if row[0].startswith("k = ")}
    assert set(rows) == {"k = 1", "k = 2"}
    for value, p0, adjusted in rows.values():
        assert value.startswith(f"{p0} [")
        assert adjusted == "0.0"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_methodology_shows_the_prompt(tmp_path, store, folder, language):
    play(tmp_path, folder, ("Hello.",), asking="prompt", max_turns=1)
    app = open_page("methodology", language, suite="agentic")
    assert any("# Form of your replies" in block.value for block in app.code)


@pytest.mark.parametrize(
    ("language", "text"), [("en", "start with 10 samples"), ("zh", "小模型请先用 10 个样本")]
)
def test_the_form_takes_its_options(store, monkeypatch, language, text):
    asked = []
    monkeypatch.setattr(client, "launch_run", lambda *args, visitor: asked.append(args) or "run")
    app = open_page("launch", language)
    app.multiselect(key="launch.benchmarks").set_value(["tau_bench"]).run()
    assert text in plain(app)
    app.selectbox(key="launch.option.tau_bench.domain").set_value("retail")
    app.selectbox(key="launch.option.tau_bench.style").set_value("react")
    app.number_input(key="launch.option.tau_bench.max_turns").set_value(15).run()
    app.button(key="launch.do.start").click().run()
    [(request, *_)] = asked
    assert request.benchmarks == ("tau_bench",)
    assert request.options["tau_bench"] == {"domain": "retail", "style": "react", "max_turns": 15}
