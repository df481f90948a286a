"""`evalcore new`: what it writes is installed into a fresh environment, tested, run and seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.cli import plugin_templates
from evalcore.cli.main import main
from evalcore.errors import UsageError
from tests.support.plugin_environment import OPEN_PAGES, PluginEnvironment

NAMES = {"benchmark": "word_sums", "target": "echoer", "engine": "litesql"}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> PluginEnvironment:
    """One of each kind, installed side by side."""
    made = PluginEnvironment(tmp_path_factory.mktemp("plugins"))
    for kind, name in NAMES.items():
        made.run(["evalcore", "new", kind, name])
        made.run(["pip", "install", f"./evalboard-{name.replace('_', '-')}"])
    return made


def run_benchmark(environment: PluginEnvironment, *words: str) -> dict:
    lines = environment.run(["evalcore", "run", *words, "--json"]).splitlines()
    return json.loads(next(line for line in lines if line.startswith("{")))


def open_pages(environment: PluginEnvironment, *pages: tuple[str, dict[str, str]]) -> list[str]:
    printed = environment.run(["python", "-c", OPEN_PAGES, json.dumps(pages)])
    return [json.loads(line) for line in printed.splitlines() if line.startswith('"')]


@pytest.mark.parametrize("name", NAMES.values())
def test_the_generated_tests_pass(environment, name):
    tests = f"evalboard-{name.replace('_', '-')}/tests"
    assert " passed" in environment.run(["python", "-m", "pytest", "-q", tests])


def test_lists_and_doctor_show_them(environment):
    for what, kind in (("benchmarks", "benchmark"), ("targets", "target"), ("engines", "engine")):
        printed = environment.run(["evalcore", "list", what])
        assert NAMES[kind] in printed
        assert "left out" not in printed
    assert "litesql" in environment.run(["evalcore", "doctor"], check=False)


def test_a_benchmark_is_run_and_seen(environment):
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


def test_a_target_is_run_and_seen(environment):
    words = ("--benchmarks", "sql_understanding", "--max-samples", "3")
    run = run_benchmark(environment, *words, "--target", "echoer:last-word")
    assert set(run["benchmarks"]) == {"sql_understanding"}
    samples = environment.folder / "data" / "runs" / run["run_id"] / "samples.jsonl"
    sample = json.loads(samples.read_text("utf-8").splitlines()[0])["sample"]
    case = {"run": run["run_id"], "benchmark": "sql_understanding"}
    case |= {"metric": sample["metric"], "id": sample["id"]}
    launch, ranking, opened = open_pages(
        environment, ("launch", {}), ("ranking", {"suite": "sql"}), ("case", case)
    )
    assert "Echoer" in launch
    assert "echoer:last-word" in ranking
    assert "echoer:last-word" in opened
    assert "unknown target" in environment.run(
        ["evalcore", "run", "--target", "echoer:nobody", *words], check=False
    )


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
        ("ranking", {"suite": "sql", "board": find_board(environment, "cases")}),
        ("case", case),
    )
    assert "baseline:sqlglot" in ranking
    assert "Litesql" in opened or "litesql" in opened


def find_board(environment: PluginEnvironment, dataset: str) -> str:
    """The key of the board on which runs of a data set stand."""
    code = (
        "import sys; from evalcore.settings import load_settings\n"
        "from evalcore.views import boards, stored_boards\n"
        "headers = stored_boards.load_run_headers(load_settings())\n"
        "print(next(b.key for b in boards.list_boards(headers, 'sql')\n"
        "  for c in b.columns.values() if c.dataset.endswith(sys.argv[1])))"
    )
    return environment.run(["python", "-c", code, dataset]).strip()


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
    assert "is there already" in capsys.readouterr().err
    assert list((tmp_path / "evalboard-mine").iterdir()) == []
    file = tmp_path / "file"
    file.write_text("")
    assert main(["new", "benchmark", "mine", "--into", str(file)]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("kind", plugin_templates.KINDS)
def test_nothing_of_a_template_is_left_unfilled(kind, tmp_path, capsys):
    assert main(["new", kind, "some_thing", "--into", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    written = sorted(path for path in Path(told["folder"]).rglob("*") if path.is_file())
    assert len(written) == len(told["files"])
    for path in written:
        text = path.read_text("utf-8")
        assert not [word for word in ("@NAME@", "@MODULE@", "@CLASS@", "@TITLE@") if word in text]
        if path.suffix == ".py":
            compile(text, str(path), "exec")
