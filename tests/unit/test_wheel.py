"""The wheel is the product: built, installed outside the checkout, and used for the main job."""

from __future__ import annotations

import email
import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PARTS = ("evalcore", "pages", "datasets", "data/shipped", ".streamlit", "examples")
FILES = ("app.py", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that the checkout stays as it is."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in PARTS:
        ignored = shutil.ignore_patterns("__pycache__", "*.parquet")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*command, "-w", str(out), str(source)], check=True, capture_output=True)
    [path] = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory) -> Path:
    """`evalcore` in an environment of its own, which sees the libraries of the core alone."""
    folder = tmp_path_factory.mktemp("installed")
    libraries = tmp_path_factory.mktemp("libraries") / "site-packages"  # as Streamlit looks for it
    libraries.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [packages] = folder.glob("lib/python*/site-packages")
    link_core_libraries(wheel, libraries)
    (packages / "libraries.pth").write_text(str(libraries))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    own = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*pip, "install", "--no-deps", "-q", str(wheel)], check=True, env=own)
    return folder / "bin" / "evalcore"


def link_core_libraries(wheel: Path, folder: Path) -> None:
    """Links to what the wheel requires without any extra, and what that requires in turn."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = email.message_from_bytes(archive.read(name)).get_all("Requires-Dist")
    waiting, seen = [(line, "") for line in lines], set()
    while waiting:
        line, extra = waiting.pop()
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        distribution = importlib.metadata.distribution(requirement.name)
        for part in {path.parts[0] for path in distribution.files} - {"..", "__pycache__"}:
            if not (folder / part).exists():
                (folder / part).symlink_to(distribution.locate_file(part))
        for chosen in {(requirement.name, each) for each in ("", *requirement.extras)} - seen:
            seen.add(chosen)
            waiting += [(each, chosen[1]) for each in distribution.requires or ()]


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """That of a person who has set nothing."""
    dropped = ("EVALBOARD_", "PYTHON", "STREAMLIT_", "XDG_")
    own = {name: text for name, text in os.environ.items() if not name.startswith(dropped)}
    return own | {"HOME": str(tmp_path / "home")}


def test_the_wheel_has_one_top_level_name_and_all_that_the_app_needs(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"evalcore"}
    for part in ("app.py", "pages/ranking.py", "datasets/bfcl/README.md", ".streamlit/config.toml"):
        assert f"evalcore/_app/{part}" in names
    assert not any(name.endswith((".parquet", ".pyc")) for name in names)
    assert wheel.stat().st_size < 20_000_000


def test_a_run_and_a_board_outside_the_checkout(program, environment, tmp_path):
    def call(*words: str, status: int = 0) -> str:
        done = subprocess.run(
            [str(program), *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == status, done.stderr
        return done.stderr if status else done.stdout

    arguments = ("--target", "baseline:sqlglot", "--benchmarks", "sql_understanding")
    summary = json.loads(call("run", *arguments, "--max-samples", "3", "--json"))
    folder = tmp_path / "home" / ".local" / "share" / "evalboard" / "runs" / summary["run_id"]
    assert sys.platform != "linux" or (folder / "summary.json").is_file()
    assert "baseline:sqlglot" in call("board", "--suite", "sql")
    for form in ("svg", "png"):
        refusal = call("board", "--suite", "sql", "--chart", f"x.{form}", status=2)
        assert "pip install 'evalboard[charts]'" in refusal
        assert not (tmp_path / f"x.{form}").exists()
    assert "-> pip install 'evalboard[charts]'" in call("doctor")


def test_serve_answers_pages_and_api(program, environment, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [str(program), "serve", "--port", str(port)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        boards = json.loads(fetch(f"http://localhost:{port}/api/v1/boards", server))
        assert {board["suite"] for board in boards["items"]} >= {"sql", "agentic"}
        assert "<title>" in fetch(f"http://localhost:{port}/launch", server)
    finally:
        server.terminate()
        server.wait()
    with pytest.raises(OSError, match="refused"):  # nothing of it is left
        urllib.request.urlopen(f"http://localhost:{port}/launch")


def fetch(url: str, server: subprocess.Popen[bytes]) -> str:
    """The page, once the server answers; fails where it has ended."""
    while True:
        try:
            with urllib.request.urlopen(url) as answer:
                return answer.read().decode()
        except OSError:
            assert server.poll() is None, server.stderr.read().decode()
            time.sleep(0.2)
