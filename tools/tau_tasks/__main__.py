"""Write the bundled data: `python -m tools.tau_tasks OUT [SEED]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.tau_tasks import SEED, generate_data_files


def main(arguments: list[str]) -> int:
    """Writes all files below the folder; 2 where the arguments are wrong."""
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    for path, text in generate_data_files(int(arguments[1]) if arguments[1:] else SEED).items():
        destination = Path(arguments[0]) / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
