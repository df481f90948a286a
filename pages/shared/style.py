"""What the theme cannot say: focus that is seen, and pages that print well.

This is the only place with a style sheet of our own; it holds no text from outside. Elements are
known by the test ids of Streamlit, which stay the same where class names change with each version.
"""

from __future__ import annotations

import streamlit as st

#: Against the backgrounds of both themes the ring has a contrast of 4:1; what would cut it off has
#: it inside. A table is a canvas, and draws a ring of its own around a cell.
_FOCUS = """
:focus-visible:not(canvas, canvas *) {
  outline: 2px solid #2a8797 !important;
  outline-offset: 2px;
}
:is([data-testid="stMain"], pre):focus-visible { outline-offset: -2px; }
"""
#: Controls mean nothing on paper, and whatever scrolls on a screen must lie open there.
_PRINT = """
@media print {
  @page { margin: 14mm; }
  :is([data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stToolbar"],
      [data-testid="stElementToolbar"], [data-testid="stSkeleton"], [data-testid="stSelectbox"],
      [data-testid="stMultiSelect"], [data-testid="stTextInput"], [data-testid="stButton"],
      [data-testid="stDownloadButton"], [data-testid="stCodeCopyButton"],
      [data-testid="stPopover"]) {
    display: none !important;
  }
  :is(html, body, #root, [data-testid="stApp"], [data-testid="stAppViewContainer"],
      [data-testid="stMain"]) {
    position: static !important; overflow: visible !important; height: auto !important;
    background: #fff !important;
  }
  [data-testid="stMainBlockContainer"] { max-width: none !important; padding: 0 !important; }
  [data-testid="stMain"] :is(h1, h2, h3, h4, h5, h6, p, li, td, th, label, summary, code, span) {
    color: #1b2a2e !important;
  }
  [data-testid="stMain"] :is(pre, code, details, summary, [data-testid="stAlert"] *) {
    background: #f4f6f4 !important;
  }
  [data-testid="stMain"] :is(.stMarkdownBadge, [data-testid="stMetricDelta"],
      [data-testid="stButtonGroup"] button) {
    color: #1b2a2e !important; background: #f1f4f2 !important;
  }
  :is(tr, pre, figure, [data-testid="stVegaLiteChart"], [data-testid="stDataFrame"],
      [data-testid="stMetric"], [data-testid="stAlert"]) {
    break-inside: avoid;
  }
  :is(h1, h2, h3, h4, h5, h6) { break-after: avoid; }
  pre { white-space: pre-wrap !important; max-height: none !important; overflow: visible; }
}
"""
#: Charts and tables are painted in the colours of the theme: those of the dark one are turned round
#: on paper, each colour keeping its hue.
_PRINT_DARK = """
@media print {
  :is([data-testid="stVegaLiteChart"], [data-testid="stDataFrame"]) {
    filter: invert(1) hue-rotate(180deg) brightness(1.13);
  }
}
"""
#: Where the theme's colours have less than 4.5:1: keywords of code, what is chosen of a row, quiet
#: buttons that are open or pointed at, links and code in a caption. Popovers and dialogs are not in
#: `stApp`, where alone `light-dark` knows the theme: there a colour is reckoned from its own.
_CONTRAST = """
.stCode .token:is(.keyword, .boolean, .number) { color: light-dark(#1f527f, #9cc6ee) !important; }
.stApp button[kind="tertiary"]:is(:hover, :focus, :active, [aria-expanded="true"]) {
  color: light-dark(#1c6270, #7cc4d0) !important;
}
button[data-selected="true"] [data-testid="stMarkdownContainer"] p {
  color: oklch(from currentColor clamp(0.38, (l - 0.5) * 100, 0.88) c h);
}
[data-testid="stCaptionContainer"] {
  color: color-mix(in srgb, currentColor 64%, transparent) !important; opacity: 1 !important;
}
[data-testid="stCaptionContainer"] code { color: inherit !important; background: none !important; }
"""
#: A formula breaks after a relation instead of scrolling; roots and fractions reach a little over
#: its line.
_FORMULAS = """
.katex-display { padding: 0.5rem 0.25rem; margin-block: 0.5rem !important; }
.katex-display :is(.katex, .katex-html) { white-space: normal !important; }
.katex-display .base { margin-block: 0.3rem; }
"""
#: The room beside and below a page is the tables'.
_ROOM = """
[data-testid="stMainBlockContainer"] { padding-bottom: 4rem; }
@media (min-width: 900px) {
  [data-testid="stMainBlockContainer"] { padding-left: 3rem; padding-right: 3rem; }
}
"""
_CALM = """
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { animation-duration: 0.01ms !important; transition: none !important; }
}
"""


def apply_style_sheet() -> None:
    """Add the style sheet to the page; takes no room on it."""
    dark = _PRINT_DARK if st.context.theme.type == "dark" else ""
    sheets = (_FOCUS, _CONTRAST, _FORMULAS, _ROOM, _PRINT, dark, _CALM)
    st.html(f"<style>{''.join(sheets)}</style>")
