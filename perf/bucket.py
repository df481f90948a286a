"""Runs through real clients of object stores: `evalcore bucket push` and `pull` against loopback
servers that speak their protocols.

    python -m perf.bucket [s3] [gs]

`s3` takes `pip install s3fs 'moto[s3,server]'`, `gs` takes `pip install gcsfs gcp-storage-emulator`
in the environment that runs this. They are no part of the extra `dev`, since they bring 375 MB. Two
finished runs are pushed, pushed again, pulled into another store and pulled again, among 1,100
other objects (several pages of a listing) and a damaged bundle; then an absent bucket, which holds
no runs, and a server that is gone are tried. Whatever is not as it should be is printed; the status
is 1 where anything was.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec

from evalcore.errors import UsageError
from evalcore.exchange import bucket
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder, find_run
from tests.support.bundles import finished

#: gcsfs would ask the kind of a bucket by gRPC, which no emulator speaks, for a minute each time.
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
OTHERS = 1_100
KEY = "loopback-secret-0123456789"


@contextlib.contextmanager
def serve_s3() -> Iterator[str]:
    """A bucket of moto's server, for the client's own environment variables."""
    from moto.server import ThreadedMotoServer  # no part of `dev`, see REQUIREMENTS

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        os.environ |= {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "loopback",
            "AWS_SECRET_ACCESS_KEY": KEY,
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        fsspec.filesystem("s3").mkdir("boards")
        yield "s3://boards/team"
    finally:
        server.stop()


@contextlib.contextmanager
def serve_gs() -> Iterator[str]:
    """A bucket of the emulator, which asks for no key."""
    from gcp_storage_emulator.server import create_server

    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="boards")
    server.start()
    try:
        port = server._api._httpd.server_address[1]
        os.environ["STORAGE_EMULATOR_HOST"] = f"http://127.0.0.1:{port}"
        fsspec.config.conf["gs"] = {"token": "anon"}
        yield "gs://boards/team"
    finally:
        server.stop()


SERVERS = {"s3": serve_s3, "gs": serve_gs}
#: What each needs, as modules and as what pip installs.
REQUIREMENTS = {
    "s3": (("s3fs", "moto.server"), "s3fs 'moto[s3,server]'"),
    "gs": (("gcsfs", "gcp_storage_emulator.server"), "gcsfs gcp-storage-emulator"),
}


def check_requirements(name: str) -> None:
    """End with the command that installs what a store needs, where any of it is absent."""
    modules, packages = REQUIREMENTS[name]
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            sys.exit(f"{name} is not tried, {error}: pip install {packages}")


class Problems(list[str]):
    """What was not as expected."""

    def expect(self, name: str, actual: Any, expected: Any) -> None:
        print(f"  {name}: {actual}")
        if actual != expected:
            self.append(f"{name}: {actual}, not {expected}")

    def expect_refusal(self, name: str, url: str, store: Settings) -> None:
        """Whether an address is refused in words, without a key."""
        try:
            bucket.pull_runs(url, store, print)
        except UsageError as error:
            print(f"  {name}: {str(error)[:160]}")
            if KEY in str(error):
                self.append(f"{name}: the refusal repeats the key")
            return
        self.append(f"{name}: it was not refused")


def try_bucket(url: str, data: Path) -> Problems:
    problems = Problems()
    first, second = (Settings(data=str(data / name), shipped=str(data / "none")) for name in "ab")
    runs = [
        finished(first, target, "dialect_conversion", max_samples=4)
        for target in ("baseline:sqlglot", "baseline:sqlglot")
    ]
    names = tuple(sorted(folder.run_id for folder in runs))
    files, root = fsspec.core.url_to_fs(url)
    for number in range(OTHERS):
        files.pipe_file(f"{root}/note-{number:04}.txt", b"x")
    files.pipe_file(f"{root}/damaged.zip", b"PK\x03\x04 and no more")
    pushed = bucket.push_runs(url, (), first, print)
    problems.expect("pushed", tuple(sorted(pushed.moved)), names)
    problems.expect(
        "pushed again", tuple(sorted(bucket.push_runs(url, (), first, print).present)), names
    )
    pulled = bucket.pull_runs(url, second, print)
    problems.expect("pulled", tuple(sorted(pulled.moved)), names)
    problems.expect("refused", tuple(pulled.problems), ("damaged",))
    problems.expect("pulled again", bucket.pull_runs(url, second, print).moved, ())
    problems.expect("scores", list_scores(second), sorted(read_scores(folder) for folder in runs))
    return problems


def list_scores(store: Settings) -> list[list[float | None]]:
    paths = (path for path in store.runs_dir.iterdir() if (path / "summary.json").exists())
    return sorted(read_scores(find_run(path.name, [store.runs_dir])) for path in paths)


def read_scores(folder: RunFolder) -> list[float | None]:
    summary = folder.read_summary()
    return [score.score for score in summary.benchmarks.values()] if summary else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", nargs="*", choices=sorted(SERVERS), default=sorted(SERVERS))
    failed = 0
    stores = parser.parse_args().stores
    for name in stores:
        check_requirements(name)
    for name in stores:
        print(name)
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder)
            spare = Settings(data=str(data / "c"), shipped=str(data / "none"))
            with SERVERS[name]() as url:
                problems = try_bucket(url, data)
                absent = bucket.pull_runs(f"{name}://absent-bucket-7/team", spare, print)
                problems.expect("no bucket", absent.moved, ())
            problems.expect_refusal("no server", f"{name}://boards/other", spare)
        failed += len(problems)
        print(*(f"PROBLEM {problem}" for problem in problems), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
