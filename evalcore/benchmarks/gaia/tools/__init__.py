"""The tools of an assistant: reading files, calculating, running Python, and the web."""
