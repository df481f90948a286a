"""Kinds of damage that a data folder may take, each done to one run of a whole store."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from evalcore.settings import Settings
from tests.support.boards import BENCHMARK, SCORING, Plan, make_run

WHOLE = ("20261101-100000-aaaaaa", "20261101-100100-aaaaaa")
CREATED = "2026-11-01T09:00:00.000+00:00"
GARBAGE = bytes(range(256)) * 40
VERDICTS = f"verdicts/{SCORING}/w1.jsonl"


def _replace(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def _with_number(folder: Path, number: str) -> None:
    """The summary with a count of tokens that no program wrote."""
    _replace(folder, "summary.json", '"input_tokens":', f'"input_tokens":{number},"then":')


def _without(folder: Path, name: str) -> None:
    (folder / name).unlink()


def _in_the_middle(folder: Path, name: str, garbage: bytes) -> None:
    lines = (folder / name).read_bytes().splitlines(keepends=True)
    (folder / name).write_bytes(b"".join([*lines[:3], garbage + b"\n", *lines[4:]]))


def _instead(folder: Path, make: Callable[[Path], object]) -> None:
    """Put something else where the run folder was."""
    folder.rename(folder.parent.parent / f"away-{folder.name}")
    make(folder)


def _old(folder: Path) -> None:
    os.utime(folder, (0, 0))


def _half_written(folder: Path) -> None:
    for name in ("spec.json", "summary.json"):
        _without(folder, name)
    _old(folder)


def _huge(folder: Path, name: str) -> None:
    """A file of 4 GB that takes no room on the disk."""
    with (folder / name).open("r+b") as file:
        file.truncate(4 << 30)


def _other_benchmark(folder: Path) -> None:
    for name in ("spec.json", "summary.json", "samples.jsonl", VERDICTS, "generations/w1.jsonl"):
        _replace(folder, name, BENCHMARK, "benchmark_of_the_future")
    _replace(folder, "spec.json", '"suite":"sql"', '"suite":"suite_of_the_future"')


def _wrong_types(folder: Path) -> None:
    spec = json.loads((folder / "spec.json").read_text())
    (folder / "spec.json").write_text(json.dumps({**spec, "benchmarks": "all", "epochs": [1]}))


#: Damage to the run folder as a whole: no row but a broken one can be made of it.
BROKEN: dict[str, Callable[[Path], object]] = {
    "spec-missing": lambda f: (_without(f, "spec.json"), _old(f)),
    "spec-truncated": lambda f: os.truncate(f / "spec.json", 40),
    "spec-empty": lambda f: os.truncate(f / "spec.json", 0),
    "spec-binary": lambda f: (f / "spec.json").write_bytes(GARBAGE),
    "spec-types": _wrong_types,
    "spec-deep": lambda f: (f / "spec.json").write_text('{"options":' + "[" * 100_000),
    "spec-folder": lambda f: (_without(f, "spec.json"), (f / "spec.json").mkdir(), _old(f)),
    "spec-pipe": lambda f: (_without(f, "spec.json"), os.mkfifo(f / "spec.json"), _old(f)),
    "spec-huge": lambda f: _huge(f, "spec.json"),
    "spec-other": lambda f: _replace(f, "spec.json", f.name, "20200101-000000-ffffff"),
    "half-written": _half_written,
    "summary-binary": lambda f: (f / "summary.json").write_bytes(GARBAGE),
    "summary-surrogate": lambda f: _replace(f, "summary.json", '"state":"', '"state":"\\ud800'),
    "summary-pipe": lambda f: (_without(f, "summary.json"), os.mkfifo(f / "summary.json")),
    "summary-huge": lambda f: _huge(f, "summary.json"),
    "samples-missing": lambda f: _without(f, "samples.jsonl"),
    "is-a-file": lambda f: _instead(f, lambda path: path.write_text("")),
    "dangling-link": lambda f: _instead(f, lambda path: path.symlink_to("nothing")),
    "link-loop": lambda f: _instead(f, lambda path: path.symlink_to(path)),
    "empty-folder": lambda f: _instead(f, lambda path: (path.mkdir(), _old(path))),
}
#: Damage within: the run stands in lists, and what of it cannot be read is said where it is asked.
INSIDE: dict[str, Callable[[Path], object]] = {
    "summary-nan": lambda f: _with_number(f, "NaN"),
    "summary-huge-number": lambda f: _with_number(f, str(10**30)),
    "summary-infinite": lambda f: (
        _replace(f, "summary.json", '"wall":', '"wall":1e999,"x":')
        if '"wall":' in (f / "summary.json").read_text()
        else _with_number(f, "1e999")
    ),
    "verdicts-garbage": lambda f: _in_the_middle(f, VERDICTS, GARBAGE.replace(b"\n", b"")),
    "verdicts-text": lambda f: _in_the_middle(f, VERDICTS, b'{"benchmark": 5'),
    "generations-garbage": lambda f: _in_the_middle(f, "generations/w1.jsonl", b"\0" * 5000),
    "samples-garbage": lambda f: _in_the_middle(f, "samples.jsonl", b"\xff\xfe{}"),
    "verdicts-huge": lambda f: _huge(f, VERDICTS),
    "verdicts-pipe": lambda f: (_without(f, VERDICTS), os.mkfifo(f / VERDICTS)),
    "parquet-garbage": lambda f: (f / "samples.parquet").write_bytes(GARBAGE),
    "parquet-folder": lambda f: (f / "samples.parquet").mkdir(),
    "progress-garbage": lambda f: (f / "progress.json").write_bytes(GARBAGE),
    "card-garbage": lambda f: (f / "card.json").write_bytes(GARBAGE),
    "log-garbage": lambda f: (f / "worker.log").write_bytes(GARBAGE),
    "future": _other_benchmark,
}
#: Damage to the index file.
INDEX: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(GARBAGE),
    "empty": lambda path: path.write_bytes(b""),
    "newer": lambda path: path.write_bytes(b'{"format":9,"runs":[{"id":1}]}'),
    "newer-rows": lambda path: path.write_bytes(b'{"runs":{"a":{"v":2}},"more":{"x":{"y":1}}}'),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "missing": lambda path: path.unlink(),
}


def whole_store(settings: Settings) -> None:
    """Two runs that nothing happens to."""
    for number, run_id in enumerate(WHOLE):
        plan = Plan(target=f"openai:whole-{number}", skill=0.5 + 0.3 * number, cases=4)
        make_run(settings, plan, run_id)


def damaged_run(settings: Settings, kind: str) -> str:
    """A run that was whole and in the index before it took the damage; returns its id."""
    run_id = f"20261031-0900-{kind}"
    plan = Plan(target=f"openai:{kind}", cases=4, created_at=CREATED)
    folder = make_run(settings, plan, run_id)
    (BROKEN | INSIDE)[kind](folder.path)
    return run_id


def odd_names(settings: Settings) -> list[str]:
    """Folders whose names no run has; returns how the odd ones with a spec.json are shown."""
    source = settings.runs_dir / WHOLE[0]
    names = ["мой прогон", "a b", "x" * 120, "UPPER", "line\nbreak", "<b>bold<b>"]
    for name in names:
        (settings.runs_dir / name).mkdir()
        (settings.runs_dir / name / "spec.json").write_bytes((source / "spec.json").read_bytes())
    binary = os.fsencode(settings.runs_dir) + b"/\xff\xfe-name"
    os.mkdir(binary)  # noqa: PTH102 - a name that is no text
    Path(os.fsdecode(binary + b"/spec.json")).write_bytes(b"{}")
    (settings.runs_dir / "lost+found").mkdir()
    return [*names, "\\xff\\xfe-name"]
