"""What an installation weighs: the core with the app, and each extra, from this checkout's wheel.

    python -m perf.install [--extras sql auth openai] [--constraints constraints.txt]

Builds the wheel and installs it into an empty environment; then each extra into one of its own.
Printed are megabytes on disk (pip and compiled files left out), the largest packages, and the CPU
time of `import evalcore` and of `evalcore --help` as multiples of a bare interpreter's. Exit
status 1 where the core is above its limit. Extras that hold torch take gigabytes and minutes: name
them to measure them.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE_LIMIT = 650.0  # MB
EXTRAS = ("sql", "auth", "openai", "otel")
LARGEST = 12
STARTS = 11
LEFT_OUT = {"pip", "setuptools", "__pycache__"}


def install(folder: Path, requirement: str, constraints: Path | None) -> Path:
    """An environment with one requirement; returns its site-packages."""
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-I", "-m", "pip", "install", "-q", "--no-compile"]
    command += ["-c", str(constraints)] if constraints else []
    subprocess.run([*command, requirement], check=True, stderr=subprocess.DEVNULL)
    [packages] = folder.glob("lib/python*/site-packages")
    return packages


def measure(packages: Path) -> dict[str, float]:
    """Megabytes by top-level name, with the libraries that a wheel brings in `<name>.libs`."""
    sizes: dict[str, float] = {}
    for path in packages.rglob("*"):
        parts = path.relative_to(packages).parts
        if path.is_symlink() or not path.is_file() or LEFT_OUT & set(parts):
            continue
        name = parts[0].partition(".")[0].partition("-")[0]
        sizes[name] = sizes.get(name, 0.0) + path.stat().st_size / 1e6
    return sizes


def count_child_seconds() -> float:
    """CPU seconds of the processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_starts(python: Path) -> dict[str, float]:
    """Median CPU seconds of each way to start, one after the other in turns, compiled files made
    before."""
    ways = {
        "bare python": ("-c", ""),
        "import evalcore": ("-c", "import evalcore"),
        "evalcore --help": ("-m", "evalcore", "--help"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(STARTS + 1):
        for name, words in ways.items():
            before = count_child_seconds()
            subprocess.run([python, "-I", *words], check=True, stdout=subprocess.DEVNULL)
            if turn:
                seconds[name].append(count_child_seconds() - before)
    return {name: statistics.median(times) for name, times in seconds.items()}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--extras", nargs="*", default=EXTRAS)
    parser.add_argument("--constraints", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", scratch, str(ROOT)]
        subprocess.run(build, check=True, stderr=subprocess.DEVNULL)
        [wheel] = folder.glob("evalboard-*.whl")
        print(f"wheel                {wheel.stat().st_size / 1e6:8.1f} MB")
        core = measure(install(folder / "core", str(wheel), args.constraints))
        total = sum(core.values())
        print(f"core with the app    {total:8.1f} MB (limit {CORE_LIMIT:.0f})")
        for name in sorted(core, key=lambda each: -core[each])[:LARGEST]:
            print(f"  {name:<18} {core[name]:8.1f}")
        starts = measure_starts(folder / "core" / "bin" / "python")
        bare = starts.pop("bare python")
        for name, seconds in starts.items():
            print(f"{name:<20} {seconds / bare:8.1f} times a bare start ({bare * 1000:.0f} ms)")
        for extra in args.extras:
            sizes = measure(install(folder / extra, f"{wheel}[{extra}]", args.constraints))
            added = {name: size - core.get(name, 0.0) for name, size in sizes.items()}
            largest = sorted(added, key=lambda each: -added[each])[:3]
            names = ", ".join(f"{name} {added[name]:.1f}" for name in largest if added[name] > 0.05)
            print(f"[{extra}] adds {sum(sizes.values()) - total:>14.1f} MB ({names or 'nothing'})")
    return int(total > CORE_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
