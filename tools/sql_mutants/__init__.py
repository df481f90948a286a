"""Mutants of SQL statements, to measure what generated databases tell apart."""
