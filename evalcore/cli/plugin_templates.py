"""The verb `new` of the command line: a working package with a benchmark, a target or an engine.

The package is made of the templates in `templates/KIND`: each file ends in `.tmpl`, `package`,
`package/cases` and `test_package` in a path stand for names of the plug-in, and @WORDS@ in a text
are filled in.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import sys
from importlib.metadata import packages_distributions
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from evalcore import catalog
from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import tr
from evalcore.errors import UsageError
from evalcore.i18n import Note

KINDS = ("benchmark", "target", "engine")
_SUFFIX = ".tmpl"
_NAME = re.compile(r"[a-z][a-z0-9_]{1,39}")


def add_new_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "create a plug-in package with a benchmark, a kind of target or an SQL engine"
    sub = verbs.add_parser("new", help=about)
    sub.add_argument("kind", choices=KINDS, help="what the package adds")
    sub.add_argument("name", metavar="NAME", help="lowercase letters, digits and _")
    sub.add_argument(
        "--into",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="parent folder (default: current folder)",
    )
    add_common(sub, _create_plugin)


def _create_plugin(args: argparse.Namespace) -> int:
    values = build_plugin_values(args.kind, args.name)
    folder, written = write_plugin(args.kind, values, args.into)
    steps = _read_next_steps(folder)
    if args.json:
        print(json.dumps({"folder": str(folder), "files": written, "next": steps}))
    else:
        print("\n".join([f"{folder}:", *(f"  {name}" for name in written)]))
        print("\n".join([tr("cli.new.next", folder=folder), *(f"  {step}" for step in steps)]))
    return 0


def _read_next_steps(folder: Path) -> list[str]:
    """The commands that the package's README gives."""
    block = re.search(r"```sh\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    return block[1].splitlines() if block else []


def build_plugin_values(kind: str, name: str) -> dict[str, str]:
    """What fills the templates; raises UsageError for a name that cannot be used."""
    if not _NAME.fullmatch(name) or keyword.iskeyword(name) or not catalog.is_usable_key(name):
        raise UsageError(Note("cli_new_name", name=name, kind=kind))
    taken = {
        "benchmark": {*catalog.benchmark_cards(), *catalog.suite_cards()},
        "target": set(catalog.target_kinds()),
        "engine": set(catalog.engine_cards()),
    }[kind]
    module = f"evalboard_{name}"
    if name in taken:
        raise UsageError(Note("cli_new_exists", kind=kind, name=name))
    if module in sys.modules or module in packages_distributions():
        raise UsageError(Note("cli_new_installed", module=module))
    words = name.split("_")
    return {
        "NAME": name,
        "MODULE": module,
        "PROJECT": module.replace("_", "-"),
        "CLASS": "".join(word.capitalize() for word in words),
        "TITLE": " ".join(words).capitalize(),
        "VARIABLE": name.upper(),
    }


def write_plugin(kind: str, values: dict[str, str], into: Path) -> tuple[Path, list[str]]:
    """Write the package into a new folder in `into`; returns it and the files in it.

    Raises UsageError where the folder is there already or cannot be made.
    """
    folder = into / values["PROJECT"]
    if folder.exists():
        raise UsageError(Note("cli_new_folder", folder=folder))
    written = []
    for path, template in _list_templates(files("evalcore.cli") / "templates" / kind):
        name = path.removesuffix(_SUFFIX).replace("test_package", f"test_{values['NAME']}")
        name = name.replace("package/cases/", f"package/{values['NAME']}_cases/")
        name = re.sub(r"^package/", f"{values['MODULE']}/", name)
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_fill_template(template, values), encoding="utf-8")
        except OSError as error:
            raise UsageError(
                Note("cannot_write", path=target, problem=error.strerror or error)
            ) from None
        written.append(name)
    return folder, sorted(written)


def _list_templates(folder: Traversable, prefix: str = "") -> list[tuple[str, str]]:
    """The templates below a folder: path in it, text."""
    templates: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            templates += _list_templates(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            templates.append((f"{prefix}{entry.name}", entry.read_text("utf-8")))
    return templates


def _fill_template(text: str, values: dict[str, str]) -> str:
    for word, value in values.items():
        text = text.replace(f"@{word}@", value)
    return text
