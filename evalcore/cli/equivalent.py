"""The verb `equivalent` of the command line: decide whether two SQL statements are equivalent."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import tr, tr_note
from evalcore.errors import FileError, UsageError
from evalcore.i18n import Note

if TYPE_CHECKING:
    from evalcore.sqlkit.equivalence.pairs import Pair, PairDecision

_DONE = 0


def add_equivalent_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "decide whether two SQL statements are equivalent, with a counterexample if not"
    sub = verbs.add_parser("equivalent", help=about)
    sub.add_argument("--engine", metavar="E", help="SQL engine; `evalcore list engines` lists them")
    sub.add_path("--schema", "FILE", "file with CREATE TABLE statements")
    sub.add_argument("--reference", metavar="SQL|@FILE", help="reference statement")
    sub.add_argument("--answer", metavar="SQL|@FILE", help="statement to compare with it")
    sub.add_argument(
        "--state",
        default="all",
        metavar="all|T,...",
        help="tables to compare after statements that change data (default: all of the schema)",
    )
    about = "pairs as JSON Lines: id, engine, schema, reference, answer, optionally ordered"
    sub.add_path("--pairs", "FILE.jsonl", about)
    sub.add_path("--out", "FILE.jsonl", "file to write the decisions to, as JSON Lines")
    add_common(sub, _decide)


def _decide(args: argparse.Namespace) -> int:
    from evalcore.sqlkit.equivalence.pairs import decide_pairs

    single = (args.engine, args.schema, args.reference, args.answer)
    if args.pairs is None:
        if None in single or args.out is not None:
            raise UsageError(Note("cli_pairs_missing"))
        with _raise_swallowed_interrupt():
            decision = next(decide_pairs([_build_pair(args)]))
        print(_to_json(decision) if args.json else _format_decision(decision))
        return _DONE
    if any(value is not None for value in single):
        raise UsageError(Note("cli_pairs_whole"))
    pairs = _read_pairs(args.pairs)
    counts: dict[str, int] = {}
    out = sys.stdout if args.out is None else args.out.open("w", encoding="utf-8")
    try:
        decisions = decide_pairs(pairs)
        for _ in pairs:
            with _raise_swallowed_interrupt():
                decision = next(decisions)
            counts[decision.status] = counts.get(decision.status, 0) + 1
            print(_to_json(decision), file=out, flush=True)
    finally:
        if args.out is not None:
            out.close()
    if args.out is not None:
        print(json.dumps(counts) if args.json else _format_counts(counts))
    return _DONE


@contextmanager
def _raise_swallowed_interrupt() -> Iterator[None]:
    """Ctrl+C ends the block even where a callback of SQLite or a destructor of z3 swallows what it
    raises: what was decided on by a call that broke off is no decision."""
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if before is not signal.default_int_handler or not main:  # ignored, or no concern here
        yield
        return
    interrupts = []

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        interrupts.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


def _build_pair(args: argparse.Namespace) -> Pair:
    from evalcore.sqlkit.equivalence.pairs import Pair

    state = [] if args.state == "all" else args.state.split(",")
    return Pair(
        id="",
        engine=args.engine,
        schema=_read_file(args.schema),
        reference=_read_argument(args.reference),
        answer=_read_argument(args.answer),
        state_of=state,
    )


def _read_argument(text: str) -> str:
    """SQL as it is, or the content of the file that `@FILE` names."""
    return _read_file(Path(text[1:])) if text.startswith("@") else text


def _read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(Note("not_utf8", path=path)) from None


def _read_pairs(path: Path) -> list[Pair]:
    from evalcore.sqlkit.equivalence.pairs import MAX_LINE_BYTES, read_pairs

    with path.open("rb") as file:
        try:
            return read_pairs(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""))
        except UsageError as error:
            raise FileError(path, str(error)) from None


def _to_json(decision: PairDecision) -> str:
    from evalcore.records import to_json

    return to_json(decision, ordered=False).decode()


def _format_counts(counts: dict[str, int]) -> str:
    parts = (f"{count} {status}" for status, count in sorted(counts.items()))
    return ", ".join(parts) or tr("cli.equivalent.none")


def _format_decision(decision: PairDecision) -> str:
    """The decision for people, with the database on which the statements differ."""
    status = tr(f"equivalent.is.{decision.status}").lower()
    lines = [f"{status}: {tr_note(decision.message)}"]
    example = decision.counterexample
    if example is not None:
        for name, table in example.tables.items():
            lines.append(f"{name} ({', '.join(table.columns)})")
            lines += [f"  {row}" for row in map(_format_row, table.rows)]
        for title, rows in (("reference", example.expected), ("answer", example.actual)):
            nothing = "" if rows and rows.rows else " " + tr("cli.equivalent.no_rows")
            lines.append(tr(f"cli.equivalent.{title}") + nothing)
            lines += [f"  {_format_row(row)}" for row in (rows.rows if rows else ())]
    return "\n".join(lines)


def _format_row(row: tuple[Any, ...]) -> str:
    return json.dumps(list(row), ensure_ascii=False)
