"""How long a first visitor waits for the ranking, beside a bare Streamlit page with one table.

`python -m perf.first_visit [--repeats R] [--query Q] [--idle]` starts the real server on the runs
that come with the project, and a server of a page that holds one table of the same rows. Each visit
is that of a new browser: a fresh profile, an empty cache. Another process takes a processor for
itself meanwhile, unless `--idle`. What is ours of the bytes and requests is what the bare page does
not need. Times by the clock depend on the machine, ratios hardly. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from perf.page_server import ROOT, Server, serve
from perf.page_visitor import CHROMIUM

BARE = """import pandas as pd
import streamlit as st

st.title("A page")
st.table(pd.DataFrame({"rank": range(32), "score": range(32)}))
"""
LIMIT = 2.5  # s
_SPIN = "while True: pass"
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_PATIENCE = 120_000  # ms
#: When something was painted, if only as a skeleton, and what came over the network; asked of the
#: browser at the end, since it is slower while it reports every request.
_MEASURED = """() => {
  const loaded = [...performance.getEntriesByType('navigation'),
                  ...performance.getEntriesByType('resource')];
  return {painted: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
          requests: loaded.length,
          size: loaded.reduce((sum, entry) => sum + entry.transferSize, 0)};
}"""


class Visit(NamedTuple):
    """A first visit: seconds until something was painted and until the table was seen; requests
    and bytes over the network until then; seconds of the server's processor."""

    painted: float
    seen: float
    requests: int
    size: int
    cpu: float


def visit_first(server: Server, address: str, selector: str) -> Visit:
    """Open an address in a browser that was never here."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=CHROMIUM,
            args=_ARGUMENTS,
            viewport={"width": 1440, "height": 900},
            locale="en-US",
        )
        try:
            tab = context.new_page()
            before, begun = server.cpu(), time.perf_counter()
            tab.goto(f"{server.url}/{address}", wait_until="commit")
            tab.locator(selector).first.wait_for(state="visible", timeout=_PATIENCE)
            seen = time.perf_counter() - begun
            cpu = server.cpu() - before
            got = tab.evaluate(_MEASURED)
            return Visit(got["painted"] / 1000, seen, got["requests"], got["size"], cpu)
        finally:
            context.close()


@contextmanager
def keep_busy(processes: int) -> Iterator[None]:
    """Other work on the machine: so many processes that never rest."""
    spinning = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def describe_visits(name: str, visits: list[Visit], base: float | None = None) -> str:
    seen = statistics.median(visit.seen for visit in visits)
    ratio = f"{seen / base:5.2f} x bare" if base else " " * 12
    return (
        f"{name:34} seen {seen:5.2f} s {ratio}  "
        f"painted {statistics.median(visit.painted for visit in visits):5.2f} s  "
        f"{visits[-1].requests:4} requests {visits[-1].size / 1e6:5.2f} MB  "
        f"server {1000 * statistics.median(visit.cpu for visit in visits):5.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--query", default="?lang=en")
    parser.add_argument("--idle", action="store_true", help="no other process")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, keep_busy(0 if chosen.idle else 1):
        script = Path(folder) / "bare.py"
        script.write_text(BARE, encoding="utf-8")
        environment = {"EVALBOARD_DATA": folder, "EVALBOARD_SHIPPED": str(ROOT / "data/shipped")}
        with serve(script, {}) as bare_server, serve(ROOT / "app.py", environment) as server:
            cold = visit_first(server, chosen.query, ".eb-table tbody tr")
            bare, ours = [], []
            for _ in range(chosen.repeats):  # in turn, so that other work disturbs both alike
                bare.append(visit_first(bare_server, "", "table tbody tr"))
                ours.append(visit_first(server, chosen.query, ".eb-table tbody tr"))
    base = statistics.median(visit.seen for visit in bare)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(describe_visits("bare page with a table", bare))
    print(describe_visits("Ranking, first visit to the server", [cold], base))
    print(describe_visits("Ranking, first visit", ours, base))
    seen = statistics.median(visit.seen for visit in ours)
    print(f"limit {LIMIT} s: {'ok' if seen <= LIMIT else 'OVER'}")
    print(
        json.dumps({"bare": bare[-1]._asdict(), "ours": ours[-1]._asdict(), "ratio": seen / base})
    )


if __name__ == "__main__":
    main()
