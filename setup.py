"""Put the application into the wheel, below the package: its only top-level name is `evalcore`.

A top-level `datasets` or `pages` in site-packages would shadow other libraries. An editable install
takes everything from the checkout.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
BUNDLE = Path("evalcore", "_app")  # where evalcore.settings looks
CONTENTS = ("app.py", "pages", "datasets", "data/shipped", ".streamlit/config.toml", "examples")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.parquet", "*.pyc")


class build_py_with_app(build_py):
    """`build_py`, then the application."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        bundle = Path(self.build_lib) / BUNDLE
        shutil.rmtree(bundle, ignore_errors=True)
        for name in CONTENTS:
            source, copy = ROOT / name, bundle / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy, ignore=LEFT_OUT)
            else:
                shutil.copy(source, copy)


setup(cmdclass={"build_py": build_py_with_app})
