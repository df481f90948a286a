"""Golden outputs: what machines and people get from the shipped runs, collected as named texts.

`python -m tests.support.golden check` compares the outputs of this commit with the record in
`tests/golden`, `write DIR` writes them all to files (to diff two commits), and `renew
data|texts|all` rewrites records. Names that begin with `data/` are frozen: JSON fields, numbers,
URLs, flags and files. Names that begin with `texts/` are wording, which may change on purpose:
renew that record and review its diff.

The record holds the hash of every output, and the smaller ones themselves, so that a failure shows
a diff. What the outputs are is in `golden_outputs`.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.golden_outputs import (
    PARTS,
    ROOT,
    Outputs,
    collect_part,
    hash_bytes,
    is_passed_over,
)

RECORD = ROOT / "tests" / "golden"
RECORDS = ("data", "texts")
#: Characters of the texts that a record holds beside the hashes.
TEXT_BUDGET = {"data": 150_000, "texts": 60_000}
_SECTION = re.compile(r"(?m)^=== ((?:data|texts)/.+)\n")


def collect(environment: Mapping[str, str] | None = None, *, every_state: bool = False) -> Outputs:
    """Collect every output by its name, in two processes that no test has touched.

    `every_state` opens all states of all pages instead of enough to use each URL parameter once.
    Raises RuntimeError with a process's last lines if it fails.
    """
    environ = {name: text for name, text in os.environ.items() if not name.startswith("EVALBOARD_")}
    environ |= {"PYTHONPATH": str(ROOT), "COLUMNS": "100", **(environment or {})}
    outputs: Outputs = {}
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor() as pool:
        jobs = []
        for part in ("store", "every_state" if every_state else "states"):
            folder, data = Path(name, part), Path(name, f"{part}-data")
            folder.mkdir()
            own = {"EVALBOARD_DATA": str(data)}
            if part != "store":
                own["EVALBOARD_SHIPPED"] = str(data / "none")
            command = [sys.executable, "-m", "tests.support.golden", "part", part, str(folder)]
            options = {"cwd": folder, "env": environ | own, "capture_output": True}
            jobs.append((folder, pool.submit(subprocess.run, command, **options)))
        for folder, job in jobs:
            if job.result().returncode:
                lines = job.result().stderr.decode(errors="replace")[-4000:]
                raise RuntimeError(f"golden outputs could not be collected:\n{lines}")
            outputs |= read_outputs(folder)
    return dict(sorted(outputs.items()))


def read_outputs(folder: Path) -> Outputs:
    """Read what `write` wrote."""
    paths = sorted(path for name in RECORDS for path in (folder / name).rglob("*.txt"))
    return {
        str(path.relative_to(folder))[: -len(".txt")]: path.read_bytes().decode() for path in paths
    }


def write_outputs(outputs: Outputs, folder: Path) -> None:
    """Write a file per output: its name below `folder`, ending in `.txt`."""
    for name, text in outputs.items():
        path = folder / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


# The record


def write_record(outputs: Outputs, record: str, folder: Path = RECORD) -> None:
    """Replace one record (`data` or `texts`): hashes of all, and the smallest texts themselves."""
    own = {name: text for name, text in outputs.items() if name.startswith(f"{record}/")}
    target = folder / record
    target.mkdir(parents=True, exist_ok=True)
    for path in target.glob("*.txt"):
        path.unlink()
    lines = "".join(f"{_hash(text)}  {name}\n" for name, text in own.items())
    (target / "hashes.txt").write_text(lines, encoding="utf-8")
    size, sections = 0, dict[str, list[str]]()
    for name, text in sorted(own.items(), key=lambda item: (len(item[1]), item[0])):
        size += len(text) + len(name)
        if size <= TEXT_BUDGET[record] and not _SECTION.search(text):
            sections.setdefault(name.split("/")[1], []).append(f"=== {name}\n{text}\n")
    for group, parts in sections.items():
        (target / f"{group}.txt").write_bytes("".join(sorted(parts)).encode())


def read_hashes(record: str, folder: Path = RECORD) -> dict[str, str]:
    """Read the hash of every output of a record by its name; empty if there is no record."""
    path = folder / record / "hashes.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {name: code for code, name in (line.split("  ", 1) for line in lines)}


def read_texts(record: str, folder: Path = RECORD) -> Outputs:
    """Read the outputs that a record holds in full."""
    texts: Outputs = {}
    for path in sorted((folder / record).glob("*.txt")):
        if path.name != "hashes.txt":
            parts = _SECTION.split(path.read_bytes().decode())
            texts |= {n: t[:-1] for n, t in zip(parts[1::2], parts[2::2], strict=True)}
    return texts


def differences(
    outputs: Outputs, record: str, folder: Path = RECORD, *, run_step: int = 1
) -> list[str]:
    """Name each output of a record that is new, missing or changed, with a diff if it is held;
    `outputs` has but every `run_step`-th of the shipped runs one by one."""
    hashes, texts = read_hashes(record, folder), read_texts(record, folder)
    own = {name: text for name, text in outputs.items() if name.startswith(f"{record}/")}
    missing = [name for name in hashes if name not in own and not is_passed_over(name, run_step)]
    reports = [f"missing: {name}" for name in missing]
    for name, text in own.items():
        if name not in hashes:
            reports.append(f"new: {name}")
        elif hashes[name] != _hash(text):
            lines = (
                difflib.unified_diff(
                    texts[name].splitlines(), text.splitlines(), "recorded", "now", lineterm="", n=2
                )
                if name in texts
                else [f"(its text is not in the record, {len(text)} characters)"]
            )
            reports.append("\n".join([f"changed: {name}", *lines]))
    return reports


def explain(reports: list[str], record: str) -> str:
    """Say what differs, at most 8,000 characters of it, and how to see and settle the rest."""
    how = (
        "to see all: `python -m tests.support.golden write /tmp/after` here, the same in a "
        "worktree of the commit before with /tmp/before, then `diff -r /tmp/before /tmp/after`"
    )
    settle = {
        "data": "this data is frozen. If it changed on purpose (a field was added, the shipped "
        "runs were made anew), run `python -m tests.support.golden renew data`, review the diff",
        "texts": "if the wording changed on purpose, run `python -m tests.support.golden renew "
        "texts` and review the diff",
    }
    text = "\n".join(reports)
    if "changed: data/shipped/files" in text:
        text = f"data/shipped itself is another one, so most of this is to be expected\n{text}"
    return f"{len(reports)} outputs differ\n{text[:8000]}\n\n{how}\n{settle[record]}"


def _hash(text: str) -> str:
    return hash_bytes(text.encode())


def main(arguments: list[str] | None = None) -> int:
    """Check, write or renew; exit status 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.golden", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("check", help="compare with tests/golden")
    write = actions.add_parser("write", help="write every output to a file below DIR")
    write.add_argument("folder", type=Path, metavar="DIR")
    write.add_argument("--every-state", action="store_true", help="open every state of each page")
    renew = actions.add_parser("renew", help="rewrite a record; review its diff")
    renew.add_argument("record", choices=(*RECORDS, "all"))
    part = actions.add_parser("part", help="write a part of the outputs from this process")
    part.add_argument("part", choices=tuple(PARTS))
    part.add_argument("folder", type=Path, metavar="DIR")
    args = parser.parse_args(arguments)
    if args.action == "part":
        write_outputs(collect_part(args.part), args.folder)
        return 0
    outputs = collect(every_state=getattr(args, "every_state", False))
    if args.action == "write":
        write_outputs(outputs, args.folder)
        return 0
    if args.action == "renew":
        for record in RECORDS if args.record == "all" else (args.record,):
            write_record(outputs, record)
        return 0
    different = {record: differences(outputs, record) for record in RECORDS}
    for record, reports in different.items():
        if reports:
            print(explain(reports, record))
    return 1 if any(different.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
