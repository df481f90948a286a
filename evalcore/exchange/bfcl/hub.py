"""The v3 files of BFCL from the Hugging Face Hub, by plain addresses.

The loaders of data-set libraries fail on these files, whose lines differ in their types; the Hub's
own notes on the data set say so. HF_ENDPOINT may name a mirror, as it does for the Hub's tools.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalcore.errors import UsageError
from evalcore.secrets import scrub_secrets

if TYPE_CHECKING:
    import httpx2

DATASET = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"
_HUB = "https://huggingface.co"
_FILE_LIMIT = 32 << 20  # bytes
_SECONDS = 60.0


def download_bfcl_files(
    names: Sequence[str], progress: Callable[[str], None]
) -> tuple[Iterator[tuple[str, bytes]], str]:
    """The named files with their contents, and where they are from.

    Raises UsageError, while iterating, without network and for a file that is not there.
    """
    base = f"{os.environ.get('HF_ENDPOINT') or _HUB}".rstrip("/")
    return _download_contents(base, names, progress), f"the Hub data set {DATASET}"


def _download_contents(
    base: str, names: Sequence[str], progress: Callable[[str], None]
) -> Iterator[tuple[str, bytes]]:
    import httpx2

    with httpx2.Client(timeout=_SECONDS, follow_redirects=True) as client:
        for number, name in enumerate(names, 1):
            progress(f"{number} of {len(names)}: {name}")
            address = f"{base}/datasets/{DATASET}/resolve/main/{name}"
            try:
                yield name, _download_file(client, address)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise UsageError(
                    f"{address} cannot be fetched: "
                    f"{scrub_secrets(str(error)) or type(error).__name__}; "
                    "check the network, or name a mirror in HF_ENDPOINT; the source `wheel` has v4"
                ) from None


def _download_file(client: httpx2.Client, address: str) -> bytes:
    content = bytearray()
    with client.stream("GET", address) as reply:
        reply.raise_for_status()
        for part in reply.iter_bytes():
            content += part
            if len(content) > _FILE_LIMIT:
                raise UsageError(f"{address} has more than {_FILE_LIMIT >> 20} MB")
    if not content.lstrip().startswith(b"{"):  # a page to log in at, for example
        raise UsageError(f"{address} did not give JSON lines; check the network")
    return bytes(content)
