"""Presentations (pptx): a slide's texts, tables, charts, names of pictures, and its notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from evalcore.benchmarks.gaia.attachments.paging import cut_by_pages
from evalcore.benchmarks.gaia.attachments.read_request import ReadRequest
from evalcore.benchmarks.gaia.attachments.readers.archives import check_office_file

_DEEPEST = 10  # groups within groups


def read_pptx(content: bytes, request: ReadRequest) -> str:
    """The slides of `request.pages`."""
    from pptx import Presentation

    slides = list(Presentation(check_office_file(content)).slides)

    def render_slide(number: int) -> str:
        return "\n".join(_iter_slide_lines(slides[number - 1])) or "(nothing to read on this slide)"

    return cut_by_pages(f"pptx; {len(slides)} slides", render_slide, len(slides), "slide", request)


def _iter_slide_lines(slide: Any) -> Iterator[str]:
    if slide.element.get("show") == "0":
        yield "(this slide is hidden)"
    title = slide.shapes.title
    yield from _iter_shape_lines(slide.shapes, None if title is None else title.shape_id)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            yield f"Notes: {notes}"


def _iter_shape_lines(shapes: Iterable[Any], title: int | None, depth: int = 0) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST:
                yield from _iter_shape_lines(shape.shapes, title, depth + 1)
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                cells = (cell.text.replace("\n", " / ") for cell in row.cells)
                yield f"| {' | '.join(cells)} |"
        elif getattr(shape, "has_chart", False):
            yield from _iter_chart_lines(shape.chart)
        elif hasattr(shape, "image"):
            descriptions = shape.element.xpath(".//p:cNvPr/@descr")
            yield f'[picture "{shape.name}"{": " + descriptions[0] if descriptions else ""}]'
        elif shape.has_text_frame and shape.text_frame.text.strip():
            mark = "Title: " if shape.shape_id == title else ""
            yield mark + shape.text_frame.text.strip().replace("\v", "\n")


def _iter_chart_lines(chart: Any) -> Iterator[str]:
    for plot in chart.plots:
        for series in plot.series:
            pairs = zip(plot.categories, series.values, strict=False)
            values = "; ".join(f"{category}: {value}" for category, value in pairs)
            yield f'[chart, series "{series.name}": {values}]'
