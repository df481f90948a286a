"""PDF: the text of each page, as it is stored in the file; pictures of text are not read."""

from __future__ import annotations

from io import BytesIO

from evalcore.benchmarks.gaia.attachments.paging import cut_by_pages
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest, Unreadable

_LONGEST_FACT = 200
_FACTS = ("/Title", "/Author", "/Subject", "/Keywords", "/Creator", "/CreationDate")


def read_pdf(content: bytes, request: ReadRequest) -> str:
    """The pages of `request.pages`, below the number of pages and the document's own facts."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("the document is encrypted with a password")
    count = len(reader.pages)

    def extract_page(number: int) -> str:
        text = reader.pages[number - 1].extract_text().strip()
        return text or "(this page has no text; it may be a picture)"

    stored = reader.metadata
    facts = {name: stored.get(name) for name in _FACTS} if stored is not None else {}
    fact_texts = (
        f"{name[1:]}: {str(value)[:_LONGEST_FACT]}" for name, value in facts.items() if value
    )
    return cut_by_pages(
        "; ".join(("pdf", f"{count} pages", *fact_texts)), extract_page, count, "page", request
    )
