"""The form of a kind of target that a plug-in brings, made of the fields on its own card."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore import catalog
from evalcore.cli import plugin_templates
from evalcore.errors import UsageError
from evalcore.records import TargetSpec
from evalcore.runner import client
from evalcore.settings import Settings
from evalcore.targets import registry
from tests.apptest.conftest import words
from tests.support.plugins import plugin_path, write

__all__ = ["plugin_path"]
KEY = "sk-typed-for-this-session-only"
ECHOER_KEY = "ECHOER_API_KEY"
#: A kind with one field of each type, a key that it cannot do without, and a server's own names.
_FIELDS = """
from evalcore.catalog import OptionCard, TargetKindCard
CARD = TargetKindCard(
    prefix="fields", form="fields:x", title={"en": "Fields"}, about={}, examples=("fields:x",),
    options=(
        OptionCard(name="base_url", label={"en": "Where", "zh": "地址"}, shown=True),
        OptionCard(name="level", type="int", default=3, label={"en": "Level"}, shown=True),
        OptionCard(name="share", type="float", default=0.5),
        OptionCard(name="mood", choices=("calm", "loud"), default="calm", shown=True),
        OptionCard(name="parts", type="list", default=["a"]),
        OptionCard(name="FIELDS_TOKEN", secret=True, label={"en": "Token", "zh": "令牌"}),
    ),
)
"""


@pytest.fixture
def requests(monkeypatch):
    """What the page asked to be started: pairs of request and keys."""
    started = []

    def launch(request, keys, settings, *, visitor):
        started.append((request, dict(keys)))
        return "20260101-100000-aaaaaa"

    monkeypatch.setattr(client, "launch_run", launch)
    monkeypatch.delenv(ECHOER_KEY, raising=False)
    monkeypatch.delenv("FIELDS_TOKEN", raising=False)
    return started


@pytest.fixture
def echoer(plugin_path: Path, tmp_path: Path) -> None:
    """What `evalcore new target echoer` writes, installed."""
    values = plugin_templates.build_plugin_values("target", "echoer")
    folder, _ = plugin_templates.write_plugin("target", values, tmp_path)
    (folder / "evalboard_echoer").rename(plugin_path / "evalboard_echoer")
    points = {"evalcore.targets": {"echoer": "evalboard_echoer.card:CARD"}}
    write(plugin_path, "echoer_package", "", points)
    catalog.clear_plugin_cache()


@pytest.fixture
def fields(plugin_path: Path) -> None:
    write(plugin_path, "fields_kind", _FIELDS, {"evalcore.targets": {"f": "fields_kind:CARD"}})
    catalog.clear_plugin_cache()


def start(app):
    app.button(key="launch.do.start").click().run()
    assert not app.exception


def test_a_generated_target_has_a_form_and_starts_without_its_key(open_page, requests, echoer):
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("echoer").run()
    upper = app.toggle(key="launch.option.echoer.upper")
    assert (upper.label, upper.value) == ("Capital letters", False)
    key = app.text_input(key=f"typed_key.{ECHOER_KEY}")
    assert (key.label, key.proto.type) == ("Echoer key", key.proto.PASSWORD)
    assert not app.warning
    start(app)
    [(request, keys)] = requests
    assert (request.target, request.target_options, keys) == ("echoer:last-word", {}, {})


def test_what_is_typed_into_it_reaches_the_run(open_page, requests, echoer):
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("echoer").run()
    app.toggle(key="launch.option.echoer.upper").set_value(True)
    app.text_input(key=f"typed_key.{ECHOER_KEY}").set_value(KEY).run()
    assert KEY not in words(app)
    start(app)
    [(request, keys)] = requests
    assert request.target_options == {"upper": True}
    assert keys == {ECHOER_KEY: KEY}
    assert KEY not in repr(request)


def test_two_targets_of_the_kind_share_the_field_of_the_key(open_page, requests, echoer):
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("echoer").run()
    app.toggle(key="launch.second").set_value(True).run()
    assert not app.exception
    assert app.button_group(key="launch.second.kind").value == "echoer"
    app.toggle(key="launch.second.option.echoer.upper").set_value(True).run()
    assert not app.exception
    assert not app.button(key="launch.do.start").disabled


@pytest.mark.parametrize(
    ("language", "token", "where"), [("en", "Token", "Where"), ("zh", "令牌", "地址")]
)
def test_every_type_of_field_and_a_key_that_is_needed(
    open_page, requests, fields, language, token, where
):
    app = open_page("launch", language)
    app.button_group(key="launch.kind").set_value("fields").run()
    assert app.button(key="launch.do.start").disabled
    assert "FIELDS_TOKEN" in words(app)
    field = app.text_input(key="typed_key.FIELDS_TOKEN")
    assert field.label == token
    address = app.text_input(key="launch.option.fields.base_url")
    assert address.label == where
    field.set_value(KEY)
    address.set_value("http://127.0.0.1:9")
    app.number_input(key="launch.option.fields.level").set_value(4)
    app.number_input(key="launch.option.fields.share").set_value(0.25)
    app.selectbox(key="launch.option.fields.mood").set_value("loud")
    app.text_input(key="launch.option.fields.parts").set_value("a, b").run()
    start(app)
    [(request, keys)] = requests
    assert keys == {"FIELDS_TOKEN": KEY}
    assert request.target_options == {
        "base_url": "http://127.0.0.1:9",
        "level": 4,
        "share": 0.25,
        "mood": "loud",
        "parts": ["a", "b"],
    }


def test_a_key_of_the_environment_is_not_asked_for(open_page, requests, fields, monkeypatch):
    monkeypatch.setenv("FIELDS_TOKEN", KEY)
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("fields").run()
    assert not [field for field in app.text_input if field.key == "typed_key.FIELDS_TOKEN"]
    assert KEY not in words(app)
    start(app)
    assert requests[0][1] == {}


def test_a_key_is_no_option(fields):
    assert client.missing_keys("fields:x", {}, Settings()) == ("FIELDS_TOKEN",)
    spec = TargetSpec("fields:x", {"FIELDS_TOKEN": KEY})
    with pytest.raises(UsageError, match="contains a key and is not an option") as refused:
        registry.create_target(spec, Settings(), None)
    assert KEY not in str(refused.value)


def test_a_key_that_no_variable_can_be_named_by_leaves_the_kind_out(plugin_path):
    source = _FIELDS.replace("FIELDS_TOKEN", "my-token")
    write(plugin_path, "fields_kind", source, {"evalcore.targets": {"f": "fields_kind:CARD"}})
    catalog.clear_plugin_cache()
    assert "fields" not in catalog.target_kinds()
    [skipped] = catalog.list_skipped_plugins()
    assert "not a valid environment variable name" in skipped.why
