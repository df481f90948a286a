"""Wording of the catalogues and the command line: no phrase that readers stumble over returns."""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter
from importlib.resources import files
from types import SimpleNamespace

import pytest

from evalcore import i18n
from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.cli import main
from evalcore.exchange import progress_bar
from evalcore.exchange.report_data import format_progress
from evalcore.i18n import Note, load_catalogue, translate_note
from evalcore.plain_text import format_count
from evalcore.views.board_titles import describe_ranking
from tests.support.documents import ROOT

CLUMSY = {
    "en": [
        "beyond chance where",
        "larger than chance",
        "Order of rows",
        "Why no rank",
        "Listed without a rank",
        "within reach",
        "Latency, median",
        "Name for its key",
        "Amount and speed",
        "Trust in the files",
        "returned as it was",
        "made in China",
        "ahead, beyond chance",
        "chance explains",
        "told apart",
        "yardstick",
        "Within reach",
        "without any thought",
        "Take it away",
        "What a score takes",
        "Hand in",
        "anded in",
        "and it in",
        "taken in",
        "Mend",
        "told of",
        "is told in",
        "was held against",
        "refused for their rate",
        "lies beside",
        "At work",
        "data set",
        "Data set",
        "Licence",
        "licence:",
        "rganisation",
        "95 %",
        "is no name",
        "are no name",
        "at hand",
        "Calls of tools",
        "stands there",
        "stand there",
        "stood there",
        "comes about",
        "Worked for",
        "with good will",
        "anew",
        "whoever",
        "Whoever",
        "nobody's",
        "goes on when",
        "goes on in",
        " himself",
        " he ",
        " his ",
        "could make nothing of",
        "ranks nothing",
        "holds no",
        "is gone",
    ],
    "zh": [
        *("套件", "基准"),  # 评测集, 评测项
        *("得点", "满点", "等另外", "行的顺序", "比较基准", "超出偶然", "95 %"),
        *("下列目标", "个目标", "目标均", "还没有目标"),
    ],
}


@pytest.mark.parametrize("language", CLUMSY)
def test_no_catalogue_holds_a_clumsy_phrase(language):
    texts = dict(load_catalogue(language))
    if language == "zh":
        texts |= json.loads((files(i18n) / "help_zh.json").read_text(encoding="utf-8"))
    held = {(k, words) for k, text in texts.items() for words in CLUMSY[language] if words in text}
    assert held == set()


#: A command, an option of one, or what installs something: for a terminal, never for a page.
COMMAND = re.compile(
    r"\bevalcore [a-z]|\b(pip3?|uv|apt-get|apt|docker|streamlit|npm) (install|run|pip)\b|"
    r"(?<![\w-])--[a-z][a-z-]+|\bpython3? -m\b"
)
#: Data of cases: what git calls its own ways of applying a patch.
NAMES_OF_DATA = ("section.word.results.",)


@pytest.mark.parametrize("language", CLUMSY)
def test_no_text_of_a_page_holds_a_command(language):
    """Commands to copy stand in blocks of their own; a page names its own way."""
    texts = dict(load_catalogue(language))
    held = {
        key: match[0]
        for key, text in texts.items()
        if not key.startswith(("cli.", "note.", *NAMES_OF_DATA)) and (match := COMMAND.search(text))
    }
    assert held == {}


@pytest.mark.parametrize("language", CLUMSY)
def test_a_note_with_a_command_has_other_words_on_a_page(language):
    texts = dict(load_catalogue(language))
    notes = {key.removeprefix("note.") for key in texts if key.startswith("note.")}
    own = {key.removeprefix("page_note.") for key in texts if key.startswith("page_note.")}
    commands = {code for code in notes if COMMAND.search(texts[f"note.{code}"])}
    with_command = {code for code in commands if not code.startswith("cli_")}  # of no page
    assert with_command <= own <= notes
    for code in own:
        values = dict.fromkeys(re.findall(r"{(\w+)", texts[f"note.{code}"]), "x")
        said = translate_note(Note(code, **values), language)
        assert said == texts[f"page_note.{code}"].format(**values)
        assert not COMMAND.search(said)


def test_no_page_has_a_command_in_its_code_or_on_a_card():
    cards = [*ROOT.glob("evalcore/benchmarks/*/card.py"), ROOT / "evalcore/targets/cards.py"]
    to_copy = ROOT / "pages/parts/compare/selection.py"  # a block of code of its own
    pages = [path for path in (ROOT / "pages").rglob("*.py") if path != to_copy]
    files = [*pages, ROOT / "app.py", *cards]
    held = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in files
        for line, text in list_code_strings(path)
        if (match := COMMAND.search(text))
    ]
    assert held == []


#: In errors and in what commands print; catalogues and help texts have the longer list above.
CLUMSY_IN_CODE = re.compile(
    "larger than chance|beyond chance|told apart|yardstick|within reach|[Hh]and(ed)? in |taken in |"
    "[Mm]end it|is no name|are no name|held against|refused for their rate|returned as it was|"
    "lies beside|lie beside|95 %|[Dd]ata set|told of|[Ww]hoever|nobody can rescore|made in China"
)
#: Files whose strings are prompts, policies and replies of simulated users and tools: part of what
#: is asked, so that scores depend on them.
PROMPTS = re.compile(
    "environment/|simulated/|prompts?[.]py|policies|tasks/|multi_turn/|gaia/benchmark"
)


def list_code_strings(path):
    """The strings of a module with their lines, but for docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in documents:
            yield node.lineno, node.value


def test_no_string_in_code_holds_a_clumsy_phrase():
    files = [*(ROOT / "evalcore").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), ROOT / "app.py"]
    clumsy = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in files
        if not PROMPTS.search(path.as_posix())
        for line, text in list_code_strings(path)
        if (match := CLUMSY_IN_CODE.search(text))
    ]
    assert clumsy == []


#: Errors that only programs read: those of the API are English, logs of tests are dropped, and what
#: a tool of an agent replies is a part of what is asked.
FOR_PROGRAMS = ("ApiError", "ShapeError", "Unreadable", "UnreadableLog")
#: What shows a person its first arguments.
SHOWN_BY = ("print", "print_stderr", "print_result", "progress", "say_always", "CommandResult")
TRANSLATED = ("Note", "tr", "tr_count", "t", "t_count")
TWO_WORDS = re.compile("[A-Za-z]{2,} [a-z]{2,}")


def get_call_name(node):
    function = node.func if isinstance(node, ast.Call) else node
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def walk_plain_texts(node):
    """Texts of two words and more below a node that no catalogue has."""
    if isinstance(node, ast.Call) and get_call_name(node) in TRANSLATED:
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if TWO_WORDS.search(node.value):
            yield node.value
        return
    for child in ast.iter_child_nodes(node):
        yield from walk_plain_texts(child)


def list_error_names(trees):
    """The names of all errors of the package, with those that derive from them."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    names, size = {"EvalboardError"}, 0
    while size < len(names):
        size = len(names)
        names |= {node.name for node in classes if names & set(map(get_call_name, node.bases))}
    return names - set(FOR_PROGRAMS)


def test_no_error_and_no_line_of_a_command_is_english_alone():
    """Errors, notices and results come from the catalogues, so that `--lang zh` says them."""
    paths = sorted((ROOT / "evalcore").rglob("*.py"))
    trees = {path: ast.parse(path.read_text("utf-8")) for path in paths}
    errors = list_error_names(trees.values())
    assert {"UsageError", "LoadError", "BundleRefused", "HubUnreachable"} <= errors
    plain = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and get_call_name(node.exc) in errors:
                shown = node.exc
            elif isinstance(node, ast.Call) and get_call_name(node) in SHOWN_BY:
                shown = ast.Tuple([*node.args])
            else:
                continue
            texts = list(walk_plain_texts(shown))
            plain += [f"{path.relative_to(ROOT)}:{node.lineno}: {text}" for text in texts]
    assert [line for line in plain if not PROMPTS.search(line)] == []


def test_a_chinese_list_uses_the_chinese_comma():
    tied = describe_ranking([["A", "B", "C", "D", "E", "F"]], "zh")
    assert "A、B" in tied
    assert "A, B" in describe_ranking([["A", "B", "C", "D", "E", "F"]], "en")


def test_chinese_databases_are_named_plainly():
    assert "Chinese databases" in {metric.title["en"] for metric in CARD.metrics}


def walk_arguments(parser, verb="evalcore"):
    """Every argument and verb below `parser`: the command it belongs to, its name, its help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {choice.dest: choice.help for choice in action._choices_actions}
            for name, sub in action.choices.items():
                yield verb, name, about.get(name)
                yield from walk_arguments(sub, f"{verb} {name}")
        else:
            yield verb, action.dest, action.help


def test_every_verb_and_argument_has_help():
    arguments = list(walk_arguments(main.build_parser()))
    assert len(arguments) > 100
    assert [(verb, name) for verb, name, about in arguments if not about] == []


def test_no_help_holds_a_clumsy_phrase():
    texts = {(verb, name): about for verb, name, about in walk_arguments(main.build_parser())}
    clumsy = [*CLUMSY["en"], "take in", "hand in", "go on with", "take back", "somebody"]
    assert {key for key, about in texts.items() for words in clumsy if words in about} == set()


DOCUMENTS = sorted(
    [*(ROOT / "docs").glob("*.md"), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING"))]
)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_holds_a_clumsy_phrase(path):
    text = " ".join(path.read_text("utf-8").split())
    assert [words for words in CLUMSY["en"] if words in text] == []


BRITISH = re.compile(
    r"\b(\w*(isation|avour|olour|entre|ehaviour|ecognis|uantis|atalogue)\w*|licence|grey|towards|"
    r"cancell(ed|ing))\b",
    re.IGNORECASE,
)


def test_every_text_is_spelled_in_american_english():
    catalogue = load_catalogue("en").items()  # less the names of placeholders
    texts = {k: re.sub(r"{\w+}", "", text) for k, text in catalogue if not k.startswith("note.")}
    texts |= {path.name: path.read_text("utf-8") for path in DOCUMENTS}
    texts |= {f"{verb} {name}": about for verb, name, about in walk_arguments(main.build_parser())}
    assert {(key, match[0]) for key, text in texts.items() for match in BRITISH.finditer(text)} == (
        set()
    )


def test_a_count_agrees_with_its_noun():
    counts = [format_count(count, "problem") for count in (0, 1, 2)]
    assert counts == ["0 problems", "1 problem", "2 problems"]


def test_progress_is_words_and_not_a_dict():
    line = format_progress(Counter(passed=3, target_error=1), 2.04, 0.127)
    assert line == "3 passed, 1 target error, 2.0/s, $0.13"
    assert format_progress(Counter(), None, None) == ""


def test_a_run_in_a_terminal_draws_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    outcomes = Counter(passed=3, target_error=1)
    with progress_bar.draw_run_progress("run-[red]1") as move_bar:
        move_bar(
            SimpleNamespace(total=10, outcomes=outcomes, cost=None, errors={"timeout": 2}, rate=0.0)
        )
    printed = capsys.readouterr()
    assert printed.out == ""
    for text in ("run-[red]1", "4/10", "3 passed, 1 target error", "timeout 2"):
        assert text in printed.err


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_verbs_and_flags(capsys, shell):
    assert main.main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert "--max-samples" in printed
    assert "rescore" in printed
