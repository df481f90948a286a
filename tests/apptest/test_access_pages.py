"""Pages in every mode: what a visitor sees, presses and is told; the launcher for those inside."""

from __future__ import annotations

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from evalcore.access import login, policy
from evalcore.access.login import PasscodeGate
from evalcore.results import Progress
from evalcore.runner import client
from pages.shared import visitor as visitor_module
from tests.apptest.conftest import LOCALES, ROOT, words
from tests.support.page_stores import METRIC, RUN, evidence_run

CODE = "correct horse battery"
PATH = "/srv/board/data/models/secret-place/model.safetensors"
ACCOUNT = {
    "is_logged_in": True,
    "iss": "https://id.example",
    "sub": "7",
    "email": "ada@example.org",
    "email_verified": True,
    "name": "Ada ![x](http://evil.invalid)",
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A server that has just started, on this machine."""
    monkeypatch.setattr(policy, "_is_local_server", None)
    monkeypatch.setattr(visitor_module, "GATE", PasscodeGate())
    for name in ("EVALBOARD_ACCESS", "EVALBOARD_CONFIG", login.VARIABLE):
        monkeypatch.delenv(name, raising=False)


def set_mode(monkeypatch, mode: str, **more: str) -> None:
    monkeypatch.setenv("EVALBOARD_ACCESS", mode)
    for name, value in more.items():
        monkeypatch.setenv(f"EVALBOARD_{name.upper()}", value)


def sidebar(app) -> str:
    kinds = ("caption", "error", "markdown")
    return "\n".join(str(element.value) for kind in kinds for element in app.sidebar.get(kind))


def buttons(app) -> set[str]:
    return {button.key for button in app.main.button if button.key}


def start(language: str = "en", account: dict | None = None) -> AppTest:
    """The app as a visitor gets it first: only then the sidebar is drawn in a test."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    app.context["locale"] = LOCALES[language]
    if account is not None:
        app.user = account
    return app.run()


def go(app: AppTest, page: str, **query: str) -> AppTest:
    app.query_params.update(query)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception, app.exception[0].message
    return app


def door() -> AppTest:
    """The form in the sidebar, and whether it has opened anything."""

    def script() -> None:
        import streamlit as st

        from pages.shared.visitor import draw_sign_in, is_action_allowed

        draw_sign_in()
        st.text(f"may launch: {is_action_allowed('launch')}")

    return AppTest.from_function(script, default_timeout=300)


def unlock(app: AppTest, code: str) -> AppTest:
    """Type a code and press the button; a form that has tired takes none."""
    app.sidebar.text_input[0].set_value(code)
    return app.sidebar.button[0].click().run()


def inside() -> AppTest:
    """A session in which the passcode was typed."""
    app = start()
    app.session_state["access.proved"] = True
    return app


def may_launch(app: AppTest) -> bool:
    assert not app.exception
    return app.main.text[0].value == "may launch: True"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("mode", ["read-only", "passcode", "oidc"])
def test_the_launcher_tells_those_outside_how_it_is_had(open_page, monkeypatch, mode, language):
    set_mode(monkeypatch, mode, passcode=CODE)
    app = open_page("launch", language)
    text = words(app)
    assert ("Runs cannot be started here" if language == "en" else "此处不能发起评测") in text
    assert not any(key.startswith("launch") for key in buttons(app))
    assert len(app.main.text_input) == (mode == "passcode")
    assert not app.main.multiselect


@pytest.mark.parametrize("mode", ["read-only", "passcode", "oidc"])
def test_runs_have_no_buttons_for_those_outside(open_page, runs_root, monkeypatch, mode):
    evidence_run(runs_root)
    set_mode(monkeypatch, mode, passcode=CODE)
    app = open_page("runs", run=RUN)
    assert not {key for key in buttons(app) if key.startswith("runs.do")}
    assert RUN in words(app)


def test_on_this_machine_all_is_there(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("runs", run=RUN)
    assert f"runs.do.delete.{RUN}" in buttons(app)
    assert "launch.do.start" in buttons(open_page("launch"))


@pytest.mark.parametrize(("mode", "offered"), [("open", True), ("read-only", False)])
def test_the_launcher_is_offered_where_anybody_can_have_it(open_page, monkeypatch, mode, offered):
    set_mode(monkeypatch, mode)
    for page in ("ranking", "compare", "runs", "metrics"):
        links = [link.proto.page for link in open_page(page).main.get("page_link")]
        assert ("launch" in links) is offered, page


def test_a_visitor_of_another_machine_reads_only(open_page, runs_root, monkeypatch):
    evidence_run(runs_root)
    monkeypatch.setattr(visitor_module, "_is_remote", lambda: True)
    assert "Runs cannot be started here" in words(open_page("launch"))
    assert not {key for key in buttons(open_page("runs", run=RUN)) if "runs.do" in key}


@pytest.mark.parametrize(
    ("headers", "address", "remote"),
    [
        ({"Host": "localhost:8501"}, None, False),
        ({"Host": "127.0.0.1:8501"}, None, False),
        ({"Host": "[::1]:8501"}, None, False),
        ({}, None, False),
        ({"Host": "board.example.org"}, None, True),
        ({"Host": "localhost.evil.example"}, None, True),
        ({"Host": "localhost@evil.example"}, None, True),
        ({"Host": "localhost:8501", "X-Forwarded-For": "1.2.3.4"}, None, True),
        ({"Host": "localhost:8501", "Forwarded": "for=1.2.3.4"}, None, True),
        ({"Host": "localhost:8501"}, "192.168.1.7", True),
        ({"Host": "192.168.1.2:8501"}, "192.168.1.7", True),
    ],
)
def test_who_sits_at_this_machine(monkeypatch, headers, address, remote):
    class Context:
        ip_address = address

    Context.headers = headers
    monkeypatch.setattr(visitor_module.st, "context", Context)
    assert visitor_module._is_remote() is remote


def test_an_unknown_mode_opens_nothing_and_names_the_known_ones(runs_root, monkeypatch):
    set_mode(monkeypatch, "opne")
    app = start()
    assert not app.exception
    [error] = app.error
    assert "open, read" in error.value.replace("\\", "")
    assert not app.main.button


def test_the_passcode_opens_the_session_that_typed_it(runs_root, monkeypatch):
    set_mode(monkeypatch, "passcode", passcode=CODE)
    app = door().run()
    assert not may_launch(app)
    app = unlock(app, CODE)
    assert may_launch(app)
    assert "You can launch runs here" in sidebar(app)
    assert not app.sidebar.text_input
    assert CODE not in str(dict(app.query_params))
    assert not may_launch(door().run()), "another session is another visitor"
    app.sidebar.button(key="access.leave").click().run()
    assert not may_launch(app)


def test_who_is_inside_has_the_buttons(runs_root, monkeypatch):
    evidence_run(runs_root)
    set_mode(monkeypatch, "passcode", passcode=CODE)
    app = inside()
    assert f"runs.do.delete.{RUN}" in buttons(go(app, "runs", run=RUN))
    assert "launch.do.start" in buttons(go(app, "launch"))
    assert not any(key.startswith("launch") for key in buttons(go(start(), "launch")))


def test_the_passcode_is_typed_where_it_is_asked_for(runs_root, monkeypatch):
    """On a phone the sidebar is folded away, and the page that refuses offers the form itself."""
    set_mode(monkeypatch, "passcode", passcode=CODE)
    app = go(start(), "launch")
    app.main.text_input[0].set_value("not the one")
    app.main.button[0].click().run()
    assert app.main.error
    app.main.text_input[0].set_value(CODE)
    app.main.button[0].click().run()
    assert not app.exception
    assert "launch.do.start" in buttons(app)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_wrong_passcode_opens_nothing_and_tires(runs_root, monkeypatch, language):
    set_mode(monkeypatch, "passcode", passcode=CODE)
    app = door()
    app.context["locale"] = LOCALES[language]
    app.run()
    for _ in range(5):
        app = unlock(app, "not the one")
        assert app.sidebar.error
        assert not may_launch(app)
    assert ("10 min" if language == "en" else "10 分钟") in sidebar(app)
    app = unlock(app, CODE)
    assert app.sidebar.error
    assert not may_launch(app)


@pytest.mark.parametrize("code", ["", "short"])
def test_without_a_passcode_there_is_nothing_to_type(runs_root, monkeypatch, code):
    set_mode(monkeypatch, "passcode", passcode=code)
    app = start()
    assert not app.sidebar.text_input
    assert "EVALBOARD_PASSCODE" in sidebar(app).replace("\\", "")


def test_an_account_on_the_list_launches(runs_root, monkeypatch):
    set_mode(monkeypatch, "oidc", allow_emails="ada@example.org")
    app = start(account=ACCOUNT)
    assert "![x]" not in sidebar(app), "the name of an account is text of a stranger"
    assert "launch.do.start" in buttons(go(app, "launch"))


@pytest.mark.parametrize("changes", [{"email_verified": False}, {"email": "eve@evil.example"}])
def test_an_account_that_is_on_no_list_reads(runs_root, monkeypatch, changes):
    set_mode(monkeypatch, "oidc", allow_emails="ada@example.org")
    app = start(account=ACCOUNT | changes)
    assert "this account may not do that here" in sidebar(app)
    assert buttons(go(app, "launch")) == set()


def test_without_a_provider_the_login_says_so(runs_root, monkeypatch):
    set_mode(monkeypatch, "oidc", allow_emails="ada@example.org")
    app = start(account={"is_logged_in": False})
    assert "not set up" in sidebar(app)
    assert not app.sidebar.button
    assert buttons(go(app, "launch")) == set()


def test_what_is_started_is_started_in_the_name_of_the_visitor(runs_root, monkeypatch):
    asked = []
    monkeypatch.setattr(client, "launch_run", lambda *args, visitor: asked.append(visitor) or "r")
    set_mode(monkeypatch, "oidc", allow_domains="example.org")
    app = go(start(account=ACCOUNT), "launch")
    app.button(key="launch.do.start").click().run()
    [who] = asked
    assert (who.name, who.proved, who.operator) == ("https://id.example|7", True, False)


def test_the_form_offers_what_the_lists_allow(runs_root, monkeypatch):
    set_mode(
        monkeypatch,
        "passcode",
        passcode=CODE,
        allow_endpoints="deepseek api.example.org",
        allow_models="Qwen/Qwen3-0.6B",
    )
    app = go(inside(), "launch")
    app.button_group(key="launch.kind").set_value("openai").run()
    assert app.selectbox(key="launch.server").options == ["DeepSeek", "Another server…"]
    assert not [
        text_input
        for text_input in app.text_input
        if str(text_input.key).startswith("launch.base_url")
    ]
    app.selectbox(key="launch.server").set_value("custom").run()
    [address] = [
        text_input
        for text_input in app.text_input
        if str(text_input.key).startswith("launch.base_url")
    ]
    assert "api.example.org" in address.help.replace("\\", "")
    app.button_group(key="launch.kind").set_value("hf").run()
    assert app.selectbox(key="launch.target.hf.listed").options == ["Qwen/Qwen3-0.6B"]
    assert not [toggle for toggle in app.toggle if "trust_remote_code" in str(toggle.key)]
    assert not [text_input for text_input in app.text_input if "adapter" in str(text_input.key)]
    assert "launch.dataset_path" not in {text_input.key for text_input in app.text_input}


def test_with_empty_lists_programs_are_left(runs_root, monkeypatch):
    set_mode(monkeypatch, "passcode", passcode=CODE)
    app = go(inside(), "launch")
    assert len(app.button_group(key="launch.kind").options) == 2
    assert "launch.do.start" in buttons(app)


@pytest.mark.parametrize(("mode", "message"), [("open", True), ("read-only", False)])
def test_readers_are_not_told_where_files_lie(open_page, runs_root, monkeypatch, mode, message):
    folder = evidence_run(runs_root)
    folder.summary_path.unlink(missing_ok=True)
    spec = msgspec.structs.replace(folder.read_spec(), command=f"evalcore run --dataset {PATH}")
    (folder.path / "spec.json").write_bytes(msgspec.json.encode(spec))
    folder.log_path.write_text(f"Traceback: {PATH}")
    folder.write_progress(Progress(run_id=RUN, state="incomplete", message=f"no file {PATH}"))
    folder.lock_path.touch()
    set_mode(monkeypatch, mode)
    text = words(open_page("runs", run=RUN))
    assert ("secret-place" in text) is message
    assert "model.safetensors" in text
    assert ("Traceback" in text) is message


@pytest.mark.parametrize(("mode", "message"), [("open", True), ("read-only", False)])
def test_a_gated_text_is_shown_in_the_open_alone(open_page, runs_root, monkeypatch, mode, message):
    set_mode(monkeypatch, mode, show_gated="true")
    seen = []

    def remembering(*args, show_gated, **more):
        seen.append(show_gated)
        raise client.UsageError("enough")

    from evalcore.views import cases

    monkeypatch.setattr(cases, "case_view", remembering)
    evidence_run(runs_root)
    open_page("case", run=RUN, metric=METRIC, id="table_diff")
    assert seen == [message]


def test_who_was_let_in_is_not_locked_out_by_the_wrong_tries_of_others(monkeypatch):
    """Not even by those from their own address, nor while all tries are slow."""
    monkeypatch.setattr(visitor_module, "GATE", PasscodeGate(sleep=lambda seconds: None))
    # a test has no connection
    monkeypatch.setattr(visitor_module, "find_visitor_network", lambda: "127.0.0.1")
    set_mode(monkeypatch, "passcode", passcode=CODE)
    app = unlock(door().run(), CODE)
    assert may_launch(app)
    for number in range(300):
        visitor_module.GATE.try_passcode("wrong", [], f"198.51.100.{number}")
        visitor_module.GATE.try_passcode("wrong", [], "127.0.0.1")
    assert may_launch(app.run())
    assert not may_launch(unlock(door().run(), CODE)), "a new visitor of that address waits"
