"""Logs of other evaluation frameworks, read as runs."""
