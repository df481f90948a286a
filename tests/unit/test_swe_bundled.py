"""The bundled data of swe_bench: well formed, self-contained, and told apart by its own tests."""

from __future__ import annotations

import ast
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.checkout import checkout_task, run_git
from evalcore.benchmarks.swe_bench.dataset import METRICS, load_swe_samples, to_swe_task
from evalcore.benchmarks.swe_bench.diff import parse_diff
from evalcore.benchmarks.swe_bench.execution import execute_patch
from evalcore.benchmarks.swe_bench.grade import Execution, is_resolved, passes_all_tests
from evalcore.settings import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "datasets" / "swe_bench"
ROWS = [json.loads(line) for line in (FOLDER / "tasks.jsonl").read_text("utf-8").splitlines()]
TASKS = {sample.id: to_swe_task(sample) for sample in load_swe_samples(DatasetSource(str(FOLDER)))}
LARGEST = 1_500_000
LEVELS = {1: "<15 min fix", 2: "15 min - 1 hour", 3: "1-4 hours"}
KINDS = ("incomplete", "regression", "hard_coded")
#: Modules by which a test could depend on chance, on the clock or on the machine.
UNSTEADY = frozenset({"random", "secrets", "time", "socket", "ssl", "http", "urllib", "subprocess"})
HEREDOC = "EOF_114329324912"
IDS = [row["instance_id"] for row in ROWS]

each_row = pytest.mark.parametrize("row", ROWS, ids=IDS)


def task(row: dict[str, Any]) -> Task:
    return TASKS[row["instance_id"]]


def bundle(row: dict[str, Any]) -> Path:
    return FOLDER / str(row["bundle"])


def touched(patch: str) -> list[str]:
    return [path for item in parse_diff(patch) for path in {item.old_path or item.path, item.path}]


def hunks(patch: str) -> int:
    return sum(len(item.hunks) for item in parse_diff(patch))


def patches(row: dict[str, Any]) -> list[str]:
    """All patches of a row that a model could have written."""
    return [row["patch"], *row["variants"], *row["counterexamples"]]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The work tree of each task."""
    folder = tmp_path_factory.mktemp("trees")
    return {name: checkout_task(item, folder / name) for name, item in TASKS.items()}


def script(row: dict[str, Any]) -> str:
    """The official form of a script for the tests of a row."""
    base, files = row["base_commit"], " ".join(touched(row["test_patch"]))
    activate = "source /opt/miniconda3/bin/activate\nconda activate testbed\n"
    return (
        f"#!/bin/bash\nset -uxo pipefail\n{activate}cd /testbed\n"
        "git config --global --add safe.directory /testbed\ncd /testbed\ngit status\ngit show\n"
        f"git -c core.fileMode=false diff {base}\n{activate}"
        f"git checkout {base} {files}\n"
        f"git apply -v - <<'{HEREDOC}'\n{row['test_patch']}\n{HEREDOC}\n"
        f": '>>>>> Start Test Output'\npython -m pytest -rA -p no:cacheprovider {files}\n"
        f": '>>>>> End Test Output'\ngit checkout {base} {files}\n"
    )


class TestWhole:
    def test_difficulties(self) -> None:
        levels = [row["difficulty_level"] for row in ROWS]
        assert len(ROWS) >= 18
        assert levels == sorted(levels)
        assert all(levels.count(level) >= least for level, least in ((1, 7), (2, 7), (3, 5)))
        assert all(row["difficulty"] == LEVELS[row["difficulty_level"]] for row in ROWS)
        assert set(LEVELS.values()) <= set(METRICS)

    def test_every_task_is_another_one(self) -> None:
        for field in ("instance_id", "repo", "domain", "bundle", "base_commit"):
            assert len({row[field] for row in ROWS}) == len(ROWS)

    def test_many_causes_lie_elsewhere(self) -> None:
        away = [row for row in ROWS if row["symptom"] not in touched(row["patch"])]
        assert len(away) >= len(ROWS) / 4

    def test_many_tests_are_parametrized(self) -> None:
        assert sum("[" in row["FAIL_TO_PASS"] for row in ROWS) >= len(ROWS) / 2

    def test_half_of_the_tasks_have_a_hard_coded_patch(self) -> None:
        rows = [row for row in ROWS if "hard_coded" in row["counterexample_kinds"]]
        assert len(rows) >= len(ROWS) / 2

    def test_the_folder_is_small_and_holds_nothing_else(self) -> None:
        files = {path for path in FOLDER.rglob("*") if path.is_file()}
        assert sum(path.stat().st_size for path in files) <= LARGEST
        expected = {FOLDER / "README.md", FOLDER / "tasks.jsonl", *map(bundle, ROWS)}
        assert files == expected

    def test_sizes(self, trees: dict[str, Path]) -> None:
        modules = {
            name: sum(1 for path in tree.rglob("*.py") if path.parent.name != "tests")
            for name, tree in trees.items()
        }
        assert min(modules.values()) == 1
        assert sum(number >= 12 for number in modules.values()) >= 4

    def test_the_table_of_the_readme(self, trees: dict[str, Path]) -> None:
        text = (FOLDER / "README.md").read_text("utf-8")
        lines = [line for line in text.splitlines() if line.startswith("| `evalboard__")]
        assert lines == [self._line(row, trees[row["instance_id"]]) for row in ROWS]

    @staticmethod
    def _line(row: dict[str, Any], tree: Path) -> str:
        names = run_git("ls-files", folder=tree).split()
        lines = sum((tree / name).read_text("utf-8").count("\n") for name in names)
        repair = f"{len(parse_diff(row['patch']))} / {hunks(row['patch'])}"
        item = task(row)
        tests = f"{len(item.fail_to_pass)} / {len(item.pass_to_pass)}"
        cells = (f"`{row['instance_id']}`", row["domain"], len(names), lines, row["difficulty"])
        return "| " + " | ".join(map(str, (*cells, repair, tests))) + " |"


@each_row
class TestRow:
    def test_columns(self, row: dict[str, Any]) -> None:
        name = row["repo"].removeprefix("evalboard/")
        assert re.fullmatch(rf"evalboard__{name}-\d+", row["instance_id"])
        assert row["bundle"] == f"repositories/{row['instance_id']}.bundle"
        assert row["environment_setup_commit"] == row["base_commit"]
        assert (row["version"], row["image"], row["hints_text"]) == ("0.1", "", "")
        assert (row["log_parser"], row["eval_type"]) == ("parse_log_pytest", "pass_and_fail")
        assert re.fullmatch(r"2024-\d\d-\d\dT\d\d:\d\d:\d\dZ", row["created_at"])
        assert row["eval_script"] == script(row)

    def test_tests(self, row: dict[str, Any]) -> None:
        right, before = task(row).fail_to_pass, task(row).pass_to_pass
        assert len(right) >= 2
        assert len(before) >= 4
        assert len({*right, *before}) == len(right) + len(before)
        files = touched(row["test_patch"])
        for name in (*right, *before):
            assert name.partition("::")[0] in files
            assert re.fullmatch(r"[!-~]+", name), "a blank would cut the id short in the log"

    def test_patches_touch_what_they_should(self, row: dict[str, Any]) -> None:
        assert all(re.fullmatch(r"tests/test_\w+\.py", path) for path in touched(row["test_patch"]))
        for patch in patches(row):
            assert patch.endswith("\n")
            assert not [path for path in touched(patch) if path.startswith("tests/")]
        assert len(set(patches(row))) == len(patches(row))

    def test_difficulty_fits_the_reference(self, row: dict[str, Any]) -> None:
        files = touched(row["patch"])
        if row["difficulty_level"] == 1:
            assert hunks(row["patch"]) == 1
        elif row["difficulty_level"] == 2:
            assert hunks(row["patch"]) > 1 or row["symptom"] not in files
        else:
            assert len(files) > 1

    def test_wrong_patches_of_each_kind(self, row: dict[str, Any]) -> None:
        kinds = row["counterexample_kinds"]
        assert len(kinds) == len(row["counterexamples"])
        assert {"incomplete", "regression"} <= set(kinds) <= set(KINDS)
        assert row["variants"]

    def test_issue(self, row: dict[str, Any]) -> None:
        issue = row["problem_statement"]
        assert len(issue.splitlines()[0]) <= 100
        assert len(issue) > 300
        if row["difficulty_level"] == 3:
            assert not [path for path in touched(row["patch"]) if Path(path).name in issue]

    def test_history(self, row: dict[str, Any], tmp_path: Path) -> None:
        base, home = row["base_commit"], bundle(row)
        heads = run_git("bundle", "list-heads", home, folder=FOLDER).split()
        assert heads[0::2] == [base, base], "nothing comes after the base commit"
        run_git("clone", "-q", "--mirror", home, tmp_path / "store", folder=tmp_path)
        store = tmp_path / "store"
        run_git("fsck", "--strict", folder=store)
        form = "--format=%an <%ae> %cn <%ce> %aI %s"
        log = run_git("log", "--all", "--reverse", form, folder=store).splitlines()
        author = "Evalboard <evalboard@example.invalid>"
        assert 3 <= len(log) <= 6
        assert all(line.startswith(f"{author} {author} 2024-") for line in log)
        days = [line.split("> ")[2][:10] for line in log]
        assert days == sorted(days)
        assert days[-1] < row["created_at"]

    def test_patches_apply(self, row: dict[str, Any], trees: dict[str, Path]) -> None:
        tree = trees[row["instance_id"]]
        assert (tree / row["symptom"]).is_file()
        for number, text in enumerate([*patches(row), row["test_patch"]]):
            path = tree.parent / f"{tree.name}-{number}.diff"
            path.write_text(text, "utf-8")
            run_git("apply", "--check", path, folder=tree)

    def test_repositories_need_nothing(self, row: dict[str, Any], trees: dict[str, Path]) -> None:
        tree = trees[row["instance_id"]]
        assert (tree / "README.md").is_file()
        own = {path.name.removesuffix(".py") for path in tree.iterdir()}
        for path in tree.rglob("*.py"):
            used = _imported(ast.parse(path.read_text("utf-8")))
            assert used <= {*sys.stdlib_module_names, "pytest", *own}, path
            assert not used & UNSTEADY, path


def _imported(tree: ast.AST) -> set[str]:
    """The packages that a module imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


@pytest.fixture(scope="module")
def pool() -> Any:
    with ThreadPoolExecutor() as made:
        yield made


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row["instance_id"], marks=() if n % 7 == 0 else pytest.mark.full)
        for n, row in enumerate(ROWS)
    ],
)
def test_the_tests_tell_right_from_wrong(row: dict[str, Any], pool: ThreadPoolExecutor) -> None:
    """Without a patch exactly the F2P fail, with the true one nothing does, and a regression breaks
    P2P alone. `evalcore datasets check` executes all the other patches."""
    pairs = zip(row["counterexamples"], row["counterexample_kinds"], strict=True)
    worse = [patch for patch, kind in pairs if kind == "regression"]
    runs = pool.map(lambda patch: execute_patch(task(row), patch), ["", row["patch"], *worse])
    without, gold, *broken = runs
    assert not passes_all_tests(without)
    assert [set(group) for group in _failed(without)] == [set(task(row).fail_to_pass), set()]
    assert gold.applied == "apply"
    assert is_resolved(gold), gold.log[-2000:]
    assert gold.tests.keys() == {*task(row).fail_to_pass, *task(row).pass_to_pass}
    for run in broken:
        assert not is_resolved(run)
        issue_left, lost = _failed(run)
        assert not issue_left
        assert lost


def _failed(run: Execution) -> tuple[list[str], list[str]]:
    """The F2P and the P2P that did not come out as they should."""
    status = run.report["tests_status"]
    return status["FAIL_TO_PASS"]["failure"], status["PASS_TO_PASS"]["failure"]
