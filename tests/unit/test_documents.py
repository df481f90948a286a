"""README, CONTRIBUTING and docs: their commands, names, files and links exist, and the cheap
commands do what they say."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import re
from functools import cache
from pathlib import Path

import pytest

from evalcore import catalog
from evalcore.cli import main
from evalcore.cli.exchange import insert_import_origin
from tests.support.documents import (
    FOREIGN,
    ROOT,
    Command,
    list_commands,
    list_documents,
    list_fenced_commands,
    split_commands,
)
from tests.support.rows import each_row

TEXTS = list_documents()
COMMANDS = sorted({c for name, text in TEXTS.items() for c in list_commands(name, text)})
#: What `evalcore new` makes in a document before it is used there.
CREATED = {c.words[3] for c in COMMANDS if c.words[:3] == ("evalcore", "new", "benchmark")}
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def check_command(words: tuple[str, ...]) -> str:
    """What is wrong with a command; "" where it exists with its verbs and flags."""
    program = Path(words[0]).name
    if program == "evalcore":
        return check_evalcore(words[1:])
    if program == "make":
        missing = [
            word
            for word in words[1:]
            if (f"$({word.partition('=')[0]})" if "=" in word else f"\n{word}:") not in MAKEFILE
        ]
        return f"not in the Makefile: {', '.join(missing)}" if missing else ""
    if program in ("python", "python3"):
        if words[1] == "-m":
            return "" if importlib.util.find_spec(words[2]) else f"no module {words[2]}"
        return "" if (ROOT / words[1]).is_file() else f"no file {words[1]}"
    if program == "streamlit":
        return "" if (ROOT / words[2]).is_file() else f"no file {words[2]}"
    return "" if program in FOREIGN else f"unknown program {program}"


@cache
def build_parser_once() -> argparse.ArgumentParser:
    return main.build_parser()


def check_evalcore(words: tuple[str, ...]) -> str:
    if any(word in ("...", "VERB") for word in words):
        return ""
    parser = build_parser_once()
    try:
        args = parser.parse_args(insert_import_origin(words))
    except SystemExit as end:
        return "" if end.code == 0 else "the parser refuses it"
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    if abbreviated := flags - list_flags(parser):
        return f"no flag {', '.join(sorted(abbreviated))}"
    keys = set(catalog.benchmark_cards()) | {"KEY", "BENCHMARK"} | CREATED
    named = {*(getattr(args, "benchmarks", None) or ()), getattr(args, "benchmark", "KEY") or "KEY"}
    return f"no benchmark {', '.join(sorted(named - keys))}" if named - keys else ""


def list_flags(parser: argparse.ArgumentParser) -> set[str]:
    """The flags of a parser and of all parsers below it."""
    flags = set()
    for action in parser._actions:
        flags |= set(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                flags |= list_flags(below)
    return flags


@each_row("command", COMMANDS)
def test_every_command_exists(command):
    assert check_command(command.words) == ""


def test_commands_stand_in_every_guide():
    by_document = {command.document for command in COMMANDS}
    assert by_document >= {"README.md", "CONTRIBUTING.md", "docs/cli.md", "docs/targets.md"}
    assert by_document >= {"docs/access.md", "docs/api.md", "docs/benchmarks.md", "docs/deploy.md"}
    assert "docs/architecture.md" in by_document


@pytest.mark.parametrize(
    "line",
    [
        "evalcor list runs",
        "evalcore lists runs",
        "evalcore list run",
        "evalcore run --targets x",
        "evalcore run --bench bfcl --target x",
        "evalcore run --target x --benchmarks bfcll",
        "evalcore export RUN --format pdf",
        "make tests",
        "make app PORTS=1",
        "python -m tests.support.gold",
        ".venv/bin/python tools/draw.py",
        "streamlit run main.py",
    ],
)
def test_a_command_that_is_not_there_is_named(line):
    assert check_command(tuple(line.split()))


def test_commands_are_read_as_a_shell_reads_them():
    text = (
        "```sh\nA=1 B='x y' make app  # comment\nevalcore list \\\n  runs && git pull; make lint\n"
        "```\n```toml\nmake nothing\n```\n`evalcore doctor` and `evalboard` and `make\ntest`\n"
    )
    assert [command.words for command in list_commands("d", text)] == [
        ("make", "app"),
        ("evalcore", "list", "runs"),
        ("git", "pull"),
        ("make", "lint"),
        ("evalcore", "doctor"),
        ("make", "test"),
    ]
    assert split_commands("d", "\n# nothing\nX=1\n") == []


NAMES = sorted(
    {
        (document, name)
        for document, text in TEXTS.items()
        for name in re.findall(r"(?<![\w/.-])(?:evalcore|pages|tests)(?:\.[A-Za-z_]\w*)+", text)
        if not re.fullmatch(r"evalcore\.(benchmarks|suites|targets|target_factories|engines)", name)
    }
)


def list_public_names(package: Path) -> list[str]:
    """The `__all__` of a package, which may load them late."""
    for node in ast.parse(package.read_text("utf-8")).body if package.is_file() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return []


def defines(dotted: str, root: Path = ROOT) -> bool:
    """Whether a module or a name in one is there, classes with their methods; imports nothing."""
    path, parts = root, dotted.split(".")
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    if not parts:
        return True
    module = path / f"{parts[0]}.py"
    if not module.is_file():
        return parts[:1] == parts and parts[0] in list_public_names(path / "__init__.py")
    body = ast.parse(module.read_text("utf-8")).body
    for part in parts[1:]:
        node = next((n for n in body if getattr(n, "name", None) == part), None)
        if node is None:
            return False
        body = getattr(node, "body", [])
    return True


@each_row(("document", "name"), NAMES)
def test_every_dotted_name_exists(document, name):
    assert defines(name)


def test_dotted_names_that_are_not_there():
    assert defines("evalcore.runner.plan.plan_run")
    assert defines("evalcore.store.journal.Journal.append")
    assert not defines("evalcore.runner.plan.plan_runs")
    assert not defines("evalcore.store.journal.Journal.appends")
    assert defines("evalcore.evaluate")
    assert not defines("evalcore.nothing")
    assert not defines("evalcore.evaluate.nothing")


FOLDERS = "docs|evalcore|examples|hosting|pages|perf|tests|tools"


@pytest.mark.parametrize("document", TEXTS)
def test_every_file_and_link_exists(document):
    text, folder = TEXTS[document], (ROOT / document).parent
    files = re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", text)
    assert [name for name in files if not (ROOT / name).exists()] == []
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        file = folder / path if path else ROOT / document
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
            assert anchor in slugs, target


FENCED = [c for name, text in TEXTS.items() for c in list_fenced_commands(name, text)]
#: Documents whose commands a test of their own runs.
RUN_BY = {"docs/extend.md": "test_new_plugins.py", "docs/logs.md": "test_logs_docs.py"}
#: The parts of commands that no test can run, and why; `^` is the beginning of a command.
NOT_RUN = {
    "^docker ": "Docker",
    "^kubectl ": "a cluster",
    "^ray start": "a cluster",
    "--executor ray": "a cluster",
    "bucket p": "a bucket",
    "^printf ": "text for another command",
    "pip install": "a network",
    "^python3 -m venv": "an environment, made by test_wheel.py",
    "^make app": "a server, started by the tests of browser/",
    "^.venv/bin/streamlit run": "a server, started by the tests of browser/",
    "^make test": "the tests themselves",
    "-m pytest": "the tests themselves",
    "^make lint": "CI runs it",
    "tools/draw_architecture.py": "CI runs it",
    "tests.support.golden": "CI runs it",
    "^make space": "test_dockerfile.py reads what it copies",
    "^hf ": "an account on the Hub",
    "--target openai:": "a key",
    "--target hf:": "a checkpoint of the reader",
    "academic list": "lm-evaluation-harness; test_academic.py runs it",
    "datasets fetch": "a network",
    "datasets check": "minutes; CI runs it",
    "swe prepare": "a network",
    "datasets add": "a file of the reader",
    "evalcore score": "a file of the reader",
    "evalcore equivalent": "a file of the reader",
    "verify scale": "published data",
    "import scale": "published data",
    "import bundle": "another installation",
    "import logs/run.eval": "a log of the reader",
    "evalcore hub": "a token",
    "evalcore preflight": "a key",
    "evalcore models": "a key",
    "evalcore parity": "a checkpoint of the reader and a GPU",
}


def find_obstacle(command: Command) -> str:
    """The part of NOT_RUN that a command has, "" where it can be run."""
    line = f"^{' '.join(command.words)}"
    return next((part for part in NOT_RUN if part in line), "")


def test_every_fenced_command_is_run_by_a_test_or_says_why_it_is_not():
    for document, name in RUN_BY.items():
        assert Path(document).name in (ROOT / "tests" / "unit" / name).read_text("utf-8")
    others = [command for command in FENCED if command.document not in RUN_BY]
    unrun = [c for c in others if c.words[0] != "evalcore" and not find_obstacle(c)]
    assert list(map(str, unrun)) == []
    assert NOT_RUN.keys() - set(map(find_obstacle, others)) == set()


RUNNABLE: dict[str, list[Command]] = {}
for each in FENCED:
    if each.document not in RUN_BY and not find_obstacle(each):
        RUNNABLE.setdefault(each.document, []).append(each)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A data folder with two runs of the same cases, whose ids stand for RUN and BASE."""
    data = tmp_path_factory.mktemp("guides") / "data"
    words = ["run", "--benchmarks", "sql_understanding", "--max-samples", "2", "--quiet"]
    for target in ("control:null", "baseline:sqlglot"):
        assert main.main([*words, "--target", target, "--data", str(data)]) == 0
    return data


#: What the commands of a document write where they are typed.
WRITTEN = {
    "docs/ci.md": {"gate.md", "gate.xml"},
    "docs/cli.md": {"FOLDER", "board.svg", "public", "report.md", "signing.pem"},
    "docs/deploy.md": {"public"},
}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(name, marks=pytest.mark.full if name == "docs/cli.md" else ())
        for name in RUNNABLE
    ],
)
def test_the_commands_of_the_guides_work(document, store, tmp_path, monkeypatch, capsys):
    """They run in their order in a folder of their own, as a reader would type them."""
    for name in [name for name in os.environ if name.startswith("EVALBOARD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("EVALBOARD_DATA", str(store))
    monkeypatch.chdir(tmp_path)
    base, run = sorted(path.name for path in (store / "runs").iterdir())[:2]
    for command in RUNNABLE[document]:
        words = [word.replace("RUN", run) for word in command.words[1:]]
        words = [{"KEY": "baseline:sqlglot", "BASE": base}.get(word, word) for word in words]
        if words[0] in ("compare", "diff"):
            words[-1] = base
        if words[0] == "run":
            words += ["--max-samples", "2"]
        if words[0] == "site":  # of the two runs alone
            monkeypatch.setenv("EVALBOARD_SHIPPED", str(tmp_path / "none"))
        allowed = {"doctor": (0, 3), "gate": (0, 1, 4)}.get(words[0], (0,))
        status = main.main(words)
        shown = capsys.readouterr()
        assert status in allowed, f"{command}\n{shown.out}{shown.err}"
    assert {path.name for path in tmp_path.iterdir()} >= WRITTEN.get(document, set())
