"""Exchange with SWE-bench: its data sets."""
