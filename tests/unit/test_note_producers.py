"""What scorers, the runner and errors have to say is made as a note: a static scan of the package.

Each code that a producer names is in every catalogue with the values that it gives, and none writes
a sentence as plain text that the catalogue holds, or where a note belongs.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import msgspec

from evalcore import i18n
from evalcore.benchmarks import sql_scoring
from evalcore.benchmarks.sql_optimization import advice
from evalcore.benchmarks.tau_bench import score as tau_score
from evalcore.i18n import LANGUAGES, load_catalogue
from evalcore.sandbox.program import Ending
from evalcore.sqlkit.equivalence import evidence
from evalcore.targets import failures
from evalcore.targets.endpoint import gemini
from tests.support.rows import each_row

ROOT = Path(__file__).parents[2]
#: The codes of calls that compute theirs, by file and the expression as it is written.
COMPUTED_CODES = {
    ("sqlkit/equivalence/evidence.py", "DIFFERENCE_NOTES[example.reason]"): [
        *evidence.DIFFERENCE_NOTES.values()
    ],
    ("sqlkit/equivalence/evidence.py", "DECISION_NOTES[decision.status]"): [
        *evidence.DECISION_NOTES.values()
    ],
    ("benchmarks/sql_scoring.py", "code"): [
        *sql_scoring.PANEL_NOTES.values(),
        *sql_scoring.PUBLISHED_NOTES.values(),
    ],
    ("benchmarks/sql_scoring.py", "PUBLISHED_NOTES[outcome]"): [
        *sql_scoring.PUBLISHED_NOTES.values()
    ],
    ("benchmarks/sql_optimization/advice.py", "code"): [
        code for _, _, code in advice.OUTCOMES_BY_FINDING.values()
    ],
    ("benchmarks/sql_understanding/reference_validation.py", "code"): ["gold_gives", "gold_class"],
    ("sqlkit/products/decision.py", "code"): ["exec_product_feature", "exec_product_alone"],
    ("benchmarks/gaia/score.py", "code"): ["gaia_not_a_number", "gaia_other_number"],
    ("benchmarks/gaia/score.py", "element_code"): [
        "gaia_element_not_a_number",
        "gaia_other_element",
    ],
    ("benchmarks/call_decoding/call.py", "code"): ["call_invalid", "decode_python"],
    ("benchmarks/base.py", "self.code"): ["gold_reference", "gold_variant", "gold_counterexample"],
    ("benchmarks/base.py", "f'{self.code}_alone'"): [
        "gold_reference_alone",
        "gold_variant_alone",
        "gold_counterexample_alone",
    ],
    ("targets/failures.py", "code"): [
        *(code for _, code in failures._TRANSPORT.values()),
        *(code for _, code in failures._PLAIN_TRANSPORT.values()),
    ],
    ("targets/endpoint/gemini.py", "code"): [code for _, code in gemini._FAILURES.values()],
    ("benchmarks/tau_bench/score.py", "f'end_{ended}'"): [
        f"end_{ending}" for ending in tau_score.ENDINGS
    ],
    ("benchmarks/swe_bench/evaluate_patch.py", "f'limit_{gold.ended_by}'"): [
        f"limit_{ending}" for ending in Ending.__args__ if ending
    ],
}
#: Values that only some of the computed codes hold are given to all of them, and others by `**`.
COMPUTED_VALUES = {
    "benchmarks/sql_optimization/advice.py": {"before", "after", "best"},
    "benchmarks/base.py": {"number", "answer"},
}
#: Sentences of the catalogue that are something else where they stand: parts of longer texts.
OTHER_TEXTS = {
    ("exchange/bundle/contents.py", "is missing"),
    ("web/answers.py", "longer than \0 characters"),
    ("benchmarks/gaia/tools/web_tools.py", "more than \0 redirects"),  # what a model reads
    ("sandbox/filesystem.py", "\0 cannot be read: \0"),  # what a model reads
}


class NoteCall(NamedTuple):
    file: str
    line: int
    codes: tuple[str, ...]
    values: frozenset[str]
    computed: bool


@cache
def parse_sources() -> dict[str, ast.Module]:
    folder = ROOT / "evalcore"
    return {
        str(path.relative_to(folder)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
        if path.parent != folder / "i18n"
    }


def placeholders(text: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name)


def list_note_calls() -> Iterator[NoteCall]:
    for file, tree in parse_sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Note":
                code = node.args[0]
                choices = [code.body, code.orelse] if isinstance(code, ast.IfExp) else [code]
                literal = all(isinstance(choice, ast.Constant) for choice in choices)
                key = (file, ast.unparse(code))
                codes = (
                    [choice.value for choice in choices if isinstance(choice, ast.Constant)]
                    if literal
                    else COMPUTED_CODES[key]
                )
                values = frozenset(word.arg for word in node.keywords if word.arg)
                yield NoteCall(file, node.lineno, tuple(codes), values, computed=not literal)


def test_every_code_of_a_producer_is_in_every_catalogue_with_its_values():
    calls = list(list_note_calls())
    assert len(calls) > 200
    wrong = []
    for call in calls:
        values = call.values | (COMPUTED_VALUES.get(call.file, set()) if call.computed else set())
        for code in call.codes:
            for language in LANGUAGES:
                entry = load_catalogue(language).get(f"note.{code}")
                held = None if entry is None else placeholders(entry)
                if held is None or (not held <= values if call.computed else held != values):
                    wrong.append((call.file, call.line, code, language))
    assert wrong == []


def test_every_computed_code_is_used():
    used = {
        (file, ast.unparse(node.args[0]))
        for file, tree in parse_sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Note"
    }
    assert COMPUTED_CODES.keys() <= used


def test_every_entry_has_a_producer_or_is_of_old_runs():
    stored = msgspec.json.decode((files(i18n) / "stored_notes.json").read_bytes())
    produced = {code for call in list_note_calls() for code in call.codes}
    entries = {key.removeprefix("note.") for key in load_catalogue("en") if key[:5] == "note."}
    assert entries - produced - stored.keys() == set()


def list_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text that is no docstring, with \\0 for what an f-string or a template fills in."""
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in parts | documents:
            continue
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "\0"
                    for part in node.values
                ),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, re.sub(r"\{\w*\}", "\0", node.value)


def test_no_producer_writes_a_sentence_of_the_catalogue_as_plain_text():
    sentences = {
        text
        for key, entry in load_catalogue("en").items()
        if key.startswith("note.")
        and len((text := re.sub(r"\{\w+\}", "\0", entry)).replace("\0", "").split()) > 1
    }
    plain = [
        (file, line, text)
        for file, tree in parse_sources().items()
        for line, text in list_texts(tree)
        if text in sentences and (file, text) not in OTHER_TEXTS
    ]
    assert plain == []


#: Modules that make verdicts, findings and errors of runs and jobs, by folder.
PRODUCERS = [
    str(path.relative_to(ROOT / "evalcore"))
    for folder in ("benchmarks", "judges", "runner", "sandbox", "sqlkit", "targets")
    for path in sorted((ROOT / "evalcore" / folder).rglob("*.py"))
]


def is_plain_sentence(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return is_plain_sentence(node.body) or is_plain_sentence(node.orelse)
    if isinstance(node, ast.JoinedStr):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value


@each_row("file", PRODUCERS)
def test_no_verdict_gets_a_plain_sentence_for_its_note(file):
    plain = [
        (node.lineno, ast.unparse(word.value))
        for node in ast.walk(parse_sources()[file])
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == "note" and is_plain_sentence(word.value)
    ]
    assert plain == []
