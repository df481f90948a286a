"""A fresh Python environment that sees Evalboard, and into which packages are really installed.

Nothing is downloaded: the packages of the running environment are on its path, pip has no index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from sysconfig import get_paths

ROOT = Path(__file__).resolve().parents[2]
_PROGRAMS = {
    "python": (),
    "pip": ("-m", "pip"),
    "evalcore": ("-m", "evalcore"),
}
#: Opens pages in a process of the environment; arguments: pairs of page and query.
OPEN_PAGES = """
import json, sys
from tests.support.pages import open_page, table, words
for name, query in json.loads(sys.argv[1]):
    app = open_page(name, **query)
    lists = [str(item.options) for item in (*app.multiselect, *app.selectbox, *app.button_group)]
    texts = [item.value for item in (*app.code, *app.text, *app.text_area)]
    tables = [str(frame.value.to_dict()) for frame in app.dataframe]
    print(json.dumps("\\n".join([words(app), *lists, *texts, *tables])))
"""


class PluginEnvironment:
    """An environment in a folder; commands run in `folder` on a store of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        builder = venv.EnvBuilder(with_pip=False, symlinks=True)
        builder.create(folder / "env")
        self.python = folder / "env" / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = folder / "env" / "lib" / version / "site-packages"
        lines = [str(ROOT), f"import site; site.addsitedir({get_paths()['purelib']!r})"]
        (packages / "evalboard.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
        environment = {
            n: v for n, v in os.environ.items() if not n.startswith(("EVALBOARD_", "PYTHON"))
        }
        self.environ = environment | {
            "EVALBOARD_DATA": str(folder / "data"),
            "EVALBOARD_SHIPPED": str(folder / "no-shipped-runs"),
            "EVALBOARD_ACCESS": "open",
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as "without isolation"
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, words: Sequence[str], *, check: bool = True) -> str:
        """Run `python`, `pip` or `evalcore` as a reader would type it; returns what it printed."""
        program = [str(self.python), *_PROGRAMS[words[0]]]
        done = subprocess.run(
            [*program, *words[1:]],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr
