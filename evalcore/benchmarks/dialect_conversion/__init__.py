"""Dialect conversion: a statement for one database rewritten for another, decided by execution."""
