"""Draw the layers of the house into `docs/architecture.md` from what the code really imports.

The layers come from the contract of import-linter in `pyproject.toml`, the imports from the syntax
trees of `evalcore`, `pages` and `app.py`: all of them, also those inside functions and those for
annotations. Without an argument the block between the two markers is written anew; `--check` only
compares, and fails where the document is stale.
"""

from __future__ import annotations

import argparse
import ast
import sys
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = "docs/architecture.md"
PACKAGE = "evalcore"
START, END = "<!-- layers: start -->", "<!-- layers: end -->"
WIDTH = 100  # columns of the drawing

Imports = Mapping[str, set[str]]


class DrawingError(Exception):
    """The layers, the code and the document do not fit together; the message says where."""


def read_layers(pyproject: Path) -> list[list[str]]:
    """Read the layers from top to bottom, the modules of a layer in their order.

    Raises DrawingError where there is not exactly one contract of the type `layers`.
    """
    linter = tomllib.loads(pyproject.read_text(encoding="utf-8")).get("tool", {})
    contracts = linter.get("importlinter", {}).get("contracts", [])
    layers = [contract["layers"] for contract in contracts if contract.get("type") == "layers"]
    if len(layers) != 1:
        raise DrawingError(f"{pyproject}: {len(layers)} contracts of layers, expected 1")
    return [[name.strip() for name in layer.split("|")] for layer in layers[0]]


def list_modules(root: Path) -> set[str]:
    """List the modules and packages directly below the package, its own `__init__` left out."""
    return {
        path.stem
        for path in (root / PACKAGE).iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").is_file()
    }


def read_imports(root: Path) -> dict[str, set[str]]:
    """Map each module of the package, `pages` and `app.py` to the modules and pages it imports."""
    modules, imports = list_modules(root), defaultdict[str, set[str]](set)
    for path in sorted((root / PACKAGE).rglob("*.py")):
        importer = path.relative_to(root / PACKAGE).parts[0].removesuffix(".py")
        if importer in modules:
            imports[importer] |= _imports_of(path, root, modules) - {importer}
    for path in sorted((root / "pages").rglob("*.py")):
        imports["pages"] |= _imports_of(path, root, modules) - {"pages"}
    imports["app.py"] |= _imports_of(root / "app.py", root, modules)
    return dict(imports)


def _imports_of(path: Path, root: Path, modules: set[str]) -> set[str]:
    names = set()
    for dotted in _dotted_imports(path, root):
        top, _, rest = dotted.partition(".")
        if top == "pages":
            names.add("pages")
        elif top == PACKAGE and rest.partition(".")[0] in modules:
            names.add(rest.partition(".")[0])
    return names


def _dotted_imports(path: Path, root: Path) -> Iterator[str]:
    """The full name of everything imported: `from a.b import c` gives `a.b.c`."""
    package = path.relative_to(root).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def draw_layers(layers: Sequence[Sequence[str]], imports: Imports) -> str:
    """Draw one line per module, top to bottom, with what it imports in the same order.

    Modules of one layer, which may not import one another, share a number. An import that does not
    go down bears a `^`. Raises DrawingError for a module without a layer and a layer without a
    module.
    """
    rows = [["app.py"], ["pages"], *layers]
    level = {name: number for number, row in enumerate(rows, 1) for name in row}
    order = list(level)
    if strangers := sorted(set(imports).union(*imports.values()).difference(order)):
        raise DrawingError(f"no layer in pyproject.toml: {', '.join(strangers)}")
    if missing := [name for name in order if name not in imports]:
        raise DrawingError(f"a layer in pyproject.toml, and no module: {', '.join(missing)}")
    width = max(map(len, order))
    lines = [f"     {'module':{width}}  imports"]
    for number, row in enumerate(rows, 1):
        for position, name in enumerate(row):
            label = f"{'' if position else number:>3}  {name:{width}}  "
            targets = " ".join(
                target if level[target] > number else f"^{target}"
                for target in sorted(imports[name], key=order.index)
            )
            lines += textwrap.wrap(
                targets or "-",
                WIDTH,
                initial_indent=label,
                subsequent_indent=" " * len(label),
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "\n".join(lines)


def replace_block(document: str, drawing: str) -> str:
    """Put the drawing between the markers. Raises DrawingError unless each stands there once."""
    if document.count(START) != 1 or document.count(END) != 1:
        raise DrawingError(f"{DOCUMENT}: expected one {START} and one {END}")
    before, _, rest = document.partition(START)
    if END not in rest:
        raise DrawingError(f"{DOCUMENT}: {END} stands before {START}")
    return f"{before}{START}\n```text\n{drawing}\n```\n{END}{rest.partition(END)[2]}"


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write or check the block; exit status 1 where it is stale or cannot be drawn."""
    parser = argparse.ArgumentParser(description="Draw the layers into docs/architecture.md.")
    parser.add_argument("--check", action="store_true", help="fail where the document is stale")
    args = parser.parse_args(arguments)
    path = root / DOCUMENT
    try:
        drawing = draw_layers(read_layers(root / "pyproject.toml"), read_imports(root))
        document = path.read_text(encoding="utf-8")
        fresh = replace_block(document, drawing)
    except (DrawingError, OSError, SyntaxError) as error:
        print(f"draw_architecture: {error}", file=sys.stderr)
        return 1
    if fresh == document:
        return 0
    if args.check:
        print(
            f"draw_architecture: {DOCUMENT} is stale; run `python tools/draw_architecture.py`",
            file=sys.stderr,
        )
        return 1
    path.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
