"""`evalcore swe prepare` with a uv that installs nothing: what is made, skipped, repeated and
reported. The real one is exercised by hand, on packages of the index.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.swe_bench.evaluate_patch import TaskUsability
from evalcore.errors import UsageError
from evalcore.exchange import swe_bench_prepare as prepare
from evalcore.exchange.swe_bench_specs import (
    EnvironmentSpec,
    parse_specs,
    read_specs_file,
    read_wheel_specs,
)
from evalcore.settings import load_settings
from tests.support.swe_tasks import git, make_task

#: Makes a folder in the shape of an environment, installs the "project" as wheels do, and fails for
#: a Python that it does not have.
FAKE_UV = """#!{python}
import json, os, pathlib, sys
arguments = sys.argv[1:]
with open({log!r}, "a") as file:
    file.write(" ".join(arguments) + "\\n")
if arguments[0] == "venv":
    if "2.7" in arguments:
        sys.exit("error: No interpreter found for Python 2.7")
    folder = pathlib.Path(arguments[3])
    packages = folder / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to({python!r})
else:
    packages = pathlib.Path(arguments[3]).parent.parent / "lib/python3.11/site-packages"
    tree = next((one for one in arguments if one.startswith("/") and "tree" in one), "")
    if tree:
        (packages / "wordbox").mkdir()
        (packages / "wordbox/core.py").write_text("installed")
        note = packages / "wordbox-0.1.dist-info"
        note.mkdir()
        url = pathlib.Path(tree.partition("[")[0]).as_uri()
        (note / "direct_url.json").write_text(json.dumps({{"url": url}}))
        names = ["wordbox/core.py", "wordbox-0.1.dist-info/direct_url.json", "../../../bin/wordbox"]
        names += os.environ.get("FAKE_MORE", "").split()
        (note / "RECORD").write_text("".join(name + ",,\\n" for name in names))
"""


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A repository to clone, a task file, a fake uv and what the tests of tasks came to."""
    task = make_task(tmp_path / "made")
    upstream = tmp_path / "upstream" / "evalboard"
    upstream.mkdir(parents=True)
    home = Path(task.repository)
    (home / "pyproject.toml").write_text("[project]\nname='wordbox'\nversion='0.1'\n")
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", "a project")
    base = git(home, "rev-parse", "HEAD")
    home.rename(upstream / "wordbox")
    rows = [
        {
            "instance_id": f"evalboard__wordbox-{number}",
            "repo": "evalboard/wordbox",
            "base_commit": base,
            "version": version,
            "patch": task.patch,
            "test_patch": task.test_patch,
            "problem_statement": "it is too long",
            "FAIL_TO_PASS": json.dumps(task.fail_to_pass),
            "PASS_TO_PASS": json.dumps(task.pass_to_pass),
        }
        for number, version in ((1, "0.1"), (2, "0.1"), (3, "0.2"))
    ]
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    specs = tmp_path / "specs.json"
    by_version = {"0.1": {"packages": ["six==1.16.0"]}, "0.2": {"project": ".[test]"}}
    specs.write_text(json.dumps({"evalboard/wordbox": by_version}))
    uv, log = tmp_path / "uv", tmp_path / "uv.log"
    log.touch()
    uv.write_text(FAKE_UV.format(python=sys.executable, log=str(log)))
    uv.chmod(0o755)
    monkeypatch.setenv("UV", str(uv))
    monkeypatch.delenv("FAKE_MORE", raising=False)
    asked: list[str] = []
    results = {"evalboard__wordbox-2": TaskUsability(ok=False, problem="its tests fail")}

    def check(task: Any, *_: Any, **__: Any) -> TaskUsability:
        asked.append(task.instance_id)
        return results.get(task.instance_id, TaskUsability(ok=True))

    monkeypatch.setattr(prepare, "check_usability", check)
    return {
        **{"tasks": tasks, "specs": specs, "log": log, "asked": asked, "tmp": tmp_path},
        **{"mirrors": tmp_path / "upstream", "folder": tmp_path / "prepared"},
    }


def run(rig: dict[str, Any], **flags: str) -> Any:
    names = ("folder", "specs", "jobs", "only", "mirrors", "estimate", "offline", "again")
    given = dict.fromkeys(names, "") | {"jobs": "2"}
    given |= {name: str(rig[name]) for name in ("folder", "specs", "mirrors")}
    lines: list[str] = []
    settings = load_settings(str(rig["tmp"] / "data"))
    done = prepare.run_swe_prepare(settings, str(rig["tasks"]), given | flags, lines.append)
    return done, lines


def test_what_is_made_and_reported(rig: dict[str, Any]) -> None:
    done, lines = run(rig)
    reports = {report.instance_id: report for report in done.data.reports}
    assert [report.ok for report in reports.values()] == [True, False, True]
    assert reports["evalboard__wordbox-2"].problem == "its tests fail"
    assert "of 3 tasks, 2 can be judged on this machine" in done.text[0]
    assert "1 tests: its tests fail (evalboard__wordbox-2)" in done.text[1]
    assert "repositories: 1, environments: 2, about" in lines[0]
    mirror = rig["folder"] / "repositories" / "evalboard__wordbox"
    assert git(mirror, "rev-parse", "--is-bare-repository") == "true"
    environment = rig["folder"] / "environments" / "evalboard__wordbox-0.1"
    packages = environment / "lib/python3.11/site-packages"
    assert not (packages / "wordbox/core.py").exists(), "the tree under test has it"
    assert (packages / "evalboard_tree.pth").read_text() == "/testbed/\n"
    calls = rig["log"].read_text().splitlines()
    assert any("six==1.16.0 pytest" in call for call in calls)
    assert any(call.endswith("tree[test]") for call in calls)


def test_a_repeat_makes_nothing_again(rig: dict[str, Any]) -> None:
    run(rig)
    rig["asked"].clear()
    rig["log"].write_text("")
    done, lines = run(rig, offline="yes")
    assert (rig["asked"], rig["log"].read_text(), done.data.reused) == ([], "", 3)
    assert "repositories: 0, environments: 0, about 0 MB" in lines[0]
    done, _ = run(rig, again="yes")
    assert rig["asked"] == ["evalboard__wordbox-2"]


def test_another_specification_makes_another_environment(rig: dict[str, Any]) -> None:
    run(rig)
    specs = {"evalboard/wordbox": {"0.1": {"python": "2.7"}, "0.2": {"project": ".[test]"}}}
    rig["specs"].write_text(json.dumps(specs))
    done, _ = run(rig)
    first, second, third = done.data.reports
    assert first.step == second.step == "environment"
    assert "no Python 2.7: error: No interpreter found" in first.problem
    assert third.ok


def test_what_cannot_be_had_is_named_and_stops_nothing_else(rig: dict[str, Any]) -> None:
    row = json.loads(rig["tasks"].read_text().splitlines()[0])
    more = [
        row | {"instance_id": "x__y-1", "repo": "x/y"},
        row | {"instance_id": "w-9", "version": "9"},
    ]
    with rig["tasks"].open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in more)
    done, _ = run(rig)
    problems = {one.instance_id: (one.step, one.problem) for one in done.data.reports if not one.ok}
    assert problems["x__y-1"][0] == "repository"
    assert "cannot be cloned" in problems["x__y-1"][1]
    assert problems["w-9"] == ("environment", "no specification of evalboard/wordbox 9 is known")
    assert done.data.judged == 2


def test_without_a_network_a_mirror_is_not_cloned(rig: dict[str, Any]) -> None:
    done, _ = run(rig, offline="yes")
    assert {report.step for report in done.data.reports} == {"repository"}


def test_a_compiled_project_cannot_be_tested_so(
    rig: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MORE", "wordbox/fast.so")
    done, _ = run(rig)
    assert all("is compiled (wordbox/fast.so)" in report.problem for report in done.data.reports)


def test_a_torn_report_is_read_as_far_as_it_goes(rig: dict[str, Any]) -> None:
    run(rig)
    path = rig["folder"] / "report.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    rig["asked"].clear()
    run(rig)
    assert len(rig["asked"]) == 1


def test_an_estimate_makes_nothing(rig: dict[str, Any]) -> None:
    done, _ = run(rig, estimate="yes")
    assert done.data["mirrors"] == 1
    assert done.data["environments"] == 2
    assert not rig["folder"].exists()


def test_a_disk_that_is_too_small_is_not_filled(
    rig: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare.shutil, "disk_usage", lambda _: os.terminal_size((0, 0)) and Disk())
    with pytest.raises(UsageError, match="are needed and 5 MB are free"):
        run(rig)


class Disk:
    free = 5 << 20


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"jobs": "0"}, "--jobs"),
        ({"only": "nobody"}, "contains none of nobody"),
        ({"only": "evalboard__wordbox-1, nobody"}, "contains none of nobody"),
        ({"specs": ""}, "--specs"),
    ],
)
def test_bad_flags(rig: dict[str, Any], flags: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run(rig, **flags)


def test_a_file_without_tasks_is_refused(rig: dict[str, Any]) -> None:
    rig["tasks"] = os.devnull
    with pytest.raises(UsageError, match="contains no cases for swe_bench"):
        run(rig)


def test_runs_find_what_was_prepared(rig: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from evalcore.benchmarks.swe_bench import benchmark

    monkeypatch.setenv("EVALBOARD_DATA", str(rig["tmp"] / "data"))
    assert benchmark.find_prepared("repositories") == ""
    run(rig, folder="")
    assert benchmark.find_prepared("repositories").endswith("data/swe_bench/repositories")
    assert benchmark.find_prepared("environments").endswith("data/swe_bench/environments")


SOURCE = """
import os
TEST = "pytest -rA"
VERSIONS = ["0.1", "0.2"] + ["0.3"]
INSTALL = "python -m pip install -e .[test]"
PACKAGES = "numpy 'scipy<2'"
SPECS_A = {
    k: {"python": "3.6", "packages": PACKAGES, "install": INSTALL, "pip_packages": ["six==1.0"]}
    for k in VERSIONS
}
SPECS_A.update({k: {**SPECS_A[k], "python": "3.8"} for k in ["0.2"]})
SPECS_A["0.3"]["packages"] = "requirements.txt"
for k in ["0.1"]:
    SPECS_A[k]["pre_install"] = ["apt-get update"]
SPECS_A["0.1"]["pre_install"] += ["make"]
os.system("echo run")
MAP_REPO_TO_REQS_PATHS = {"a/a": ["dev.txt"]}
MAP_REPO_VERSION_TO_SPECS_PY = {"a/a": SPECS_A}
"""


def test_upstreams_specifications_are_read_and_not_run() -> None:
    specs = parse_specs(SOURCE)
    assert specs["a/a", "0.1"] == EnvironmentSpec(
        python="3.6",
        packages=("numpy", "scipy<2", "six==1.0"),
        project=".[test]",
        commands=("apt-get update", "make"),
    )
    assert specs["a/a", "0.2"].python == "3.8"
    assert specs["a/a", "0.3"].requirements == ("dev.txt",)
    assert specs["a/a", "0.3"].packages == ("six==1.0",)


@pytest.mark.parametrize("source", ["", "MAP_REPO_VERSION_TO_SPECS_PY = f()"])
def test_a_module_without_them_is_an_error(source: str) -> None:
    with pytest.raises(UsageError, match="could be read"):
        parse_specs(source)


def test_only_the_known_wheel_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sha256"):
        read_wheel_specs(b"PK", "x.whl")
    path = tmp_path / "specs.json"
    path.write_text('{"a/a": {"1": {"python": 3}}}')
    with pytest.raises(UsageError, match=r"specs\.json"):
        read_specs_file(path)


def test_the_command_has_a_help_text() -> None:
    command = [sys.executable, "-m", "evalcore", "swe", "prepare", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"--dataset", "--jobs", "--offline"} <= set(done.stdout.replace(",", " ").split())
