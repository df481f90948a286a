"""Executing, comparing and understanding SQL: engines, result tables, generated databases."""

import logging

# A statement that is only known by its first word is reported by our return values, not by a log.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
