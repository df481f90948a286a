"""Presentations (pptx): a slide's texts, tables, charts, names of pictures, and its notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from evalcore.benchmarks.gaia.attachments.asked import Asked
from evalcore.benchmarks.gaia.attachments.paging import by_pages
from evalcore.benchmarks.gaia.attachments.readers.archives import checked_office_file

_DEEPEST = 10  # groups within groups


def read_pptx(content: bytes, asked: Asked) -> str:
    """The slides of `asked.pages`."""
    from pptx import Presentation

    slides = list(Presentation(checked_office_file(content)).slides)

    def slide(number: int) -> str:
        return "\n".join(_slide(slides[number - 1])) or "(nothing to read on this slide)"

    return by_pages(f"pptx; {len(slides)} slides", slide, len(slides), "slide", asked)


def _slide(slide: Any) -> Iterator[str]:
    if slide.element.get("show") == "0":
        yield "(this slide is hidden)"
    title = slide.shapes.title
    yield from _shapes(slide.shapes, None if title is None else title.shape_id)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            yield f"Notes: {notes}"


def _shapes(shapes: Iterable[Any], title: int | None, depth: int = 0) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST:
                yield from _shapes(shape.shapes, title, depth + 1)
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                cells = (cell.text.replace("\n", " / ") for cell in row.cells)
                yield f"| {' | '.join(cells)} |"
        elif getattr(shape, "has_chart", False):
            yield from _chart(shape.chart)
        elif hasattr(shape, "image"):
            described = shape.element.xpath(".//p:cNvPr/@descr")
            yield f'[picture "{shape.name}"{": " + described[0] if described else ""}]'
        elif shape.has_text_frame and shape.text_frame.text.strip():
            mark = "Title: " if shape.shape_id == title else ""
            yield mark + shape.text_frame.text.strip().replace("\v", "\n")


def _chart(chart: Any) -> Iterator[str]:
    for plot in chart.plots:
        for series in plot.series:
            pairs = zip(plot.categories, series.values, strict=False)
            values = "; ".join(f"{category}: {value}" for category, value in pairs)
            yield f'[chart, series "{series.name}": {values}]'
