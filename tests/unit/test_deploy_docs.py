"""The guide to deploying: what it says of settings, files and commands is so."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import msgspec
import pytest

from evalcore.access import login
from evalcore.cli import main
from evalcore.settings import ROOT, Settings
from evalcore.web import middleware
from tests.support.dockerfile import environment

TEXT = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(EVALBOARD_[A-Z_]+)` \| (?:`([^`]*)`|(none)) \| .+ \|$", re.MULTILINE)
#: In the file alone: tables have no form in the environment.
TABLES = {"endpoints", "prices", "suites"}


def read_documented() -> dict[str, str]:
    """What the guide says is the default of each setting, "" for none."""
    return {name: default for name, default, _ in ROW.findall(TEXT)}


def so() -> dict[str, str]:
    """The defaults as they are, written as in the environment."""
    results = {}
    for field in msgspec.structs.fields(Settings):
        if field.name in TABLES:
            continue
        made = field.default_factory
        value = field.default if made is msgspec.NODEFAULT else made()
        value = "" if value in ({}, msgspec.NODEFAULT) else value
        text = os.path.relpath(value, ROOT) if str(value).startswith(str(ROOT)) else value
        shown = "" if text in ("", ()) else str(text)
        results[f"EVALBOARD_{field.name.upper()}"] = shown.lower() if value is False else shown
    return results


def test_every_setting_is_told_with_its_default():
    assert read_documented() == so()


def test_every_variable_that_the_program_reads_is_told():
    used = set()
    for path in (ROOT / "evalcore").rglob("*.py"):
        used |= set(
            re.findall(r"[\"'](EVALBOARD_[A-Z]+(?:_[A-Z]+)*)[\"']", path.read_text("utf-8"))
        )
    assert used
    assert {name for name in used if f"`{name}`" not in TEXT} == set()


def tables() -> list[list[list[str]]]:
    """Every table of the guide as rows of cells, the head first, the rule below it left out."""
    matches = re.findall(r"(?:^\|.*\|$\n?)+", TEXT, re.MULTILINE)
    rows = [[line.strip("|").split(" | ") for line in item.splitlines()] for item in matches]
    return [
        [[cell.strip() for cell in row] for row in item if "---" not in row[0]] for item in rows
    ]


def test_every_row_of_a_table_has_the_cells_of_its_head():
    assert len(tables()) >= 4
    for head, *rows in tables():
        for row in rows:
            assert len(row) == len(head), row


def test_every_secret_is_called_one_wherever_it_is_listed():
    """Whatever holds a key is a secret of a Space, and is said to be secret among the variables."""
    space = next(table for table in tables() if table[0] == ["kind", "name", "value"])[1:]
    variables = next(table for table in tables() if table[0] == ["variable", "meaning"])[1:]
    name = re.compile(r"`[A-Z_]*(?:KEY|TOKEN|SECRET|PASSCODE)[A-Z_]*`")
    for kind, named, _ in space:
        assert kind == ("secret" if name.search(named) else "variable"), named
    for named, meaning in variables:
        assert meaning.startswith("secret: ") == bool(name.search(named)), named


def test_variables_that_are_no_settings_are_in_their_table():
    listed = {
        name
        for row in next(table for table in tables() if table[0] == ["variable", "meaning"])[1:]
        for name in re.findall(r"`([A-Z_]+)`", row[0])
    }
    own = {login.VARIABLE, middleware.SPACE}
    own |= {login.PROVIDER, login.CLIENT, login.SECRET, login.HOST, login.COOKIE}
    used = set()
    for path in (ROOT / "evalcore").rglob("*.py"):
        used |= set(re.findall(r"[\"'](EVALBOARD_[A-Z_]+[A-Z])[\"']", path.read_text("utf-8")))
    assert own | used - set(so()) <= listed


def test_every_variable_that_is_told_is_read():
    code = "".join(path.read_text("utf-8") for path in (ROOT / "evalcore").rglob("*.py"))
    named = set(re.findall(r"EVALBOARD_[A-Z]+(?:_[A-Z]+)*", TEXT)) - {"EVALBOARD_PASSCODE"}
    assert {name for name in named if name not in so() and name not in code} == set()


@pytest.mark.parametrize("line", re.findall(r"^(?:evalcore|make) .*$", TEXT, re.MULTILINE))
def test_every_command_of_ours_exists(line):
    words = shlex.split(line.partition("#")[0])
    if words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text("utf-8")
        return
    parser = main.build_parser()
    assert parser.parse_args(words[1:])


def test_every_link_leads_somewhere():
    headings = re.findall(r"^##+ (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#([^)]+)\)", TEXT)
    assert links
    assert set(links) <= anchors


def test_the_image_and_the_guide_agree():
    port = environment()["STREAMLIT_SERVER_PORT"]
    assert f"{port}:{port}" in TEXT
    assert environment()["EVALBOARD_DATA"] in TEXT
    assert "--build-arg MARIADB=" in TEXT
    assert "ARG MARIADB" in (ROOT / "Dockerfile").read_text("utf-8")
    assert Path(ROOT / "hosting" / "space" / "README.md").is_file()
