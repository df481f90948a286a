"""Texts of upstream's code are parsed: what follows from literals is read, nothing is run."""

from __future__ import annotations

import pytest

from evalcore.errors import IntakeError
from evalcore.intake.python_source import SLOT, SourceModule

SOURCE = '''
from .other import Helper as H
NAME = "respond"
TEXT = f"Say {NAME} now, " + "and stop."
LIST = [1, -2, {"a": None, "b": (True, "x")}]
COMPUTED = open("/etc/passwd").read()
TOOLS = [H, Other]

class Config:
    temperature: float = 0.5

class User:
    def prompt(self, task):
        shown = ("\\nTask: " + task + "\\n") if task is not None else ""
        return f"""You are a user.{shown}Rules"""

    def info(self):
        return {"name": NAME, "n": 3}

    def steps(self, first, *, limit=30):
        return compute(first)
'''


def test_constants_follow_from_literals_and_known_names():
    module = SourceModule(SOURCE, "a.py")
    assert module.get_constant("TEXT") == "Say respond now, and stop."
    assert module.get_constant("LIST") == [1, -2, {"a": None, "b": [True, "x"]}]
    assert module.get_constant("Config.temperature") == 0.5
    assert module.list_imports() == {"H": "other"}
    with pytest.raises(IntakeError, match=r"a\.py assigns no literal to COMPUTED"):
        module.get_constant("COMPUTED")
    with pytest.raises(IntakeError, match="assigns nothing to GONE"):
        module.find_assignment("GONE")


def test_returns_and_defaults_are_read():
    module = SourceModule(SOURCE, "a.py")
    prompt = module.evaluate_return("User.prompt", {"task": SLOT})
    assert prompt == f"You are a user.\nTask: {SLOT}\nRules"
    assert module.evaluate_return("User.info") == {"name": "respond", "n": 3}
    assert module.get_argument_default("User.steps", "limit") == 30
    with pytest.raises(IntakeError, match=r"User\.steps returns no literal"):
        module.evaluate_return("User.steps")
    with pytest.raises(IntakeError, match="no literal default of first"):
        module.get_argument_default("User.steps", "first")
    with pytest.raises(IntakeError, match=r"defines no Nobody\.prompt"):
        module.find_function("Nobody.prompt")


def test_texts_of_a_function_keep_their_order():
    texts = SourceModule(SOURCE, "a.py").list_texts("User.prompt")
    assert texts[0] == "\nTask: "
    assert f"You are a user.{SLOT}Rules" in texts


@pytest.mark.parametrize("source", ["def f(:", "x = 1" + "+1" * 100_000, "\x00", "(" * 5_000])
def test_what_is_no_python_is_refused(source):
    with pytest.raises(IntakeError, match="is not Python source"):
        SourceModule(source, "b.py")
