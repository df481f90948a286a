"""How fast the pages are over 1,000 targets x 12 months, beside a page with one line of text.

`python -m perf.pages [--targets N] [--months M] [--repeats R] [--store DIR] [--no-browser]` makes
the store of `tests.support.many_runs` (or uses the one that DIR holds already), starts the real
server on it and measures what a visitor waits for. Processor time is that of the whole server
process, from the request until it rests again, garbage collection included: other work on the
machine disturbs it little. Times by the clock are told too, and the same for a trivial page in the
same run, so that ratios can be compared between machines. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from evalcore.settings import Settings
from evalcore.store.index import load_headers
from perf.page_server import ROOT, Server, serve
from perf.page_visitor import CHROMIUM, first_loads, reruns, visible
from tests.support.many_runs import make_store, name_of

TRIVIAL = 'import streamlit as st\n\nst.title("A page")\n'
VISITORS = 20
RERUN_P50, RERUN_P95 = 100.0, 250.0  # ms of processor
FIRST_LOAD, TABLE = 2.0, 1.5  # s
MEMORY = 350.0  # MB


class Figure(NamedTuple):
    """A measured number beside its limit and beside that of a trivial page, None where none is."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    trivial: float | None = None

    @property
    def line(self) -> str:
        ratio = f"{self.value / self.trivial:7.1f} x trivial" if self.trivial else " " * 17
        mark = "" if self.limit is None else "  ok" if self.value <= self.limit else "  OVER"
        limit = "" if self.limit is None else f"   limit {self.limit:g} {self.unit}{mark}"
        return f"{self.name:44}{self.value:10.2f} {self.unit:3}{ratio}{limit}"


def measure(settings: Settings, repeats: int, browser: bool) -> list[Figure]:
    """All figures, over a store that exists."""
    environment = {"EVALBOARD_DATA": settings.data, "EVALBOARD_SHIPPED": settings.shipped}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "trivial.py"
        script.write_text(TRIVIAL, encoding="utf-8")
        with serve(script, {}) as server:
            trivial = _trivial(server, repeats, browser)
    figures = []
    with serve(ROOT / "app.py", environment) as server:
        figures.append(Figure("server answers after its start", server.started, "s"))
        figures.append(_loads(server, "the first 20 visitors", trivial))
        for name, (page, query) in _pages(settings).items():
            figures += _reruns(server, name, page, query, repeats, trivial["cpu"])
        figures.append(_loads(server, f"{VISITORS} visitors at once, warm", trivial))
        if browser:
            seconds = statistics.median(visible(server, "?lang=en", _TABLE_SEEN, repeats // 4 or 1))
            figures.append(Figure("table visible, p50", seconds, "s", TABLE, trivial["seen"]))
        memory = server.memory()
        figures.append(Figure("memory now", memory["VmRSS"], "MB", MEMORY, trivial["memory"]))
        figures.append(Figure("memory at its highest", memory["VmHWM"], "MB"))
    return figures


_TABLE_SEEN = ".eb-table tbody tr"


def _pages(settings: Settings) -> dict[str, tuple[str, str]]:
    """Name -> path and query of what is drawn."""
    runs = [header.run_id for header in load_headers(settings) if header.state == "done"][:4]
    target = quote(name_of(1))
    return {
        "Ranking": ("", "lang=en"),
        "Metrics": ("metrics", "lang=en"),
        "Target": ("target", f"lang=en&key={target}"),
        "Compare": ("compare", f"lang=en&runs={','.join(runs)}"),
        "Runs": ("runs", "lang=en"),
    }


def _trivial(server: Server, repeats: int, browser: bool) -> dict[str, float]:
    drawn = reruns(server, "", "", repeats)
    loads = first_loads(server, "", "", VISITORS)
    seen = visible(server, "", "h1", repeats // 4 or 1) if browser else [0.0]
    return {
        "cpu": statistics.median(drawn.cpu),
        "loads": loads[-1],
        "seen": statistics.median(seen),
        "memory": server.memory()["VmRSS"],
    }


def _loads(server: Server, name: str, trivial: dict[str, float]) -> Figure:
    """The last of the visitors is the one who counts."""
    seconds = first_loads(server, "", "lang=en", VISITORS)
    return Figure(f"{name}, the last served", seconds[-1], "s", FIRST_LOAD, trivial["loads"])


def _reruns(
    server: Server, name: str, page: str, query: str, repeats: int, trivial: float
) -> list[Figure]:
    drawn = reruns(server, page, query, repeats)
    cpu = sorted(drawn.cpu)
    high = cpu[min(len(cpu) - 1, round(0.95 * len(cpu)))]
    return [
        Figure(f"{name}: rerun p50, processor", statistics.median(cpu), "ms", RERUN_P50, trivial),
        Figure(f"{name}: rerun p95, processor", high, "ms", RERUN_P95, trivial),
        Figure(f"{name}: rerun p50, clock", statistics.median(drawn.wall), "ms"),
        Figure(f"{name}: sent", drawn.size / 1000, "kB"),
    ]


def store_of(folder: Path, targets: int, months: int) -> Settings:
    """The store in a folder, made first where it is not there."""
    settings = Settings(data=str(folder / "data"), shipped=str(folder / "none"))
    if not settings.index_path.exists():
        begun = time.perf_counter()
        make_store(settings, targets, months, tables=True)
        print(f"made {targets} x {months} runs in {time.perf_counter() - begun:.0f} s")
    return settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=1_000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--no-browser", action="store_true")
    chosen = parser.parse_args()
    browser = Path(CHROMIUM).exists() and not chosen.no_browser
    with tempfile.TemporaryDirectory() as folder:
        settings = store_of(chosen.store or Path(folder), chosen.targets, chosen.months)
        figures = measure(settings, chosen.repeats, browser)
    load = os.getloadavg()[0]
    print(
        f"{chosen.targets} targets x {chosen.months} months; {os.cpu_count()} processors, {load=}"
    )
    for figure in figures:
        print(figure.line)
    values: dict[str, Any] = {figure.name: figure.value for figure in figures}
    print(json.dumps({"targets": chosen.targets, "months": chosen.months, "figures": values}))


if __name__ == "__main__":
    main()
