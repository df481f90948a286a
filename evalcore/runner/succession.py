"""Workers one after another: `python -m evalcore.runner.succession FOLDER FOLDER...`.

Two local models at once would share memory and cores, and both would be slower than in turn. Keys
come as JSON on standard input and are handed to each worker. A run that is cancelled ends the row:
those that wait stay planned, to be resumed or deleted.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from evalcore.store.run_folder import RunFolder


def main(arguments: list[str] | None = None) -> int:
    folders = [RunFolder(Path(path)) for path in (arguments or sys.argv[1:])]
    keys = sys.stdin.buffer.read()
    for folder in folders:
        if not folder.path.is_dir():  # deleted while it waited
            continue
        with folder.log_path.open("ab") as log:
            command = [sys.executable, "-m", "evalcore.runner.worker", str(folder.path)]
            subprocess.run(command, input=keys, stdout=log, stderr=log, check=False)
        if folder.path.is_dir() and folder.current_state() == "cancelled":
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
