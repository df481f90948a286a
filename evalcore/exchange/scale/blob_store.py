"""Files by the hash of their content: what many imported runs share is on the disk once."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from evalcore.store.run_folder import write_atomic


class BlobStore:
    """Keeps new files in `folder`; `known` are files that lie elsewhere already, by digest."""

    def __init__(self, folder: Path, existing: Mapping[str, Path]) -> None:
        self._folder = folder
        self._paths = dict(existing)

    def put(self, content: bytes) -> str:
        """The digest by which the content is found again."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._paths:
            self._paths[digest] = self._folder / digest
            write_atomic(self._paths[digest], content)
        return digest

    def get(self, digest: str) -> bytes:
        return self._paths[digest].read_bytes()

    def link(self, digest: str, path: Path) -> None:
        """Make the file appear at `path`; a copy where the file system knows no links.

        Journals of an import are never written to again, so that sharing them is safe.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(self._paths[digest], path)
        except OSError:
            shutil.copyfile(self._paths[digest], path)
