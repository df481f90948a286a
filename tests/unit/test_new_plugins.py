"""`evalcore new`: what it writes is installed into a fresh environment, tested, run and seen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest
from streamlit.testing.v1 import AppTest

from evalcore import i18n
from evalcore.cli import plugin_templates
from evalcore.cli.main import main
from evalcore.errors import UsageError
from tests.support.documents import ROOT, split_commands
from tests.support.pages import store
from tests.support.plugin_environment import OPEN_PAGES, PluginEnvironment

__all__ = ["store"]
NAMES = {"benchmark": "word_sums", "target": "echoer", "engine": "litesql"}
DOCUMENT = (ROOT / "docs" / "extend.md").read_text("utf-8")
#: The commands of docs/extend.md, by what they make: those a stranger types in an empty folder.
PATHS = {
    commands[0].words[2]: [command.words for command in commands]
    for block in re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL)
    if (commands := split_commands("docs/extend.md", block))[0].words[1] == "new"
}


class Stranger(NamedTuple):
    """An environment where somebody follows the document, with what each path printed last."""

    environment: PluginEnvironment
    printed: dict[str, str]

    def follow(self, kind: str) -> PluginEnvironment:
        """Take the path to one kind of plug-in, once."""
        if kind not in self.printed:
            self.printed[kind] = [self.environment.run(words) for words in PATHS[kind]][-1]
        return self.environment


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """Somebody who knows docs/extend.md alone, and began in an empty folder."""
    return Stranger(PluginEnvironment(tmp_path_factory.mktemp("plugins")), {})


@pytest.fixture
def environment(stranger: Stranger) -> PluginEnvironment:
    """With a plug-in of each kind."""
    return [stranger.follow(kind) for kind in PATHS][-1]


@pytest.mark.full
def test_the_document_alone_leads_to_a_row_on_the_board(stranger):
    assert list(PATHS) == list(plugin_templates.KINDS)
    assert all(len(commands) < 10 for commands in PATHS.values())
    assert PATHS["benchmark"][-1][:2] == ("evalcore", "board")
    for kind in PATHS:
        stranger.follow(kind)
    rows = stranger.printed["benchmark"].splitlines()
    assert [row for row in rows if row.startswith("1 ") and "baseline:constant" in row]
    assert "echoer:last-word" in stranger.printed["target"]
    assert "passed 2" in stranger.printed["engine"]


def test_the_page_of_the_document_is_drawn(store, monkeypatch):
    [code] = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    [texts] = re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)
    for name, text in json.loads(texts).items():
        monkeypatch.setitem(i18n.load_catalogue("en"), f"hello.{name}", text)
    page = AppTest.from_string(dedent(code), default_timeout=300).run()
    assert not page.exception
    assert page.title[0].value == "Hello"
    assert page.markdown[0].value == "0 runs"


def run_benchmark(environment: PluginEnvironment, *words: str) -> dict:
    lines = environment.run(["evalcore", "run", *words, "--json"]).splitlines()
    return json.loads(next(line for line in lines if line.startswith("{")))


def open_pages(environment: PluginEnvironment, *pages: tuple[str, dict[str, str]]) -> list[str]:
    printed = environment.run(["python", "-c", OPEN_PAGES, json.dumps(pages)])
    return [json.loads(line) for line in printed.splitlines() if line.startswith('"')]


@pytest.mark.full
def test_lists_and_doctor_show_them(environment):
    for what, kind in (("benchmarks", "benchmark"), ("targets", "target"), ("engines", "engine")):
        printed = environment.run(["evalcore", "list", what])
        assert NAMES[kind] in printed
        assert "left out" not in printed
    assert "litesql" in environment.run(["evalcore", "doctor"], check=False)


def test_a_benchmark_is_run_and_seen(stranger):
    environment = stranger.follow("benchmark")
    words = ("--benchmarks", "word_sums", "--target")
    best = run_benchmark(environment, *words, "control:reference")
    assert best["benchmarks"]["word_sums"]["score"] == pytest.approx(100)
    run = run_benchmark(environment, *words, "baseline:constant")
    assert 0 < run["benchmarks"]["word_sums"]["score"] < 100
    assert "baseline:constant" in environment.run(["evalcore", "board", "--suite", "word_sums"])
    case = {"run": run["run_id"], "benchmark": "word_sums", "metric": "number", "id": "1"}
    launch, ranking, opened, methodology = open_pages(
        environment,
        ("launch", {}),
        ("ranking", {"suite": "word_sums"}),
        ("case", case),
        ("methodology", {"suite": "word_sums"}),
    )
    assert "Word sums" in launch
    assert "baseline:constant" in ranking
    assert "The answer ends with 4.0, expected is 36.0." in opened.replace("\\", "")
    assert "The last number of the answer counts" in methodology


@pytest.mark.full
def test_the_cases_of_a_benchmark_are_a_data_set_like_any_other(environment):
    """They are listed and checked, show what own cases look like, and can be handed in."""
    rows = json.loads(environment.run(["evalcore", "datasets", "list", "--json"]).splitlines()[-1])
    assert [row["samples"] for row in rows if row["benchmark"] == "word_sums"] == [6]
    assert "0 problems" in environment.run(["evalcore", "datasets", "check", "word_sums_cases"])
    cases = "evalboard-word-sums/evalboard_word_sums/word_sums_cases/number.jsonl"
    words = ["evalcore", "datasets", "validate", cases, "--benchmark", "word_sums"]
    assert environment.run(words).startswith("6 cases")
    [page] = open_pages(environment, ("datasets", {"set": "bundled:word_sums"}))
    assert "What is the next number: one, one, two" in page


@pytest.mark.full
def test_a_target_is_run_and_seen(environment):
    words = ("--benchmarks", "sql_understanding", "--max-samples", "3")
    run = run_benchmark(environment, *words, "--target", "echoer:last-word")
    assert set(run["benchmarks"]) == {"sql_understanding"}
    samples = environment.folder / "data" / "runs" / run["run_id"] / "samples.jsonl"
    sample = json.loads(samples.read_text("utf-8").splitlines()[0])["sample"]
    case = {"run": run["run_id"], "benchmark": "sql_understanding"}
    case |= {"metric": sample["metric"], "id": sample["id"]}
    board = {"suite": "sql", "board": find_board(environment, run["run_id"])}
    launch, ranking, opened = open_pages(
        environment, ("launch", {}), ("ranking", board), ("case", case)
    )
    assert "Echoer" in launch
    assert "echoer:last-word" in ranking
    assert "echoer:last-word" in opened
    assert "unknown target" in environment.run(
        ["evalcore", "run", "--target", "echoer:nobody", *words], check=False
    )


@pytest.mark.full
def test_an_engine_confirms_and_answers_cases_in_its_dialect(environment):
    cases = "evalboard-litesql/cases"
    assert "0 problems" in environment.run(["evalcore", "datasets", "check", cases])
    words = ("--benchmarks", "sql_understanding", "--dataset", cases)
    run = run_benchmark(environment, *words, "--target", "baseline:sqlglot")
    assert run["benchmarks"]["sql_understanding"]["score"] == pytest.approx(100)
    case = {"run": run["run_id"], "benchmark": "sql_understanding"}
    case |= {"metric": "execution_accuracy", "id": "1"}
    _, ranking, opened = open_pages(
        environment,
        ("launch", {}),
        ("ranking", {"suite": "sql", "board": find_board(environment, run["run_id"])}),
        ("case", case),
    )
    assert "baseline:sqlglot" in ranking
    assert "Litesql" in opened or "litesql" in opened


def find_board(environment: PluginEnvironment, run_id: str) -> str:
    """The key of the board on which a run of the suite sql stands."""
    code = (
        "import sys; from evalcore.settings import load_settings\n"
        "from evalcore.views import boards, stored_boards\n"
        "headers = stored_boards.load_run_headers(load_settings())\n"
        "print(next(b.key for b in boards.list_boards(headers, 'sql')\n"
        "  for row in boards.list_board_rows(headers, b)\n"
        "  for run in row.runs.values() if run.run_id == sys.argv[1]))"
    )
    return environment.run(["python", "-c", code, run_id]).strip()


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    "name", ["Sums", "a", "1st", "a-b", "class", "score", "../x", "x" * 41, ""]
)
def test_a_name_that_cannot_be_used_is_refused(kind, name, tmp_path, capsys):
    assert main(["new", kind, name, "--into", str(tmp_path)]) == 2
    assert "cannot be the name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [("benchmark", "bfcl"), ("benchmark", "sql"), ("target", "hf"), ("engine", "duckdb")],
)
def test_a_key_that_is_taken_is_refused(kind, name):
    with pytest.raises(UsageError, match="already"):
        plugin_templates.build_plugin_values(kind, name)


def test_a_folder_that_is_there_is_left_alone(tmp_path, capsys):
    (tmp_path / "evalboard-mine").mkdir()
    assert main(["new", "benchmark", "mine", "--into", str(tmp_path)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert list((tmp_path / "evalboard-mine").iterdir()) == []
    file = tmp_path / "file"
    file.write_text("")
    assert main(["new", "benchmark", "mine", "--into", str(file)]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("kind", plugin_templates.KINDS)
def test_nothing_of_a_template_is_left_unfilled(kind, tmp_path, capsys):
    assert main(["new", kind, "some_thing", "--into", str(tmp_path), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    written = sorted(path for path in Path(payload["folder"]).rglob("*") if path.is_file())
    assert len(written) == len(payload["files"])
    for path in written:
        text = path.read_text("utf-8")
        assert not [word for word in ("@NAME@", "@MODULE@", "@CLASS@", "@TITLE@") if word in text]
        if path.suffix == ".py":
            compile(text, str(path), "exec")
