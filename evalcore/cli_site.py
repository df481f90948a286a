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


def add_site_verb(verbs: Any, add_common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `add_common` adds the flags that every verb has and sets its function."""
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
    add_common(sub, _write_site)


def _write_site(args: argparse.Namespace) -> int:
    from evalcore import settings
    from evalcore.exchange.site.publish import SiteOptions, publish_site

    options = SiteOptions(args.out, args.title, args.base_url)
    count = publish_site(settings.load_settings(args.data), options)
    index_path = args.out / "index.html"
    summary = {"out": str(args.out), "files": count}
    print(json.dumps(summary) if args.json else f"{format_count(count, 'file')}; open {index_path}")
    return _DONE
