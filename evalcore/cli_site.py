"""The verb `evalcore site`: the boards of a store as a folder of static pages."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalcore.plain_text import format_count

Verb = Callable[[argparse.Namespace], int]
_DONE = 0


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `common` adds the flags that every verb has and sets its function."""
    about = "write a leaderboard as static pages, for any web host or to open without one"
    sub = verbs.add_parser("site", help=about, description=about)
    sub.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="an empty or new folder, or one that this verb wrote: it is replaced as a whole",
    )
    sub.add_argument("--title", default="Evalboard", metavar="T", help="default: Evalboard")
    sub.add_argument(
        "--base-url",
        default="",
        metavar="URL",
        help="the address the folder will have, for previews where a link is shared",
    )
    common(sub, _site)


def _site(given: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange.site.publish import Options, publish

    options = Options(given.out, given.title, given.base_url)
    count = publish(settings.load(given.data), options)
    place = given.out / "index.html"
    told = {"out": str(given.out), "files": count}
    print(json.dumps(told) if given.json else f"{format_count(count, 'file')}; open {place}")
    return _DONE
