"""Run folders, which are the truth, and the TinyDB index over them, which can be rebuilt."""
