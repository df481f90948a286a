"""Charts as Vega-Lite and SVG, and as picture files."""
