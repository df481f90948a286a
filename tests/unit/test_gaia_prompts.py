"""What is asked in each style and mode, and how files are told of."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.gaia.benchmark import (
    FINAL_ANSWER,
    PromptFile,
    build_gaia_messages,
)
from evalcore.benchmarks.gaia.card import MODES, STYLES
from evalcore.benchmarks.official_texts import write_official_texts
from evalcore.errors import UsageError
from evalcore.exchange.gaia import read_official_message
from evalcore.runner.plan import create_benchmark, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import load_settings

QUESTION = "How many rows has it?"
SHEET = PromptFile("a.csv", "csv", "x,y\n1,2")
SOUND = PromptFile("b.mp3", "audio")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("style", STYLES)
def test_a_system_message_and_the_question(mode, style):
    system, user = build_gaia_messages(QUESTION, mode, style, ())
    assert (system.role, user.role, user.content) == ("system", "user", QUESTION)
    assert system.content.startswith(FINAL_ANSWER) == (style == "final_answer")
    assert ("FINAL ANSWER" in system.content) == (style == "final_answer")
    assert ("final_answer" in system.content) == (mode in ("local", "web"))


def test_every_mode_and_style_asks_in_words_of_its_own():
    asked = {
        build_gaia_messages(QUESTION, mode, style, ())[0].content
        for mode in MODES
        for style in STYLES
    }
    assert len(asked) == len(MODES) * len(STYLES)
    assert build_gaia_messages(QUESTION, "none", "final_answer", ())[0].content == FINAL_ANSWER


MESSAGE = "Answer so.\nFINAL ANSWER: [YOUR FINAL ANSWER]. Nothing else."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("prompt.txt", f"\n{MESSAGE}\n"),
        ("page.md", f"# Rules\n\nThe prompt:\n```text\n{MESSAGE}\n```\n\nSubmit."),
        ("content.py", f'T = """Use\n```\n{MESSAGE}\n```\nend"""\nraise SystemExit\n'),
    ],
)
def test_the_official_message_is_cut_out_of_a_file(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    assert read_official_message(path).texts == {"system": MESSAGE}


@pytest.mark.parametrize("content", ["", "No template.", "def f(:"])
def test_a_file_without_the_message_is_refused(tmp_path, content):
    path = tmp_path / "content.py"
    path.write_text(content)
    with pytest.raises(UsageError):
        read_official_message(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_official_message(tmp_path / "nowhere.py")


def plan_official(tmp_path, **options):
    request = RunRequest(
        target="control:null",
        benchmarks=("gaia",),
        options={"gaia": {"tool_mode": "none", **options}},
    )
    return plan_run(request, load_settings())


def test_the_official_message_stands_alone_and_in_the_column(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    path = tmp_path / "message.txt"
    path.write_text(MESSAGE)
    with pytest.raises(UsageError, match="evalcore datasets fetch gaia"):
        plan_official(tmp_path, protocol="official")
    with pytest.raises(UsageError, match="must contain"):
        plan_official(tmp_path, prompt=str(path))
    planned = plan_official(tmp_path, protocol="official", prompt=str(path))
    spec = planned.spec.benchmarks[0]
    asked = create_benchmark("gaia", spec.options)
    sample = planned.samples["gaia"][0]
    system, user = asked.messages(sample)
    assert system.content == MESSAGE
    assert user.content.startswith(sample.input["question"])
    (tmp_path / "data" / "datasets" / "gaia-x").mkdir(parents=True)
    write_official_texts(read_official_message(path), tmp_path / "data" / "datasets" / "gaia-x")
    fetched = plan_official(tmp_path, protocol="official").spec.benchmarks[0]
    assert create_benchmark("gaia", fetched.options).messages(sample)[0].content == MESSAGE
    columns = {spec.column, fetched.column, plan_official(tmp_path).spec.benchmarks[0].column}
    assert len(columns) == 3


def test_no_text_of_the_authors_is_in_the_project():
    assert "You are a general AI assistant" not in FINAL_ANSWER


def test_described_tools_are_said_not_to_run():
    content = build_gaia_messages(QUESTION, "describe", "final_answer", ())[0].content
    assert "none of them can be called" in content
    for name in ("web_search", "read_file", "calculator", "python"):
        assert f"- {name}: " in content


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("none", "a.csv (csv)"),
        ("describe", "a.csv (csv). You cannot open it."),
        ("local", "a.csv (csv). Read it with the tools."),
        ("web", "a.csv (csv). Read it with the tools."),
    ],
)
def test_files_are_named_and_only_without_tools_shown(mode, text):
    user = build_gaia_messages(QUESTION, mode, "final_answer", [SHEET])[1].content
    assert user.startswith(f"{QUESTION}\n\nFile of this question: {text}")
    assert ("x,y\n1,2\n--- end of a.csv ---" in user) == (mode == "none")


def test_a_file_without_text_is_said_not_to_be_shown():
    user = build_gaia_messages(QUESTION, "none", "bare", [SHEET, SOUND])[1].content
    assert "b.mp3 (audio). It cannot be shown as text." in user
    assert "begin of b.mp3" not in user
    nameless = build_gaia_messages(QUESTION, "none", "bare", [PromptFile("c", "", "")])[1].content
    assert "File of this question: c.\n--- begin of c ---\n\n--- end of c ---" in nameless
