"""A small wheel in the shape of the official one, with its own hash."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

from evalcore.exchange.bfcl import fetch
from evalcore.exchange.bfcl.fetch import OFFICIAL_RELEASE, BfclRelease

NAME = f"bfcl_eval-{OFFICIAL_RELEASE.version}-py3-none-any.whl"
INFO = f"bfcl_eval-{OFFICIAL_RELEASE.version}.dist-info"
#: What the wheel holds beside its data; none of it may come out.
OTHERS = {
    "bfcl_eval/data/../../../evil.json": "{}",
    "bfcl_eval/data/unused_datasets/BFCL_v4_sql.json": "{}",
    "bfcl_eval/model.py": "raise SystemExit",
    f"{INFO}/METADATA": (
        f"Metadata-Version: 2.1\nName: bfcl_eval\nVersion: {OFFICIAL_RELEASE.version}\n"
    ),
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/RECORD": "",
}


def entry_line(name: str) -> str:
    category = name.rpartition("_v4_")[2].rpartition("_v3_")[2].removesuffix(".json")
    return json.dumps({"id": f"{category}_0", "question": [], "ground_truth": [["f()"]]})


def make_wheel(
    folder: Path, without: Collection[str] = (), more: Mapping[str, str] | None = None
) -> BfclRelease:
    """Write the wheel NAME below `folder`, without some data files and with more; its release."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / NAME, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in fetch.wheel_members().items():
            if name not in without:
                content = "" if member.endswith(".py") else entry_line(name)
                archive.writestr(member, content)
        for name, content in {**OTHERS, **(more or {})}.items():
            archive.writestr(name, content)
    digest = hashlib.sha256((folder / NAME).read_bytes()).hexdigest()
    return BfclRelease(OFFICIAL_RELEASE.version, digest)
