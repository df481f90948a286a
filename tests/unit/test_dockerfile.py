"""The image: who it runs as, what goes in and what must not, and that its very command serves."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import yaml

from tests.support.dockerfile import ROOT, command, copied, environment, instructions, texts

USER = 1000
START_UP = 240.0


def test_it_runs_as_a_user_without_rights():
    names = [instruction.name for instruction in instructions()]
    assert texts("USER") == ["user"]
    assert any(f"useradd --create-home --uid {USER} user" in text for text in texts("RUN"))
    last = names.index("USER")
    assert not {"RUN", "COPY", "ADD"} & set(names[last:]), "root builds, the user runs"
    assert not any("--chown" in text for text in texts("COPY")), (
        "the program is not its own to change"
    )


def test_one_port_everywhere():
    port = environment()["STREAMLIT_SERVER_PORT"]
    assert texts("EXPOSE") == [port] == ["7860"]
    assert environment()["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0"
    assert front_matter()["app_port"] == int(port)


def test_all_that_is_written_goes_to_the_data_folder_and_the_home():
    assert environment()["EVALBOARD_DATA"] == "/data"
    assert environment()["HOME"] == "/home/user"
    assert any("install -d -o user -g user /data" in text for text in texts("RUN"))


def test_it_is_built_well():
    assert instructions()[0] == ("FROM", "python:3.11-slim")
    for text in texts("RUN"):
        if "apt-get install" in text:
            assert "--no-install-recommends" in text
            assert "apt-get update &&" in text
            assert "rm -rf /var/lib/apt/lists" in text
        if "pip install" in text:
            assert "--no-cache-dir" in text
            assert "-c constraints.txt" in text
        assert "curl" not in text
        assert "sudo" not in text
    assert not texts("ADD")
    for name in ("CMD", "ENTRYPOINT", "HEALTHCHECK"):
        assert command(name), "the exec form: signals reach the program"


def test_libraries_are_installed_before_what_changes_often():
    order = [instruction.text for instruction in instructions()]
    libraries = next(index for index, text in enumerate(order) if "pip install" in text)
    before = {source for text in order[:libraries] for source in copied() if source in text.split()}
    assert before == {"pyproject.toml", "constraints.txt"}


def test_what_is_copied_exists_and_is_let_through():
    allowed = {line[1:] for line in ignore_lines() if line.startswith("!")}
    assert ignore_lines()[0] == "*"
    assert allowed == set(copied())
    assert all((ROOT / source).exists() for source in copied())


def test_nothing_private_is_let_through():
    allowed = [line[1:] for line in ignore_lines() if line.startswith("!")]
    for name in ("evalboard.toml", ".streamlit/secrets.toml", ".git", "data/runs", ".env", "tests"):
        assert not any(name == item or name.startswith(f"{item}/") for item in allowed), name


def test_every_file_of_the_image_is_under_version_control():
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout; run the tests in one")
    listed = subprocess.run(
        ["git", "ls-files", "--", *copied()], cwd=ROOT, capture_output=True, text=True, check=True
    )
    held = set(listed.stdout.splitlines())
    for source in copied():
        assert any(name == source or name.startswith(f"{source}/") for name in held), source


def test_the_space_is_made_of_what_the_image_needs(tmp_path):
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    line = next(item for item in text.splitlines() if item.startswith("IMAGE :="))
    assert set(line.split()[2:]) == {*copied(), "Dockerfile", ".dockerignore"}


COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def front_matter() -> dict[str, object]:
    text = (ROOT / "hosting" / "space" / "README.md").read_text(encoding="utf-8")
    assert text.startswith("---\n")
    return yaml.safe_load(text.split("---\n")[1])


def test_the_front_matter_of_the_space_is_what_the_hub_takes():
    matter = front_matter()
    assert matter["sdk"] == "docker"
    assert {matter["colorFrom"], matter["colorTo"]} <= COLOURS
    assert len(matter["emoji"]) in (1, 2)
    assert not matter["emoji"].isascii()
    assert 0 < len(matter["short_description"]) <= 60
    assert matter["license"] == "mit"
    assert matter["pinned"] is False
    assert matter["hf_oauth"] is True
    assert set(matter["hf_oauth_scopes"]) <= {"email", "read-repos"}, "a login needs no more"
    assert matter["startup_duration_timeout"] == "30m"
    assert matter["title"] == "Evalboard"


def ignore_lines() -> list[str]:
    text = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def left_out(path: Path) -> bool:
    """Whether .dockerignore leaves out a file below a folder that it lets through."""
    name = path.relative_to(ROOT).as_posix()
    patterns = [line for line in ignore_lines() if line[0] != "!" and line != "*"]
    return any(re.fullmatch(form_of(pattern), name) for pattern in patterns)


def form_of(pattern: str) -> str:
    """A pattern of .dockerignore as a regular expression."""
    return (
        re.escape(pattern)
        .replace(r"\*\*/", "(?:.*/)?")
        .replace(r"\*", "[^/]*")
        .replace(r"\[co\]", "[co]")
    )


def image(folder: Path) -> None:
    """What COPY puts into the working folder of the image."""
    for source, destination in copied().items():
        path, target = ROOT / source, folder / destination
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            shutil.copy(path, target)
        else:
            shutil.copytree(
                path,
                target,
                dirs_exist_ok=True,
                ignore=lambda at, names: [name for name in names if left_out(Path(at) / name)],
            )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def as_user(name: str, *words: str) -> list[str]:
    """A command as the user of the image, where this process may choose.

    By its full path: the user of the image need not see all folders of this machine's PATH.
    """
    text = str(Path(sys.executable).with_name(name))
    if os.geteuid():
        return [text, *words]
    numbers = ("--reuid", str(USER), "--regid", str(USER))
    return ["setpriv", *numbers, "--clear-groups", "--no-new-privs", text, *words]


@pytest.fixture
def container():
    """The folder of the image, which the user cannot change, and the environment it starts with."""
    path = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    path.chmod(0o755)
    for name in ("data", "home"):
        (path / name).mkdir()
        if not os.geteuid():
            os.chown(path / name, USER, USER)
    image(path / "app")
    args = environment() | {
        "HOME": str(path / "home"),
        "EVALBOARD_DATA": str(path / "data"),
        "STREAMLIT_SERVER_PORT": str(free_port()),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(path / "app"),
    }
    yield path, args
    shutil.rmtree(path)


def files_of(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_its_command_serves_a_user_who_can_write_only_to_data_and_home(container):
    folder, args = container
    before = files_of(folder / "app")
    log = (folder / "log").open("wb")
    server = subprocess.Popen(
        as_user(*command("CMD")), cwd=folder / "app", env=args, stdout=log, stderr=log
    )
    try:
        health = f"http://127.0.0.1:{args['STREAMLIT_SERVER_PORT']}/api/v1/health"
        state = json.loads(answer_of(health, server, folder / "log"))
        assert state["status"] == "ok"
        assert state["runs"] == len(list((ROOT / "data" / "shipped" / "runs").iterdir()))
        check = as_user(*command("HEALTHCHECK"))
        assert any(not subprocess.run(check, env=args, check=False).returncode for _ in range(3))
        words = "run --target control:reference --benchmarks tau_bench --max-samples 2"
        run_in(folder, args, "python", "-m", "evalcore", *words.split())
        assert json.loads(answer_of(health, server, folder / "log"))["runs"] == state["runs"] + 1
        cases = health.replace("health", "cases?run=shipped-baseline-sqlglot")
        with urllib.request.urlopen(cases, timeout=30) as answer:
            assert answer.status == 200  # though nothing can be cached beside the shipped runs
    finally:
        server.terminate()
        server.wait(60)
        log.close()
    assert files_of(folder / "app") == before
    assert len(list((folder / "data" / "runs").iterdir())) == 1


def test_the_health_check_fails_where_nothing_answers(container):
    _, args = container
    health = as_user(*command("HEALTHCHECK"))
    done = subprocess.run(health, env=args, capture_output=True, check=False)
    assert done.returncode == 1


def run_in(folder: Path, args: dict[str, str], *words: str) -> None:
    done = subprocess.run(
        as_user(*words),
        cwd=folder / "app",
        env=args,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def answer_of(address: str, server: subprocess.Popen[bytes], log: Path) -> bytes:
    end = time.monotonic() + START_UP
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text(encoding="utf-8")
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return answer.read()
        except OSError:  # not yet, or not in time
            time.sleep(0.2)
    raise AssertionError(log.read_text(encoding="utf-8"))
