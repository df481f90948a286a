"""`evalcore serve`: start the app, from a checkout or from an installed package."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import Any

from evalcore.cli.parser import AddCommon
from evalcore.errors import UsageError
from evalcore.i18n import Note


def add_serve_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    sub = verbs.add_parser("serve", help="start the app in the browser")
    sub.add_argument("--port", type=int, default=8501, help="port to serve at (default: 8501)")
    sub.add_argument(
        "--address",
        default="localhost",
        help="address to listen on (default: localhost; on any other the board is read-only until "
        "EVALBOARD_ACCESS is set)",
    )
    add_common(sub, _serve_app)


def _serve_app(args: argparse.Namespace) -> int:
    from evalcore.settings import ROOT, load_settings

    if not 0 <= args.port <= 65535:
        raise UsageError(Note("cli_port", port=args.port))
    load_settings()  # a setting that cannot be understood is said here, not on a page
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    command += [f"--server.port={args.port}", f"--server.address={args.address}"]
    if os.name == "posix":  # in place of this process: a signal to it ends the server
        sys.stdout.flush()
        os.execv(sys.executable, command)  # noqa: S606 - a list, without a shell
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:  # the server has got it too, and ends by itself
        return 0
