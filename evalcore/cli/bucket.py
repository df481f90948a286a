"""`evalcore bucket`: finished runs to and from an object store."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from evalcore.cli.parser import AddCommon
from evalcore.cli.run import load_operator_settings
from evalcore.cli.terminal import say, tr, tr_count, tr_note

if TYPE_CHECKING:
    from evalcore.exchange.bucket import BucketSync

_ADDRESS = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, a folder, or another address of fsspec"


def add_bucket_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "store finished runs in an object store, and import them from there"
    actions = verbs.add_parser("bucket", help=about).add_subparsers(required=True, metavar="ACTION")
    sub = actions.add_parser("push", help="upload bundles of finished runs that are not there yet")
    sub.add_argument("address", metavar="URL", help=_ADDRESS)
    sub.add_argument(
        "runs", nargs="*", metavar="RUN", help="runs to upload (default: all run here)"
    )
    add_common(sub, _push_runs)
    about = "import the bundles that are not here yet, and rescore their answers"
    sub = actions.add_parser("pull", help=about)
    sub.add_argument("address", metavar="URL", help=_ADDRESS)
    add_common(sub, _pull_runs)


def _push_runs(args: argparse.Namespace) -> int:
    from evalcore.exchange import bucket

    settings = load_operator_settings(args)
    return _print_sync(args, bucket.push_runs(args.address, args.runs, settings, say))


def _pull_runs(args: argparse.Namespace) -> int:
    from evalcore.exchange import bucket

    return _print_sync(args, bucket.pull_runs(args.address, load_operator_settings(args), say))


def _print_sync(args: argparse.Namespace, done: BucketSync) -> int:
    """Print what was transferred; the status is 3 where a run was left out."""
    from evalcore.records import to_plain

    if args.json:
        print(json.dumps(to_plain(done), ensure_ascii=False))
    else:
        for run, problem in done.problems.items():
            print(f"{run}: {tr_note(problem)}", file=sys.stderr)
        runs = tr_count("cli.count_run", len(done.moved))
        print(tr("cli.bucket.moved", runs=runs, present=len(done.present)))
    return 3 if done.problems else 0
