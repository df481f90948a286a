"""What a target is told of a task, style by style."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.swe_bench import Task, prompts

PATCH = """\
diff --git a/shop/till.py b/shop/till.py
--- a/shop/till.py
+++ b/shop/till.py
@@ -50,3 +50,3 @@ def round_up():
 line 50
-line 51
+secret change
 line 52
@@ -60,3 +60,3 @@
 line 60
-line 61
+another change
 line 62
diff --git a/shop/new.py b/shop/new.py
new file mode 100644
--- /dev/null
+++ b/shop/new.py
@@ -0,0 +1 @@
+x = 1
"""
TASK = Task(
    instance_id="shop__tills-7",
    repo="shop/tills",
    base_commit="a" * 40,
    problem_statement="It rounds wrongly.\n",
    patch=PATCH,
    test_patch="",
    fail_to_pass=(),
    pass_to_pass=(),
    text="You will be given an issue.\n<issue>...</issue>\nRespond below:",
)
FILES = {"shop/till.py": "\n".join(f"line {n}" for n in range(1, 101)) + "\n"}


def shown(context_lines):
    [_, user] = prompts.build_swe_messages(TASK, "files", FILES, context_lines)
    return user.content


@pytest.mark.parametrize("style", ["files", "issue_only", "agent"])
def test_the_issue_is_told_and_the_patch_is_not(style):
    text = "".join(m.content for m in prompts.build_swe_messages(TASK, style, FILES, 3))
    assert "It rounds wrongly." in text
    assert "secret change" not in text
    assert "another change" not in text


def test_issue_only_shows_no_code():
    text = prompts.build_swe_messages(TASK, "issue_only", {}, 80)[1].content
    assert "line 50" not in text
    assert "```diff" in text


def test_lines_around_the_places_are_shown_and_places_that_meet_are_one():
    far, near = shown(1), shown(20)
    assert "lines 49 to 53 of 100" in far
    assert "lines 59 to 63 of 100" in far
    assert "line 48\n" not in far
    assert near.count("[start of") == 1
    assert "lines 30 to 82 of 100" in near


def test_zero_shows_whole_files():
    assert "lines 1 to 100 of 100" in shown(0)


def test_a_file_that_the_patch_makes_is_not_asked_for():
    assert prompts.list_touched_files(TASK) == ["shop/till.py"]


def test_the_text_of_the_data_set_is_parted_at_its_first_line():
    system, user = prompts.build_swe_messages(TASK, "text", {}, 0)
    assert system.content == "You will be given an issue."
    assert user.content == "<issue>...</issue>\nRespond below:"


def test_an_agent_is_told_of_no_form_of_an_answer():
    text = prompts.build_swe_messages(TASK, "agent", {}, 0)[1].content
    assert "```" not in text
