"""The service of the locked process: one file's bytes in, its text out.

After the process is locked nothing can be imported any more, so `open_readers` makes a file of
every kind and reads it once: whatever the libraries load late is then there.
"""

from __future__ import annotations

import base64
import codecs
import csv
import encodings
import logging
import pkgutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from evalcore.benchmarks.gaia.attachments.kinds import detect_file_kind
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable, sanitize_text
from evalcore.benchmarks.gaia.attachments.readers.archives import (
    list_zip_members,
    read_zip,
    read_zip_member,
)
from evalcore.benchmarks.gaia.attachments.readers.databases import read_sqlite
from evalcore.benchmarks.gaia.attachments.readers.documents import read_docx
from evalcore.benchmarks.gaia.attachments.readers.media import read_picture, read_wav
from evalcore.benchmarks.gaia.attachments.readers.pages import read_html
from evalcore.benchmarks.gaia.attachments.readers.pdf import read_pdf
from evalcore.benchmarks.gaia.attachments.readers.plain import read_text
from evalcore.benchmarks.gaia.attachments.readers.slides import read_pptx
from evalcore.benchmarks.gaia.attachments.readers.structured import (
    read_csv,
    read_json,
    read_json_lines,
    read_xml,
)
from evalcore.benchmarks.gaia.attachments.readers.workbook import read_xlsx
from evalcore.benchmarks.gaia.attachments.warmup import build_sample_files

Reader = Callable[[bytes, ReadRequest], str]


def _build_refusing_reader(reason: str) -> Reader:
    def refuse_file(content: bytes, request: ReadRequest) -> str:
        raise Unreadable(f"{reason}; {len(content)} bytes")

    return refuse_file


READERS: Mapping[str, Reader] = {
    "xlsx": read_xlsx,
    "csv": read_csv,
    "json": read_json,
    "lines of json": read_json_lines,
    "xml": read_xml,
    "html": read_html,
    "zip": read_zip,
    "docx": read_docx,
    "pptx": read_pptx,
    "pdf": read_pdf,
    "image": read_picture,
    "wav": read_wav,
    "sqlite": read_sqlite,
    "text": read_text,
    "": read_text,
    "audio": _build_refusing_reader("this sound cannot be read"),
    "video": _build_refusing_reader("a film cannot be read"),
    "old office": _build_refusing_reader("the old binary format of office files cannot be read"),
}
_LONGEST_ERROR = 300
_FIELD_LIMIT = 10_000_000


def open_readers(options: Mapping[str, Any]) -> Readers:
    """The service, with all that it will ever need loaded."""
    warnings.simplefilter("ignore")
    logging.disable()
    csv.field_size_limit(_FIELD_LIMIT)
    for _, name, _ in pkgutil.iter_modules(encodings.__path__):
        try:
            codecs.lookup(name)
        except (LookupError, ImportError):  # no encoding, or one of another platform
            continue
    service = Readers()
    for name, content in build_sample_files().items():
        READERS[detect_file_kind(name, content[:16])](content, ReadRequest(name=name))
    return service


class Readers:
    """Requests are {"op", "content"} with the fields of `ReadRequest` and, for a part of an
    archive, {"member"}; op is "read" or "members". Replies: {"text"}, {"members"}, or {"error"} for
    what a file holds or a model asked for."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {"kinds": sorted(filter(None, READERS))}

    def __call__(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            content = base64.b64decode(request.get("content", ""))
            if request.get("op") == "members":
                return {
                    "members": [
                        [sanitize_text(name), size] for name, size in list_zip_members(content)
                    ]
                }
            read_request = msgspec.convert(dict(request), ReadRequest)
            name = read_request.name
            if request.get("member"):
                name, content = read_zip_member(content, request["member"])
            reader = READERS[detect_file_kind(PurePosixPath(name).name, content[:16])]
            return {"text": sanitize_text(reader(content, read_request))}
        except MemoryError:
            raise
        except Unreadable as error:
            return {"error": sanitize_text(str(error))}
        except Exception as error:  # what a library raises for a broken or hostile file
            description = f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]
            return {
                "error": sanitize_text(f"the file is broken or of another kind ({description})")
            }
