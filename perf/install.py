"""What an installation weighs: the core with the app, and each extra, from this checkout's wheel.

    python -m perf.install [--extras sql auth openai] [--constraints constraints.txt]

Builds the wheel and installs it into an empty environment; then each extra into one of its own.
Printed are megabytes on disk (pip and compiled files left out) and the largest packages. Exit
status 1 where the core is above its limit. Extras that hold torch take gigabytes and minutes: name
them to measure them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE_LIMIT = 650.0  # MB
EXTRAS = ("sql", "auth", "openai", "otel")
LARGEST = 12
LEFT_OUT = {"pip", "setuptools", "__pycache__"}


def install(folder: Path, requirement: str, constraints: Path | None) -> Path:
    """An environment with one requirement; returns its site-packages."""
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--no-compile"]
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
        for extra in args.extras:
            sizes = measure(install(folder / extra, f"{wheel}[{extra}]", args.constraints))
            added = {name: size - core.get(name, 0.0) for name, size in sizes.items()}
            largest = sorted(added, key=lambda each: -added[each])[:3]
            names = ", ".join(f"{name} {added[name]:.1f}" for name in largest if added[name] > 0.05)
            print(f"[{extra}] adds {sum(sizes.values()) - total:>14.1f} MB ({names or 'nothing'})")
    return int(total > CORE_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
