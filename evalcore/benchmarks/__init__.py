"""The benchmarks: one folder each (card, dataset, prompts, answer extraction, scoring)."""
